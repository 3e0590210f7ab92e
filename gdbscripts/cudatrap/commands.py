# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for people at a cuda-gdb prompt, named as in `cudatrap shell`. Importing this registers nothing; register() does."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, List

import gdb

from . import collect, emit, hostcommands, image, kernelargs, memcommands, model, printers, runcommands, settings, shellvalues, stop, tool
from .command import Completed, Trap, TrapCommand, show
from .model import Dim3, Json
from .stop import Place, Stop

ASM_BEFORE, ASM_SHOWN = 4, 9  # instructions


class TrapReport(TrapCommand):
    """Show the whole report, or write it to a file as JSON, for `cudatrap report FILE`.
    Usage: trap report [save FILE]"""

    name, arguments, completion = "report", (0, 2), gdb.COMPLETE_FILENAME

    def run(self, found: Stop, words: List[str]) -> None:
        if not words:
            show(tool.ask("report", found.incident))
        elif len(words) == 2 and words[0] == "save":
            emit.write(words[1], found.incident)
            show(f"written: {words[1]}")
        else:
            raise self.usage()


class TrapWhy(TrapCommand):
    """Say what happened: the assert or exception, the failing threads, what is not known.
    Usage: trap why"""

    name = "why"

    def run(self, found: Stop, words: List[str]) -> None:
        show(tool.ask("why", found.incident))


class TrapThreads(Completed):
    """Show the groups of failing threads, or of all threads, and where they stand.
    Usage: trap threads [all]"""

    name, arguments = "threads", (0, 1)

    def known(self) -> List[str]:
        return ["all"]

    def run(self, found: Stop, words: List[str]) -> None:
        if words not in ([], ["all"]):
            raise self.usage()
        show(tool.ask("threads", found.incident))
        if words:
            failing = {place.order for place in found.failing}
            others = [place for place in found.places.values() if place.order not in failing]
            counts = Counter((place.warp.grid_key, place.lane.pc) for place in others)
            for (grid, pc), n in counts.most_common(model.MAX_GROUPS):
                first = min((p for p in others if p.warp.grid_key == grid and p.lane.pc == pc), key=lambda place: place.order)
                at = collect.symbol_at(pc)
                where = f"{kernel_word(at[0])}+{at[1]:#x}" if at else f"{pc:#x}"
                show(f"  {n} other{'' if n == 1 else 's'} from block {dim3(first.warp.block)} thread {dim3(first.lane.thread)} on, at {where}")


class TrapThread(TrapCommand):
    """Show the focus, or move it to the N-th failing thread or to a block and thread.
    Usage: trap thread [N | [BLOCK] THREAD]

    Blocks and threads are written x,y,z; coordinates that are left out are 0."""

    name, arguments = "thread", (0, 2)

    def run(self, found: Stop, words: List[str]) -> None:
        if len(words) == 1 and not re.search(r"[,(]", words[0]):
            stop.go_to(nth_failing(found, words[0]))
        elif words:
            stop.go_to(at_position(found, words))
        show_focus(found)


class TrapStack(TrapCommand):
    """Show the device call stack at the focus.
    Usage: trap stack"""

    name = "stack"

    def run(self, found: Stop, words: List[str]) -> None:
        for number, frame in enumerate(found.frames(found.in_focus())):
            show(frame_text(number, frame))


class TrapArgs(TrapCommand):
    """Show the arguments of the kernel at the focus. $trap_arg(N) is one of them.
    Usage: trap args"""

    name = "args"

    def run(self, found: Stop, words: List[str]) -> None:
        params, types = kernelargs.parameters(found)
        for i, param in enumerate(params):
            type_ = types[i] if types else None
            data = kernelargs.argument_bytes(found, param)
            show(f"arg{i:<2} {type_ or f'{param.size} bytes'} = {shellvalues.text_of(type_, data)}{kernelargs.tensor_of(found, data)}")
        if not params:
            show("the kernel takes no arguments")


class TrapRegs(TrapCommand):
    """Show the registers and predicates at the focus.
    Usage: trap regs"""

    name = "regs"

    def run(self, found: Stop, words: List[str]) -> None:
        found.in_focus()
        gdb.execute("info registers")


class TrapSource(TrapCommand):
    """Show the source at the focus, or of frame N of its stack.
    Usage: trap source [N]"""

    name, arguments = "source", (0, 1)

    def run(self, found: Stop, words: List[str]) -> None:
        place = found.in_focus()
        frames = found.frames(place)
        if words and not (words[0].isdigit() and int(words[0]) < len(frames)):
            raise gdb.GdbError(f"there is no frame '{words[0]}': `trap stack` shows {len(frames)}")
        chosen = [frames[int(words[0])]] if words else frames
        frame = next((f for f in chosen if f.get("file")), None)
        if frame is None:
            raise gdb.GdbError("the code here has no line information (compile with nvcc -lineinfo)")
        show(f"{frame['file']}:{frame['line']}")
        try:
            # Behind a call or inlined code the address is not that of the line: the innermost frame's is known exactly.
            gdb.execute(f"list *{found.place_pc(place) if frame is frames[0] else int(frame['pc'], 16) - 1:#x}")
        except gdb.error as e:
            raise gdb.GdbError(f"{e} (the source is looked for where it was compiled; `set substitute-path` helps)") from e


class TrapAsm(TrapCommand):
    """Show the instructions around the focus or its error, and the lines that they come from; cuobjdump must be in PATH.
    Usage: trap asm"""

    name = "asm"

    def run(self, found: Stop, words: List[str]) -> None:
        place = found.in_focus()
        at = place.warp.error_pc if place.lane.exception is not None and place.warp.error_pc is not None else place.lane.pc
        show(f"PC {place.lane.pc:#x}" + (f", error PC of the warp {place.warp.error_pc:#x}" if place.warp.error_pc is not None else ""))
        for number, frame in enumerate(found.frames(place)):
            show(frame_text(number, frame))  # with the inline chain: which line of which function the instruction belongs to
            if not frame.get("inlined"):
                break
        try:
            gdb.execute(f"x/{ASM_SHOWN}i {at - ASM_BEFORE * image.INSTRUCTION_BYTES:#x}")
        except gdb.error as e:
            raise gdb.GdbError(f"{e} (cuda-gdb needs cuobjdump in PATH to decode instructions)") from e


class TrapArg(gdb.Function):
    """$trap_arg(N): argument N of the kernel at the focus, as `trap args` numbers them: an integer, a float, or for structures an error."""

    def __init__(self) -> None:
        super().__init__("trap_arg")

    def invoke(self, *arguments: Any) -> Any:
        if len(arguments) != 1:
            raise gdb.GdbError("usage: $trap_arg(N)")
        found, n = stop.current(), int(arguments[0])
        param, type_ = kernelargs.numbered(found, n)
        data = kernelargs.argument_bytes(found, param)
        if len(data) not in (1, 2, 4, 8):
            raise gdb.GdbError(f"argument {n} is a structure of {len(data)} bytes")
        text = shellvalues.text_of(type_, data)
        if re.match(r"^-?\d+$|^0x", text):
            return int(text, 0)
        return {"true": True, "false": False}.get(text, float(text) if re.match(r"^-?[\d.einf+-]+$|^nan$", text) else 0)


# ---- the focus ------------------------------------------------------------------------------------------------------


def dim3(d: Dim3) -> str:
    return f"({d[0]},{d[1]},{d[2]})"


def parse_dim3(text: str, what: str) -> Dim3:
    match = re.match(r"^(\()?(\d+)(?:,(\d+))?(?:,(\d+))?(\))?$", text)
    if not match or bool(match[1]) != bool(match[5]):
        raise gdb.GdbError(f"'{text}' is not a {what} such as {'0,0,0' if what == 'block' else '2,0,0'}")
    return (int(match[2]), int(match[3] or 0), int(match[4] or 0))


def nth_failing(found: Stop, word: str) -> Place:
    n = len(found.failing)
    if not word.isdigit():
        raise gdb.GdbError(f"'{word}' is neither a number nor a thread such as 2,0,0")
    if not 1 <= int(word) <= n:
        raise gdb.GdbError(f"there is no failing thread {word}: " + (f"they are 1 to {n}" if n else "none is known"))
    return found.failing[int(word) - 1]


def at_position(found: Stop, words: List[str]) -> Place:
    """The thread of the focus's grid; without a focus, of the first failing thread's."""
    thread = parse_dim3(words[-1], "thread")
    try:
        here = found.in_focus()
    except gdb.GdbError:
        if not found.failing:
            raise
        here = found.failing[0]
    block = parse_dim3(words[0], "block") if len(words) == 2 else here.warp.block
    kernel = found.kernel(here)
    for what, at, extent in (("block", block, kernel.get("grid_dim")), ("thread", thread, kernel.get("block_dim"))):
        if extent and any(a >= e for a, e in zip(at, extent)):
            raise gdb.GdbError(f"{what} {dim3(at)} is out of range: (0,0,0) to {dim3((extent[0] - 1, extent[1] - 1, extent[2] - 1))}")
    place = found.places.get((here.warp.grid_key, block, thread))
    if place is None:
        raise gdb.GdbError(f"block {dim3(block)} thread {dim3(thread)} is not on the GPU: it has ended, or not begun")
    return place


def kernel_word(name: str) -> str:
    """As people say it: no return type, parameters, scopes or template arguments."""
    bare = re.sub(r"\(anonymous namespace\)::", "", name)
    bare = bare[: bare.index("(")] if "(" in bare else bare
    bare = bare[: bare.index("<")] if "<" in bare else bare
    return bare.split(" ")[-1].split("::")[-1] or name


def frame_text(number: int, frame: Json) -> str:
    text = f"#{number:<2} " + (f"{frame['file']}:{frame['line']}  " if frame.get("file") else "")
    if not frame.get("function"):
        return f"{text}{frame['pc']}, in no known function"
    tail = f"+{frame['offset']}" if frame.get("offset") else ", inlined in" if frame.get("inlined") else ""
    return text + frame["function"] + tail


def show_focus(found: Stop) -> None:
    place = found.in_focus()
    warp, lane = place
    name = found.kernel(place).get("name")
    show(
        f"{kernel_word(name) if name else 'a kernel without a name'} block {dim3(warp.block)} thread {dim3(lane.thread)}"
        f"   device {warp.device} SM {warp.sm} warp {warp.warp} lane {lane.lane}"
    )
    if lane.exception is not None:
        word = model.EXCEPTIONS.get(lane.exception, ("not known to this version", ""))[0]
        show(f"{word} (number {lane.exception})")
    elif any(place.lane.pc == group.pc and group.reason != "running" for group in found.state.groups):
        show("not flagged by the driver, but stands where failing threads stand")
    show(frame_text(0, found.frames(place)[0]))


COMMANDS = (
    Trap, TrapReport, TrapWhy, TrapThreads, TrapThread, TrapArgs, TrapStack, TrapRegs, TrapSource, TrapAsm, *memcommands.COMMANDS, *hostcommands.COMMANDS,
    *runcommands.COMMANDS,
)  # fmt: skip


def register() -> None:
    for command in COMMANDS:
        command()
    TrapArg()
    memcommands.TrapTensorFunction()
    settings.register()
    runcommands.guard_detach()
    printers.register()
    stop.watch()
