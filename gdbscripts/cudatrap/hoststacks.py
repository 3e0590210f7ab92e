# SPDX-License-Identifier: GPL-3.0-or-later
"""Native stacks of the program's host threads as this debugger sees them.

For programs that run under the debugger from the start: nobody else may trace them, so the front-end cannot unwind them itself.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

import gdb

MAX_THREADS = 128
MAX_FRAMES = 512


def collect() -> Dict[str, Any]:
    """The host part of an incident (doc/incident.schema.json): threads only. Changes the selected thread."""
    threads = []
    for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num)[:MAX_THREADS]:
        row = describe(thread)
        if row:
            threads.append(row)
    return {"version": 1, "threads": threads}


def describe(thread: Any) -> Optional[Dict[str, Any]]:
    if not thread.is_valid():
        return None
    row: Dict[str, Any] = {"tid": thread.ptid[1] or thread.ptid[0]}
    if thread.name:
        row["name"] = thread.name
    try:
        thread.switch()
        row["frames"] = frames()
    except (gdb.error, RuntimeError) as e:  # a thread that is running, or that just ended
        row["merge_note"] = f"this thread could not be read: {e}"
    return row


def frames() -> List[Dict[str, Any]]:
    rows: List[Dict[str, Any]] = []
    frame: Optional[Any] = gdb.newest_frame()
    while frame is not None and len(rows) < MAX_FRAMES:
        rows.append(describe_frame(frame))
        try:
            frame = frame.older()
        except gdb.error:  # the unwinder met memory that it cannot read: what is below stays unknown
            break
    return rows


def describe_frame(frame: Any) -> Dict[str, Any]:
    pc = frame.pc()
    row: Dict[str, Any] = {"kind": "native", "pc": hex(pc)}
    name = frame.name()
    if name:
        row["function"] = name
    module = gdb.solib_name(pc) or executable_at(pc)
    if module:
        row["module"] = module
    place = frame.find_sal()
    if place.symtab is not None and place.line:
        row["file"] = place.symtab.fullname()
        row["line"] = place.line
    return row


def executable_at(pc: int) -> Optional[str]:
    """The program itself is no shared library; what lies outside both has no module."""
    told = gdb.execute(f"info symbol {pc}", to_string=True).strip()
    if told.startswith("No symbol matches"):
        return None
    of = re.search(r" of (/.*)$", told)  # named where there are several files
    return of.group(1) if of else gdb.current_progspace().filename
