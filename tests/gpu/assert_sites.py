#!/usr/bin/env python3
"""Which asserts a libtorch_cuda.so has, and which of them data/assert-catalog.tsv lacks.

    top_srcdir=SRC top_builddir=BUILD python3 SRC/tests/gpu/assert_sites.py [--library FILE] [--arch sm_90] [--mark 2.11] [--out FILE] [--limit 600]

Takes the cubins of one architecture out with cuobjdump (no GPU is needed; CUDA toolkit, or the PyPI package nvidia-cuda-cuobjdump; about 1 GB of
temporary files) and reads their call sites with tests/gpu/list_asserts, as many at once as there are cores. --cubins DIR: they are there already.
--mark VERSION writes into the catalogue, of each row that is found exactly (file, line, function, expression), that it is so in VERSION, and of each
that is found in another line, in which.
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


def stored_sites(path: Path) -> Sites:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return Sites({Site(*row[:4]): row[4] for row in rows}, 0, 0, 0)


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


def is_exact(site: Site, row: List[str]) -> bool:
    return site.line in re.findall(r"\d+", row[3].split("(")[0])


def fits(site: Site, row: List[str]) -> bool:
    """What is known of the site is so in the row, line apart; a message of the program's own can be anything."""
    same_function = "?" in site.function or re.search(rf"(?<!\w){re.escape(plain_function(site.function))}(?!\w)", row[5]) is not None
    return base(row[2]) == site.file and same_function and (site.expression == "?" or squeezed(row[7]) == site.expression)


def report(found: Dict[Site, str], rows: List[List[str]]) -> Tuple[List[str], Set[str], Dict[str, List[str]]]:
    """Lines for a reader, the ids of rows that are exact, and of those that are found elsewhere in their file, with the lines."""
    lines: List[str] = []
    exact: Set[str] = set()
    moved: Dict[str, List[str]] = {}
    for site, kernel in sorted(found.items()):
        matches = [row for row in rows[1:] if fits(site, row)]
        is_whole = "?" not in (site.function, site.expression)
        exact |= {row[0] for row in matches if is_whole and is_exact(site, row)}
        where = f"{site.file}:{site.line}\t{site.function}\t{site.expression}"
        if not matches:
            lines.append(f"{'lacks' if is_whole else 'unclear'}\t{where}\t{kernel[:120]}")
        elif not any(is_exact(site, row) for row in matches):
            lines.append(f"line\t{where}\tcatalogue: {', '.join(row[0] + ' line ' + row[3] for row in matches[:3])}")
            for row in matches if is_whole else []:
                moved.setdefault(row[0], []).append(site.line)
    return lines, exact, {row: places for row, places in moved.items() if row not in exact}


def mark(rows: List[List[str]], exact: Set[str], moved: Dict[str, List[str]], version: str) -> None:
    words = {row: f"exact in {version} (image)" for row in exact}
    words.update({row: f"line {', '.join(places)} in {version} (image)" for row, places in moved.items()})
    for row in rows[1:]:
        word = words.get(row[0])
        if word and word not in row[4]:
            row[4] = f"{row[4]}; {word}" if row[4] else word
    CATALOG.write_text("\n".join("\t".join(row) for row in rows) + "\n", encoding="utf-8")


def conclude(args: argparse.Namespace, n_files: int, sites: Sites) -> int:
    rows = catalog_rows()
    lines, exact, moved = report(sites.kernels, rows)
    print("\n".join(lines))
    if n_files:
        print(f"# {args.arch}: {n_files} cubins, {sites.calls} calls of the assert handler, {sites.undecoded} not wholly decoded, {sites.wrong} wrong")
    print(f"# {len(sites.kernels)} places in the source, {sum(line.startswith('lacks') for line in lines)} not in the catalogue, {len(exact)} of its rows exact")
    if args.out:
        args.out.write_text("".join("\t".join([*site, kernel]) + "\n" for site, kernel in sorted(sites.kernels.items())))
    if args.mark:
        mark(rows, exact, moved, args.mark)
    return 1 if sites.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--mark")
    parser.add_argument("--out", type=Path, help="the sites themselves, tab-separated")
    parser.add_argument("--sites", type=Path, help="what an earlier run has written with --out: nothing is read but this")
    parser.add_argument("--cubins", type=Path, help="a folder with the cubins, extracted already")
    parser.add_argument("--limit", type=float, default=600, help="seconds for all of it")
    args = parser.parse_args()
    start = time.monotonic()
    library = args.library or find_library()
    if args.sites:
        return conclude(args, 0, stored_sites(args.sites))
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
    return conclude(args, len(files), sites) if files else 1


if __name__ == "__main__":
    sys.exit(main())
