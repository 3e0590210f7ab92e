#!/usr/bin/env python3
"""Holds src/cubin/sass.c against nvdisasm, instruction by instruction.

    top_builddir=BUILD python3 tests/tools/compare_sass.py CUBIN...

What the decoder claims of an instruction (registers written, values, sources, targets of branches) must be what nvdisasm writes. Prints each kind of
disagreement once, how many instructions of each architecture were compared, and which are not decoded. Status 1 when anything disagrees.
Needs nvdisasm in PATH (CUDA toolkit, or the PyPI package nvidia-cuda-nvdisasm).
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import collections
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Counter, Dict, Iterator, List, NamedTuple, Optional, Tuple

BUILD = Path(os.environ.get("top_builddir", "."))
LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][A-Z0-9_.a-z]*)\s*(.*?)\s*;")
# Writes neither general nor uniform registers: what stands first is a source, an address or a predicate.
NO_DEST = re.compile(
    r"^(ST|STG|STL|STS|STSM|RED|REDG|BAR|BSSY|BREAK|WARPSYNC|NOP|MEMBAR|ERRBAR|CCTL\w*|DEPBAR|LDGDEPBAR|LDGSTS|YIELD|NANOSLEEP|BPT|KILL|R2P|"
    r"[UHFDI]*SETP\w*|HSETP2|UISETP|UFSETP|PLOP3|UPLOP3|FCHK|FENCE|UTMA\w+|UCGABAR\w*|CGAERRBAR|ENDCOLLECTIVE)$"
)
BRANCH = re.compile(r"^(BRA|BRX|BRXU|JMP|JMX|JMXU|BSYNC|EXIT|RET|CALL|RTT|PEXIT|BRX\w*|JMX\w*)$")
INDIRECT = ("BRX", "BRXU", "JMP", "JMX", "JMXU")


class Insn(NamedTuple):
    guarded: bool
    name: str  # with its modifiers
    operands: List[str]

    @property
    def base(self) -> str:
        return self.name.split(".")[0]

    @property
    def text(self) -> str:
        return f"{self.name} {', '.join(self.operands)}"


def split(text: str) -> List[str]:
    return [part.strip().replace(".reuse", "") for part in text.split(",")] if text else []


def disassembled(path: Path) -> Iterator[Tuple[str, Dict[int, Insn], Dict[str, int]]]:
    """(section, instructions by offset, labels) of each."""
    out = subprocess.run(["nvdisasm", "-c", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout.decode(errors="replace")
    section, insns, labels, waiting = "", {}, {}, []  # type: str, Dict[int, Insn], Dict[str, int], List[str]
    for line in out.splitlines():
        head = re.match(r"^\s*\.section\s+(\S+?),", line)
        label = re.match(r"^(\.L_x?_?\w+|\S+):\s*$", line)
        found = LINE.match(line)
        if head:
            if insns:
                yield section, insns, labels
            section, insns, labels, waiting = head[1].strip('"'), {}, {}, []
        elif found:
            at = int(found[1], 16)
            for name in waiting:
                labels[name] = at
            waiting = []
            insns[at] = Insn(bool(found[2]), found[3], split(found[4]))
        elif label:
            waiting.append(label[1])
    if insns:
        yield section, insns, labels


def effects(path: Path) -> Dict[str, Dict[int, List[str]]]:
    out = subprocess.run([str(BUILD / "tests" / "tools" / "list_effects"), str(path)], stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
    sections: Dict[str, Dict[int, List[str]]] = {}
    rows: Dict[int, List[str]] = {}
    for line in out.splitlines():
        if line.startswith("SECTION\t"):
            rows = sections.setdefault(line.split("\t")[1], {})
        else:
            words = line.split(" ")
            rows[int(words[0], 16)] = words[1:]
    return sections


def plain_register(operand: str) -> Optional[str]:
    found = re.fullmatch(r"(U?R(?:\d+|Z))(?:\.\w+)*", operand)
    return found[1] if found else None


def has_no_destination(insn: Insn) -> bool:
    return bool(NO_DEST.match(insn.base)) or insn.name == "ATOMS.CAST.SPIN"


def destination(insn: Insn) -> Optional[str]:
    """The first register written; RZ and URZ are none."""
    if has_no_destination(insn) or BRANCH.match(insn.base):
        return None
    for operand in insn.operands:
        if re.fullmatch(r"!?U?P(\d|T)", operand):
            continue
        register = plain_register(operand)
        return None if register in ("RZ", "URZ") else register
    return None


def width(insn: Insn) -> int:
    words = insn.name.split(".")
    if "256" in words:
        return 8
    if insn.base in ("HMMA", "IMMA", "QMMA", "OMMA", "LDSM", "DMMA") or "128" in words:
        return 4
    if insn.base in ("DADD", "DMUL", "DFMA", "LEPC") or "WIDE" in words or "64" in words or words[:2] == ["F2F", "F64"] or words[:2] == ["I2F", "F64"]:
        return 2
    if insn.base in ("F2I", "UF2I") and ("S64" in words or "U64" in words) or insn.base == "FRND" and "F64" in words:
        return 2
    if insn.base == "IMNMX" and ("U64" in words or "S64" in words):
        return 2
    return 2 if insn.base == "CS2R" and "32" not in words else 1


def half(text: str) -> int:
    return struct.unpack("<H", struct.pack("<e", float(text)))[0]


def number(text: str) -> int:
    text = text.replace("`", "")
    return (-int(text[1:], 0) if text.startswith("-") else int(text, 0)) & 0xFFFFFFFF


def value_of(insn: Insn) -> Optional[int]:
    """What a move of an immediate moves; None: it is none. Relocated ones have a name here instead of a number."""
    ops = insn.operands
    if insn.name in ("MOV", "UMOV") and len(ops) == 2 and re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", ops[1]):
        return number(ops[1])
    if insn.name == "IMAD.MOV.U32" and ops[1:3] == ["RZ", "RZ"] and re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", ops[3]):
        return number(ops[3])
    if insn.name in ("HFMA2", "HFMA2.MMA") and ops[1:3] == ["-RZ", "RZ"]:
        try:
            return half(ops[4]) | half(ops[3]) << 16
        except ValueError:
            return None
    return 0 if insn.base == "CS2R" and ops[1] == "SRZ" else None


def source_of(insn: Insn) -> Optional[str]:
    ops = insn.operands
    if insn.name in ("MOV", "UMOV", "MOV.64", "UMOV.64") and len(ops) == 2:
        return ops[1]
    return ops[3] if insn.name in ("IMAD.MOV.U32", "IMAD.U32") and ops[1:3] == ["RZ", "RZ"] and len(ops) == 4 else None


def constant_of(insn: Insn) -> Optional[Tuple[int, int, str]]:
    text = insn.operands[1] if insn.base in ("LDC", "ULDC", "LDCU", "MOV") and len(insn.operands) == 2 else source_of(insn) or ""
    found = re.fullmatch(r"c\[(0x[0-9a-f]+)\]\[(?:(U?R(?:\d+|Z)))?\+?(-?0x[0-9a-f]+)?\]", text)
    return (int(found[1], 0), int(found[3] or "0", 0), (found[2] or "RZ").replace("URZ", "RZ")) if found else None


def disagreement(insn: Insn, words: List[str], labels: Dict[str, int]) -> Optional[str]:
    kind, facts = words[0], dict(word.partition("=")[::2] for word in words[1:])
    is_branch = insn.base in ("BRA",)
    if is_branch != ("branch" in facts):
        return "branch or not"
    if is_branch:
        label = re.search(r"`\((\S+?)\)", insn.operands[-1])
        if label is None or labels.get(label[1]) != int(facts["branch"], 16):
            return "target"
        if kind == "barrier" and (insn.guarded or len(insn.operands) > 1):
            return "a branch that may not be taken"
    if (insn.base in INDIRECT) != ("indirect" in words):
        return "indirect or not"
    if insn.base == "CALL" and kind != "call":
        return "call or not"
    if kind == "barrier" and not (insn.base in ("BRA", "EXIT", "RET", "BSYNC") and not insn.guarded):
        return "barrier"
    if kind == "barrier" and insn.base == "EXIT" and insn.operands:
        return "an exit that may not be taken"
    if kind == "none" and (destination(insn) or BRANCH.match(insn.base) and insn.base not in ("BRA", "EXIT", "RET")):
        return "writes a register"
    if ("trap" in words) != (insn.name.startswith("BPT.TRAP")):
        return "trap or not"
    if "dest" not in facts:
        return None
    dest = destination(insn)
    if dest and (facts["dest"] != dest or int(facts["count"]) < width(insn)):
        return "destination"
    if has_no_destination(insn) or not dest and facts["dest"] not in ("RZ", "URZ"):
        return "no destination"
    if insn.guarded != ("conditional" in words):
        return "guard"
    if kind == "value" and value_of(insn) != int(facts["value"], 16) and "@" not in insn.text:  # a relocation's
        return "value"
    if kind == "copy" and (source_of(insn) != facts["source"] or int(facts["count"]) != width(insn)):
        return "source"
    if kind == "constant" and constant_of(insn) != (int(facts["bank"], 16), int(facts["at"], 16), facts["index"]):
        return "constant"
    return None


def architecture(path: Path) -> str:
    flags = struct.unpack_from("<I", path.read_bytes()[:64], 48)[0]
    return f"sm_{flags >> 8 & 0xFF if path.read_bytes()[8] >= 8 else flags & 0xFF}"


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    compared: Counter[str] = collections.Counter()
    unknown: Counter[str] = collections.Counter()
    bad: Dict[Tuple[str, str, str], List[str]] = {}
    for name in sys.argv[1:]:
        path = Path(name)
        arch, ours = architecture(path), effects(path)
        for section, insns, labels in disassembled(path):
            rows = ours.get(section, {})
            for at, insn in insns.items():
                compared[arch] += 1
                words = rows.get(at, ["missing"])
                why = "missing" if words == ["missing"] else disagreement(insn, words, labels)
                if why:
                    bad.setdefault((arch, why, insn.base), []).append(f"{path.name} {section[:60]} {at:x}: {insn.text}: {' '.join(words)}")
                if words[0] == "unknown":
                    unknown[insn.base] += 1
    for (arch, why, base), where in sorted(bad.items()):
        print(f"{arch}: {base}: {why} ({len(where)} times): {where[0]}")
    for arch, count in sorted(compared.items()):
        print(f"# {arch}: {count} instructions compared")
    print("# not decoded: " + ", ".join(f"{base} {count}" for base, count in unknown.most_common(40)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
