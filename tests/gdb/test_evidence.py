# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of indices inside functors, and what is in the tensors of the launching frames, with a stand-in for gdb."""

from __future__ import annotations

import os
import struct
import sys
from typing import Any, Dict, List, Tuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402
from test_values import TARGET, Memory, gdb, made  # noqa: E402  (puts the stand-in in place of gdb)
from cudatrap import arguments, functors, tensors, values  # noqa: E402
from cudatrap.arguments import Argument, Parameter  # noqa: E402


# ---- functors -------------------------------------------------------------------------------------------------------

FILL = (
    "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_fill_internal_kernel<at::native::OpaqueType<1>, long>"
    "::operator()<at::native::TensorAssign>(at::TensorIterator&)::{lambda(int)#1}>(int, at::native::_cuda_scatter_fill_internal_kernel"
    "<at::native::OpaqueType<1>, long>::operator()<at::native::TensorAssign>(at::TensorIterator&)::{lambda(int)#1})"
)
INDEX = "void at::native::index_elementwise_kernel<128, 4, at::native::F>(long, at::native::F)"


def divider(divisor: int) -> bytes:
    shift = (divisor - 1).bit_length()
    return struct.pack("<III", divisor, (1 << 32) * ((1 << shift) - divisor) // divisor + 1, shift)


def calculator(sizes: List[int], strides: List[Tuple[int, ...]]) -> bytes:
    n_arrays = len(strides[0])
    head = (struct.pack("<i", len(sizes)) + b"".join(map(divider, sizes))).ljust(4 + 25 * 12, b"\x55")
    body = head + b"".join(struct.pack(f"<{n_arrays}I", *row) for row in strides)
    return body.ljust((4 + 25 * 12 + 25 * 4 * n_arrays + 7) // 8 * 8, b"\x55")


def fill_functor(high: int = 5) -> bytes:
    return calculator([16384, 2], [(1, 8), (81920, 131072)]) + struct.pack("<QqQQQQQ", TARGET, high, 0, 0x1000, 1, 2, 1)


def two_arguments(signature: str, count: bytes, functor: bytes) -> List[Argument]:
    layout = [Parameter(0, 0, len(count)), Parameter(1, 8, len(functor))]
    return arguments.decode(layout, signature, {0: count, 1: functor})


def test_scatter_fill() -> None:
    labels = [0] * 32768
    labels[19588:19593] = [63] * 5
    gdb.cuda = Memory()
    gdb.cuda.allocations[TARGET] = struct.pack("<32768q", *labels)
    found = two_arguments(FILL, struct.pack("<i", 32768), fill_functor())
    arrays = functors.indices(FILL, found, (32, 1, 1), (128, 1, 1))
    (row,) = values.read_indices(arrays, [((19, 0, 0), (4, 0, 0)), ((19, 0, 0), (8, 0, 0))])
    assert (row["bound"], row["value_name"], row["max"], row["max_index"], row["whole"]) == ("5", "idx_dim", "63", 19588, True), row
    assert [e["index"] for e in row["elements"]] == [19588, 19592], row
    # A thread without an element that is not allowed: then the layout is not what it was taken for.
    assert values.read_indices(arrays, [((19, 0, 0), (4, 0, 0)), ((2, 0, 0), (4, 0, 0))]) == []


def test_functors_of_another_layout() -> None:
    for functor in (fill_functor()[:-8], fill_functor() + bytes(8), b"\x55" * 560, fill_functor(0), fill_functor(-1)):
        found = two_arguments(FILL, struct.pack("<i", 32768), functor)
        assert functors.indices(FILL, found, (32, 1, 1), (128, 1, 1)) == [], len(functor)
    # A divider whose multiplier is another number's.
    wrong = bytearray(fill_functor())
    wrong[8] ^= 1
    assert functors.indices(FILL, two_arguments(FILL, struct.pack("<i", 32768), bytes(wrong)), (32, 1, 1), (128, 1, 1)) == []


def test_advanced_indexing() -> None:
    gdb.cuda = Memory()
    gdb.cuda.allocations[TARGET] = struct.pack("<4q", 3, 9, -78, 81)
    gdb.cuda.allocations[TARGET + 512] = struct.pack("<4q", 0, 1, 2, -3)
    pointers = struct.pack("<25Q", TARGET + 512, TARGET, *[0] * 23)
    sizes = struct.pack("<25q", 64, 77, *[0] * 23)
    functor = calculator([4], [(4, 0, 8)]) + struct.pack("<QQi4x", 1, 2, 2) + pointers + sizes + struct.pack("<25q", 77, 1, *[0] * 23) + bytes(8)
    found = two_arguments(INDEX, struct.pack("<q", 4), functor)
    arrays = functors.indices(INDEX, found, (1, 1, 1), (128, 1, 1))
    first, second = values.read_indices(arrays, [((0, 0, 0), (2, 0, 0)), ((0, 0, 0), (3, 0, 0))])
    assert "elements" not in first and second["bound"] == "77", (first, second)
    assert [(e["index"], e["value"]) for e in second["elements"]] == [(2, "-78"), (3, "81")], second
    left_over = functor.replace(sizes, struct.pack("<25q", 64, 77, 7, *[0] * 22))
    assert functors.indices(INDEX, two_arguments(INDEX, struct.pack("<q", 4), left_over), (1, 1, 1), (128, 1, 1)) == []


def test_loss_without_reduction() -> None:
    name = "void at::native::(anonymous namespace)::nll_loss2d_forward_no_reduce_kernel<float>"
    accessor = "at::GenericPackedTensorAccessor<{0}, {1}ul, at::DefaultPtrTraits, long>"
    signature = f"{name}(long, {accessor.format('float', 4)}, {accessor.format('long', 3)}, {accessor.format('float', 3)}, float const*, long)"
    data = [
        struct.pack("<q", 12), struct.pack("<Q8q", 0x1000, 2, 19, 2, 3, 114, 6, 3, 1), struct.pack("<Q6q", TARGET, 2, 2, 3, 6, 3, 1),
        struct.pack("<Q6q", 0x2000, 2, 2, 3, 6, 3, 1), bytes(8), struct.pack("<q", 255),
    ]  # fmt: skip
    found = made(signature, *data)
    (array,) = functors.indices(signature, found, (1, 1, 1), (1024, 1, 1))
    assert (array.high, array.exempt, array.address) == (19, 255, TARGET), array
    assert sorted(array.place(n) // 8 for n in range(12)) == list(range(12))
    gdb.cuda = Memory()
    gdb.cuda.allocations[TARGET] = struct.pack("<12q", *[1] * 7, 34, 255, *[1] * 3)
    thread = next(n for n in range(12) if array.place(n) == 7 * 8)
    (row,) = values.read_indices([array], [((0, 0, 0), (thread, 0, 0))])
    assert row["elements"][0]["value"] == "34" and row["exempt"] == "255", row


# ---- tensors --------------------------------------------------------------------------------------------------------


def incident_of(source: str, *tensor_rows: Dict[str, Any]) -> Dict[str, Any]:
    thread = {"tid": 5, "launching": True, "frames": [{"kind": "python", "function": "f", "source": source}]}
    return {"threads": [thread], "tensors": [{"tid": 5, "device": "cuda:0", **row} for row in tensor_rows]}


LABELS = {"name": "y", "shape": [2, 2], "stride": [2, 1], "dtype": "int64", "data_ptr": hex(TARGET)}
WEIGHTS = {"name": "p", "shape": [2, 2], "stride": [1, 2], "dtype": "float16", "data_ptr": hex(TARGET + 512)}


def tensor_rows_of(source: str, *rows: Dict[str, Any]) -> Dict[str, Any]:
    gdb.cuda = Memory()
    gdb.cuda.allocations[TARGET] = struct.pack("<4q", 0, 2, -1, 3)
    gdb.cuda.allocations[TARGET + 512] = struct.pack("<4e", 0.5, float("nan"), float("inf"), -1)
    return {row["name"]: row for row in tensors.read_all(incident_of(source, *rows), "kernel", values.read_tensor_bytes)}


def special_of(row: Dict[str, Any]) -> Dict[Tuple[str, int], Tuple[int, int, str]]:
    return {(s["what"], s.get("bound", 0)): (s["count"], s["index"], s["value"]) for s in row.get("special", [])}


def test_integers_in_tensors() -> None:
    found = tensor_rows_of("f(x, y)", LABELS, {**LABELS, "name": "again"}, WEIGHTS, {**LABELS, "name": "cpu", "device": "cpu"}, {"name": "meta"})
    assert list(found) == ["y"], found
    assert (found["y"]["min"], found["y"]["min_index"], found["y"]["max"], found["y"]["whole"], found["y"]["in_order"]) == ("-1", 2, "3", True, True)
    assert special_of(found["y"]) == {("negative", 0): (1, 2, "-1"), ("not below", 2): (2, 1, "2")}, found


def test_probabilities_in_tensors() -> None:
    row = tensor_rows_of("torch.multinomial(p, 1)", LABELS, WEIGHTS)["p"]
    assert row["whole"] and "in_order" not in row and (row["min"], row["max"]) == ("-1", "Inf"), row
    assert special_of(row) == {("NaN", 0): (1, 1, "NaN"), ("infinite", 0): (1, 2, "Inf"), ("negative", 0): (1, 3, "-1"), ("above 1", 1): (1, 2, "Inf")}


def test_tensors_that_cannot_be_read() -> None:
    elsewhere = {**LABELS, "name": "gone", "data_ptr": "0x10"}
    gaps = {**LABELS, "name": "gaps", "stride": [64, 1]}
    found = tensor_rows_of("f(y)", elsewhere, gaps)
    assert all(found[name]["failed"] and not found[name]["read"] for name in ("gone", "gaps")), found


def test_large_tensors_are_sampled() -> None:
    size = tensors.WHOLE_BYTES + 8 * 1000
    places = list(tensors.pieces(size, 8))
    assert len(places) == tensors.SAMPLED_PIECES and places[0][0] == 0, places
    assert all(at % 8 == 0 and at + length <= size for at, length in places), places
    assert sum(length for _, length in tensors.pieces(tensors.WHOLE_BYTES, 8)) == tensors.WHOLE_BYTES


def test_incidents_that_are_none() -> None:
    assert tensors.load(None) == {} and tensors.load("/nowhere") == {} and tensors.load(__file__) == {}
    assert tensors.read_all({}, "kernel", values.read_tensor_bytes) == []


if __name__ == "__main__":
    tap.run([value for name, value in list(globals().items()) if name.startswith("test_") and callable(value)])
