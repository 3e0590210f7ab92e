#!/usr/bin/env python3
"""`cudatrap -i` on a terminal with stand-ins for cuda-gdb: what it is told, whose terminal it is, how it ends.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import termios
from typing import List, Tuple

from frontend import APP, CUDATRAP, Bench, Tests

from harness import Terminal

tests = Tests()
test = tests.add

# Answers like a cuda-gdb with Python, whose scripts write the GPU part and wait for the report.
TALK = r"""
trap 'echo interrupted' INT
printf '(fake-gdb) '
while :; do
	read -r line || { [ -t 0 ] && continue; break; }
	case $line in
	quit) break ;;
	die) kill -KILL $$ ;;
	raw) stty raw -echo; kill -KILL $$ ;;
	size) stty size ;;
	read) wc -c < "$CUDATRAP_GDB_SESSION" ;;
	esac
	printf '(fake-gdb) '
done
"""
SCRIPTED = r"""#!/bin/sh
case "$*" in
*'show version'*) echo 'NVIDIA (R) cuda-gdb 13.0'; echo 'ct-python 3.11.2 ct-cuda 1'; exit 0 ;;
esac
cp "$FAKE_GDB_JSON" "$CUDATRAP_GDB_OUT.tmp" && mv "$CUDATRAP_GDB_OUT.tmp" "$CUDATRAP_GDB_OUT"
while [ ! -e "$CUDATRAP_GDB_SESSION" ]; do sleep 0.02; done
""" + TALK
SILENT = r"""#!/bin/sh
case "$*" in
*'show version'*) echo 'NVIDIA (R) cuda-gdb 13.0'; echo 'ct-python 3.11.2 ct-cuda 1'; exit 0 ;;
esac
echo 'no words, says this one'
echo 'ptrace: Operation not permitted.' >> "$CUDATRAP_GDB_LOG"
exit 1
"""
PLAIN = r"""#!/bin/sh
case "$*" in
*'show version'*) echo 'NVIDIA (R) cuda-gdb 13.0'; exit 0 ;;
*interpreter*) exit 1 ;;
esac
file=$(echo "$*" | sed -n 's/.*-x \([^ ]*\).*/\1/p')
echo "defined: $(sed -n 's/^define \(trap-.*\)/\1/p' "$file" | tr '\n' ' ')"
echo "documented: $(grep -c '^document trap-' "$file")"
echo "hooks: $(grep -c '^define hook-quit' "$file")"
echo "words: $*"
""" + TALK
PROMPT = r"\(fake-gdb\) "


class Session:
    def __init__(self, b: Bench, gdb: str, options: List[str], argv: List[str], size: Tuple[int, int] = (24, 80)) -> None:
        b.gdb.write_text(gdb)
        self.terminal = Terminal(b.command(["-i", *options], argv), {**b.env, "NO_COLOR": "1"}, size=size)

    def prompt(self) -> str:
        found = self.terminal.expect(PROMPT)
        return found.string[: found.start()].decode(errors="replace").replace("\r\n", "\n")

    def ask(self, line: str) -> str:
        self.terminal.send(line.encode() + b"\n")
        return self.prompt().split("\n", 1)[-1]

    def end(self, line: str = "") -> Tuple[int, str]:
        """After that line. The terminal must be as it was."""
        if line:
            self.terminal.send(line.encode() + b"\n")
        fd = os.dup(self.terminal.fd)
        status, rest = self.terminal.end()
        modes = termios.tcgetattr(fd)
        os.close(fd)
        assert modes == self.terminal.modes, f"modes of the terminal: {modes}"
        return status, rest.decode(errors="replace")


@test
def the_report_comes_first_then_the_prompt(b: Bench) -> None:
    s = Session(b, SCRIPTED, ["-e", "wait"], [APP, "assert", "3"])
    first = s.prompt()
    assert "nll_loss_forward_reduce_cuda_kernel_2d" in first, first
    assert first.count("\n") <= 24 and "... `trap report` shows all of it\n" in first, first
    assert int(s.ask("read").split()[0]) > 1000
    assert b.reports() == [], "the folder is written when all is known"
    status, rest = s.end("quit")
    assert status == 99 and "cudatrap: report: " in rest, (status, rest)
    (report,) = b.reports()
    assert "ended-by-us" in (report / "incident.json").read_text()
    assert b.leftovers() == []


@test
def the_keyboard_is_the_sessions(b: Bench) -> None:
    s = Session(b, SCRIPTED, ["-e", "wait"], [APP, "assert", "3"])
    s.prompt()
    s.terminal.send(b"\x03")
    s.terminal.expect("interrupted")
    s.ask("\x1a")  # Ctrl-Z has nobody who could continue it: a character like any other
    s.terminal.resize(33, 101)
    assert "33 101" in s.ask("size")
    assert s.end("quit")[0] == 99


@test
def a_session_that_dies_gives_the_terminal_back(b: Bench) -> None:
    for word in ("die", "raw"):
        s = Session(b, SCRIPTED, ["-e", "wait"], [APP, "assert", "3"])
        s.prompt()
        status, rest = s.end(word)
        assert status == 99 and "cudatrap: report: " in rest, (word, status, rest)
    assert len(b.reports()) == 2 and b.leftovers() == []


@test
def a_session_that_never_was_still_gives_a_report(b: Bench) -> None:
    s = Session(b, SILENT, ["-e", "wait"], [APP, "assert", "3"])
    status, rest = s.end()
    assert status == 99 and "says this one" in rest, (status, rest)
    (report,) = b.reports()
    assert "the kernel does not let cuda-gdb attach to the process (in a container" in (report / "incident.json").read_text()
    assert b.leftovers() == []


@test
def what_a_killed_session_leaves_in_the_temporary_folder_is_removed(b: Bench) -> None:
    s = Session(b, SCRIPTED.replace("cp ", 'mkdir -p "$TMPDIR/cuda-dbg/$$/session1"; cp ', 1), ["-e", "wait"], [APP, "assert", "3"])
    s.prompt()
    assert list(b.dir.glob("cuda-dbg/*"))
    assert s.end("die")[0] == 99
    assert list(b.dir.glob("cuda-dbg/*")) == []


@test
def a_job_in_the_background_does_not_take_the_terminal(b: Bench) -> None:
    b.gdb.write_text(SCRIPTED)
    words = " ".join(shlex.quote(word) for word in b.command(["-i", "-e", "wait"], [APP, "assert", "3"]))
    shell = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], {**b.env, "PS1": "PROMPT> ", "HISTFILE": "/dev/null"})
    shell.expect("PROMPT> ")
    shell.send(f"{words} & wait $!; echo status $?\n".encode())
    shell.expect("there is no terminal for a session: this job is in the background")
    shell.expect("status 99")
    shell.send(b"exit\n")
    shell.end()
    assert len(b.reports()) == 1


@test
def without_a_fault_there_is_no_session(b: Bench) -> None:
    s = Session(b, SCRIPTED, ["-e", "wait"], ["sh", "-c", "exit 5"])
    status, rest = s.end()
    assert (status, rest) == (5, ""), (status, rest)


NO_PYTHON = "cudatrap: this cuda-gdb (13.0) has no Python: plain cuda-gdb, with trap-why, trap-threads, trap-thread, trap-stack, trap-regs, trap-asm\n"


@test
def a_cuda_gdb_without_python_gets_plain_commands(b: Bench) -> None:
    s = Session(b, PLAIN, [], [APP, "ok"], size=(60, 200))
    first = s.prompt()
    assert first.startswith(NO_PYTHON), first
    assert "defined: trap-why trap-threads trap-thread trap-stack trap-regs trap-asm \n" in first and "documented: 6\n" in first, first
    assert "hooks: 0\n" in first and f"-ex run --args {APP} ok\n" in first, first
    status, rest = s.end("quit")
    assert status == 0, (status, rest)
    assert b.reports() == [] and b.leftovers() == []


@test
def also_one_that_attaches_to_what_waits(b: Bench) -> None:
    s = Session(b, PLAIN, ["-e", "wait"], [APP, "assert", "3"], size=(60, 200))
    first = s.prompt()
    assert NO_PYTHON in first and "hooks: 1\n" in first and " -p " in first, first
    status, rest = s.end("quit")
    assert status == 99 and "cudatrap: report: " in rest, (status, rest)
    assert b.leftovers() == []


@test
def attach_needs_a_process_and_takes_the_terminal_too(b: Bench) -> None:
    b.gdb.write_text(SCRIPTED)
    target = subprocess.Popen(["sleep", "1000"], env=b.env)
    try:
        command = [CUDATRAP, "attach", "-i", "--cuda-gdb", str(b.gdb), "-o", str(b.dir / "reports"), str(target.pid)]
        s = Session.__new__(Session)
        s.terminal = Terminal(command, {**b.env, "NO_COLOR": "1"})
        assert "nll_loss_forward" in s.prompt()
        s.terminal.send(b"\x03")
        s.terminal.expect("interrupted")
        status, rest = s.end("raw")
        assert status == 0 and "cudatrap: report: " in rest, (status, rest)
        assert target.poll() is None
    finally:
        target.kill()
        target.wait()
    done = subprocess.run([CUDATRAP, "attach", "-i", "--cuda-gdb", str(b.gdb), "0"], env=b.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (125, b"cudatrap: attach: '0' is not a process id\n"), done


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(tests.run())
