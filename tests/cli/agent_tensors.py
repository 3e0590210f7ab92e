# The agent's list of tensors in real processes: what it names, what it leaves alone, and that nothing notices.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Callable, Dict, List, Tuple

sys.dont_write_bytecode = True  # the sources may be read-only
from agent import find_pythons, run_case  # noqa: E402: after the line above
from agent_lab import PATIENCE_S, Lab, Skip, equal, lab, read_json, tell  # noqa: E402

START = '''
import ctypes, json, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, %r)
import fake_torch
ctypes.CDLL("libcuda.so.1").cuInit(0)
torch, Tensor, Module = fake_torch, fake_torch.Tensor, fake_torch.Module
def say(what):
    print(json.dumps(what), flush=True)
def wait():
    os.write(1, b'"ready"\\n')  # in this very frame: who hears it may ask at once
    sys.stdin.readline()
''' % os.path.dirname(os.path.abspath(__file__))


def ask(l: Lab, pid: int) -> Dict[str, Any]:
    return json.loads(l.ask(pid, "tensors"))


def answer_and_end(l: Lab, python: str, body: str) -> Tuple[Dict[str, Any], Any]:
    """What the agent said while the target waited, and what the target said after that."""
    target = l.start_python(python, START + body)
    equal(read_json(target), "ready")
    answer = ask(l, target.pid)
    equal(answer["version"], 1)
    equal(answer.get("error"), None)
    tell(target)
    last = read_json(target)
    equal(target.wait(PATIENCE_S), 0)
    return answer, last


NAMES = '''
import dataclasses, threading
fake_torch.install()

@dataclasses.dataclass
class Pair:
    left: object
    right: object

class Net(Module):
    def forward(self, x, *rest, scale=None, **more):
        y = Tensor([4], torch.int64, data_ptr=0x7f0000000100)
        batch = {"ids": Tensor([2, 3]), 7: Tensor([1]), ("no", "name"): Tensor([1]), "it's": Tensor([])}
        pairs, alone = [None, Tensor([5])], (Tensor([6]),)
        both = Pair(Tensor([8]), 3)
        sparse = Tensor([9], layout=torch.sparse_coo)
        meta = Tensor([9], device=torch.device("meta"))
        cpu = Tensor([9], device=torch.device("cpu"), requires_grad=True)
        symbolic = Tensor(["n", 2])
        del fake_torch.asked[:]
        wait()
        return y

def main():
    net = Net({"weight": Tensor([3, 2], requires_grad=True), "none": None}, {"mean": Tensor([2])}, {"fc": Module({"bias": Tensor([3])})})
    net.state = Tensor([11])
    net.forward(Tensor([4, 2]), Tensor([5]), scale=Tensor([]), extra=Tensor([12]))
    say(sorted(set(fake_torch.asked)))

worker = threading.Thread(target=lambda: main())
worker.start(); worker.join()
'''


def check_names(python: str) -> None:
    with lab() as l:
        answer, asked = answer_and_end(l, python, NAMES)
    rows = {r["name"]: r for r in answer["tensors"] if r["function"].split(".")[-1] == "forward"}
    equal((answer["libraries"], answer["detail"]), (["torch"], ""))
    equal({name: row["role"] for name, row in rows.items()}, {
        "x": "argument", "scale": "argument", "y": "local", "sparse": "local", "meta": "local", "cpu": "local", "symbolic": "local",
        "rest[0]": "item", "more['extra']": "item", "batch['ids']": "item", "batch[7]": "item", 'batch["it\'s"]': "item", "pairs[1]": "item",
        "alone[0]": "item", "both.left": "attribute", "self.state": "attribute", "self.weight": "parameter", "self.mean": "buffer",
        "self.fc.bias": "parameter"})
    assert all(r["tid"] > 0 and r["tid"] != answer["pid"] and r["depth"] == 1 and r["library"] == "torch" for r in rows.values()), rows
    y = {k: rows["y"][k] for k in ("shape", "stride", "dtype", "device", "data_ptr", "storage_ptr", "storage_bytes")}
    equal(y, {"shape": [4], "stride": [1], "dtype": "int64", "device": "cuda:0", "data_ptr": "0x7f0000000100", "storage_ptr": "0x7f0000000000",
              "storage_bytes": 4096})
    equal(("kind" in rows["y"], "requires_grad" in rows["y"], rows["cpu"]["requires_grad"], rows["cpu"]["device"]), (False, False, True, "cpu"))
    equal((rows["batch['ids']"]["stride"], rows['batch["it\'s"]']["shape"]), ([3, 1], []))
    equal([(rows[n]["kind"], "data_ptr" in rows[n]) for n in ("sparse", "meta")], [("sparse_coo", False), ("meta", False)])
    equal((rows["symbolic"]["kind"], "shape" in rows["symbolic"]), ("symbolic shape", False))
    equal(asked, ["data_ptr", "device", "dtype", "index", "layout", "nbytes", "requires_grad", "shape", "stride", "type", "untyped_storage"])


HOSTILE = '''
fake_torch.install()
touched = []
def touch(name):
    def method(*a, **k):
        touched.append(name)
        raise SystemExit(9)
    return method
WATCHED = ("__getattr__ __getattribute__ __eq__ __ne__ __lt__ __bool__ __len__ __iter__ __next__ __getitem__ __contains__ __repr__ __str__ __hash__ "
           "__index__ __int__ __dir__ __format__ __instancecheck__ __subclasscheck__ __torch_dispatch__ __array__ __get__ __call__").split()

class Meta(type):
    pass
for name in WATCHED:
    setattr(Meta, name, touch("type " + name))
Meta.__hash__ = type.__hash__
names = {name: touch(name) for name in WATCHED}
for name in ("__class__", "__dict__", "shape", "device", "_parameters", "__dataclass_fields__", "__mro__"):
    names[name] = property(touch(name))
Nasty = type.__new__(Meta, "Nasty", (object,), names)
NastyTensor = type.__new__(Meta, "NastyTensor", (Tensor,), names)
NastyModule = type.__new__(Meta, "NastyModule", (Module,), names)
NastyList = type.__new__(Meta, "NastyList", (list,), names)
NastyDict = type.__new__(Meta, "NastyDict", (dict,), names)
class NastyText(str):
    __eq__ = touch("text ==")
    __hash__ = str.__hash__
class Holder:
    pass

def step(self, first, second, third, fourth, fifth):
    keyed = {first: Tensor([1]), NastyText("k"): Tensor([2]), "plain": Tensor([3])}
    things = [first, second, third, Tensor([4])]
    kind = Nasty
    here = Tensor([5])
    refusing = Tensor([6], device=None, stride=None, data_ptr="x", untyped_storage=first, dtype=first, layout=torch.strided)
    wait()
    say(touched)

Nasty.__hash__ = object.__hash__
self = Holder()
self.__dict__[NastyText("facts")] = Tensor([1])
self.good = Tensor([8])
self.bad = object.__new__(Nasty)
step(self, object.__new__(Nasty), object.__new__(NastyTensor), object.__new__(NastyModule), list.__new__(NastyList), dict.__new__(NastyDict))
'''


def check_hostile(python: str) -> None:
    with lab() as l:
        answer, touched = answer_and_end(l, python, HOSTILE)
    equal(touched, [])
    rows = {r["name"]: r for r in answer["tensors"] if r["function"] == "step"}
    equal(sorted(rows), ["here", "keyed['plain']", "refusing", "second", "self.good", "things[1]", "things[3]"])
    equal((rows["second"]["kind"], "shape" in rows["second"]), ("NastyTensor", False))
    equal(sorted(rows["refusing"]), ["depth", "file", "function", "library", "line", "name", "role", "shape", "tid"])


BOUNDS = '''
fake_torch.install()
class Big:
    def __init__(self):
        self.__dict__.update(("a%d" % i, None) for i in range(1000000))

def step(self, table, row, many):
    wait()
    say(0)

def down(n, tensor):
    if n:
        down(n - 1, Tensor([n]))
    else:
        step(Big(), dict.fromkeys(range(1000000)), [None] * 1000000, [Tensor([1])] * 1000)

del fake_torch.asked[:]
down(100, Tensor([1]))
'''


def check_bounds(python: str) -> None:
    with lab() as l:
        answer, _ = answer_and_end(l, python, BOUNDS)
    rows = answer["tensors"]
    equal(len([r for r in rows if r["function"] == "step"]), 64)
    equal(max(r["depth"] for r in rows), 63)
    assert len(rows) <= 400
    many = BOUNDS.replace("def down(n, tensor):", "def down(n, tensor, *rest):").replace("Tensor([n]))", "Tensor([n]), *[tensor] * 20)")
    with lab() as l:
        answer, _ = answer_and_end(l, python, many)
    # Whichever comes first where the machine is slow.
    if answer["detail"] == "the list ends after 400 tensors":
        equal(len(answer["tensors"]), 400)
    else:
        equal(answer["detail"], "the list ends after 200 ms")


TIME = '''
fake_torch.install()
import time
def step():
    tensors = [Tensor([i]) for i in range(64)]
    wait()
    say(0)
class Clock:  # of the program's own: not to be called
    def __call__(self):
        raise SystemExit(9)
time.monotonic = %s
step()
'''


def check_time_is_bounded(python: str) -> None:
    # A builtin that answers 0, then more than 200 ms later at each look.
    with lab() as l:
        answer, _ = answer_and_end(l, python, TIME % "__import__('collections').deque([10.0, 10.1, 10.19] + [11.0] * 99).popleft")
    equal((answer["detail"], [r["name"] for r in answer["tensors"]]), ("the list ends after 200 ms", ["tensors[0]"]))
    with lab() as l:
        answer, _ = answer_and_end(l, python, TIME % "Clock()")
    equal((answer["detail"], len([r for r in answer["tensors"] if r["function"] == "step"])), ("", 64))


UNHARMED = '''
fake_torch.install()
def step():
    x, gone, shared = "before", "here", 1
    def inner():
        return shared
    wait()
    x, new, shared = "after", "set", 2
    del gone
    HOOK(lambda *a: None)
    len("")
    inner()
    HOOK(None)
    try:
        gone
        kept = True
    except UnboundLocalError:
        kept = False
    return [x, new, kept, shared, inner()]

def recording():
    y = 1
    copy = locals()
    y = 2
    got = step()
    return got + [copy["y"], y]

def traced(frame, event, argument):
    return traced

def main():
    got = recording()
    say(got)

main()
'''


def check_locals_unharmed(python: str) -> None:
    for hook in ("sys.setprofile", "sys.settrace"):
        with lab() as l:
            answer, got = answer_and_end(l, python, UNHARMED.replace("HOOK", hook))
        equal(got, ["after", "set", False, 2, 2, 1, 2])
        equal(answer["detail"] in ("", "1 functions that use locals() or are traced were left alone"), True)
    # Watched all the time: by a profiler that counts, and line by line.
    for hook, watch in (("sys.setprofile", "sys.setprofile"), ("sys.settrace", "sys.settrace")):
        body = UNHARMED.replace("HOOK", "(lambda *a: None)").replace("\nmain()\n", "\n%s(traced)\nmain()\n%s(None)\n" % (watch, watch))
        with lab() as l:
            _, got = answer_and_end(l, python, body)
        equal(got[:5], ["after", "set", False, 2, 2])  # the dict from locals() follows by itself then, up to 3.10


OWNERS = '''
fake_torch.install()
freed = []
class Last(Tensor):
    def __del__(self):
        freed.append(1)
def step():
    mine, others = Last([1]), [Last([2])]
    before = [sys.getrefcount(mine), sys.getrefcount(others[0])]
    wait()
    after = [sys.getrefcount(mine), sys.getrefcount(others[0])]
    return before, after
before, after = step()
say([before, after])
'''


def check_no_reference_stays(python: str, version: Tuple[int, int]) -> None:
    with lab() as l:
        _, (before, after) = answer_and_end(l, python, OWNERS)
    # Up to 3.12 the dict of a function's locals belongs to its frame, and stays with it.
    snapshot = 1 if version < (3, 13) else 0
    equal(after, [before[0] + snapshot, before[1]])


PLAIN = r'''
import enum, threading
asked = []

class Hostile(int):
    def __repr__(self): asked.append("repr"); return "7"
    __str__ = __index__ = __format__ = __bool__ = bit_length = __repr__

class Name(str):
    def __getitem__(self, i): asked.append("item"); return "x"
    __repr__ = __str__ = __len__ = __getitem__

class Shape(tuple):
    def __iter__(self): asked.append("iter"); return iter(())
    __len__ = __getitem__ = __repr__ = __iter__

class Meta(type):
    def __eq__(self, other): asked.append("eq"); return True
    __hash__ = type.__hash__

class Foreign(metaclass=Meta):
    def __repr__(self): asked.append("repr"); return "f"
    __class__ = property(lambda self: asked.append("class") or int)

class Color(enum.IntEnum):
    RED = 1

STEPS = 3
_hidden = 4
def step(n, rate=0.1, *rest, name="a", **more):
    flag, nothing, text, long_text, quoted = True, None, "it's", "x" * 500, 'a"\\\n\u00fc\ud800'
    huge, big, infinite, missing = 1 << 300, -(1 << 200), float("inf"), float("nan")
    shape, one, empty, numbers, many = (3, 224), (1,), (), [1, 2.5, None], list(range(100))
    of_heir, nested, mixed, items = Shape((4, 5)), ((1,),), (1, "a"), {1: 2}
    hostile, hostile_name, foreign, color, hostile_inside, code = Hostile(3), Name("x"), Foreign(), Color.RED, (Hostile(3),), b"x"
    _private = 5
    wait()
    say(asked)
step(7)
'''


def check_plain_values(python: str) -> None:
    with lab() as l:
        answer, asked = answer_and_end(l, python, PLAIN)
    rows = {r["name"]: r for r in answer["python_locals"] if r["function"] == "step"}
    equal(asked, [])
    equal({name: row["value"] for name, row in rows.items()}, {
        "n": "7", "rate": "0.1", "rest": "()", "name": "'a'", "flag": "True", "nothing": "None", "text": '"it\'s"', "long_text": repr("x" * 120) + "...",
        "quoted": repr('a"\\\n\u00fc\ud800'), "huge": "an int of 301 bits", "big": str(-(1 << 200)), "infinite": "inf", "missing": "nan",
        "shape": "(3, 224)", "one": "(1,)", "empty": "()", "numbers": "[1, 2.5, None]", "many": "[" + ", ".join(map(str, range(16))) + ", ...]", "of_heir": "(4, 5)"})
    equal((rows["n"]["role"], rows["name"]["role"], rows["flag"]["role"]), ("argument", "argument", "local"))
    # wait() of the target's own is inward of it.
    equal((rows["n"]["depth"], rows["n"]["line"] > 0, rows["n"]["tid"]), (1, True, answer["pid"]))
    module = {r["name"]: r["value"] for r in answer["python_locals"] if r["function"] == "<module>"}
    equal((module.get("STEPS"), "_hidden" in module), ("3", False))


MANY_PLAIN = '''
names = {}
exec("def f(n):\\n" + "".join("    v%d = %d\\n" % (i, i) for i in range(300)) + "    if n: return f(n - 1)\\n    wait()\\n    say(0)\\n", globals(), names)
f = globals()["f"] = names["f"]
import threading
threads = [threading.Thread(target=lambda: (lambda a, b, c: stop.wait())(1, 2, 3)) for _ in range(100)]
stop = threading.Event()
for t in threads: t.start()
f(50)
stop.set()
'''


def check_plain_values_are_bounded(python: str) -> None:
    with lab() as l:
        answer, _ = answer_and_end(l, python, MANY_PLAIN)
    rows = answer["python_locals"]
    frames = {(r["tid"], r["depth"]) for r in rows}
    assert len(rows) <= 200, len(rows)
    assert all(sum(1 for r in rows if (r["tid"], r["depth"]) == f) <= 32 for f in frames), rows
    assert all(sum(1 for f in frames if f[0] == tid) <= 3 for tid, _ in frames), frames
    equal([r["value"] for r in rows if r["tid"] == answer["pid"]][:3], ["0", "0", "1"])


def check_nothing_there(python: str) -> None:
    with lab() as l:
        answer, _ = answer_and_end(l, python, "def step():\n    t = Tensor([1])\n    wait()\n    say(0)\nstep()\n")
    equal((answer["libraries"], answer["tensors"], answer["detail"]), ([], [], ""))


def check_failure(python: str) -> None:
    body = '''
fake_torch.install()
def refuse(event, arguments):
    if event == "sys._current_frames":
        raise RuntimeError("not here")
sys.addaudithook(refuse)
wait()
sys.exit(5)
'''
    with lab() as l:
        target = l.start_python(python, START + body)
        read_json(target)
        equal(ask(l, target.pid), {"version": 1, "pid": target.pid, "error": "Python could not list its tensors"})
        tell(target)
        equal(target.wait(PATIENCE_S), 5)


REAL = '''
import ctypes, json, sys, torch, numpy
ctypes.CDLL("libcuda.so.1").cuInit(0)
class Watched(torch.Tensor):
    called = []
    @property
    def shape(self):
        self.called.append("shape")
    @classmethod
    def __torch_function__(cls, *a, **k):
        cls.called.append("function")
        return super().__torch_function__(*a, **k)

def step(net, y):
    x = torch.zeros(4, 3)[1:]
    parameter, scalar = torch.nn.Parameter(torch.zeros(2)), torch.tensor(1.0)
    meta, sparse = torch.empty(2, device="meta"), torch.eye(2).to_sparse()
    watched = torch.zeros(2, 2).as_subclass(Watched)
    array, odd = numpy.zeros((2, 3), dtype="float32").T, numpy.zeros(2, dtype=[("a", "i4")])
    lazy = torch._lazy_clone(y) if hasattr(torch, "_lazy_clone") else None
    del Watched.called[:]
    print(json.dumps([x.data_ptr(), x.untyped_storage().data_ptr(), array.ctypes.data]), flush=True)
    sys.stdin.readline()
    print(json.dumps([Watched.called, lazy is None or not hasattr(torch._C, "_is_cow_tensor") or torch._C._is_cow_tensor(lazy)]), flush=True)

step(torch.nn.Sequential(torch.nn.Linear(2, 3)), torch.ones(5, dtype=torch.int64))
'''


def check_real(pythons: List[Tuple[str, Tuple[int, int]]]) -> None:
    code = "import importlib.util, sys; sys.exit(not all(importlib.util.find_spec(n) for n in ('torch', 'numpy')))"
    wanted = [os.environ["CUDATRAP_TORCH_PYTHON"]] if os.environ.get("CUDATRAP_TORCH_PYTHON") else [p for p, _ in pythons]
    found = [p for p in wanted if subprocess.run([p, "-c", code], check=False).returncode == 0]
    if not found:
        raise Skip("no Python here has torch and numpy (CUDATRAP_TORCH_PYTHON names one)")
    with lab() as l:
        target = l.start_python(found[0], REAL)
        data, storage, array = read_json(target)
        answer = ask(l, target.pid)
        tell(target)
        equal(read_json(target), [[], True])
        equal(target.wait(PATIENCE_S), 0)
    rows = {r["name"]: r for r in answer["tensors"] if r["function"] == "step"}
    x = rows["x"]
    equal((x["shape"], x["stride"], x["dtype"], x["device"]), ([3, 3], [3, 1], "float32", "cpu"))
    equal((x["data_ptr"], x["storage_ptr"], x["storage_bytes"]), ("0x%x" % data, "0x%x" % storage, 48))
    equal((rows["scalar"]["shape"], rows["parameter"]["requires_grad"], rows["y"]["dtype"]), ([], True, "int64"))
    equal([rows[n].get("kind") for n in ("meta", "sparse", "watched", "parameter")], ["meta", "sparse_coo", "Watched", None])
    equal(("data_ptr" in rows["meta"], "data_ptr" in rows["sparse"], rows["watched"]["shape"]), (False, False, [2, 2]))
    equal((rows["net.0.weight"]["role"], rows["net.0.weight"]["shape"]), ("parameter", [3, 2]))
    equal([rows["array"][k] for k in ("library", "shape", "stride", "dtype", "data_ptr")], ["numpy", [3, 2], [1, 3], "float32", "0x%x" % array])
    equal((rows["odd"]["shape"], "data_ptr" in rows["odd"]), ([2], False))


def list_cases() -> List[Tuple[str, Callable[[], None]]]:
    cases: List[Tuple[str, Callable[[], None]]] = []
    pythons = find_pythons()

    def add(name: str, check: Callable[..., None], *arguments: Any) -> None:
        cases.append((name, lambda: check(*arguments)))

    for python, version in pythons:
        label = "Python %d.%d: " % version
        add(label + "names, roles and facts", check_names, python)
        add(label + "hostile objects are not touched", check_hostile, python)
        add(label + "counts are bounded", check_bounds, python)
        add(label + "time is bounded", check_time_is_bounded, python)
        add(label + "variables are unharmed", check_locals_unharmed, python)
        add(label + "no reference stays", check_no_reference_stays, python, version)
        add(label + "no library, no list", check_nothing_there, python)
        add(label + "plain values, and no code of theirs runs", check_plain_values, python)
        add(label + "plain values are bounded", check_plain_values_are_bounded, python)
        add(label + "a failure is told", check_failure, python)
    add("real PyTorch and NumPy", check_real, pythons)
    return cases


def main() -> int:
    cases = list_cases()
    print("1..%d" % len(cases), flush=True)
    results = [run_case(number, name, check) for number, (name, check) in enumerate(cases, 1)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
