"""pytest names the test that runs; loaded through the entry point `pytest11`.

Without this package cudatrap still learns it, from PYTEST_CURRENT_TEST, where its agent can ask Python; the plugin's word is there with every
engine. SPDX-License-Identifier: GPL-3.0-or-later
"""
from typing import Any, Tuple

from .notes import note


def pytest_runtest_logstart(nodeid: str, location: Tuple[str, Any, str]) -> None:
    note(test=nodeid)


def pytest_runtest_logfinish(nodeid: str, location: Tuple[str, Any, str]) -> None:
    note(test=None)
