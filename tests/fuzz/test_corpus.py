#!/usr/bin/env python3
"""The inputs that fuzzing found worth keeping, through the fuzz targets without a fuzzer. TAP.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2])) / "tests" / "fuzz"
BUILD = Path(os.environ.get("top_builddir", "."))
TARGETS = ("gpucore", "cubin", "values")


def replay(target: str) -> str:
    """What was wrong; "" when nothing was."""
    with tempfile.TemporaryDirectory(prefix="ct-corpus-") as folder:
        with tarfile.open(HERE / f"corpus-{target}.tar.xz") as packed:
            names = [m for m in packed.getmembers() if m.isfile() and "/" not in m.name and not m.name.startswith(".")]
            packed.extractall(folder, names)
        done = subprocess.run([str(BUILD / f"tests/fuzz/replay_{target}"), folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode(errors="replace")
        if done.returncode != 0 or f"{len(names)} inputs" not in text or len(names) < 100:
            return f"status {done.returncode}, {len(names)} inputs\n{text[-3000:]}"
    return ""


def main() -> int:
    failed = 0
    print(f"1..{len(TARGETS)}")
    for number, target in enumerate(TARGETS, 1):
        wrong = replay(target)
        failed += bool(wrong)
        for line in wrong.splitlines():
            print("# " + line)
        print(f"{'not ok' if wrong else 'ok'} {number} - stored inputs of {target}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
