#!/usr/bin/env python3
"""Cuts a GPU core dump down to what a test needs: the code images that hold the wanted kernels, and no memory.

    cut_dump.py DUMP OUT [--kernel TEXT]... [--keep-memory] [--replace OLD=NEW]...

Without --kernel: the images of the kernels that the dump's grids run. DUMP and OUT may be xz-packed (by their name's end). --replace
changes paths in the images; both texts must have one length, so that nothing moves.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import lzma
import struct
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

LOUSER = 0x80000000
# CUDBG_SHT_* of cudacoredump.h, CUDA 13.0
MANAGED_MEM, GLOBAL_MEM, LOCAL_MEM, SHARED_MEM = (LOUSER + n for n in (1, 2, 3, 4))
ELF_IMG, RELF_IMG, GRID_TABLE, MOD_TABLE = (LOUSER + n for n in (6, 7, 12, 16))
MEMORY = (MANAGED_MEM, GLOBAL_MEM, LOCAL_MEM, SHARED_MEM)
GRID_MODULE = 32  # CudbgGridTableEntry.moduleHandle
SHN_LORESERVE, SHN_XINDEX = 0xFF00, 0xFFFF
HEADER, SECTION = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")


class Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    row: int


def read_packed(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def read_sections(data: bytes) -> Tuple[List[Section], int]:
    """The section table, and which section has the names."""
    header = HEADER.unpack_from(data)
    offset, count, names = header[6], header[12], header[13]
    first = Section(*SECTION.unpack_from(data, offset))
    count = count or first.size
    names = first.link if names == SHN_XINDEX else names
    return [Section(*SECTION.unpack_from(data, offset + i * SECTION.size)) for i in range(count)], names


def contents(data: bytes, s: Section) -> bytes:
    return data[s.offset:s.offset + s.size]


def module_of(data: bytes, sections: List[Section], image: Section) -> int:
    table = sections[image.link]
    at = table.offset + image.info * (table.row or 8)
    return struct.unpack_from("<Q", data, at)[0] if at + 8 <= len(data) else 0


def running_modules(data: bytes, sections: List[Section]) -> List[int]:
    found = []
    for s in sections:
        if s.type == GRID_TABLE and s.row:
            found += [struct.unpack_from("<Q", data, s.offset + i * s.row + GRID_MODULE)[0] for i in range(s.size // s.row)]
    return found


def is_wanted(data: bytes, sections: List[Section], s: Section, kernels: List[bytes], keep_memory: bool) -> bool:
    if s.type in MEMORY:
        return keep_memory
    if s.type == ELF_IMG:
        return False
    if s.type != RELF_IMG:
        return True
    if kernels:
        return any(k in contents(data, s) for k in kernels)
    return module_of(data, sections, s) in running_modules(data, sections)


def replace_all(data: bytes, replacements: List[Tuple[bytes, bytes]]) -> bytes:
    for old, new in replacements:
        data = data.replace(old, new)
    return data


def cut(data: bytes, kernels: List[bytes], keep_memory: bool, replacements: List[Tuple[bytes, bytes]]) -> bytes:
    sections, names = read_sections(data)
    wanted = [i for i, s in enumerate(sections) if is_wanted(data, sections, s, kernels, keep_memory)]
    place: Dict[int, int] = {old: new for new, old in enumerate(wanted)}
    header = list(HEADER.unpack_from(data))
    out = bytearray(HEADER.size)
    rows: List[Section] = []
    for i in wanted:
        s = sections[i]
        body = b"" if s.type == 0 else replace_all(contents(data, s), replacements)
        out += b"\0" * (-len(out) % 8)
        rows.append(s._replace(offset=len(out) if s.type else 0, link=place.get(s.link, 0)))
        out += body
    out += b"\0" * (-len(out) % 8)
    extended = len(rows) >= SHN_LORESERVE
    rows[0] = rows[0]._replace(size=len(rows) if extended else 0, link=place[names] if extended else 0)
    header[5], header[6], header[9], header[10] = 0, len(out), 0, 0
    header[12], header[13] = (0, SHN_XINDEX) if extended else (len(rows), place[names])
    for row in rows:
        out += SECTION.pack(*row)
    HEADER.pack_into(out, 0, *header)
    return bytes(out)


def parse_replacement(text: str) -> Tuple[bytes, bytes]:
    old, _, new = text.partition("=")
    if not old or len(old.encode()) != len(new.encode()):
        raise argparse.ArgumentTypeError(f"{text!r}: OLD=NEW, both of one length")
    return old.encode(), new.encode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kernel", action="append", default=[])
    parser.add_argument("--keep-memory", action="store_true")
    parser.add_argument("--replace", action="append", default=[], type=parse_replacement)
    args = parser.parse_args()
    try:
        data = read_packed(args.dump)
        if data[:4] != b"\x7fELF":
            raise ValueError("no ELF file")
        small = cut(data, [k.encode() for k in args.kernel], args.keep_memory, args.replace)
    except (OSError, ValueError, struct.error, IndexError, lzma.LZMAError) as e:
        print(f"cut_dump: {args.dump}: {e}", file=sys.stderr)
        return 1
    args.out.write_bytes(lzma.compress(small, preset=9 | lzma.PRESET_EXTREME) if args.out.suffix == ".xz" else small)
    print(f"{args.dump.name}: {len(data)} -> {len(small)} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
