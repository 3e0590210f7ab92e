# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPU's state at a stop or in a dump, as the dict that emit.py writes. Prints nothing, changes nothing, keeps nothing.

Each probe may fail alone: it costs its own row and what depends on it.
"""

from __future__ import annotations

import re
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import gdb

from . import access, arguments, focus, functors, model, rules, tensors, values
from .image import Image, ImageError
from .model import Dim3, GridKey, Json

# Frames of one stack; a recursion that overflowed the stack has thousands.
MAX_FRAMES = 64
# Groups whose call stack is read: each needs a move of the focus.
MAX_STACKS = 16

# What gdb and gdb.cuda raise for a fact that is not to be had.
GDB_ERRORS = (gdb.error, RuntimeError, ValueError)


class State:
    """What the probes learn, each from those before it."""

    def __init__(self) -> None:
        self.devices: List[Any] = []
        self.warps: List[model.Warp] = []
        self.sm_exceptions: List[model.SmException] = []
        self.groups: List[model.Group] = []
        self.kernels: Dict[GridKey, Json] = {}
        self.images: Dict[str, Optional[Image]] = {}
        self.short_names: Dict[GridKey, str] = {}
        self.notes: List[str] = []
        self.arguments: List[arguments.Argument] = []
        self.rule: Optional[rules.Rule] = None
        self.memory: List[Json] = []
        self.tensors: List[Json] = []
        self.locals: List[Json] = []


class Partial(Exception):
    """A probe got something, but not all."""


# ---- probes ---------------------------------------------------------------------------------------------------------


def read_devices(state: State) -> None:
    state.devices = list(gdb.cuda.devices())
    if not state.devices:
        raise Partial("the debugger sees no CUDA device in this process")


def read_lanes(state: State) -> None:
    for device in state.devices:
        for sm in device.active_sms():
            if sm.exception is not None:
                state.sm_exceptions.append(model.SmException(device.device_id, sm.sm_id, sm.exception, sm.errorpc))
            for warp in sm.warps():
                if warp.is_valid:
                    state.warps.append(read_warp(warp))


def read_warp(warp: Any) -> model.Warp:
    lanes = [model.Lane(lane.lane_id, dim3(lane.thread_idx), lane.pc, lane.exception) for lane in warp.valid_lanes()]
    return model.Warp(warp.device_id, warp.sm_id, warp.warp_id, warp.grid_id, dim3(warp.block_idx), warp.errorpc, lanes)


def group_lanes(state: State) -> None:
    state.groups = model.group_threads(state.warps, state.sm_exceptions, lambda pc: is_trap(state, pc))
    if len(state.groups) > model.MAX_GROUPS:
        n = len(state.groups)
        del state.groups[model.MAX_GROUPS :]
        raise Partial(f"threads stand at {n} places; the {model.MAX_GROUPS} with most warps are listed")


def read_short_names(state: State) -> None:
    """`info cuda kernels` alone names a kernel whose functions have no usable frames; there is no kernel object in gdb.cuda."""
    names, unread = parse_kernels(gdb.execute("info cuda kernels", to_string=True))
    state.short_names = names
    if unread:
        raise Partial(f"{len(unread)} rows of `info cuda kernels` not understood, the first: {unread[0]}")


def read_kernels(state: State) -> None:
    failures = []
    with focus.kept():
        for grid_key, warp in model.grids(state.warps):
            try:
                focus.to_lane(warp.device, warp.sm, warp.warp, warp.lanes[0].lane)
                state.kernels[grid_key] = read_kernel(state, warp)
            except GDB_ERRORS as e:
                state.kernels[grid_key] = {"grid_id": signed64(warp.grid)}
                failures.append(f"grid {warp.grid}: {e}")
    for grid_key, name in state.short_names.items():
        kernel = state.kernels.setdefault(grid_key, {"grid_id": signed64(grid_key[1])})
        kernel.setdefault("name", name)
    if failures:
        raise Partial("; ".join(failures))


def read_frames(state: State) -> None:
    failures = []
    with focus.kept():
        for group in state.groups[:MAX_STACKS]:
            warp, lane = group.first_lanes[0]
            try:
                focus.to_lane(warp.device, warp.sm, warp.warp, lane.lane)
                group.frames = device_frames(group.place_pc)
            except GDB_ERRORS as e:
                group.frames = [{"pc": model.hexadecimal(lane.pc)}]
                failures.append(f"sm {warp.sm} warp {warp.warp} lane {lane.lane}: {e}")
    if failures:
        raise Partial("; ".join(failures))


def read_arguments(state: State) -> None:
    """Of the failing kernel; then names, where the table of known kernels has them and debug information has not."""
    if not state.groups:
        return
    warp, lane = state.groups[0].first_lanes[0]
    with focus.kept():
        focus.to_lane(warp.device, warp.sm, warp.warp, lane.lane)
        found = kernel_symbol(state)
        if found is None:
            raise Partial("the kernel's image is not known, and with it the places of its arguments")
        symbol, image = found
        signature = demangle(symbol)
        state.arguments = values.read_arguments(image, symbol, signature)
        state.locals = values.read_locals()
    table = values.load_rules()
    state.rule = rules.choose(table, signature, state.arguments)
    if state.rule and not any(a.name for a in state.arguments):
        state.arguments = rules.named(state.rule, state.arguments)
    missing = [str(a.parameter.ordinal) for a in state.arguments if a.parameter.size and not a.data]
    if missing:
        raise Partial(f"arguments that could not be read: {', '.join(missing[:16])}")


def read_memory(state: State) -> None:
    """Integers in the arrays that the arguments point to."""
    if not state.groups or not state.arguments:
        return
    kernel = state.kernels.get(state.groups[0].grid_key, {})
    grid, block, launch = extent(kernel.get("grid_dim")), extent(kernel.get("block_dim")), None
    found = state.arguments
    if state.rule:
        found = rules.named(state.rule, found)  # debug information may call them otherwise
        if grid and block:
            launch = rules.Launch(kernel.get("name", ""), grid, block, {a.name: a for a in found if a.name})
    threads = [(warp.block, lane.thread) for warp, lane in state.groups[0].first_lanes]
    state.memory = values.read_arrays(found, state.rule, launch, threads)
    if grid and block:
        state.memory += values.read_indices(functors.indices(kernel.get("name", ""), state.arguments, grid, block), threads)


def read_tensors(state: State) -> None:
    """What is in the tensors that the front-end has from the launching thread's frames."""
    incident = tensors.load(tensors.incident_path())
    if state.groups and incident.get("tensors"):
        kernel = state.kernels.get(state.groups[0].grid_key, {})
        state.tensors = tensors.read_all(incident, kernel.get("name", ""), values.read_tensor_bytes, state.arguments)


def read_accesses(state: State) -> None:
    """The device addresses that the listed threads of the first group were about to use: from their registers, the hardware tells none."""
    group = state.groups[0] if state.groups else None
    if group is None or group.exception in (None, model.ASSERT) or group.error_pc is None:
        return
    image = image_of(state, group.error_pc)
    sm_type = next((d.sm_type for d in state.devices if d.device_id == group.first_lanes[0][0].device), "")
    if image is None or sm_type != access.SM_TYPE:
        return
    with focus.kept():
        for warp, lane in group.first_lanes:
            found = access.at(image.instruction, group.error_pc, lane.pc)
            if found is None:
                continue
            focus.to_lane(warp.device, warp.sm, warp.warp, lane.lane)
            base = 0 if found.base == access.NO_BASE else register(found.base) | register(found.base + 1) << 32
            group.addresses[(warp.block, lane.thread)] = (base + found.offset) % (1 << 64)
            group.access = found


def register(number: int) -> int:
    return int(gdb.parse_and_eval(f"$R{number}")) & 0xFFFFFFFF


Probe = Tuple[str, Callable[[State], None]]
PROBES: List[Probe] = [
    ("gpu-devices", read_devices),
    ("gpu-lanes", read_lanes),
    ("gpu-groups", group_lanes),
    ("gpu-kernel-table", read_short_names),
    ("gpu-kernels", read_kernels),
    ("gpu-frames", read_frames),
    ("gpu-accesses", read_accesses),
    ("gpu-arguments", read_arguments),
    ("gpu-memory", read_memory),
    ("gpu-tensors", read_tensors),
]


def collect(probes: Optional[List[Probe]] = None) -> Json:
    """Runs every probe and builds the GPU part of an incident; never raises for a fact that is not to be had."""
    return document(*read(probes))


def read(probes: Optional[List[Probe]] = None) -> Tuple[State, List[Json], float]:
    """Runs every probe: what was learnt, a row for each, and how long it took in milliseconds."""
    state = State()
    rows: List[Json] = []
    start = time.monotonic()
    for name, probe in PROBES if probes is None else probes:
        t0, status, detail = time.monotonic(), "ok", ""
        try:
            probe(state)
        except Partial as e:
            status, detail = "partial", str(e)
        except Exception as e:  # only here: gdb raises plain RuntimeError and ValueError too, not just gdb.error
            status, detail = "failed", f"{type(e).__name__}: {e}"
        rows.append(model.row(name, status, (time.monotonic() - t0) * 1000, detail))
    return state, rows, (time.monotonic() - start) * 1000


# ---- the document ---------------------------------------------------------------------------------------------------


def document(state: State, rows: List[Json], milliseconds: float) -> Json:
    lost = model.lost_exceptions(state.warps, state.sm_exceptions)
    result: Json = {"version": model.VERSION, "kind": model.fault_kind(state.groups, lost)}
    bad = [row for row in rows if row["status"] != "ok"]
    status, detail = "ok", ""
    if bad:
        status = "partial" if state.devices else "failed"
        detail = "; ".join(f"{row['name']}: {row.get('detail', row['status'])}" for row in bad)
    if state.devices:
        result["gpu"] = gpu(state, lost)
    if state.locals:
        result["values"] = state.locals
    result["collectors"] = [model.row("gpu", status, milliseconds, detail)] + rows
    if state.notes:
        result["notes"] = state.notes
    return result


def gpu(state: State, lost: List[model.SmException]) -> Json:
    failing = failing_grid(state, lost)
    device = failing[0] if failing else next((e.device for e in lost), None)
    part: Json = {"source": f"cuda-gdb {debugger_version()} (gdb.cuda)"}
    part["device"] = device_dict(state, device)
    if failing and failing in state.kernels:
        part["kernel"] = state.kernels[failing]
    others = [kernel for key, kernel in sorted(state.kernels.items()) if key != failing]
    if others:
        part["other_kernels"] = others
    part["groups"] = [group_dict(state, group) for group in state.groups]
    if state.arguments:
        part["arguments"] = [argument.row() for argument in state.arguments]
    if state.memory:
        part["memory"] = state.memory
    if state.tensors:
        part["tensors"] = state.tensors
    if lost:
        counts: Dict[int, int] = {}
        for e in lost:
            counts[e.exception] = counts.get(e.exception, 0) + 1
        part["sm_exceptions"] = model.exception_counts(counts)
    return part


def failing_grid(state: State, lost: List[model.SmException]) -> Optional[GridKey]:
    """The grid of the first group; without one, the only grid there is on the device of the exception."""
    if state.groups:
        return state.groups[0].grid_key
    candidates = [key for key in state.kernels if not lost or key[0] == lost[0].device]
    return candidates[0] if len(candidates) == 1 else None


def group_dict(state: State, group: model.Group) -> Json:
    kernel = state.kernels.get(group.grid_key, {})
    return model.group_dict(group, extent(kernel.get("grid_dim")), extent(kernel.get("block_dim")))


def extent(values: Optional[List[int]]) -> Optional[Dim3]:
    return (values[0], values[1], values[2]) if values else None


def device_dict(state: State, index: Optional[int]) -> Json:
    chosen = [d for d in state.devices if d.device_id == index] or [d for d in state.devices if d.has_exception] or state.devices
    device = chosen[0]
    if len({warp.device for warp in state.warps}) > 1:
        state.notes.append(f"More than one GPU was at work in this process; the fault is shown for device {device.device_id}.")
    # The debugger knows bus and device, not the domain: written as it is known.
    return {
        "index": device.device_id,
        "name": device.name,
        "sm_type": device.sm_type,
        "sms": device.num_sms,
        "pci": f"{device.pci_bus_id:02x}:{device.pci_device_id:02x}.0",
    }


# ---- kernels --------------------------------------------------------------------------------------------------------


def read_kernel(state: State, warp: model.Warp) -> Json:
    """The kernel in focus."""
    kernel: Json = {"grid_id": signed64(warp.grid)}
    for key, variable in (("grid_dim", "gridDim"), ("block_dim", "blockDim"), ("cluster_dim", "clusterDim")):
        try:
            value = gdb.parse_and_eval(variable)
            extents = [int(value[axis]) for axis in ("x", "y", "z")]
        except GDB_ERRORS:
            continue
        if all(extents):  # clusterDim is (0,0,0) when the launch has no clusters
            kernel[key] = extents
    found = kernel_symbol(state)
    if found:
        symbol, image = found
        kernel["symbol"] = symbol
        kernel["name"] = demangle(symbol)
        offset = image.params_offset(symbol)
        if offset is not None:
            kernel["params_offset"] = offset
    return kernel


def kernel_symbol(state: State) -> Optional[Tuple[str, Image]]:
    """The mangled name of the kernel in focus: from the outermost frame whose code section is that of an entry point."""
    for frame in reversed(frames()):
        image = image_of(state, lookup_pc(frame))
        section = image.code_section(lookup_pc(frame)) if image else None
        if image and section and image.is_kernel(section.name[len(".text.") :]):
            return section.name[len(".text.") :], image
    return None


def demangle(symbol: str) -> str:
    try:
        # -l: in a dump without debug information the current language is none that mangles.
        return gdb.execute(f"demangle -l c++ -- {symbol}", to_string=True).strip() or symbol
    except gdb.error:
        return symbol  # extern "C"


KERNEL_ROW = re.compile(
    r"^\s*\*?\s*(?P<kernel>\d+)\s+(?:-|\d+)\s+(?P<device>\d+)\s+(?P<grid>-?\d+)\s+\S+\s+0x[0-9a-f]+"
    r"(?:\s+\(\d+,\d+,\d+\)){2,3}\s+(?P<invocation>\S.*\))\s*$"
)


def parse_kernels(text: str) -> Tuple[Dict[GridKey, str], List[str]]:
    """Short names by device and grid, and the rows that are not understood (cuda-gdb 13.0's table)."""
    names: Dict[GridKey, str] = {}
    unread = []
    for line in text.splitlines():
        if not line.strip() or line.split()[0] == "Kernel" or line.strip() == "No CUDA kernels.":
            continue
        match = KERNEL_ROW.match(line)
        name = invoked(match["invocation"]) if match else ""
        if match and name:
            names[(int(match["device"]), int(match["grid"]))] = name
        else:
            unread.append(line.strip())
    return names, unread


def invoked(invocation: str) -> str:
    """`f<(E)1>(n=3)` -> `f<(E)1>`: the arguments are in the last pair of parentheses; "" when they do not pair."""
    depth = 0
    for at in range(len(invocation) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(invocation[at], 0)
        if depth == 0:
            return invocation[:at]
    return ""


# ---- frames and images ----------------------------------------------------------------------------------------------


def frames() -> List[gdb.Frame]:
    """The frames of the lane in focus, innermost first, down to the first that is no place in code.

    A driver may record return addresses that are no code addresses (seen in dumps of programs without debug information): nothing behind them
    is true either.
    """
    found: List[gdb.Frame] = []
    frame = gdb.newest_frame()
    while frame is not None and len(found) < MAX_FRAMES:
        if frame.name() is None and symbol_at(lookup_pc(frame)) is None:
            break
        found.append(frame)
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


def lookup_pc(frame: gdb.Frame) -> int:
    """A return address is that of the instruction behind the call, which can belong to the next function or line."""
    return frame.pc() if frame.level() == 0 else frame.pc() - 1


def device_frames(place_pc: int) -> List[Json]:
    rows = [frame_dict(frame) for frame in frames()] or [{"pc": model.hexadecimal(gdb.newest_frame().pc())}]
    # The innermost frame's line is the faulting instruction's, not that of the one where the lane was stopped.
    sal = gdb.find_pc_line(place_pc)
    if not rows[0].get("inlined") and sal.symtab is not None and sal.line > 0 and "line" in rows[0]:
        rows[0].update(file=sal.symtab.filename, line=sal.line)
    return rows


def frame_dict(frame: gdb.Frame) -> Json:
    row: Json = {"pc": model.hexadecimal(frame.pc())}
    inlined = frame.type() == gdb.INLINE_FRAME
    symbol = None if inlined else symbol_at(lookup_pc(frame))
    # The symbol table has parameter types; a frame's name often has not.
    name = symbol[0] if symbol else frame.name()
    if name:
        row["function"] = without_clone(name)
    if symbol:
        row["offset"] = model.hexadecimal(symbol[1] + frame.pc() - lookup_pc(frame))
    sal = frame.find_sal()
    if sal.symtab is not None and sal.line > 0:
        row["file"] = sal.symtab.filename
        row["line"] = sal.line
    if inlined:
        row["inlined"] = True
    return row


def without_clone(name: str) -> str:
    """nvcc keeps a copy of a device function for each kernel; cuda-gdb writes `callee(int) [clone kernel(long)]`."""
    match = re.match(r"^(.*\S) \[clone [^.].*\]$", name)
    return match[1] if match else name


SYMBOL_FORMS = (
    re.compile(r"^(?P<name>.+) \+ (?P<offset>\d+) in section \S+(?: of .*)?$"),
    re.compile(r"^(?P<name>.+) in section \S+(?: of .*)?$"),
)


def symbol_at(pc: int) -> Optional[Tuple[str, int]]:
    """Function and offset: minimal symbols have no Python API."""
    try:
        text = gdb.execute(f"info symbol {pc:#x}", to_string=True).strip()
    except gdb.error:
        return None
    for form in SYMBOL_FORMS:
        match = form.match(text)
        if match:
            return match["name"], int(match.groupdict().get("offset") or 0)
    return None


def image_of(state: State, pc: int) -> Optional[Image]:
    objfile = gdb.current_progspace().objfile_for_address(pc)
    if objfile is None or objfile.filename is None:
        return None
    path = objfile.filename
    if path not in state.images:
        try:
            state.images[path] = Image(path)
        except (ImageError, OSError):
            state.images[path] = None
    return state.images[path]


def is_trap(state: State, pc: int) -> bool:
    try:
        image = image_of(state, pc)
        return image is not None and image.stands_at_trap(pc)
    except ImageError:
        return False


# ---- values ---------------------------------------------------------------------------------------------------------


def dim3(value: Any) -> Dim3:
    return (value.x, value.y, value.z)


def signed64(value: int) -> int:
    """Grids that device code launched have negative numbers."""
    return value - (1 << 64) if value >= 1 << 63 else value


def debugger_version() -> str:
    match = re.search(r"cuda-gdb (\d+(?:\.\d+)*)", gdb.execute("show version", to_string=True))
    return match[1] if match else gdb.VERSION
