"""What the callbacks of the frameworks share. SPDX-License-Identifier: GPL-3.0-or-later"""
import os
import sys
import warnings
from typing import Optional


def set_launch_blocking(debug: Optional[bool]) -> None:
    """CUDA_LAUNCH_BLOCKING for debugging (True), off for production (False), or as it is (None).

    The CUDA runtime reads it once, when it is initialised: later there is only a warning to give.
    """
    if debug is None:
        return
    wanted = "1" if debug else "0"
    if os.environ.get("CUDA_LAUNCH_BLOCKING", "0") == wanted:
        return
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        warnings.warn("CUDA_LAUNCH_BLOCKING=%s comes too late: CUDA is initialised already. Set it before the program starts; "
                      "cudatrap sets it to 1 by itself, `cudatrap --async` leaves it alone." % wanted, stacklevel=3)
        return
    os.environ["CUDA_LAUNCH_BLOCKING"] = wanted
