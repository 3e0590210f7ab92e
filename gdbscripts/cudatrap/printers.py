# SPDX-License-Identifier: GPL-3.0-or-later
"""Pretty printers for PyTorch's types on the host and CUDA's 16-bit floats, where debug information has their members."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional

import gdb
import gdb.printing

from . import shapes

# c10/core/ScalarType.h of PyTorch 2.11: the numbers are part of its binary interface and only grow.
SCALAR_TYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128", "bool", "qint8", "quint8",
    "qint32", "bfloat16", "quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "float8_e5m2", "float8_e4m3fn",
    "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64",
)  # fmt: skip
# c10/core/DeviceType.h
DEVICE_TYPES = {0: "cpu", 1: "cuda", 6: "hip", 9: "xla", 12: "xpu", 13: "mps", 14: "meta", 20: "privateuseone"}
INLINE_DIMS = 5  # C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE
MAX_DIMS = 64


def member(value: gdb.Value, *names: str) -> Optional[gdb.Value]:
    """The first of these members that the type has."""
    for name in names:
        try:
            return value[name]
        except (gdb.error, KeyError):
            continue
    return None


class Text:
    """A printer with one line."""

    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def to_string(self) -> str:
        try:
            return self.text()
        except (gdb.error, gdb.MemoryError, ValueError, OverflowError) as e:
            return f"<{e}>"

    def text(self) -> str:
        raise NotImplementedError


class Half(Text):
    form = "f16"

    def text(self) -> str:
        if self.value.type.strip_typedefs().code == gdb.TYPE_CODE_FLT:
            return self.value.format_string(raw=True)  # cuda-gdb knows __half itself
        bits = member(self.value, "x", "__x")
        if bits is None:
            raise ValueError("16 bits of an unknown layout")
        return shapes.text_of((int(bits) & 0xFFFF).to_bytes(2, "little"), shapes.ELEMENTS[self.form])


class BFloat16(Half):
    form = "bf16"


class Float8(Text):
    def text(self) -> str:
        return f"{int(self.value['x']) & 0xFF:#04x}"


class ScalarType(Text):
    def text(self) -> str:
        number = int(self.value)
        return SCALAR_TYPES[number] if 0 <= number < len(SCALAR_TYPES) else f"scalar type {number}"


def device_text(value: gdb.Value) -> str:
    number, index = int(value["type_"]), int(value["index_"])
    name = DEVICE_TYPES.get(number, f"device type {number}")
    return name if index < 0 else f"{name}:{index}"


class Device(Text):
    def text(self) -> str:
        return device_text(self.value)


def array_ref(value: gdb.Value) -> List[int]:
    n = int(value["Length"])
    if not 0 <= n <= MAX_DIMS:
        raise ValueError(f"{n} elements")
    return [int(value["Data"][i]) for i in range(n)]


class ArrayRef(Text):
    def text(self) -> str:
        return str(array_ref(self.value))


def optional(value: gdb.Value) -> Optional[gdb.Value]:
    """Of c10::optional and libstdc++'s std::optional."""
    payload = member(value, "_M_payload")
    if payload is None:
        return value["storage_"]["value_"] if bool(value["init_"]) else None
    return payload["_M_payload"]["_M_value"] if bool(payload["_M_engaged"]) else None


def sizes_of(sizes: gdb.Value) -> List[int]:
    """Of c10::impl::SizesAndStrides."""
    n = int(sizes["size_"])
    if not 0 <= n <= MAX_DIMS:
        raise ValueError(f"{n} dimensions")
    data = sizes["inlineStorage_"] if n <= INLINE_DIMS else sizes["outOfLineStorage_"]
    return [int(data[i]) for i in range(n)]


def tensor_text(impl: gdb.Value) -> str:
    if int(impl) == 0:
        return "undefined tensor"
    tensor = impl.dereference()
    parts = []
    dtype = member(tensor, "data_type_")
    if dtype is not None:
        number = int(dtype["index_"])
        parts.append(SCALAR_TYPES[number] if number < len(SCALAR_TYPES) else f"scalar type {number}")
    parts.append(str(sizes_of(tensor["sizes_and_strides_"])))
    device = optional(tensor["device_opt_"]) if member(tensor, "device_opt_") is not None else None
    if device is not None:
        parts.append(device_text(device))
    return "  ".join(parts) + f"  impl {int(impl):#x}"


class Tensor(Text):
    def text(self) -> str:
        return "Tensor " + tensor_text(self.value["impl_"]["target_"])


class IntrusivePtr(Text):
    def text(self) -> str:
        target = self.value["target_"]
        if str(target.type.target().strip_typedefs()).endswith("c10::TensorImpl"):
            return "Tensor " + tensor_text(target)
        return f"{int(target):#x}"


PRINTERS: Dict[str, Callable[[gdb.Value], Text]] = {
    r"^c10::Half$": Half, r"^__half$": Half, r"^__half_raw$": Half,
    r"^c10::BFloat16$": BFloat16, r"^__nv_bfloat16$": BFloat16, r"^__nv_bfloat16_raw$": BFloat16,
    r"^c10::Float8_e\w+$": Float8,
    r"^c10::ScalarType$": ScalarType, r"^c10::Device$": Device, r"^c10::ArrayRef<(long|int)>$": ArrayRef, r"^c10::IntArrayRef$": ArrayRef,
    r"^at::(Tensor|TensorBase)$": Tensor, r"^c10::intrusive_ptr<.*>$": IntrusivePtr,
}  # fmt: skip


def register() -> None:
    collection = gdb.printing.RegexpCollectionPrettyPrinter("cudatrap")
    for number, (pattern, printer) in enumerate(PRINTERS.items()):
        collection.add_printer(f"{number} {pattern.strip('^$')}", pattern, printer)
    gdb.printing.register_pretty_printer(None, collection, replace=True)
