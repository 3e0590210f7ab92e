# SPDX-License-Identifier: GPL-3.0-or-later
"""The pretty printers in the real cuda-gdb, on a program with stand-ins for PyTorch's types."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import List

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

SOURCE = os.path.join(tap.TOP, "tests", "gdb", "types.cc")
MARK = "====="
COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)


def printed(*expressions: str) -> List[str]:
    gdb = tap.drive("find").stdout.decode().split(None, 4)[4].strip()
    words = [gdb, "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", os.path.join(tap.SCRIPTS, "trap.py"), "-ex", "break stop_here", "-ex", "run"]
    for expression in expressions:
        words += ["-ex", f"echo {MARK}\\n", "-ex", f"output {expression}", "-ex", "echo \\n"]
    with tap.Scratch() as scratch:
        program = os.path.join(scratch, "types")
        # With debug information and without the flags of this build, as PyTorch's own debug builds are.
        subprocess.run([COMPILER or "c++", "-g", "-O0", "-std=c++17", SOURCE, "-o", program], check=True)
        environment = tap.environment(TMPDIR=scratch, LC_ALL="C.UTF-8", SHELL="/bin/sh")
        done = subprocess.run([*words, program], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    return [text.splitlines()[0] for text in done.stdout.decode().split(MARK + "\n")[1:]]


def check(**wanted: str) -> None:
    for (name, text), got in zip(wanted.items(), printed(*wanted)):
        tap.equal(got, text, name)


def test_sixteen_bit_floats() -> None:
    check(cuda_half="1.5", cuda_bfloat="-3", half="-inf", not_a_number="nan", bfloat="1", tiny="0x38")


def test_small_types_of_pytorch() -> None:
    check(scalar="int64", device="cuda:3", host="cpu", sizes="[1, 2, 3]")


def test_tensors() -> None:
    labels, deep, undefined = printed("labels", "deep", "undefined")
    tap.equal(labels.partition("  impl 0x")[0], "Tensor int64  [32, 3]  cuda:0")
    tap.equal(deep.partition("  impl 0x")[0], "Tensor bfloat16  [1, 2, 3, 4, 5, 6]")
    tap.equal(undefined, "Tensor undefined tensor")


def test_damaged_values_are_said_to_be_so() -> None:
    broken, nowhere = printed("broken", "nowhere")
    tap.equal((broken, nowhere), ("<65 elements>", "<Cannot access memory at address 0x0>"))


if __name__ == "__main__":
    tap.need_cuda_gdb()
    if COMPILER is None:
        tap.ends("no C++ compiler")
    tap.run([test for name, test in list(globals().items()) if name.startswith("test_")])
