#!/usr/bin/env python3
"""How long `cudatrap list` takes over many reports: tests/bench/list.py [CUDATRAP [COUNT]], by hand; no part of the tests.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def make(base: Path, count: int, summaries: bool) -> None:
    """Reports of 100 faults on 64 hosts; incident.json of a usual size."""
    threads = [{"tid": t, "frames": [{"kind": "native", "function": f"function_{f}", "module": "/usr/lib/x.so", "pc": "0x7f0012345678"} for f in range(40)]}
               for t in range(1, 9)]
    for i in range(count):
        fault, host, rank = i % 100, f"gpu{i % 64}", i % 512
        folder = base / f"night{i // 1000}" / f"20261201-000000-{host}-{i}-assert-k{fault}"
        folder.mkdir(parents=True)
        kernel = f"void k{fault}<float>(float*)"
        incident = {"version": 1, "time_us": 1796000000000000 + i * 1000000, "host": host, "kind": "assert", "command": ["python", "train.py"],
                    "rank": {"rank": rank, "world_size": 512, "job": "4711"}, "gpu": {"kernel": {"name": kernel}}, "threads": threads}
        (folder / "incident.json").write_text(json.dumps(incident, indent=2))
        if summaries:
            (folder / "summary.json").write_text(json.dumps(
                {"version": 1, "signature_version": 1, "time_us": incident["time_us"], "monotonic_us": i, "pid": i, "kind": "assert", "own_fault": True,
                 "signature": f"{fault:016x}", "host": host, "boot_id": "4d2f0c1e-0000-4000-8000-000000000001", "kernel": f"k{fault}",
                 "detail": "t >= 0 && t < n_classes", "command": "python train.py", "job": "4711", "launcher": "slurm", "rank": rank, "world_size": 512}))


def main() -> int:
    program = sys.argv[1] if len(sys.argv) > 1 else "./cudatrap"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    for summaries in (True, False):
        n = count if summaries else count // 10
        with tempfile.TemporaryDirectory(prefix="ct-list-") as folder:
            make(Path(folder), n, summaries)
            times = []
            for _ in range(3):
                start = time.monotonic()
                done = subprocess.run([program, "list", folder], stdout=subprocess.PIPE, check=True)
                times.append(time.monotonic() - start)
            print(f"{n} reports {'with' if summaries else 'without'} summary.json: {min(times):.3f} s (first {times[0]:.3f} s); "
                  f"{done.stdout.decode().splitlines()[-1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
