# What the front-end's tests share: runs that leave a trace, terminals, an interactive shell, TAP.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback
import tty
import uuid
from typing import Callable, Dict, List, Optional, Tuple

# What the tests start has it as they themselves would; nohup(1) ignores it.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

BUILD = os.path.join(os.environ.get("top_builddir", "."), "tests", "cli")
SUPERVISE = os.path.join(BUILD, "supervise")
APP = os.path.join(BUILD, "fakeapp")
PATIENCE = float(os.environ.get("CT_TEST_PATIENCE", "90"))  # seconds until a wait counts as failed; nothing depends on how long it takes

TESTS: List[Tuple[str, Callable[[], None]]] = []


def test(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def add(function: Callable[[], None]) -> Callable[[], None]:
        TESTS.append((name, function))
        return function
    return add


def equal(got: object, want: object) -> None:
    if got != want:
        raise AssertionError(f"got {str(got)[:400]!r}, want {str(want)[:400]!r}")


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.02)


def under(*command: str, options: Tuple[str, ...] = ()) -> List[str]:
    return [SUPERVISE, *options, "--", *command]


class Run:
    """A token in the environment, so that whatever a run leaves behind can be found; files for what the hooks saw."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="ct-supervisor-")
        self.token = uuid.uuid4().hex
        self.env = dict(os.environ, CT_TEST_TOKEN=self.token, LC_ALL="C")
        self.env.pop("CUDA_DEVICE_WAITS_ON_EXCEPTION", None)
        self.saw_path = os.path.join(self.folder.name, "saw")
        self.events_path = os.path.join(self.folder.name, "events")
        self.text = b""
        self.options: Tuple[str, ...] = ("--saw", self.saw_path, "--events", self.events_path)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *exc: object) -> None:
        for pid in self.alive():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.folder.cleanup()

    def command(self, *command: str, options: Tuple[str, ...] = ()) -> List[str]:
        return under(*command, options=self.options + options)

    def call(self, *command: str, options: Tuple[str, ...] = (), **more: object) -> "subprocess.CompletedProcess[bytes]":
        more.setdefault("stdin", subprocess.DEVNULL)  # type: ignore[arg-type]
        if "input" in more:
            more.pop("stdin")
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        line = self.command(*command, options=options)
        return subprocess.run(line, env=self.env, timeout=PATIENCE, **more)  # type: ignore[call-overload,no-any-return]

    def start(self, *command: str, options: Tuple[str, ...] = (), **more: object) -> "subprocess.Popen[bytes]":
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.command(*command, options=options), env=self.env, **more)  # type: ignore[call-overload,no-any-return]

    def saw(self, stream: int = 2) -> bytes:
        with open(self.saw_path + (".1" if stream == 1 else ""), "rb") as file:
            return file.read()

    def events(self) -> str:
        with open(self.events_path, encoding="ascii") as file:
            return file.read()

    def result(self) -> Dict[str, int]:
        line = [x for x in self.events().splitlines() if x.startswith("result ")][0]
        return {key: int(value) for key, value in (pair.split("=") for pair in line.split()[1:])}

    def alive(self, program: str = "") -> List[int]:
        """Every live process (of a program) that has the token in its environment or arguments, but us."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    environ = file.read()
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    environ += file.read()
                if program and os.path.realpath(program) != os.readlink(f"/proc/{name}/exe"):
                    continue
                if self.token.encode() in environ and state(int(name)) not in "ZX":
                    found.append(int(name))
            except OSError:
                continue
        return found

    def stderr_so_far(self, process: "subprocess.Popen[bytes]") -> bytes:
        """What has come on its pipe; waits a moment for more."""
        assert process.stderr
        if select.select([process.stderr], [], [], 0.1)[0]:
            self.text += os.read(process.stderr.fileno(), 65536)
        return self.text

    def gone(self) -> None:
        until(lambda: not self.alive(), "every process of the run to end")


def state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def children_of(pid: int) -> List[int]:
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def read_line(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout
    return process.stdout.readline()


class Terminal:
    """A command on a terminal of its own (session leader), or with `stdout` and the like elsewhere."""

    def __init__(self, command: List[str], env: Dict[str, str], raw: bool = False, size: Tuple[int, int] = (24, 80),
                 redirect: Optional[Dict[int, int]] = None) -> None:
        ready_read, ready_write = os.pipe()
        self.text = b""
        self.status: Optional[int] = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.close(ready_write)
                os.read(ready_read, 1)
                os.close(ready_read)
                for target, source in (redirect or {}).items():
                    os.dup2(source, target)
                # Python ignores these two; a shell would not hand that on.
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                os.execvpe(command[0], command, env)
            finally:
                os._exit(127)
        os.close(ready_read)
        self.resize(*size)
        if raw:
            tty.setraw(self.fd)
        self.modes = termios.tcgetattr(self.fd)
        os.close(ready_write)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text: bytes) -> None:
        os.write(self.fd, text)

    def _read(self, seconds: float) -> bool:
        """False at the end of the terminal's life."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.fd, 65536)
        except OSError as e:
            if e.errno != errno.EIO:
                raise
            return False
        self.text += got
        return bool(got)

    def expect(self, pattern: str) -> "re.Match[bytes]":
        """Reads until pattern; consumes the text up to its end."""
        deadline = time.monotonic() + PATIENCE
        open_ = True
        while True:
            found = re.search(pattern.encode(), self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            if not open_ or time.monotonic() > deadline:
                raise AssertionError(f"no {pattern!r} on the terminal, but {self.text[-600:]!r}; {self.describe()}")
            open_ = self._read(0.2)

    def end(self) -> Tuple[int, bytes]:
        """Waits for the command; its status as subprocess has it, and the rest of the text."""
        deadline = time.monotonic() + PATIENCE
        while self.status is None:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            elif time.monotonic() > deadline:
                what = self.describe()
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"does not end; the terminal shows {self.text[-600:]!r}; {what}")
        while select.select([self.fd], [], [], 0)[0] and self._read(0):
            pass
        self.close()
        return self.status, self.text

    def describe(self) -> str:
        """Who is there and in which state, for the message of a failure."""
        rows = [f"foreground {os.tcgetpgrp(self.fd)}"]
        for name in sorted(os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                    stat = file.read()
                with open(f"/proc/{name}/status", encoding="latin-1") as file:
                    pending = [line.split()[1] for line in file if line.startswith(("SigPnd", "ShdPnd", "SigBlk"))]
                with open(f"/proc/{name}/wchan", encoding="latin-1") as file:
                    wchan = file.read()
            except OSError:
                continue
            fields = stat.rpartition(")")[2].split()
            if fields[3] == str(self.pid):
                rows.append(f"{stat.rpartition(')')[0]}) {fields[0]} parent {fields[1]} group {fields[2]} {wchan} {pending}")
        return "; ".join(rows)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class Shell(Terminal):
    """An interactive bash with job control, as a person has it."""

    def __init__(self, env: Dict[str, str]) -> None:
        super().__init__(["bash", "--norc", "--noprofile", "--noediting", "-i"],
                         dict(env, PS1="PROMPT> ", HISTFILE="/dev/null", S=SUPERVISE, A=APP))
        self.expect("PROMPT> ")

    def type(self, line: str) -> None:
        self.send(line.encode() + b"\n")
        self.expect(re.escape(line) + "\r\n")

    def foreground(self, line: str = "fg") -> None:
        """Types fg and waits until the shell has let go of the terminal: what is typed before would be for the shell."""
        self.type(line)
        until(lambda: os.tcgetpgrp(self.fd) != self.pid, "the job to have the terminal")

    def do(self, line: str) -> bytes:
        """The output of a command that ends."""
        self.type(line)
        return self.prompt()

    def prompt(self) -> bytes:
        found = self.expect(r"PROMPT> ")
        return found.string[:found.start()]

    def leave(self) -> None:
        self.type("exit 0")
        self.send(b"exit 0\n")  # when jobs are stopped the first one only warns
        self.end()


def main() -> int:
    # As a shell starts its jobs, also when we run in the background, under nohup or in a batch system.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    only = sys.argv[1:]
    chosen = [(name, function) for name, function in TESTS if not only or any(word in name for word in only)]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for i, (name, function) in enumerate(chosen, 1):
        try:
            function()
            print(f"ok {i} - {name}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError, LookupError):
            failed += 1
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok {i} - {name}", flush=True)
    return 1 if failed else 0
