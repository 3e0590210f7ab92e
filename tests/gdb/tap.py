# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests as functions, their results as TAP; and what the tests of this folder share."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from typing import Any, Callable, Dict, List, Optional

# Background jobs of a shell start with it ignored, and so would everything that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup(1)

TOP = os.environ.get("top_srcdir") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("top_builddir") or os.path.join(TOP, "build")
DATA = os.path.join(TOP, "tests", "data", "gpu-cores")
SCRIPTS = os.path.join(TOP, "gdbscripts")
DRIVE = os.path.join(BUILD, "tests", "gdb", "drive")

Test = Callable[[], None]


class Skip(Exception):
    """This test cannot be run here; the text says why."""


def run(tests: List[Test]) -> None:
    """Runs them in order; ends the process with 1 when one failed."""
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("test_", "", 1).replace("_", " ")
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Skip as e:
            print(f"ok {number} - {name} # SKIP {e}", flush=True)
        except Exception:  # a test may fail in any way
            failed += 1
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok {number} - {name}", flush=True)
    sys.exit(1 if failed else 0)


def equal(got: Any, wanted: Any, what: str = "") -> None:
    if got != wanted:
        raise AssertionError(f"{what}\n  got    {got!r}\n  wanted {wanted!r}")


def ends(name: str) -> None:
    """For a whole file that cannot be run here: one line, with the reason."""
    print(f"1..1\nok 1 - all # SKIP {name}")
    sys.exit(0)


def environment(**more: str) -> Dict[str, str]:
    result = {**os.environ, "CUDATRAP_GDBSCRIPTS": SCRIPTS, "PYTHONDONTWRITEBYTECODE": "1"}
    result.update(more)
    return result


def drive(*arguments: str, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([DRIVE, *arguments], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False, **more)


def no_cuda_gdb() -> str:
    """Why there is no cuda-gdb with gdb.cuda here; "" when there is one."""
    found = drive("find")
    if found.returncode != 0:
        return found.stderr.decode().splitlines()[0]
    version, python, _, has_cuda, path = found.stdout.decode().split(None, 4)
    return "" if has_cuda == "1" else f"{path.strip()} ({version}, Python {python}) has no gdb.cuda"


def need_cuda_gdb() -> None:
    """Without a cuda-gdb that has gdb.cuda the file is skipped."""
    why_not = no_cuda_gdb()
    if why_not:
        ends(why_not)


class Scratch:
    """A folder that lasts as long as the `with`."""

    def __init__(self) -> None:
        self.path: Optional[str] = None

    def __enter__(self) -> str:
        self.path = tempfile.mkdtemp(prefix="cudatrap-test-")
        return self.path

    def __exit__(self, *unused: Any) -> None:
        if self.path:
            shutil.rmtree(self.path, ignore_errors=True)
