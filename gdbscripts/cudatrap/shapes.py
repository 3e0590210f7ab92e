# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays in device memory: types of elements, which of them an index names, bytes as text. Knows no gdb."""

from __future__ import annotations

import math
import re
import struct
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

Json = Dict[str, Any]

MAX_DIMS = 64  # PyTorch's own limit (c10/core/TensorIterator: 64 dimensions)


class Element(NamedTuple):
    size: int
    form: str  # of struct; "bf16", "bool", or "hex"
    digits: int = 0  # that give a floating value back


# The short words are those of `cudatrap shell`; the long ones are PyTorch's and NumPy's.
ELEMENTS: Dict[str, Element] = {
    "u8": Element(1, "B"), "i8": Element(1, "b"), "u16": Element(2, "H"), "i16": Element(2, "h"), "u32": Element(4, "I"), "i32": Element(4, "i"),
    "u64": Element(8, "Q"), "i64": Element(8, "q"), "f16": Element(2, "e", 5), "bf16": Element(2, "bf16", 4), "f32": Element(4, "f", 9),
    "f64": Element(8, "d", 17), "x8": Element(1, "hex"), "x32": Element(4, "hex"), "x64": Element(8, "hex"),
}  # fmt: skip
LONG_WORDS = {
    "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32", "int32": "i32", "uint64": "u64", "int64": "i64",
    "float16": "f16", "half": "f16", "bfloat16": "bf16", "float32": "f32", "float": "f32", "float64": "f64", "double": "f64",
    "char": "i8", "short": "i16", "int": "i32", "long": "i64", "byte": "u8",
}  # fmt: skip
INTEGER_FORMS = "bBhHiIqQ"


def element_of(word: Optional[str]) -> Optional[Element]:
    """Of a dtype ("torch.int64", "i64"); of those of 8-bit floats the bytes: their values depend on the variant. None: not known."""
    bare = (word or "").rpartition(".")[2]
    if bare == "bool":
        return Element(1, "bool")
    if bare.startswith("float8"):
        return ELEMENTS["x8"]
    return ELEMENTS.get(LONG_WORDS.get(bare, bare))


def words() -> str:
    return ", ".join(ELEMENTS)


def is_integer(element: Optional[Element]) -> bool:
    return element is not None and element.form in INTEGER_FORMS


def bfloat(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])


def text_of(data: bytes, element: Element) -> str:
    number = int.from_bytes(data, "little")
    if element.form == "hex":
        return f"{number:#x}"
    if element.form == "bool":
        return ("false", "true")[number] if number < 2 else f"{number}, neither true nor false"
    value = bfloat(number) if element.form == "bf16" else struct.unpack("<" + element.form, data)[0]
    if element.digits == 0:
        return str(value)
    # As C writes them: the two shells answer alike.
    return ("-nan" if math.copysign(1, value) < 0 else "nan") if math.isnan(value) else f"{value:.{element.digits}g}"


def texts(data: bytes, element: Element) -> List[str]:
    return [text_of(data[at : at + element.size], element) for at in range(0, len(data) - element.size + 1, element.size)]


# ---- arrays ---------------------------------------------------------------------------------------------------------


class ShapeError(Exception):
    """An array or an index that is not as it should be; the text says how."""


class Array(NamedTuple):
    name: str
    address: int
    dtype: str
    shape: Tuple[int, ...]
    stride: Tuple[int, ...]
    where: str = ""

    @property
    def element(self) -> Optional[Element]:
        return element_of(self.dtype)

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def span(self) -> int:
        """Elements from the first to the last in memory, both included."""
        return 0 if self.count == 0 else 1 + sum((n - 1) * s for n, s in zip(self.shape, self.stride))

    @property
    def is_dense(self) -> bool:
        expected = 1
        for n, s in zip(reversed(self.shape), reversed(self.stride)):
            if n > 1 and s != expected:
                return False
            expected *= n
        return True

    def head(self) -> str:
        stride = "" if self.is_dense else f"  stride {list(self.stride)}"
        where = f"  {self.where}" if self.where else ""
        return f"{self.name}  {self.dtype or 'elements of an unknown type'} {list(self.shape)}{stride}  at {self.address:#x}{where}"


def array_of_row(row: Json) -> Optional[Array]:
    """Of a tensor in an incident. None: it has no address or no shape (a meta tensor, a sparse one), or is not on a GPU."""
    shape, stride, address = row.get("shape"), row.get("stride"), row.get("data_ptr")
    if shape is None or address is None or not re.match(r"^(cuda|gpu)", row.get("device", ""), re.IGNORECASE):
        return None
    if stride is None or len(stride) != len(shape):
        stride = dense_stride(shape)
    if len(shape) > MAX_DIMS or any(n < 0 for n in [*shape, *stride]):
        return None
    return Array(row.get("name", "?"), int(address, 16), row.get("dtype", ""), tuple(shape), tuple(stride), place_of_row(row))


def dense_stride(shape: Sequence[int]) -> List[int]:
    stride, step = [], 1
    for n in reversed(shape):
        stride.append(step)
        step *= n
    return stride[::-1]


def place_of_row(row: Json) -> str:
    if not row.get("file"):
        return ""
    return f"{row['file'].rpartition('/')[2]}:{row.get('line', '?')}" + (f" {row['function']}" if row.get("function") else "")


def tensor_text(row: Json) -> str:
    """A tensor in a list: one line."""
    parts = [row.get("name", "?"), f"{row.get('dtype', '?')} {row.get('shape', '[?]')}", row.get("device", "")]
    parts.append(row.get("kind", ""))
    parts.append(row.get("data_ptr", ""))
    parts.append("requires grad" if row.get("requires_grad") else "")
    parts.append(place_of_row(row))
    return "  ".join(part for part in parts if part)


# ---- indices --------------------------------------------------------------------------------------------------------

Range = Tuple[int, int]


def parse_index(text: Optional[str], shape: Sequence[int]) -> List[Range]:
    """`2`, `0,1`, `1:3,0`, `-1`, in brackets or not: for each dimension the first index and the one behind the last."""
    bare = re.sub(r"[\[\]\s]", "", text or "")
    parts = bare.split(",") if bare else []
    if len(parts) > len(shape):
        raise ShapeError(f"'{text}' has {len(parts)} indices: the shape is {list(shape)}")
    ranges = []
    for axis, n in enumerate(shape):
        part = parts[axis] if axis < len(parts) else ":"
        match = re.match(r"^(?:(-?\d{1,18})|(-?\d{1,18})?:(-?\d{1,18})?)$", part)
        if not match:
            raise ShapeError(f"'{part}' is not an index such as 2, -1 or 1:3")
        if match[1] is not None:
            at = int(match[1])
            if not -n <= at < n:
                raise ShapeError(f"index {at} of dimension {axis} is out of range: " + (f"0 to {n - 1}" if n else "it has no elements"))
            ranges.append((at % n, at % n + 1))
        else:
            first, last, _ = slice(*(int(x) if x else None for x in match.group(2, 3))).indices(n)
            ranges.append((first, max(first, last)))
    return ranges


def rows_of(array: Array, ranges: Sequence[Range]) -> Iterator[Tuple[Tuple[int, ...], int, int]]:
    """Runs along the last dimension: index of the first element, its offset in elements, how many."""
    if not ranges:
        yield (), 0, 1
        return
    if any(last <= first for first, last in ranges):
        return
    at = [first for first, _ in ranges]
    while True:
        yield tuple(at), sum(i * s for i, s in zip(at, array.stride)), ranges[-1][1] - ranges[-1][0]
        axis = len(ranges) - 2
        while axis >= 0:
            at[axis] += 1
            if at[axis] < ranges[axis][1]:
                break
            at[axis] = ranges[axis][0]
            axis -= 1
        if axis < 0:
            return


def index_at(array: Array, number: int) -> Tuple[int, ...]:
    """Of the element with that number, counted along the last dimension first."""
    found = []
    for n in reversed(array.shape):
        found.append(number % n)
        number //= n
    return tuple(reversed(found))


def positions(array: Array, data: bytes, value: int) -> Tuple[int, List[Tuple[int, ...]], int]:
    """How often value is among the elements that data holds whole, the first few indices, and how many were looked at."""
    element = array.element
    assert element is not None
    numbers = memoryview(data[: len(data) // element.size * element.size]).cast(element.form)
    if array.is_dense:
        numbers = numbers[: array.count]
        whole = numbers.tolist()
        count, found, start = whole.count(value), [], 0
        while len(found) < min(count, 3):
            start = whole.index(value, start) + 1
            found.append(index_at(array, start - 1))
        return count, found, len(whole)
    count, found, looked = 0, [], 0
    for index, offset, n in rows_of(array, [(0, n) for n in array.shape]):
        for i in range(n):
            at = offset + i * array.stride[-1] if index else offset
            if at >= len(numbers):
                continue
            looked += 1
            if numbers[at] == value:
                count += 1
                if len(found) < 3:
                    found.append((*index[:-1], index[-1] + i) if index else ())
    return count, found, looked
