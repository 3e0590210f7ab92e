# SPDX-License-Identifier: GPL-3.0-or-later
"""From the front-end's scripts to the person at the terminal: a quiet start, what happened, the prompt.

CUDATRAP_GDB_SESSION  the incident as the front-end has reported it; the front-end writes it after its report
CUDATRAP_GDB_LOG      what cuda-gdb says before the prompt
CUDATRAP_GDB_PROGRAM  the cudatrap program (tool.py)
"""

from __future__ import annotations

import os
import time
from typing import List

import gdb

from . import commands, stop

# The front-end has its own deadline for collecting (30 s by default) and then reports in any case.
PATIENCE_S = 120.0
FOR_PEOPLE = ("set confirm on", "set pagination on")


_saved: List[int] = []


def be_quiet() -> None:
    """What cuda-gdb says from here on goes to its log: symbols, threads, libraries, warnings of the driver's.

    Its descriptors change, not its streams: gdb's own logging announces itself on the terminal. The program has descriptors of its own.
    """
    fd = os.open(os.environ["CUDATRAP_GDB_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    gdb.flush()
    for stream in (1, 2):
        _saved.append(os.dup(stream))
        os.dup2(fd, stream)
    os.close(fd)


def speak() -> None:
    gdb.flush()
    gdb.flush(gdb.STDERR)
    for stream, saved in zip((1, 2), _saved):
        os.dup2(saved, stream)
        os.close(saved)
    _saved.clear()


def prepare() -> None:
    commands.register()


def wait_for_report(path: str) -> bool:
    """The front-end shows its report on the same terminal meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while not os.path.exists(path):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def tell_fault(path: str) -> None:
    """After the GPU part was written: waits until it was reported, then every command knows what the report knows."""
    if not wait_for_report(path):
        gdb.write("trap: the front-end gave no report; the commands know what this debugger sees\n")
        return
    try:
        stop.adopt(path)
    except (OSError, ValueError) as e:
        gdb.write(f"trap: {path}: {e}\n")


def to_prompt(note: str = "") -> None:
    for command in FOR_PEOPLE:
        gdb.execute(command, to_string=True)
    gdb.write(f"`help trap` lists what can be asked here{note}.\n")
