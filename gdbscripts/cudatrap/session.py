# SPDX-License-Identifier: GPL-3.0-or-later
"""What the front-end runs in a cuda-gdb that a person works with, on a process that runs already: attach, write the GPU part, hand over.

Parameters come in the environment (src/cudagdb/session.c sets them), besides those of handover.py:

CUDATRAP_GDB_PID    the process
CUDATRAP_GDB_OUT    where to write the GPU part
CUDATRAP_GDB_AFTER  leave: when the session ends the process goes on waiting; detach: it is let go
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import gdb

from . import collect, emit, handover

QUIET = ("set print thread-events off", "set print inferior-events off", "set breakpoint pending on")


def run() -> None:
    environment = os.environ
    for command in QUIET:
        gdb.execute(command, to_string=True)
    handover.prepare()
    try:
        gdb.execute(f"attach {int(environment['CUDATRAP_GDB_PID'])}")
        document = collect.collect()
    except gdb.error as e:
        gdb.write(f"{e}\n")  # the front-end knows some of these words
        handover.speak()
        gdb.write(f"cudatrap: cuda-gdb could not attach: {' '.join(str(e).split())}\n", gdb.STDERR)
        gdb.execute("quit 1")
    handover.speak()
    emit.write(environment["CUDATRAP_GDB_OUT"], document)
    leaves = environment.get("CUDATRAP_GDB_AFTER") == "leave"
    if leaves:
        gdb.events.gdb_exiting.connect(leave)
    handover.tell_fault(environment["CUDATRAP_GDB_SESSION"])
    # gdb's own question at the end speaks of detaching.
    handover.to_prompt("; at `quit` the program does not run on past its fault" if leaves else "")


def leave(event: Any) -> None:
    """Before gdb detaches, which would let the driver run on past the fault: when its tracer dies the process goes on waiting."""
    sys.stdout.flush()
    if gdb.selected_inferior().pid:
        os.kill(os.getpid(), signal.SIGKILL)
