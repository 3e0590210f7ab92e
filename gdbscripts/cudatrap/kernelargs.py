# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments of the kernel in focus, and which tensor a pointer among them leads to."""

from __future__ import annotations

from typing import List, Optional, Tuple

import gdb

from . import arguments, collect
from .model import Json
from .stop import Stop


def parameters(found: Stop) -> Tuple[List[arguments.Parameter], Optional[List[str]]]:
    """The parameters of the kernel in focus, and their types when all are known."""
    found.in_focus()
    symbol = collect.kernel_symbol(found.state)
    if symbol is None:
        raise gdb.GdbError("the code of this kernel is not known, so neither are its parameters")
    params = symbol[1].parameters(symbol[0])
    types = arguments.parameter_types(collect.demangle(symbol[0]))
    if types == ["void"]:
        types = []
    return params, types if types is not None and len(types) == len(params) else None


def numbered(found: Stop, number: int) -> Tuple[arguments.Parameter, Optional[str]]:
    """Parameter `number` of the kernel in focus, and its type where the types are known."""
    params, types = parameters(found)
    if not 0 <= number < len(params):
        raise gdb.GdbError(f"there is no argument {number}: the kernel has {len(params)}")
    return params[number], types[number] if types else None


def argument_bytes(found: Stop, param: arguments.Parameter) -> bytes:
    base = found.kernel(found.in_focus()).get("params_offset")
    if base is None:
        raise gdb.GdbError("where the kernel's arguments are is not known")
    address = f"{base + param.offset:#x}"
    try:
        array = gdb.parse_and_eval(f"*(@parameter unsigned char *){address}@{param.size}")
        return bytes(int(array[i]) for i in range(param.size))
    except gdb.error as e:
        raise gdb.GdbError(f"the arguments cannot be read: {e}") from e


def tensor_at(found: Stop, address: int) -> Optional[Tuple[Json, int]]:
    """The tensor in whose storage the address is, and how far behind its first element."""
    for row in found.tensors:
        start, size = row.get("storage_ptr"), row.get("storage_bytes")
        if start is None or size is None or row.get("data_ptr") is None:
            continue
        if int(start, 16) <= address < int(start, 16) + size:
            return row, address - int(row["data_ptr"], 16)
    return None


def tensor_of(found: Stop, data: bytes) -> str:
    """What `trap args` adds to a pointer."""
    at = tensor_at(found, int.from_bytes(data, "little")) if len(data) == 8 and found.is_told else None
    return f"   {at[0].get('name')}{f' + {at[1]} bytes' if at[1] else ''}" if at else ""
