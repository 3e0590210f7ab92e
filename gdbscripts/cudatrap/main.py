# SPDX-License-Identifier: GPL-3.0-or-later
"""What the front-end runs in a cuda-gdb that has attached to a process or opened a dump: collect, emit, let go.

Parameters come in the environment, so that no path needs quoting in a gdb command:

CUDATRAP_GDB_OUT     where to write the JSON; required
CUDATRAP_GDB_DATA    folder of assert-values.tsv
CUDATRAP_GDB_INCIDENT  the incident so far: which tensors to look into; left out: none
CUDATRAP_GDB_IMAGE   where to write the code image of a failed assert, for the front-end to read the assert's text out of; left out: nowhere
CUDATRAP_GDB_AFTER   detach: let the process go on; leave: end without detaching; empty for a dump
"""

from __future__ import annotations

import os
import signal
from typing import Optional

import gdb

from . import collect, emit, model

# The largest image of PyTorch 2.11 is a few MiB.
MAX_SAVED_BYTES = 256 << 20


def run() -> None:
    if not gdb.selected_inferior().pid:
        raise gdb.GdbError("neither attached to a process nor opened a dump")  # the front-end reads the reason in the log
    # The document is on disk before the process is let go: detaching may hang, and is the first thing to be cut short.
    state, rows, milliseconds = collect.read()
    save_image(state, os.environ.get("CUDATRAP_GDB_IMAGE"))
    emit.write(os.environ["CUDATRAP_GDB_OUT"], collect.document(state, rows, milliseconds))
    after = os.environ.get("CUDATRAP_GDB_AFTER", "")
    if not after:
        return
    if after == "leave":
        # Detaching calls into the driver, which then runs on past the fault; a SIGABRT on the way in ends in the middle of that call (driver
        # 580.159, cuda-gdb 13.0, measured). When its tracer dies the process goes on waiting where it was.
        os.kill(os.getpid(), signal.SIGKILL)
    gdb.execute("detach", to_string=True)


def save_image(state: collect.State, path: Optional[str]) -> None:
    """cuda-gdb's own copy goes with its session. Without it the report has the assert's text from the log alone."""
    if not path or not state.groups or state.groups[0].exception != model.ASSERT:
        return
    try:
        image = collect.image_of(state, state.groups[0].place_pc)
        if image is not None and len(image.data) <= MAX_SAVED_BYTES:
            with open(path, "xb") as file:
                file.write(image.data)
    except (*collect.GDB_ERRORS, OSError):
        pass
