#!/usr/bin/env python3
"""The recorded field reports: each is judged again and rendered, and doc/field-reports.md is what they say.

UPDATE_GOLDEN=1 rewrites the document: read that diff like code.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import field_table  # noqa: E402

SRC = Path(os.environ["top_srcdir"])
CUDATRAP = os.environ["top_builddir"] + "/cudatrap"
RECORDED = SRC / "tests" / "gpu" / "recorded-field"
DOCUMENT = SRC / "doc" / "field-reports.md"
# B17: a pinned buffer is written again while the copy runs. The values on the GPU look like labels; that they are not is the second cause shown.
KNOWN_SECOND = {"B17"}
FORMATS = ("text", "json", "markdown", "html", "sarif", "junit")


def check_incident(path: Path) -> None:
    """Every renderer takes it, and the cause has evidence."""
    incident = field_table.judged(path)
    with tempfile.TemporaryDirectory(prefix="field-") as folder:
        again = Path(folder) / "incident.json"
        again.write_text(json.dumps(incident))
        for form in FORMATS:
            done = subprocess.run([CUDATRAP, "report", "--format", form, str(again)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            if done.returncode != 0 or not done.stdout:
                raise AssertionError(f"{form}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    for cause in incident.get("causes", []):
        if not cause.get("id") or not cause.get("text"):
            raise AssertionError(f"a cause without id or text: {cause}")


def check_document() -> None:
    now = field_table.table(RECORDED)
    if os.environ.get("UPDATE_GOLDEN"):
        DOCUMENT.write_text(now)
    if DOCUMENT.read_text() != now:
        raise AssertionError("doc/field-reports.md says something else; the table now:\n" + now)


def check_causes() -> None:
    rows = field_table.rows_of(RECORDED)[0]
    wrong = [f"{row.name}: {row.remark}" for row in rows if row.cause == field_table.WRONG]
    second = {row.name for row in rows if row.cause == field_table.SECOND}
    if wrong or second != KNOWN_SECOND:
        raise AssertionError("\n".join([*wrong, f"right but second: {sorted(second)}"]))


def main() -> int:
    incidents = sorted(p for p in RECORDED.glob("*.json") if p.name != "runs.json")
    checks: List[Tuple[str, Callable[[], None]]] = [(p.stem, lambda p=p: check_incident(p)) for p in incidents]
    checks += [("the document", check_document), ("no wrong cause, and one right one that stands second", check_causes)]
    print(f"1..{len(checks)}")
    if not incidents:
        print("Bail out! nothing is recorded")
        return 99
    failed = 0
    for number, (name, check) in enumerate(checks, 1):
        try:
            check()
        except (AssertionError, OSError, subprocess.CalledProcessError) as e:
            failed += 1
            for line in str(e).splitlines():
                print("# " + line)
            print(f"not ok {number} - {name}")
        else:
            print(f"ok {number} - {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
