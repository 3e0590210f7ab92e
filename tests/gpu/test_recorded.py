#!/usr/bin/env python3
"""What a GPU gave once, kept as test data: every recorded incident survives reading and writing, and reads as it did then.

UPDATE_GOLDEN=1 rewrites the texts: read that diff like code.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

SRC = Path(os.environ["top_srcdir"])
CUDATRAP = os.environ["top_builddir"] + "/cudatrap"
RECORDED = SRC / "tests" / "gpu" / "recorded"


def words(text: str) -> List[str]:
    """The words up to the report's own path: lines break elsewhere at another width."""
    return text.split("\nreport: ")[0].split("\nsignature ")[0].split()


def in_todays_form(incident: Dict[str, Any]) -> Dict[str, Any]:
    """Older incidents have one "cause", which holds what the check means too: "causes" and "meaning" today."""
    old = incident.pop("cause", None)
    if old is None:
        return incident
    meaning = {today: old[then] for then, today in (("meaning", "text"), ("row", "row")) if then in old}
    if "text" in old:
        incident["causes"] = [{key: old[key] for key in ("id", "text", "checks") if key in old}]
    elif "checks" in old:
        meaning["checks"] = old["checks"]
    if meaning:
        incident["meaning"] = meaning
    return incident


def check(folder: Path) -> None:
    shown = subprocess.run([CUDATRAP, "report", "--width", "100", str(folder)], stdout=subprocess.PIPE, check=True).stdout.decode()
    stored = (folder / "report.txt").read_text()
    if words(shown) != words(stored) and os.environ.get("UPDATE_GOLDEN"):
        (folder / "report.txt").write_text(shown)
    elif words(shown) != words(stored):
        raise AssertionError("\n".join(["now:", shown, "then:", stored]))
    again = subprocess.run([CUDATRAP, "report", "--format", "json", str(folder)], stdout=subprocess.PIPE, check=True).stdout
    if json.loads(again) != in_todays_form(json.loads((folder / "incident.json").read_text())):
        raise AssertionError("the incident is not the same after reading and writing")


def main() -> int:
    folders = sorted(p for p in RECORDED.iterdir() if p.is_dir()) if RECORDED.is_dir() else []
    print(f"1..{len(folders)}")
    if not folders:
        print("Bail out! nothing is recorded")
        return 99
    failed = 0
    for number, folder in enumerate(folders, 1):
        try:
            check(folder)
        except (AssertionError, subprocess.CalledProcessError) as e:
            failed += 1
            for line in str(e).splitlines():
                print("# " + line)
            print(f"not ok {number} - {folder.name}")
        else:
            print(f"ok {number} - {folder.name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
