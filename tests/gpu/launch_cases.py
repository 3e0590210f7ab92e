"""Programs that fault asynchronously: launch_cases.py CASE. Each goes on launching after the launch that fails, as a training loop does.

Prints "expect: line N" for the line that launched the failing kernel, and what else the report must say. Lines are found by the comments behind them.
SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import ctypes
import re
import sys
from typing import Any, Callable, Dict


def expect(key: str, mark: str) -> None:
    with open(__file__, encoding="utf-8") as source:
        lines = [number for number, line in enumerate(source, 1) if line.rstrip().endswith("# " + mark)]
    assert len(lines) == 1, (mark, lines)
    print(f"expect: {key} {lines[0]}", flush=True)


def torch_noise(n: int = 200) -> Any:
    """Kernels of other lines in front of and behind the one that fails."""
    import torch
    x = torch.ones(1 << 12, device="cuda")
    for _ in range(n):
        x = x * 1.0001 + 0.5
    return x


def end_torch() -> None:
    import torch
    torch_noise()
    torch.cuda.synchronize()


def eager() -> None:
    import torch
    logits, target = torch.randn(8, 3, device="cuda"), torch.tensor([0, 1, 2, 3, 0, 1, 2, 0], device="cuda")
    good = torch.zeros(8, dtype=torch.long, device="cuda")
    torch.nn.functional.cross_entropy(logits, good)
    torch_noise()
    expect("line", "eager launch")
    loss = torch.nn.functional.cross_entropy(logits, target)  # eager launch
    torch.nn.functional.cross_entropy(logits, good)
    loss.neg()
    end_torch()


def compiled() -> None:
    import torch
    table, index = torch.randn(16, 64, device="cuda"), torch.arange(8, device="cuda")

    @torch.compile
    def gather(a: Any, i: Any) -> Any:
        return a[i].sin() * 2

    gather(table, index)
    torch.cuda.synchronize()
    bad = index + 1000
    torch_noise()
    expect("line", "compiled launch")
    gather(table, bad)  # compiled launch
    end_torch()


def graph() -> None:
    import torch
    table, index = torch.randn(16, 64, device="cuda"), torch.arange(8, device="cuda")
    torch.index_select(table, 0, index)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    expect("origin", "graph capture")
    with torch.cuda.graph(captured):
        torch.index_select(table, 0, index)  # graph capture
    captured.replay()
    torch.cuda.synchronize()
    index.fill_(100000)
    expect("line", "graph launch")
    captured.replay()  # graph launch
    end_torch()


def freed_tensor(shape: Any) -> Any:
    """A tensor whose memory is given back to the driver by free()."""
    import torch
    torch.zeros(1, device="cuda")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = re.search(r"\S*/libcudart\.so\S*", maps.read())
    assert found, "no shared libcudart in the process"
    cudart = ctypes.CDLL(found.group(0))
    pointer = ctypes.c_void_p()
    count = 1
    for n in shape:
        count *= n
    assert cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(max(count * 4, 64 << 20))) == 0

    class Array:
        __cuda_array_interface__ = {"shape": tuple(shape), "typestr": "<f4", "data": (pointer.value, False), "version": 3}

    return torch.as_tensor(Array(), device="cuda"), lambda: cudart.cudaFree(pointer)


def cublas() -> None:
    import torch
    a, free = freed_tensor((512, 512))
    b = torch.randn(512, 512, device="cuda")
    torch.mm(b, b)
    torch.cuda.synchronize()
    assert free() == 0
    torch_noise()
    expect("line", "cublas launch")
    torch.mm(b, a)  # cublas launch
    end_torch()


def streams() -> None:
    import torch
    table, good = torch.randn(16, 64, device="cuda"), torch.arange(8, device="cuda")
    bad = good + 100000
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    expect("line", "streams launch")
    for i in range(50):
        with torch.cuda.stream(one):
            torch.index_select(table, 0, good)
        with torch.cuda.stream(two):
            torch.index_select(table, 0, good)
    with torch.cuda.stream(two):
        torch.index_select(table, 0, bad)  # streams launch
    with torch.cuda.stream(one):
        torch.index_select(table, 0, good)
    end_torch()


def backward() -> None:
    import torch
    source = torch.randn(8, 8, device="cuda", requires_grad=True)
    index = torch.zeros(8, 8, dtype=torch.long, device="cuda")
    expect("origin", "backward forward")
    picked = torch.gather(source, 1, index)  # backward forward
    loss = (picked * 2).sum()
    index.data.fill_(100000)  # only the backward pass sees this
    loss.backward()
    end_torch()


def cupy() -> None:
    import cupy as cp
    kernel = cp.RawKernel('extern "C" __global__ void poke(float *p) { p[threadIdx.x] = 1; }', "poke")
    good = cp.zeros(32, dtype=cp.float32)
    kernel((1,), (32,), (good,))
    expect("line", "cupy launch")
    kernel((1,), (32,), (cp.uint64(0x10),))  # cupy launch
    for _ in range(50):
        kernel((1,), (32,), (good,))
    cp.cuda.Device().synchronize()


def numba() -> None:
    from numba import cuda
    import numpy as np

    @cuda.jit
    def poke(array: Any, at: int) -> None:
        array[at] = 1.0

    array = cuda.to_device(np.zeros(32, dtype=np.float32))
    poke[1, 32](array, 0)
    cuda.synchronize()
    expect("line", "numba launch")
    poke[1, 32](array, 1 << 40)  # numba launch
    for _ in range(50):
        poke[1, 32](array, 0)
    cuda.synchronize()


def jax() -> None:
    import jax
    import torch
    tensor, free = freed_tensor((1024, 1024))
    array = jax.dlpack.from_dlpack(tensor)
    double = jax.jit(lambda x: x * 2 + 1)
    good = jax.numpy.ones((1024, 1024))
    double(good).block_until_ready()
    torch.cuda.synchronize()
    assert free() == 0
    expect("line", "jax launch")
    result = double(array)  # jax launch
    double(good)
    result.block_until_ready()


CASES: Dict[str, Callable[[], None]] = {
    "eager": eager, "compiled": compiled, "graph": graph, "cublas": cublas, "streams": streams, "backward": backward, "cupy": cupy, "numba": numba, "jax": jax,
}
NEEDS = {"cupy": ["cupy"], "numba": ["numba"], "jax": ["jax", "torch"]}  # the others: torch

if __name__ == "__main__":
    CASES[sys.argv[1]]()
