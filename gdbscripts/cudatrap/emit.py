# SPDX-License-Identifier: GPL-3.0-or-later
"""A dict to a file: readers see all of it or nothing."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

from . import model


def write(path: str, document: Dict[str, Any]) -> None:
    """Writes document as JSON, mode 0600, under a temporary name first."""
    temporary = f"{path}.tmp{os.getpid()}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(model.clean(document), file, ensure_ascii=False)
            file.write("\n")
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
