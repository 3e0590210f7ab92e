# SPDX-License-Identifier: GPL-3.0-or-later
"""The `trap` commands for a cuda-gdb that a person runs: cuda-gdb -x trap.py, or `source` in it."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from cudatrap import commands  # noqa: E402

commands.register()
