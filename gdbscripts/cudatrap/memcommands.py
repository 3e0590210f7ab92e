# SPDX-License-Identifier: GPL-3.0-or-later
"""`trap mem`, `tensors`, `tensor`, `values`, `find`: device memory and the tensors that Python knows."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

import gdb

from . import arguments, kernelargs, settings, shapes, stop
from .command import Completed, TrapCommand, show
from .shapes import Array, ShapeError
from .stop import Stop

MAX_VALUES = 4096  # as in `cudatrap shell`
PER_LINE = 4
CHUNK = 1 << 20  # bytes of one read
SKIPPED_AT_ONCE = 64  # a strided row is read whole when it is not longer than so many times its elements


def read_memory(address: int, size: int) -> bytes:
    """Global memory, in pieces, so that Ctrl-C is heard in between."""
    if not any(True for _ in gdb.cuda.devices()):
        # cuda-gdb 13.0 gives bytes of its own then, and no error.
        raise gdb.GdbError("no GPU is at work in this program: there is no memory of it to read")
    parts = []
    try:
        for at in range(0, size, CHUNK):
            parts.append(bytes(gdb.cuda.read_global_memory(address + at, min(CHUNK, size - at))))
    except (gdb.error, RuntimeError, ValueError, OverflowError) as e:
        if stop.is_dump():
            raise gdb.GdbError(
                f"{size} bytes at {address:#x} are not in this dump (global memory is kept by `cudatrap --engine core --dump memory`)"
            ) from e
        raise gdb.GdbError(f"{size} bytes at {address:#x}: the debugger could not read GPU memory there") from e
    return b"".join(parts)


def pointer_of(found: Stop, word: str) -> int:
    """An address, an argument (arg0) or any expression without a blank."""
    match = re.match(r"^arg(\d+)$", word)
    if not match:
        try:
            return int(word, 0) if re.match(r"^(0[xX][0-9a-fA-F]+|\d+)$", word) else int(gdb.parse_and_eval(word)) & ~(-1 << 64)
        except (gdb.error, ValueError, TypeError) as e:
            raise gdb.GdbError(f"'{word}' is neither an address nor an argument such as arg0 ({e})") from e
    param, _ = kernelargs.numbered(found, int(match[1]))
    data = kernelargs.argument_bytes(found, param)
    if len(data) != 8:
        raise gdb.GdbError(f"argument {match[1]} is not a pointer")
    return int.from_bytes(data, "little")


class TrapMem(TrapCommand):
    """Show device memory, or that which argument N points to.
    Usage: trap mem ADDRESS | argN [TYPE [COUNT]]

    TYPE is u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64, x8, x32, x64, or a dtype such as int64, bool or float8_e4m3fn (shown as bytes).
    Without TYPE and COUNT: 16 of x8."""

    name, arguments = "mem", (1, 3)

    def split(self, argument: str) -> List[str]:
        return argument.split()  # quotes belong to expressions: $trap_tensor("y")

    def run(self, found: Stop, words: List[str]) -> None:
        element = shapes.element_of(words[1] if len(words) > 1 else "x8")
        if element is None:
            raise gdb.GdbError(f"'{words[1]}' is none of: {shapes.words()}, nor a dtype such as int64")
        count = 16
        if len(words) > 2:
            count = int(words[2]) if re.match(r"^\d{1,9}$", words[2]) else 0
            if not 1 <= count <= MAX_VALUES:
                raise gdb.GdbError(f"'{words[2]}' is not a count from 1 to {MAX_VALUES}")
        address = pointer_of(found, words[0])
        texts = shapes.texts(read_memory(address, count * element.size), element)
        for at in range(0, count, PER_LINE):
            show(f"{address + at * element.size:#x}:  " + "  ".join(texts[at : at + PER_LINE]))


# ---- tensors --------------------------------------------------------------------------------------------------------


def no_tensors(found: Stop) -> str:
    if stop.is_dump():
        return "a GPU core dump knows no tensors (run the program under cudatrap: its report has them)"
    if not found.is_told:
        return "no tensors are known here: the front-end reads them (`cudatrap -i --engine wait COMMAND`)"
    return "no tensors were read: only a process that waits after its fault can be asked for them (`cudatrap -i --engine wait COMMAND`)"


def named(found: Stop, name: str) -> List[Dict[str, Any]]:
    """Tensors of that name, the innermost frame's first; an attribute or item by its end: `weight` is `self.fc.weight`."""
    exact = [row for row in found.tensors if row.get("name") == name]
    return exact or [row for row in found.tensors if row.get("name", "").endswith("." + name)]


def argument_array(found: Stop, word: str) -> Optional[Array]:
    """`arg3` of a kernel that is given a view with its sizes."""
    match = re.match(r"^arg(\d+)$", word)
    if not match:
        return None
    param, type_ = kernelargs.numbered(found, int(match[1]))
    view = arguments.array_of(type_, kernelargs.argument_bytes(found, param)) if type_ else None
    if view is None or view.element is None:
        raise gdb.GdbError(f"argument {match[1]} is no array whose sizes are known: `trap mem {word} TYPE COUNT` shows what it points to")
    return Array(word, view.address, view.element.word, view.sizes, view.strides)


def array_named(found: Stop, name: str) -> Array:
    array = argument_array(found, name)
    if array:
        return array
    rows = named(found, name)
    if not rows:
        known = sorted({row.get("name", "") for row in found.tensors})
        raise gdb.GdbError(f"there is no tensor '{name}': " + (", ".join(known[:12]) + (" ..." if len(known) > 12 else "") if known else no_tensors(found)))
    for row in rows:
        array = shapes.array_of_row(row)
        if array:
            return array
    raise gdb.GdbError(f"'{name}' has no elements in GPU memory: {shapes.tensor_text(rows[0])}")


class TensorNames(Completed):
    def known(self) -> List[str]:
        return sorted({row.get("name", "") for row in stop.seen_tensors()})


class TrapTensors(TensorNames):
    """List the tensors that the Python frames name, or those of one name.
    Usage: trap tensors [NAME]"""

    name, arguments = "tensors", (0, 1)

    def run(self, found: Stop, words: List[str]) -> None:
        rows = named(found, words[0]) if words else found.tensors
        if not found.tensors:
            raise gdb.GdbError(no_tensors(found))
        if not rows:
            raise gdb.GdbError(f"there is no tensor '{words[0]}': `trap tensors` lists them")
        for row in rows:
            show(shapes.tensor_text(row))


class TrapTensor(TensorNames):
    """Show elements of a tensor, read from device memory.
    Usage: trap tensor NAME | argN [INDEX]

    INDEX is 2, -1, 1:3 or several such, separated by commas. `set trap elements` says how many elements are shown."""

    name, arguments = "tensor", (1, 2)

    def run(self, found: Stop, words: List[str]) -> None:
        array = array_named(found, words[0])
        try:
            ranges = shapes.parse_index(words[1] if len(words) > 1 else None, array.shape)
        except ShapeError as e:
            raise gdb.GdbError(f"{array.name}: {e}") from e
        show(array.head())
        if array.element is None:
            raise gdb.GdbError(f"elements of type {array.dtype or 'unknown'} cannot be shown")
        room, shown = settings.value("elements"), 0
        for index, offset, n in shapes.rows_of(array, ranges):
            if shown >= room:
                show(f"... the first {room} elements (`set trap elements`, or an index such as [{','.join(str(first) for first, _ in ranges)}])")
                break
            taken = min(n, room - shown)
            shown += taken
            show(f"[{','.join(map(str, index))}]  " + "  ".join(row_texts(array, offset, taken)) + (" ..." if taken < n else ""))


def row_texts(array: Array, offset: int, count: int) -> List[str]:
    element, step = array.element, array.stride[-1] if array.stride else 1
    assert element is not None
    start = array.address + offset * element.size
    if step <= SKIPPED_AT_ONCE:
        data = read_memory(start, ((count - 1) * step + 1) * element.size)
        return [shapes.text_of(data[i * step * element.size :][: element.size], element) for i in range(count)]
    return [shapes.text_of(read_memory(start + i * step * element.size, element.size), element) for i in range(count)]


class TrapTensorFunction(gdb.Function):
    """$trap_tensor(NAME): address of the first element of a tensor, for `trap mem` and expressions."""

    def __init__(self) -> None:
        super().__init__("trap_tensor")

    def invoke(self, *arguments_: Any) -> Any:
        if len(arguments_) != 1:
            raise gdb.GdbError('usage: $trap_tensor("NAME")')
        return array_named(stop.current(), arguments_[0].string()).address


# ---- values ---------------------------------------------------------------------------------------------------------


class TrapValues(TrapCommand):
    """Show the values that broke the kernel, and how each was got.
    Usage: trap values"""

    name = "values"

    def run(self, found: Stop, words: List[str]) -> None:
        rows = found.incident.get("values", [])
        for row in rows:
            text = f"{row.get('name', '?')} = {row['text']}" if "text" in row else f"{row.get('name', '?')}: {row.get('why_not', 'not known')}"
            show(text + (f"   {row['how']}" if row.get("how") else ""))
        for row in found.document.get("gpu", {}).get("memory", []):
            show(memory_text(row))
        if not rows and not found.document.get("gpu", {}).get("memory"):
            raise gdb.GdbError("no values are known here: `trap args` shows what the kernel was given")


def memory_text(row: Dict[str, Any]) -> str:
    head = f"array of argument {row['argument']}"
    if row.get("failed"):
        return f"{head}: {row['failed']}" + (" (`cudatrap --engine core --dump memory` keeps it)" if "not in this dump" in row["failed"] else "")
    text = f"{head}: {row['read']} {row.get('type', 'elements')}{' read' if not row.get('whole') else ''}"
    if "min" in row:
        text += f", least {row['min']} at [{row.get('min_index', 0)}], greatest {row['max']} at [{row.get('max_index', 0)}]"
    return text


# ---- find -----------------------------------------------------------------------------------------------------------


class TrapFind(TrapCommand):
    """Say which tensors of integers and which arguments hold a value, and where.
    Usage: trap find VALUE

    Of each tensor at most `set trap find-bytes` are read."""

    name, arguments = "find", (1, 1)

    def run(self, found: Stop, words: List[str]) -> None:
        if not re.match(r"^-?(0[xX][0-9a-fA-F]{1,16}|\d{1,20})$", words[0]):
            raise gdb.GdbError(f"'{words[0]}' is not an integer")
        wanted, lines, failures = int(words[0], 0), [], []
        lines.extend(f"argument {number} = {wanted}" for number in equal_arguments(found, wanted))
        arrays = integer_arrays(found)
        for names, array in arrays:
            try:
                line = find_in(array, wanted)
            except gdb.GdbError as e:
                failures.append(f"{names}: {e}")
                continue
            if line:
                lines.append(f"{names}{line}" + (f"   {array.where}" if array.where else ""))
        for line in lines:
            show(line)
        for line in failures:
            show(f"not read: {line}")
        if not lines:
            n = len(arrays) - len(failures)
            show(f"{wanted} is in no argument and in none of the {n} tensor{'' if n == 1 else 's'} of integers that could be read")


def equal_arguments(found: Stop, wanted: int) -> List[int]:
    try:
        params, types = kernelargs.parameters(found)
    except gdb.GdbError:
        return []
    rows = []
    for number, param in enumerate(params):
        integer = arguments.INTEGERS.get(arguments.plain(types[number])) if types else None
        if integer and integer.size == param.size and int.from_bytes(kernelargs.argument_bytes(found, param), "little", signed=integer.signed) == wanted:
            rows.append(number)
    return rows


def integer_arrays(found: Stop) -> List[Tuple[str, Array]]:
    """Each piece of memory once, with all of its names; without tensors, what the kernel's arguments lead to."""
    grouped: Dict[Tuple[Any, ...], Tuple[List[str], Array]] = {}
    for row in found.tensors:
        array = shapes.array_of_row(row)
        if array and array.count and shapes.is_integer(array.element):
            names, _ = grouped.setdefault((array.address, array.shape, array.stride, array.dtype), ([], array))
            if array.name not in names:
                names.append(array.name)
    if grouped:
        return [(" = ".join(names), array) for names, array in grouped.values()]
    arrays = []
    for row in found.document.get("gpu", {}).get("memory", []):
        if row.get("type") and row.get("read"):
            arrays.append((f"array of argument {row['argument']}", Array("", int(row["address"], 16), row["type"], (row["read"],), (1,))))
    return arrays


def find_in(array: Array, wanted: int) -> str:
    element = array.element
    assert element is not None
    size = min(array.span * element.size, settings.value("find-bytes"))
    count, found, looked = shapes.positions(array, read_memory(array.address, size), wanted)
    if not count:
        return ""
    places = ", ".join(f"[{','.join(map(str, index))}]" for index in found) + (" ..." if count > len(found) else "")
    rest = "" if looked == array.count else f", of {array.count}"
    return f"{places} = {wanted}   {count} of {looked} elements{rest}"


COMMANDS = (TrapMem, TrapTensors, TrapTensor, TrapValues, TrapFind)
