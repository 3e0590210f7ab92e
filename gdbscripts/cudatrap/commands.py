# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for people at a cuda-gdb prompt. Importing this registers nothing; register() does."""

from __future__ import annotations

import gdb

from . import collect, emit


class Trap(gdb.Command):
    """Answers about the GPU fault at which the program stands."""

    def __init__(self) -> None:
        super().__init__("trap", gdb.COMMAND_STATUS, prefix=True)


class TrapReport(gdb.Command):
    """Write what is known about the GPU fault to a file, as JSON.
    Usage: trap report FILE

    `cudatrap report FILE` shows it."""

    def __init__(self) -> None:
        super().__init__("trap report", gdb.COMMAND_STATUS, gdb.COMPLETE_FILENAME)

    def invoke(self, argument: str, from_tty: bool) -> None:
        arguments = gdb.string_to_argv(argument)
        if len(arguments) != 1:
            raise gdb.GdbError("usage: trap report FILE")
        try:
            emit.write(arguments[0], collect.collect())
        except OSError as e:
            raise gdb.GdbError(f"{arguments[0]}: {e.strerror}") from e


COMMANDS = (Trap, TrapReport)


def register() -> None:
    for command in COMMANDS:
        command()
