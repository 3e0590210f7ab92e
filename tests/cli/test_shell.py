#!/usr/bin/env python3
"""`cudatrap shell` as people and scripts use it: on a terminal, from a pipe, on every recorded dump.

UPDATE_GOLDEN=1 rewrites tests/data/shell.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

from harness import PATIENCE, Terminal, equal, main, test

SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
CUDATRAP = str(Path(os.environ.get("top_builddir", "build")).resolve() / "cudatrap")
CORES = SRC / "tests/data/gpu-cores"
GOLDEN = SRC / "tests/data/shell"
LINE = "assert.line"
DUMPS = sorted(path.name[: -len(".nvcore.xz")] for path in CORES.glob("*.nvcore.xz") if not path.name.startswith("truncated"))
INCIDENT = SRC / "tests/data/render/torch-cross-entropy/incident.json"


def dump(name: str) -> str:
    return str(CORES / f"{name}.nvcore.xz")


def environment(home: str, **more: str) -> Dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(("ASAN", "UBSAN", "LSAN")) or name == "PATH"}
    return {**kept, "HOME": home, "TERM": "dumb", "INPUTRC": "/dev/null", "LC_ALL": "C.UTF-8",
            "CUDATRAP_DATA": str(SRC / "data"), **more}


def run(*arguments: str, given: str = "") -> Tuple[int, str]:
    """The status, and both outputs in the order in which they came."""
    done = subprocess.run([CUDATRAP, "shell", *arguments], input=given.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE,
                          env=environment("/nonexistent"), check=False)
    return done.returncode, done.stdout.decode()


def commands(*lines: str) -> List[str]:
    return [word for line in lines for word in ("-c", line)]


class Person(Terminal):
    """Someone at the prompt."""

    def __init__(self, file: str, home: str, size: Tuple[int, int] = (24, 80), **more: str) -> None:
        super().__init__([CUDATRAP, "shell", file], environment(home, **more), size=size)
        self.expect(r"'help' lists the commands\.\r\n")
        self.prompt()

    def prompt(self) -> str:
        found = self.expect(r"\(cudatrap\) ")
        return found.string[: found.start()].decode()

    def do(self, line: str) -> str:
        self.send(line.encode() + b"\r")
        self.expect(re.escape(line) + r" ?\r\n")
        return self.prompt()

    def leave(self) -> int:
        self.send(b"\x04")
        return self.end()[0]


@test("what each dump says of its threads, its stack and its arguments")
def _() -> None:
    equal(len(DUMPS), 16)
    for name in DUMPS:
        status, text = run(dump(name), *commands("why", "threads", "thread", "stack", "args", "exceptions", "kernels"))
        golden = GOLDEN / f"{name}.txt"
        if os.environ.get("UPDATE_GOLDEN") == "1":
            golden.write_text(f"{text}[status {status}]\n")
        equal((name, f"{text}[status {status}]\n"), (name, golden.read_text()))


@test("from a pipe there is no prompt and no echo, and a failure does not end it")
def _() -> None:
    equal(run(dump(LINE), given="thread 2\n\n  nonsense\nquit\nthreads\n"), (1, (
        "nll_forward block (4,0,0) thread (5,0,0)   device 0 SM 128 warp 0 lane 5\n"
        "device-side assert (number 12)\n#0  /tmp/src/faults.cu:9  load_label(long const*, long, int)+0x1a0\n"
        "cudatrap: shell: unknown command 'nonsense' ('help' lists the commands)\n")))
    equal(run(dump(LINE), given="quit")[0], 0)
    equal(run(dump(LINE), given="quit\0threads\nthreads\n")[0], 1)
    equal(run(dump(LINE), *commands("quit", "nonsense")), (0, ""))


@test("options stand before or behind the file")
def _() -> None:
    before, behind = run("-c", "threads", dump(LINE)), run(dump(LINE), "--command=threads")
    equal(before, behind)
    equal(before[0], 0)


@test("wrong use is status 125, a file that cannot be read is 1, and both say why")
def _() -> None:
    for arguments, status, words in (
        ((), 125, "no file given"),
        ((dump(LINE), dump(LINE)), 125, "one file at a time"),
        ((dump(LINE), "--nonsense"), 125, "unknown option '--nonsense'"),
        (("/nonexistent/file",), 1, "/nonexistent/file: No such file or directory"),
        (("/",), 1, "//incident.json: No such file or directory"),
        ((str(CORES / "README.md"),), 1, "neither a GPU core dump nor an incident"),
        (("/dev/null",), 1, "/dev/null: empty"),
        ((dump("truncated"),), 1, "the driver gave up while it wrote the dump"),
        ((dump(LINE), *commands(*["threads"] * 65)), 125, "at most 64"),
    ):
        got, text = run(*arguments)
        equal((arguments[:1], got, words in text, text.count("\n")), (arguments[:1], status, True, 1))


@test("bad input says what would be right")
def _() -> None:
    for line, words in (
        ("threds", "did you mean 'threads'?"),
        ("th", "'th' may be: threads, thread"),
        ("!ls", "no other program is run from here"),
        ("thread 9,0,0 0", "block (9,0,0) is out of range: (0,0,0) to (7,0,0)"),
        ("thread 0 128", "thread (128,0,0) is out of range: (0,0,0) to (127,0,0)"),
        ("thread 0 3", "thread (3,0,0) is not in this dump"),
        ("thread 1,0,0 3", "block (1,0,0) is not in this dump"),
        ("thread 0", "there is no failing thread 0: they are 1 to 2"),
        ("thread 3", "there is no failing thread 3: they are 1 to 2"),
        ("thread x", "'x' is neither a number nor a thread"),
        ("thread 0 1,2,3,4", "'1,2,3,4' is not a thread"),
        ("thread x 0", "'x' is not a block"),
        ("thread 1 2 3", "usage: thread [N | [BLOCK] THREAD]"),
        ("threads some", "usage: threads [all]"),
        ("report load x", "usage: report [save FILE]"),
        ("report save /nonexistent/x", "No such file or directory"),
        ("kernel nothing", "there is no kernel 'nothing' in this dump"),
        ("mem arg9", "there is no argument 9: the kernel has 5"),
        ("mem what", "neither an address nor an argument"),
        ("mem arg0 f99", "'f99' is none of: u8"),
        ("mem arg0 f32 0", "'0' is not a count from 1 to 4096"),
        ("mem arg0 f32 5000", "is not a count from 1 to 4096"),
        ("mem arg0 f32 4", "does not have skip_global_memory"),
        ("mem arg0 f32 4", "--dump=memory or full keeps it"),
        ("mem 0xffffffffffffffff x64 4096", "are not in this dump"),
        ("host", "run the program under cudatrap"),
        ("up", "run the program under cudatrap"),
        ("python", "run the program under cudatrap"),
        ("log", "run the program under cudatrap"),
        ("source 7", "there is no frame '7': 'stack' shows 1"),
        ("source", "/tmp/src/faults.cu"),
        ("asm", "cuda-gdb -ex 'target cudacore"),
        ("next", "needs a running program"),
        ("break-on nll_forward if n == 3", "needs a running program"),
        ("on-launch nll_forward", "see cudatrap-gdb(7)"),
        ("help nonsense", "unknown command 'nonsense'"),
        ("help 'unclosed", "a quote is not closed"),
    ):
        status, text = run(dump(LINE), "-c", line)
        if status != 1 or words not in text:
            raise AssertionError(f"{line}: status {status}: {text}")


@test("a dump with memory answers with its elements, and says how far it goes")
def _() -> None:
    memory = str(SRC / "tests/data/kernel-dumps/assert_blocks.mem.nvcore.xz")  # labels[i] = i % 3, but for 2 and 517
    status, text = run(memory, *commands("values", "mem arg1 i64 4", "tensor arg1 7", "tensor arg1 517", "find 3", "find -1", "find 2"))
    equal((status, text.splitlines()[-8:]), (0, [
        "array of argument 1: 8192 int64 read, least -1 at [517], greatest 3 at [2]",
        "0x7f12cfe04000:  0  1  3  0",
        "[7] = 1",
        "[517] = -1   the first of 1 that are not from 0 to below argument 3",
        "argument 4 = 3",
        "array of argument 1: [2] = 3",
        "array of argument 1: [517] = -1",
        "array of argument 1: [5] = 2, the first of 332",
    ]))
    for line, words in (("mem 0x7f12cfffffe0 x64 16", "96 of 128 bytes at 0x7f12cfffffe0 are not in this dump (--dump=memory or full keeps it"),
                        ("tensor arg1 99999999", "arg1 has no element 99999999 in this dump"), ("tensor arg1 18446744073709551615", "has no element"),
                        ("find 77777", "in no array that was read"), ("find 18446744073709551615", "in no array")):
        status, text = run(memory, "-c", line)
        if status != 1 or words not in text:
            raise AssertionError(f"{line}: status {status}: {text}")


RECORDED = SRC / "tests/gpu/recorded/wait-pytorch"


@test("a report answers what was read of values, arguments and tensors")
def _() -> None:
    status, text = run(str(RECORDED), *commands("values", "args", "tensors y", "tensor y", "tensor y 2", "tensor arg3 2", "find 3", "python locals"))
    golden = GOLDEN / "recorded-values.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.write_text(text)
    equal((status, text), (0, golden.read_text()))
    for line, words in (("tensor y 5", "was not kept"), ("tensor nothing", "there is no tensor 'nothing'"), ("tensors nothing", "'tensors' lists them"), ("find x", "not an integer"),
                        ("find 77", "in no argument"), ("tensor y 1:3", "not an index"), ("python globals", "usage: python [locals]"), ("tensor arg77", "no tensor 'arg77'")):
        status, text = run(str(RECORDED), "-c", line)
        equal((line, status, words in text), (line, 1, True))
    for line in ("tensors", "tensor y", "python locals"):
        status, text = run(dump(LINE), "-c", line)
        equal((line, status, "a GPU core dump knows no tensors" in text or "there is no tensor" in text), (line, 1, True))


@test("a stored incident answers, and says what only a dump has")
def _() -> None:
    for folder in (str(INCIDENT), str(INCIDENT.parent)):
        status, text = run(folder, *commands("why", "threads", "thread", "stack", "host", "host full", "frame 2", "up", "down", "python", "log", "collectors",
                                             "environment", "kernels", "devices", "exceptions"))
        golden = GOLDEN / "incident.txt"
        if os.environ.get("UPDATE_GOLDEN") == "1":
            golden.write_text(text)
        equal((status, text), (0, golden.read_text()))
    for line in ("regs", "sms", "modules", "raw", "mem 0x1000", "threads all", "kernel 1"):
        status, text = run(str(INCIDENT), "-c", line)
        equal((line, status, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1" in text), (line, 1, True))
    for line, words in (("thread 0 9", "is not among the"), ("frame 999", "there is no host frame '999'"), ("down", "the innermost host frame"),
                        ("host x", "usage: host")):
        status, text = run(str(INCIDENT), "-c", line)
        equal((line, status, words in text), (line, 1, True))


@test("any of 270,336 threads takes the focus")
def _() -> None:
    lines = [f"thread {block} {block % 128}" for block in range(0, 2112, 3)]
    status, text = run(dump("many.rel"), given="\n".join(lines))
    equal((status, re.findall(r"^nll_forward block \((\d+),0,0\) thread \((\d+),0,0\)", text, re.M)),
          (0, [(str(block), str(block % 128)) for block in range(0, 2112, 3)]))
    status, text = run(dump("many.rel"), *commands("threads all", "thread 270336"))
    equal((status, "block (2111,0,0) thread (127,0,0)" in text, len(text.splitlines()) < 20), (0, True, True))


@test("the report is saved for its owner alone")
def _() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, start in (("x.txt", "cudatrap: device-side assert in nll_forward"), ("x.json", "{")):
            path = Path(folder) / name
            equal(run(dump(LINE), "-c", f"report save '{path}'"), (0, f"written: {path}\n"))
            equal((path.read_text().startswith(start), stat.S_IMODE(path.stat().st_mode)), (True, 0o600))
        # What was saved can be opened again.
        equal(run(str(Path(folder) / "x.json"), "-c", "threads"), run(dump(LINE), "-c", "threads"))


@test("source is read where it was compiled, from regular files only")
def _() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, document = Path(folder) / "a.cu", Path(folder) / "incident.json"
        saved = Path(folder) / "saved.json"
        run(dump(LINE), "-c", f"report save {saved}")
        text = saved.read_text()
        source.write_text("".join(f"line {i}\n" for i in range(1, 30)))
        document.write_text(text.replace("/tmp/src/faults.cu", str(source)))
        status, got = run(folder, "-c", "source")
        equal((status, got.splitlines()[1], ">     9  line 9" in got.splitlines(), len(got.splitlines())), (0, "      4  line 4", True, 12))
        source.unlink()
        os.mkfifo(source)
        status, got = run(folder, "-c", "source")
        equal((status, "is not a regular file" in got), (1, True))


@test("every command's help stands in the manual")
def _() -> None:
    manual = (SRC / "doc/cudatrap-shell.1").read_text().replace("\\-", "-").replace("\\e", "\\")
    section = manual.split(".SH COMMANDS\n")[1].split(".SH ")[0]
    got = re.findall(r"\.TP\n\.B (.*)\n(.*)\.\n", section)
    names = [line.split()[0] for line in run(dump(LINE), "-c", "help")[1].splitlines()]
    wanted = []
    for name in names:
        usage, text = run(dump(LINE), "-c", f"help {name}")[1].splitlines()
        text = text.strip()
        wanted.append((usage, text[0].upper() + text[1:]))
    equal(got, wanted)
    if len(wanted) < 20:
        raise AssertionError(f"only {len(wanted)} commands")


@test("the commands in cuda-gdb have names of the shell's, and their manual has their help")
def _() -> None:
    manual = (SRC / "doc/cudatrap-gdb.7").read_text().replace("\\-", "-").replace("\\e", "\\")
    got = re.findall(r"\.TP\n\.B (trap .*)\n(.*)\n", manual.split(".SH COMMANDS\n")[1].split(".SH ")[0])
    helps = dict(line.split(None, 1) for line in run(dump(LINE), "-c", "help")[1].splitlines())
    wanted = []
    needs_a_process = ("next", "break-on", "on-launch")
    reads_memory = ("tensor", "find")  # of the running program: more than a file can answer
    files = sorted((SRC / "gdbscripts/cudatrap").glob("*commands.py"))
    for node in [node for file in files for node in ast.parse(file.read_text()).body]:
        text = (ast.get_docstring(node) or "").splitlines() if isinstance(node, ast.ClassDef) else []
        usage = [line[len("Usage: "):] for line in text if line.startswith("Usage: ")]
        if not usage:
            continue
        name = usage[0].split()[1]
        wanted.append((usage[0], text[0]))
        if name in needs_a_process:
            continue
        if name not in ("report", "args", "asm", "host", "python", *reads_memory):  # these do a little more or less
            equal((name, text[0].rstrip(".").lower()), (name, helps[name].lower()))
        equal((name, name in helps), (name, True))
    equal(sorted(got), sorted(wanted))
    equal(len(got), 23)


@test("TAB completes what exists")
def _() -> None:
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "saved here").touch()
        (Path(home) / "inputrc").write_text("set bell-style none\n")
        person = Person(dump(LINE), home, INPUTRC=f"{home}/inputrc")
        person.send(b"thr\t")
        person.expect("thread")
        person.send(b" 4\t")
        person.expect("4,0,0 ")
        person.send(b"\t\r")
        person.expect("5,0,0")
        equal("block (4,0,0) thread (5,0,0)" in person.prompt(), True)
        person.send(b"kernel n\t\r")
        person.expect("nll_forward")
        equal("block (0,0,0) thread (2,0,0)" in person.prompt(), True)
        person.send(f"report save {home}/sav\t\r".encode())
        person.expect("written: ")
        person.prompt()
        equal(sorted(x.name for x in Path(home).iterdir() if x.name.startswith("saved")), ["saved here"])
        person.send(b"help exc\t\r")
        person.expect("count the threads and SMs with an exception")
        person.prompt()
        equal(person.leave(), 0)


@test("history outlives the session, for its owner alone")
def _() -> None:
    with tempfile.TemporaryDirectory() as home:
        state = Path(home) / "state"
        for turn in range(2):
            person = Person(dump(LINE), home, XDG_STATE_HOME=str(state))
            if turn == 0:
                person.do("thread 2")
            else:
                person.send(b"\x10")  # the line before
                person.expect("thread 2")
                person.send(b"\r")
                equal("thread (5,0,0)" in person.prompt(), True)
            equal(person.leave(), 0)
            history = state / "cudatrap/history"
            equal(stat.S_IMODE(history.stat().st_mode), 0o600)
            equal(stat.S_IMODE(history.parent.stat().st_mode), 0o700)
            equal(history.read_text(), "thread 2\n")
            history.chmod(0o644)


@test("without a place for the history a session works")
def _() -> None:
    with tempfile.TemporaryDirectory() as home:
        blocked = Path(home) / "state"
        for turn in range(3):
            if turn == 1:
                blocked.write_text("a file")
            if turn == 2:
                blocked.unlink()
                (blocked / "cudatrap").mkdir(parents=True)
                os.mkfifo(blocked / "cudatrap/history")
            person = Person(dump(LINE), home, XDG_STATE_HOME="/dev/null/x" if turn == 0 else str(blocked))
            equal("load_label" in person.do("stack"), True)
            equal(person.leave(), 0)


@test("Ctrl-C ends a long output, Ctrl-D the session")
def _() -> None:
    with tempfile.TemporaryDirectory() as home:
        person = Person(dump("many.rel"), home)
        person.send(b"raw\r")  # 240 MB
        person.expect("section 1 ")
        person.send(b"\x03")
        person.expect(r"\^C\r?\n")
        person.prompt()
        person.send(b"half a line")
        person.expect("half a line")
        person.send(b"\x03")
        person.expect(r"\^C\r?\n")
        person.prompt()
        equal("load_label" in person.do("stack"), True)
        equal(person.leave(), 0)


@test("a failed command is told in the status of the session")
def _() -> None:
    with tempfile.TemporaryDirectory() as home:
        person = Person(dump(LINE), home)
        equal("unknown command" in person.do("nonsense"), True)
        person.send(b"quit\r")
        equal(person.end()[0], 1)


@test("output follows the size of the window")
def _() -> None:
    with tempfile.TemporaryDirectory() as home:
        person = Person(dump("many.rel"), home, size=(50, 120))
        wide = person.do("why")
        person.resize(50, 60)
        narrow = person.do("why")
        equal(max(map(len, narrow.splitlines())) <= 60 < max(map(len, wide.splitlines())), True)
        equal(person.leave(), 0)


@test("long output goes through the pager, without a shell between")
def _() -> None:
    with tempfile.TemporaryDirectory() as home:
        pager = Path(home) / "the pager"
        pager.write_text("#!/bin/sh\necho \"PAGED $# $*\"\nexec head -n 1\n")
        pager.chmod(0o700)
        marks = f"'{pager}' -x ; touch {home}/made"
        person = Person(dump("many.rel"), home, PAGER=marks)
        person.send(b"raw\r")  # far more than the reader takes
        person.expect(re.escape(f"PAGED 4 -x ; touch {home}/made") + r"\r\nGPU core dump")
        person.prompt()
        equal("PAGED" in person.do("stack"), False)
        equal(person.leave(), 0)
        equal((Path(home) / "made").exists(), False)
        person = Person(dump(LINE), home, PAGER="/nonexistent/pager")
        shown = person.do("help")
        equal(("PAGER '/nonexistent/pager' could not be started" in shown, "quit" in shown), (True, True))
        equal(person.leave(), 0)


@test("colours are those of the report")
def _() -> None:
    with tempfile.TemporaryDirectory() as home:
        for more, coloured in (({"TERM": "vt100"}, True), ({"TERM": "vt100", "NO_COLOR": "1"}, False), ({}, False)):  # a dumb terminal has none
            person = Person(dump(LINE), home, **more)
            equal("\x1b[31m" in person.do("why"), coloured)
            equal(person.leave(), 0)


if __name__ == "__main__":
    sys.exit(main())
