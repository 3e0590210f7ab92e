#!/usr/bin/env python3
"""doc/field-reports.md out of recorded incidents and what tests/gpu/field/expect.json says of them.

    python3 tests/gpu/field_table.py RECORD [--as-recorded] > doc/field-reports.md

Each incident is judged again by this version (tests/gpu/rediagnose), unless --as-recorded.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("top_builddir", "."))
FIELD = SRC / "tests" / "gpu" / "field"

Json = Dict[str, Any]
RIGHT, SECOND, GENERIC, WRONG, NONE, OPEN = "right", "second", "generic", "wrong", "none", "-"


class Row(NamedTuple):
    name: str
    title: str
    kind: str
    place: str
    check: str
    value: str
    cause: str
    remark: str


def judged(path: Path) -> Json:
    """The incident with the conclusions of this version."""
    done = subprocess.run([str(BUILD / "tests" / "gpu" / "rediagnose"), str(SRC / "data"), str(path)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def kernel_of(incident: Json) -> str:
    kernel = incident.get("gpu", {}).get("kernel", {})
    return str(kernel.get("name") or kernel.get("symbol") or "")


def names_line(incident: Json, wanted: str) -> bool:
    threads = [t for t in incident.get("threads", []) if t.get("launching")] or incident.get("threads", [])
    return any(wanted in (f.get("source") or "") for t in threads[:1] for f in [*t.get("frames", []), *t.get("python", [])])


def place(expected: Json, incident: Json) -> str:
    kernel, line = expected.get("kernel"), expected.get("line")
    if not kernel and not line:
        return OPEN
    named = not kernel or re.search(kernel, kernel_of(incident)) is not None
    return RIGHT if named and (not line or names_line(incident, line)) else WRONG


LINE = re.compile(r"block: \[(\d+),(\d+),(\d+)\], thread: \[(\d+),(\d+),(\d+)\] Assertion `(.*)` failed")


def printed_assert(incident: Json) -> Optional[Tuple[List[int], str]]:
    """Block and thread, and the expression, of the line that the driver printed: read here once more, apart from cudatrap's own reader."""
    for entry in incident.get("log", []):
        found = LINE.search(entry["text"]) if entry.get("kind") == "assert" else None
        if found:
            return [int(n) for n in found.groups()[:6]], found.group(7)
    return None


def in_runs(at: List[int], runs: List[Json]) -> bool:
    """x runs fastest: the order of runs is that of (z, y, x)."""
    return any(run["first"][::-1] <= at[::-1] <= run["last"][::-1] for run in runs)


def shows(part: Json, at: List[int]) -> bool:
    """Block and thread are among those of a group, or of the assert."""
    pairs = (("block_runs", at[:3]), ("thread_runs", at[3:]))
    return all(part.get(runs + "_cut") or in_runs(position, part.get(runs, [])) for runs, position in pairs)


def check(expected: Json, incident: Json) -> str:
    """The expression, and that the printed thread is one of the failing ones. Without a printed line: the expression alone."""
    printed = printed_assert(incident)
    wanted = expected.get("expression", printed[1] if printed else None)
    if wanted is None:
        return OPEN
    told = incident.get("assert", {})
    if told.get("expression") != wanted or (printed and printed[1] != wanted):
        return WRONG
    groups = [g for g in incident.get("gpu", {}).get("groups", []) if g.get("exception", {}).get("name") == "warp-assert"]
    if not printed or not groups:
        return RIGHT
    # Warps that had ended by then are in the output alone.
    ended = told.get("lines", 0) > sum(g.get("threads", 0) for g in groups)
    return RIGHT if any(shows(g, printed[0]) for g in groups) or (ended and shows(told, printed[0])) else WRONG


def is_value(wanted: Any, text: str) -> bool:
    """wanted is a pattern, or where the program draws its numbers by chance, the range that they are from."""
    if isinstance(wanted, dict):
        return re.fullmatch(r"-?\d+", text) is not None and wanted["least"] <= int(text) <= wanted["most"]
    return re.fullmatch(wanted, text) is not None


def value(expected: Json, incident: Json) -> str:
    """Offending value and bound. A candidate counts as one: the report says that it is."""
    if "value" not in expected:
        return OPEN
    texts = [v["text"] for v in incident.get("values", []) if v.get("text")]
    words = " ".join([*texts, *(v.get("how") or "" for v in incident.get("values", []) if v.get("candidate")), *(f"{c['text']} {c.get('evidence', '')}" for c in incident.get("causes", []))])
    found = any(is_value(expected["value"], text) for text in texts)
    bound = re.search(rf"(?<![\w.]){expected['bound']}(?![\w.])", words) is not None
    if found and bound:
        return RIGHT
    failed = [v for v in incident.get("values", []) if not v.get("candidate") and "read from device memory" in (v.get("how") or "")]
    return WRONG if failed else NONE


def cause(expected: Json, incident: Json) -> str:
    """The first one shown counts; one that is right but stands behind another is counted apart, and so is one that is true of too much."""
    ids = [c.get("id") for c in incident.get("causes", [])]
    right = expected.get("cause", [])
    if not ids:
        return NONE if right else OPEN
    if ids[0] in right:
        return RIGHT
    if any(found in right for found in ids):
        return SECOND
    return GENERIC if ids[0] in expected.get("generic", []) else WRONG


def remark(incident: Json) -> str:
    return "; or ".join(": ".join(filter(None, (c.get("id"), c["text"], c.get("evidence")))) for c in incident.get("causes", []))


def row_of(name: str, expected: Json, incident: Json) -> Row:
    if expected.get("kind") and incident.get("kind") != expected["kind"]:
        return Row(name, expected["title"], f"{incident.get('kind')} (expected: {expected['kind']})", WRONG, OPEN, NONE, NONE, "")
    return Row(name, expected["title"], incident.get("kind", "unknown"), place(expected, incident), check(expected, incident), value(expected, incident), cause(expected, incident), remark(incident))


def share(rows: List[Row], column: str) -> str:
    words = [getattr(row, column) for row in rows if getattr(row, column) != OPEN]
    good = words.count(RIGHT)
    return f"{good} of {len(words)}" + (f" ({100 * good // len(words)} %)" if words else "")


def count(rows: List[Row], word: str) -> int:
    return sum(row.cause == word for row in rows)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def document(rows: List[Row], others: List[str], total: int) -> str:
    asserts = [row for row in rows if row.kind == "assert"]
    wrong = count(rows, WRONG)
    lines = [
        "# Field reports", "",
        "Programs after public reports of GPU faults (`tests/gpu/field/`), run under cudatrap on a GPU, recorded in `tests/gpu/recorded-field/`, and held",
        "against what a good report should say (`tests/gpu/field/expect.json`). Made by `tests/gpu/field_table.py`; `make check` makes it again.", "",
        f"Of {total} programs {len(rows)} left an incident.", "",
        f"- kernel and Python line right: {share(rows, 'place')}",
        f"- of the asserts, expression and thread right: {share(asserts, 'check')}",
        f"- of the asserts, offending value and bound right: {share(asserts, 'value')}",
        f"- likely cause right, asserts: {share(asserts, 'cause')}; all: {share(rows, 'cause')}",
        f"- likely cause wrong: {wrong}; right, but shown as the second: {count(rows, SECOND)}; true of too much to be counted as right: {count(rows, GENERIC)}", "",
        "`none`: nothing was said. `-`: nothing is to be said. `second`: shown beside a more likely one. `generic`: true, and says too little. Where only a",
        "kernel can be named (CUDA C++), the line is not counted. Expression and thread are held against the line that the driver printed.", "",
        "| program | what it does | kind | kernel, line | expression, thread | value, bound | cause | said |", "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    lines += ["| " + " | ".join(cell(text) for text in row) + " |" for row in rows]
    lines += ["", "## No incident", "", *others]
    return "\n".join(lines) + "\n"


def why_none(expected: Json, run: Json) -> str:
    if expected.get("note"):
        return str(expected["note"])
    last = (str(run.get("output", "")).strip().splitlines() or [""])[-1]
    ending = "reached its time limit" if run.get("status") == 124 else f"ended with status {run.get('status')}"
    return f"{ending}; its last line: `{last[:100]}`" if last else ending


def rows_of(record: Path, as_recorded: bool = False) -> Tuple[List[Row], List[str], int]:
    """A row for each program with an incident, a line for each without, and how many there are."""
    expectations: Dict[str, Json] = json.loads((FIELD / "expect.json").read_text())
    runs: Dict[str, Json] = json.loads((record / "runs.json").read_text())
    rows, others = [], []
    for name, expected in expectations.items():
        path = record / f"{name}.json"
        if path.exists():
            rows.append(row_of(name, expected, json.loads(path.read_text()) if as_recorded else judged(path)))
        else:
            run = runs.get(name)
            wanted = f"; the cause would be {' or '.join(expected['cause'])}" if expected.get("cause") else ""
            others.append(f"- {name} ({expected['title']}): {why_none(expected, run) if run else 'not run yet'}{wanted}")
    return rows, others, len(expectations)


def table(record: Path, as_recorded: bool = False) -> str:
    return document(*rows_of(record, as_recorded))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--as-recorded", action="store_true")
    args = parser.parse_args()
    sys.stdout.write(table(args.record, args.as_recorded))
    return 0


if __name__ == "__main__":
    sys.exit(main())
