# SPDX-License-Identifier: GPL-3.0-or-later
"""`trap next`, `break-on`, `on-launch`: running on. And what keeps a program that waits after its fault from running past it by mistake."""

from __future__ import annotations

import os
import re
from typing import Any, List, Optional, Set, Tuple

import gdb

from . import faults, settings, stop, tool
from .command import TrapCommand, need_process, need_program, show

KERNEL = r"[A-Za-z_~(][\w:<>,&*()\[\] ~.-]*"  # a C++ name, also one with template arguments


def ask_why() -> None:
    try:
        found = stop.current()
        show(tool.ask("why", found.incident))
    except (tool.ToolError, OSError) as e:
        show(f"trap: {e}")


class Heard:
    """The last stop, told by gdb's event."""

    def __init__(self) -> None:
        self.event: Optional[Any] = None

    def __enter__(self) -> "Heard":
        gdb.events.stop.connect(self.hear)
        return self

    def __exit__(self, *unused: Any) -> None:
        gdb.events.stop.disconnect(self.hear)

    def hear(self, event: Any) -> None:
        self.event = event


class TrapNext(TrapCommand):
    """Run on to the next fault, or to the next breakpoint or Ctrl-C.
    Usage: trap next"""

    name = "next"

    def start(self, words: List[str]) -> None:
        need_process("trap next")
        with Heard() as heard:
            # The stop's signal is the debugger's: the program gets none.
            gdb.execute("signal 0")
            event = heard.event
        if not gdb.selected_inferior().pid:
            show("the program has ended: there was no further fault")
        elif event is not None and faults.stop_kind(event, False) == "fault" and not stop.report_comes and settings.value("say-why"):
            ask_why()


def kernel_and_condition(command: TrapCommand, argument: str) -> Tuple[str, str]:
    kernel, _, condition = argument.partition(" if ")
    kernel = kernel.strip()
    if not kernel:
        raise command.usage()
    if not re.match(rf"^{KERNEL}$", kernel):
        raise gdb.GdbError(f"'{kernel}' is not the name of a kernel")
    if argument.rstrip().endswith(" if") or (" if " in argument and not condition.strip()):
        raise gdb.GdbError("behind 'if' a condition is missing, such as threadIdx.x == 2")
    return kernel, condition.strip()


class TrapBreakOn(TrapCommand):
    """Stop where a kernel begins, if a condition is given only where it holds.
    Usage: trap break-on KERNEL [if CONDITION]

    The condition is an expression of cuda-gdb: blockIdx.x == 4 && threadIdx.x == 5. A kernel whose module is not loaded yet is waited for."""

    name = "break-on"

    def invoke(self, argument: str, from_tty: bool) -> None:
        need_program("trap break-on")
        kernel, condition = kernel_and_condition(self, argument)
        # Forced: threadIdx has a meaning in device code only, which may not be loaded yet.
        gdb.execute(f"with breakpoint pending on -- break {kernel}" + (f" -force-condition if {condition}" if condition else ""))


class LaunchStop(gdb.Breakpoint):
    """One stop for each launch, whatever number of its blocks begins at the same place."""

    def __init__(self, kernel: str) -> None:
        super().__init__(kernel)
        self.seen: Set[Tuple[int, int]] = set()  # device and grid

    def stop(self) -> bool:
        try:
            at = gdb.cuda.get_focus_logical() if gdb.cuda.get_focus_physical() is not None else None
        except (gdb.error, RuntimeError, AttributeError):
            return True
        if at is None:
            return False  # the host's stub of the same name: the device comes next
        known = (at.dev_id, at.grid_id) in self.seen
        self.seen.add((at.dev_id, at.grid_id))
        return not known


class TrapOnLaunch(TrapCommand):
    """Stop once at each launch of a kernel, before its first instruction.
    Usage: trap on-launch KERNEL"""

    name = "on-launch"

    def invoke(self, argument: str, from_tty: bool) -> None:
        need_program("trap on-launch")
        kernel, condition = kernel_and_condition(self, argument)
        if condition:
            raise self.usage()
        gdb.execute("set breakpoint pending on", to_string=True)
        LaunchStop(kernel)


# ---- a program that waits in the driver ------------------------------------------------------------------------------


def waits(pid: int) -> bool:
    """The driver holds a process that met an exception, when it was told so in its environment (driver 580.159)."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return b"CUDA_DEVICE_WAITS_ON_EXCEPTION=1" in file.read(4 << 20).split(b"\0")
    except OSError:
        return False


def has_fault() -> bool:
    try:
        return any(device.has_exception for device in gdb.cuda.devices())
    except (gdb.error, RuntimeError, AttributeError):
        return False


QUESTION = "The program waits after a GPU fault; detached, it runs on past it. Detach all the same? (y or n) "


def before_detach() -> None:
    pid = gdb.selected_inferior().pid
    if stop.is_dump():
        raise gdb.GdbError("a GPU core dump has no process to let go: `quit` leaves it")  # cuda-gdb 13.0 dies of an internal error
    if not pid or not waits(pid) or not has_fault():
        return
    if not os.isatty(0):
        gdb.execute("kill", to_string=True)
        raise gdb.GdbError("the program waited after a GPU fault: it was ended, not let run on past it")
    if not input(QUESTION).strip().lower().startswith("y"):
        raise gdb.GdbError("not detached")


class BeforeDetach(gdb.Command):
    """Of cudatrap, before `detach`: a program that waits after a GPU fault is not let run on past it by mistake."""

    def __init__(self) -> None:
        super().__init__("cudatrap-before-detach", gdb.COMMAND_NONE)

    def invoke(self, argument: str, from_tty: bool) -> None:
        before_detach()


def guard_detach() -> None:
    BeforeDetach()
    # A hook that raises keeps the command from being run.
    gdb.execute("define hook-detach\ncudatrap-before-detach\nend", to_string=True)


COMMANDS = (TrapNext, TrapBreakOn, TrapOnLaunch)
