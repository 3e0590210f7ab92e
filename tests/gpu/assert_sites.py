#!/usr/bin/env python3
"""Which asserts a libtorch_cuda.so has, and which of them data/assert-catalog.tsv lacks.

    top_srcdir=SRC top_builddir=BUILD python3 SRC/tests/gpu/assert_sites.py [--library FILE] [--mark 2.11] [--out FILE] [--limit 170]

Takes the sm_90 cubins out with cuobjdump, as many at once as there are cores, and reads their call sites with tests/gpu/list_asserts.
--mark VERSION writes into the catalogue, of each row that is found exactly (file, line, function, expression), that it is so in VERSION.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2])).resolve()
BUILD = Path(os.environ.get("top_builddir", ".")).resolve()
CATALOG = SRC / "data" / "assert-catalog.tsv"


class Site(NamedTuple):
    file: str  # base name
    line: str
    function: str
    expression: str


Key = Tuple[str, str, str]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def base(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def find_library() -> Optional[Path]:
    spec = importlib.util.find_spec("torch")
    path = Path(spec.origin).parent / "lib" / "libtorch_cuda.so" if spec and spec.origin else None
    return path if path and path.exists() else None


def cubins(library: Path, arch: str) -> List[str]:
    listed = subprocess.run(["cuobjdump", "-lelf", "-arch", arch, str(library)], stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
    return [name for name in re.findall(r"ELF file\s+\d+:\s+(\S+)", listed) if arch in name]


def sites_of(library: Path, names: List[str], until: float) -> Tuple[Dict[Site, str], int]:
    """Sites with a kernel each, and how many cubins were read."""
    folder = Path(tempfile.mkdtemp(prefix="assert-sites-"))
    found: Dict[Site, str] = {}
    try:
        left = until - time.monotonic()
        if left <= 0:
            return found, 0
        subprocess.run(["cuobjdump", "-xelf", ",".join(names), str(library)], cwd=str(folder), stdout=subprocess.DEVNULL, check=False, timeout=left)
        files = sorted(folder.glob("*.cubin"))
        listed = subprocess.run([str(BUILD / "tests" / "gpu" / "list_asserts"), *map(str, files)], stdout=subprocess.PIPE, check=False,
                                timeout=max(1.0, until - time.monotonic()))  # fmt: skip
        for line in listed.stdout.decode(errors="replace").splitlines():
            fields = line.split("\t")
            if len(fields) == 5:
                found.setdefault(Site(base(fields[0]), fields[1], fields[2], squeezed(fields[3])), fields[4])
        return found, len(files)
    except subprocess.TimeoutExpired:
        return found, 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def catalog_rows() -> List[List[str]]:
    return [line.split("\t") for line in CATALOG.read_text(encoding="utf-8").splitlines()]


def plain_function(name: str) -> str:
    """`void n::f<int>(float)` -> f, as the catalogue has it."""
    head = re.sub(r"<[^<>]*>", "", re.sub(r"\(.*", "", name)) if "operator()" not in name else "operator()"
    return head.split("::")[-1].split(" ")[-1]


def report(found: Dict[Site, str], rows: List[List[str]]) -> Tuple[List[str], Set[str]]:
    """Lines for a reader, and the ids of rows that are exact."""
    by_key: Dict[Key, List[List[str]]] = {}
    for row in rows[1:]:
        by_key.setdefault((base(row[2]), row[5], squeezed(row[7])), []).append(row)
    lines, exact = [], set()
    for site, kernel in sorted(found.items()):
        matches = by_key.get((site.file, plain_function(site.function), site.expression), [])
        exact |= {row[0] for row in matches if row[3] == site.line}
        if not matches:
            lines.append(f"lacks\t{site.file}:{site.line}\t{site.function}\t{site.expression}\t{kernel[:120]}")
        elif all(row[3] != site.line for row in matches):
            lines.append(f"line\t{site.file}:{site.line}\t{site.function}\t{site.expression}\tcatalogue: {matches[0][0]} line {matches[0][3]}")
    return lines, exact


def mark(rows: List[List[str]], exact: Set[str], version: str) -> None:
    word = f"exact in {version} (image)"
    for row in rows[1:]:
        if row[0] in exact and word not in row[4]:
            row[4] = f"{row[4]}; {word}" if row[4] else word
    CATALOG.write_text("\n".join("\t".join(row) for row in rows) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--mark")
    parser.add_argument("--out", type=Path, help="the sites themselves, tab-separated")
    parser.add_argument("--limit", type=float, default=170, help="seconds for all of it")
    args = parser.parse_args()
    start = time.monotonic()
    library, jobs = args.library or find_library(), os.cpu_count() or 1
    if library is None or not library.exists():
        print("no libtorch_cuda.so; name one with --library", file=sys.stderr)
        return 1
    if not shutil.which("cuobjdump"):
        print("no cuobjdump in PATH: it is in the bin folder of the CUDA toolkit", file=sys.stderr)
        return 1
    names = cubins(library, args.arch)
    chunks = [names[i::jobs] for i in range(jobs) if names[i::jobs]]
    found: Dict[Site, str] = {}
    read = 0
    with ThreadPoolExecutor(jobs) as pool:
        for part, n in pool.map(lambda chunk: sites_of(library, chunk, start + args.limit), chunks):
            read += n
            for site, kernel in part.items():
                found.setdefault(site, kernel)
    rows = catalog_rows()
    lines, exact = report(found, rows)
    print("\n".join(lines))
    print(f"# {library}: {len(names)} cubins listed, {read} read, {len(found)} sites, {sum(line.startswith('lacks') for line in lines)} not in the catalogue, "
          f"{len(exact)} rows exact, {time.monotonic() - start:.0f} s")  # fmt: skip
    if args.out:
        args.out.write_text("".join("\t".join([*site, kernel]) + "\n" for site, kernel in sorted(found.items())))
    if args.mark:
        mark(rows, exact, args.mark)
    return 0 if read == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
