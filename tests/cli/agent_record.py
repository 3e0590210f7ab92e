# The launch recorder in real processes: what it says of launches, and that what it watches goes on as before.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import traceback
from typing import Any, Callable, Dict, List, Tuple

from agent_lab import HELPERS, PATIENCE_S, Lab, Skip, equal, lab, wait_for
from agent import find_pythons

PRELUDE = '''
import ctypes, os, sys
libcuda = ctypes.CDLL("libcuda.so.1")
def proc(name, flags=0, entry=None, version=12000):
    out = ctypes.c_void_p()
    entry = entry or libcuda.cuGetProcAddress_v2
    assert entry(name, ctypes.byref(out), version, ctypes.c_uint64(flags), None) == 0, name
    return ctypes.CFUNCTYPE(ctypes.c_int)(out.value)
def numbers(*values):
    return [ctypes.c_uint(v) for v in values]
def launch(function, handle, block=32, stream=0, arguments=()):
    cells = [ctypes.c_int(arguments[0]), ctypes.c_long(arguments[1])] if arguments else []
    table = (ctypes.c_void_p * 3)(*[ctypes.addressof(c) for c in cells])
    return function(ctypes.c_void_p(handle), *numbers(4, 5, 6, block, 1, 1, 0), ctypes.c_void_p(stream), table if arguments else None, None)
'''


def run(l: Lab, python: str, body: str, depth: str = "4096", **changes: Any) -> Tuple[int, str, int]:
    env = l.environment(CUDATRAP_RECORD=depth, CUDATRAP_RECORD_DIR=l.sockets, **changes)
    target = subprocess.Popen([python, "-c", PRELUDE + body], env=env, stdout=subprocess.PIPE, universal_newlines=True)
    out = target.communicate(timeout=PATIENCE_S)[0]
    return target.returncode, out, target.pid


def show(l: Lab, pid: int, limit: int = 1000000) -> List[str]:
    done = subprocess.run([os.path.join(HELPERS, "agent_launches"), "%s/launches.%d" % (l.sockets, pid), str(limit)],
                          stdout=subprocess.PIPE, universal_newlines=True, check=False)
    return done.stdout.splitlines()


def lines_of(body: str) -> Dict[str, int]:
    """The line of each mark "#name" in the program."""
    found = {}
    for number, line in enumerate((PRELUDE + body).split("\n"), 1):
        mark = re.search(r"#(\w+)$", line)
        if mark:
            found[mark.group(1)] = number
    return found


def check_launches(python: str, version: Tuple[int, int]) -> None:
    body = '''
plain, own = proc(b"cuLaunchKernel"), proc(b"cuLaunchKernel", 2)
def work():
    return launch(plain, 1, arguments=(0x11223344, 0x55667788)) #first
assert work() == 0 #outer
assert launch(own, 2) == 801 #own
assert launch(libcuda.cuLaunchKernel, 2, stream=7) == 0 #direct
class Made:
    def __init__(self):
        assert libcuda.cuGraphLaunch(ctypes.c_void_p(9), ctypes.c_void_p(8)) == 0 #init
Made() #graph
assert launch(proc(b"cuLaunchKernel", 0, proc(b"cuGetProcAddress")), 3) == 0 #itself
'''
    at = lines_of(body)
    inner = next(n for n, line in enumerate(PRELUDE.split("\n"), 1) if "return function(" in line)
    with lab() as l:
        status, _, pid = run(l, python, body)
        equal(status, 0)
        got = show(l, pid)
        assert re.match(r"pid %d depth 4096 seen 5 kept 5 without ring 0 python 3\.\d+\.\d+ frames yes sticky 0$" % pid, got[0]), got[0]
        launches = [line for line in got if line.startswith("launch ")]
        call, top = "launch:<string>:%d" % inner, "<module>:<string>:%d"
        equal(launches, [
            "launch 0.5 ? grid 4,5,6 block 32,1,1 stream 0 arguments /0 result 0 frames %s %s" % (call, top % at["itself"]),
            "launch 0.4 ? graph grid 0,0,0 block 0,0,0 stream 8 arguments /0 result 0 frames %s:<string>:%d %s"
            % ("Made.__init__" if version >= (3, 11) else "__init__", at["init"], top % at["graph"]),
            "launch 0.3 second_kernel grid 4,5,6 block 32,1,1 stream 7 arguments /0 result 0 frames %s %s" % (call, top % at["direct"]),
            "launch 0.2 second_kernel per-thread grid 4,5,6 block 32,1,1 stream 0 arguments /0 result 801 frames %s %s" % (call, top % at["own"]),
            "launch 0.1 _Z12first_kernelil grid 4,5,6 block 32,1,1 stream 0 arguments 44332211000000008877665500000000/16 result 0 frames "
            "%s work:<string>:%d %s" % (call, at["first"], top % at["outer"]),
        ])


def check_failures(python: str) -> None:
    body = '''
plain, alloc = proc(b"cuLaunchKernel"), proc(b"cuMemAlloc")
at = ctypes.c_uint64()
assert alloc(ctypes.byref(at), ctypes.c_size_t(100)) == 0
assert alloc(ctypes.byref(at), ctypes.c_size_t(5000000)) == 2 #alloc
assert launch(plain, 1, block=2048, arguments=(1, 2)) == 1
assert launch(plain, 1, stream=719, arguments=(1, 2)) == 719
assert launch(plain, 1, stream=719, arguments=(1, 2)) == 719
'''
    with lab() as l:
        status, _, pid = run(l, python, body)
        equal(status, 0)
        got = show(l, pid)
        assert got[0].endswith("sticky 719"), got[0]
        failures = [line.split(" frames")[0] for line in got if line.startswith("failure ")]
        equal(failures, [
            "failure cuMemAlloc_v2 result 2 bytes 5000000 free 1000000 block 0 max -1 sm 2075 sticky 0",
            "failure cuLaunchKernel result 1 bytes 0 free 0 block 2048 max 1000 sm 2075 sticky 0",
            "failure cuLaunchKernel result 719 bytes 0 free 0 block 32 max -1 sm 2075 sticky 1",
            "failure cuLaunchKernel result 719 bytes 0 free 0 block 32 max -1 sm 2075 sticky 1",
        ])
        assert "<module>:<string>:%d" % lines_of(body)["alloc"] in got[1], got[1]


def check_code_reuse(python: str) -> None:
    """Code objects that die and come again at the same address, with another line in the same table length."""
    body = '''
plain = proc(b"cuLaunchKernel")
for i in range(300):
    exec(compile("\\n" * (i % 100) + "launch(plain, 2, stream=%d)" % (1000 + i), "made%03d" % i, "exec"))
'''
    with lab() as l:
        status, _, pid = run(l, python, body)
        equal(status, 0)
        launches = [line for line in show(l, pid) if line.startswith("launch ")]
        equal(len(launches), 300)
        for line in launches:
            i = int(re.search(r"stream (\d+)", line).group(1)) - 1000
            assert " <module>:made%03d:%d " % (i, i % 100 + 1) in line, line


def check_wrap(python: str) -> None:
    body = '''
plain = proc(b"cuLaunchKernel")
for i in range(5000):
    launch(plain, 2, stream=1000 + i)
'''
    with lab() as l:
        status, _, pid = run(l, python, body)
        equal(status, 0)
        launches = [line for line in show(l, pid) if line.startswith("launch ")]
        equal([int(re.search(r"stream (\d+)", line).group(1)) for line in launches], list(range(5999, 5999 - 2048, -1)))


def check_killed(python: str) -> None:
    """Killed at any time, a record reads: all launches but the one in hand."""
    body = '''
plain = proc(b"cuLaunchKernel")
print("1", flush=True)
while True:
    launch(plain, 1, arguments=(3, 4))
'''
    for _ in range(5):
        with lab() as l:
            env = l.environment(CUDATRAP_RECORD="4096", CUDATRAP_RECORD_DIR=l.sockets)
            target = subprocess.Popen([python, "-c", PRELUDE + body], env=env, stdout=subprocess.PIPE, universal_newlines=True)
            target.stdout.readline()
            live = wait_for("a launch", lambda: [g for g in [show(l, target.pid)] if len(g) > 1])[0]  # while it runs
            target.send_signal(signal.SIGKILL)
            target.wait()
            target.stdout.close()
            for got in (live, show(l, target.pid)):
                assert got[0].startswith("pid %d " % target.pid), got
                for line in got[1:]:
                    assert line.startswith("launch 0.") and " _Z12first_kernelil grid 4,5,6 " in line, line


def check_fork(python: str) -> None:
    body = '''
plain = proc(b"cuLaunchKernel")
launch(plain, 1, arguments=(1, 1))
child = os.fork()
if child == 0:
    launch(plain, 2)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
launch(plain, 1, arguments=(1, 2))
print(child)
'''
    with lab() as l:
        status, out, pid = run(l, python, body)
        equal(status, 0)
        names = [[line.split()[2] for line in show(l, p)[1:]] for p in (pid, int(out))]
        equal(names, [["_Z12first_kernelil"] * 2, ["second_kernel"]])


def check_threads(python: str) -> None:
    body = '''
import threading
plain = proc(b"cuLaunchKernel")
def work(stream):
    for i in range(50):
        launch(plain, 2, stream=stream)
for begin in (0, 40):
    threads = [threading.Thread(target=work, args=(begin + i,)) for i in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
'''
    with lab() as l:
        status, _, pid = run(l, python, body)
        equal(status, 0)
        got = show(l, pid)
        assert " without ring 0 " in got[0], got[0]
        for line in got[1:]:
            assert " second_kernel " in line and " work:<string>:" in line, line


def check_backward(python: str) -> None:
    """torch's counter is 6 when the forward of node 5 launches."""
    body = '''
torch = ctypes.CDLL("agent-libtorch.so")
plain = proc(b"cuLaunchKernel")
for sequence in (5, 6, 7):
    torch.set_sequence(ctypes.c_ulong(sequence))
    launch(plain, 1, arguments=(1, 2))
torch.set_node(ctypes.c_ulong(5))
launch(plain, 2)
torch.set_node(ctypes.c_ulong(77))
launch(plain, 2)
assert torch.count_references() == 1
'''
    with lab() as l:
        status, _, pid = run(l, python, body)
        equal(status, 0)
        got = [line.split(" <module>:")[1].split(" ", 1)[1:] for line in show(l, pid)[1:]]
        equal(got, [["backward of 0"], ["backward of 2"], [], [], []])


def check_capture(python: str) -> None:
    body = '''
plain = proc(b"cuLaunchKernel")
graph = ctypes.c_void_p()
for version in (10000, 11000):  # as libcudart: each form, the old ones first
    proc(b"cuStreamBeginCapture", version=version), proc(b"cuGraphInstantiate", version=version)
assert launch(plain, 2, stream=5) == 0
assert proc(b"cuStreamBeginCapture")(ctypes.c_void_p(5), 0) == 0
assert launch(plain, 1, stream=5, arguments=(1, 2)) == 0 #captured
assert launch(plain, 2, stream=6) == 0
assert proc(b"cuStreamEndCapture")(ctypes.c_void_p(5), ctypes.byref(graph)) == 0
assert proc(b"cuGraphInstantiate")(ctypes.byref(ctypes.c_void_p()), graph, ctypes.c_uint64(0)) == 0
assert launch(plain, 2, stream=5) == 0
assert proc(b"cuGraphLaunch")(ctypes.c_void_p(9), ctypes.c_void_p(5)) == 0
'''
    with lab() as l:
        status, _, pid = run(l, python, body)
        equal(status, 0)
        launches = show(l, pid)[1:]
        equal([line.split()[1] + (line.split("capture")[1] if "capture" in line else "") for line in launches],
              ["0.4 55", "0.3", "0.2", "34.1 55", "0.1"])
        assert "<string>:%d capture" % lines_of(body)["captured"] in launches[3], launches[3]


def check_deep(python: str) -> None:
    """Of a deep stack the innermost frames, and then the program's own behind those of libraries."""
    body = '''
plain = proc(b"cuLaunchKernel")
def make(file, text):
    space = {"launch": launch, "plain": plain}
    exec(compile(text, file, "exec"), space)
    return space
library = make("/opt/lib/site-packages/torch/deep.py", "def down(n, then):\\n    return down(n - 1, then) if n else then()\\n")
own = make("/home/u/train.py", "def step(down, then):\\n    return down(60, then)\\n")
assert own["step"](library["down"], lambda: launch(plain, 1)) == 0
'''
    with lab() as l:
        status, _, pid = run(l, python, body)
        equal(status, 0)
        frames = show(l, pid)[1].split("frames ")[1].split()
        assert any(f == "step:train.py:2" for f in frames) and any(f.startswith("<module>:<string>") for f in frames), frames
        equal(sum("deep.py" in f for f in frames), 22)


def check_off(python: str) -> None:
    body = "assert launch(proc(b'cuLaunchKernel'), 2) == 0\n"
    for changes in ({"depth": "x"}, {"depth": "0"}, {"depth": ""}, {"depth": "99999999999999999999999"}):
        with lab() as l:
            equal(run(l, python, body, **changes)[0], 0)
            equal([name for name in os.listdir(l.sockets) if name.startswith("launches")], [])
    with lab() as l:  # nothing was launched
        equal(run(l, python, "")[0], 0)
        equal([name for name in os.listdir(l.sockets) if name.startswith("launches")], [])


def list_cases() -> List[Tuple[str, Callable[..., None], str]]:
    pythons = find_pythons()
    cases: List[Tuple[str, Callable[..., None], str]] = []
    for python, version in pythons:
        cases.append(("Python %d.%d: launches, names, arguments, frames, results" % version, lambda p, v=version: check_launches(p, v), python))
        cases.append(("Python %d.%d: code objects that die" % version, check_code_reuse, python))
    for name, check in (("calls that fail", check_failures), ("a full ring keeps the newest", check_wrap), ("a killed process", check_killed),
                        ("a forked child has its own record", check_fork), ("threads that come and go", check_threads),
                        ("PyTorch's backward launches lead to their forward", check_backward),
                        ("launches into a graph, and of it", check_capture), ("a deep stack", check_deep),
                        ("off, or nothing launched: no file", check_off)):
        cases.append((name, check, pythons[-1][0] if pythons else ""))
    return cases


def main() -> int:
    cases = list_cases()
    print("1..%d" % len(cases), flush=True)
    ok = True
    for number, (name, check, python) in enumerate(cases, 1):
        try:
            if not python:
                raise Skip("no Python from 3.8 on with ctypes and a GIL found")
            check(python)
            print("ok %d - %s" % (number, name), flush=True)
        except Skip as e:
            print("ok %d - %s # SKIP %s" % (number, name, e), flush=True)
        except Exception:  # a test's own defect fails its case alone
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            print("not ok %d - %s" % (number, name), flush=True)
            ok = False
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
