# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the failing kernel, read while it stands: arguments, elements of the arrays that they point to, locals.

Everything is bounded, and what cannot be read says so in its own row. The focus is on a failing lane when these are called.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import gdb

from . import arguments, model, rules
from .arguments import Argument, Integer, Parameter
from .functors import Indices
from .image import Image
from .model import Dim3, Json
from .rules import Launch, Rule

GDB_ERRORS = (gdb.error, RuntimeError, ValueError)

# Of an array whose length is not known: what is read of it.
BLIND_BYTES = 64 << 10
# Of an array whose length is known.
KNOWN_BYTES = 1 << 20
# Elements beyond that, one read each.
MAX_SINGLE_READS = 256
# For all arrays together: the process stands still meanwhile.
MAX_SECONDS = 2.0
MAX_LOCALS = 32
MAX_LOCAL_TEXT = 200
MAX_LOCAL_FRAMES = 8

# ---- arguments ------------------------------------------------------------------------------------------------------


def read_arguments(image: Image, symbol: str, signature: str) -> List[Argument]:
    """The arguments of the kernel in focus."""
    layout, base = image.parameters(symbol), image.params_offset(symbol)
    data: Dict[int, bytes] = {}
    for parameter in layout[: arguments.MAX_ARGUMENTS] if base is not None else []:
        try:
            data[parameter.ordinal] = parameter_bytes((base or 0) + parameter.offset, min(parameter.size, arguments.MAX_READ_BYTES))
        except GDB_ERRORS:
            continue  # the row has no value then
    return arguments.decode(layout, signature, data, argument_names(signature))


def parameter_bytes(address: int, size: int) -> bytes:
    if size == 0:
        return b""
    value = gdb.parse_and_eval(f"*(@parameter unsigned char*)({address:#x})@{size}")
    return bytes(int(value[i]) & 0xFF for i in range(size))


def argument_names(signature: str) -> Optional[List[str]]:
    """Of the kernel in focus, where it has debug information and its frame could be reached: it is the outermost one."""
    frame = gdb.newest_frame()
    try:
        for _ in range(64):
            older = frame.older()
            if older is None:
                break
            frame = older
        block = frame.block()
        while block is not None and block.function is None:
            block = block.superblock
        # A walk that was cut short ends in a device function, whose arguments are others.
        if block is None or arguments.base_name(block.function.name) != arguments.base_name(signature):
            return None
        return [symbol.name for symbol in block if symbol.is_argument]
    except GDB_ERRORS:
        return None


# ---- locals ---------------------------------------------------------------------------------------------------------


def read_locals() -> List[Json]:
    """Variables of the frames in focus that the program itself has written: innermost first."""
    rows: List[Json] = []
    frame: Optional[gdb.Frame] = gdb.newest_frame()
    for _ in range(MAX_LOCAL_FRAMES):
        if frame is None or len(rows) >= MAX_LOCALS:
            break
        rows.extend(frame_locals(frame)[: MAX_LOCALS - len(rows)])
        try:
            frame = frame.older()
        except GDB_ERRORS:
            break
    return rows


def frame_locals(frame: gdb.Frame) -> List[Json]:
    rows: List[Json] = []
    seen = set()
    try:
        block = frame.block()
        while block is not None and not block.is_global and not block.is_static:
            for symbol in block:
                if (symbol.is_variable or symbol.is_argument) and symbol.name not in seen:
                    seen.add(symbol.name)
                    rows.append(local_row(frame, symbol))
            if block.function is not None:
                break
            block = block.superblock
    except GDB_ERRORS:
        pass  # no debug information, or no more of it
    return rows


def local_row(frame: gdb.Frame, symbol: gdb.Symbol) -> Json:
    what = "argument" if symbol.is_argument else "local"
    row: Json = {"name": symbol.name, "how": f"{what} of {frame.name() or 'the kernel'}"}
    try:
        value = symbol.value(frame)
        if value.is_optimized_out:
            row["why_not"] = "optimised away where the thread stands"
            return row
        row["text"] = " ".join(value.format_string(max_elements=16, max_depth=2, symbols=False).split())[:MAX_LOCAL_TEXT]
    except GDB_ERRORS as e:
        text = " ".join(str(e).split())
        # cuda-gdb 13.0 for a register that the functions called since then have taken.
        row["why_not"] = "its register is not kept where the thread stands" if "DWARF register" in text else text[:MAX_LOCAL_TEXT]
    return row


# ---- arrays ---------------------------------------------------------------------------------------------------------


class Reader:
    """Global memory, within the time and the number of single reads that one report may cost."""

    def __init__(self) -> None:
        self.until = time.monotonic() + MAX_SECONDS
        self.single_reads = 0

    def read(self, address: int, size: int) -> bytes:
        if time.monotonic() > self.until:
            raise RuntimeError("no time left to read it")
        return bytes(gdb.cuda.read_global_memory(address, size))

    def block(self, address: int, size: int) -> bytes:
        """As much of it as there is: an allocation may end before (they are multiples of 512 bytes in PyTorch, of 2 MiB in the driver)."""
        while True:
            try:
                return self.read(address, size)
            except GDB_ERRORS:
                if size <= 512:
                    raise
                size = max(512, size // 4)

    def one(self, address: int, element: Integer) -> Optional[int]:
        self.single_reads += 1
        if self.single_reads > MAX_SINGLE_READS:
            return None
        try:
            return rules.integers(self.read(address, element.size), element)[0]
        except (*GDB_ERRORS, IndexError):
            return None


def read_arrays(
    found: Sequence[Argument], rule: Optional[Rule], launch: Optional[Launch], threads: Sequence[Tuple[Dim3, Dim3]], reader: Optional[Reader] = None
) -> List[Json]:
    """A row for each array of integers among the arguments; the one of the rule first."""
    reader = reader or Reader()
    order = sorted(found, key=lambda a: rule is None or a.name != rule.array)
    rows = []
    for argument in order:
        array = argument.array
        if array is None or array.element is None or array.address == 0 or not is_input(argument):
            continue
        if rule is not None and argument.name != rule.array and array.element.size == 1:
            continue  # char *: bytes of any type
        here = rule if rule is not None and launch is not None and argument.name == rule.array else None
        rows.append(read_array(argument, found, here, launch, threads, reader))
    return rows


def is_input(argument: Argument) -> bool:
    """What a kernel is given to write to holds nothing that it checks. A struct does not tell."""
    return argument.kind != "pointer" or "const" in (argument.type or "").split("*")[0].split() or bool(argument.name)


def read_array(
    argument: Argument,
    found: Sequence[Argument],
    rule: Optional[Rule],
    launch: Optional[Launch],
    threads: Sequence[Tuple[Dim3, Dim3]],
    reader: Reader,
) -> Json:
    array = argument.array
    assert array is not None and array.element is not None
    row: Json = {"argument": argument.parameter.ordinal, "address": model.hexadecimal(array.address), "type": array.element.word}
    length = rules.length_of(rule, launch) if rule and launch else rules.array_length(array)
    wanted = BLIND_BYTES if length is None else min(length * array.element.size, KNOWN_BYTES)
    try:
        numbers = rules.integers(reader.block(array.address, wanted), array.element) if wanted else []
    except GDB_ERRORS as e:
        row.update(read=0, failed=rules.why_not(e))
        return row
    row["read"] = len(numbers)
    if length is not None and length == len(numbers):
        row["whole"] = True
    if numbers:
        row.update(summary(numbers))
        outside = exceeded(numbers, found)
        if outside:
            row["outside"] = outside
    if rule and launch:
        row["rule"] = rule.id

        def element(index: int) -> Optional[int]:
            if index < len(numbers):
                return numbers[index]
            if length is not None and index >= length:
                return None
            return reader.one(array.address + index * array.element.size, array.element)

        elements = offending(rule, launch, threads, element)
        if elements:
            row["elements"] = elements
    return row


def summary(numbers: Sequence[int]) -> Json:
    least, most = min(numbers), max(numbers)
    row: Json = {"min": str(least), "max": str(most)}
    for key, value in (("min_index", least), ("max_index", most)):
        if numbers.index(value):
            row[key] = numbers.index(value)
    return row


def exceeded(numbers: Sequence[int], found: Iterable[Argument]) -> List[Json]:
    """Integer arguments that, taken as a bound, some elements exceed: candidates, nothing more."""
    rows = []
    for argument in found:
        bound = argument.number
        if argument.kind != "integer" or bound is None or bound <= 0:
            continue
        outside = [i for i, n in enumerate(numbers) if not 0 <= n < bound]
        if outside:
            first = outside[0]
            rows.append({"argument": argument.parameter.ordinal, "count": len(outside), "index": first, "value": str(numbers[first])})
    return rows


def offending(rule: Rule, launch: Launch, threads: Sequence[Tuple[Dim3, Dim3]], number_at: Any) -> List[Json]:
    """For each failing thread the first element that it reads and that is not allowed."""
    bounds = rules.allowed(rule, launch)
    rows: List[Json] = []
    for block, thread in threads[: model.MAX_LANES] if bounds is not None else []:
        for index in rules.elements(rule, launch, block, thread):
            number = number_at(index)
            if number is None:
                break
            if not rules.is_allowed(bounds, number):
                rows.append({"index": index, "value": str(number), "at": {"block": list(block), "thread": list(thread)}})
                break
    return rows


# ---- arrays of indices inside functors ----------------------------------------------------------------------------------


class Window:
    """An array of indices: what its threads read, in one block where that is small, else one by one."""

    def __init__(self, array: Indices, places: Sequence[int], reader: Reader) -> None:
        self.array, self.reader, self.data, self.start = array, reader, b"", 0
        size = array.element.size
        if array.dense and array.count * size <= KNOWN_BYTES:
            self.data = reader.block(array.address, array.count * size)
        elif places and max(places) - min(places) < KNOWN_BYTES:
            self.start = min(places)
            self.data = reader.block(array.address + self.start, max(places) - self.start + size)

    def at(self, place: int) -> Optional[int]:
        start, size = place - self.start, self.array.element.size
        if 0 <= start and start + size <= len(self.data):
            return rules.integers(self.data[start : start + size], self.array.element)[0]
        return self.reader.one(self.array.address + place, self.array.element)

    def facts(self) -> Json:
        whole = self.array.dense and len(self.data) == self.array.count * self.array.element.size
        numbers = rules.integers(self.data, self.array.element) if whole else []
        return {"read": len(numbers), "whole": True, **summary(numbers)} if numbers else {"read": 0}


def read_indices(arrays: Sequence[Indices], threads: Sequence[Tuple[Dim3, Dim3]], reader: Optional[Reader] = None) -> List[Json]:
    """A row for each array, with the element that each failing thread stopped at. None are stated unless each thread has one: only then is the
    functor's layout what it was taken for."""
    reader, threads = reader or Reader(), threads[: model.MAX_LANES]
    windows: List[Window] = []
    for array in arrays:
        try:
            windows.append(Window(array, [array.place(n) for block, thread in threads for n in array.numbers(block, thread)], reader))
        except GDB_ERRORS:
            return []
    rows = [index_row(window) for window in windows]
    for block, thread in threads:
        found = stopped_at(windows, block, thread)
        if found is None:
            return []
        number, index, value = found
        rows[number].setdefault("elements", []).append({"index": index, "value": str(value), "at": {"block": list(block), "thread": list(thread)}})
    return rows


def stopped_at(windows: Sequence[Window], block: Dim3, thread: Dim3) -> Optional[Tuple[int, int, int]]:
    """The first element that is not allowed: which array, where in it, and the element."""
    for n in windows[0].array.numbers(block, thread) if windows else []:
        for number, window in enumerate(windows):
            place = window.array.place(n)
            value = window.at(place)
            if value is None:
                return None
            if not window.array.is_allowed(value):
                return number, place // window.array.element.size, value
    return None


def index_row(window: Window) -> Json:
    array = window.array
    row: Json = {"argument": array.argument, "name": array.name, "value_name": array.value_name, "bound_name": array.bound_name, "bound": str(array.high)}
    if array.exempt is not None:
        row["exempt"] = str(array.exempt)
    return {**row, "address": model.hexadecimal(array.address), "type": array.element.word, **window.facts()}


def read_tensor_bytes(address: int, size: int) -> bytes:
    return bytes(gdb.cuda.read_global_memory(address, size))


def load_rules() -> List[Rule]:
    return rules.load(rules.table_path(os.environ))
