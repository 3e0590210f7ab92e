#!/usr/bin/env python3
"""The scripts' readers of device memory and the C ones, on the same arguments, launches and memory: each row of data/assert-values.tsv, arrays of
kernels that the table does not have, functors, tensors. Made at random from fixed seeds, so that each run is the same.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402
import test_evidence as evidence  # noqa: E402
from test_values import TABLE, TARGET, GdbError, Memory, gdb, made, q  # noqa: E402  (puts the stand-in in place of gdb)
from cudatrap import arguments, functors, rules, tensors, values  # noqa: E402
from cudatrap.arguments import Argument  # noqa: E402

READ_VALUES = os.path.join(tap.BUILD, "tests", "gdb", "read_values")
ABSENT = "GPU memory is not in this dump; --dump=memory or full keeps it"
Json = Dict[str, Any]
Threads = List[Tuple[Tuple[int, int, int], Tuple[int, int, int]]]
FORMS = {"char": "b", "unsigned char": "B", "short": "h", "int": "i", "unsigned int": "I", "long": "q", "unsigned long": "Q"}


class Case:
    """A kernel that stands, and what is in memory."""

    def __init__(self, signature: str, found: List[Argument], grid: Tuple[int, int, int], block: Tuple[int, int, int], threads: Threads) -> None:
        self.signature, self.found, self.grid, self.block, self.threads = signature, found, grid, block, threads
        self.memory: Dict[int, bytes] = {}
        self.incident: Json = {}  # host part

    def document(self) -> Json:
        lanes = [{"block": list(b), "thread": list(t), "hw": {"device": 0, "sm": 0, "warp": 0, "lane": 0}, "pc": "0x10"} for b, t in self.threads]
        group = {"reason": "exception", "pc": "0x10", "threads": len(lanes), "warps": 1, "blocks": 1, "lanes": lanes}
        kernel = {"grid_id": 1, "name": self.signature, "grid_dim": list(self.grid), "block_dim": list(self.block)}
        gpu = {"source": "core dump", "kernel": kernel, "groups": [group], "arguments": [a.row() for a in self.found]}
        return {"version": 1, "kind": "assert", "gpu": gpu, **self.incident}

    def by_scripts(self) -> Json:
        gdb.cuda = Memory()
        gdb.cuda.allocations = self.memory
        gdb.cuda.failure = "Error: read_global_memory(): Global memory is not available in this corefile"
        rule, launch, found = rules.choose(TABLE, self.signature, self.found), None, self.found
        if rule:
            found = rules.named(rule, found)
            launch = rules.Launch(self.signature, self.grid, self.block, {a.name: a for a in found if a.name})
        memory = values.read_arrays(found, rule, launch, self.threads)
        memory += values.read_indices(functors.indices(self.signature, self.found, self.grid, self.block), self.threads)
        rows = tensors.read_all(self.document(), self.signature, values.read_tensor_bytes, self.found)
        return {"memory": memory, "tensors": rows}

    def by_c(self) -> Json:
        params = bytearray()
        for a in self.found:
            params = params.ljust(a.parameter.offset, b"\0")
            params += a.data or b""
        with tap.Scratch() as folder:
            paths = [os.path.join(folder, name) for name in ("incident.json", "params", "memory")]
            memory = b"".join(struct.pack("<QQ", at, len(data)) + data for at, data in self.memory.items())
            for path, data in zip(paths, (json.dumps(self.document()).encode(), bytes(params), memory)):
                with open(path, "wb") as file:
                    file.write(data)
            done = subprocess.run([READ_VALUES, *paths], stdout=subprocess.PIPE, check=True)
        gpu = json.loads(done.stdout)["gpu"]
        return {"memory": gpu.get("memory", []), "tensors": gpu.get("tensors", [])}


def comparable(part: Json) -> Json:
    """The C side says how much is there, where the scripts cannot know."""
    for row in part["memory"] + part["tensors"]:
        if row.get("failed", "").startswith("only "):
            row["failed"] = ABSENT
    return part


def compare(case: Case, what: str) -> Json:
    ours = comparable(case.by_c())
    tap.equal(ours, json.loads(json.dumps(case.by_scripts())), what)
    return ours


# ---- rows of the table ----------------------------------------------------------------------------------------------


def tensor_info(address: int, sizes: Sequence[int], strides: Sequence[int]) -> bytes:
    pad = [0] * (25 - len(sizes))
    return struct.pack("<Q25I25Ii4x", address, *sizes, *pad, *strides, *pad, len(sizes))


def an_argument(r: random.Random, rule: rules.Rule, name: str, kind: str, element: str, count: int) -> Tuple[str, bytes]:
    is_array = name == rule.array
    if kind == "p":
        return (f"{element}{r.choice(['', ' const'])}*", q(TARGET)) if is_array else ("float*", q(r.choice([0, 1 << 40])))
    if kind == "s":
        sizes, strides = r.choice([([count], [1]), ([count], [2]), ([2, count // 2], [count // 2, 1])])
        of = f"{element} const" if is_array else "float"
        return f"at::cuda::detail::TensorInfo<{of}, unsigned int>", tensor_info(TARGET if is_array else 1 << 40, sizes, strides)
    if kind == "b":
        return "bool", bytes([r.randrange(2)])
    if kind == "f":
        return "float", struct.pack("<f", 1.0)
    number = count if name == rule.count else 10 if name == rule.high else r.choice([1, 2, 3, 4, 255, -1])
    return r.choice([("long", q(number)), ("int", struct.pack("<i", number))])


def case_of_rule(r: random.Random, rule: rules.Rule) -> Case:
    element, count = r.choice(list(FORMS)), r.choice([1, 2, 7, 33, 700, 40000])
    kinds = rule.kinds.replace("*", "")
    parts = [an_argument(r, rule, name, kind, element, count) for name, kind in zip(rule.names, kinds)]
    template = r.choice(["<float, (bool)1>", "<float, long, true>", "<float, long, -2, false>", "<long>", ""])
    signature = f"void at::native::{rule.kernel}{template}({', '.join(t for t, _ in parts)})"
    grid, block = (r.choice([1, 3, 64]), 1, 1), (r.choice([32, 128]), 1, 1)
    threads = [((r.randrange(grid[0]), 0, 0), (r.randrange(block[0]), 0, 0)) for _ in range(r.choice([1, 3, 40]))]
    case = Case(signature, made(signature, *(data for _, data in parts)), grid, block, threads)
    low, high = {"b": (-5, 12), "B": (0, 12), "Q": (0, 12), "I": (0, 12)}.get(FORMS[element], (-3, 12))
    numbers = [r.randint(low, high) for _ in range(count * r.choice([1, 1, 2]))]
    if FORMS[element] == "Q":
        numbers[0] = (1 << 64) - 1
    data = struct.pack(f"<{len(numbers)}{FORMS[element]}", *numbers)
    case.memory = r.choice([{TARGET: data.ljust(len(data) + 511 & ~511, b"\1")}, {TARGET: data}, {TARGET: data[: len(data) // 2]}, {}])
    return case


def test_each_row_of_the_table() -> None:
    seen = set()
    for rule in TABLE:
        for seed in range(14):
            r = random.Random(f"{rule.id} {seed}")
            for row in compare(case_of_rule(r, rule), f"{rule.id}, seed {seed}")["memory"]:
                if row.get("elements"):
                    seen.add(row["rule"])
    # Those whose map is "any" tell no element of a thread.
    tap.equal(sorted(seen), sorted(rule.id for rule in TABLE if rule.map != "any"))


# ---- other kernels --------------------------------------------------------------------------------------------------


def test_arrays_of_unknown_kernels() -> None:
    for seed in range(40):
        r = random.Random(seed)
        element = r.choice(list(FORMS))
        bounds = [r.choice([0, 5, -1, 1 << 40, (1 << 63) - 1]) for _ in range(3)]
        accessor = "at::GenericPackedTensorAccessor<int const, 2ul, at::DefaultPtrTraits, long>"
        view = struct.pack("<Q4q", TARGET + 4096, *r.choice([(3, 4, 4, 1), (3, 4, 1, 3), (0, 4, 4, 1), (-1, 4, 4, 1), (1 << 40, 1 << 40, 1 << 40, 1)]))
        signature = f"k({element} const*, {element}*, long, unsigned long, int, {accessor}, void*)"
        last = [q(bounds[0]), struct.pack("<Q", bounds[1] % (1 << 64)), struct.pack("<i", max(-1, min(bounds[2], 99))), view, q(0)]
        case = Case(signature, made(signature, q(TARGET), q(TARGET), *last), (1, 1, 1), (32, 1, 1), [((0, 0, 0), (0, 0, 0))])
        case.memory = {TARGET: r.getrandbits(8 * 8192).to_bytes(8192, "little")[: r.choice([4, 512, 700, 4096 + 48, 8192])]}
        compare(case, f"seed {seed}")


# ---- functors -------------------------------------------------------------------------------------------------------


def functor_case(signature: str, count: bytes, functor: bytes, grid: int, threads: Threads) -> Case:
    return Case(signature, evidence.two_arguments(signature, count, functor), (grid, 1, 1), (128, 1, 1), threads)


def test_scatter_and_gather() -> None:
    found = 0
    for seed in range(30):
        r = random.Random(seed)
        labels = [r.randrange(5) for _ in range(32768)]
        threads = [((b, 0, 0), (r.randrange(128), 0, 0)) for b in r.sample(range(32), 3)]
        for b, t in threads:
            labels[b[0] * 1024 + t[0] + 128 * r.randrange(8)] = r.choice([5, 63, -1])
        if seed % 10 == 9:
            threads.append(((0, 0, 0), (0, 0, 0)))  # with nothing wrong, as likely as not
        dense = r.random() < 0.7
        sizes = evidence.calculator([16384, 2], [(1, 8), (81920, 131072)] if dense else [(1, 16), (81920, 8)])
        functor = sizes + struct.pack("<QqQQQQQ", TARGET, 5, 0, 0x1000, 1, 2, 1)
        case = functor_case(evidence.FILL, struct.pack("<i", 32768), functor, 32, threads)
        case.memory = {TARGET: struct.pack("<32768q", *labels) if dense else struct.pack("<32768q", *(n for i in range(16384) for n in labels[i::16384]))}
        found += len(compare(case, f"seed {seed}")["memory"])
    tap.equal(found >= 20, True, "functors taken apart")


def test_functors_of_another_layout() -> None:
    whole = evidence.fill_functor()
    for functor in (whole[:-8], whole + bytes(8), b"\x55" * 560, evidence.fill_functor(0), evidence.fill_functor(-1), whole[:8] + b"\2" + whole[9:]):
        case = functor_case(evidence.FILL, struct.pack("<i", 32768), functor, 32, [((0, 0, 0), (0, 0, 0))])
        case.memory = {TARGET: struct.pack("<q", 99) * 32768}
        tap.equal(compare(case, str(len(functor)))["memory"], [])


def test_advanced_indexing() -> None:
    found = 0
    for seed in range(20):
        r = random.Random(seed)
        pointers = struct.pack("<25Q", TARGET + 512, TARGET, *[0] * 23)
        sizes = struct.pack("<25q", 64, r.choice([77, 0, -1]), *[0] * 23)
        calculator = evidence.calculator([4], [(4, 0, r.choice([8, 16]))])
        functor = calculator + struct.pack("<QQi4x", 1, 2, r.choice([2, 2, 2, 3])) + pointers + sizes + struct.pack("<25q", 77, 1, *[0] * 23) + bytes(8)
        case = functor_case(evidence.INDEX, q(4), functor, 1, [((0, 0, 0), (2, 0, 0)), ((0, 0, 0), (3, 0, 0))])
        case.memory = {TARGET: struct.pack("<4q", 3, 9, r.choice([-78, -77]), 81), TARGET + 512: struct.pack("<8q", 0, 1, r.choice([2, -65]), -3, 64, 0, 0, 9)}
        found += len(compare(case, f"seed {seed}")["memory"])
    tap.equal(found >= 4, True, "functors taken apart")


def test_loss_without_reduction() -> None:
    accessor = "at::GenericPackedTensorAccessor<{0}, {1}ul, at::DefaultPtrTraits, long>"
    name = "void at::native::(anonymous namespace)::nll_loss2d_forward_no_reduce_kernel<float>"
    signature = f"{name}(long, {accessor.format('float', 4)}, {accessor.format('long', 3)}, {accessor.format('float', 3)}, float const*, long)"
    for seed in range(20):
        r = random.Random(seed)
        strides = r.choice([(6, 3, 1), (1, 2, 4)])
        view = struct.pack("<Q6q", TARGET, 2, 2, 3, *strides)
        data = [q(12), struct.pack("<Q8q", 0x1000, 2, 19, 2, 3, 114, 6, 3, 1), view, view, bytes(8), q(255)]
        threads = [((0, 0, 0), (n, 0, 0)) for n in r.sample(range(12), 2)]
        case = Case(signature, made(signature, *data), (1, 1, 1), (1024, 1, 1), threads)
        case.memory = {TARGET: struct.pack("<12q", *(r.choice([34, 255, -1, 19]) for _ in range(12)))}
        compare(case, f"seed {seed}")


# ---- tensors --------------------------------------------------------------------------------------------------------

DTYPES = {"int64": "q", "torch.int32": "i", "uint8": "B", "int8": "b", "int16": "h", "uint64": "Q", "bool": "B", "float32": "f", "float64": "d", "float16": "e", "bfloat16": "H",
          "float8_e4m3fn": "B"}  # fmt: skip


def a_tensor(r: random.Random, number: int, memory: Dict[int, bytes]) -> Json:
    dtype = r.choice(list(DTYPES))
    rows, columns = r.choice([(0, 4), (3, 5), (200, 7)])
    address, form = TARGET + (number << 24), DTYPES[dtype]
    pick = {"f": lambda: r.choice([0.5, 1.5, -0.25, float("nan"), float("inf"), float("-inf"), 1e-30]), "H": lambda: r.choice([0x3F80, 0x7FC0, 0x7F80, 0xC000])}
    pick.update(d=pick["f"], e=lambda: r.choice([0.5, 2.0, -1.0, float("nan"), float("inf"), 6e-8]))
    low = 0 if form in "BQ" else -2
    data = struct.pack(f"<{rows * columns}{form}", *(pick.get(form, lambda: r.randint(low, 9))() for _ in range(rows * columns)))
    if r.random() < 0.9:
        memory[address] = data
    stride: Optional[List[int]] = r.choice([[columns, 1], [1, rows], [columns * 2, 1], [-1, 1], None])
    row: Json = {"name": f"t{number}", "role": "local", "library": "torch", "tid": r.choice([5, 5, 5, 6]), "shape": [rows, columns], "dtype": dtype,
                 "device": r.choice(["cuda:0", "cuda:0", "cuda:0", "cpu", "GPU:0"]), "data_ptr": hex(address)}  # fmt: skip
    if stride is not None:
        row["stride"] = stride
    return row


def test_tensors() -> None:
    special = 0
    for seed in range(40):
        r = random.Random(seed)
        signature = r.choice(["k(int, long)", "void multinomial_k(int, long)"])
        case = Case(signature, made(signature, struct.pack("<i", 6), q(r.choice([1, 4, 1 << 33]))), (1, 1, 1), (32, 1, 1), [((0, 0, 0), (0, 0, 0))])
        rows = [a_tensor(r, i, case.memory) for i in range(r.choice([1, 6, 40]))]
        rows += [{**rows[0], "name": "again"}]
        source = r.choice(["y = f(x)", "torch.Bernoulli(p)"])
        frames = [{"kind": "python", "function": "f", "file": "a.py", "line": 3, "source": source}, {"kind": "native", "function": "multinomial"}]
        case.incident = {"tensors": rows, "threads": [{"tid": 5, "launching": True, "frames": frames}]}
        special += sum(len(row.get("special", [])) for row in compare(case, f"seed {seed}")["tensors"])
    tap.equal(special > 100, True, "elements worth a look")


def test_a_sampled_tensor() -> None:
    size = tensors.WHOLE_BYTES + 8 * 1000
    data = bytearray(size)
    struct.pack_into("<q", data, size - tensors.PIECE_BYTES // 2 & ~7, 77)
    signature = "k(int)"
    case = Case(signature, made(signature, struct.pack("<i", 6)), (1, 1, 1), (32, 1, 1), [((0, 0, 0), (0, 0, 0))])
    case.memory = {TARGET: bytes(data)}
    row = {"name": "y", "role": "local", "library": "torch", "shape": [size // 8], "dtype": "int64", "device": "cuda:0", "data_ptr": hex(TARGET)}
    case.incident = {"tensors": [row]}
    (ours,) = compare(case, "sampled")["tensors"]
    tap.equal((ours["max"], "whole" in ours, ours["read"]), ("77", False, tensors.SAMPLED_PIECES * tensors.PIECE_BYTES // 8))


def test_a_difference_is_seen() -> None:
    case = case_of_rule(random.Random(1), TABLE[0])
    case.memory = {TARGET: q(99) * 65536}
    compare(case, "equal")
    wrong = case.by_c()
    wrong["memory"][0]["max"] = "98"
    case.by_c = lambda: wrong  # type: ignore[method-assign]
    try:
        compare(case, "changed")
    except AssertionError:
        return
    raise GdbError("a changed value was taken for equal")


if __name__ == "__main__":
    # Not those of the modules that this one takes its pieces from.
    tap.run([test_each_row_of_the_table, test_arrays_of_unknown_kernels, test_scatter_and_gather, test_functors_of_another_layout, test_advanced_indexing,
             test_loss_without_reduction, test_tensors, test_a_sampled_tensor, test_a_difference_is_seen])  # fmt: skip
