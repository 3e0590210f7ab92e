#!/usr/bin/env python3
"""What cudatrap costs while nothing fails, and how long it takes when something does. On a machine with a GPU and PyTorch.

    make bench-gpu [BENCH_GPU_FLAGS="--pairs 60 --steps 80"]

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional

SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
CUDATRAP = str(Path(os.environ.get("top_builddir", ".")) / "cudatrap")


class Loop:
    """A training process that works when it is told to."""

    def __init__(self, prefix: List[str], env: Optional[Dict[str, str]] = None) -> None:
        self.process = subprocess.Popen([*prefix, sys.executable, str(SRC / "tests/bench/train_mlp.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, **(env or {})}, universal_newlines=True)
        self.read("ready")

    def read(self, wanted: str = "") -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line.startswith(wanted) and line, line
        return line

    def run(self, steps: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return float(self.read())

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    fault_to_report("wait", 3)
    fault_to_report("core", 3)
    pairs("--async against plain", args.pairs, args.steps, {}, ["--async"])
    pairs("default against CUDA_LAUNCH_BLOCKING=1", args.pairs, args.steps, {"CUDA_LAUNCH_BLOCKING": "1"}, [])
    pairs("--engine core --async against plain", args.pairs, args.steps, {}, ["--engine", "core", "--async"])
    pairs("default against plain (what CUDA_LAUNCH_BLOCKING costs)", args.pairs, args.steps, {}, [])


if __name__ == "__main__":
    main()
