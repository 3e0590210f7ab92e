# SPDX-License-Identifier: GPL-3.0-or-later
"""`trap host`, `frame`, `up`, `down`, `python`, `log`: the host's side, in the words of `cudatrap shell`."""

from __future__ import annotations

from typing import Any, Dict, List

import gdb

from . import shapes, stop, tool
from .command import Completed, TrapCommand, show
from .stop import Stop

_frame: Dict[int, int] = {}  # of a stop, by its id: the frame that `up` and `down` go from


def need_host(found: Stop) -> None:
    if stop.is_dump() and not found.is_told:
        raise gdb.GdbError("a GPU core dump holds no host stack (run the program under cudatrap: its report has it)")
    if not any(thread.get("frames") or thread.get("python") for thread in found.incident.get("threads", [])):
        raise gdb.GdbError("no host stack could be read")


class TrapHost(Completed):
    """Show the host stack that launched the kernel, of all threads, or frame by frame.
    Usage: trap host [all | full]"""

    name, arguments = "host", (0, 1)

    def known(self) -> List[str]:
        return ["all", "full"]

    def run(self, found: Stop, words: List[str]) -> None:
        if words not in ([], ["all"], ["full"]):
            raise self.usage()
        need_host(found)
        show(tool.ask(" ".join(["host", *words]), found.incident))


def go_to_frame(found: Stop, number: int) -> None:
    """The program says which numbers there are."""
    need_host(found)
    text = tool.ask(f"frame {number}", found.incident)
    _frame.clear()
    _frame[id(found)] = number
    show(text)


class TrapFrame(TrapCommand):
    """Show a frame of the host stack, or move to frame N.
    Usage: trap frame [N]"""

    name, arguments = "frame", (0, 1)

    def run(self, found: Stop, words: List[str]) -> None:
        if words and not words[0].isdigit():
            raise gdb.GdbError(f"'{words[0]}' is not a number: `trap host full` numbers the frames")
        go_to_frame(found, int(words[0]) if words else _frame.get(id(found), 0))


class TrapUp(TrapCommand):
    """Move to the caller in the host stack.
    Usage: trap up"""

    name = "up"

    def run(self, found: Stop, words: List[str]) -> None:
        go_to_frame(found, _frame.get(id(found), 0) + 1)


class TrapDown(TrapCommand):
    """Move to the callee in the host stack.
    Usage: trap down"""

    name = "down"

    def run(self, found: Stop, words: List[str]) -> None:
        at = _frame.get(id(found), 0)
        if at == 0:
            need_host(found)
            raise gdb.GdbError("this is the innermost host frame")
        go_to_frame(found, at - 1)


class TrapPython(Completed):
    """Show the Python frames of all host threads, or the tensors and plain values that each frame knows.
    Usage: trap python [locals]"""

    name, arguments = "python", (0, 1)

    def known(self) -> List[str]:
        return ["locals"]

    def run(self, found: Stop, words: List[str]) -> None:
        if words not in ([], ["locals"]):
            raise self.usage()
        need_host(found)
        if not words:
            show(tool.ask("python", found.incident))
            return
        lines: Dict[Any, List[str]] = {}
        for row in found.tensors + found.python_locals:
            here = lines.setdefault((row.get("tid"), row.get("depth")), [
                f"{row.get('function', '?')}  {row.get('file', '?')}:{row.get('line', '?')}  thread {row.get('tid', '?')}"])
            here.append("  " + (f"{row.get('name', '?')} = {row['value']}" if "value" in row else
                                shapes.tensor_text({key: value for key, value in row.items() if key not in ("file", "function")})))
        if not lines:
            raise gdb.GdbError("of the frames' variables only tensors and plain values are read, and none is known here")
        for of_frame in lines.values():
            show("\n".join(of_frame))


class TrapLog(TrapCommand):
    """Show what the program's output says about the fault.
    Usage: trap log"""

    name = "log"

    def run(self, found: Stop, words: List[str]) -> None:
        if not found.is_told:
            raise gdb.GdbError("the debugger does not see the program's output (run the program under cudatrap: its report has it)")
        show(tool.ask("log", found.incident))


COMMANDS = (TrapHost, TrapFrame, TrapUp, TrapDown, TrapPython, TrapLog)
