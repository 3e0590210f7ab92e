#!/usr/bin/env python3
"""Adds sections of global memory to a GPU core dump that has none: the dump is then a made one, and is to be named so.

    add_memory.py DUMP OUT ADDRESS=FILE...

Each FILE's bytes become a section at ADDRESS (hexadecimal). DUMP and OUT may be xz-packed (by their name's end).
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import lzma
import struct
import sys
from pathlib import Path
from typing import List, Tuple

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import cut_dump  # noqa: E402
from cut_dump import GLOBAL_MEM, HEADER, SECTION, Section  # noqa: E402

Memory = List[Tuple[int, bytes]]


def add(data: bytes, memory: Memory) -> bytes:
    """Memory and a new section table behind the old bytes: nothing that is there moves."""
    sections, names = cut_dump.read_sections(data)
    if len(sections) + len(memory) >= cut_dump.SHN_LORESERVE:
        raise ValueError("too many sections")
    out = bytearray(data)
    for address, body in memory:
        out += b"\0" * (-len(out) % 8)
        sections.append(Section(0, GLOBAL_MEM, 0, address, len(out), len(body), 0, 0, 1, 0))
        out += body
    out += b"\0" * (-len(out) % 8)
    header = list(HEADER.unpack_from(data))
    header[6], header[12], header[13] = len(out), len(sections), names
    sections[0] = sections[0]._replace(size=0, link=0)
    for row in sections:
        out += SECTION.pack(*row)
    HEADER.pack_into(out, 0, *header)
    return bytes(out)


def parse_memory(text: str) -> Tuple[int, bytes]:
    address, _, name = text.partition("=")
    try:
        return int(address, 16), Path(name).read_bytes()
    except (OSError, ValueError) as e:
        raise argparse.ArgumentTypeError(f"{text!r}: ADDRESS=FILE: {e}") from None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("memory", nargs="+", type=parse_memory)
    args = parser.parse_args()
    try:
        made = add(cut_dump.read_packed(args.dump), args.memory)
    except (OSError, ValueError, struct.error, IndexError, lzma.LZMAError) as e:
        print(f"add_memory: {args.dump}: {e}", file=sys.stderr)
        return 1
    args.out.write_bytes(lzma.compress(made) if args.out.suffix == ".xz" else made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
