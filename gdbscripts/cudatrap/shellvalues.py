# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes of kernel arguments as text, in the form of `cudatrap shell`. Knows no gdb."""

from __future__ import annotations

import struct
from typing import Optional

# struct's format by type; the names are those of the demangler.
FORMS = {
    "bool": "?", "char": "b", "signed char": "b", "unsigned char": "B", "short": "h", "unsigned short": "H", "int": "i", "unsigned int": "I",
    "long": "q", "unsigned long": "Q", "long long": "q", "unsigned long long": "Q", "float": "f", "double": "d", "__half": "e", "c10::Half": "e",
}  # fmt: skip
DIGITS = {"f": 9, "d": 17, "e": 5}


def text_of(type_: Optional[str], data: bytes) -> str:
    if type_ and type_[-1] in "*&" and len(data) == 8:
        return f"{int.from_bytes(data, 'little'):#x}"
    form = FORMS.get(type_ or "")
    if form == "?" and len(data) == 1:
        return ("false", "true")[data[0]] if data[0] < 2 else f"{data[0]}, neither true nor false"
    if form and struct.calcsize("<" + form) == len(data):
        value = struct.unpack("<" + form, data)[0]
        return f"{value:.{DIGITS[form]}g}" if form in DIGITS else str(value)
    if len(data) in (1, 2, 4, 8):
        return f"{int.from_bytes(data, 'little'):#x}"
    return "".join(f"\n      +{at:<4} " + " ".join(f"{byte:02x}" for byte in data[at : at + 16]) for at in range(0, len(data), 16))
