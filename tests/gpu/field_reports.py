#!/usr/bin/env python3
"""Runs the programs of tests/gpu/field and segmentation3d.py under cudatrap on a machine with a GPU, and keeps what it found.

    top_srcdir=SRC top_builddir=BUILD python3 SRC/tests/gpu/field_reports.py --record DIR [--only B01,B02] [--jobs 4] [--limit SECONDS]

DIR gets NAME.json, the incident with this machine's paths made neutral, for each program that one was written of, and runs.json: how
each ended. field_table.py makes doc/field-reports.md of it.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

TOP_SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2])).resolve()
TOP_BUILD = Path(os.environ.get("top_builddir", ".")).resolve()
FIELD = TOP_SRC / "tests" / "gpu" / "field"
TAIL = 300  # characters of the output kept of a run without an incident

Json = Dict[str, Any]


def program_of(name: str) -> Path:
    """The file that a name of expect.json stands for."""
    if name == "seg3d":
        return FIELD.parent / "segmentation3d.py"
    script = FIELD / f"{name}.py"
    return script if script.exists() else FIELD / f"{name}.cu"


def build(source: Path, folder: Path) -> Path:
    """A CUDA program, with the options of its own first line where it has one."""
    program = folder / source.stem
    first = source.read_text().split("\n", 1)[0]
    match = re.match(r"// build: nvcc (.*?) -o \S+", first)
    options = match[1].split() if match else ["-arch=sm_90"]
    subprocess.run(["nvcc", *options, "-w", "-o", str(program), str(source)], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return program


def neutral(text: str, folder: Path) -> str:
    """Without this machine's folders and name."""
    prefix = str(Path(sys.prefix))
    places: List[Tuple[str, str]] = [(str(folder), "/home/user/run"), (str(FIELD), "/home/user/field"), (str(FIELD.parent), "/home/user/field"),
                                     (str(TOP_BUILD), "/home/user/build"), (str(TOP_SRC), "/home/user/cudatrap"), (os.uname().nodename, "host")]
    if prefix not in ("/", "/usr"):
        places.append((prefix, "/home/user/venv"))
    for old, new in places:
        text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text)
    return text


def trimmed(incident: Json) -> Json:
    """Threads that neither launched nor are the main one fill most of an incident and say nothing of the fault."""
    kept = [t for t in incident.get("threads", []) if t.get("launching") or t.get("name") == "MainThread"]
    return {**incident, "threads": kept} if kept else incident


def first_incident(reports: Path) -> Optional[Path]:
    found = sorted(reports.glob("*/incident.json"), key=lambda p: json.loads(p.read_text()).get("time_us", 0))
    return found[0] if found else None


def run(name: str, limit: int, record: Path) -> Json:
    """One program under cudatrap: its row of runs.json."""
    folder = Path(tempfile.mkdtemp(prefix="field-"))
    source, start = program_of(name), time.monotonic()
    row: Json = {}
    try:
        command = [sys.executable, str(source)] if source.suffix == ".py" else [str(build(source, folder))]
        own = {"CUDATRAP_GDBSCRIPTS": str(TOP_SRC / "gdbscripts"), "CUDATRAP_DATA": str(TOP_SRC / "data"),
               "CUDATRAP_AGENT": str(TOP_BUILD / "libcudatrap-agent.so")}  # fmt: skip
        env = {**own, **os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton")}
        full = ["timeout", "-k", "10", str(limit), str(TOP_BUILD / "cudatrap"), "--report-dir", str(folder / "reports"), "--", *command]
        with open(folder / "output", "w+b") as output:
            done = subprocess.run(full, cwd=str(folder), env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False)
            output.seek(0)
            text = output.read().decode(errors="replace")
        row["status"] = done.returncode
        incident = first_incident(folder / "reports")
        if incident:
            stored = json.dumps(trimmed(json.loads(neutral(incident.read_text(), folder))), ensure_ascii=False, separators=(",", ":"))
            (record / f"{name}.json").write_text(stored + "\n")
        else:
            (record / f"{name}.json").unlink(missing_ok=True)
            row["output"] = neutral(text.strip()[-TAIL:], folder)
    except subprocess.CalledProcessError as e:
        row.update(status=e.returncode, output="not built: " + neutral((e.output or b"").decode(errors="replace")[-TAIL:], folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"# {name}: status {row.get('status')}, {'an incident' if 'output' not in row else 'no incident'}, {time.monotonic() - start:.0f} s", flush=True)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--limit", type=int, default=90, help="seconds for one program")
    args = parser.parse_args()
    args.record.mkdir(parents=True, exist_ok=True)
    names = [n for n in args.only.split(",") if n] or list(json.loads((FIELD / "expect.json").read_text()))
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = dict(zip(names, pool.map(lambda n: run(n, args.limit, args.record), names)))
    path = args.record / "runs.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**before, **rows}, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
