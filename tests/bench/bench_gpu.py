#!/usr/bin/env python3
"""What cudatrap costs while nothing fails, and how long it takes when something does. On a machine with a GPU and PyTorch.

    make bench-gpu [BENCH_GPU_FLAGS="--pairs 60 --steps 80"]
    make bench-gpu BENCH_GPU_FLAGS=--recorder     the table of doc/performance.md, about four minutes

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
CUDATRAP = str(Path(os.environ.get("top_builddir", ".")) / "cudatrap")


NUMBER = re.compile(r"\d+\.\d+(e-?\d+)?")


class Loop:
    """A training process that works when it is told to."""

    def __init__(self, prefix: List[str], env: Optional[Dict[str, str]] = None, script: str = "train_mlp.py", wait: bool = True) -> None:
        self.process = subprocess.Popen([*prefix, sys.executable, str(SRC / "tests/bench" / script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, **(env or {})}, universal_newlines=True)
        if wait:
            self.read(re.compile("ready"))

    def read(self, wanted: "re.Pattern[str]") -> str:
        """The next line that is wanted: a debugger around the loop says things of its own."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if wanted.fullmatch(line.strip()):
                return line.strip()
        raise RuntimeError(f"the loop has ended: {self.process.args}")

    def run(self, steps: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return float(self.read(NUMBER))

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def pairs(name: str, n: int, steps: int, plain_env: Dict[str, str], options: List[str]) -> None:
    """Both processes live side by side and work in turns of a fraction of a second, so that what else goes on hits both alike."""
    plain, ours = Loop([], plain_env), Loop([CUDATRAP, *options, "--"])
    ratios, times = [], {"plain": [], "ours": []}
    for i in range(n):
        sides = [("plain", plain), ("ours", ours)]
        took = {side: loop.run(steps) for side, loop in (sides if i % 2 == 0 else reversed(sides))}
        ratios.append(took["plain"] / took["ours"])
        for side in times:
            times[side].append(took[side])
    plain.end()
    ours.end()
    low, high = sorted(ratios)[n // 4], sorted(ratios)[-1 - n // 4]
    print(f"{name}: plain {steps / statistics.median(times['plain']):.1f}, under cudatrap {steps / statistics.median(times['ours']):.1f} steps/s; "
          f"speed ratio, median of {n} pairs {statistics.median(ratios):.4f} (middle half {low:.3f} to {high:.3f})", flush=True)


def fault_to_report(engine: str, n: int) -> None:
    took = []
    for _ in range(n):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([CUDATRAP, "-q", "--engine", engine, "-o", folder, "--", sys.executable, str(SRC / "tests/gpu/cross_entropy.py")],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            documents = list(Path(folder).glob("*/incident.json"))
            took.append(json.loads(documents[0].read_text())["seconds_to_report"])
    print(f"fault to report, engine {engine}: median {statistics.median(took):.2f} s of {n} ({', '.join(f'{t:.2f}' for t in took)})", flush=True)


def cuda_gdb() -> Optional[str]:
    return os.environ.get("CUDATRAP_CUDA_GDB") or shutil.which("cuda-gdb")


def modes() -> List[Tuple[str, List[str], Dict[str, str]]]:
    """Name, what stands in front of the command, its environment."""
    found: List[Tuple[str, List[str], Dict[str, str]]] = [
        ("cudatrap --async (launches recorded)", [CUDATRAP, "--async", "--"], {}),
        ("cudatrap --async --no-record", [CUDATRAP, "--async", "--no-record", "--"], {}),
        ("cudatrap (default: launches wait)", [CUDATRAP, "--"], {}),
        ("CUDA_LAUNCH_BLOCKING=1 alone", [], {"CUDA_LAUNCH_BLOCKING": "1"}),
    ]
    gdb = cuda_gdb()
    if gdb:
        found.append(("cuda-gdb alone", [gdb, "-q", "-batch", "-nx", "-ex", "set pagination off", "-ex", "run", "--args"], {}))
    else:
        print("# no cuda-gdb here: its row is missing")
    return found


def recorder_rows(script: str, steps: int, n: int) -> Iterator[Tuple[str, float, float, float]]:
    """Each mode in turns with the plain run; all processes are started at once, because that takes longer than the work."""
    wanted = modes()
    plain = Loop([], {}, script, wait=False)
    loops = [Loop(prefix, env, script, wait=False) for _, prefix, env in wanted]
    for loop in [plain, *loops]:
        loop.read(re.compile("ready"))
    for (name, _, _), loop in zip(wanted, loops):
        ratios, plains, ours = [], [], []
        for i in range(n):
            took = {id(side): side.run(steps) for side in ((plain, loop) if i % 2 == 0 else (loop, plain))}
            plains.append(took[id(plain)])
            ours.append(took[id(loop)])
            ratios.append(took[id(loop)] / took[id(plain)])
        yield name, steps / statistics.median(plains), steps / statistics.median(ours), statistics.median(ratios)
        loop.end()
    plain.end()


def recorder(n: int) -> None:
    """The rows of doc/performance.md."""
    for title, script, steps in (("MLP", "train_mlp.py", 300), ("ResNet-50", "train_resnet50.py", 100)):
        print(f"| {title}: {steps} steps, medians of {n} pairs | plain, steps/s | so, steps/s | time against plain |\n|---|---|---|---|")
        for name, plain, ours, ratio in recorder_rows(script, steps, n):
            print(f"| {name} | {plain:.1f} | {ours:.1f} | {(ratio - 1) * 100:+.1f} % |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--recorder", action="store_true", help="the table of doc/performance.md alone")
    parser.add_argument("--recorder-pairs", type=int, default=3)
    args = parser.parse_args()
    if args.recorder:
        recorder(args.recorder_pairs)
        return
    fault_to_report("wait", 3)
    fault_to_report("core", 3)
    pairs("--async against plain", args.pairs, args.steps, {}, ["--async"])
    pairs("default against CUDA_LAUNCH_BLOCKING=1", args.pairs, args.steps, {"CUDA_LAUNCH_BLOCKING": "1"}, [])
    pairs("--engine core --async against plain", args.pairs, args.steps, {}, ["--engine", "core", "--async"])
    pairs("default against plain (what CUDA_LAUNCH_BLOCKING costs)", args.pairs, args.steps, {}, [])


if __name__ == "__main__":
    main()
