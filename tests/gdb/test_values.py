# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments, the table of known kernels, and reading of device memory, with a stand-in for gdb."""

from __future__ import annotations

import os
import struct
import sys
import types
from typing import Any, Dict, List, Optional, Tuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402


class GdbError(RuntimeError):
    pass


class Memory:
    """gdb.cuda with an allocation or two."""

    def __init__(self) -> None:
        self.allocations: Dict[int, bytes] = {}
        self.reads: List[Tuple[int, int]] = []
        self.failure = "Error: read_global_memory(): failed, error=CUDBG_ERROR_INVALID_MEMORY_SEGMENT"

    def read_global_memory(self, address: int, size: int) -> bytes:
        self.reads.append((address, size))
        for start, data in self.allocations.items():
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        raise GdbError(self.failure)


def stand_in() -> Any:
    module = types.ModuleType("gdb")
    for name, value in {"error": GdbError, "GdbError": GdbError, "Frame": object, "Symbol": object, "cuda": Memory()}.items():
        setattr(module, name, value)
    return module


gdb = sys.modules["gdb"] = stand_in()
sys.path.insert(0, tap.SCRIPTS)
from cudatrap import arguments, rules, values  # noqa: E402
from cudatrap.arguments import Argument, Parameter  # noqa: E402
from cudatrap.rules import Launch  # noqa: E402

TABLE = rules.load(os.path.join(tap.TOP, "data", "assert-values.tsv"))
NLL = (
    "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"
    "(float*, float*, float const*, long const*, float const*, bool, long, long, long, long)"
)
TARGET = 0x7F2134000000


def made(signature: str, *data: bytes) -> List[Argument]:
    offset, layout = 0, []
    for number, piece in enumerate(data):
        offset = -(-offset // 8) * 8
        layout.append(Parameter(number, offset, len(piece)))
        offset += len(piece)
    return arguments.decode(layout, signature, dict(enumerate(data)))


def q(value: int) -> bytes:
    return struct.pack("<q", value)


def nll(nframe: int, n_classes: int, ignore: int = -100, target: int = TARGET) -> List[Argument]:
    pointers = [q(1 << 40), q(1 << 40), q(1 << 40), q(target), q(0)]
    return made(NLL, *pointers, b"\1", q(nframe), q(n_classes), q(n_classes), q(ignore))


def arrays(found: List[Argument], signature: str, threads: List[Tuple[int, int]], grid: int = 1, block: int = 32) -> List[Dict[str, Any]]:
    rule = rules.choose(TABLE, signature, found)
    launch = None
    if rule:
        found = rules.named(rule, found)
        launch = Launch(signature, (grid, 1, 1), (block, 1, 1), {a.name: a for a in found if a.name})
    return values.read_arrays(found, rule, launch, [((b, 0, 0), (t, 0, 0)) for b, t in threads])


def memory(**settings: Any) -> Memory:
    gdb.cuda = Memory()
    for name, value in settings.items():
        setattr(gdb.cuda, name, value)
    return gdb.cuda


# ---- arguments ------------------------------------------------------------------------------------------------------


def test_cases_of_the_table() -> None:
    with open(os.path.join(tap.TOP, "tests", "data", "arguments", "cases.tsv"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        type_name, data, kind, value = line.split("\t")
        got = made(f"f({type_name})", bytes.fromhex(data))[0].row()
        tap.equal((got["kind"], got.get("value", "-")), (kind, value), type_name)
        tap.equal(got.get("bytes_cut", False), len(data) > 128, type_name)
    tap.equal(len(lines) > 30, True)


def test_signatures_are_split_at_their_own_commas() -> None:
    tap.equal(arguments.parameter_types("void f<int, long>(A<b, c>*, int (*)(x, y), C<(D)1>)"), ["A<b, c>*", "int (*)(x, y)", "C<(D)1>"])
    tap.equal(arguments.parameter_types("f()"), [])
    tap.equal(arguments.parameter_types("extern_c"), None)
    tap.equal(arguments.base_name(NLL), "nll_loss_forward_reduce_cuda_kernel_2d")
    tap.equal(arguments.base_name("n::A<int>::operator()(int) const"), "A")
    tap.equal(arguments.base_name("spin"), "spin")
    tap.equal(arguments.last_template_argument("void at::f<float, A<1, 2>, (bool)1>(int)"), "(bool)1")
    tap.equal(arguments.last_template_argument("f(int)"), "")


def test_types_are_used_for_all_parameters_or_none() -> None:
    found = arguments.decode([Parameter(0, 0, 4), Parameter(1, 8, 8)], "f(int)", {0: b"\1\0\0\0"})
    tap.equal([a.row() for a in found], [{"index": 0, "offset": 0, "size": 4, "kind": "bytes", "bytes": "01000000"}, {"index": 1, "offset": 8, "size": 8, "kind": "bytes"}])
    tap.equal(arguments.kinds(nll(32, 3)), "pppppbiiii")


class Block:
    def __init__(self, function: Optional[str], names: List[str], superblock: Optional["Block"] = None) -> None:
        self.function = types.SimpleNamespace(name=function) if function else None
        self.symbols = [types.SimpleNamespace(name=name, is_argument=True) for name in names]
        self.superblock = superblock

    def __iter__(self) -> Any:
        return iter(self.symbols)


def frame_of(block: Optional[Block], older: Any = None) -> Any:
    def get_block() -> Block:
        if block is None:
            raise GdbError("Cannot locate block for frame.")
        return block

    return types.SimpleNamespace(block=get_block, older=lambda: older)


def test_names_are_those_of_the_kernels_own_frame() -> None:
    kernel = frame_of(Block(None, ["inner"], Block("k", ["a", "b"])))
    for newest, wanted in (
        (kernel, ["a", "b"]),
        (frame_of(Block("device_function", ["x", "y"]), kernel), ["a", "b"]),
        (frame_of(Block("device_function", ["x", "y"])), None),
        (frame_of(None), None),
    ):
        gdb.newest_frame = lambda frame=newest: frame
        tap.equal(values.argument_names("k(int, int)"), wanted)


# ---- the table ------------------------------------------------------------------------------------------------------


def test_table_is_well_formed() -> None:
    with open(os.path.join(tap.TOP, "data", "assert-catalog.tsv"), encoding="utf-8") as file:
        known = {line.split("\t")[0] for line in file}
    tap.equal(len({rule.id for rule in TABLE}), len(TABLE), "ids are unique")
    for rule in TABLE:
        tap.equal(len(rule.kinds.rstrip("*")), len(rule.names), rule.id)
        tap.equal(rule.map in rules.MAPS, True, rule.id)
        for name in (rule.array, rule.count, rule.high, rule.wraps, rule.exempt):
            tap.equal(name == "-" or name in rule.names, True, f"{rule.id}: {name}")
        tap.equal(set(rule.catalog.split(",")) <= known, True, rule.id)


def test_bad_tables_are_refused() -> None:
    with tap.Scratch() as folder:
        path = os.path.join(folder, "t.tsv")
        for text, wanted in (("id\nV1\tx\n", ":2: 2 fields instead of 12"), (None, "No such file"), ("\udcff", "decode")):
            if text is not None:
                with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(text)
            try:
                rules.load(path if text is not None else path + "x")
            except rules.RuleError as e:
                tap.equal(wanted in str(e), True, str(e))
            else:
                raise AssertionError(f"{text!r} was taken")


def test_table_is_found_where_the_front_end_says_or_beside_the_scripts() -> None:
    tap.equal(rules.table_path({"CUDATRAP_GDB_DATA": "/d"}), "/d/assert-values.tsv")
    tap.equal(os.path.samefile(rules.table_path({}), os.path.join(tap.TOP, "data", "assert-values.tsv")), True)


def test_another_release_of_a_kernel_is_left_alone() -> None:
    tap.equal(rules.choose(TABLE, NLL, nll(32, 3)) is not None, True)
    tap.equal(rules.choose(TABLE, NLL, nll(32, 3)[:-1]), None)
    floats = NLL.replace("long const*", "double const*")
    tap.equal(rules.choose(TABLE, floats, arguments.decode([a.parameter for a in nll(1, 1)], floats, {})), None, "no integers in the array")
    tap.equal(rules.choose(TABLE, NLL.replace("_2d", "_3d"), nll(32, 3)), None)


def steps(map_name: str, block: int, thread: int, grid: int = 4, extent: int = 64, length: Optional[int] = 300, signature: str = NLL, **numbers: int) -> List[int]:
    known = {name: Argument(Parameter(0, 0, 8), "long", "integer", q(n), name) for name, n in numbers.items()}
    launch = Launch(signature, (grid, 1, 1), (extent, 1, 1), known)
    return list(rules.MAPS[map_name](launch, TABLE[0], length, (block, 0, 0), (thread, 0, 0)))


def test_maps() -> None:
    tap.equal(steps("first", 3, 3), [0])
    tap.equal(steps("block-x", 3, 9), [3])
    tap.equal(steps("block-x", 3, 9, length=3), [])
    tap.equal(steps("block-stride", 0, 5), [5, 69, 133, 197, 261])
    tap.equal(steps("grid-stride", 1, 5), [69])
    tap.equal(steps("grid-stride", 0, 5), [5, 261])
    tap.equal(steps("warp-stride", 1, 33), [3] + list(range(11, 300, 8)))
    tap.equal(steps("sample-stride", 3, 1, length=200, blocks_per_sample=2), [200 + 65, 200 + 193])
    tap.equal(steps("sample-stride", 3, 1, length=200), [])
    tap.equal(steps("slice", 0, 5, signature="f<int, (bool)1>(int)", innerSize=4), [1, 65])
    tap.equal(steps("slice", 0, 5, signature="f<int, false>(int)", innerSize=4), [1, 1])
    tap.equal(steps("slice", 0, 5, signature="f<int, 3>(int)", innerSize=4), [])
    tap.equal(steps("slice", 0, 5, signature="f<int, false>(int)", innerSize=0), [])
    tap.equal(steps("walk", 2, 5, length=3), [0, 1, 2])
    tap.equal(steps("any", 0, 0), [])
    tap.equal(steps("walk", 0, 0, length=None), [])
    tap.equal(len(steps("walk", 0, 0, length=1 << 40)), rules.MAX_STEPS, "bounded")


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_label_of_the_failing_thread() -> None:
    labels = [2, 0, 3, 1] + [-100] * 28
    memory(allocations={TARGET: b"".join(map(q, labels))})
    rows = arrays(nll(32, 3), NLL, [(0, 2)])
    tap.equal(len(rows), 1)
    tap.equal((rows[0]["argument"], rows[0]["type"], rows[0]["read"], rows[0]["whole"], rows[0]["rule"]), (3, "int64", 32, True, "V01"))
    tap.equal(rows[0]["elements"], [{"index": 2, "value": "3", "at": {"block": [0, 0, 0], "thread": [2, 0, 0]}}])
    tap.equal((rows[0]["min"], rows[0]["min_index"], rows[0]["max"], rows[0]["max_index"]), ("-100", 4, "3", 2))
    tap.equal([o for o in rows[0]["outside"] if o["argument"] == 8], [{"argument": 8, "count": 29, "index": 2, "value": "3"}])


def test_later_round_of_a_thread_and_exempt_values() -> None:
    labels = [0] * 96
    labels[1], labels[65] = -100, 7
    memory(allocations={TARGET: b"".join(map(q, labels))})
    rows = arrays(nll(96, 3), NLL, [(0, 1), (0, 0)])
    tap.equal([(e["index"], e["value"]) for e in rows[0]["elements"]], [(65, "7")])


def test_bounds_that_are_not_known_give_no_element() -> None:
    memory(allocations={TARGET: q(9) * 32})
    found = nll(32, 3)
    found[8] = found[8]._replace(data=None)
    tap.equal("elements" in arrays(found, NLL, [(0, 2)])[0], False)


def test_large_array_is_read_in_part_and_then_by_element() -> None:
    n = values.KNOWN_BYTES // 8 + 64
    labels = bytearray(q(0) * n)
    labels[(n - 32) * 8 : (n - 31) * 8] = q(5)
    seen = memory(allocations={TARGET: bytes(labels)})
    original, values.rules.MAX_STEPS = rules.MAX_STEPS, 1 << 20
    try:
        rows = arrays(nll(n, 3), NLL, [(0, 0)], block=32)
    finally:
        values.rules.MAX_STEPS = original
    tap.equal("whole" in rows[0], False)
    tap.equal(rows[0]["elements"][0]["index"], n - 32)
    tap.equal(seen.reads[0], (TARGET, values.KNOWN_BYTES))
    tap.equal(len(seen.reads), 1 + 2)


def test_single_reads_are_bounded() -> None:
    seen = memory()
    reader = values.Reader()
    for i in range(values.MAX_SINGLE_READS + 9):
        tap.equal(reader.one(TARGET + i, arguments.INTEGERS["long"]), None)
    tap.equal(len(seen.reads), values.MAX_SINGLE_READS)


def test_time_is_bounded() -> None:
    memory(allocations={TARGET: q(9) * 32})
    reader = values.Reader()
    reader.until = 0
    found = made("f(long const*)", q(TARGET))
    tap.equal(values.read_arrays(found, None, None, [], reader)[0]["failed"], "no time left to read it")


def test_memory_that_is_not_there_is_said_in_words() -> None:
    memory()
    tap.equal(arrays(nll(32, 3), NLL, [(0, 2)])[0]["failed"], "the debugger could not read GPU memory there")
    memory(failure="Error: read_global_memory(): Global memory is not available in this corefile, error=CUDBG_ERROR_MISSING_DATA")
    tap.equal(arrays(nll(32, 3), NLL, [(0, 2)])[0]["failed"], "GPU memory is not in this dump; --dump=memory or full keeps it")


def test_array_of_an_unknown_kernel_is_summed_up() -> None:
    seen = memory(allocations={TARGET: struct.pack("<4i", 5, -1, 2, 9)})
    signature = "k(int const*, int*, int, long)"
    found = made(signature, q(TARGET), q(TARGET), struct.pack("<i", 4), q(0))
    rows = arrays(found, signature, [(0, 0)])
    tap.equal(len(rows), 1, "not what it writes to")
    tap.equal(rows[0]["read"], 0)
    memory(allocations={TARGET: struct.pack("<4i", 5, -1, 2, 9) + bytes(2032)})
    rows = arrays(found, signature, [(0, 0)])
    tap.equal((rows[0]["read"], rows[0]["min"], rows[0]["max"], "whole" in rows[0], "rule" in rows[0]), (256, "-1", "9", False, False))
    tap.equal(rows[0]["outside"], [{"argument": 2, "count": 3, "index": 0, "value": "5"}])
    tap.equal([size for _, size in seen.reads], [65536, 16384, 4096, 1024, 512])


def test_indices_of_an_index_select() -> None:
    info = "at::cuda::detail::TensorInfo<{}, unsigned int>"
    signature = f"void at::native::indexSelectSmallIndex<float, long, unsigned int, 2, 2, -2>({info.format('float')}, {info.format('float const')}, {info.format('long const')}, int, int, unsigned int, long)"

    def tensor(address: int, sizes: List[int], strides: List[int]) -> bytes:
        pad = [0] * (25 - len(sizes))
        return struct.pack("<Q25I25IiI", address, *sizes, *pad, *strides, *pad, len(sizes), 0)

    i4 = struct.pack("<i", 0)
    memory(allocations={TARGET: q(1) + q(-1) + q(10)})
    found = made(signature, tensor(1, [3, 4], [4, 1]), tensor(1, [10, 4], [4, 1]), tensor(TARGET, [3], [1]), i4, i4, i4, q(10))
    row = arrays(found, signature, [(0, 3)])[0]
    tap.equal((row["argument"], row["read"], row["whole"], row["rule"]), (2, 3, True, "V10"))
    tap.equal([(e["index"], e["value"]) for e in row["elements"]], [(1, "-1")])
    strided = made(signature, tensor(1, [3, 4], [4, 1]), tensor(1, [10, 4], [4, 1]), tensor(TARGET, [3], [2]), i4, i4, i4, q(10))
    tap.equal("elements" in arrays(strided, signature, [(0, 3)])[0], False, "elements that are not neighbours are not guessed at")


def test_negative_indices_that_wrap() -> None:
    signature = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)"
    i4 = struct.pack("<i", 3)
    for allowed, wanted in ((b"\1", [(2, "-9")]), (b"\0", [(0, "-4"), (2, "-9")])):
        memory(allocations={TARGET: q(-4) + q(3) + q(-9)})
        found = made(signature, q(1), q(1), q(TARGET), i4, q(16), q(8), q(16), q(16), allowed)
        rows = arrays(found, signature, [(0, 1), (1, 1), (2, 1)], grid=3)
        tap.equal([(e["index"], e["value"]) for e in rows[0]["elements"]], wanted)


def test_bytes_as_integers() -> None:
    tap.equal(rules.integers(b"\xff\x01", arguments.INTEGERS["unsigned char"]), [255, 1])
    tap.equal(rules.integers(b"\xff\x01", arguments.INTEGERS["signed char"]), [-1, 1])
    tap.equal(rules.integers(b"\xfe\xff\xff", arguments.INTEGERS["short"]), [-2], "a part of an element is left out")


if __name__ == "__main__":
    tap.run([value for name, value in list(globals().items()) if name.startswith("test_")])
