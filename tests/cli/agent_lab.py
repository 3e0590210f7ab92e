# What the cases of agent.py stand on: a folder, a driver library, processes with the agent in them, and waiting.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

AGENT = os.environ["CUDATRAP_AGENT"]
HELPERS = os.path.join(os.environ["top_builddir"], "tests", "cli")
PATIENCE_S = 60  # how long we wait for what must come; nothing is measured against it


class Skip(Exception):
    """The case cannot be shown here; the text says why."""


def wait_for(what: str, condition: Callable[[], Any]) -> Any:
    """The first true value of condition(); it must come."""
    end = time.monotonic() + PATIENCE_S
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end:
            raise AssertionError("waited in vain: " + what)
        time.sleep(0.01)


class Lab:
    """A folder for the sockets, one for the driver library, and the processes of a case."""

    def __init__(self, deep: bool = False) -> None:
        self.top = tempfile.mkdtemp(prefix="ct-agent-")
        self.sockets = os.path.join(self.top, "s" * 150 if deep else "s")
        self.libraries = os.path.join(self.top, "lib")
        os.mkdir(self.sockets, 0o700)
        os.mkdir(self.libraries)
        os.symlink(os.path.join(HELPERS, "agent-libcuda.so"), os.path.join(self.libraries, "libcuda.so.1"))
        self.running: List[subprocess.Popen] = []

    def environment(self, *more: str, **changes: Optional[str]) -> Dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LD_", "CUDATRAP_"))}
        env.update(
            LD_PRELOAD=" ".join((AGENT,) + more),
            LD_LIBRARY_PATH=self.libraries + ":" + HELPERS,
            CUDATRAP_AGENT_DIR=self.sockets,
            CUDATRAP_SUPERVISOR_PID=str(os.getpid()),
        )
        for name, value in changes.items():
            env.pop(name, None)
            if value is not None:
                env[name] = value
        return env

    def start(self, argv: List[str], env: Optional[Dict[str, str]] = None) -> subprocess.Popen:
        process = subprocess.Popen(
            argv, env=env or self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        self.running.append(process)
        return process

    def start_python(self, python: str, body: str, *flags: str, env: Optional[Dict[str, str]] = None) -> subprocess.Popen:
        path = os.path.join(self.top, "target.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(body)
        return self.start([python, *flags, path], env)

    def ask(self, pid: int, request: str = "stacks", timeout_ms: int = PATIENCE_S * 1000) -> str:
        argv = [os.path.join(HELPERS, "agent_ask"), self.sockets, str(pid), request, str(timeout_ms)]
        return subprocess.run(argv, stdout=subprocess.PIPE, check=False, universal_newlines=True).stdout

    def socket_path(self, pid: int) -> str:
        return os.path.join(self.sockets, "%d.sock" % pid)

    def close(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        shutil.rmtree(self.top)


@contextlib.contextmanager
def lab(deep: bool = False) -> Iterator[Lab]:
    made = Lab(deep)
    try:
        yield made
    finally:
        made.close()


def read_json(process: subprocess.Popen) -> Any:
    line = process.stdout.readline()
    assert line, "the target said nothing; status %s" % process.wait(PATIENCE_S)
    return json.loads(line)


def tell(process: subprocess.Popen, line: str = "go") -> None:
    process.stdin.write(line + "\n")
    process.stdin.flush()


def equal(got: Any, want: Any) -> None:
    assert got == want, "got %r, want %r" % (got, want)


def count_threads(pid: int) -> int:
    return len(os.listdir("/proc/%d/task" % pid))


def line_of(body: str, marker: str) -> int:
    return [i for i, line in enumerate(body.splitlines(), 1) if "# " + marker in line][0]
