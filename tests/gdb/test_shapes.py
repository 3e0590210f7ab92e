# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays in memory without a debugger: types of elements, indices, what is where."""

from __future__ import annotations

import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

sys.path.insert(0, tap.SCRIPTS)
from cudatrap import shapes  # noqa: E402
from cudatrap.shapes import Array, ShapeError  # noqa: E402

ROW = {
    "name": "self.y", "dtype": "int64", "shape": [4, 3], "stride": [3, 1], "device": "cuda:0", "data_ptr": "0x7f0000000600", "file": "/home/user/train.py", "line": 8,
    "function": "step",
}  # fmt: skip


def text(word: str, data: bytes) -> str:
    element = shapes.element_of(word)
    assert element is not None, word
    return " ".join(shapes.texts(data, element))


def test_every_type_of_element() -> None:
    tap.equal(text("int8", b"\xff\x7f"), "-1 127")
    tap.equal(text("torch.uint8", b"\xff"), "255")
    tap.equal(text("int16", struct.pack("<2h", -2, 300)), "-2 300")
    tap.equal(text("int32", struct.pack("<i", -7)), "-7")
    tap.equal(text("torch.int64", struct.pack("<2q", -100, 3)), "-100 3")
    tap.equal(text("uint64", b"\xff" * 8), "18446744073709551615")
    tap.equal(text("bool", b"\0\1\2"), "false true 2, neither true nor false")
    tap.equal(text("float16", struct.pack("<2e", 1.5, float("inf"))), "1.5 inf")
    tap.equal(text("torch.bfloat16", b"\x40\xc0\x80\x7f"), "-3 inf")
    tap.equal(text("float32", struct.pack("<f", 0.1)), "0.100000001")
    tap.equal(text("double", struct.pack("<2d", 0.1, float("nan"))), "0.10000000000000001 nan")
    tap.equal(text("float8_e4m3fn", b"\x38\xff"), "0x38 0xff")
    tap.equal(text("x64", b"\1" + b"\0" * 7), "0x1")
    tap.equal([shapes.element_of(word) for word in ("complex64", "", None, "i7")], [None] * 4)


def test_part_of_an_element_is_left_out() -> None:
    tap.equal(text("int32", b"\1\0\0\0\2\0"), "1")


def test_tensor_rows_become_arrays() -> None:
    array = shapes.array_of_row(ROW)
    assert array is not None
    tap.equal(array.head(), "self.y  int64 [4, 3]  at 0x7f0000000600  train.py:8 step")
    tap.equal((array.count, array.span, array.is_dense), (12, 12, True))
    for change in ({"device": "cpu"}, {"device": "meta"}, {"data_ptr": None}, {"shape": None}, {"shape": [-1, 3]}, {"shape": [1] * 65, "stride": [1] * 65}):
        tap.equal(shapes.array_of_row({**ROW, **change}), None, str(change))
    no_stride = shapes.array_of_row({**ROW, "stride": [1]})
    tap.equal(no_stride and no_stride.stride, (3, 1))


def rows(index: "str | None", shape: "tuple[int, ...]", stride: "tuple[int, ...]") -> "list[tuple[tuple[int, ...], int, int]]":
    return list(shapes.rows_of(Array("x", 0, "int8", shape, stride), shapes.parse_index(index, shape)))


def test_indices_name_runs_along_the_last_dimension() -> None:
    tap.equal(rows(None, (2, 3), (3, 1)), [((0, 0), 0, 3), ((1, 0), 3, 3)])
    tap.equal(rows("1", (2, 3), (3, 1)), [((1, 0), 3, 3)])
    tap.equal(rows("[-1,1:3]", (2, 3), (3, 1)), [((1, 1), 4, 2)])
    tap.equal(rows(":,2", (2, 3), (1, 2)), [((0, 2), 4, 1), ((1, 2), 5, 1)])
    tap.equal(rows(None, (), ()), [((), 0, 1)])
    tap.equal(rows(None, (2, 0), (0, 1)), [])
    tap.equal(rows("3:1", (5,), (1,)), [])


def test_bad_indices_are_named() -> None:
    cases = {
        "5": "index 5 of dimension 0 is out of range: 0 to 3",
        "0,-4": "index -4 of dimension 1 is out of range: 0 to 2",
        "0,0,0": "'0,0,0' has 3 indices: the shape is [4, 3]",
        "x": "'x' is not an index such as 2, -1 or 1:3",
        "1:2:3": "'1:2:3' is not an index such as 2, -1 or 1:3",
    }
    for index, words in cases.items():
        try:
            shapes.parse_index(index, (4, 3))
        except ShapeError as e:
            tap.equal(str(e), words)
            continue
        raise AssertionError(f"{index} was taken")


def test_values_are_found_where_they_are() -> None:
    data = struct.pack("<6q", 2, 3, 0, 3, 3, 3)
    tap.equal(shapes.positions(Array("y", 0, "int64", (2, 3), (3, 1)), data, 3), (4, [(0, 1), (1, 0), (1, 1)], 6))
    tap.equal(shapes.positions(Array("y", 0, "int64", (3, 2), (1, 3)), data, 0), (1, [(2, 0)], 6))
    tap.equal(shapes.positions(Array("y", 0, "int64", (2, 3), (3, 1)), data[:21], 3), (1, [(0, 1)], 2))
    tap.equal(shapes.positions(Array("y", 0, "int64", (), ()), data, 2), (1, [()], 1))
    tap.equal(shapes.positions(Array("y", 0, "uint8", (4,), (1,)), b"\0\1\2\3", -1), (0, [], 4))


if __name__ == "__main__":
    tap.run([test for name, test in list(globals().items()) if name.startswith("test_")])
