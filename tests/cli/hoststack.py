#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""src/hoststack/ against living processes: every CPython to be found, and a C++ program. TAP on stdout.

What each Python program must look like it says itself, just before it blocks (hoststack_target.py).
"""
from __future__ import annotations

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

HERE = Path(os.environ["top_srcdir"]) / "tests" / "cli"
DUMP = Path(os.environ["top_builddir"]) / "tests" / "cli" / "hoststack_dump"
WANTED = [f"3.{minor}" for minor in range(8, 15)]
Case = Tuple[str, Callable[[], None]]


class Skip(Exception):
    """Why a case cannot run here."""


def check(condition: Any, text: str) -> None:
    if not condition:
        raise AssertionError(text)


def dump(pid: int, *args: str) -> Dict[str, Any]:
    run = subprocess.run([str(DUMP), str(pid), *args], stdout=subprocess.PIPE, timeout=120, check=False)
    check(run.returncode == 0, f"hoststack_dump ended with {run.returncode}")
    return json.loads(run.stdout.decode("utf-8"))


class Target:
    """A process that has said where it stands; whatever happens, it is ended."""

    def __init__(self, argv: List[str], lines: int) -> None:
        env = {**os.environ, "PYTHONIOENCODING": "utf-8", "ASAN_OPTIONS": "detect_leaks=0"}
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        assert self.process.stdout and self.process.stdin
        self.said = [self.process.stdout.readline().decode("utf-8") for _ in range(lines)]

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def ends_by_itself(self, status: int) -> None:
        """It was left running: it still notices the end of its input."""
        self.process.stdin.close()
        check(self.process.wait(timeout=60) == status, f"ended with {self.process.returncode}, not {status}")


def state_of(pid: int, tid: int) -> Tuple[str, str]:
    text = Path(f"/proc/{pid}/task/{tid}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rsplit(")", 1)[1].split()[0], Path(f"/proc/{pid}/task/{tid}/wchan").read_text(encoding="utf-8")


def wait_until_blocked(pid: int, tid: int, seconds: float = 20) -> None:
    """Its report was written just before the call that blocks: until it is in there."""
    end, quiet = time.monotonic() + seconds, 0
    while quiet < 3 and time.monotonic() < end:
        quiet = quiet + 1 if state_of(pid, tid)[0] == "S" else 0
        time.sleep(0.01)
    check(quiet, f"thread {tid} does not block")


def shape(frames: List[Dict[str, Any]]) -> List[Tuple[str, int]]:
    return [(f["function"], f["line"]) for f in frames]


def expected_of(said: str) -> Tuple[int, List[Tuple[str, int]]]:
    told = json.loads(said)
    # A thread of threading starts in Thread._bootstrap, so that every frame is in the report.
    return told["tid"], [(name, line) for name, line, _ in told["frames"]]


def thread_of(threads: List[Dict[str, Any]], tid: int) -> Dict[str, Any]:
    found = [t for t in threads if t["tid"] == tid]
    check(len(found) == 1, f"{len(found)} threads {tid} among {[t['tid'] for t in threads]}")
    return found[0]


def same(got: List[Tuple[str, int]], want: List[Tuple[str, int]], what: str) -> None:
    if got != want:
        lines = [f"  {'=' if g == w else '!'} got {g}  want {w}" for g, w in zip(got, want)]
        raise AssertionError(f"{what}: {len(got)} frames, not {len(want)}\n" + "\n".join(lines))


def python_case(python: str, version: str, mode: str) -> None:
    with Target([python, str(HERE / "hoststack_target.py"), mode], 2) as target:
        pid = target.process.pid
        stacks = dict(expected_of(line) for line in target.said)
        for tid in stacks:
            if mode != "spin" or tid != pid:
                wait_until_blocked(pid, tid)
        got = dump(pid)
        check("walk" in got, f"walk: {got.get('walk_error')}")
        check("native_error" not in got, f"native: {got.get('native_error')}")
        check(version.startswith(got["walk"]["version"]), f"version {got['walk']['version']}, not {version}")
        for tid, want in stacks.items():
            walked, merged = thread_of(got["walk"]["threads"], tid), thread_of(got["merged"], tid)
            check(not walked["cut"], "cut")
            same(shape(walked["frames"]), want, f"walk of {tid}")
            check(merged["merged"], f"not merged: {merged['note']}")
            python_frames = [f for f in merged["frames"] if f["kind"] == "python"]
            same(shape(python_frames), want, f"merged stack of {tid}")
            left = [f["module"] for f in merged["frames"] if Path(f["module"] or "").name.startswith(("python3", "libpython"))]
            check(not left, f"frames of the interpreter are left: {left}")
        main = thread_of(got["merged"], pid)["frames"]
        order = [f["function"] or "" for f in main]
        inner, outer = order.index(next(n for n in order if n.endswith("compare_numbers"))), order.index("through_libc")
        check(any(n.startswith("qsort") or n.startswith("msort") for n in order[inner:outer]), f"no qsort in {order[inner:outer]}")
        check(mode == "spin" or main[0]["kind"] == "native", "the blocking call itself is missing")
        source = main[order.index("through_libc")]["source"] or ""
        check(source.startswith("libc.qsort(array, 2"), f"source {source!r}")
        target.ends_by_itself(5)


def recursion_case(python: str) -> None:
    with Target([python, str(HERE / "hoststack_target.py"), "recurse"], 1) as target:
        pid = target.process.pid
        tid, want = expected_of(target.said[0])
        wait_until_blocked(pid, tid)
        got = dump(pid)
        walked, merged = thread_of(got["walk"]["threads"], tid), thread_of(got["merged"], tid)
        check(walked["cut"] and len(walked["frames"]) == 256, f"{len(walked['frames'])} frames, cut {walked['cut']}")
        same(shape(walked["frames"]), want[:256], "walk")
        check(merged["merged"] and "missing" in (merged["note"] or ""), f"merged {merged['merged']}: {merged['note']}")
        same(shape([f for f in merged["frames"] if f["kind"] == "python"]), want[:256], "merged stack")
        target.ends_by_itself(5)


def pythons() -> Dict[str, Tuple[str, str]]:
    """"3.9" -> (path, "3.9.18"), of PATH and of pyenv."""
    names = [shutil.which("python3"), "/usr/bin/python3"] + [shutil.which(f"python{v}") for v in WANTED]
    names += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    found: Dict[str, Tuple[str, str]] = {}
    code = "import os, sys; print(os.path.realpath(sys.executable), sys.version.split()[0], sys.implementation.name)"
    for name in filter(None, names):
        run = subprocess.run([name, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        words = run.stdout.decode().split()
        minor = ".".join(words[1].split(".")[:2]) if len(words) == 3 else ""
        if minor in WANTED and words[2] == "cpython":
            # The system's own, too, when pyenv has the same version: one has a libpython, the other is one file.
            key = minor if minor not in found or found[minor][0] == words[0] else f"{minor} ({words[0]})"
            found[key] = (words[0], words[1])
    return found


def cxx_case(strip: bool) -> None:
    compiler = next(filter(None, map(shutil.which, ["c++", "g++", "clang++"])), None)
    if not compiler:
        raise Skip("no C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "threads")
        source = HERE / "hoststack_threads.cc"
        flags = ["-O2", "-fomit-frame-pointer", "-pthread", "-rdynamic"] + ([] if strip else ["-g"])
        subprocess.run([compiler, *flags, "-o", program, str(source)], check=True)
        if strip:
            subprocess.run(["strip", program], check=True)
        with Target([program], 1) as target:
            if strip:
                os.unlink(program)
            got = dump(target.process.pid)
            check("native_error" not in got, f"native: {got.get('native_error')}")
            check(got["walk_error"]["code"] == "not found", got["walk_error"]["text"])
            check(len(got["native"]) == 21, f"{len(got['native'])} threads")
            lines = source.read_text(encoding="utf-8").splitlines()
            for thread in got["merged"][1:]:
                index = int(thread["name"].split("-")[1])
                names = [f["function"] for f in thread["frames"]]
                want = ["app::Worker::wait_here(long)"] + ["void app::Worker::descend<long>(long)"] * (index + 1) + ["app::run(app::Worker, int)"]
                start = names.index(want[0])
                check(names[start:start + len(want)] == want, f"{thread['name']}: {names}")
                frame = thread["frames"][start]
                if strip:
                    check(frame["module"].endswith("threads (deleted)"), frame["module"])
                    check(frame["line"] == 0, "a line without line information")
                else:
                    check("// line: wait_here" in lines[frame["line"] - 1], f"line {frame['line']}")
                    check(frame["source"].startswith("while (read(fd"), str(frame["source"]))
            target.ends_by_itself(0)


def deadline_case() -> None:
    with Target([sys.executable, str(HERE / "hoststack_target.py"), "sleep"], 2) as target:
        got = dump(target.process.pid, "0")
        check(got["native_error"]["code"] == "timeout", str(got.get("native_error")))
        check(not got["native"], "threads after the deadline")
        # No native stacks: the Python frames are there all the same.
        check(thread_of(got["merged"], target.process.pid)["frames"][0]["kind"] == "python", "no Python frames")
        target.ends_by_itself(5)


def stopped_case() -> None:
    with Target([sys.executable, str(HERE / "hoststack_target.py"), "spin"], 2) as target:
        pid = target.process.pid
        target.process.send_signal(signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
        got = dump(pid)
        check(thread_of(got["merged"], pid)["merged"], "not merged")
        check(state_of(pid, pid)[0] == "T", f"state {state_of(pid, pid)[0]}")
        target.process.send_signal(signal.SIGCONT)
        target.ends_by_itself(5)


def namespaces_case() -> None:
    """A container: other thread ids inside than outside, and a file that only the process can see by that name."""
    unshare = ["unshare", "--mount", "--pid", "--fork"]
    if not shutil.which("unshare") or subprocess.run(unshare + ["true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("unshare --mount --pid is not permitted here")
    script = 'mount -t tmpfs none /mnt && cp "$1" /mnt/only_inside.py && exec "$2" /mnt/only_inside.py sleep'
    argv = unshare + ["sh", "-c", script, "sh", str(HERE / "hoststack_target.py"), sys.executable]
    with Target(argv, 2) as target:
        if not all(target.said):
            raise Skip("a tmpfs cannot be mounted in a mount namespace here")
        outer = target.process.pid
        pid = int(Path(f"/proc/{outer}/task/{outer}/children").read_text(encoding="ascii").split()[0])
        wait_until_blocked(pid, pid)
        got = dump(pid)
        want = next(frames for tid, frames in map(expected_of, target.said) if tid == 1)
        frames = thread_of(got["merged"], pid)["frames"]
        same(shape([f for f in frames if f["kind"] == "python"]), want, "merged stack")
        check(frames[-1]["file"] == "/mnt/only_inside.py" and frames[-1]["source"] == "main()", str(frames[-1]))
        target.ends_by_itself(5)


def gone_case() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    got = dump(child.pid)
    check(got["walk_error"]["code"] == got["native_error"]["code"] == "not found", str(got))


def some_python(found: Dict[str, Tuple[str, str]]) -> None:
    missing = [v for v in WANTED if v not in found]
    print("# tried: " + ", ".join(f"{v} {path}" for path, v in found.values()))
    print("# not available here: " + (", ".join(missing) or "none"))
    check(found, "no CPython 3.8 to 3.14 found")


def cases() -> List[Case]:
    found = pythons()
    rows: List[Case] = [("at least one CPython of 3.8 to 3.14 is here", lambda: some_python(found))]
    for key, (path, version) in sorted(found.items()):
        for mode in ["sleep", "read", "spin"]:
            rows.append((f"Python {key}, {mode}: names, lines, merged", lambda p=path, v=version, m=mode: python_case(p, v, m)))
        rows.append((f"Python {key}: recursion deeper than the limit", lambda p=path: recursion_case(p)))
    return rows + [
        ("C++ without frame pointers", lambda: cxx_case(False)),
        ("C++ stripped and deleted", lambda: cxx_case(True)),
        ("a deadline that has passed", deadline_case),
        ("a stopped process stays stopped", stopped_case),
        ("a process in namespaces of its own", namespaces_case),
        ("a process that has ended", gone_case),
    ]


def main() -> int:
    failed = 0
    rows = cases()
    print(f"1..{len(rows)}")
    for number, (name, case) in enumerate(rows, 1):
        error: Optional[BaseException] = None
        try:
            case()
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
            continue
        except (AssertionError, ValueError, KeyError, StopIteration, TypeError, OSError, subprocess.SubprocessError) as e:
            error = e
        for line in f"{type(error).__name__}: {error}".splitlines() if error else []:
            print("# " + line)
        print(f"{'not ok' if error else 'ok'} {number} - {name}", flush=True)
        failed += error is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
