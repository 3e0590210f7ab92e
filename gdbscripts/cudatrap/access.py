# SPDX-License-Identifier: GPL-3.0-or-later
"""The device address that a load or store goes to: base register pair and offset, out of the instruction. Encodings of sm_90, as in
src/cubin/access.c, which says what they were compared with; for any other instruction nothing is said. No gdb here."""

from __future__ import annotations

import struct
from typing import Callable, NamedTuple, Optional

SM_TYPE = "sm_90"
INSTRUCTION_BYTES = 16
MAX_BETWEEN = 16  # instructions between the access and where the thread stands
NO_BASE = 255

LD, LDG, ST, STG = 0x980, 0x981, 0x985, 0x986
SIZES = (1, 1, 2, 2, 4, 8, 16, 0)  # U8, S8, U16, S16, 32, 64, 128
# Bits of the upper half.
SIZE, ORDER, DESCRIPTOR, EVICTION, MODIFIERS = 0xE00, 0x1E000, 0x3F, 0x100000, (1 << 41) - 1

# Registers that an instruction writes at most, from the one in bits 16-23 on; what is not here may write any. Branches are left out but for one
# to what comes next.
WRITES = {
    **dict.fromkeys((0x985, 0x986, 0x387, 0x388, 0x988, 0x918, 0x91A, 0x992, 0x9AB, 0x5AB, 0x98F, 0x20C, 0x80C, 0xC0C, 0x98E, 0x945), 0),
    **dict.fromkeys((0x202, 0x802, 0xC02, 0x210, 0x810, 0xC10, 0x211, 0x811, 0xC11, 0x212, 0x812, 0x219, 0x819, 0x224, 0x424, 0x824, 0xC24), 1),
    **dict.fromkeys((0x220, 0x820, 0x221, 0x421, 0x223, 0x423, 0x823, 0x207, 0x807, 0xC07, 0x919), 1),
    **dict.fromkeys((0x225, 0x825, 0xC25, 0x310, 0x311, 0x312, 0x805), 2),
    **dict.fromkeys((0x980, 0x981, 0x983, 0x984, 0xB82), 4),
}
BRANCH = 0x947


class Access(NamedTuple):
    word: str  # "load" or "store"
    size: int
    base: int  # register; NO_BASE: the address is the offset
    offset: int


def decode(code: bytes) -> Optional[Access]:
    low, high = struct.unpack("<QQ", code)
    opcode, modifiers = low & 0xFFF, high & MODIFIERS & ~(SIZE | ORDER)
    if opcode in (ST, STG):
        modifiers = modifiers & ~DESCRIPTOR | EVICTION
    if opcode not in (LD, LDG, ST, STG) or modifiers != (0xC1E1100 if opcode == LDG else 0xC101100):
        return None
    if low >> 12 & 0xF != 7:  # guarded: of some lanes, and which ones is not known any more
        return None
    size, offset = SIZES[high >> 9 & 7], low >> 40
    access = Access("store" if opcode in (ST, STG) else "load", size, low >> 24 & 0xFF, offset - (1 << 24) if offset >> 23 else offset)
    # A load that faults writes its destination all the same (H200, driver 580.159: zeros).
    if size == 0 or (access.word == "load" and overlaps(access, low >> 16 & 0xFF, (size + 3) // 4)):
        return None
    return access


def overlaps(access: Access, dest: int, count: int) -> bool:
    return access.base != NO_BASE and dest < access.base + 2 and access.base < dest + count


def keeps(access: Access, code: Optional[bytes]) -> bool:
    """Does the instruction leave the registers of the address alone, and go on to the next?"""
    if code is None:
        return False
    low, high = struct.unpack("<QQ", code)
    if low & 0xFFF == BRANCH:
        return low >> 34 == 0 and low >> 16 & 0xFF == 0 and high & 0x3FFFF == 0
    count = WRITES.get(low & 0xFFF)
    return count is not None and (count == 0 or not overlaps(access, low >> 16 & 0xFF, count))


def at(instruction: Callable[[int], Optional[bytes]], pc: int, stand_pc: int) -> Optional[Access]:
    """The access of the instruction at pc, for a thread that stands at stand_pc behind it; None where it is not certain."""
    code = instruction(pc)
    access = decode(code) if code else None
    if access is None or not 0 <= stand_pc - pc <= MAX_BETWEEN * INSTRUCTION_BYTES:
        return None
    between = range(pc + INSTRUCTION_BYTES, stand_pc, INSTRUCTION_BYTES)
    return access if all(keeps(access, instruction(place)) for place in between) else None
