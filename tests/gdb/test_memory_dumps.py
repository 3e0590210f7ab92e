#!/usr/bin/env python3
"""Dumps with device memory: what our reader says of the arrays there and what the scripts in cuda-gdb say is the same.

One recorded dump has memory (kernel-dumps/assert_blocks.mem, see test_kernel_dumps.py). The others here are made: recorded dumps without
memory, to which tests/tools/add_memory.py adds what each case says.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import lzma
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402
import test_parity  # noqa: E402

sys.path.insert(0, os.path.join(tap.TOP, "tests", "tools"))
import add_memory  # noqa: E402
import cut_dump  # noqa: E402

LABELS = 0x7F891FE00600  # argument 3 of torch-cross-entropy-sm90
TARGET = 0x7F20F7E04000  # argument 1 of assert.rel
FLAGS = 0x7F941DE06000  # argument 0 of trap.rel


class Case(NamedTuple):
    name: str
    dump: str
    memory: List[Tuple[int, bytes]]
    wanted: Dict[str, Any]  # of gpu.memory[0]; None: it is not there


def longs(*numbers: int, size: int = 0) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers).ljust(size, b"\0")


LABEL_LIST = [i % 3 for i in range(32)]
LABEL_LIST[2] = 3
BROKEN = LABEL_LIST[:20] + [255] + LABEL_LIST[21:]
AT = {"block": [0, 0, 0], "thread": [2, 0, 0]}

CASES = [
    Case(
        "the label of the failing thread", "torch-cross-entropy-sm90", [(LABELS, longs(*LABEL_LIST, size=512))],
        {"read": 32, "whole": True, "min": "0", "max": "3", "max_index": 2, "rule": "V01", "elements": [{"index": 2, "value": "3", "at": AT}]},
    ),
    Case(
        "an array in the middle of a section", "torch-cross-entropy-sm90", [(LABELS - 0x600, bytes(0x600) + longs(*BROKEN) + bytes(1 << 16))],
        {"read": 32, "whole": True, "max": "255", "max_index": 20, "elements": [{"index": 2, "value": "3", "at": AT}]},
    ),
    Case(
        "an array that its section does not hold whole", "torch-cross-entropy-sm90", [(LABELS, longs(*LABEL_LIST)[:200])],
        {"read": 0, "failed": "only 200 bytes of it are in this dump", "elements": None},
    ),
    Case(
        "memory of something else", "torch-cross-entropy-sm90", [(LABELS + (1 << 30), bytes(512))],
        {"read": 0, "failed": "GPU memory is not in this dump; --dump=memory or full keeps it"},
    ),
    Case(
        "labels that have changed since", "torch-cross-entropy-sm90", [(LABELS, longs(*[0] * 32, size=512))],
        {"read": 32, "whole": True, "max": "0", "rule": "V01", "elements": None, "outside": None},
    ),
    Case(
        "an array of unknown length, up to the end of its allocation", "assert.rel", [(TARGET, longs(*range(-1, 999), size=16384))],
        {"read": 2048, "whole": None, "min": "-1", "max": "998", "max_index": 999, "rule": None},
    ),
    Case(
        "an array of unknown length, as much as is read of one", "assert.rel", [(TARGET, longs(*[7] * 9000))],
        {"read": 8192, "min": "7", "max": "7", "outside": [{"argument": 4, "count": 8192, "index": 0, "value": "7"}]},
    ),
    Case(
        "elements of 32 bits", "trap.rel", [(FLAGS, struct.pack("<4i", -5, 2147483647, 3, -2147483648) + bytes(496))],
        {"read": 128, "type": "int32", "min": "-2147483648", "min_index": 3, "max": "2147483647", "max_index": 1},
    ),
]  # fmt: skip


def make(case: Case, folder: str) -> Path:
    data = cut_dump.cut(lzma.decompress((test_parity.CORES / f"{case.dump}.nvcore.xz").read_bytes()), [], False, [])
    path = Path(folder) / "made.nvcore"
    path.write_bytes(add_memory.add(data, case.memory))
    return path


def report(path: Path) -> Dict[str, Any]:
    done = subprocess.run([test_parity.CUDATRAP, "report", "--format", "json", str(path)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def by_our_reader(case: Case) -> None:
    with tap.Scratch() as folder:
        rows = report(make(case, folder))["gpu"]["memory"]
    tap.equal({key: rows[0].get(key) for key in case.wanted}, case.wanted)


def same_by_cuda_gdb(case: Case) -> None:
    why_not = tap.no_cuda_gdb()
    if why_not:
        raise tap.Skip(why_not)
    with tap.Scratch() as folder:
        path = make(case, folder)
        with tap.Scratch() as scratch:
            done = tap.drive("core", str(path), scratch)
        tap.equal(done.returncode, 0, done.stderr.decode())
        ours, theirs = report(path), json.loads(done.stdout)
    for row in theirs["gpu"]["memory"]:
        if row.get("failed") == "the debugger could not read GPU memory there":  # it does not say how much there is
            row["failed"] = case.wanted["failed"]
    tap.equal({key: theirs["gpu"]["memory"][0].get(key) for key in case.wanted}, case.wanted)
    part = test_parity.ONLY_GPU
    tap.equal(test_parity.differences({k: v for k, v in ours.items() if k in part}, {k: v for k, v in theirs.items() if k in part}), [])


def test_cuda_gdb_reads_the_same_bytes() -> None:
    why_not = tap.no_cuda_gdb()
    if why_not:
        raise tap.Skip(why_not)
    gdb = tap.drive("find").stdout.decode().split(None, 4)[4].strip()
    with tap.Scratch() as folder:
        path = make(CASES[0], folder)
        commands = ["-ex", f"target cudacore {path}", "-ex", f"x/32xg {LABELS:#x}"]
        theirs = subprocess.run([gdb, "-q", "-nx", "-batch", *commands], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
        ours = subprocess.run([test_parity.CUDATRAP, "shell", "-c", "mem arg3 x64 32", str(path)], stdout=subprocess.PIPE, check=True).stdout.decode()

    def numbers(text: str) -> List[int]:
        rows = [line.partition(":")[2].split() for line in text.splitlines() if line.startswith("0x7f891fe0")]
        return [int(word, 16) for row in rows for word in row]

    tap.equal(numbers(theirs), LABEL_LIST)
    tap.equal(numbers(ours), LABEL_LIST)


def test_the_value_is_in_the_report() -> None:
    with tap.Scratch() as folder:
        incident = report(make(CASES[0], folder))
    values = {v["name"]: (v.get("text"), v.get("how")) for v in incident["values"]}
    tap.equal(values["t"], ("3", "target[2], read from device memory"))
    tap.equal(incident["causes"][0]["id"], "label-range")


def test_an_array_in_two_sections_is_read_whole() -> None:
    # cuda-gdb 13.0 reads no range that spans two sections, so there is nothing to compare with.
    whole = longs(*LABEL_LIST)
    case = CASES[0]._replace(memory=[(LABELS, whole[:100]), (LABELS + 100, whole[100:])])
    with tap.Scratch() as folder:
        row = report(make(case, folder))["gpu"]["memory"][0]
    tap.equal((row["read"], row["whole"], row["elements"]), (32, True, case.wanted["elements"]))


def test_the_tool_says_what_is_wrong() -> None:
    tool = os.path.join(tap.TOP, "tests", "tools", "add_memory.py")
    with tap.Scratch() as folder:
        text = Path(folder) / "text"
        text.write_text("no dump")
        for argv, status in (([str(text), folder + "/out", f"0x1000={text}"], 1), ([str(text), folder + "/out", "x=y"], 2), ([str(text), folder + "/out"], 2)):
            done = subprocess.run([sys.executable, tool, *argv], stderr=subprocess.PIPE, check=False)
            tap.equal(done.returncode, status, str(argv))


def named(function: Callable[[Case], None], case: Case) -> Callable[[], None]:
    def test() -> None:
        function(case)

    test.__name__ = f"test_{case.name}, {function.__name__}"
    return test


if __name__ == "__main__":
    tap.run(
        [named(by_our_reader, case) for case in CASES]
        + [named(same_by_cuda_gdb, case) for case in CASES]
        + [
            test_cuda_gdb_reads_the_same_bytes,
            test_the_value_is_in_the_report,
            test_an_array_in_two_sections_is_read_whole,
            test_the_tool_says_what_is_wrong,
        ]
    )
