# What the launch recorder adds to a launch, with a driver that does nothing: python3 recorder.py BUILD [PYTHON...]; by make bench-recorder.
# The figures are medians of 15 rounds of 200,000 launches, on and off in turns.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from typing import List, Optional

ROUNDS = 15
LAUNCHES = 200000
CHILD = '''
import ctypes, sys
loop = ctypes.CDLL(sys.argv[1])
loop.time_launches.restype = ctypes.c_double
def deeper(n):
    return deeper(n - 1) if n > 1 else loop.time_launches(int(sys.argv[3]))
def run():
    n = int(sys.argv[2])
    return deeper(n) if n else loop.time_launches(int(sys.argv[3]))
run()
print(run())
'''


def measure(build: str, python: str, frames: int, folder: Optional[str]) -> float:
    with tempfile.TemporaryDirectory() as top:
        os.symlink(os.path.join(build, "tests/cli/agent-libcuda.so"), os.path.join(top, "libcuda.so.1"))
        env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDATRAP_", "LD_"))}
        env.update(LD_PRELOAD=os.path.join(build, "libcudatrap-agent.so"), LD_LIBRARY_PATH=top, CUDATRAP_AGENT_DIR=top,
                   CUDATRAP_SUPERVISOR_PID=str(os.getpid()))
        if folder:
            env.update(CUDATRAP_RECORD="65536", CUDATRAP_RECORD_DIR=folder)
        done = subprocess.run([python, "-c", CHILD, os.path.join(build, "tests/bench/recorder-loop.so"), str(frames), str(LAUNCHES)],
                              env=env, stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return float(done.stdout)


def compare(build: str, python: str, frames: int) -> float:
    off: List[float] = []
    on: List[float] = []
    # In memory, where the supervisor has it too.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        for _ in range(ROUNDS):
            off.append(measure(build, python, frames, None))
            on.append(measure(build, python, frames, folder))
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
    a, b = statistics.median(off), statistics.median(on)
    print("%2d frames: %6.1f ns without, %6.1f ns with, %6.1f ns added, ratio %.2f" % (frames + 2, a, b, b - a, b / a), flush=True)
    return b - a


def main() -> int:
    build = os.path.abspath(sys.argv[1])
    for python in sys.argv[2:] or [sys.executable]:
        print(subprocess.run([python, "--version"], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout.strip(), flush=True)
        few, many = compare(build, python, 0), compare(build, python, 8)
        print("a frame: %.1f ns" % ((many - few) / 8))
    return 0


if __name__ == "__main__":
    sys.exit(main())
