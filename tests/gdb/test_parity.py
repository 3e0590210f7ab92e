#!/usr/bin/env python3
"""The same incident from cuda-gdb and from our own dump reader, field by field, on every recorded dump.

The cuda-gdb side is what tests/gdb/test_dumps.py compares with the real debugger. Every difference that may be is named here with its reason.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import tap

TOP = Path(os.environ["top_srcdir"])
CORES = TOP / "tests" / "data" / "gpu-cores"
CUDATRAP = os.environ["top_builddir"] + "/cudatrap"

Json = Any

# Path of a value (list indexes as *) -> why the two may differ there.
EXPLAINED = {
    ".gpu.arguments.*.name": "the scripts take names from debug information, too; the reader from the table of known kernels alone",
    ".gpu.source": "names the reader",
    ".gpu.groups.*.frames.*.file": "we join the compilation folder and the name of the line table; gdb gives the name alone",
}
# What only a dump reader or only a debugger has, at the top.
ONLY_GPU = ("kind", "gpu")


def flatten(value: Json, path: str = "") -> Iterator[Tuple[str, str, Json]]:
    """(exact path, path with * for indexes, leaf)"""
    if isinstance(value, dict):
        for key in value:
            yield from ((p, q, v) for p, q, v in flatten_below(value[key], path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for p, q, v in flatten(item, ""):
                yield f"{path}.{i}{p}", f"{path}.*{q}", v
        if not value:
            yield path, path, []
    else:
        yield path, path, value


def flatten_below(value: Json, path: str, key: str) -> Iterator[Tuple[str, str, Json]]:
    for p, q, v in flatten(value, ""):
        yield f"{path}.{key}{p}", f"{path}.{key}{q}", v


def readable_by_both(reader: Dict[str, Json], scripts: Dict[str, Json]) -> Dict[str, Json]:
    """The scripts' document without arrays that they read only because debug information names the argument: what a kernel may write to, the
    reader leaves alone."""
    named = {a["index"] for a in scripts.get("gpu", {}).get("arguments", []) if a.get("name")}
    named -= {a["index"] for a in reader.get("gpu", {}).get("arguments", []) if a.get("name")}
    written = {a["index"] for a in scripts.get("gpu", {}).get("arguments", []) if "const" not in a.get("type", "").split("*")[0].split()}
    memory = [row for row in scripts.get("gpu", {}).get("memory", []) if row["argument"] not in named & written]
    gpu = {k: v for k, v in scripts.get("gpu", {}).items() if k != "memory"}
    return {**scripts, "gpu": {**gpu, "memory": memory} if memory else gpu}


def differences(a: Dict[str, Json], b: Dict[str, Json]) -> List[str]:
    b = readable_by_both(a, b)
    left = {p: (q, v) for p, q, v in flatten(a)}
    right = {p: (q, v) for p, q, v in flatten(b)}
    found = []
    for path in sorted(set(left) | set(right)):
        pattern = (left.get(path) or right[path])[0]
        got, wanted = left.get(path, (None, "absent"))[1], right.get(path, (None, "absent"))[1]
        if got == wanted:
            continue
        if pattern.endswith(".file") and os.path.basename(str(got)) != os.path.basename(str(wanted)):
            found.append(f"{path}: reader {got!r}, cuda-gdb {wanted!r}")
        elif pattern not in EXPLAINED:
            found.append(f"{path}: reader {got!r}, cuda-gdb {wanted!r}")
    return found


def by_reader(name: str) -> Dict[str, Json]:
    done = subprocess.run([CUDATRAP, "report", "--format", "json", str(CORES / f"{name}.nvcore.xz")], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def compare(name: str) -> None:
    golden = json.loads((CORES / "expected" / f"{name}.gpu.json").read_text())
    found = differences({k: v for k, v in by_reader(name).items() if k in ONLY_GPU}, {k: v for k, v in golden.items() if k in ONLY_GPU})
    tap.equal(found, [], name)


def test_a_difference_is_seen() -> None:
    one = {"gpu": {"groups": [{"pc": "0x1", "lanes": [{"pc": "0x1"}]}], "source": "a"}}
    two = {"gpu": {"groups": [{"pc": "0x2", "lanes": []}], "source": "b"}}
    tap.equal(len(differences(one, two)), 3)  # two values and a list that is empty; the source is explained


def main() -> None:
    names = sorted(p.name[: -len(".gpu.json")] for p in (CORES / "expected").glob("*.gpu.json"))
    assert names, "no stored documents"
    tests = [test_a_difference_is_seen]
    for name in names:

        def test(name: str = name) -> None:
            compare(name)

        test.__name__ = f"test_same_incident_{name}"
        tests.append(test)
    tap.run(tests)


if __name__ == "__main__":
    main()
