# SPDX-License-Identifier: GPL-3.0-or-later
"""The ELF images of GPU code that cuda-gdb writes to its session folder: instructions, kernels, parameters.

cuda-gdb has no expression for these facts in a dump (code memory is not readable there) and no disassembler of its own.
Images come from the program that failed: each size and offset is checked before it is used.
"""

from __future__ import annotations

import os
import struct
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from .arguments import Parameter

MAX_IMAGE_BYTES = 2 << 30
MAX_SECTIONS = 1 << 20
INSTRUCTION_BYTES = 16  # Volta and later

SHT_NOBITS = 8
SHT_SYMTAB = 2
# st_other of a kernel's entry point (nvcc 12 and 13, all symbols looked at).
STO_CUDA_ENTRY = 0x10
# Attribute of .nv.info.KERNEL: u32 symbol, u16 offset of parameter 0 in constant bank 0, u16 size of all parameters.
EIATTR_PARAM_CBANK = 0x0A
# A parameter: u32 index, u16 ordinal, u16 offset, u32 of which the upper 14 bits are the size.
EIATTR_KPARAM_INFO = 0x17
# The same with u16 size, u16 flags: where 14 bits do not reach.
EIATTR_KPARAM_INFO_V2 = 0x45
EIFMT_SVAL = 0x04
MAX_PARAMETERS = 4096  # a kernel's are 32,764 bytes at most (CUDA C++ guide, 12.1 and later)


class ImageError(Exception):
    """The file is not the image that it should be."""


class Section(NamedTuple):
    name: str
    type: int
    address: int
    offset: int
    size: int
    link: int


def is_trap(instruction: bytes) -> bool:
    """BPT.TRAP 0x1, whatever its predicate: what __trap() and brkpt compile to (ptxas 12.8 for sm_75 to sm_120)."""
    low = struct.unpack("<Q", instruction[:8])[0]
    return low & ~0xF000 == 0x00000004_0000_095C


class Image:
    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_IMAGE_BYTES:
                raise ImageError(f"{path}: larger than {MAX_IMAGE_BYTES} bytes")
            self.data = file.read()
        self.sections = self._sections()
        self.by_name: Dict[str, Section] = {}
        for section in self.sections:
            self.by_name.setdefault(section.name, section)
        self._kernels: Optional[set] = None

    def _unpack(self, form: str, offset: int) -> tuple:
        try:
            return struct.unpack_from(form, self.data, offset)
        except struct.error:
            raise ImageError(f"cut short at byte {len(self.data)}") from None

    def _sections(self) -> List[Section]:
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ImageError("not a 64-bit little-endian ELF file")
        (table,) = self._unpack("<Q", 0x28)
        row_bytes, count, names_index = self._unpack("<HHH", 0x3A)
        if row_bytes < 64 or count > MAX_SECTIONS or names_index >= count:
            raise ImageError("bad section table")
        rows = [self._unpack("<IIQQQQII", table + i * row_bytes) for i in range(count)]
        names = rows[names_index]
        strings = self.data[names[4] : names[4] + names[5]]
        return [Section(text_at(strings, r[0]), r[1], r[3], r[4], r[5], r[6]) for r in rows]

    def contents(self, section: Section) -> bytes:
        if section.type == SHT_NOBITS:
            return b""
        if section.offset > len(self.data) or section.size > len(self.data) - section.offset:
            raise ImageError(f"section {section.name} is past the end of the file")
        return self.data[section.offset : section.offset + section.size]

    def code_section(self, pc: int) -> Optional[Section]:
        """The function's section that is loaded at pc; functions that are not loaded have address 0."""
        for section in self.sections:
            if section.address and section.name.startswith(".text.") and 0 <= pc - section.address < section.size:
                return section
        return None

    def instruction(self, pc: int) -> Optional[bytes]:
        section = self.code_section(pc)
        if section is None:
            return None
        start = pc - section.address
        code = self.contents(section)[start : start + INSTRUCTION_BYTES]
        return code if len(code) == INSTRUCTION_BYTES else None

    def stands_at_trap(self, pc: int) -> bool:
        """The PC of a lane that trapped is that of the instruction behind the trap (driver 580); a debugger may stop at the trap itself."""
        return any(code is not None and is_trap(code) for code in (self.instruction(pc), self.instruction(pc - INSTRUCTION_BYTES)))

    def is_kernel(self, symbol: str) -> bool:
        if self._kernels is None:
            self._kernels = set()
            for section in self.sections:
                if section.type == SHT_SYMTAB and section.link < len(self.sections):
                    strings = self.contents(self.sections[section.link])
                    table = self.contents(section)
                    for name, info, other, _, _, _ in struct.iter_unpack("<IBBHQQ", table[: len(table) // 24 * 24]):
                        if other & STO_CUDA_ENTRY:
                            self._kernels.add(text_at(strings, name))
        return symbol in self._kernels

    def _records(self, symbol: str) -> Iterator[Tuple[int, bytes]]:
        """Attribute and value of the records about this kernel."""
        section = self.by_name.get(".nv.info." + symbol)
        if section is None:
            return
        info, at = self.contents(section), 0
        while at + 4 <= len(info):
            form, attribute, size = struct.unpack_from("<BBH", info, at)
            at += 4
            if form != EIFMT_SVAL:
                continue  # the value is in the two bytes that are the size otherwise
            yield attribute, info[at : at + size]
            at += size

    def params_offset(self, symbol: str) -> Optional[int]:
        """Where parameter 0 of this kernel is in constant bank 0."""
        for attribute, value in self._records(symbol):
            if attribute == EIATTR_PARAM_CBANK and len(value) >= 8:
                return int(struct.unpack_from("<IHH", value)[1])
        return None

    def parameters(self, symbol: str) -> List[Parameter]:
        """Ordinal, offset and size of each parameter of this kernel, by ordinal."""
        rows = []
        for attribute, value in self._records(symbol):
            if len(value) < 12 or len(rows) == MAX_PARAMETERS:
                continue
            _, ordinal, offset, size, _ = struct.unpack_from("<IHHHH", value)
            if attribute == EIATTR_KPARAM_INFO:
                rows.append(Parameter(ordinal, offset, struct.unpack_from("<I", value, 8)[0] >> 18))
            elif attribute == EIATTR_KPARAM_INFO_V2:
                rows.append(Parameter(ordinal, offset, size))
        return sorted(rows)


def text_at(strings: bytes, offset: int) -> str:
    end = strings.find(b"\0", offset)
    return strings[offset : end if end >= 0 else len(strings)].decode("utf-8", "replace")
