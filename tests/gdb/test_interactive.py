# SPDX-License-Identifier: GPL-3.0-or-later
"""`cudatrap -i` and `attach -i` on a terminal with the real cuda-gdb, on host programs: no GPU is needed."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import termios
from typing import Dict, List, Optional, Tuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

sys.path.insert(0, os.path.join(tap.TOP, "tests", "cli"))
import harness  # noqa: E402

HOST = os.path.join(tap.BUILD, "tests", "gdb", "host")
APP = os.path.join(tap.BUILD, "tests", "cli", "fakeapp")
CUDATRAP = os.path.join(tap.BUILD, "cudatrap")
PROMPT = r"\(cuda-gdb\) "
PATIENCE_S = 60
harness.PATIENCE = PATIENCE_S


def variables(folder: str) -> Dict[str, str]:
    return tap.environment(
        CUDATRAP_AGENT=os.path.join(tap.BUILD, "libcudatrap-agent.so"), TMPDIR=folder, XDG_CONFIG_HOME=folder, TERM="dumb", LC_ALL="C.UTF-8", NO_COLOR="1"
    )


class Session:
    """A run on a terminal."""

    def __init__(self, folder: str, *words: str, size: Tuple[int, int] = (24, 80), start: str = "") -> None:
        self.reports = os.path.join(folder, "reports")
        command = [CUDATRAP, *(["attach"] if start == "attach" else []), "-i", "-o", self.reports, "--grace", "2", *words]
        self.terminal = harness.Terminal(command, variables(folder), size=size)
        self.seen = ""

    def prompt(self) -> str:
        """What came before the next prompt."""
        found = self.terminal.expect(PROMPT)
        text = found.string[: found.start()].decode(errors="replace").replace("\r\n", "\n")
        self.seen += text
        return text

    def ask(self, command: str) -> str:
        self.terminal.send(command.encode() + b"\n")
        return self.prompt().split("\n", 1)[-1]

    def width(self) -> int:
        """As cuda-gdb has it. A changed window or Ctrl-C shows the prompt once more: the answer and the prompt behind it are waited for."""
        self.terminal.send(b"show width\n")
        found = self.terminal.expect(r"in a line is (\d+)\.\r\n" + PROMPT)
        return int(found[1])

    def until_the_program_has_the_keyboard(self) -> None:
        """A Ctrl-C before that would be for cuda-gdb's own work."""
        gdb = os.getpgid(gdb_below(self.terminal.pid))
        harness.until(lambda: os.tcgetpgrp(self.terminal.fd) != gdb, "the program to have the keyboard")

    def quit(self, kills: bool = True) -> int:
        self.terminal.send(b"quit\n")
        if kills:
            self.terminal.expect(r"y or n\) ")
            self.terminal.send(b"y\n")
        return self.end()

    def end(self) -> int:
        """Its status; the terminal must be as it was."""
        fd = os.dup(self.terminal.fd)
        try:
            status, rest = self.terminal.end()
            self.seen += rest.decode(errors="replace")
            tap.equal(termios.tcgetattr(fd), self.terminal.modes, "modes of the terminal")
        finally:
            os.close(fd)
        return status

    def report(self) -> Optional[str]:
        names = sorted(os.listdir(self.reports)) if os.path.isdir(self.reports) else []
        return os.path.join(self.reports, names[0]) if names else None


def leftovers(folder: str) -> List[str]:
    return [name for name in os.listdir(folder) if name.startswith("cudatrap-")]


def test_a_program_without_a_fault_ends_as_it_would() -> None:
    with tap.Scratch() as folder:
        s = Session(folder, "--", "/bin/sh", "-c", 'read x; echo "got $x"; exit 7')
        s.terminal.send(b"some words\n")
        tap.equal(s.end(), 7)
        tap.equal("got some words" in s.seen and "cuda-gdb" not in s.seen and "warning" not in s.seen, True, s.seen)
        tap.equal((s.report(), leftovers(folder)), (None, []))


def test_a_signal_of_the_host_gives_the_prompt() -> None:
    with tap.Scratch() as folder:
        s = Session(folder, "--", HOST, "kill", "11", size=(60, 120))
        first = s.prompt()
        tap.equal(first, "cudatrap: the program stands at SIGSEGV: no GPU fault so far (`continue` goes on)\n`help trap` lists what can be asked here.\n")
        tap.equal(s.ask("trap why"), "no kernel is on a GPU here: there is no fault to ask about\n")
        tap.equal("trap find -- " in s.ask("help trap"), True)
        tap.equal("#0 " in s.ask("bt 1"), True)
        tap.equal(s.quit(), 0)
        tap.equal((s.report(), leftovers(folder)), (None, []))


def test_the_programs_end_is_ours_also_behind_the_prompt() -> None:
    with tap.Scratch() as folder:
        s = Session(folder, "--", HOST, "kill", "11")
        s.prompt()
        s.ask("continue")
        tap.equal(s.quit(kills=False), -signal.SIGSEGV)


def test_a_fault_is_reported_and_handed_over() -> None:
    """What cuda-gdb stops at when a CUDA call fails looks the same without a GPU."""
    if platform.machine() != "x86_64":
        raise tap.Skip("the program's breakpoint is x86's")
    with tap.Scratch() as folder:
        s = Session(folder, "--api-failures", "--", HOST, "breakpoint")
        first = s.prompt()
        tap.equal((first.startswith("cudatrap: "), first.count("\n") <= 24), (True, True), first)
        tap.equal("main" in s.ask("trap host full"), True, s.seen)
        tap.equal("the debugger does not see" in s.ask("trap log"), False, s.seen)
        tap.equal("no tensors were read" in s.ask("trap tensors"), True, s.seen)
        tap.equal("the program has ended" in s.ask("trap next"), True, s.seen)
        tap.equal("no program" in s.ask("trap why"), True, s.seen)
        # For the next run: a name that the host's stub has, and a condition that only device code knows.
        tap.equal("Breakpoint" in s.ask("trap break-on main if threadIdx.x == 2"), True, s.seen)
        tap.equal("stop only if threadIdx.x == 2" in s.ask("info breakpoints"), True, s.seen)
        tap.equal(s.quit(kills=False), 99)
        report = s.report() or ""
        with open(os.path.join(report, "incident.json"), encoding="utf-8") as file:
            incident = json.load(file)
        tap.equal((incident["kind"], incident["ending"]["kind"], incident["engine"]), ("api-error", "exited", "live"))
        s = Session(folder, "--api-failures", "--", HOST, "breakpoint")
        s.prompt()
        tap.equal(s.quit(), 99)
        tap.equal(leftovers(folder), [])


def test_ctrl_c_goes_to_cuda_gdb_and_the_window_follows() -> None:
    with tap.Scratch() as folder:
        s = Session(folder, "--", "/bin/sh", "-c", "echo ready; exec sleep 600")
        s.terminal.expect("ready")
        s.until_the_program_has_the_keyboard()
        s.terminal.send(b"\x03")
        tap.equal("the program stands at SIGINT" in s.prompt(), True, s.seen)
        s.terminal.resize(30, 99)
        harness.until(lambda: s.width() == 99, "cuda-gdb to hear of the window")
        s.terminal.send(b"\x03")  # at the prompt it only ends the line
        s.terminal.expect(r"Quit\r\n" + PROMPT)
        s.width()
        s.terminal.send(b"continue\n")
        s.terminal.expect("Continuing")
        s.until_the_program_has_the_keyboard()
        s.terminal.send(b"\x03")
        s.terminal.expect("SIGINT")  # the changed window may show the old prompt once more before it
        s.prompt()
        tap.equal(s.quit(), 0)
        tap.equal(leftovers(folder), [])


def test_breakpoints_and_next_on_a_host_program() -> None:
    with tap.Scratch() as folder:
        s = Session(folder, "--", HOST, "kill", "11")
        s.prompt()
        s.ask("set disable-randomization on")
        tap.equal("usage: trap break-on KERNEL" in s.ask("trap break-on"), True, s.seen)
        tap.equal("a condition is missing" in s.ask("trap break-on kernel if "), True, s.seen)
        tap.equal("is not the name of a kernel" in s.ask("trap break-on 7x"), True, s.seen)
        tap.equal("(not_there -force-condition if threadIdx.x == 2) pending" in s.ask("trap break-on not_there if threadIdx.x == 2"), True, s.seen)
        tap.equal("(not_there_either) pending" in s.ask("trap on-launch not_there_either"), True, s.seen)
        tap.equal("the program has ended: there was no further fault" in s.ask("trap next"), True, s.seen)
        tap.equal("no program is being debugged" in s.ask("trap next"), True, s.seen)
        s.quit(kills=False)


def children(pid: int) -> List[int]:
    return harness.children_of(pid)


def gdb_below(pid: int) -> int:
    """The cuda-gdb among the descendants."""
    for child in children(pid):
        with open(f"/proc/{child}/cmdline", "rb") as file:
            if b"cudatrap" in file.read() and os.path.basename(os.readlink(f"/proc/{child}/exe")).startswith("cuda-gdb"):
                return child
        below = gdb_below(child)
        if below:
            return below
    return 0


def test_a_cuda_gdb_that_dies_leaves_the_terminal_as_it_was() -> None:
    with tap.Scratch() as folder:
        s = Session(folder, "--", HOST, "kill", "11")
        s.prompt()
        os.kill(gdb_below(s.terminal.pid), signal.SIGKILL)
        s.end()


def test_ctrl_z_and_fg_as_with_any_job() -> None:
    with tap.Scratch() as folder:
        shell = harness.Shell(variables(folder))
        shell.type(f"{CUDATRAP} -i -o {folder}/reports -- {HOST} kill 11")
        shell.expect(PROMPT)
        shell.send(b"\x1a")
        tap.equal(b"Stopped" in shell.prompt(), True)
        shell.foreground()
        shell.send(b"print 4242 + 1\n")
        shell.expect("= 4243\r\n" + PROMPT)
        shell.send(b"quit\n")
        shell.expect(r"y or n\) ")
        shell.send(b"y\n")
        shell.prompt()
        tap.equal(shell.do("echo status $?").strip(), b"status 0")
        shell.leave()


def test_attach_to_a_running_process_and_let_it_go() -> None:
    target, s = subprocess.Popen([HOST, "wait"]), None
    try:
        with tap.Scratch() as folder:
            s = Session(folder, str(target.pid), start="attach")
            first = s.prompt()
            if "could not attach" in first or "does not let" in first:
                raise tap.Skip("ptrace is refused here")
            tap.equal("`help trap` lists" in first and "warning" not in first, True, first)
            s.terminal.send(b"\x03")
            s.prompt()
            tap.equal(s.quit(), 0)
            tap.equal(s.report() is not None, True, s.seen)
            with open(f"/proc/{target.pid}/status", encoding="ascii") as file:
                tap.equal(re.search(r"TracerPid:\s*(\d+)", file.read())[1], "0")  # type: ignore[index]
            tap.equal(target.poll(), None)
    finally:
        if s and s.terminal.status is None:
            os.kill(s.terminal.pid, signal.SIGKILL)  # what is traced ends only when its tracer does
        target.kill()
        target.wait()


def test_wait_opens_the_session_at_the_fault() -> None:
    with tap.Scratch() as folder:
        s = Session(folder, "--engine", "wait", "--", APP, "assert", "3")
        first = s.prompt()
        if "could not attach" in first:
            raise tap.Skip("ptrace is refused here")
        tap.equal((first.count("\n") <= 24, "... `trap report` shows all of it\n" in first), (True, True), first)
        s.ask("set height 0")
        no_focus = "the focus is on no GPU thread, and none has failed\n"
        for command in ("trap args", "trap regs", "trap stack", "trap source", "trap asm", "trap thread", "trap mem arg0"):
            tap.equal(s.ask(command), no_focus, command)
        tap.equal(s.ask("trap thread 1"), "there is no failing thread 1: none is known\n")
        tap.equal(s.ask("trap mem 0x1000"), "no GPU is at work in this program: there is no memory of it to read\n")
        tap.equal("-1 is in no argument" in s.ask("trap find -1"), True, s.seen)
        tap.equal(s.ask("trap values"), "no values are known here: `trap args` shows what the kernel was given\n")
        s.ask("python import cudatrap.runcommands as r; r.has_fault = lambda: True")  # there is no GPU to ask
        s.terminal.send(b"detach\n")
        s.terminal.expect(r"Detach all the same\? \(y or n\) ")
        tap.equal("not detached" in s.ask("n"), True, s.seen)
        tap.equal("engine        wait (asked for)" in s.ask("trap report"), True, s.seen)
        tap.equal("fake_launch" in s.ask("trap host"), True, s.seen)
        walk = [s.ask("trap frame 0")] + [s.ask("trap up") for _ in range(10)]  # how deep in libc the writer was met is not ours to say
        tap.equal("fake_launch" in "".join(walk), True, s.seen)
        tap.equal("can now attach a debugger" in s.ask("trap log"), True, s.seen)
        tap.equal(s.quit(), 99)
        report = s.report() or ""
        tap.equal(f"cudatrap: report: {report}" in s.seen, True, s.seen)
        with open(os.path.join(report, "incident.json"), encoding="utf-8") as file:
            incident = json.load(file)
        tap.equal((incident["ending"]["kind"], incident["engine"]), ("ended-by-us", "wait"))
        tap.equal(leftovers(folder), [])


def test_detaching_in_batch_ends_what_waits() -> None:
    target = subprocess.Popen([HOST, "wait"], env={**os.environ, "CUDA_DEVICE_WAITS_ON_EXCEPTION": "1"})
    try:
        with tap.Scratch() as folder:
            gdb = tap.drive("find").stdout.decode().split(None, 4)[4].strip()
            words = [gdb, "-nx", "-q", "-batch", "-x", os.path.join(tap.SCRIPTS, "trap.py"), "-p", str(target.pid)]
            words += ["-ex", "python import cudatrap.runcommands as r; r.has_fault = lambda: True", "-ex", "detach"]
            done = subprocess.run(words, env=variables(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S, check=False)
            if b"Operation not permitted" in done.stdout:
                raise tap.Skip("ptrace is refused here")
            tap.equal(b"it was ended, not let run on past it" in done.stdout, True, done.stdout.decode())
            tap.equal(target.wait(PATIENCE_S), -signal.SIGKILL)
    finally:
        if target.poll() is None:
            target.kill()
            target.wait()


def plain(folder: str, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [CUDATRAP, "-i", "-o", os.path.join(folder, "reports"), *words]
    return subprocess.run(command, env=variables(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False, text=True)


def test_without_a_terminal_there_is_no_session() -> None:
    with tap.Scratch() as folder:
        done = plain(folder, "--", "/bin/sh", "-c", "echo out; exit 3")
        tap.equal((done.returncode, done.stdout), (3, "out\n"))
        tap.equal(done.stderr, "cudatrap: -i: standard input and output are no terminal: running without a session\n")


def test_engine_core_has_no_session() -> None:
    with tap.Scratch() as folder:
        done = plain(folder, "--engine", "core", "--", "/bin/true")
        tap.equal((done.returncode, done.stderr.startswith("cudatrap: -i: engine core has no session")), (125, True), done.stderr)


if __name__ == "__main__":
    tap.need_cuda_gdb()
    tap.run([value for name, value in list(globals().items()) if name.startswith("test_")])
