# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads and stores out of their encodings, which are those that nvdisasm 13.0 shows; and registers that are written in between."""

from __future__ import annotations

import os
import struct
import sys
from typing import List, Optional, Tuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

sys.path.insert(0, tap.SCRIPTS)
from cudatrap import access  # noqa: E402

# lower half, upper half, what it is
KNOWN: List[Tuple[int, int, Tuple[str, int, int, int]]] = [
    (0x0000000402097981, 0x000EA2000C1E1900, ("load", 4, 2, 0)),  # LDG.E R9, desc[UR4][R2.64]
    (0x00000404020B7981, 0x000EA2000C1E1900, ("load", 4, 2, 4)),  # LDG.E R11, desc[UR4][R2.64+0x4]
    (0xFFFFE40404097981, 0x000EA2000C1E1900, ("load", 4, 4, -28)),  # the same with R9, [R4.64+-0x1c]
    (0x000000040C047981, 0x000EA2000C1E1D00, ("load", 16, 12, 0)),  # LDG.E.128 R4, desc[UR4][R12.64]
    (0x0000010412147981, 0x000EA2000C1E1300, ("load", 1, 18, 1)),  # LDG.E.S8, with R20
    (0x0000120406087981, 0x000F22000C1E1500, ("load", 2, 6, 18)),  # LDG.E.U16, with R8
    (0x00000404020F7981, 0x000F22000C1F5900, ("load", 4, 2, 4)),  # LDG.E.STRONG.SYS
    (0x00000004020D7981, 0x000EA2000C1EF900, ("load", 4, 2, 0)),  # LDG.E.STRONG.GPU
    (0x0000000406087981, 0x000EE8000C1E9900, ("load", 4, 6, 0)),  # LDG.E.CONSTANT, with R8
    (0x0000000904007986, 0x004FE8000C101904, ("store", 4, 4, 0)),  # STG.E desc[UR4][R4.64], R9
    (0xD784001704007986, 0x008FE8000C101904, ("store", 4, 4, -0x287C00)),  # STG.E desc[UR4][R4.64+-0x287c00], R23
    (0x000000040E007986, 0x0043E8000C101D04, ("store", 16, 14, 0)),  # STG.E.128
    (0x0000000C14007986, 0x002FE8000C101B04, ("store", 8, 20, 0)),  # STG.E.64
    (0x0000240F02007986, 0x0003EC000C001904, ("store", 4, 2, 36)),  # STG.E.EF
    (0x0000000702007985, 0x0001E4000C101904, ("store", 4, 2, 0)),  # ST.E desc[UR4][R2.64], R7
]
OTHER: List[Tuple[int, int]] = [
    (0x0000000404057981, 0x000EA2000C1E1900),  # LDG.E R5, desc[UR4][R4.64]: into its own address
    (0x0000000C0C047981, 0x000EA2000C1E1D00 | 1 << 40),  # a modifier that is not known
    (0x0000000402098981, 0x000EA2000C1E1900),  # guarded by a predicate
    (0x0000240608FF73A9, 0x000FE200001EE107),  # ATOMG.E.CAS
    (0x000000000000794D, 0x000FEA0003800000),  # EXIT
    (0x0000000000007947, 0x003FDE0003800000),  # BRA
]
EXIT, MOVE = struct.pack("<QQ", *OTHER[4]), struct.pack("<QQ", 0x00000003FF057424, 0x000FE200078E00FF)  # IMAD.MOV.U32 R5, RZ, RZ, 0x3
STORE, JUMP = struct.pack("<QQ", *KNOWN[9][:2]), struct.pack("<QQ", *OTHER[5])


def test_known_encodings() -> None:
    for low, high, wanted in KNOWN:
        tap.equal(access.decode(struct.pack("<QQ", low, high)), access.Access(*wanted), f"{low:#x}")


def test_others_are_not_guessed_at() -> None:
    for low, high in OTHER:
        tap.equal(access.decode(struct.pack("<QQ", low, high)), None, f"{low:#x}")


def at(*code: bytes, stands: Optional[int] = None) -> bool:
    def instruction(pc: int) -> Optional[bytes]:
        return code[(pc - 0x100) // 16] if 0x100 <= pc < 0x100 + 16 * len(code) else None

    return access.at(instruction, 0x100, 0x100 + 16 * (len(code) if stands is None else stands)) is not None


def test_what_comes_between() -> None:
    tap.equal(at(STORE), True)
    tap.equal(at(STORE, stands=0), True)
    tap.equal(at(STORE, JUMP, STORE), True, "a jump to what comes next")
    tap.equal(at(STORE, MOVE), False, "R5 is the upper half of its address")
    tap.equal(at(STORE, EXIT), False, "an end")
    tap.equal(at(STORE, stands=2), False, "code that is not there")
    tap.equal(at(STORE, stands=-1), False, "a thread in front of it")
    tap.equal(at(STORE, *[STORE] * 15), True)
    tap.equal(at(STORE, *[STORE] * 16), False, "too far away")


if __name__ == "__main__":
    tap.run([test_known_encodings, test_others_are_not_guessed_at, test_what_comes_between])
