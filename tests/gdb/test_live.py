# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole program under the real cuda-gdb, and attaching to one: the program must not notice. No GPU is needed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any, Dict, NamedTuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

HOST = os.path.join(tap.BUILD, "tests", "gdb", "host")
PATIENCE_S = 60


class Run(NamedTuple):
    status: int
    out: bytes
    err: bytes
    said: Dict[str, Any]


def live(*argv: str, stdin: bytes = b"", **variables: str) -> Run:
    with tap.Scratch() as scratch:
        done = subprocess.run(
            [tap.DRIVE, "live", scratch, *argv],
            env=tap.environment(**variables),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=300,
            check=False,
        )
        with open(os.path.join(scratch, "live-status.json"), encoding="utf-8") as file:
            said = json.load(file)
        tap.equal(os.path.exists(os.path.join(scratch, "gpu.json")), False, "a fault was seen where there is none")
        if said.pop("pid") <= 1:
            raise AssertionError("no process id")
        return Run(done.returncode, done.stdout, done.stderr, said)


def test_exit_status_is_the_programs() -> None:
    for code in (0, 1, 7, 255):
        run = live(HOST, "exit", str(code))
        tap.equal((run.status, run.said, run.out, run.err), (code, {"exited": code}, b"", b""))


def test_death_by_signal_is_told() -> None:
    for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGTERM, signal.SIGINT, signal.SIGTRAP):
        run = live(HOST, "kill", str(int(number)))
        tap.equal((run.status, run.said), (128 + number, {"signaled": int(number)}))


def test_handled_signals_reach_the_program() -> None:
    for number in (signal.SIGUSR1, signal.SIGINT, signal.SIGCHLD, signal.SIGALRM, signal.SIGSEGV, signal.SIGABRT, signal.SIGTRAP):
        run = live(HOST, "handle", str(int(number)))
        tap.equal((run.out, run.said), (f"got {int(number)}\n".encode(), {"exited": 3}))


ODD = ["a b", "q'u\"o", "new\nline", "*", "", "$HOME", "\\back\\", "~", ";x", "`id`", "!a", "--args", "-x", "tab\t", "gr\u00fc\u00df", "#c", "\x01", "'", "((", "a=b"]


def test_arguments_arrive_byte_for_byte() -> None:
    run = live(HOST, "arguments", *ODD)
    tap.equal(run.out, b"".join(a.encode() + b"\0" for a in ODD))
    for argument in ODD:
        tap.equal(live(HOST, "arguments", argument).out, argument.encode() + b"\0")


def test_input_and_output_are_the_programs_own() -> None:
    run = live("/bin/sh", "-c", "cat; echo to the other >&2", stdin=b"line one\nline two")
    tap.equal((run.out, run.err), (b"line one\nline two", b"to the other\n"))
    tap.equal(len(live(HOST, "output").out), 20000000)


def test_children_run_on() -> None:
    run = live(HOST, "fork")
    tap.equal((run.out, run.said), (b"in the child\nchild 9\n", {"exited": 6}))


def test_program_may_become_another() -> None:
    run = live(HOST, "exec")
    tap.equal((run.out, run.said), (b"by another program\n", {"exited": 8}))


def script(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def test_scripts_are_run_by_their_interpreter() -> None:
    with tap.Scratch() as folder:
        plain = script(folder, "plain", '#!/bin/sh\necho "$1"; exit 5\n')
        run = live(plain, "a  b")
        tap.equal((run.out, run.said), (b"a  b\n", {"exited": 5}))
        by_env = script(folder, "by env", f"#!/usr/bin/env {os.path.basename(sys.executable)}\nimport sys; print(sys.argv[1:]); sys.exit(4)\n")
        run = live(by_env, "x", PATH=os.path.dirname(sys.executable) + ":" + os.environ["PATH"])
        tap.equal((run.out, run.said), (b"['x']\n", {"exited": 4}))


def test_environment_is_the_programs_own() -> None:
    show = ["/usr/bin/env", "-0"]
    variables = {"PYTHONHOME_": "x", "PYTHONPATH": "/nowhere", "SHELL": "/bin/false", "LC_ALL": "C", "COLUMNS": "77", "ODD": "a 'b' \"c\"\n*", "CUDATRAP_GDB_OUT": "outer"}
    plain = subprocess.run(show, env=tap.environment(**variables), stdout=subprocess.PIPE, check=True).stdout
    run = live(*show, **variables)
    # The shells in between set `_`; variables of an outer run of ours are not passed on.
    wanted = {e for e in plain.split(b"\0") if not e.startswith((b"_=", b"CUDATRAP_GDB_OUT="))}
    got = {e for e in run.out.split(b"\0") if not e.startswith(b"_=")}
    if sorted(got ^ wanted) not in ([], [b"LINES="]):
        tap.equal(sorted(got - wanted), [], "more than without us")
        tap.equal(sorted(wanted - got), [], "less than without us")


def test_core_limit_and_folder_are_the_programs_own() -> None:
    plain = subprocess.run(["/bin/sh", "-c", "ulimit -S -c; pwd"], stdout=subprocess.PIPE, check=True).stdout
    tap.equal(live("/bin/sh", "-c", "ulimit -S -c; pwd").out, plain)


def test_unknown_program_is_told() -> None:
    with tap.Scratch() as scratch:
        done = tap.drive("live", scratch, "no-such-program")
        tap.equal((done.returncode, done.stderr), (1, b"not found: no-such-program: command not found\nhint: \n"))


# ---- attaching


def attach(how: str, after: str) -> int:
    """Attaches to a waiting program; returns how it ended. It is ended by SIGTERM when it was let go, by SIGABRT when left."""
    target = subprocess.Popen([HOST, "wait"])
    try:
        with tap.Scratch() as scratch:
            done = tap.drive(how, str(target.pid), scratch, after)
        if done.returncode == 0:
            rows = json.loads(done.stdout)["collectors"]
            tap.equal([r["status"] for r in rows if r["name"] == "gpu"], ["failed"], "a program without CUDA")
        elif b"denied: " in done.stderr:
            raise tap.Skip("ptrace is refused here")
        else:
            raise AssertionError(done.stderr.decode())
        target.send_signal(signal.SIGTERM if after == "detach" else signal.SIGABRT)
        return target.wait(PATIENCE_S)
    finally:
        if target.poll() is None:
            target.kill()
            target.wait()


def test_attached_program_is_let_go() -> None:
    tap.equal([attach(how, "detach") for how in ("attach", "mi-attach")], [-signal.SIGTERM] * 2)


def test_attached_program_is_left_as_it_was() -> None:
    tap.equal([attach(how, "leave") for how in ("attach", "mi-attach")], [-signal.SIGABRT] * 2)


def test_attaching_to_nobody_says_so() -> None:
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    for how in ("attach", "mi-attach"):
        with tap.Scratch() as scratch:
            done = tap.drive(how, str(gone.pid), scratch, "detach")
        tap.equal((done.returncode, b"the process ended before cuda-gdb could attach" in done.stderr), (1, True), done.stderr.decode())


if __name__ == "__main__":
    tap.need_cuda_gdb()
    tap.run([value for name, value in list(globals().items()) if name.startswith("test_")])
