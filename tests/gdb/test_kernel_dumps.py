#!/usr/bin/env python3
"""Dumps of our own kernels: what the programs say that a report must hold, by our reader and by cuda-gdb, and both the same.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import gzip
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402
import test_parity  # noqa: E402

sys.path.insert(0, os.path.join(tap.TOP, "tests", "gpu"))
import check_gpu  # noqa: E402

DUMPS = Path(tap.TOP) / "tests" / "data" / "kernel-dumps"
CUT = os.path.join(tap.TOP, "tests", "tools", "cut_dump.py")


def names() -> List[str]:
    return sorted(p.name[: -len(".nvcore.xz")] for p in DUMPS.glob("*.nvcore.xz"))


def report(path: Path) -> Dict[str, Any]:
    done = subprocess.run([test_parity.CUDATRAP, "report", "--format", "json", str(path)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def holds_what_the_program_says(name: str) -> None:
    incident = report(DUMPS / f"{name}.nvcore.xz")
    wanted = [line.split(" ", 1) for line in (DUMPS / f"{name.split('.')[0]}.expect").read_text().splitlines()]
    tap.equal(len(wanted) >= 4, True, "expectations")
    for key, value in wanted:
        if key in check_gpu.KEYS:
            values = check_gpu.actual(incident, key)
            tap.equal(check_gpu.holds(key, value, values), True, f"{key}: wanted {value!r}, got {values!r}")


def same_by_cuda_gdb(name: str) -> None:
    why_not = tap.no_cuda_gdb()
    if why_not:
        raise tap.Skip(why_not)
    with tap.Scratch() as folder:
        plain = Path(folder) / "dump"
        plain.write_bytes(lzma.decompress((DUMPS / f"{name}.nvcore.xz").read_bytes()))
        with tap.Scratch() as scratch:
            done = tap.drive("core", str(plain), scratch)
        tap.equal(done.returncode, 0, done.stderr.decode())
    ours, theirs = report(DUMPS / f"{name}.nvcore.xz"), json.loads(done.stdout)
    part = test_parity.ONLY_GPU
    tap.equal(test_parity.differences({k: v for k, v in ours.items() if k in part}, {k: v for k, v in theirs.items() if k in part}), [], name)


def named(function: Callable[[str], None], name: str) -> Callable[[], None]:
    def test() -> None:
        function(name)

    test.__name__ = f"test_{name} {function.__name__}"
    return test


def gpu_part(incident: Dict[str, Any]) -> Any:
    return {k: incident[k] for k in test_parity.ONLY_GPU}


def test_a_cut_dump_gives_the_same_incident() -> None:
    for name in ("assert.rel", "address.line", "spin.line", "torch-cross-entropy-sm90"):
        whole = test_parity.CORES / f"{name}.nvcore.xz"
        with tap.Scratch() as folder:
            small = Path(folder) / "small.nvcore"
            subprocess.run([sys.executable, CUT, str(whole), str(small)], check=True, stderr=subprocess.DEVNULL)
            size = len(lzma.decompress(whole.read_bytes()))
            tap.equal(small.stat().st_size < size * 0.8, True, f"{name} is smaller")
            tap.equal(gpu_part(report(small)), gpu_part(report(whole)), name)


def test_the_cutting_tool_says_what_is_wrong() -> None:
    with tap.Scratch() as folder:
        text = Path(folder) / "text"
        text.write_text("no dump")
        for argv in ([str(text), str(text) + ".out"], [folder + "/none", folder + "/out"]):
            done = subprocess.run([sys.executable, CUT, *argv], stderr=subprocess.PIPE, check=False)
            tap.equal((done.returncode, len(done.stderr.splitlines())), (1, 1), str(argv))
        done = subprocess.run([sys.executable, CUT, str(text), str(text) + ".out", "--replace", "abc=d"], stderr=subprocess.PIPE, check=False)
        tap.equal(done.returncode, 2, "texts of two lengths")


def test_a_grown_dump_has_as_many_lanes_more() -> None:
    with tap.Scratch() as folder:
        plain, grown = Path(folder) / "plain", Path(folder) / "grown"
        plain.write_bytes(lzma.decompress((DUMPS / "assert_blocks.rel.nvcore.xz").read_bytes()))
        subprocess.run([tap.BUILD + "/tests/tools/grow_dump", str(plain), "5", str(grown)], check=True)
        one, five = check_gpu.groups(report(plain)), check_gpu.groups(report(grown))
        tap.equal([g["threads"] for g in five], [g["threads"] * 5 for g in one])
        tap.equal([g["blocks"] for g in five], [g["blocks"] * 5 for g in one])


def test_a_cut_dump_is_one_clear_line() -> None:
    for name in ("trap.rel", "graph_assert.dbg"):
        whole = lzma.decompress((DUMPS / f"{name}.nvcore.xz").read_bytes())
        with tap.Scratch() as folder:
            cut = Path(folder) / "cut.nvcore"
            for size in range(0, len(whole), 4096):
                cut.write_bytes(whole[:size])
                done = subprocess.run([test_parity.CUDATRAP, "report", str(cut)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                tap.equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (1, b"", 1), f"{name} cut at {size}")
                if size >= 64:  # the header is whole and tells where the table would be
                    tap.equal(b"skip_constbank_memory" in done.stderr, True, done.stderr.decode())


def test_every_way_in_gives_the_same_report() -> None:
    for name in names():
        packed = (DUMPS / f"{name}.nvcore.xz").read_bytes()
        plain = lzma.decompress(packed)
        wanted = report(DUMPS / f"{name}.nvcore.xz")
        with tap.Scratch() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            for form in (packed, plain, gzip.compress(plain, 1)):
                done = subprocess.run([test_parity.CUDATRAP, "report", "--format", "json", "-"], input=form, stdout=subprocess.PIPE, check=True)
                tap.equal(gpu_part(json.loads(done.stdout)), gpu_part(wanted), f"{name} on standard input")
                reader = subprocess.Popen([test_parity.CUDATRAP, "report", "--format", "json", fifo], stdout=subprocess.PIPE)
                with open(fifo, "wb") as writer:
                    writer.write(form)
                tap.equal(gpu_part(json.loads(reader.communicate()[0])), gpu_part(wanted), f"{name} through a FIFO")


def test_raw_shows_every_table() -> None:
    for name in names():
        done = subprocess.run([test_parity.CUDATRAP, "report", "--raw", str(DUMPS / f"{name}.nvcore.xz")], stdout=subprocess.PIPE, check=True)
        text = done.stdout.decode()
        for table in ("devices", "contexts", "modules", "relocated code image", "grids", "parameters", "SMs", "blocks", "warps", "lanes", "metadata"):
            tap.equal(table in text, True, f"{name}: {table}")
        for hidden in range(0x20):
            tap.equal(chr(hidden) in text.replace("\n", "").replace("\t", ""), False, f"{name}: control character {hidden}")


def main() -> None:
    assert len(names()) > 20, names()
    tests: List[tap.Test] = [named(holds_what_the_program_says, name) for name in names()]
    tests += [named(same_by_cuda_gdb, name) for name in names()]
    tap.run(tests + [test_a_cut_dump_gives_the_same_incident, test_the_cutting_tool_says_what_is_wrong, test_a_grown_dump_has_as_many_lanes_more,
                     test_a_cut_dump_is_one_clear_line, test_every_way_in_gives_the_same_report, test_raw_shows_every_table])


if __name__ == "__main__":
    main()
