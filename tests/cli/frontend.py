"""What the tests of the whole front-end share: a folder with stand-ins for the CUDA driver and for cuda-gdb, runs in it, TAP.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

SRC = Path(os.environ["top_srcdir"])
BUILD = Path(os.environ["top_builddir"])
CUDATRAP = str(BUILD / "cudatrap")
APP = str(BUILD / "tests/cli/fakeapp")
FAKECUDA = str(BUILD / "tests/cli/libfakecuda.so")
# Background jobs of a shell start with it ignored, and so would everything that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup(1)

PATIENCE = 60  # seconds; only a broken program needs them

# Answers the front-end's questions as a cuda-gdb with Python does; what it does at an attach is told by FAKE_GDB.
FAKE_GDB = r"""#!/bin/sh
case "$*" in
*'show version'*) echo 'NVIDIA (R) cuda-gdb 13.0'; echo 'ct-python 3.11.2 ct-cuda 1'; exit 0 ;;
esac
[ -z "$FAKE_GDB_LOG" ] || echo "$*" >> "$FAKE_GDB_LOG"
case "$FAKE_GDB" in
hang) exec sleep 1000 ;;
crash) kill -SEGV $$ ;;
refused) echo 'ptrace: Operation not permitted.'; exit 1 ;;
garbage) echo '{"version": 1, "gpu": [' > "$CUDATRAP_GDB_OUT"; exit 0 ;;
esac
echo 'cuda-gdb noise that nobody wants to read'
cp "$FAKE_GDB_JSON" "$CUDATRAP_GDB_OUT.tmp" && mv "$CUDATRAP_GDB_OUT.tmp" "$CUDATRAP_GDB_OUT"
pid=$(echo "$*" | sed -n 's/.*-p \([0-9]*\).*/\1/p')
if [ "$CUDATRAP_GDB_AFTER" = detach ]; then kill -USR2 "$pid"; exit 0; fi
kill -KILL $$
"""

class Result:
    def __init__(self, status: int, out: bytes, err: bytes, reports: List[Path]) -> None:
        self.status, self.out, self.err, self.reports = status, out, err, reports

    def incident(self) -> Dict[str, Any]:
        assert len(self.reports) == 1, f"{len(self.reports)} reports; stderr: {self.err!r}"
        return json.loads((self.reports[0] / "incident.json").read_text())

    def text(self) -> str:
        return self.err.decode(errors="replace")


class Bench:
    """A folder of its own for each test."""

    def __init__(self) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="ct-front-"))
        self.gdb = self.dir / "cuda-gdb"
        self.gdb.write_text(FAKE_GDB)
        self.gdb.chmod(0o755)
        self.gpu_json = SRC / "tests/data/incident/gpu-part.json"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "CUDATRAP_OPTIONS", "NO_COLOR"))}
        # A sanitized cudatrap under another one, or under a library of the user's, is not loaded first: that is what these tests are about.
        self.env["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        self.env.update(FAKE_GDB_JSON=str(self.gpu_json), XDG_CONFIG_HOME=str(self.dir / "config"), TMPDIR=str(self.dir), LC_ALL="C.UTF-8",
                        FAKE_GDB_LOG=str(self.dir / "gdb.log"))

    def command(self, options: List[str], argv: List[str], gdb: bool = True) -> List[str]:
        found = ["--cuda-gdb", str(self.gdb)] if gdb else []
        return [CUDATRAP, *found, "--grace", "1", "-o", str(self.dir / "reports"), *options, "--", *argv]

    def reports(self) -> List[Path]:
        folder = self.dir / "reports"
        return sorted(p for p in folder.iterdir()) if folder.is_dir() else []

    def run(self, options: List[str], argv: List[str], env: Optional[Dict[str, str]] = None, gdb: bool = True, stdin: bytes = b"") -> Result:
        done = subprocess.run(self.command(options, argv, gdb), input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**self.env, **(env or {})}, timeout=PATIENCE, cwd=self.dir, check=False)
        return Result(done.returncode, done.stdout, done.stderr, self.reports())

    def leftovers(self) -> List[str]:
        """Processes that still mention our folder, and scratch folders that were not removed."""
        found = [p.name for p in self.dir.glob("cudatrap-*") if p.name != "cudatrap-reports"]
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"TMPDIR={self.dir}".encode() in environment.split(b"\0"):
                found.append(entry.name + " " + (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found


def collector(incident: Dict[str, Any], name: str) -> Dict[str, Any]:
    return next((c for c in incident.get("collectors", []) if c["name"] == name), {})


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


class Skip(Exception):
    """The case cannot be shown here; the text says why."""


class Tests:
    """The tests of a file, in order; `@tests.add` in front of each."""

    def __init__(self) -> None:
        self.functions: List[Callable[[Bench], None]] = []

    def add(self, function: Callable[[Bench], None]) -> Callable[[Bench], None]:
        self.functions.append(function)
        return function

    def run(self) -> int:
        print(f"1..{len(self.functions)}")
        failed = 0
        for number, function in enumerate(self.functions, 1):
            name = function.__name__.replace("_", " ")
            try:
                function(Bench())
            except Skip as e:
                print(f"ok {number} - {name} # SKIP {e}")
            except Exception as e:  # a test that breaks is a test that failed
                failed += 1
                for line in f"{type(e).__name__}: {e}".splitlines():
                    print("# " + line)
                print(f"not ok {number} - {name}")
            else:
                print(f"ok {number} - {name}")
            sys.stdout.flush()
        return 1 if failed else 0
