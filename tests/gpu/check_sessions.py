"""Sessions on a terminal with the real cuda-gdb and a GPU: `cudatrap -i`, with engine wait, and `attach -i`. Run by check_gpu.py.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

TOP_SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2]))
TOP_BUILD = Path(os.environ.get("top_builddir", "."))
os.environ.setdefault("top_srcdir", str(TOP_SRC))
os.environ.setdefault("top_builddir", str(TOP_BUILD))
sys.path.insert(0, str(TOP_SRC / "tests" / "cli"))
from harness import Terminal  # noqa: E402
import harness  # noqa: E402

harness.PATIENCE = 90  # seconds: cuda-gdb loads the symbols of every library of PyTorch
PROMPT = r"\(cuda-gdb\) "
Check = Callable[[bool, str, str], None]
Steps = List[Tuple[str, List[str]]]  # a command, and the patterns that its answer must have
Neutral = List[Tuple[str, str]]


class Session:
    """One session, driven command by command, and all that was on its screen."""

    def __init__(self, words: List[str], env: Optional[Dict[str, str]] = None) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="check-gpu-"))
        command = [str(TOP_BUILD / "cudatrap"), *words]
        at = command.index("-i") + 1
        command[at:at] = ["--report-dir", str(self.dir / "reports")]
        shown = " ".join(["cudatrap", *words])
        self.transcript = f"$ {shown}\n"
        variables = {**os.environ, **(env or {}), "TERM": "dumb", "NO_COLOR": "1"}
        self.terminal = Terminal(command, variables, size=(40, 100))

    def prompt(self, pattern: str = PROMPT) -> str:
        found = self.terminal.expect(pattern)
        text = found.string[: found.end()].decode(errors="replace").replace("\r\n", "\n")
        self.transcript += text
        return text

    def ask(self, command: str, pattern: str = PROMPT) -> str:
        self.terminal.send(command.encode() + b"\n")
        return self.prompt(pattern)

    def quit(self) -> int:
        self.terminal.send(b"quit\n")
        try:
            self.prompt(r"y or n\) ")
            self.terminal.send(b"y\n")
        except AssertionError:
            pass  # nothing was left to ask about
        status, rest = self.terminal.end()
        self.transcript += rest.decode(errors="replace").replace("\r\n", "\n")
        return status

    @property
    def folders(self) -> List[Path]:
        return sorted((self.dir / "reports").glob("*/incident.json"))


def drive(check: Check, name: str, session: Session, first: List[str], steps: Steps, status: int, record: Optional[Path], neutral: Neutral) -> None:
    """Every step is tried, whatever became of the one before."""
    try:
        text = session.prompt()
        for pattern in first:
            check(bool(re.search(pattern, text)), f"{name}: the first screen has {pattern}", text)
        check("warning:" not in text and "[New Thread" not in text, f"{name}: a quiet start", text)
        for command, patterns in steps:
            text = session.ask(command)
            for pattern in patterns:
                check(bool(re.search(pattern, text)), f"{name}: {command}: {pattern}", text)
            check("Traceback" not in text, f"{name}: {command}: no Python error", text)
        got = session.quit()
        check(got == status, f"{name}: status {status}", f"{got}\n{session.transcript[-1500:]}")
        check(len(session.folders) == 1, f"{name}: one report folder", session.transcript[-1500:])
    except AssertionError as e:
        check(False, f"{name}: goes through", f"{e}\n{session.transcript[-3000:]}")
        session.terminal.close()
    print(f"# ---- {name}\n" + "\n".join("# " + line for line in session.transcript.splitlines()))
    if record:
        text = session.transcript
        for old, new in [(str(session.dir / "reports"), "cudatrap-reports"), *neutral]:
            text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text) if old else text
        record.mkdir(parents=True, exist_ok=True)
        (record / f"{name}.txt").write_text(text)  # a file, no folder: it is no report


KERNEL_STEPS: Steps = [
    ("set pagination off", []),  # nobody is there to press return
    ("trap why", [r"device-side assert"]),
    ("trap threads", [r"block \(", r"thread \("]),
    ("trap thread 1", [r"SM \d+ warp \d+ lane \d+"]),
    ("trap thread 999999 0", [r"out of range: \(0,0,0\) to"]),
    ("trap args", [r"arg0 "]),
    ("trap mem arg1 int64 4", [r":  0  1  3  0"]),
    ("trap mem 0x10 x8 16", [r"the debugger could not read GPU memory there"]),
    ("trap find -1", [r"\[517\] = -1"]),
    ("trap values", []),
    ("trap stack", [r"#0"]),
    ("trap regs", [r"R0 "]),
    ("trap asm", [r"PC 0x", r"#0"]),
    ("trap host full", [r"main"]),
    ("trap log", []),
    ("trap report", [r"The run"]),
]
TORCH_STEPS: Steps = [
    ("set pagination off", []),
    ("trap why", [r"nll_loss_forward_reduce_cuda_kernel_2d"]),
    ("trap threads", [r"block \(0,0,0\) thread \(2,0,0\)"]),
    ("trap args", [r"arg3  long const\* = 0x", r"arg8  long = 3"]),
    ("trap values", [r"array of argument 3: 32 int64"]),
    ("trap mem arg3 int64 4", [r"0x[0-9a-f]+:  -?\d+  -?\d+  3"]),
    ("trap find 3", [r"argument 8 = 3", r"\[2\] = 3"]),
    ("trap host", [r"train_step"]),
    ("trap python", [r"in train_step"]),
    ("print $trap_arg(8)", [r"= 3"]),
]
TENSOR_STEPS: Steps = [
    ("trap args", [r"arg3 .* (target|y)\n"]),
    ("trap tensors y", [r"y  int64 \[32\]  cuda:0"]),
    ("trap tensor y", [r"\[0\]  -?\d+  -?\d+  3"]),
    ("trap tensor y 2", [r"\[2\]  3"]),
    ("trap tensor y 32", [r"out of range: 0 to 31"]),
    ("trap tensor model.weight 0,:4", [r"\[0,0\]  "]),
    ("trap find 3", [r"y\[2\] = 3"]),
    ("trap python locals", [r"train_step"]),
    ("print/x $trap_tensor(\"y\")", [r"= 0x"]),
]


def check_commands(check: Check, record: Optional[Path], neutral: Neutral) -> None:
    for build in ("dbg", "rel"):
        program = str(TOP_BUILD / "kernels" / f"assert_blocks.{build}")
        again: Steps = [
            ("trap next", []),
            ("set confirm off", []),
            ("trap break-on pick_scores if threadIdx.x == 2", [r"Breakpoint|pending"]),
            ("run", [r"Breakpoint|CUDA Exception|trap"]),
            ("info breakpoints", [r"pick_scores"]),
            ("set confirm on", []),
        ]
        drive(check, f"session-live-assert-blocks-{build}", Session(["-i", "--", program]), [r"device-side assert", r"help trap"], [*KERNEL_STEPS, *again], 99, record, neutral)
    drive(check, "session-wait-assert-blocks-rel", Session(["--engine", "wait", "-i", "--", program]), [r"device-side assert"], KERNEL_STEPS, 99, record, neutral)


def check_torch(check: Check, record: Optional[Path], neutral: Neutral) -> None:
    script = [sys.executable, str(TOP_SRC / "tests" / "gpu" / "cross_entropy.py")]
    first = [r"nll_loss_forward_reduce_cuda_kernel_2d", r"train_step"]
    live: Steps = [*TORCH_STEPS, ("trap tensor y", [r"no tensors were read"]), ("trap next", [])]
    drive(check, "session-live-pytorch", Session(["-i", "--", *script]), first, live, 99, record, neutral)
    drive(check, "session-wait-pytorch", Session(["--engine", "wait", "-i", "--", *script]), first, [*TORCH_STEPS, *TENSOR_STEPS], 99, record, neutral)


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def check_hang(check: Check, record: Optional[Path], neutral: Neutral) -> None:
    target = subprocess.Popen([str(TOP_BUILD / "kernels" / "hang.line")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(3)  # until the kernel runs
    steps: Steps = [("trap threads all", [r"128"]), ("trap stack", [r"#0"])]
    drive(check, "session-attach-hang", Session(["attach", "-i", str(target.pid)]), [r"wait_for_flag"], steps, 0, record, neutral)
    time.sleep(1)
    check(target.poll() is None and state_of(target.pid) in "RS", "session-attach-hang: the process runs on", state_of(target.pid))
    target.kill()
    target.wait()


def check_waiting(check: Check, record: Optional[Path], neutral: Neutral) -> None:
    """A process that waits after its fault, without a cudatrap that started it."""
    env = {**os.environ, "CUDA_DEVICE_WAITS_ON_EXCEPTION": "1", "CUDA_LAUNCH_BLOCKING": "1"}
    target = subprocess.Popen([str(TOP_BUILD / "kernels" / "assert_blocks.rel")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    assert target.stderr
    for line in target.stderr:
        if b"can now attach a debugger" in line:
            break
    for number in (1, 2):  # left waiting, it can be attached to again
        session = Session(["attach", "-i", str(target.pid)])
        name = f"session-attach-waiting-{number}"
        try:
            text = session.prompt()
            check("device-side assert" in text, f"{name}: the fault is seen", text)
            session.ask("detach", r"Detach all the same\? \(y or n\) ")
            text = session.ask("n")
            check("not detached" in text, f"{name}: detach asks", text)
            check(session.quit() == 0, f"{name}: status 0", session.transcript)
        except AssertionError as e:
            check(False, f"{name}: goes through", f"{e}\n{session.transcript}")
            session.terminal.close()
        time.sleep(1)
        check(target.poll() is None, f"{name}: the process goes on waiting", str(target.poll()))
        print(f"# ---- {name}\n" + "\n".join("# " + line for line in session.transcript.splitlines()))
    target.kill()
    target.wait()


def run(checks: Any, record: Optional[Path], neutral: Neutral) -> None:
    def check(ok: bool, name: str, detail: str) -> None:
        checks.check(ok, name, detail)

    check_commands(check, record, neutral)
    check_hang(check, record, neutral)
    check_waiting(check, record, neutral)
    try:
        __import__("torch")
    except ImportError:
        print("# PyTorch is not installed here: its sessions were not run")
    else:
        check_torch(check, record, neutral)
