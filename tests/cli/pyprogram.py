"""What the tests of the Python package share: programs that note where they are and then fault in the stand-in for the driver.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

from frontend import BUILD, FAKECUDA, SRC, Bench, Result

PACKAGE = SRC / "python"
FAULT = f"""
import ctypes
ctypes.CDLL("libcuda.so.1").cuInit(0)  # from then on the agent can be asked
fake = ctypes.CDLL({FAKECUDA!r})
def fault():
    fake.fake_launch(1)
"""


def environment(b: Bench, package: bool = True) -> Dict[str, str]:
    """With a driver library to load, without which nothing listens in the program, and with the package in reach."""
    libraries = b.dir / "lib"
    if not libraries.exists():
        libraries.mkdir()
        (libraries / "libcuda.so.1").symlink_to(BUILD / "tests/cli/agent-libcuda.so")
    env = {"LD_LIBRARY_PATH": str(libraries), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(b.dir)}
    if package:
        env["PYTHONPATH"] = str(PACKAGE)
    return env


def run(b: Bench, body: str, *options: str, package: bool = True, env: Optional[Dict[str, str]] = None, argv: Optional[List[str]] = None) -> Result:
    program = b.dir / "program.py"
    program.write_text(FAULT + body)
    return b.run(list(options), argv or [sys.executable, str(program)], env={**environment(b, package), **(env or {})})


def progress(found: Dict[str, Any]) -> Dict[str, str]:
    return {p["name"]: p["value"] for p in found.get("progress", [])}


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def clean_environment(b: Bench) -> Dict[str, str]:
    return {**{k: v for k, v in os.environ.items() if not k.startswith("CUDATRAP_")}, **environment(b)}
