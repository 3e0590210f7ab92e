# SPDX-License-Identifier: GPL-3.0-or-later
"""What the front-end runs when the whole program runs under cuda-gdb: start it, stop at faults, collect, go on or end it.

The program must not notice: its input and output are its own, its arguments arrive byte for byte, its signals reach it, its environment is
what it would have been. Parameters come in the environment (src/cudagdb/live.c sets them):

CUDATRAP_GDB_OUT           JSON of the first fault; of the next ones with .2, .3, ... behind it
CUDATRAP_GDB_DATA          folder of assert-values.tsv
CUDATRAP_GDB_STATUS        JSON about the program: {"pid": N} from its start, then also "exited": N, "signaled": N, "aborted": true
CUDATRAP_GDB_HOST          JSON of the host threads' stacks at the first fault, written before CUDATRAP_GDB_OUT
CUDATRAP_GDB_READ          appears when the front-end has read the stopped program; then it goes on
CUDATRAP_GDB_AFTER         end: end the program by SIGABRT after the first fault; continue: go on to the next
CUDATRAP_GDB_FDS           "3 4 5": descriptors that are the program's standard input, output and error
CUDATRAP_GDB_CORE          the program's soft limit for core files, as the shell's ulimit writes it
CUDATRAP_GDB_BREAK         device functions to stop in, separated by commas
CUDATRAP_GDB_API_FAILURES  not empty: stop at CUDA calls that fail
CUDATRAP_KEEP_NAME         value of variable NAME for the program, where cuda-gdb itself needs another or none
CUDATRAP_KEPT              names of all such variables, separated by spaces: those without a CUDATRAP_KEEP_ were not set
"""

from __future__ import annotations

import os
import re
import signal
import time
from typing import Any, Dict, List, Mapping, Optional

import gdb

from . import collect, emit, faults, hoststacks

# More faults than this in one run tell nothing new.
MAX_FAULTS = 16
# How long the program is held for a front-end that reads it: only one that died takes longer.
READ_TIMEOUT_S = 20.0

QUIET = (
    "set print thread-events off",
    "set print inferior-events off",
    "set disable-randomization off",  # gdb would run the program at other addresses than it has without us
    "set follow-fork-mode parent",
    "set detach-on-fork on",
    "set breakpoint pending on",
    "handle all nostop noprint pass",
    "handle SIGINT nostop noprint pass",  # not in "all"
    # __trap() in device code arrives as this. noprint would mean nostop; with pass, the program would get those of its own start.
    "handle SIGTRAP stop print nopass",
)


def run() -> None:
    session = Session(os.environ)
    session.prepare()
    session.loop()
    gdb.execute(f"quit {session.exit_status()}")


class Session:
    """One run of the program."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.out = environment["CUDATRAP_GDB_OUT"]
        self.status_path = environment["CUDATRAP_GDB_STATUS"]
        self.status: Dict[str, Any] = {}
        self.last_stop: Optional[Any] = None
        self.n_faults = 0
        self.breakpoints: List[Any] = []
        self.entry: Optional[Dict[str, Any]] = None  # collected where an assert function was entered

    def prepare(self) -> None:
        for command in QUIET:
            gdb.execute(command, to_string=True)
        for name in faults.exception_signals():
            gdb.execute(f"handle {name} stop print nopass", to_string=True)
        if self.environment.get("CUDATRAP_GDB_API_FAILURES"):
            gdb.execute("set cuda api_failures stop", to_string=True)
        for function in self.environment.get("CUDATRAP_GDB_BREAK", "").split(","):
            if function:
                self.breakpoints.append(gdb.Breakpoint(function, internal=True))
                self.breakpoints[-1].silent = True
        gdb.execute("set exec-wrapper " + wrapper(self.environment), to_string=True)
        gdb.events.stop.connect(self.on_stop)
        gdb.events.exited.connect(self.on_exit)
        gdb.events.new_objfile.connect(self.on_objfile)

    def loop(self) -> None:
        command = "run"
        while command:
            self.last_stop = None
            gdb.execute(command)  # with to_string=True gdb (14.2) sends no stop event
            command = self.next_command() if gdb.selected_inferior().pid else ""
        if self.entry and not self.n_faults:
            emit.write(self.out, self.entry)

    def next_command(self) -> str:
        """What to do at a stop: collect when it is a fault, else let the program have what it would have had."""
        kind = faults.stop_kind(self.last_stop, bool(self.environment.get("CUDATRAP_GDB_API_FAILURES")))
        if kind == "host-trap":
            return "signal SIGTRAP"
        if kind == "other":
            return "continue"
        if kind == "assert-entry" and not self.n_faults:
            # The first warp is at the assert; the exception that follows shows all of them. Kept in case none follows.
            self.entry = self.entry or collect.collect()
            self.disable_breakpoints()
            return "continue"
        self.record(kind)
        if self.environment.get("CUDATRAP_GDB_AFTER") == "continue" and self.n_faults < MAX_FAULTS:
            return "signal 0"  # the debugger's signal is none of the program's
        self.update(aborted=True)
        return "signal SIGABRT"  # its own handlers run, and it never runs past the fault

    def disable_breakpoints(self) -> None:
        for breakpoint in self.breakpoints:
            breakpoint.enabled = False

    def record(self, kind: str) -> None:
        self.n_faults += 1
        document = collect.collect()
        if kind == "api-error":
            document["kind"] = kind
        if self.n_faults > 1:
            emit.write(f"{self.out}.{self.n_faults}", document)
            return
        emit.write(self.environment["CUDATRAP_GDB_HOST"], hoststacks.collect())
        emit.write(self.out, document)
        self.hold()

    def hold(self) -> None:
        """The front-end reads the interpreter's structures of the stopped program."""
        end = time.monotonic() + READ_TIMEOUT_S
        while not os.path.exists(self.environment["CUDATRAP_GDB_READ"]) and time.monotonic() < end:
            time.sleep(0.005)

    def update(self, **facts: Any) -> None:
        self.status.update(facts)
        emit.write(self.status_path, self.status)

    def exit_status(self) -> int:
        """Ours, as a shell would have it for the program."""
        if "exited" in self.status:
            return int(self.status["exited"]) & 0xFF
        return 128 + int(self.status.get("signaled", signal.SIGKILL))

    # -- events

    def on_stop(self, event: Any) -> None:
        self.last_stop = event

    def on_objfile(self, event: Any) -> None:
        pid = gdb.selected_inferior().pid
        if pid and "pid" not in self.status:
            self.update(pid=pid)

    def on_exit(self, event: Any) -> None:
        if hasattr(event, "exit_code"):
            self.update(exited=int(event.exit_code))
            return
        number = gdb.convenience_variable("_exitsignal")
        if number is not None:
            self.update(signaled=int(number))


def wrapper(environment: Mapping[str, str]) -> str:
    """The command that turns the shell that gdb starts into the program.

    It is one shell that becomes the program: gdb counts the exec calls. It contains no character that the outer shell would change but the
    quotes around the script, and takes every value from the environment.
    """
    fds = [int(fd) for fd in environment["CUDATRAP_GDB_FDS"].split()]
    if len(fds) != 3 or not all(3 <= fd <= 9 for fd in fds):
        raise gdb.GdbError("CUDATRAP_GDB_FDS: three numbers from 3 to 9")  # a POSIX shell knows no others
    steps = ['ulimit -S -c "$CUDATRAP_GDB_CORE"'] if environment.get("CUDATRAP_GDB_CORE") else []
    names = environment.get("CUDATRAP_KEPT", "").split()
    for name in names:
        if not re.match(r"^[A-Za-z_][A-Za-z0-9_]*$", name):
            raise gdb.GdbError(f"CUDATRAP_KEPT: {name!r} is no name of a variable")
        kept = "CUDATRAP_KEEP_" + name
        steps.append(f'{name}="${kept}"; export {name}' if kept in environment else f"unset {name}")
    ours = sorted(name for name in environment if re.match(r"^CUDATRAP_(GDB_[A-Z_]*|KEEP_[A-Za-z0-9_]*|KEPT|GDBSCRIPTS)$", name) and name not in names)
    steps.append("unset " + " ".join(ours))
    closed = " ".join(f"{fd}<&-" for fd in sorted(set(fds)))
    steps.append(f'exec "$@" <&{fds[0]} >&{fds[1]} 2>&{fds[2]} {closed}')
    return "/bin/sh -c '" + "; ".join(steps) + "' sh"
