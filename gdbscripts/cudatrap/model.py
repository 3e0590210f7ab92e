# SPDX-License-Identifier: GPL-3.0-or-later
"""Lanes in, groups of threads out: the rules by which a GPU's state becomes the GPU part of an incident.

Nothing here knows gdb. The form of what is built is doc/incident.schema.json: not known means left out.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

VERSION = 1

# CT_MAX_LANES and CT_MAX_RUNS of src/incident/incident.h.
MAX_LANES = 64
MAX_RUNS = 64
# A hang can stand at many places; beyond these a report is not read any more.
MAX_GROUPS = 64

# CUDBGException_t of cudadebugger.h 13.0. tests/gdb/test_model.py compares it with CT_EXCEPTIONS of src/incident/incident.h.
# gdb.cuda gives these numbers; the debugger's signals CUDA_EXCEPTION_17 and _18 are the other way round.
EXCEPTIONS: Dict[int, Tuple[str, str]] = {
    1: ("lane-illegal-address", "lane"),
    2: ("lane-user-stack-overflow", "lane"),
    3: ("device-hardware-stack-overflow", "device"),
    4: ("warp-illegal-instruction", "warp"),
    5: ("warp-out-of-range-address", "warp"),
    6: ("warp-misaligned-address", "warp"),
    7: ("warp-invalid-address-space", "warp"),
    8: ("warp-invalid-pc", "warp"),
    9: ("warp-hardware-stack-overflow", "warp"),
    10: ("device-illegal-address", "device"),
    11: ("lane-misaligned-address", "lane"),
    12: ("warp-assert", "warp"),
    13: ("lane-syscall-error", "lane"),
    14: ("warp-illegal-address", "warp"),
    15: ("invalid-managed-access", "device"),
    16: ("non-migratable-atomic", "lane"),
    17: ("cluster-out-of-range-address", "cluster"),
    18: ("cluster-block-not-present", "cluster"),
    19: ("warp-stack-canary", "warp"),
    20: ("warp-tmem-access-check", "warp"),
    21: ("warp-tmem-leak", "warp"),
    22: ("warp-call-requires-newer-driver", "warp"),
}
ASSERT = 12

Dim3 = Tuple[int, int, int]
GridKey = Tuple[int, int]  # device, grid id
Json = Dict[str, Any]


class Lane(NamedTuple):
    lane: int
    thread: Dim3
    pc: int
    exception: Optional[int]


class Warp(NamedTuple):
    device: int
    sm: int
    warp: int
    grid: int
    block: Dim3
    error_pc: Optional[int]
    lanes: List[Lane]

    @property
    def place_pc(self) -> int:
        """An address inside the instruction that faulted: lanes at an assert or a trap stand behind it."""
        if self.error_pc is not None:
            return self.error_pc
        return self.pc - 1 if self.exception == ASSERT or self.reason in ("assert-pc", "trap-pc") else self.pc

    @property
    def grid_key(self) -> GridKey:
        return (self.device, self.grid)


class SmException(NamedTuple):
    device: int
    sm: int
    exception: int
    error_pc: Optional[int]


class Member(NamedTuple):
    """The lanes of one warp that belong to a group."""

    warp: Warp
    lanes: List[Lane]


class Group:
    """Threads that failed at one place for one reason."""

    def __init__(self, reason: str, members: List[Member]) -> None:
        self.reason = reason
        self.members = members
        self.error_pc: Optional[int] = None
        self.frames: List[Json] = []
        self.access: Any = None  # access.Access
        self.addresses: Dict[Tuple[Dim3, Dim3], int] = {}  # by block and thread
        self.n_threads = sum(len(m.lanes) for m in members)
        self.n_flagged = sum(1 for m in members for lane in m.lanes if lane.exception is not None)
        self.pc = most_common(lane.pc for m in members for lane in m.lanes)
        # One vote a warp: the hardware raises an exception for a warp.
        self.warps_by_exception = Counter(
            most_common(codes) for codes in ([lane.exception for lane in m.lanes if lane.exception is not None] for m in members) if codes
        )
        self.exception = most_common_of(self.warps_by_exception) if self.warps_by_exception else None
        self.first_lanes = first_lanes(members)

    @property
    def place_pc(self) -> int:
        """An address inside the instruction that faulted: lanes at an assert or a trap stand behind it."""
        if self.error_pc is not None:
            return self.error_pc
        return self.pc - 1 if self.exception == ASSERT or self.reason in ("assert-pc", "trap-pc") else self.pc

    @property
    def grid_key(self) -> GridKey:
        return self.members[0].warp.grid_key

    @property
    def whole_warps(self) -> bool:
        """All lanes of each warp carry it, so that the one that did it is not known."""
        if self.exception is None or self.exception == ASSERT or EXCEPTIONS.get(self.exception, ("", "warp"))[1] != "warp":
            return False
        return all(len(m.lanes) == len(m.warp.lanes) for m in self.members) and any(len(m.lanes) > 1 for m in self.members)


def most_common_of(counts: Counter) -> Any:
    """The value with most votes; of equal ones the smallest, so that the result does not depend on order."""
    return min(counts, key=lambda value: (-counts[value], value))


def most_common(values: Iterable[Any]) -> Any:
    return most_common_of(Counter(values))


def order(position: Dim3) -> Dim3:
    """Sorting by this is x-fastest order."""
    return (position[2], position[1], position[0])


def lane_order(member_lane: Tuple[Warp, Lane]) -> Tuple[Dim3, Dim3]:
    return (order(member_lane[0].block), order(member_lane[1].thread))


def first_lanes(members: Sequence[Member]) -> List[Tuple[Warp, Lane]]:
    return heapq.nsmallest(MAX_LANES, ((m.warp, lane) for m in members for lane in m.lanes), key=lane_order)


# ---- grouping -------------------------------------------------------------------------------------------------------


def family(exception: int) -> str:
    """Asserts stand apart; the classes of the rest are not reliable per warp: one store was seen as three of them (driver 580)."""
    return "assert" if exception == ASSERT else "fault"


def flagged_groups(warps: Sequence[Warp]) -> List[Group]:
    """Lanes that the driver flags, by device, grid, family and place."""
    places: Dict[Tuple[GridKey, str, int], List[Member]] = {}
    for warp in warps:
        here: Dict[Tuple[str, int], List[Lane]] = {}
        for lane in warp.lanes:
            if lane.exception is None:
                continue
            kind = family(lane.exception)
            # The PC of a faulting lane runs ahead of the instruction; the warp's error PC is exact.
            place = warp.error_pc if kind == "fault" and warp.error_pc is not None else lane.pc
            here.setdefault((kind, place), []).append(lane)
        for (kind, place), lanes in here.items():
            places.setdefault((warp.grid_key, kind, place), []).append(Member(warp, lanes))
    groups = []
    for (grid_key, kind, place), members in places.items():
        if kind == "assert":
            groups.append(assert_group(warps, grid_key, place))
            continue
        group = Group("exception", members)
        if any(m.warp.error_pc is not None for m in members):
            group.error_pc = place
        groups.append(group)
    return groups


def assert_group(warps: Sequence[Warp], grid_key: GridKey, pc: int) -> Group:
    """The flagged lanes at pc, and those that stand there unflagged: of 270,336 lanes that failed one assert the driver flagged 32."""
    members = []
    for warp in warps:
        if warp.grid_key == grid_key:
            lanes = [lane for lane in warp.lanes if lane.pc == pc and lane.exception in (None, ASSERT)]
            if lanes:
                members.append(Member(warp, lanes))
    group = Group("exception", members)
    if group.n_flagged < group.n_threads:
        group.reason = "assert-pc"
    known = Counter(m.warp.error_pc for m in members if m.warp.error_pc is not None)
    if known:
        group.error_pc = most_common_of(known)
    return group


def groups_by_pc(reason: str, warps: Sequence[Warp], wanted: Callable[[int], bool]) -> List[Group]:
    places: Dict[Tuple[GridKey, int], List[Member]] = {}
    for warp in warps:
        here: Dict[int, List[Lane]] = {}
        for lane in warp.lanes:
            here.setdefault(lane.pc, []).append(lane)
        for pc, lanes in here.items():
            places.setdefault((warp.grid_key, pc), []).append(Member(warp, lanes))
    return [Group(reason, members) for (_, pc), members in places.items() if wanted(pc)]


def group_threads(warps: Sequence[Warp], sm_exceptions: Sequence[SmException], is_trap: Callable[[int], bool]) -> List[Group]:
    """All groups, the most telling first.

    is_trap(pc) is asked only when nothing is flagged anywhere: __trap() leaves no exception, its lanes stand behind the instruction.
    """
    groups = flagged_groups(warps)
    if not groups and not sm_exceptions:
        groups = groups_by_pc("trap-pc", warps, is_trap) or groups_by_pc("running", warps, lambda pc: True)
    groups.sort(key=telling)
    return groups


def telling(group: Group) -> Tuple[Any, ...]:
    """Sort key: asserts say most, then what most warps have; the position makes it stable."""
    warp, lane = group.first_lanes[0]
    return (group.exception != ASSERT, group.exception is None, -len(group.members), warp.grid_key, lane_order((warp, lane)), group.pc)


def lost_exceptions(warps: Sequence[Warp], sm_exceptions: Sequence[SmException]) -> List[SmException]:
    """Exceptions of SMs with no lane to show for them: the warp has exited."""
    shown = {(warp.device, warp.sm) for warp in warps if any(lane.exception is not None for lane in warp.lanes)}
    return [e for e in sm_exceptions if (e.device, e.sm) not in shown]


def fault_kind(groups: Sequence[Group], lost: Sequence[SmException]) -> str:
    if groups and groups[0].exception is not None:
        return "assert" if groups[0].exception == ASSERT else "exception"
    if lost:
        return "assert" if all(e.exception == ASSERT for e in lost) else "exception"
    if groups:
        return "trap" if groups[0].reason == "trap-pc" else "hang"
    return "unknown"


# ---- runs -----------------------------------------------------------------------------------------------------------


def runs_of(positions: Iterable[Dim3], extent: Optional[Dim3]) -> Tuple[List[Json], bool]:
    """Distinct positions as runs of neighbours in x-fastest order within extent; and whether more exist than are listed.

    Without an extent, or for a position outside it, each position is its own run, as in ct_runs_of() of src/incident/.
    """
    runs: List[Json] = []
    last_index: Optional[int] = None
    for position in sorted(set(positions), key=order):
        index = linear(position, extent)
        if index is not None and last_index is not None and index == last_index + 1:
            runs[-1]["last"] = list(position)
            runs[-1]["count"] += 1
        else:
            if len(runs) == MAX_RUNS:
                return runs, True
            runs.append({"first": list(position), "last": list(position), "count": 1})
        last_index = index
    return runs, False


def linear(position: Dim3, extent: Optional[Dim3]) -> Optional[int]:
    if extent is None or any(p >= e for p, e in zip(position, extent)):
        return None
    return position[0] + extent[0] * (position[1] + extent[1] * position[2])


# ---- dicts ----------------------------------------------------------------------------------------------------------


def hexadecimal(value: int) -> str:
    return f"{value & 0xFFFFFFFFFFFFFFFF:#x}"


def exception_dict(code: int) -> Json:
    name = EXCEPTIONS.get(code)
    return {"code": code, "name": name[0]} if name else {"code": code}


def exception_counts(counts: Dict[int, int]) -> List[Json]:
    return [dict(exception_dict(code), warps=counts[code]) for code in sorted(counts, key=lambda code: (-counts[code], code))]


def lane_dict(warp: Warp, lane: Lane) -> Json:
    row: Json = {
        "block": list(warp.block),
        "thread": list(lane.thread),
        "hw": {"device": warp.device, "sm": warp.sm, "warp": warp.warp, "lane": lane.lane},
        "pc": hexadecimal(lane.pc),
    }
    if lane.exception is not None:
        row["exception"] = exception_dict(lane.exception)
    return row


def group_dict(group: Group, grid_dim: Optional[Dim3], block_dim: Optional[Dim3]) -> Json:
    blocks = {m.warp.block for m in group.members}
    row: Json = {
        "reason": group.reason,
        "pc": hexadecimal(group.pc),
        "threads": group.n_threads,
        "warps": len(group.members),
        "blocks": len(blocks),
    }
    if group.exception is not None:
        row["exception"] = exception_dict(group.exception)
    if group.error_pc is not None:
        row["error_pc"] = hexadecimal(group.error_pc)
    if group.n_flagged:
        row["flagged_threads"] = group.n_flagged
    if group.whole_warps:
        row["whole_warps"] = True
    threads = (lane.thread for m in group.members for lane in m.lanes)
    for name, (runs, cut) in (("block_runs", runs_of(blocks, grid_dim)), ("thread_runs", runs_of(threads, block_dim))):
        row[name] = runs
        if cut:
            row[name + "_cut"] = True
    row["lanes"] = [lane_dict(warp, lane) for warp, lane in group.first_lanes]
    for lane_row, (warp, lane) in zip(row["lanes"], group.first_lanes):
        if (warp.block, lane.thread) in group.addresses:
            lane_row["address"] = hexadecimal(group.addresses[(warp.block, lane.thread)])
    if group.frames:
        row["frames"] = group.frames
    others = {code: n for code, n in group.warps_by_exception.items() if code != group.exception}
    if others:
        row["other_exceptions"] = exception_counts(others)
    if group.access is not None:
        row["access"], row["access_bytes"] = group.access.word, group.access.size
    return row


def row(name: str, status: str, milliseconds: float, detail: str = "") -> Json:
    """A line of the report about one thing that was tried."""
    line: Json = {"name": name, "status": status, "milliseconds": round(milliseconds, 3)}
    if detail:
        line["detail"] = " ".join(detail.split())[:400]
    return line


def clean(value: Any) -> Any:
    """The same with text that is valid UTF-8 and has no control or direction characters: names come from the program's images."""
    if isinstance(value, str):
        return "".join("\ufffd" if is_harmful(c) else c for c in value)
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    return value


def is_harmful(c: str) -> bool:
    code = ord(c)
    return (
        (code < 0x20 and c not in "\t\n")
        or 0x7F <= code < 0xA0
        or 0xD800 <= code < 0xE000  # what Python makes of bytes that are not UTF-8
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x2069
    )


def grids(warps: Sequence[Warp]) -> Iterator[Tuple[GridKey, Warp]]:
    """Each grid that has warps on a device, with its first warp."""
    seen = set()
    for warp in warps:
        if warp.lanes and warp.grid_key not in seen:
            seen.add(warp.grid_key)
            yield warp.grid_key, warp
