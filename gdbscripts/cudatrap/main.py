# SPDX-License-Identifier: GPL-3.0-or-later
"""What the front-end runs in a cuda-gdb that has attached to a process or opened a dump: collect, emit, let go.

Parameters come in the environment, so that no path needs quoting in a gdb command:

CUDATRAP_GDB_OUT     where to write the JSON; required
CUDATRAP_GDB_AFTER   detach: let the process go on; abort: leave a SIGABRT pending, then detach; empty for a dump
CUDATRAP_GDB_TID     the thread that launched the kernel, which gets the SIGABRT; empty: the process
"""

from __future__ import annotations

import ctypes
import os
import signal

import gdb

from . import collect, emit


def run() -> None:
    if not gdb.selected_inferior().pid:
        raise gdb.GdbError("neither attached to a process nor opened a dump")  # the front-end reads the reason in the log
    # The document is on disk before the process is let go: detaching may hang, and is the first thing to be cut short.
    emit.write(os.environ["CUDATRAP_GDB_OUT"], collect.collect())
    after = os.environ.get("CUDATRAP_GDB_AFTER", "")
    if not after:
        return
    if after == "abort":
        leave_abort(gdb.selected_inferior().pid, int(os.environ.get("CUDATRAP_GDB_TID") or 0))
    gdb.execute("detach", to_string=True)


def leave_abort(pid: int, tid: int) -> None:
    """A SIGABRT that waits for the stopped process: it never runs past the fault, and its own handlers run."""
    gdb.execute("handle SIGABRT nostop noprint pass", to_string=True)
    if tid and tgkill(pid, tid, signal.SIGABRT):
        return
    os.kill(pid, signal.SIGABRT)


def tgkill(pid: int, tid: int, number: int) -> bool:
    """True when the thread was there; Python has no such call for another process. glibc has it from 2.30."""
    function = getattr(ctypes.CDLL(None), "tgkill", None)
    return function is not None and function(pid, tid, int(number)) == 0
