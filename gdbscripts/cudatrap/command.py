# SPDX-License-Identifier: GPL-3.0-or-later
"""What the `trap` commands share: the prefix, the check of their words, one line for a failure."""

from __future__ import annotations

from typing import List, Tuple

import gdb

from . import stop, tool
from .stop import Stop


class Trap(gdb.Command):
    """Answers about the GPU fault at which the program stands, or that a GPU core dump holds."""

    def __init__(self) -> None:
        super().__init__("trap", gdb.COMMAND_STATUS, prefix=True)


class TrapCommand(gdb.Command):
    """What they share: the docstring's Usage line is checked, failures are one line."""

    name = ""
    arguments: Tuple[int, int] = (0, 0)
    completion = gdb.COMPLETE_NONE

    def __init__(self) -> None:
        # A class of completion would keep gdb from asking complete().
        completion = () if hasattr(self, "complete") else (self.completion,)
        super().__init__(f"trap {self.name}", gdb.COMMAND_STATUS, *completion)

    def invoke(self, argument: str, from_tty: bool) -> None:
        words = self.split(argument)
        if not self.arguments[0] <= len(words) <= self.arguments[1]:
            raise self.usage()
        try:
            self.start(words)
        except (tool.ToolError, OSError) as e:
            raise gdb.GdbError(str(e)) from e

    def split(self, argument: str) -> List[str]:
        """As gdb has it, with quotes."""
        return gdb.string_to_argv(argument)

    def usage(self) -> gdb.GdbError:
        line = next(line for line in (self.__doc__ or "").splitlines() if "Usage:" in line)
        return gdb.GdbError("usage:" + line.partition("Usage:")[2])

    def start(self, words: List[str]) -> None:
        """Of commands that need no fault to ask about: overridden."""
        self.run(stop.current(), words)

    def run(self, found: Stop, words: List[str]) -> None:
        raise NotImplementedError


class Completed(TrapCommand):
    """One with words that TAB knows."""

    def known(self) -> List[str]:
        raise NotImplementedError

    def complete(self, text: str, word: str) -> List[str]:
        # gdb replaces `word`, which begins behind the last character that it takes for a break; names of tensors have such characters.
        skipped = len(text) - len(word) if " " not in text else len(text.rpartition(" ")[2]) - len(word)
        wanted = text.rpartition(" ")[2]
        return [name[skipped:] for name in self.known() if name.startswith(wanted)]


def show(text: str) -> None:
    gdb.write(text if text.endswith("\n") else text + "\n")


def need_program(what: str) -> None:
    """For what is to hold in a later run, too."""
    if stop.is_dump() or not gdb.current_progspace().filename:
        need_process(what)


def need_process(what: str) -> None:
    """For what moves the program or changes how it runs."""
    if stop.is_dump():
        raise gdb.GdbError(f"{what}: a GPU core dump does not run")
    if not gdb.selected_inferior().pid:
        raise gdb.GdbError(f"{what}: no program is being debugged")
