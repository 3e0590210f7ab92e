# SPDX-License-Identifier: GPL-3.0-or-later
"""The cudatrap program, asked for the words of the report: they are written once, there."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import Any, Dict, Optional

from . import emit

TIMEOUT = 60  # seconds; it reads one file


class ToolError(Exception):
    """The program is not there, or failed; the text says why."""


def find() -> Optional[str]:
    """CUDATRAP_PROGRAM, else where it was installed together with these scripts (prefix/share/cudatrap/gdbscripts/cudatrap), else PATH."""
    named = os.environ.get("CUDATRAP_PROGRAM") or os.environ.get("CUDATRAP_GDB_PROGRAM")  # the second by the front-end
    if named:
        return named
    beside = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "bin", "cudatrap"))
    return beside if os.access(beside, os.X_OK) else shutil.which("cudatrap")


def ask(command: str, document: Dict[str, Any]) -> str:
    """What `cudatrap shell` answers about the incident."""
    program = find()
    if program is None:
        raise ToolError("the cudatrap program is not in PATH; CUDATRAP_PROGRAM can name it")
    with tempfile.TemporaryDirectory(prefix="cudatrap-") as folder:
        path = os.path.join(folder, "incident.json")
        emit.write(path, document)
        try:
            done = subprocess.run(
                [program, "shell", path, "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT, check=False
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as e:
            raise ToolError(f"{program}: {e}") from e
    if done.returncode != 0:
        raise ToolError(done.stderr.decode("utf-8", "replace").strip() or f"{program} ended with status {done.returncode}")
    return done.stdout.decode("utf-8", "replace")
