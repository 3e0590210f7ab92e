#!/usr/bin/env python3
"""Which asserts a libtorch_cuda.so has, and which of them data/assert-catalog.tsv lacks.

    top_srcdir=SRC top_builddir=BUILD python3 SRC/tests/gpu/assert_sites.py [--library FILE] [--arch sm_90] [--mark 2.11] [--out FILE] [--limit 600]

Takes the cubins of one architecture out with cuobjdump (no GPU is needed; CUDA toolkit, or the PyPI package nvidia-cuda-cuobjdump; about 1 GB of
temporary files) and reads their call sites with tests/gpu/list_asserts, as many at once as there are cores. --cubins DIR: they are there already.
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


def extract(library: Path, arch: str, folder: Path, limit: float) -> None:
    subprocess.run(["cuobjdump", "-xelf", f".{arch}.cubin", str(library)], cwd=str(folder), stdout=subprocess.DEVNULL, check=True, timeout=limit)


class Sites(NamedTuple):
    kernels: Dict[Site, str]  # one kernel for each
    calls: int
    undecoded: int  # something of them is not known
    wrong: int  # what was concluded is not what the image has there


def sites_of(files: List[Path], until: float) -> Sites:
    """None at all when the time is over."""
    kernels: Dict[Site, str] = {}
    calls = undecoded = wrong = 0
    listed = subprocess.run([str(BUILD / "tests" / "gpu" / "list_asserts"), *map(str, files)], stdout=subprocess.PIPE, check=True,
                            timeout=max(1.0, until - time.monotonic()))  # fmt: skip
    for line in listed.stdout.decode(errors="replace").splitlines():
        file, number, function, expression, kernel, verdict = line.split("\t")
        calls += 1
        undecoded += "?" in (file, function, expression)
        wrong += verdict == "wrong"
        kernels.setdefault(Site(base(file), number, function, squeezed(expression)), kernel)
    return Sites(kernels, calls, undecoded, wrong)


def all_sites(files: List[Path], until: float) -> Sites:
    jobs = os.cpu_count() or 1
    kernels: Dict[Site, str] = {}
    parts = []
    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(lambda chunk: sites_of(chunk, until), [files[i : i + 8] for i in range(0, len(files), 8)]))
    for part in parts:
        for site, kernel in part.kernels.items():
            kernels.setdefault(site, kernel)
    return Sites(kernels, sum(p.calls for p in parts), sum(p.undecoded for p in parts), sum(p.wrong for p in parts))


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
    parser.add_argument("--cubins", type=Path, help="a folder with the cubins, extracted already")
    parser.add_argument("--limit", type=float, default=600, help="seconds for all of it")
    args = parser.parse_args()
    start = time.monotonic()
    library = args.library or find_library()
    if not args.cubins and (library is None or not library.exists()):
        print("no libtorch_cuda.so; name one with --library", file=sys.stderr)
        return 1
    if not args.cubins and not shutil.which("cuobjdump"):
        print("no cuobjdump in PATH: it is in the bin folder of the CUDA toolkit", file=sys.stderr)
        return 1
    folder = args.cubins or Path(tempfile.mkdtemp(prefix="assert-sites-"))
    try:
        if not args.cubins:
            extract(library.resolve(), args.arch, folder, args.limit)
        files = sorted(folder.glob(f"*.{args.arch}.cubin"))
        sites = all_sites(files, start + args.limit)
    except subprocess.TimeoutExpired:
        print(f"not done after {args.limit:.0f} s: give it more with --limit", file=sys.stderr)
        return 1
    finally:
        if not args.cubins:
            shutil.rmtree(folder, ignore_errors=True)
    rows = catalog_rows()
    lines, exact = report(sites.kernels, rows)
    print("\n".join(lines))
    print(f"# {args.arch}: {len(files)} cubins, {sites.calls} calls of the assert handler, {sites.undecoded} not wholly decoded, {sites.wrong} wrong; "
          f"{len(sites.kernels)} places in the source, {sum(line.startswith('lacks') for line in lines)} not in the catalogue, "
          f"{len(exact)} of its rows exact")  # fmt: skip
    if args.out:
        args.out.write_text("".join("\t".join([*site, kernel]) + "\n" for site, kernel in sorted(sites.kernels.items())))
    if args.mark:
        mark(rows, exact, args.mark)
    return 0 if files and not sites.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
