#!/usr/bin/env python3
"""Runs a command that may not trace, as in a container without SYS_PTRACE: ptrace and process_vm_readv fail with EPERM (seccomp(2)).

    without_ptrace.py COMMAND [ARGUMENT]...

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from typing import List

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h
# ptrace, process_vm_readv: asm/unistd_64.h; asm-generic/unistd.h
REFUSED = {"x86_64": (101, 310), "aarch64": (117, 270)}
LOAD_NUMBER, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K (linux/bpf_common.h)
ALLOW, ERRNO = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO


def instruction(code: int, true: int, false: int, k: int) -> bytes:
    return struct.pack("<HBBI", code, true, false, k)


def filter_program(numbers: List[int]) -> bytes:
    program = instruction(LOAD_NUMBER, 0, 0, 0)
    for i, number in enumerate(numbers):
        program += instruction(JUMP_EQUAL, len(numbers) - i, 0, number)
    return program + instruction(RETURN, 0, 0, ALLOW) + instruction(RETURN, 0, 0, ERRNO | errno.EPERM)


def refuse_tracing() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    program = ctypes.create_string_buffer(filter_program(list(REFUSED[platform.machine()])))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", (len(program) - 1) // 8, ctypes.addressof(program)))
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header), 0, 0)):
        if libc.prctl(*[ctypes.c_ulong(a) for a in arguments]) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: without_ptrace.py COMMAND [ARGUMENT]...")
    refuse_tracing()
    os.execvp(sys.argv[1], sys.argv[1:])
