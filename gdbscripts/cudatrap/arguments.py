# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel arguments: types from the demangled signature, values from bytes. Nothing here knows gdb.

src/cubin/signature.c and src/gpucore/arguments.c do the same for dumps; a test holds the two together.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

Json = Dict[str, Any]

MAX_ARGUMENTS = 256  # CT_MAX_ARGUMENTS of src/incident/incident.h
MAX_BYTES = 64  # CT_MAX_ARGUMENT_BYTES
# The largest known struct is the functor of index_elementwise_kernel with 1,240 bytes; 4 KiB are all arguments of most kernels.
MAX_READ_BYTES = 4096


class Parameter(NamedTuple):
    """A row of the image's parameter table."""

    ordinal: int
    offset: int
    size: int


class Integer(NamedTuple):
    word: str  # "int64"
    size: int
    signed: bool


INTEGERS = {
    "char": Integer("int8", 1, True),
    "signed char": Integer("int8", 1, True),
    "unsigned char": Integer("uint8", 1, False),
    "short": Integer("int16", 2, True),
    "unsigned short": Integer("uint16", 2, False),
    "int": Integer("int32", 4, True),
    "unsigned int": Integer("uint32", 4, False),
    "long": Integer("int64", 8, True),
    "unsigned long": Integer("uint64", 8, False),
    "long long": Integer("int64", 8, True),
    "unsigned long long": Integer("uint64", 8, False),
}
FLOATS = {"float": ("<f", 4, 9), "double": ("<d", 8, 17)}  # format, size, digits that give it back

# ---- signatures -----------------------------------------------------------------------------------------------------


def split(text: str) -> List[str]:
    """At the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        if c in "(<[{":
            depth += 1
        elif c in ")>]}" and not (c == ">" and at > 0 and text[at - 1] == "-"):
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:at].lstrip())
            start = at + 1
    if start < len(text):
        parts.append(text[start:].lstrip())
    return parts


def parameter_types(signature: str) -> Optional[List[str]]:
    """`f(int, A<b, c>*)` -> int, A<b, c>*. None: the text has no parameter list."""
    end, depth = signature.rfind(")"), 0
    for at in range(end, -1, -1):
        depth += {")": 1, "(": -1}.get(signature[at], 0)
        if depth == 0:
            return split(signature[at + 1 : end])
    return None


def base_name(signature: str) -> str:
    """`void n::f<int>(float)` -> f."""
    text, depth, at = signature.replace("(anonymous namespace)", "{anonymous}"), 0, 0
    while at < len(text):
        if text.startswith("operator()", at):
            at += len("operator()")
            continue
        if depth == 0 and (text[at] == "(" or (text[at] == "<" and at > 0)):
            break
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
    match = re.search(r"[A-Za-z0-9_]*$", text[:at])
    return match[0] if match else ""


def template_arguments(type_name: str) -> List[str]:
    start, end = type_name.find("<"), type_name.rfind(">")
    return split(type_name[start + 1 : end]) if 0 <= start < end else []


def last_template_argument(signature: str) -> str:
    """Of the function itself: `void f<float, (bool)1>(int)` -> (bool)1."""
    name = base_name(signature)
    start = signature.find(name + "<") + len(name)
    depth = 0
    for at in range(start, len(signature)):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(signature[at], 0)
        if depth == 0:
            parts = split(signature[start + 1 : at])
            return parts[-1].strip() if parts and signature[start] == "<" else ""
    return ""


def plain(type_name: str) -> str:
    """Without qualifiers around it: `long const` and `const long` are long."""
    words = [word for word in type_name.split(" ") if word not in ("const", "volatile", "__restrict__", "")]
    return " ".join(words)


def pointee(type_name: str) -> Optional[Integer]:
    """Of a pointer to integers: their type."""
    bare = plain(type_name)
    return INTEGERS.get(plain(bare[:-1])) if bare.endswith("*") else None


def is_pointer(type_name: str) -> bool:
    bare = plain(type_name)
    return bare.endswith(("*", "&")) or "(*)" in bare


def kind_of(type_name: Optional[str], size: int) -> str:
    if type_name is None:
        return "bytes"
    bare = plain(type_name)
    if is_pointer(type_name):
        return "pointer" if size == 8 else "bytes"
    if bare == "bool":
        return "bool" if size == 1 else "bytes"
    if bare in INTEGERS:
        return "integer" if INTEGERS[bare].size == size else "bytes"
    if bare in FLOATS:
        return "float" if FLOATS[bare][1] == size else "bytes"
    return "struct"


# ---- values ---------------------------------------------------------------------------------------------------------


class Array(NamedTuple):
    """A struct that is a view of an array in memory: PyTorch's TensorInfo and packed accessors."""

    address: int
    element: Optional[Integer]
    sizes: Tuple[int, ...]
    strides: Tuple[int, ...]


MAX_DIMS = 25  # MAX_TENSORINFO_DIMS of ATen/cuda/detail/TensorInfo.cuh (1.x to 2.11)


def index_format(type_name: str) -> str:
    integer = INTEGERS.get(plain(type_name))
    if integer is None or integer.size not in (4, 8):
        return ""
    return {(4, True): "i", (4, False): "I", (8, True): "q", (8, False): "Q"}[(integer.size, integer.signed)]


def array_of(type_name: str, data: bytes) -> Optional[Array]:
    """The parts of a struct whose layout is certain: its name, its arguments and its size agree. None: not such a struct."""
    bare, words = plain(type_name), template_arguments(type_name)
    head = bare.split("<", 1)[0]
    if head == "at::cuda::detail::TensorInfo" and len(words) == 2:
        form = index_format(words[1])
        each = struct.calcsize("<" + form) if form else 0
        # {T *data; IndexType sizes[25]; IndexType strides[25]; int dims;}
        if not form or len(data) != (8 + 2 * MAX_DIMS * each + 4 + 7) // 8 * 8:
            return None
        dims = struct.unpack_from("<i", data, 8 + 2 * MAX_DIMS * each)[0]
        room = MAX_DIMS
    elif head.endswith("GenericPackedTensorAccessor") and len(words) == 4:
        form = index_format(words[3])
        match = re.match(r"^(\d+)(?:ul)?$", words[1])
        each = struct.calcsize("<" + form) if form else 0
        # {T *data; index_t sizes[N]; index_t strides[N];}
        if not form or not match or len(match[1]) > 2 or len(data) != 8 + 2 * int(match[1]) * each:
            return None
        dims = room = int(match[1])
    else:
        return None
    if not 0 <= dims <= room:
        return None
    numbers = struct.unpack_from(f"<{2 * room}{form}", data, 8)
    address = struct.unpack_from("<Q", data, 0)[0]
    return Array(address, INTEGERS.get(plain(words[0])), numbers[:dims], numbers[room : room + dims])


def array_text(array: Array) -> str:
    sizes = ", ".join(str(n) for n in array.sizes)
    strides = ", ".join(str(n) for n in array.strides)
    return f"data {array.address:#x}, sizes [{sizes}], strides [{strides}]"


def float_text(value: float, digits: int) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return f"{value:.{digits}g}"


def value_text(kind: str, type_name: Optional[str], data: bytes) -> Optional[str]:
    bare = plain(type_name or "")
    if kind == "pointer":
        return f"{struct.unpack('<Q', data)[0]:#x}"
    if kind == "integer":
        return str(int.from_bytes(data, "little", signed=INTEGERS[bare].signed))
    if kind == "bool":
        return "true" if data[0] else "false"
    if kind == "float":
        form, _, digits = FLOATS[bare]
        return float_text(struct.unpack(form, data)[0], digits)
    if kind == "struct":
        array = array_of(type_name or "", data)
        return array_text(array) if array else None
    return None


class Argument(NamedTuple):
    """An argument of a kernel, decoded."""

    parameter: Parameter
    type: Optional[str]
    kind: str
    data: Optional[bytes]  # None: not to be had
    name: Optional[str]

    @property
    def whole(self) -> bool:
        return self.data is not None and len(self.data) == self.parameter.size

    @property
    def number(self) -> Optional[int]:
        """Of an integer or a bool."""
        if not self.whole or self.kind not in ("integer", "bool"):
            return None
        signed = self.kind == "integer" and INTEGERS[plain(self.type or "")].signed
        return int.from_bytes(self.data or b"", "little", signed=signed)

    @property
    def array(self) -> Optional[Array]:
        """The array of integers that a pointer or a known struct leads to; of a pointer, sizes are not known."""
        if not self.whole or self.data is None or self.type is None:
            return None
        if self.kind == "pointer" and pointee(self.type):
            return Array(struct.unpack("<Q", self.data)[0], pointee(self.type), (), ())
        array = array_of(self.type, self.data) if self.kind == "struct" else None
        return array if array and array.element else None

    def row(self) -> Json:
        row: Json = {"index": self.parameter.ordinal, "offset": self.parameter.offset, "size": self.parameter.size}
        if self.type is not None:
            row["type"] = self.type
        if self.name:
            row["name"] = self.name
        row["kind"] = self.kind
        if self.data:
            value = value_text(self.kind, self.type, self.data) if self.whole else None
            if value is not None:
                row["value"] = value
            row["bytes"] = self.data[:MAX_BYTES].hex()
            if self.parameter.size > MAX_BYTES:
                row["bytes_cut"] = True
        return row


def decode(
    layout: Sequence[Parameter], signature: Optional[str], data: Dict[int, bytes], names: Optional[Sequence[str]] = None
) -> List[Argument]:
    """Arguments by ordinal. Types and names are used when there is one for each parameter, else for none."""
    types = parameter_types(signature) if signature else None
    if types == ["void"]:
        types = []
    if types is None or len(types) != len(layout):
        types = None
    if names is None or len(names) != len(layout):
        names = None
    found = []
    for number, parameter in enumerate(layout[:MAX_ARGUMENTS]):
        type_name = types[number] if types else None
        found.append(
            Argument(
                parameter,
                type_name,
                kind_of(type_name, parameter.size),
                data.get(parameter.ordinal),
                names[number] if names else None,
            )
        )
    return found


def kinds(arguments: Sequence[Argument]) -> str:
    """One letter an argument: the form in which assert-values.tsv writes a parameter list."""
    return "".join({"pointer": "p", "integer": "i", "float": "f", "bool": "b", "struct": "s"}.get(a.kind, "x") for a in arguments)
