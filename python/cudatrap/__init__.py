"""Tells cudatrap where a program is, so that a GPU fault's report can say so.

    import cudatrap
    cudatrap.note(epoch=epoch, step=step, batch=batch_index)

Without cudatrap around the program all of it does nothing. No framework is imported before it is asked for:
cudatrap.lightning, cudatrap.huggingface, cudatrap.pytest_plugin, cudatrap.notebook (`%load_ext cudatrap`).
SPDX-License-Identifier: GPL-3.0-or-later
"""
from typing import Any

from .notes import note

__all__ = ["note"]
__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext cudatrap`: the magic `%cudatrap`, and the report of a fault under the cell that met it."""
    from . import notebook

    notebook.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    from . import notebook

    notebook.unload(shell)
