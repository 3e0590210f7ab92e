# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of PyTorch that get their arrays inside a functor: where these are in its bytes, and which elements a thread reads. No gdb here.

The layouts are those of PyTorch 2.x for 64-bit hosts (ATen/cuda/detail/OffsetCalculator.cuh, IntegerDivider.cuh and the lambdas of
native/cuda/ScatterGatherKernel.cu and IndexKernel.cu). Nothing is taken on trust: size and divisors must agree, and the caller states an
element only where each failing thread that it looked at has one that is not allowed.
"""

from __future__ import annotations

import re
import struct
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import arguments
from .arguments import INTEGERS, Argument, Integer
from .model import Dim3

MAX_DIMS = 25  # of an OffsetCalculator with CUDA
DIVIDER_BYTES = 12  # u32 divisor, u32 m1, u32 shift
WORD = 8


class Offsets(NamedTuple):
    """An OffsetCalculator: from the number of an element to its places, in bytes, in each array."""

    sizes: Tuple[int, ...]
    strides: Tuple[Tuple[int, ...], ...]  # for each dimension, one an array

    def at(self, number: int, array: int) -> int:
        offset = 0
        for size, strides in zip(self.sizes, self.strides):
            number, inner = divmod(number, size)
            offset += inner * strides[array]
        return offset


class Indices(NamedTuple):
    """An array of indices that a kernel checks."""

    argument: int
    name: str  # in the source of the kernel
    value_name: str  # of an element in the assert's expression
    bound_name: str
    address: int
    element: Integer
    high: int
    wraps: bool  # -high .. high - 1
    exempt: Optional[int]
    place: Callable[[int], int]  # number of an element -> bytes from address
    numbers: Callable[[Dim3, Dim3], Iterator[int]]  # those that a thread reads
    count: int
    dense: bool  # one behind the other in the order of their numbers

    def is_allowed(self, value: int) -> bool:
        return value == self.exempt or (-self.high if self.wraps else 0) <= value < self.high


def offsets_bytes(n_arrays: int) -> int:
    return 4 + MAX_DIMS * DIVIDER_BYTES + MAX_DIMS * 4 * n_arrays


def is_divider(divisor: int, multiplier: int, shift: int) -> bool:
    """IntDivider<unsigned>: shift = ceil(log2 d), m1 = 2^32 (2^shift - d) / d + 1."""
    if divisor == 0 or shift > 31 or (1 << shift) < divisor or (shift and (1 << (shift - 1)) >= divisor):
        return False
    return multiplier == ((1 << 32) * ((1 << shift) - divisor)) // divisor + 1


def offsets_of(data: bytes, n_arrays: int) -> Optional[Offsets]:
    """At the start of data. None: it is something else."""
    if len(data) < offsets_bytes(n_arrays):
        return None
    dims = struct.unpack_from("<i", data)[0]
    if not 0 <= dims <= MAX_DIMS:
        return None
    sizes: List[int] = []
    strides: List[Tuple[int, ...]] = []
    for dim in range(dims):
        divider = struct.unpack_from("<III", data, 4 + dim * DIVIDER_BYTES)
        # The divisor of a dimension of size 0 would never have been launched.
        if not is_divider(*divider):
            return None
        sizes.append(divider[0])
        strides.append(struct.unpack_from(f"<{n_arrays}I", data, 4 + MAX_DIMS * DIVIDER_BYTES + dim * 4 * n_arrays))
    return Offsets(tuple(sizes), tuple(strides))


def aligned(size: int) -> int:
    return (size + WORD - 1) // WORD * WORD


def unrolled(signature: str) -> Optional[Tuple[int, int]]:
    """`kernel<128, 8, ...>`: threads of a block, elements of a thread."""
    match = re.search(r"_kernel<(\d+), (\d+),", signature)
    return (int(match[1]), int(match[2])) if match else None


def unrolled_numbers(threads: int, each: int, count: int) -> Callable[[Dim3, Dim3], Iterator[int]]:
    """Thread t of block b reads b threads each + t, then in steps of threads."""

    def numbers(block: Dim3, thread: Dim3) -> Iterator[int]:
        first = block[0] * threads * each + thread[0]
        for at in range(first, first + threads * each, threads):
            if at < count:
                yield at

    return numbers


def grid_numbers(step: int, width: int, count: int) -> Callable[[Dim3, Dim3], Iterator[int]]:
    def numbers(block: Dim3, thread: Dim3) -> Iterator[int]:
        for at in range(block[0] * width + thread[0], count, step):
            yield at

    return numbers


def is_dense(offsets: Offsets, array: int, size: int) -> bool:
    expected = size
    for extent, strides in zip(offsets.sizes, offsets.strides):
        if extent > 1 and strides[array] != expected:
            return False
        expected *= extent
    return True


def functor(found: Sequence[Argument]) -> Optional[Tuple[int, Argument, bytes]]:
    """Of `kernel(int or long N, functor)`: N, the functor and its bytes."""
    if len(found) != 2 or found[0].number is None or found[1].kind != "struct" or not found[1].whole or found[1].data is None:
        return None
    return found[0].number, found[1], found[1].data


def scatter_gather(signature: str, found: Sequence[Argument], grid: Dim3, block: Dim3) -> List[Indices]:
    """_scatter_gather_elementwise_kernel<threads, each>(int N, functor): offset calculator, index_ptr, index_size, what only computes."""
    parts, shape = functor(found), unrolled(signature)
    if parts is None or shape is None:
        return []
    count, argument, data = parts
    fill = "_cuda_scatter_fill_internal_kernel<" in (argument.type or "")
    n_arrays = 2 if fill else 3
    at = aligned(offsets_bytes(n_arrays))
    # index_ptr, index_size, functor, self_ptr, numel, index_stride, and the value or src_ptr
    offsets = offsets_of(data, n_arrays) if len(data) == at + 7 * WORD else None
    if offsets is None:
        return []
    match = re.search(r"_internal_kernel<.*?, (int|long)>::operator\(\)", argument.type or "")
    element = INTEGERS[match[1]] if match else INTEGERS["long"]
    address, high = struct.unpack_from("<Qq", data, at)
    if high <= 0 or address == 0:
        return []
    array = n_arrays - 1
    return [
        Indices(
            argument.parameter.ordinal, "index", "idx_dim", "index_size", address, element, high, False, None,
            lambda n: offsets.at(n, array), unrolled_numbers(*shape, count), count, is_dense(offsets, array, element.size),
        )
    ]  # fmt: skip


def index_elementwise(signature: str, found: Sequence[Argument], grid: Dim3, block: Dim3) -> List[Indices]:
    """index_elementwise_kernel<threads, each>(long N, functor): offset calculator, out_ptr, in_ptr, their number, index_ptrs, sizes, strides."""
    parts, shape = functor(found), unrolled(signature)
    if parts is None or shape is None:
        return []
    count, argument, data = parts
    at = aligned(offsets_bytes(3))
    offsets = offsets_of(data, 3) if len(data) == at + (3 + 3 * MAX_DIMS + 1) * WORD else None
    if offsets is None:
        return []
    n_indices = struct.unpack_from("<i", data, at + 2 * WORD)[0]
    addresses = struct.unpack_from(f"<{MAX_DIMS}Q", data, at + 3 * WORD)
    sizes = struct.unpack_from(f"<{MAX_DIMS}q", data, at + (3 + MAX_DIMS) * WORD)
    # The host code clears all 25 of each before it fills in those that there are.
    if not 0 < n_indices <= MAX_DIMS or any(addresses[n_indices:]) or any(sizes[n_indices:]) or not all(addresses[:n_indices]):
        return []
    return [
        Indices(
            argument.parameter.ordinal, f"index {i}" if n_indices > 1 else "index", "index", f"sizes[{i}]", addresses[i], INTEGERS["long"], sizes[i],
            True, None, lambda n: offsets.at(n, 2), unrolled_numbers(*shape, count), count, is_dense(offsets, 2, WORD),
        )
        for i in range(n_indices)
        if sizes[i] > 0
    ]  # fmt: skip


def loss_2d_no_reduce(signature: str, found: Sequence[Argument], grid: Dim3, block: Dim3) -> List[Indices]:
    """nll_loss2d_forward_no_reduce_kernel(long n_threads, input[N,C,H,W], target[N,H,W], output, weight, ignore_index): element n is of
    sample n % N, row (n / N) % H, column (n / (N H)) % W."""
    if arguments.kinds(found) != "isssp" + "i" or not all(a.data for a in found):
        return []
    values = arguments.array_of(found[1].type or "", found[1].data or b"")
    target = found[2].array
    count, exempt = found[0].number, found[5].number
    if values is None or target is None or target.element is None or count is None or len(values.sizes) != 4 or len(target.sizes) != 3:
        return []
    (batch, rows, columns), strides, size = target.sizes, target.strides, target.element.size

    def place(n: int) -> int:
        return ((n % batch) * strides[0] + (n // batch % rows) * strides[1] + (n // (batch * rows) % columns) * strides[2]) * size

    return [
        Indices(
            2, "target", "cur_target", "n_classes", target.address, target.element, values.sizes[1], False, exempt, place,
            grid_numbers(grid[0] * block[0], block[0], count), count, False,
        )
    ]  # fmt: skip


KERNELS: Dict[str, Callable[[str, Sequence[Argument], Dim3, Dim3], List[Indices]]] = {
    "_scatter_gather_elementwise_kernel": scatter_gather,
    "index_elementwise_kernel": index_elementwise,
    "nll_loss2d_forward_no_reduce_kernel": loss_2d_no_reduce,
}


def indices(signature: str, found: Sequence[Argument], grid: Dim3, block: Dim3) -> List[Indices]:
    """The arrays of indices of this kernel; none where its layout is not certain."""
    decode = KERNELS.get(arguments.base_name(signature))
    return decode(signature, found, grid, block) if decode else []
