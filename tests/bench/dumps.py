#!/usr/bin/env python3
"""What reading GPU core dumps costs: `cudatrap report`, from the file to the text, beside reading the file once and beside cuda-gdb.

    make bench-dumps                      the recorded dumps
    make bench-dumps BENCH_DUMPS_FLAGS=--grow     and dumps of up to 32 times as many lanes (5 GB in TMPDIR)

Everything in one run, page cache warm, medians. cuda-gdb: `target cudacore` and `info cuda threads`, where it is in PATH.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import lzma
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import List, Optional

TOP_SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
TOP_BUILD = Path(os.environ.get("top_builddir", "."))
DUMPS = TOP_SRC / "tests" / "data" / "gpu-cores"


def run_ms(argv: List[str]) -> float:
    """One run, its output thrown away; posix_spawn, because forking this interpreter takes longer than some of the runs."""
    null = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)]
    start = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=null)
    _, status = os.waitpid(pid, 0)
    taken = (time.perf_counter() - start) * 1000
    if status != 0:
        raise RuntimeError(f"{' '.join(argv)}: status {status}")
    return taken


def median_ms(argv: List[str], rounds: int) -> float:
    run_ms(argv)
    return statistics.median(run_ms(argv) for _ in range(rounds))


def unpack(name: str, folder: Path) -> Path:
    target = folder / f"{name}.nvcore"
    with lzma.open(DUMPS / f"{name}.nvcore.xz") as packed, target.open("wb") as out:
        shutil.copyfileobj(packed, out, 1 << 20)
    return target


def scan_ms(dump: Path) -> float:
    """A walk over the section table, by the C part of this benchmark."""
    out = subprocess.run([str(TOP_BUILD / "tests/bench/gpucore"), str(dump)], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    return float(out.splitlines()[1].split()[1])


def enough_mb(dump: Path) -> int:
    """The least power of two in MB of private memory, beyond the file's map, with which the whole process succeeds (RLIMIT_DATA, setrlimit(2))."""
    for mb in (1, 2, 4, 8, 16, 32, 64, 128):
        limit = mb << 20
        done = subprocess.run(report(dump), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                              preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
        if done.returncode == 0:
            return mb
    return 0


def report(dump: Path) -> List[str]:
    return [str(TOP_BUILD / "cudatrap"), "report", str(dump)]


def compare(name: str, dump: Path, cuda_gdb: Optional[str]) -> None:
    read = median_ms(["cat", str(dump)], 9)
    ours = median_ms(report(dump), 15)
    row = f"{name:28} {dump.stat().st_size / 1e6:8.1f} {read:8.2f} {scan_ms(dump):8.2f} {ours:9.2f} {'<= ' + str(enough_mb(dump)):>8}"
    if cuda_gdb:
        theirs = median_ms([cuda_gdb, "-q", "-nx", "-batch", "-ex", f"target cudacore {dump}", "-ex", "info cuda threads"], 3)
        row += f" {theirs:10.1f} {theirs / ours:7.1f}"
    print(row, flush=True)


def focus_ms(dump: Path) -> float:
    """One `thread N` of `cudatrap shell`, among all threads of the dump: 2,000 of them against one."""
    def taken(count: int) -> float:
        lines = "".join(f"thread {1 + i * 7919 % 270336}\n" for i in range(count))
        start = time.perf_counter()
        subprocess.run([str(TOP_BUILD / "cudatrap"), "shell", str(dump)], input=lines.encode(), stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start

    return (min(taken(2001) for _ in range(3)) - min(taken(1) for _ in range(3))) / 2000 * 1000


def growth(base: Path, folder: Path) -> None:
    print("\n  times     lanes       MB  read ms   ours ms  ns a lane")
    lanes = 270336
    for times in (1, 2, 4, 8, 16, 32):
        dump = folder / "grown.nvcore"
        subprocess.run([str(TOP_BUILD / "tests/tools/grow_dump"), str(base), str(times), str(dump)], check=True)
        rounds = 5 if times < 8 else 3
        read, ours = median_ms(["cat", str(dump)], rounds), median_ms(report(dump), rounds)
        print(f"{times:7} {lanes * times:9} {dump.stat().st_size / 1e6:8.0f} {read:8.1f} {ours:9.1f} {ours * 1e6 / (lanes * times):10.1f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grow", action="store_true")
    args = parser.parse_args()
    cuda_gdb = shutil.which("cuda-gdb")
    if not cuda_gdb:
        print("# no cuda-gdb in PATH: its columns are left out")
    print("dump                               MB  read ms  scan ms   ours ms  MB priv." + ("  cuda-gdb ms   ratio" if cuda_gdb else ""))
    with tempfile.TemporaryDirectory(prefix="bench-dumps-") as scratch:
        folder = Path(scratch)
        many = unpack("many.rel", folder)
        for name, dump in (("assert.rel", unpack("assert.rel", folder)), ("PyTorch", unpack("torch-cross-entropy-sm90", folder)), ("many.rel", many)):
            compare(name, dump, cuda_gdb)
        print(f"cudatrap shell, one of 270,336 threads into focus: {focus_ms(many):.3f} ms")
        if args.grow:
            growth(many, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
