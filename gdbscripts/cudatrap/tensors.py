# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in the tensors that the launching thread's frames name: least, greatest, NaN, and the first that no dimension allows.

The front-end has written the incident so far, tensors included, before it starts cuda-gdb (CUDATRAP_GDB_INCIDENT). Facts only: which of it
broke the kernel is the diagnosis' business. Reads are bounded in bytes, number and time.
"""

from __future__ import annotations

import json
import math
import os
import struct
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from . import rules, shapes
from .arguments import Argument
from .shapes import Array, Element

Json = Dict[str, Any]

MAX_DOCUMENT_BYTES = 64 << 20
MAX_TENSORS = 24
MAX_BOUNDS = 24
# Above this a tensor is sampled: whole pieces at even distances.
WHOLE_BYTES = 64 << 20
PIECE_BYTES = 1 << 20
SAMPLED_PIECES = 32
MAX_SECONDS = 3.0
# Words of Python lines and functions, and of kernels, that work with probabilities.
PROBABILITIES = ("binary_cross_entropy", "bceloss", "multinomial", "bernoulli", "_assert_async", "distributions", "probability")

ReadMemory = Callable[[int, int], bytes]


def load(path: Optional[str]) -> Json:
    """The incident so far; empty where there is none."""
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            document = json.loads(file.read(MAX_DOCUMENT_BYTES))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def launching_thread(incident: Json) -> Json:
    threads = [t for t in incident.get("threads", []) if t.get("launching")]
    return threads[0] if threads else {}


def frames_of(thread: Json) -> List[Json]:
    return [f for f in [*thread.get("frames", []), *thread.get("python", [])] if f.get("kind", "python") == "python"]


def speaks_of_probabilities(incident: Json, kernel: str) -> bool:
    """The kernel, or a Python frame that launches it."""
    texts = [kernel] + [f"{f.get('function', '')} {f.get('source', '')}" for f in frames_of(launching_thread(incident))[:12]]
    return any(word in text.lower() for text in texts for word in PROBABILITIES)


def chosen(incident: Json, floats: bool) -> List[Tuple[Json, Array]]:
    """Of the launching thread: those of integers, and of floating point where asked for; innermost frame first, each piece of memory once."""
    tid = launching_thread(incident).get("tid")
    seen: Set[Tuple[int, str, Tuple[int, ...]]] = set()
    found: List[Tuple[Json, Array]] = []
    for row in incident.get("tensors", []):
        array = shapes.array_of_row(row) if tid is None or row.get("tid") in (None, tid) else None
        if array is None or array.element is None or array.count == 0 or len(found) == MAX_TENSORS:
            continue
        key = (array.address, array.dtype, array.shape)
        if key in seen or not (shapes.is_integer(array.element) or (floats and is_float(array.element))):
            continue
        seen.add(key)
        found.append((row, array))
    return found


def is_float(element: Element) -> bool:
    return element.form in ("e", "f", "d", "bf16")


def bounds_of(incident: Json) -> List[int]:
    """Sizes of dimensions of the tensors in the frames: what an index may be meant for. Smallest first."""
    sizes = {n for row in incident.get("tensors", []) for n in row.get("shape", []) if n > 0}
    return sorted(sizes)[:MAX_BOUNDS]


def bounds_of_arguments(found: Sequence[Argument]) -> List[int]:
    """Of arguments without a type too, as Triton's have none: numbers that can be a count."""
    rows = [a.number if a.kind == "integer" else int.from_bytes(a.data or b"", "little") for a in found if a.kind in ("integer", "bytes") and a.whole]
    return [n for n in rows if n is not None and 1 < n < 1 << 31]


def numbers_of(data: bytes, element: Element) -> Sequence[Any]:
    whole = data[: len(data) // element.size * element.size]
    if element.form == "bf16":
        return struct.unpack(f"<{len(whole) // 2}f", b"".join(b"\0\0" + whole[i : i + 2] for i in range(0, len(whole), 2)))
    if element.form == "e":
        return struct.unpack(f"<{len(whole) // 2}e", whole)
    return memoryview(whole).cast(element.form)


class Facts:
    """Gathered piece by piece."""

    def __init__(self, bounds: Sequence[int]) -> None:
        self.bounds = bounds
        self.read = 0
        self.least: Optional[Tuple[Any, int]] = None
        self.most: Optional[Tuple[Any, int]] = None
        self.special: Dict[Tuple[str, int], List[Any]] = {}  # count, index, value

    def note(self, what: str, bound: int, found: Sequence[int], numbers: Sequence[Any], start: int) -> None:
        if found:
            row = self.special.setdefault((what, bound), [0, start + found[0], numbers[found[0]]])
            row[0] += len(found)

    def extremes(self, numbers: Sequence[Any], start: int, ordered: Sequence[Any]) -> None:
        """ordered: the numbers without NaN, which has no place in an order."""
        if not ordered:
            return
        least, most = min(ordered), max(ordered)
        if self.least is None or least < self.least[0]:
            self.least = (least, start + first_of(numbers, least))
        if self.most is None or most > self.most[0]:
            self.most = (most, start + first_of(numbers, most))

    def integers(self, numbers: Sequence[int], start: int) -> None:
        self.read += len(numbers)
        self.extremes(numbers, start, numbers)
        least, most = min(numbers), max(numbers)
        if least < 0:
            self.note("negative", 0, [i for i, n in enumerate(numbers) if n < 0], numbers, start)
        for bound in self.bounds:
            if most >= bound:
                self.note("not below", bound, [i for i, n in enumerate(numbers) if n >= bound], numbers, start)

    def floats(self, numbers: Sequence[float], start: int) -> None:
        self.read += len(numbers)
        self.note("NaN", 0, [i for i, n in enumerate(numbers) if n != n], numbers, start)
        self.note("infinite", 0, [i for i, n in enumerate(numbers) if math.isinf(n)], numbers, start)
        self.note("negative", 0, [i for i, n in enumerate(numbers) if n < 0], numbers, start)
        self.note("above 1", 1, [i for i, n in enumerate(numbers) if n > 1], numbers, start)
        self.extremes(numbers, start, [n for n in numbers if n == n])


def first_of(numbers: Sequence[Any], value: Any) -> int:
    return next(i for i, n in enumerate(numbers) if n == value)


def pieces(size: int, each: int) -> Iterable[Tuple[int, int]]:
    """Offset and length in bytes; of more than WHOLE_BYTES a sample, the first and the last piece among it."""
    if size <= WHOLE_BYTES:
        for at in range(0, size, PIECE_BYTES):
            yield at, min(PIECE_BYTES, size - at)
        return
    step = (size - PIECE_BYTES) // (SAMPLED_PIECES - 1) // each * each
    for number in range(SAMPLED_PIECES):
        yield number * step, PIECE_BYTES


def number_text(value: Any, element: Element) -> str:
    if not is_float(element):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return f"{value:.{element.digits}g}"


def read_tensor(row: Json, array: Array, bounds: Sequence[int], read: ReadMemory, until: float) -> Json:
    element = array.element
    assert element is not None
    result: Json = {"name": array.name, "address": f"{array.address:#x}", "type": array.dtype.rpartition(".")[2], "read": 0}
    # A permuted view has its elements in a block all the same; of others what lies between is not its own.
    if array.span != array.count:
        result["failed"] = "its elements do not lie side by side"
        return result
    facts, size = Facts(bounds), array.count * element.size
    for at, length in pieces(size, element.size):
        if time.monotonic() > until:
            break
        try:
            data = read(array.address + at, length)
        except (RuntimeError, ValueError) as e:
            if not facts.read:
                result["failed"] = rules.why_not(e)
            break
        numbers = numbers_of(data, element)
        (facts.floats if is_float(element) else facts.integers)(numbers, at // element.size)
    result["read"] = facts.read
    if facts.read == array.count:
        result["whole"] = True
    if array.is_dense:
        result["in_order"] = True
    add_facts(result, facts, element)
    if not facts.read:
        result.setdefault("failed", "no time left to read it")
    return result


def add_facts(result: Json, facts: Facts, element: Element) -> None:
    for key, extreme in (("min", facts.least), ("max", facts.most)):
        if extreme is not None:
            result[key] = number_text(extreme[0], element)
            if extreme[1]:
                result[f"{key}_index"] = extreme[1]
    rows = []
    for (what, bound), (count, index, value) in facts.special.items():
        special: Json = {"what": what, "count": count, "index": index, "value": number_text(value, element)}
        if bound:
            special["bound"] = bound
        rows.append(special)
    if rows:
        result["special"] = rows


def read_all(incident: Json, kernel: str, read: ReadMemory, found: Sequence[Argument] = ()) -> List[Json]:
    """A row for each tensor that is looked at; found: the kernel's arguments."""
    floats = speaks_of_probabilities(incident, kernel)
    bounds, until = sorted({*bounds_of(incident), *bounds_of_arguments(found)[:MAX_BOUNDS]}), time.monotonic() + MAX_SECONDS
    return [read_tensor(row, array, bounds, read, until) for row, array in chosen(incident, floats)]


def incident_path() -> Optional[str]:
    return os.environ.get("CUDATRAP_GDB_INCIDENT")
