# SPDX-License-Identifier: GPL-3.0-or-later
"""The `trap` commands in the real cuda-gdb, on dumps, against stored texts and against `cudatrap shell`. UPDATE_GOLDEN=1 rewrites the texts."""

from __future__ import annotations

import lzma
import json
import os
import re
import shutil
import subprocess
import sys
from typing import List

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

GOLDEN = os.path.join(tap.TOP, "tests", "data", "gdb-commands")
PROGRAM = os.path.join(tap.BUILD, "cudatrap")
CASES = ("address.rel", "assert.line", "spin.line", "stack.dbg", "torch-cross-entropy-sm90", "trap.rel")
MARK = "====="


def cuda_gdb() -> str:
    return tap.drive("find").stdout.decode().split(None, 4)[4].strip()


def ask(name: str, *commands: str, program: str = PROGRAM) -> List[str]:
    """What each command writes, failures too. name "": without a dump."""
    with tap.Scratch() as scratch:
        words = [cuda_gdb(), "-q", "-nx", "-batch", "-x", os.path.join(tap.SCRIPTS, "trap.py")]
        if name:
            path = os.path.join(scratch, "dump")
            with lzma.open(os.path.join(tap.DATA, name + ".nvcore.xz")) as packed, open(path, "wb") as file:
                shutil.copyfileobj(packed, file)
            words += ["-ex", f"target cudacore {path}"]
        for command in commands:
            words += ["-ex", f"echo {MARK}\\n", "-ex", command]
        environment = tap.environment(CUDATRAP_PROGRAM=program, TMPDIR=scratch, LC_ALL="C.UTF-8")
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        return done.stdout.decode().split(MARK + "\n")[1:]


def shell(name: str, command: str) -> str:
    path = os.path.join(tap.DATA, name + ".nvcore.xz")
    return subprocess.run([PROGRAM, "shell", path, "-c", command], stdout=subprocess.PIPE, timeout=300, check=True).stdout.decode()


def compare(name: str, text: str) -> None:
    path = os.path.join(GOLDEN, f"{name}.txt")
    if os.environ.get("UPDATE_GOLDEN") == "1":
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        tap.equal(text, file.read(), name)


def test_answers_on_dumps() -> None:
    commands = ("trap why", "trap threads", "trap thread", "trap args", "trap stack", "trap thread 1", "trap values", "trap mem arg0 int64 4", "trap find 3")
    for name in CASES:
        got = ask(name, *commands)
        text = "".join(f"(cuda-gdb) {command}\n{answer}" for command, answer in zip(commands, got))
        compare(name, text)
        # Two readers of the same bytes.
        tap.equal(got[3], shell(name, "args"), f"{name}: args")
        tap.equal(got[1], shell(name, "threads"), f"{name}: threads")


def test_focus_moves_and_is_the_debuggers_own() -> None:
    there = "nll_forward block (4,0,0) thread (5,0,0)"
    got = ask("assert.line", "trap thread 2", "trap thread 0 2", "trap thread (4,0,0) (5)", "print threadIdx.x", "cuda block 0 thread 2", "trap thread")
    tap.equal([got[0].startswith(there), "block (0,0,0) thread (2,0,0)" in got[1], got[2].startswith(there)], [True, True, True])
    tap.equal(got[3], "$1 = 5\n")
    tap.equal("block (0,0,0) thread (2,0,0)" in got[5], True)


def test_argument_function() -> None:
    got = ask("assert.line", "print $trap_arg(3)", "print $trap_arg(3) * 2 + 1", "print/x $trap_arg(0)", "print $trap_arg(9)", "print $trap_arg()")
    args = shell("assert.line", "args").splitlines()
    tap.equal(got[0], "$1 = " + args[3].split(" = ")[1] + "\n")
    tap.equal(got[1], f"$2 = {int(args[3].split(' = ')[1]) * 2 + 1}\n")
    tap.equal(got[2], "$3 = " + args[0].split(" = ")[1] + "\n")
    tap.equal("there is no argument 9: the kernel has 5" in got[3], True)
    tap.equal("usage: $trap_arg(N)" in got[4], True)


def test_bad_input_says_what_would_be_right() -> None:
    cases = {
        "trap thread 9 9": "block (9,0,0) is out of range: (0,0,0) to (7,0,0)",
        "trap thread 0 128": "thread (128,0,0) is out of range: (0,0,0) to (127,0,0)",
        "trap thread 0 3": "is not on the GPU: it has ended, or not begun",
        "trap thread 3": "there is no failing thread 3: they are 1 to 2",
        "trap thread x": "'x' is neither a number nor a thread such as 2,0,0",
        "trap thread 0 x": "'x' is not a thread such as 2,0,0",
        "trap thread x 0": "'x' is not a block such as 0,0,0",
        "trap thread 1 2 3": "usage: trap thread [N | [BLOCK] THREAD]",
        "trap threads some": "usage: trap threads [all]",
        "trap why not": "usage: trap why",
        "trap report load x": "usage: trap report [save FILE]",
        "trap report save /nonexistent/x": "No such file or directory",
        "trap source 7": "there is no frame '7': `trap stack` shows 1",
        "trap log": "run the program under cudatrap",
        "trap host": "a GPU core dump holds no host stack",
        "trap nonsense": "Undefined trap command",
        "trap mem": "usage: trap mem ADDRESS | argN [TYPE [COUNT]]",
        "trap mem arg9": "there is no argument 9: the kernel has 5",
        "trap mem arg1 i7": "'i7' is none of: u8, i8",
        "trap mem arg1 i64 0": "'0' is not a count from 1 to 4096",
        "trap mem arg1 i64 9999": "'9999' is not a count from 1 to 4096",
        "trap mem arg1 i64": "128 bytes at 0x7fc0c3e04000 are not in this dump (global memory is kept by `cudatrap --engine core --dump memory`)",
        "trap mem x y": "is none of: u8",
        "trap mem no_such_symbol": "'no_such_symbol' is neither an address nor an argument such as arg0",
        "trap tensor y": "a GPU core dump knows no tensors",
        "trap tensors": "a GPU core dump knows no tensors",
        "trap tensor arg1": "is no array whose sizes are known: `trap mem arg1 TYPE COUNT` shows what it points to",
        "trap python": "a GPU core dump holds no host stack",
        "trap up": "a GPU core dump holds no host stack",
        "trap find": "usage: trap find VALUE",
        "trap find 1.5": "'1.5' is not an integer",
        "trap next": "trap next: a GPU core dump does not run",
        "trap break-on nll_forward": "trap break-on: a GPU core dump does not run",
        "trap on-launch nll_forward": "trap on-launch: a GPU core dump does not run",
        "detach": "a GPU core dump has no process to let go",
    }
    for (command, words), answer in zip(cases.items(), ask("assert.line", *cases)):
        if words not in answer or "Traceback" in answer:
            raise AssertionError(f"{command}: {answer}")


def test_registers_source_and_instructions() -> None:
    regs, source, asm, nowhere = ask("assert.line", "trap regs", "trap source", "trap asm", "trap source 0")
    tap.equal("R0 " in regs, True)
    tap.equal(source.splitlines()[0], "/tmp/src/faults.cu:9")
    tap.equal(asm.startswith("PC 0x"), True)
    tap.equal(nowhere.splitlines()[0], "/tmp/src/faults.cu:9")
    tap.equal("no line information" in ask("assert.rel", "trap source")[0], True)


# What a session has besides the GPU: the front-end's incident of the same program, and its memory, which no dump here holds.
SESSION = os.path.join(tap.TOP, "tests", "gpu", "recorded", "wait-pytorch", "incident.json")
with open(SESSION, encoding="utf-8") as session_file:
    LABELS = next(int(t["data_ptr"], 16) for t in json.load(session_file)["tensors"] if t["name"] == "y")
STAND_IN = (
    "python import cudatrap.memcommands as m, cudatrap.stop, gdb, struct\n"
    f"m.read_memory = lambda a, n: (struct.pack('<32q', *([2, 0, 3] + [1] * 29)) * 8)[a - {LABELS:#x} :][:n] if a >= {LABELS:#x} else bytes(n)\n"
    f"cudatrap.stop.adopt({SESSION!r})"
)


def session(*commands: str) -> List[str]:
    """On a dump, with what a session knows put beside it."""
    with tap.Scratch() as scratch:
        path = os.path.join(scratch, "stand-in")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STAND_IN.replace("python ", "python\n", 1) + "\nend\n")
        return ask("torch-cross-entropy-sm90", f"source {path}", *commands)[1:]


def test_answers_in_a_session() -> None:
    commands = (
        "trap why", "trap values", "trap tensors target", "trap tensor y", "trap tensor y 1:4", "set trap elements 3", "trap tensor y", "trap tensor target 99",
        "trap tensor weight 0", "trap tensor nothing", "trap find 3", "trap find -7", "trap find x", "print/x $trap_tensor(\"y\")", "trap mem $trap_tensor(\"y\") i64 3",
        "trap host", "trap frame 35", "trap down", "trap up", "trap up", "trap frame 99", "trap python", "trap python locals", "trap log",
    )  # fmt: skip
    got = session(*commands)
    compare("session", "".join(f"(cuda-gdb) {command}\n{answer}" for command, answer in zip(commands, got)))


def test_plain_locals_stand_beside_the_tensors() -> None:
    """The recorded incident is from before they were read: they are put into a copy of it."""
    with tap.Scratch() as scratch:
        with open(SESSION, encoding="utf-8") as file:
            incident = json.load(file)
        step = next(row for row in incident["tensors"] if row["function"] == "train_step")
        place = {key: step[key] for key in ("tid", "depth", "function", "file", "line")}
        module = {**place, "depth": 99, "function": "<module>"}
        incident["python_locals"] = [{"name": "rate", "value": "0.1", "role": "argument", **place}, {"name": "n", "value": "'a'", "role": "local", **module}]
        path, script = os.path.join(scratch, "incident.json"), os.path.join(scratch, "stand-in")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(incident, file)
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"python\nimport cudatrap.stop\ncudatrap.stop.adopt({path!r})\nend\n")
        got = ask("torch-cross-entropy-sm90", f"source {script}", "trap python locals")[1]
    tensors, plain = got.index("model.bias"), got.index("\n  rate = 0.1\nmain  ")
    tap.equal(tensors < plain, True)
    tap.equal(got.endswith(f"<module>  {step['file']}:{step['line']}  thread {step['tid']}\n  n = 'a'\n"), True)


def test_help_of_every_command_is_in_the_manual() -> None:
    with open(os.path.join(tap.TOP, "doc", "cudatrap-gdb.7"), encoding="utf-8") as file:
        manual = file.read().replace("\\-", "-").replace("\\(dq", '"')
    listed = re.findall(r"^trap ([a-z-]+) -- (.*)$", ask("", "help trap")[0], re.MULTILINE)
    tap.equal(len(listed) >= 23, True)
    helps = ask("", *(f"help trap {name}" for name, _ in listed))
    for (name, first), text in zip(listed, helps):
        usage = re.search(r"^Usage: (trap .*)$", text, re.MULTILINE)
        tap.equal(bool(usage), True, f"{name}: {text}")
        entry = f".TP\n.B {usage[1] if usage else ''}\n{first}\n"
        if entry not in manual:
            raise AssertionError(f"doc/cudatrap-gdb.7 lacks:\n{entry}")
    named = set(re.findall(r"^\.B trap ([a-z-]+)", manual, re.MULTILINE))
    tap.equal(named - {name for name, _ in listed}, set(), "in the manual only")
    settings = re.findall(r"^set trap ([a-z-]+) -- ", ask("", "help set trap")[0], re.MULTILINE)
    for setting in settings:
        tap.equal(f".B set trap {setting} " in manual, True, setting)
    for function in ("trap_arg", "trap_tensor"):
        tap.equal(f".BI $ {function}" in manual.replace("$trap", "$ trap"), True, function)


def test_a_launch_stops_once() -> None:
    ask_twice = (
        "python import cudatrap.runcommands as r, types; s = types.SimpleNamespace(seen=set()); "
        "print([r.LaunchStop.stop(s) for _ in range(3)], s.seen)"
    )
    tap.equal(ask("assert.line", ask_twice), ["[True, False, False] {(0, 2)}\n"])


def test_words_are_completed() -> None:
    got = session("complete trap tensor model.w", "complete trap tensors t", "complete trap host f", "complete trap threads ", "complete trap py")
    tap.equal(got[0:4], ["trap tensor model.weight\n", "trap tensors target\n", "trap host full\n", "trap threads all\n"])
    tap.equal(got[4], "trap python\n")


def test_settings_are_checked() -> None:
    got = ask("", "set trap elements 5", "show trap elements", "set trap elements 0", "show trap elements", "set trap say-why maybe", "show trap")
    tap.equal(got[0:4], ["", "trap elements is 5.\n", "trap elements: a number from 1 on\n", "trap elements is 5.\n"])
    tap.equal("elements:  5\n" in got[5] and "say-why:  True\n" in got[5], True)


def test_report_is_saved_and_shown_again() -> None:
    with tap.Scratch() as scratch:
        path = os.path.join(scratch, "x.json")
        tap.equal(ask("assert.line", f"trap report save {path}"), [f"written: {path}\n"])
        tap.equal(subprocess.run([PROGRAM, "report", path], stdout=subprocess.PIPE, check=True).stdout.startswith(b"cudatrap: device-side assert in nll_forward"), True)


def test_without_a_fault_or_the_program() -> None:
    tap.equal(ask("", "trap why"), ["no program and no GPU core dump is being debugged\n"])
    got = ask("assert.line", "trap why", "trap args", program="/nonexistent/cudatrap")
    tap.equal(("No such file or directory" in got[0], "arg0" in got[1]), (True, True))


if __name__ == "__main__":
    tap.need_cuda_gdb()
    tap.run([test for name, test in list(globals().items()) if name.startswith("test_")])
