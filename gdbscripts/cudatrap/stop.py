# SPDX-License-Identifier: GPL-3.0-or-later
"""The fault at which the program stands, read once a stop, and the thread in focus."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import gdb

from . import collect, focus, hoststacks, model
from .model import Dim3, GridKey, Json


class Place(NamedTuple):
    """A thread and where it is."""

    warp: model.Warp
    lane: model.Lane

    @property
    def order(self) -> Tuple[Any, ...]:
        """x fastest: by device, grid, block, thread."""
        return (self.warp.device, self.warp.grid, self.warp.block[::-1], self.lane.thread[::-1])


class Stop:
    """Everything that was read; the focus is asked anew each time, because the user moves it too."""

    def __init__(self) -> None:
        self.state, rows, milliseconds = collect.read()
        self.document = collect.document(self.state, rows, milliseconds)
        self._incident: Optional[Json] = _adopted
        self._places: Optional[Dict[Tuple[GridKey, Dim3, Dim3], Place]] = None
        self._failing: Optional[List[Place]] = None

    @property
    def incident(self) -> Json:
        """All that is known of the fault: what the front-end has made of it; without one the GPU's part and the host threads that this debugger sees."""
        if self._incident is None:
            self._incident = dict(self.document)
            if not is_dump():
                with focus.kept():
                    self._incident["threads"] = hoststacks.collect()["threads"]
        return self._incident

    @property
    def is_told(self) -> bool:
        """By the front-end: its incident has Python's side and the program's output, too."""
        return self._incident is not None and self._incident is _adopted

    @property
    def tensors(self) -> List[Json]:
        return self.incident.get("tensors", [])

    @property
    def python_locals(self) -> List[Json]:
        return self.incident.get("python_locals", [])

    @property
    def places(self) -> Dict[Tuple[GridKey, Dim3, Dim3], Place]:
        if self._places is None:
            self._places = {(warp.grid_key, warp.block, lane.thread): Place(warp, lane) for warp in self.state.warps for lane in warp.lanes}
        return self._places

    @property
    def failing(self) -> List[Place]:
        """The threads of all groups, in the order of `cudatrap shell`."""
        if self._failing is None:
            members = [member for group in self.state.groups for member in group.members]
            self._failing = sorted((Place(member.warp, lane) for member in members for lane in member.lanes), key=lambda place: place.order)
        return self._failing

    def in_focus(self) -> Place:
        try:
            at = gdb.cuda.get_focus_physical()
            here = (at.device_id, at.sm_id, at.warp_id, at.lane_id)
        except (gdb.error, RuntimeError, AttributeError) as e:
            return self.focus_on_first_failing(e)
        for warp in self.state.warps:
            if (warp.device, warp.sm, warp.warp) == here[:3]:
                for lane in warp.lanes:
                    if lane.lane == here[3]:
                        return Place(warp, lane)
        raise gdb.GdbError("the thread in focus is not among those of this stop")

    def focus_on_first_failing(self, why: Exception) -> Place:
        """Where a session begins the debugger may stand on the host: what is asked about then is the fault."""
        if not self.failing:
            raise gdb.GdbError("the focus is on no GPU thread, and none has failed") from why
        place = self.failing[0]
        focus.to_lane(place.warp.device, place.warp.sm, place.warp.warp, place.lane.lane)
        return place

    def kernel(self, place: Place) -> Json:
        return self.state.kernels.get(place.warp.grid_key, {})

    def place_pc(self, place: Place) -> int:
        """An address inside the instruction of interest: lanes at an assert or a trap stand behind it."""
        if place.lane.exception is not None and place.warp.error_pc is not None:
            return place.warp.error_pc
        trap = any(group.reason == "trap-pc" and group.pc == place.lane.pc for group in self.state.groups)
        return place.lane.pc - (place.lane.exception == model.ASSERT or trap)

    def frames(self, place: Place) -> List[Json]:
        """The call stack of the thread in focus."""
        return collect.device_frames(self.place_pc(place))


_stop: Optional[Stop] = None
_adopted: Optional[Json] = None
report_comes = False  # the front-end's, before the next prompt: nobody else needs to say what happened


def current() -> Stop:
    """Reads what there is to read; raises when there is nothing."""
    global _stop  # one debugger, one stop
    if not gdb.selected_inferior().pid:
        raise gdb.GdbError("no program and no GPU core dump is being debugged")
    if _stop is None:
        found = Stop()
        if not found.state.warps and not found.state.sm_exceptions and not _adopted:
            raise gdb.GdbError("no kernel is on a GPU here: there is no fault to ask about")
        _stop = found
    return _stop


def seen_tensors() -> List[Json]:
    """Without reading anything: for completion, which must not stop the person."""
    return (_adopted or {}).get("tensors", [])


def is_dump() -> bool:
    """cuda-gdb gives the target of a GPU core dump the short name `cudacore`."""
    connection = getattr(gdb.selected_inferior(), "connection", None)
    return connection is not None and connection.type == "cudacore"


def adopt(path: str) -> None:
    """The front-end's incident of the fault at which the program stands now."""
    global _adopted
    with open(path, encoding="utf-8") as file:
        _adopted = json.load(file)
    forget()


def forget(*unused: Any) -> None:
    global _stop
    _stop = None


def moved(*unused: Any) -> None:
    """What was told of the fault is about another place now."""
    global _adopted
    _adopted = None
    forget()


def watch() -> None:
    """The program moved, or is another one: what was read is no longer so."""
    for event, heard in (("stop", forget), ("cont", moved), ("exited", moved), ("new_objfile", forget), ("clear_objfiles", forget)):
        if hasattr(gdb.events, event):
            getattr(gdb.events, event).connect(heard)


def go_to(place: Place) -> None:
    focus.to_lane(place.warp.device, place.warp.sm, place.warp.warp, place.lane.lane)
