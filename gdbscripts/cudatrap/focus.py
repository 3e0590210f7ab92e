# SPDX-License-Identifier: GPL-3.0-or-later
"""Moving the debugger's focus, only ever inside `with kept():`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

import gdb


@contextmanager
def kept() -> Iterator[None]:
    """Whatever happens inside, the focus is afterwards where it was."""
    try:
        physical = gdb.cuda.get_focus_physical()
    except (gdb.error, RuntimeError):
        physical = None  # the focus is on the host
    thread = gdb.selected_thread()
    try:
        yield
    finally:
        if physical is not None:
            gdb.cuda.set_focus_physical(physical)
        elif thread is not None and thread.is_valid():
            thread.switch()


def to_lane(device: int, sm: int, warp: int, lane: int) -> None:
    gdb.cuda.set_focus_physical(gdb.cuda.lane(device, sm, warp, lane).physical())
