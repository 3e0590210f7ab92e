# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the `trap` commands: `set trap NAME VALUE`, `show trap`."""

from __future__ import annotations

from typing import Any, List

import gdb


class SetTrap(gdb.Command):
    """Settings of the trap commands."""

    def __init__(self) -> None:
        super().__init__("set trap", gdb.COMMAND_DATA, prefix=True)


class ShowTrap(gdb.Command):
    """Settings of the trap commands, with their values."""

    def __init__(self) -> None:
        super().__init__("show trap", gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        for setting in _settings:
            gdb.write(f"{setting.name}:  {setting.value}\n")


class Number(gdb.Parameter):
    """A number from 1 on."""

    def __init__(self, name: str, default: int, doc: str) -> None:
        self.set_doc, self.show_doc = f"Set {doc}.", f"Show {doc}."
        super().__init__(f"trap {name}", gdb.COMMAND_DATA, gdb.PARAM_ZUINTEGER)
        self.name, self.value, self.last = name, default, default

    def get_set_string(self) -> str:
        if self.value < 1:
            self.value = self.last
            raise gdb.GdbError(f"trap {self.name}: a number from 1 on")
        self.last = self.value
        return ""

    def get_show_string(self, text: str) -> str:
        return f"trap {self.name} is {text}."


class Switch(gdb.Parameter):
    """on or off."""

    def __init__(self, name: str, default: bool, doc: str) -> None:
        self.set_doc, self.show_doc = f"Set {doc}.", f"Show {doc}."
        super().__init__(f"trap {name}", gdb.COMMAND_DATA, gdb.PARAM_BOOLEAN)
        self.name, self.value = name, default

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, text: str) -> str:
        return f"trap {self.name} is {text}."


_settings: List[Any] = []


def value(name: str) -> Any:
    return next(setting.value for setting in _settings if setting.name == name)


def register() -> None:
    SetTrap()
    ShowTrap()
    _settings.extend((
        Number("elements", 64, "how many elements of a tensor `trap tensor` shows"),
        Number("find-bytes", 16 << 20, "how many bytes of each tensor `trap find` reads"),
        Switch("say-why", True, "whether `trap next` says what happened at the fault"),
    ))  # fmt: skip
