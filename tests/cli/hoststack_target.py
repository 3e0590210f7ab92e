# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python program that says where its threads stand, and then stays there: the truth that hoststack.py compares with.

usage: hoststack_target.py sleep|read|spin|recurse.  One JSON line a thread, ends with its standard input.
"""
import asyncio
import functools
import json
import os
import sys
import threading
import time

HOLD_READ, HOLD_WRITE = os.pipe()
OUT_LOCK = threading.Lock()


def report(step=0):
    """Prints the caller's stack, innermost first. Its own line is `step` lines further down: what it does next."""
    frames, frame = [], sys._getframe(1)
    while frame:
        code = frame.f_code
        frames.append([getattr(code, "co_qualname", code.co_name), frame.f_lineno + step, code.co_filename])
        frame, step = frame.f_back, 0
    with OUT_LOCK:
        print(json.dumps({"tid": threading.get_native_id(), "frames": frames}), flush=True)


def stay_sleep():
    report(), time.sleep(10000)


def stay_read():
    report(), os.read(HOLD_READ, 1)


def stay_spin():
    report(1)
    while True: pass  # noqa: E701


def stay_recurse(depth=300):
    if depth:
        return stay_recurse(depth - 1) + 1
    return report(), time.sleep(10000)


STAY = {"sleep": stay_sleep, "read": stay_read, "spin": stay_spin, "recurse": stay_recurse}[sys.argv[1]]


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):

        return function(*args, **kwargs)
    return wrapper


def größe_模型_𐍈(x):
    return STAY() if x else None


class Trainer:
    class Inner:
        def __init__(self, go):
            self.value = (
                1,
                größe_模型_𐍈(go),
            )

    def __call__(self, go):
        return Trainer.Inner(go)

    @decorated
    def step(self, go):
        return self(go)


def generator(go):
    yield 0
    yield Trainer().step(go)


async def coroutine(go):
    await asyncio.sleep(0)
    return [x for x in generator(go)]


async def outer_coroutine(go):
    return await coroutine(go)


def callback(go):
    # Through sorted(), a C function, and back.
    return sorted([1], key=lambda _: [asyncio.run(outer_coroutine(go)) for _ in range(1)] and 1)


def through_libc(go):
    """Through qsort() of libc, native code that is not the interpreter's."""
    import ctypes
    libc = ctypes.CDLL(None)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    array = (ctypes.c_int * 2)(2, 1)

    def compare_numbers(a, b):
        callback(go)
        return 0
    libc.qsort(array, 2, ctypes.sizeof(ctypes.c_int), compare(compare_numbers))


def main():
    for _ in range(40):  # warm: later versions specialise and inline calls
        Trainer().step(False)
        list(generator(False))
    callback(False)
    if STAY is not stay_recurse:
        threading.Thread(target=lambda: (report(), os.read(HOLD_READ, 1)), name="loader", daemon=True).start()
    if STAY is stay_recurse:
        STAY()
    else:
        through_libc(True)


def end_with_input():
    sys.stdin.read()
    os._exit(5)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    main()
