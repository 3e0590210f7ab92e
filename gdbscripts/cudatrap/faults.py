# SPDX-License-Identifier: GPL-3.0-or-later
"""What kind of stop a stop is. Knows nothing of commands or of the front-end."""

from __future__ import annotations

import re
import signal
from typing import Any, List

import gdb


def stop_kind(event: Any, api_failures: bool) -> str:
    """ "fault", "assert-entry" (a breakpoint in device code), "api-error", "host-trap" (a signal of the program's own) or "other"."""
    on_device = gdb.cuda.get_focus_physical() is not None
    if isinstance(event, gdb.SignalEvent):
        return "fault" if event.stop_signal.startswith("CUDA_EXCEPTION") else "other"
    if isinstance(event, gdb.BreakpointEvent):
        return "assert-entry" if on_device else "other"
    if on_device:
        return "fault"  # a trap instruction in device code
    # gdb has no SignalEvent for SIGTRAP. One that a process has sent has a code up to 0.
    return "api-error" if api_failures and not is_sent_trap() else "host-trap"


def is_sent_trap() -> bool:
    try:
        information = gdb.parse_and_eval("$_siginfo")
        return int(information["si_signo"]) == signal.SIGTRAP and int(information["si_code"]) <= 0
    except (gdb.error, RuntimeError):
        return False


def exception_signals() -> List[str]:
    """CUDA_EXCEPTION_4 and so on: which of them exist depends on the cuda-gdb."""
    names = re.findall(r"^(CUDA_EXCEPTION_\d+)\s", gdb.execute("info signals", to_string=True), re.MULTILINE)
    return sorted(set(names))
