# SPDX-License-Identifier: GPL-3.0-or-later
"""Which elements of an array the failing threads read: the rows of data/assert-values.tsv (data/README.md says what they mean). No gdb here."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import arguments
from .arguments import Argument, Array, Integer
from .model import Dim3

Json = Dict[str, Any]

TABLE = "assert-values.tsv"
MAX_TABLE_BYTES = 1 << 20
# Elements looked at for one thread.
MAX_STEPS = 4096


class RuleError(Exception):
    """The table is not there or not as it should be."""


class Rule(NamedTuple):
    id: str
    kernel: str
    kinds: str
    names: List[str]
    array: str
    map: str
    count: str
    high: str
    wraps: str
    exempt: str
    value: str
    catalog: str


class Launch(NamedTuple):
    """What a map needs to know of the launch."""

    signature: str
    grid: Dim3
    block: Dim3
    arguments: Dict[str, Argument]  # by the rule's names

    def number(self, name: str) -> Optional[int]:
        argument = self.arguments.get(name)
        return argument.number if argument else None


def table_path(environment: Any) -> str:
    """Named by the front-end; for scripts loaded by hand, beside them: in the source tree or where they are installed."""
    named = environment.get("CUDATRAP_GDB_DATA")
    if named:
        return os.path.join(named, TABLE)
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    source = os.path.join(top, "data", TABLE)
    return source if os.path.exists(source) else os.path.join(top, TABLE)


def load(path: str) -> List[Rule]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read(MAX_TABLE_BYTES).splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise RuleError(f"{path}: {e}") from None
    rules = []
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != len(Rule._fields):
            raise RuleError(f"{path}:{number}: {len(fields)} fields instead of {len(Rule._fields)}")
        rules.append(Rule(*fields)._replace(names=fields[3].split(",")))
    return rules


def kinds_agree(wanted: str, got: str) -> bool:
    return got.startswith(wanted[:-1]) if wanted.endswith("*") else got == wanted


def named(rule: Rule, found: Sequence[Argument]) -> List[Argument]:
    return [a._replace(name=rule.names[i]) if i < len(rule.names) else a for i, a in enumerate(found)]


def choose(rules: Iterable[Rule], signature: str, found: Sequence[Argument]) -> Optional[Rule]:
    """The row for this kernel: name, kinds of all arguments, and integers in the array."""
    name, form = arguments.base_name(signature), arguments.kinds(found)
    for rule in rules:
        if rule.kernel == name and kinds_agree(rule.kinds, form):
            at = rule.names.index(rule.array) if rule.array in rule.names else -1
            if at >= 0 and found[at].array is not None:
                return rule
    return None


# ---- which elements -------------------------------------------------------------------------------------------------

Steps = Iterator[int]


def steps(start: int, step: int, end: Optional[int]) -> Steps:
    if end is None or step <= 0:
        return
    for at in range(start, min(end, start + MAX_STEPS * step), step):
        yield at


def grid_steps(launch: Launch, block: Dim3, thread: Dim3, end: Optional[int]) -> Steps:
    return steps(block[0] * launch.block[0] + thread[0], launch.grid[0] * launch.block[0], end)


def map_first(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    yield 0


def map_block_x(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    return steps(block[0], 1, min(block[0] + 1, length or 0))


def map_block_stride(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    return steps(thread[0], launch.block[0], length)


def map_grid_stride(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    return grid_steps(launch, block, thread, length)


def map_warp_stride(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    return steps((block[0] * launch.block[0] + thread[0]) // 32, launch.grid[0] * launch.block[0] // 32, length)


def map_sample_stride(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    per_sample = launch.number("blocks_per_sample")
    if length is None or not per_sample or per_sample < 0:
        return
    first = (block[0] % per_sample) * launch.block[0] + thread[0]
    for at in steps(first, launch.block[0] * per_sample, length):
        yield block[0] // per_sample * length + at


def map_slice(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    inner = launch.number("innerSize")
    major = {"true": True, "(bool)1": True, "false": False, "(bool)0": False}.get(arguments.last_template_argument(launch.signature))
    if not inner or inner < 0 or major is None:
        return
    for at in grid_steps(launch, block, thread, length):
        yield at // inner if major else at % inner


def map_walk(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    return steps(0, 1, length)


def map_any(launch: Launch, rule: Rule, length: Optional[int], block: Dim3, thread: Dim3) -> Steps:
    return steps(0, 1, 0)


MAPS: Dict[str, Callable[[Launch, Rule, Optional[int], Dim3, Dim3], Steps]] = {
    "first": map_first,
    "block-x": map_block_x,
    "block-stride": map_block_stride,
    "grid-stride": map_grid_stride,
    "warp-stride": map_warp_stride,
    "sample-stride": map_sample_stride,
    "slice": map_slice,
    "walk": map_walk,
    "any": map_any,
}


def array_length(array: Array) -> Optional[int]:
    """Elements of an array whose extent is known, when one follows the other in memory."""
    if not array.sizes:
        return None
    length, expected = 1, 1
    for size, stride in zip(reversed(array.sizes), reversed(array.strides)):
        if size < 0 or (size > 1 and stride != expected):
            return None
        length *= size
        expected *= size
    return length


def count_of(rule: Rule, launch: Launch) -> Optional[int]:
    """What bounds the map: an argument, or the extent of the array itself."""
    if rule.map == "first":
        return 1
    if rule.count != "-":
        count = launch.number(rule.count)
        return count if count is not None and count >= 0 else None
    array = launch.arguments[rule.array].array
    return array_length(array) if array else None


def length_of(rule: Rule, launch: Launch) -> Optional[int]:
    """Elements that the array has, when that is known."""
    array = launch.arguments[rule.array].array
    if array and array.sizes:
        return array_length(array)
    count = count_of(rule, launch)
    if rule.map == "sample-stride" and count is not None:
        per_sample = launch.number("blocks_per_sample")
        return count * -(-launch.grid[0] // per_sample) if per_sample and per_sample > 0 else None
    return count


Allowed = Tuple[Optional[int], Optional[int], Optional[int]]  # low, high (not included), exempt


def allowed(rule: Rule, launch: Launch) -> Optional[Allowed]:
    """None: the bound is not known."""
    high = None
    if rule.high != "-":
        high = launch.number(rule.high)
        if high is None:
            return None
    low = -high if high is not None and rule.wraps != "-" and launch.number(rule.wraps) else 0
    return low, high, launch.number(rule.exempt) if rule.exempt != "-" else None


def is_allowed(bounds: Allowed, value: int) -> bool:
    low, high, exempt = bounds
    return value == exempt or ((low is None or value >= low) and (high is None or value < high))


def elements(rule: Rule, launch: Launch, block: Dim3, thread: Dim3) -> Steps:
    """Indices of the elements that this thread reads, in its order."""
    return MAPS[rule.map](launch, rule, count_of(rule, launch), block, thread) if rule.map in MAPS else steps(0, 1, 0)


FORMATS = {"int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}


def integers(data: bytes, element: Integer) -> List[int]:
    """Little-endian, as the GPU and every host of a GPU are. A part of an element at the end is left out."""
    return memoryview(data[: len(data) // element.size * element.size]).cast(FORMATS[element.word]).tolist()


def why_not(e: Exception) -> str:
    """Why memory could not be read, in a reader's words: the debugger's are about its own functions."""
    text = str(e)
    if "not available in this corefile" in text:
        return "GPU memory is not in this dump; --dump=memory or full keeps it"
    return text if text.startswith("no time") else "the debugger could not read GPU memory there"
