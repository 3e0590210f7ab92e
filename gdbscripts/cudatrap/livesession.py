# SPDX-License-Identifier: GPL-3.0-or-later
"""live.py with a person at the terminal: the prompt comes at the first fault, at Ctrl-C and at a fatal signal; from there on it is theirs.

Parameters: those of live.py and of handover.py.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

import gdb

from . import faults, handover, live, stop

# On top of those of live.py.
QUIET_FOR_PEOPLE = (
    "handle SIGINT stop print nopass",
    "handle SIGSEGV SIGBUS SIGILL SIGFPE SIGABRT stop print pass",
)


def run() -> None:
    PeoplesSession(os.environ).run()


class PeoplesSession(live.Session):
    """One run of the program with a person at the terminal."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(environment)
        self.path = environment["CUDATRAP_GDB_SESSION"]
        self.pending = False

    def run(self) -> None:
        try:
            self.prepare()
            handover.prepare()
            for command in QUIET_FOR_PEOPLE:
                gdb.execute(command, to_string=True)
            self.loop()
        finally:
            handover.speak()
        if not gdb.selected_inferior().pid:
            gdb.execute(f"quit {self.exit_status()}")  # nothing to look at
        self.say_where()
        handover.to_prompt()
        gdb.events.stop.connect(self.on_later_stop)
        gdb.events.before_prompt.connect(self.before_prompt)

    def next_command(self) -> str:
        kind = faults.stop_kind(self.last_stop, bool(self.environment.get("CUDATRAP_GDB_API_FAILURES")))
        if kind == "host-trap":
            return "signal SIGTRAP"
        if kind == "assert-entry":
            return super().next_command()
        if kind != "other":
            self.record(kind)
        return ""

    def record(self, kind: str) -> None:
        super().record(kind)
        if self.n_faults == 1:
            handover.tell_fault(self.path)

    def say_where(self) -> None:
        """At a stop that is no fault: the report speaks of the others."""
        if not self.n_faults:
            name = getattr(self.last_stop, "stop_signal", "")
            gdb.write(f"cudatrap: the program stands{' at ' + name if name else ''}: no GPU fault so far (`continue` goes on)\n")

    # -- after the first prompt the person runs the program

    def on_later_stop(self, event: Any) -> None:
        if not self.n_faults and faults.stop_kind(event, False) == "fault":
            self.pending = stop.report_comes = True

    def before_prompt(self) -> None:
        if self.pending:
            self.pending = stop.report_comes = False
            self.record("fault")
