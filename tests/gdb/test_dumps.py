# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scripts make of each stored dump, in the real cuda-gdb, against the stored documents."""

from __future__ import annotations

import glob
import json
import lzma
import os
import shutil
import struct
import sys
from typing import Any, Callable, List

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

sys.path.insert(0, os.path.join(tap.TOP, "tests", "unit"))
import schema_check  # noqa: E402

UNREADABLE = "truncated"


def names() -> List[str]:
    found = sorted(os.path.basename(p)[: -len(".nvcore.xz")] for p in glob.glob(os.path.join(tap.DATA, "*.nvcore.xz")))
    return [name for name in found if name != UNREADABLE]


def unpack(name: str, folder: str) -> str:
    # A path with what a shell or gdb would trip over.
    path = os.path.join(folder, f"a 'dump' \"of\" {name}")
    with lzma.open(os.path.join(tap.DATA, name + ".nvcore.xz")) as packed, open(path, "wb") as file:
        shutil.copyfileobj(packed, file)
    return path


def comparable(document: Any) -> Any:
    """Without what differs from run to run and from version to version of cuda-gdb."""
    if isinstance(document, dict):
        return {key: comparable(value) for key, value in document.items() if key not in ("milliseconds", "source")}
    if isinstance(document, list):
        return [comparable(value) for value in document]
    return document


def first_difference(got: Any, wanted: Any, path: str = "") -> str:
    """Where two documents differ; "" when they do not."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        for key in sorted(set(got) | set(wanted)):
            if key not in got or key not in wanted:
                return f"{path}.{key}: {'missing' if key not in got else 'not expected'}"
            different = first_difference(got[key], wanted[key], f"{path}.{key}")
            if different:
                return different
        return ""
    if isinstance(got, list) and isinstance(wanted, list) and len(got) == len(wanted):
        return next((d for i, (a, b) in enumerate(zip(got, wanted)) for d in [first_difference(a, b, f"{path}[{i}]")] if d), "")
    return "" if got == wanted and isinstance(got, type(wanted)) else f"{path}: got {got!r}, wanted {wanted!r}"


def collect(dump: str, how: str = "core") -> Any:
    with tap.Scratch() as scratch:
        done = tap.drive(how, dump, scratch)
        if done.returncode != 0:
            raise AssertionError(done.stderr.decode())
        tap.equal(done.stderr, b"", "nothing of cuda-gdb's is shown")
        left = set(os.listdir(scratch)) - {"gpu.json", "cuda-gdb.log", "core.nvcore", "cuda-dbg"}
        tap.equal(left, set(), "files left behind")
        if os.path.isdir(os.path.join(scratch, "cuda-dbg")):
            tap.equal(os.listdir(os.path.join(scratch, "cuda-dbg")), [], "sessions left behind")
        document = json.loads(done.stdout)
        check_form(document)
        return document


def check_form(document: Any) -> None:
    with open(os.path.join(tap.TOP, "doc", "incident.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    tap.equal(list(schema_check.errors(document, schema, schema)), [], "form of the document")


def compare(name: str) -> None:
    with tap.Scratch() as folder:
        got = comparable(collect(unpack(name, folder)))
    path = os.path.join(tap.DATA, "expected", name + ".gpu.json")
    if os.environ.get("UPDATE_GOLDEN"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(got, indent=1) + "\n")
    with open(path, encoding="utf-8") as file:
        different = first_difference(got, json.load(file))
    if different:
        raise AssertionError(f"{name}: {different}")


def dump_test(name: str) -> Callable[[], None]:
    def test() -> None:
        compare(name)

    test.__name__ = f"test_dump_{name}"
    return test


def test_comparison_notices_a_change() -> None:
    path = os.path.join(tap.DATA, "expected", "assert.rel.gpu.json")
    with open(path, encoding="utf-8") as file:
        wanted = json.load(file)
    changed = json.loads(json.dumps(wanted))
    tap.equal(first_difference(changed, wanted), "")
    changed["gpu"]["groups"][0]["threads"] += 1
    tap.equal(first_difference(changed, wanted), ".gpu.groups[0].threads: got 3, wanted 2")
    del changed["gpu"]["groups"][0]["threads"]
    tap.equal(first_difference(changed, wanted), ".gpu.groups[0].threads: missing")


def test_every_dump_has_a_document_and_the_other_way_round() -> None:
    stored = sorted(os.path.basename(p)[: -len(".gpu.json")] for p in glob.glob(os.path.join(tap.DATA, "expected", "*.gpu.json")))
    tap.equal(stored, names())
    if len(names()) < 10:
        raise AssertionError("dumps are missing")


def test_truncated_dump_is_refused_before_cuda_gdb_dies_on_it() -> None:
    with tap.Scratch() as folder:
        done = tap.drive("core", unpack(UNREADABLE, folder), folder)
        tap.equal(done.returncode, 1)
        text = done.stderr.decode()
        if "cut short at byte 68672" not in text or "skip_constbank_memory" not in text:
            raise AssertionError(text)
        tap.equal(os.path.exists(os.path.join(folder, "cuda-gdb.log")), False, "cuda-gdb was not started")


def patched(folder: str, code: int) -> str:
    """assert.rel with another exception in its two flagged lanes and their SMs."""
    path = unpack("assert.rel", folder)
    with open(path, "rb") as file:
        data = bytearray(file.read())
    (table,) = struct.unpack_from("<Q", data, 0x28)
    row_bytes, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * row_bytes) for i in range(count)]
    strings = rows[names_index][4]
    changed = 0
    for row in rows:
        name = data[strings + row[0] : data.index(b"\0", strings + row[0])].decode()
        # CudbgWarp/Lane/SmTableEntry of cudacoredump.h: the exception is at byte 32 of a lane's row and byte 8 of an SM's.
        step, at = (56, 32) if ".lntbl." in name else (48, 8) if ".smtbl." in name else (0, 0)
        for offset in range(row[4] + at, row[4] + row[5], step) if step else ():
            if struct.unpack_from("<I", data, offset)[0] == 12:
                struct.pack_into("<I", data, offset, code)
                changed += 1
    tap.equal(changed, 4, "places changed")
    with open(path, "wb") as file:
        file.write(data)
    return path


def test_exception_numbers_are_those_of_the_enum_not_of_the_signals() -> None:
    for code, name in ((17, "cluster-out-of-range-address"), (18, "cluster-block-not-present")):
        with tap.Scratch() as folder:
            document = collect(patched(folder, code))
        tap.equal(document["gpu"]["groups"][0]["exception"], {"code": code, "name": name})
        tap.equal(document["kind"], "exception")


def test_unknown_exception_keeps_its_number() -> None:
    with tap.Scratch() as folder:
        document = collect(patched(folder, 35))
    tap.equal(document["gpu"]["groups"][0]["exception"], {"code": 35})


def by_interface(name: str) -> Any:
    with tap.Scratch() as folder:
        return collect(unpack(name, folder), "mi-core")


def test_machine_interface_tells_the_same_of_an_assert() -> None:
    document = by_interface("assert.dbg")
    with open(os.path.join(tap.DATA, "expected", "assert.dbg.gpu.json"), encoding="utf-8") as file:
        wanted = json.load(file)["gpu"]
    gpu, group = document["gpu"], document["gpu"]["groups"][0]
    tap.equal(document["kind"], "assert")
    tap.equal(gpu["source"].endswith("(MI)"), True)
    tap.equal(gpu["device"], wanted["device"])
    for key in ("grid_id", "grid_dim", "block_dim"):
        tap.equal(gpu["kernel"][key], wanted["kernel"][key], key)
    tap.equal(gpu["kernel"]["name"], "nll_forward")
    for key in ("pc", "threads", "warps", "blocks", "block_runs", "thread_runs"):
        tap.equal(group[key], wanted["groups"][0][key], key)
    tap.equal([f.get("line") for f in group["frames"]], [None, 9, 14])
    row = [row for row in document["collectors"] if row["name"] == "gpu"][0]
    tap.equal(row["status"], "partial")


def test_machine_interface_tells_the_faulting_warp() -> None:
    document = by_interface("address.rel")
    group = document["gpu"]["groups"][0]
    tap.equal(document["kind"], "exception")
    tap.equal(group["exception"], {"code": 7, "name": "warp-invalid-address-space"})
    tap.equal(group["whole_warps"], True)
    tap.equal(group["thread_runs"], [{"first": [0, 0, 0], "last": [31, 0, 0], "count": 32}])
    tap.equal(group["error_pc"], "0x7fbf7f7a0100")


def test_machine_interface_tells_where_a_hang_stands() -> None:
    group = by_interface("spin.line")["gpu"]["groups"][0]
    tap.equal((group["reason"], group["threads"], group["warps"], group["blocks"]), ("running", 128, 4, 2))
    tap.equal(group["frames"][0]["line"], 25)


def test_machine_interface_counts_what_the_scripts_count() -> None:
    group = by_interface("many.rel")["gpu"]["groups"][0]
    tap.equal((group["reason"], group["threads"], group["warps"], group["blocks"]), ("assert-pc", 270336, 8448, 2112))


if __name__ == "__main__":
    tap.need_cuda_gdb()
    tap.run(
        [dump_test(name) for name in names()]
        + [
            test_comparison_notices_a_change,
            test_every_dump_has_a_document_and_the_other_way_round,
            test_truncated_dump_is_refused_before_cuda_gdb_dies_on_it,
            test_exception_numbers_are_those_of_the_enum_not_of_the_signals,
            test_unknown_exception_keeps_its_number,
            test_machine_interface_tells_the_same_of_an_assert,
            test_machine_interface_tells_the_faulting_warp,
            test_machine_interface_tells_where_a_hang_stands,
            test_machine_interface_counts_what_the_scripts_count,
        ]
    )
