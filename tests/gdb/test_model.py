# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the scripts without a debugger: groups, runs, images, the table of kernels, the wrapper of a live run."""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import subprocess
import sys
import types
from typing import Any, Dict, List, Optional

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

sys.path.insert(0, tap.SCRIPTS)
from cudatrap import arguments, emit, image, model, shellvalues  # noqa: E402
from cudatrap.model import Lane, SmException, Warp  # noqa: E402

PC = 0x7F0000000380


def warp(block: int, lanes: List[Lane], sm: int = 0, number: int = 0, error_pc: Optional[int] = None, grid: int = 2) -> Warp:
    return Warp(0, sm, number, grid, (block, 0, 0), error_pc, lanes)


def lanes(first: int, count: int, pc: int = PC, exception: Optional[int] = None) -> List[Lane]:
    return [Lane(i % 32, (i, 0, 0), pc, exception) for i in range(first, first + count)]


def never(pc: int) -> bool:
    return False


def test_exceptions_are_those_of_the_incident() -> None:
    with open(os.path.join(tap.TOP, "src", "incident", "incident.h"), encoding="utf-8") as file:
        rows = re.findall(r'X\((\d+), "([a-z-]+)", "[^"]*", "(\w+)"\)', file.read())
    tap.equal(model.EXCEPTIONS, {int(code): (word, scope) for code, word, scope in rows})


def test_flagged_assert_lanes_are_one_group() -> None:
    groups = model.group_threads([warp(0, lanes(2, 1, exception=12)), warp(4, lanes(5, 1, exception=12), sm=1)], [], never)
    tap.equal(len(groups), 1)
    row = model.group_dict(groups[0], (8, 1, 1), (128, 1, 1))
    tap.equal((row["reason"], row["threads"], row["warps"], row["blocks"], row["flagged_threads"]), ("exception", 2, 2, 2, 2))
    tap.equal("whole_warps" in row, False)
    tap.equal(row["block_runs"], [{"first": [0, 0, 0], "last": [0, 0, 0], "count": 1}, {"first": [4, 0, 0], "last": [4, 0, 0], "count": 1}])


def test_unflagged_lanes_at_the_assert_count_as_failing() -> None:
    others = warp(1, lanes(0, 32), sm=1)
    elsewhere = warp(2, lanes(0, 32, pc=PC + 16), sm=2)
    of_another_grid = warp(3, lanes(0, 32), sm=3, grid=3)
    groups = model.group_threads([warp(0, lanes(0, 32, exception=12)), others, elsewhere, of_another_grid], [], never)
    tap.equal([(g.reason, g.n_threads, g.n_flagged) for g in groups], [("assert-pc", 64, 32)])


def test_class_of_a_fault_is_that_of_most_warps() -> None:
    warps = [warp(i, lanes(0, 32, exception=14), sm=i, error_pc=PC - 16) for i in (1, 2, 3)]
    warps.append(warp(0, lanes(0, 32, exception=7), sm=0, error_pc=PC - 16))
    groups = model.group_threads(warps, [], never)
    row = model.group_dict(groups[0], (4, 1, 1), (256, 1, 1))
    tap.equal(len(groups), 1)
    tap.equal((row["exception"]["code"], row["error_pc"], row["whole_warps"]), (14, hex(PC - 16), True))
    tap.equal(row["other_exceptions"], [{"code": 7, "name": "warp-invalid-address-space", "warps": 1}])


def test_equal_votes_do_not_depend_on_the_order() -> None:
    a, b = warp(0, lanes(0, 1, exception=14), error_pc=PC), warp(1, lanes(0, 1, exception=7), sm=1, error_pc=PC)
    tap.equal([model.group_threads(w, [], never)[0].exception for w in ([a, b], [b, a])], [7, 7])


def test_lane_exceptions_name_the_lane() -> None:
    groups = model.group_threads([warp(0, lanes(0, 32, exception=2))], [], never)
    tap.equal(groups[0].whole_warps, False)


def test_part_of_a_warp_is_no_whole_warp() -> None:
    groups = model.group_threads([warp(0, lanes(0, 8, exception=14) + lanes(8, 24), error_pc=PC)], [], never)
    tap.equal((groups[0].whole_warps, groups[0].n_threads), (False, 8))


def test_faults_at_two_places_are_two_groups_and_asserts_come_first() -> None:
    warps = [warp(0, lanes(0, 32, exception=14), error_pc=PC), warp(1, lanes(0, 32, exception=14), sm=1, error_pc=PC + 64)]
    warps += [warp(2, lanes(0, 32, exception=14), sm=2, error_pc=PC + 64), warp(3, lanes(0, 1, exception=12), sm=3)]
    groups = model.group_threads(warps, [], never)
    tap.equal([(g.exception, len(g.members)) for g in groups], [(12, 1), (14, 2), (14, 1)])
    tap.equal(model.fault_kind(groups, []), "assert")


def test_trap_is_looked_for_only_when_nothing_is_flagged() -> None:
    asked = []

    def is_trap(pc: int) -> bool:
        asked.append(pc)
        return pc == PC

    standing = [warp(0, lanes(7, 1) + lanes(8, 4, pc=PC + 32))]
    groups = model.group_threads(standing, [], is_trap)
    tap.equal([(g.reason, g.n_threads) for g in groups], [("trap-pc", 1)])
    tap.equal(sorted(asked), [PC, PC + 32])
    tap.equal(model.fault_kind(groups, []), "trap")
    asked.clear()
    model.group_threads([warp(0, lanes(0, 1, exception=12))], [], is_trap)
    tap.equal(asked, [])


def test_hang_is_grouped_by_place_the_most_warps_first() -> None:
    warps = [warp(0, lanes(0, 32, pc=PC + 16)), warp(1, lanes(0, 32)), warp(2, lanes(0, 32))]
    groups = model.group_threads(warps, [], never)
    tap.equal([(g.reason, g.pc, len(g.members)) for g in groups], [("running", PC, 2), ("running", PC + 16, 1)])
    tap.equal(model.fault_kind(groups, []), "hang")


def test_exception_of_a_warp_that_has_exited() -> None:
    gone = SmException(0, 5, 14, PC)
    shown = SmException(0, 6, 14, PC)
    warps = [warp(0, lanes(0, 1, exception=14), sm=6, error_pc=PC), warp(1, lanes(0, 32), sm=5)]
    tap.equal(model.lost_exceptions(warps, [gone, shown]), [gone])
    tap.equal(model.group_threads([warp(1, lanes(0, 32), sm=5)], [gone], never), [])
    tap.equal(model.fault_kind([], [gone]), "exception")
    tap.equal(model.fault_kind([], []), "unknown")


def test_runs_follow_the_extent() -> None:
    positions = [(3, 0, 0), (0, 1, 0), (2, 0, 0), (2, 0, 0), (1, 1, 0)]
    runs, cut = model.runs_of(positions, (4, 2, 1))
    tap.equal((runs, cut), ([{"first": [2, 0, 0], "last": [1, 1, 0], "count": 4}], False))
    runs, _ = model.runs_of(positions, None)
    tap.equal([run["count"] for run in runs], [1, 1, 1, 1])
    runs, _ = model.runs_of([(9, 0, 0), (10, 0, 0)], (4, 2, 1))
    tap.equal(len(runs), 2)


def test_runs_and_lanes_are_bounded() -> None:
    runs, cut = model.runs_of([(2 * i, 0, 0) for i in range(model.MAX_RUNS + 1)], (1000, 1, 1))
    tap.equal((len(runs), cut), (model.MAX_RUNS, True))
    runs, cut = model.runs_of([(2 * i, 0, 0) for i in range(model.MAX_RUNS)], (1000, 1, 1))
    tap.equal((len(runs), cut), (model.MAX_RUNS, False))
    group = model.group_threads([warp(b, lanes(0, 32, exception=12), sm=b) for b in (9, 1, 5)], [], never)[0]
    tap.equal(len(group.first_lanes), model.MAX_LANES)
    tap.equal([w.block[0] for w, _ in group.first_lanes], [1] * 32 + [5] * 32)


def test_text_is_made_harmless() -> None:
    tap.equal(model.clean({"a": ["\x1b[31m\udcff\u202e", "gr\u00fc\u00df\t"]}), {"a": ["\ufffd[31m\ufffd\ufffd", "gr\u00fc\u00df\t"]})
    tap.equal(model.row("x", "failed", 1.23456, "two\nlines")["detail"], "two lines")


def test_file_appears_whole_and_private() -> None:
    with tap.Scratch() as folder:
        path = os.path.join(folder, "out.json")
        emit.write(path, {"a": "\ud800"})
        with open(path, encoding="utf-8") as file:
            tap.equal(json.load(file), {"a": "\ufffd"})
        tap.equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        emit.write(path, {"b": 1})
        try:
            emit.write(path, {"c": object()})
        except TypeError:
            pass
        else:
            raise AssertionError("an object was written")
        with open(path, encoding="utf-8") as file:
            tap.equal(json.load(file), {"b": 1})
        tap.equal(os.listdir(folder), ["out.json"])


# ---- images


def elf(sections: List[Dict[str, Any]]) -> bytes:
    """A small ELF file: sections with name, type, address, contents, link."""
    names, data, rows = b"\0", b"\0" * 64, [struct.pack("<IIQQQQIIQQ", *([0] * 10))]
    sections = sections + [{"name": ".shstrtab", "type": 3}]
    offsets = []
    for section in sections:
        offsets.append(len(names))
        names += section["name"].encode() + b"\0"
    sections[-1]["contents"] = names
    for section, name in zip(sections, offsets):
        contents = section["contents"]
        rows.append(
            struct.pack("<IIQQQQIIQQ", name, section.get("type", 1), 6, section.get("address", 0), len(data), len(contents), section.get("link", 0), 0, 1, 0)
        )
        data += contents
    header = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, len(data), 0, 64, 0, 0, 64, len(rows), len(rows) - 1)
    return header + data[64:] + b"".join(rows)


TRAP = struct.pack("<QQ", 0x000000040000795C, 0x000FE20000300000)
EXIT = struct.pack("<QQ", 0x000000000000794D, 0x000FEA0003800000)


def sample() -> bytes:
    strings = b"\0_Z1kPi\0helper\0"
    symbols = b"\0" * 24 + struct.pack("<IBBHQQ", 1, 0x12, 0x10, 1, 0x1000, 64) + struct.pack("<IBBHQQ", 8, 0x02, 0, 1, 0x1020, 16)
    info = struct.pack("<BBH", 3, 0x19, 8) + struct.pack("<BBHIHH", 4, 0x0A, 8, 1, 0x210, 8) + struct.pack("<BBH", 4, 0x17, 400)
    return elf(
        [
            {"name": ".text._Z1kPi", "address": 0x1000, "contents": EXIT + TRAP + EXIT + EXIT},
            {"name": ".text.unloaded", "contents": TRAP},
            {"name": ".nv.info._Z1kPi", "contents": info},
            {"name": ".strtab", "type": 3, "contents": strings},
            {"name": ".symtab", "type": 2, "contents": symbols, "link": 4},
        ]
    )


def load(data: bytes) -> image.Image:
    with tap.Scratch() as folder:
        path = os.path.join(folder, "image")
        with open(path, "wb") as file:
            file.write(data)
        return image.Image(path)


def test_image_tells_traps_kernels_and_parameters() -> None:
    got = load(sample())
    # At the trap, behind it, and two instructions behind it.
    tap.equal([got.stands_at_trap(pc) for pc in (0x1000, 0x1010, 0x1020, 0x1030)], [False, True, True, False])
    tap.equal([got.stands_at_trap(pc) for pc in (0, 0x10, 0x1040, 0x1050)], [False] * 4)
    tap.equal((got.is_kernel("_Z1kPi"), got.is_kernel("helper")), (True, False))
    tap.equal((got.params_offset("_Z1kPi"), got.params_offset("helper")), (0x210, None))


def test_predicated_trap_is_one_too() -> None:
    tap.equal(image.is_trap(struct.pack("<QQ", 0x000000040000095C, 0)), True)
    tap.equal(image.is_trap(EXIT), False)


def test_broken_images_are_refused_not_believed() -> None:
    good = sample()
    outcomes = set()
    for cut in range(0, len(good), 7):
        outcomes.add(survives(good[:cut]))
    for at in range(0, len(good), 3):
        for value in (0x00, 0xFF, 0x7F):
            outcomes.add(survives(good[:at] + bytes([value]) + good[at + 1 :]))
    tap.equal(outcomes, {"read", "refused"})


def survives(data: bytes) -> str:
    try:
        got = load(data)
        got.stands_at_trap(0x1010)
        got.is_kernel("_Z1kPi")
        got.params_offset("_Z1kPi")
        return "read"
    except image.ImageError:
        return "refused"


# ---- modules that import gdb, with a gdb that has what importing needs


def with_gdb(name: str) -> Any:
    fake = types.ModuleType("gdb")
    fake.error = type("error", (RuntimeError,), {})  # type: ignore[attr-defined]
    fake.GdbError = type("GdbError", (Exception,), {})  # type: ignore[attr-defined]
    fake.Frame = object  # type: ignore[attr-defined]
    sys.modules.setdefault("gdb", fake)
    return __import__("cudatrap." + name, fromlist=[name])


# cuda-gdb 13.0, `info cuda kernels`, the dumps assert.rel and torch-cross-entropy-sm90.
KERNELS = """  Kernel Parent Dev Grid Status                             SMs Mask GridDim  BlockDim Invocation    \n\
*      0      -   0    2 Active 0x0110000000000000000000000000000000 (8,1,1) (128,1,1) nll_forward() \n\
       1      -   0   50 Active 0x0010000000000000000000000000000000 (1,1,1) (32,1,1) at::native::(anonymous namespace)::nll<float, long>(a=0x1, n=(2)) \n\
"""


def test_kernel_table_is_read_and_odd_rows_are_told() -> None:
    collect = with_gdb("collect")
    names, unread = collect.parse_kernels(KERNELS)
    tap.equal(names, {(0, 2): "nll_forward", (0, 50): "at::native::(anonymous namespace)::nll<float, long>"})
    tap.equal(unread, [])
    names, unread = collect.parse_kernels(KERNELS + "       x      what is this\n")
    tap.equal((len(names), unread), (2, ["x      what is this"]))
    tap.equal(collect.invoked("f)"), "")
    tap.equal(collect.parse_kernels("No CUDA kernels.\n"), ({}, []))


def test_failing_probe_costs_its_row_only() -> None:
    collect = with_gdb("collect")

    def breaks(state: Any) -> None:
        raise ZeroDivisionError("why")

    def half(state: Any) -> None:
        raise collect.Partial("half")

    document = collect.collect([("one", breaks), ("two", half), ("three", lambda state: None)])
    rows = [(row["name"], row["status"], row.get("detail")) for row in document["collectors"]]
    tap.equal(rows[1:], [("one", "failed", "ZeroDivisionError: why"), ("two", "partial", "half"), ("three", "ok", None)])
    tap.equal(rows[0][:2], ("gpu", "failed"))
    tap.equal("gpu" in document, False)


def test_clone_suffix_is_cut_and_others_are_not() -> None:
    collect = with_gdb("collect")
    tap.equal(collect.without_clone("f(int) [clone k(long)]"), "f(int)")
    tap.equal(collect.without_clone("f(int) [clone .part.0]"), "f(int) [clone .part.0]")


def wrapped(arguments: List[str], environment: Dict[str, str], **more: Any) -> "subprocess.CompletedProcess[bytes]":
    live = with_gdb("live")
    command = live.wrapper(environment) + ' "$@"'
    script = "exec 3<&0 4>&1 5>&2; exec " + command
    return subprocess.run(["/bin/sh", "-c", script, "sh", *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)


def test_wrapper_gives_back_descriptors_and_variables() -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "CUDATRAP_GDB_FDS": "3 4 5",
        "CUDATRAP_GDB_OUT": "x",
        "CUDATRAP_KEPT": "ONE TWO",
        "CUDATRAP_KEEP_ONE": "a 'b' \"c\" $d\n*",
        "ONE": "ours",
        "TWO": "ours",
        "CUDATRAP_AGENT_DIR": "/of/the/target",
    }
    show = "import os, sys; print(repr({k: v for k, v in os.environ.items() if k[:3] in ('ONE', 'TWO', 'CUD')})); print(sys.stdin.read(), file=sys.stderr)"
    done = wrapped([sys.executable, "-c", show], environment, input=b"in")
    tap.equal(done.stdout.decode().strip(), repr({"ONE": "a 'b' \"c\" $d\n*", "CUDATRAP_AGENT_DIR": "/of/the/target"}), done.stderr.decode())
    tap.equal(done.stderr, b"in\n")


def test_wrapper_refuses_what_a_shell_cannot_do() -> None:
    live = with_gdb("live")
    for bad in ({"CUDATRAP_GDB_FDS": "3 4 10"}, {"CUDATRAP_GDB_FDS": "3 4"}, {"CUDATRAP_GDB_FDS": "3 4 5", "CUDATRAP_KEPT": "A;B"}):
        try:
            live.wrapper(bad)
        except sys.modules["gdb"].GdbError:  # type: ignore[attr-defined]
            continue
        raise AssertionError(f"{bad} was taken")


class Event:
    def __init__(self, stop_signal: str = "") -> None:
        self.stop_signal = stop_signal


class Signal(Event):
    pass


class Breakpoint(Event):
    pass


def test_stops_are_told_apart() -> None:
    faults = with_gdb("faults")
    fake = sys.modules["gdb"]
    fake.SignalEvent, fake.BreakpointEvent = Signal, Breakpoint  # type: ignore[attr-defined]
    information = {"si_signo": 5, "si_code": -6}
    fake.parse_and_eval = lambda text: information  # type: ignore[attr-defined]

    def kind(event: Event, on_device: bool, api_failures: bool = False) -> str:
        fake.cuda = types.SimpleNamespace(get_focus_physical=lambda: object() if on_device else None)  # type: ignore[attr-defined]
        return str(faults.stop_kind(event, api_failures))

    tap.equal(kind(Signal("CUDA_EXCEPTION_12"), True), "fault")
    tap.equal(kind(Signal("CUDA_EXCEPTION_14"), False), "fault")
    tap.equal(kind(Signal("SIGSEGV"), False), "other")
    tap.equal((kind(Breakpoint(), True), kind(Breakpoint(), False)), ("assert-entry", "other"))
    tap.equal((kind(Event(), True), kind(Event(), False), kind(Event(), False, True)), ("fault", "host-trap", "host-trap"))
    information["si_code"] = 0x80
    tap.equal((kind(Event(), False), kind(Event(), False, True)), ("host-trap", "api-error"))


def test_parameter_types_of_a_signature() -> None:
    for signature, wanted in (
        ("f()", []),
        ("f(void)", ["void"]),
        ("f(int)", ["int"]),
        ("void a::(anonymous namespace)::f<b<c, d>, 3>(float const*, A<x, (E)1> const&, long)", ["float const*", "A<x, (E)1> const&", "long"]),
        ("f(void (*)(int, long), int [3])", ["void (*)(int, long)", "int [3]"]),
        ("f", None),
        ("", None),
        ("f)", None),
    ):
        tap.equal(arguments.parameter_types(signature), wanted, signature)


def test_values_as_text() -> None:
    for type_, data, wanted in (
        ("int", b"\xff\xff\xff\xff", "-1"),
        ("unsigned int", b"\xff\xff\xff\xff", "4294967295"),
        ("float", b"\x00\x00\x80\x3f", "1"),
        ("double", b"\x9a\x99\x99\x99\x99\x99\xb9\x3f", "0.10000000000000001"),
        ("c10::Half", b"\x00\xfc", "-inf"),
        ("bool", b"\x01", "true"),
        ("bool", b"\x02", "2, neither true nor false"),
        ("A*", b"\x10" + bytes(7), "0x10"),
        ("int", b"\x01\x02", "0x201"),
        (None, b"\x01\x00", "0x1"),
        ("S", b"\x01\x02\x03", "\n      +0    01 02 03"),
    ):
        tap.equal(shellvalues.text_of(type_, data), wanted, str(type_))


if __name__ == "__main__":
    tap.run([value for name, value in list(globals().items()) if name.startswith("test_")])
