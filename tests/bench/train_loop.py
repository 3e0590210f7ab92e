"""Runs a training step on demand: reads numbers of steps from standard input, one a line, and prints the seconds they took.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import sys
import time

import torch


def serve(step, warmup):
    for _ in range(warmup):
        step()
    torch.cuda.synchronize()
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        torch.cuda.synchronize()
        print(time.perf_counter() - start, flush=True)
