#!/usr/bin/env python3
"""The whole tool on a machine with a GPU: every program of kernels/ in every build and engine, and a PyTorch training step.

    make check-gpu [CHECK_GPU_FLAGS="--record DIR --only NAME"]

Each program prints what its report must hold ("expect: KEY VALUE"); the incident is compared with that. --record keeps the report
folders, with this machine's paths made neutral, as test data for the renderers.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_python import check_python  # noqa: E402
import check_sessions  # noqa: E402
import launch_cases  # noqa: E402

TOP_SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
TOP_BUILD = Path(os.environ.get("top_builddir", "."))
KERNELS = ["assert_blocks", "graph_assert", "illegal_address", "launch_configuration", "misaligned_address", "shared_range", "stack_overflow", "trap"]
BUILDS = ["rel", "line", "dbg"]
RUN_TIMEOUT = 60
LAUNCH_TIMEOUT = 180  # a first torch.compile takes its time

Incident = Dict[str, Any]


class Checks:
    """TAP, one line a check."""

    def __init__(self) -> None:
        self.number = 0
        self.failed = 0

    def check(self, ok: bool, name: str, detail: str = "") -> None:
        self.number += 1
        if not ok:
            self.failed += 1
            for line in detail.splitlines()[-40:]:
                print("# " + line)
        print(f"{'ok' if ok else 'not ok'} {self.number} - {name}", flush=True)

    def done(self) -> int:
        print(f"1..{self.number}")
        print(f"# {self.number - self.failed} passed, {self.failed} failed")
        return 1 if self.failed else 0


class Run:
    """One run of cudatrap: what came out, and the incident if one was written."""

    def __init__(self, command: List[str], options: List[str], env: Optional[Dict[str, str]] = None, attach: int = 0, front: Tuple[str, ...] = (),
                 patience: int = RUN_TIMEOUT) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="check-gpu-"))
        full = [str(TOP_BUILD / "cudatrap"), *options, "--report-dir", str(self.dir / "reports"), "--", *command]
        if attach:
            full = [str(TOP_BUILD / "cudatrap"), "attach", *options, "--report-dir", str(self.dir / "reports"), str(attach)]
        full = [*front, *full]
        start = time.monotonic()
        process = subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        try:
            out, err = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:  # a run that hangs fails its checks; its tree must not stay
            process.terminate()
            out, err = process.communicate()
            err += b"\n(check_gpu: ended after %d s)\n" % patience
        self.seconds = time.monotonic() - start
        self.status = process.returncode
        self.out = out.decode(errors="replace")
        self.err = err.decode(errors="replace")
        folders = sorted((self.dir / "reports").glob("*/incident.json")) if (self.dir / "reports").exists() else []
        self.folders = [f.parent for f in folders]
        self.incident: Optional[Incident] = json.loads(folders[0].read_text()) if folders else None

    def expects(self, key: str) -> List[str]:
        return [m.group(1) for m in re.finditer(rf"^expect: {key} (.*)$", self.out, re.M)]


def groups(incident: Incident) -> List[Dict[str, Any]]:
    return incident.get("gpu", {}).get("groups", [])


def positions(incident: Incident) -> List[str]:
    found = []
    for group in groups(incident):
        for lane in group.get("lanes", []):
            found.append(",".join(map(str, lane["block"])) + " " + ",".join(map(str, lane["thread"])))
    return found


def frames_text(incident: Incident) -> str:
    threads = incident.get("threads", [])
    launching = [t for t in threads if t.get("launching")] or threads[:1]
    return "\n".join(str(f.get("function")) for t in launching for f in t.get("frames", []))


def excerpts(incident: Incident, function: str) -> List[List[str]]:
    return [f["excerpt"] for t in incident.get("threads", []) for f in t.get("frames", []) + t.get("python", []) if f.get("function") == function and "excerpt" in f]


def plain(incident: Incident, function: str) -> Dict[str, str]:
    return {row["name"]: row["value"] for row in incident.get("python_locals", []) if row.get("function") == function}


def actual(incident: Incident, key: str) -> List[str]:
    """The values an incident holds for a key of the programs' expectations."""
    gpu = incident.get("gpu", {})
    kernel = gpu.get("kernel", {})
    first = (groups(incident) or [{}])[0]
    assertion = incident.get("assert", {})
    if key == "kind":
        return [incident.get("kind", "")]
    if key == "kernel":
        return [str(kernel.get("name", ""))]
    if key == "grid":
        return [",".join(map(str, kernel.get("grid_dim", [])))]
    if key == "block":
        return [",".join(map(str, kernel.get("block_dim", [])))]
    if key == "expression":
        return [str(assertion.get("expression"))]
    if key == "threads":
        return [str(sum(g.get("threads", 0) for g in groups(incident)))]
    if key == "position":
        return positions(incident)
    if key == "exception":
        return [str(first.get("exception", {}).get("name"))]
    if key == "host":
        return [frames_text(incident)]
    return []


def holds(key: str, wanted: str, values: List[str]) -> bool:
    if key in ("kernel", "host"):
        return any(wanted in v for v in values)
    return wanted in values


def compare(checks: Checks, name: str, run: Run, keys: Tuple[str, ...]) -> None:
    assert run.incident is not None
    for key in keys:
        for wanted in run.expects(key):
            values = actual(run.incident, key)
            checks.check(holds(key, wanted, values), f"{name}: {key} is {wanted}", f"wanted {wanted!r}\ngot {values!r}\n{run.err}")


KEYS = ("kind", "kernel", "grid", "block", "expression", "threads", "position", "exception", "host")


def strided_addresses(incident: Incident) -> List[str]:
    """Of the strided store of illegal_address: the threads whose address is not what the source says."""
    gpu, first = incident.get("gpu", {}), (groups(incident) or [{}])[0]
    start, width = int(gpu["arguments"][0]["value"], 16), gpu["kernel"]["block_dim"][0]
    wanted = [hex(start + ((lane["block"][0] * width + lane["thread"][0]) << 32)) for lane in first.get("lanes", [])]
    return [f"{lane.get('address')} for {value}" for lane, value in zip(first.get("lanes", []), wanted) if lane.get("address") != value] or ([] if wanted else ["no lanes"])


def check_kernel(checks: Checks, kernel: str, build: str, engine: str, record: Optional[Path]) -> Optional[Run]:
    name = f"{engine} {kernel}.{build}"
    run = Run([str(TOP_BUILD / "kernels" / f"{kernel}.{build}")], ["--engine", engine])
    if run.expects("kind") == ["none"]:
        checks.check(run.incident is None and run.status == 1, f"{name}: no fault is trapped, the status is the program's", f"status {run.status}\n{run.err}")
        return None
    checks.check(run.status == 99 and run.incident is not None, f"{name}: status 99 and a report", f"status {run.status}\n{run.err}")
    if run.incident is None:
        return None
    compare(checks, name, run, tuple(k for k in KEYS if k != "host") if engine == "core" else KEYS)  # nobody stops a process that dumps
    if build == "line" and kernel == "assert_blocks":
        lines = [f for g in groups(run.incident) for f in g.get("frames", []) if f.get("line")]
        checks.check(bool(lines), f"{name}: device frames have lines", run.err)
    if kernel == "illegal_address":
        wrong = strided_addresses(run.incident)
        checks.check(not wrong, f"{name}: each thread's address", f"{wrong[:4]}\n{run.err}")
        checks.check(run.incident.get("fault_address", {}).get("access") == "store", f"{name}: where the address lies", str(run.incident.get("fault_address")))
    if record:
        keep(run, record / f"{engine}-{kernel.replace('_', '-')}-{build}")
    return run


def check_pytorch(checks: Checks, engine: str, record: Optional[Path], extra: Optional[List[str]] = None) -> Optional[Run]:
    script = TOP_SRC / "tests" / "gpu" / "cross_entropy.py"
    name = f"{engine} pytorch"
    run = Run([sys.executable, str(script)], ["--engine", engine, *(extra or [])])
    checks.check(run.status == 99 and run.incident is not None, f"{name}: status 99 and a report", f"status {run.status}\n{run.err}")
    if run.incident is None:
        return None
    i = run.incident
    kernel = i.get("gpu", {}).get("kernel", {}).get("name", "")
    assertion = i.get("assert", {})
    python = [(f.get("function"), f.get("line")) for t in i.get("threads", []) if t.get("launching") for f in t.get("frames", []) if f.get("kind") == "python"]
    facts = [
        ("kernel name demangled", "nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>" in kernel, kernel),
        ("Loss.cu with its line", str(assertion.get("file", "")).endswith("Loss.cu") and assertion.get("line", 0) > 0, str(assertion)),
        ("expression", assertion.get("expression") == "t >= 0 && t < n_classes", str(assertion)),
        ("block and thread", positions(i) == ["0,0,0 2,0,0"], str(positions(i))),
        ("device", bool(i.get("gpu", {}).get("device", {}).get("name")), str(i.get("gpu", {}).get("device"))),
        ("value", engine == "core" or any(v.get("name") == "t" and v.get("text") == "3" for v in i.get("values", [])), str(i.get("values"))),
        ("grid", actual(i, "grid") == ["1,1,1"] and actual(i, "block") == ["32,1,1"], str(actual(i, "grid"))),
        ("python stack", [p[0] for p in python[:3]] == ["cross_entropy", "train_step", "main"], str(python)),
        ("python lines", all(p[1] for p in python), str(python)),
        ("the lines around them", excerpts(i, "train_step") == [script.read_text().splitlines()[4:11]], str(excerpts(i, "train_step"))),
        ("plain locals", engine == "live" or plain(i, "main").get("iteration") == "3", str(i.get("python_locals"))),
        ("native frames", "cudaLaunchKernel" in frames_text(i), frames_text(i)),
        ("ending", i.get("ending", {}).get("kind") == ("ended-by-us" if engine == "live" else "exited"), str(i.get("ending"))),
        ("report in three seconds", i.get("seconds_to_report", 99) < 3 or engine == "live", str(i.get("seconds_to_report"))),
    ]
    for what, ok, detail in facts:
        checks.check(bool(ok), f"{name}: {what}", f"{detail}\n{run.err}")
    print(f"# {name}: {i.get('seconds_to_report')} s from fault to report, {run.seconds:.1f} s in all")
    print("# collectors: " + json.dumps(i.get("collectors")))
    if record:
        keep(run, record / f"{engine}-pytorch")
    return run


def check_memory_dump(checks: Checks, record: Optional[Path]) -> None:
    """Engine core has the value, too, where the dump holds device memory; its tensors are looked into."""
    run = Run([sys.executable, str(TOP_SRC / "tests" / "gpu" / "cross_entropy.py")], ["--engine", "core", "--dump=memory"])
    i = run.incident or {}
    gpu = i.get("gpu", {})
    values = {v.get("name"): v.get("text") for v in i.get("values", [])}
    elements = [e for m in gpu.get("memory", []) for e in m.get("elements", [])]
    checks.check(run.status == 99 and values.get("t") == "3", "core --dump=memory: the value", f"status {run.status} {i.get('values')}\n{run.err}")
    checks.check([(e["index"], e["value"]) for e in elements] == [(2, "3")], "core --dump=memory: the element", str(gpu.get("memory")))
    checks.check(any(t.get("read") and t.get("max") == "3" for t in gpu.get("tensors", [])), "core --dump=memory: what is in the tensors", str(gpu.get("tensors")))
    checks.check([c.get("id") for c in i.get("causes", [])][:1] == ["label-range"], "core --dump=memory: the cause", str(i.get("causes")))
    print(f"# core --dump=memory: {i.get('seconds_to_report')} s from fault to report, {run.seconds:.1f} s in all")
    if record and run.incident:
        keep(run, record / "core-memory-pytorch")


def same_incident(checks: Checks, name: str, a: Optional[Run], b: Optional[Run]) -> None:
    """Engines must agree on what they saw, addresses and ids apart."""
    if not (a and b and a.incident and b.incident):
        checks.check(False, f"{name}: both engines gave an incident")
        return
    for key in ("kind", "kernel", "grid", "block", "expression", "threads", "exception"):
        checks.check(actual(a.incident, key) == actual(b.incident, key), f"{name}: same {key}", f"{actual(a.incident, key)}\n{actual(b.incident, key)}")
    if not any(g.get("whole_warps") for g in groups(a.incident)):  # which warps a memory fault stops first is a matter of luck
        checks.check(sorted(positions(a.incident)) == sorted(positions(b.incident)), f"{name}: same positions")


def check_attach(checks: Checks, record: Optional[Path]) -> None:
    """A kernel that never ends, read from outside; it must run on afterwards."""
    target = subprocess.Popen([str(TOP_BUILD / "kernels" / "hang.line")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(3)  # until the kernel runs
    run = Run([], [], attach=target.pid)
    i = run.incident or {}
    checks.check(run.status == 0 and i.get("kind") == "hang", "attach: the hang is seen", f"status {run.status}\n{run.err}")
    checks.check("wait_for_flag" in str(actual(i, "kernel")) and actual(i, "threads") == ["128"], "attach: its kernel and threads", run.err)
    checks.check(any(f.get("line") for g in groups(i) for f in g.get("frames", [])), "attach: the line where they stand", run.err)
    time.sleep(1)
    state = Path(f"/proc/{target.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    checks.check(target.poll() is None and state in "RS", "attach: the process runs on", f"{target.poll()} {state}")
    again = Run([], [], attach=target.pid)
    checks.check((again.incident or {}).get("kind") == "hang", "attach: the kernel runs on, a second look sees it again", again.err)
    target.kill()
    target.wait()
    if record and run.incident:
        keep(run, record / "attach-hang-line")


def check_processes(checks: Checks, record: Optional[Path]) -> None:
    """A launcher and its ranks, a loader's workers, stderr that goes elsewhere."""
    script = TOP_SRC / "tests" / "gpu" / "cross_entropy.py"
    for engine in ("wait", "core"):
        run = Run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)], ["--engine", engine])
        i = run.incident or {}
        checks.check(run.status == 99 and i.get("process", {}).get("descendant") is True, f"{engine} torchrun: a rank is trapped", f"status {run.status}\n{run.err}")
        checks.check(bool(positions(i)), f"{engine} torchrun: the failing thread", run.err)
        python = [f.get("function") for t in i.get("threads", []) if t.get("launching") for f in t.get("frames", []) if f.get("kind") == "python"]
        checks.check("train_step" in python, f"{engine} torchrun: the Python stack", str(python) + run.err)
        checks.check(any(v.get("name") == "RANK" for v in i.get("environment", [])), f"{engine} torchrun: the rank is known", str(i.get("environment")))
        if record and run.incident:
            keep(run, record / f"{engine}-torchrun")
    run = Run(["sh", "-c", f"exec {sys.executable} {script} 2>/dev/null"], ["--engine", "wait"])
    checks.check(run.status == 99 and bool(positions(run.incident or {})), "wait: stderr in a file is no way out", f"status {run.status}\n{run.err}")
    run = Run([sys.executable, str(script)], ["--engine", "wait", "--after-fault", "continue"])
    i = run.incident or {}
    checks.check(run.status == 99 and i.get("ending", {}).get("kind") != "unknown" and bool(positions(i)), "wait --after-fault=continue: a report, and an end",
                 f"status {run.status} {i.get('ending')}\n{run.err}")
    print(f"# continue: {i.get('ending')} {i.get('consequences')}")
    run = Run([sys.executable, str(script)], ["--engine", "wait", "--async"])
    checks.check(run.status == 99 and bool(positions(run.incident or {})), "wait --async: a report", f"status {run.status}\n{run.err}")
    run = Run([str(TOP_BUILD / "kernels" / "launch_configuration.rel")], ["--engine", "live", "--api-failures"])
    checks.check(run.status == 99 and (run.incident or {}).get("kind") == "api-error", "live --api-failures: the failing call is reported",
                 f"status {run.status}\n{run.err}\n{json.dumps(run.incident)[:600]}")


def check_without_ptrace(checks: Checks) -> None:
    """As in most clusters: nobody may trace. The driver's dump and the agent must do."""
    script = str(TOP_SRC / "tests" / "gpu" / "cross_entropy.py")
    front = (sys.executable, str(TOP_SRC / "tests" / "gpu" / "without_ptrace.py"))
    for options in (["--engine", "core"], []):
        run = Run([sys.executable, script], options, front=front)
        i = run.incident or {}
        name = f"without ptrace {' '.join(options) or '(auto)'}"
        pointers = [a.get("value") for a in i.get("gpu", {}).get("arguments", []) if a.get("type") == "long const*"]
        python = [(f.get("function"), f.get("line")) for t in i.get("threads", []) if t.get("launching") for f in t.get("frames", []) + t.get("python", [])
                  if f.get("kind") == "python"]
        facts = [
            ("a report by engine core", run.status == 99 and i.get("engine") == "core", f"status {run.status} {i.get('engine')}"),
            ("kernel", "nll_loss_forward_reduce_cuda_kernel_2d" in str(i.get("gpu", {}).get("kernel", {}).get("name")), str(i.get("gpu", {}).get("kernel"))),
            ("block and thread", positions(i) == ["0,0,0 2,0,0"], str(positions(i))),
            ("the target's pointer is y's", len(run.expects("pointer")) == 1 and pointers == run.expects("pointer"),
             f"{run.expects('pointer')} {pointers} {json.dumps(i.get('gpu', {}).get('arguments'))}"),
            ("the launch line", ("train_step", 8) in python, str(python)),
        ]
        for what, ok, detail in facts:
            checks.check(bool(ok), f"{name}: {what}", f"{detail}\n{run.err}")


def check_own_ending(checks: Checks) -> None:
    """A program that handles its error: the same words and the same status as without cudatrap."""
    script = str(TOP_SRC / "tests" / "gpu" / "own_ending.py")
    plain = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=RUN_TIMEOUT, check=False)
    checks.check(plain.returncode == 5 and b"device-side assert triggered" in plain.stdout, "own ending: the plain run", str(plain))
    for options in (["--engine", "wait"], ["--engine", "core"], ["--engine", "wait", "--async"], ["--engine", "core", "--async"]):
        run = Run([sys.executable, script], options)
        ending = (run.incident or {}).get("ending", {})
        checks.check(run.status == 99 and run.out.encode() == plain.stdout and ending.get("kind") == "exited" and ending.get("status") == 5,
                     f"own ending: as the plain run, {' '.join(options)}", f"status {run.status} {ending}\n{run.out}\n{run.err}")


def lines_of(frames: List[Dict[str, Any]], script: Path) -> List[str]:
    return [str(f.get("line")) for f in frames if os.path.basename(str(f.get("file"))) == script.name]


def missing_module(names: List[str]) -> str:
    for name in names:
        try:
            if importlib.util.find_spec(name) is None:
                return name
        except (ImportError, ValueError):
            return name
    return ""


def check_launch(checks: Checks, case: str, engine: str, record: Optional[Path], options: Optional[List[str]] = None) -> None:
    """--async must name the line that launched the failing kernel, whatever the host did meanwhile."""
    script = TOP_SRC / "tests" / "gpu" / "launch_cases.py"
    name = f"{engine} --async {case}"
    missing = missing_module(launch_cases.NEEDS.get(case, ["torch"]))
    if missing:
        print(f"# {name}: not run, {missing} is not installed here")
        return
    run = Run([sys.executable, str(script), case], ["--engine", engine, "--async", *(options or [])], patience=LAUNCH_TIMEOUT)
    if "has no attribute 'row_stack'" in run.err:  # numba-cuda with NumPy 2: it cannot compile a kernel
        print(f"# {name}: not run, the installed numba does not work with the installed NumPy")
        return
    i = run.incident or {}
    launch = i.get("launch", {})
    detail = f"status {run.status}\n{json.dumps(launch)[:3000]}\n{json.dumps(i.get('collectors'))}\n{run.out}\n{run.err}"
    checks.check(run.status == 99 and bool(launch), f"{name}: status 99, and a launch was looked for", detail)
    if not launch:
        return
    candidates = launch.get("candidates", [])
    # A graph that was replayed from two places, equal launches in a loop: each is named, the last one first.
    checks.check(launch.get("certainty") == ("several" if case in ("graph", "streams") else "unique"), f"{name}: as sure as can be", detail)
    for key, frames in (("line", "python"), ("origin", "origin_python")):
        for wanted in run.expects(key):
            # The innermost is the compiled function's own, where there is one.
            found = [lines_of(c.get(frames, []), script)[:2 if case == "compiled" else 1] for c in candidates]
            checks.check(any(wanted in f for f in found), f"{name}: {key} {wanted} is among the candidates", detail)
            checks.check(wanted in (found or [[]])[0], f"{name}: {key} {wanted} is the first", detail)
    if launch.get("certainty") == "unique":
        checks.check("CUDA_LAUNCH_BLOCKING=1 was not in force" not in run.err, f"{name}: no word of stacks that are not the launch", detail)
    checks.check(len(launch.get("history", [])) > 1, f"{name}: what went before on the stream", detail)
    if record:
        keep(run, record / f"{engine}-async-{case}")


def check_launches(checks: Checks, only: str, record: Optional[Path]) -> None:
    for case in launch_cases.CASES:
        if not only or only in f"launches {case}":
            check_launch(checks, case, "wait", record)
    if not only or only in "launches eager core":
        check_launch(checks, "eager", "core", record)
    if not only or only in "launches backward anomaly":
        check_launch(checks, "backward", "wait", None, ["--anomaly"])
    if not only or only in "launches failing":
        check_failing_launch(checks, record)


def check_failing_launch(checks: Checks, record: Optional[Path]) -> None:
    for build in BUILDS:
        name = f"--record launch_configuration.{build}"
        run = Run([str(TOP_BUILD / "kernels" / f"launch_configuration.{build}")], ["--record"])
        call = (run.incident or {}).get("launch", {}).get("failed_call", {})
        detail = f"status {run.status}\n{json.dumps(call)}\n{run.err}"
        checks.check(run.status == 1 and (run.incident or {}).get("kind") == "api-error", f"{name}: a report, and the program's status", detail)
        checks.check("2048" in str(call.get("why")) and "1024" in str(call.get("why")), f"{name}: asked for and allowed", detail)
        checks.check("nothing" in str(call.get("at", {}).get("name")), f"{name}: the kernel's name", detail)
        if record and run.incident:
            keep(run, record / f"record-launch-configuration-{build}")


def keep(run: Run, target: Path) -> None:
    """Copies the report folder; paths and names of this machine become neutral ones."""
    target.mkdir(parents=True, exist_ok=True)
    replace = [(str(run.dir / "reports"), "cudatrap-reports"), (str(TOP_BUILD.resolve()), "/home/user/build"), (str(TOP_SRC.resolve()), "/home/user/cudatrap"),
               (os.path.dirname(os.path.dirname(sys.executable)), "/home/user/venv"), (os.uname().nodename, "host"), (str(run.dir), "/home/user")]
    folder_names = (f"-{os.uname().nodename}-", "-host-")
    for file in run.folders[0].iterdir():
        text = file.read_text()
        for old, new in replace:
            if old:
                text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text)
        (target / file.name).write_text(text.replace(*folder_names))
    text = run.err
    for old, new in replace:
        text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text)
    (target / "stderr.txt").write_text(text.replace(*folder_names))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--only", help="part of the names of what to run")
    parser.add_argument("--engines", default="wait,live,core")
    args = parser.parse_args()
    checks = Checks()
    for kernel in KERNELS:
        for build in BUILDS:
            runs: Dict[str, Optional[Run]] = {}
            for engine in args.engines.split(","):
                if not args.only or args.only in f"{engine} {kernel}.{build}":
                    runs[engine] = check_kernel(checks, kernel, build, engine, args.record)
            if kernel != "launch_configuration":
                for other in [e for e in runs if e != "wait" and "wait" in runs]:
                    same_incident(checks, f"{kernel}.{build} wait and {other}", runs["wait"], runs[other])
    try:
        __import__("torch")
    except ImportError:
        print("# PyTorch is not installed here: its case was not run")
    else:
        torch_runs = {e: check_pytorch(checks, e, args.record) for e in args.engines.split(",") if not args.only or args.only in f"{e} pytorch"}
        for other in [e for e in torch_runs if e != "wait" and "wait" in torch_runs]:
            same_incident(checks, f"pytorch wait and {other}", torch_runs["wait"], torch_runs[other])
        if not args.only or args.only in "memory dump":
            check_memory_dump(checks, args.record)
        if not args.only or args.only in "attach":
            check_attach(checks, args.record)
        if not args.only or args.only in "processes":
            check_processes(checks, args.record)
        if not args.only or args.only in "without ptrace":
            check_without_ptrace(checks)
        if not args.only or args.only in "own ending":
            check_own_ending(checks)
    if not args.only or args.only.startswith("launches"):
        check_launches(checks, args.only or "", args.record)
    if not args.only or args.only in "python":
        check_python(checks, Run, TOP_SRC, TOP_BUILD)
    if not args.only or args.only in "sessions":
        neutral = [(str(TOP_BUILD.resolve()), "/home/user/build"), (str(TOP_SRC.resolve()), "/home/user/cudatrap"), (os.uname().nodename, "host"),
                   (sys.executable, "python"), (os.path.dirname(os.path.dirname(sys.executable)), "/home/user/venv")]
        check_sessions.run(checks, args.record, neutral)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
