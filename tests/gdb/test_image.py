# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of an assert that nothing printed: read out of the code image that cuda-gdb has loaded."""

from __future__ import annotations

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402
from test_dumps import unpack  # noqa: E402

CASES = {
    "assert.rel": "faults.cu:9 long load_label(const long *, long, int)\nt >= 0 && t < n_classes\n",
    "assert.dbg": "faults.cu:9 long load_label(const long *, long, int)\nt >= 0 && t < n_classes\n",
    "torch-cross-entropy-sm90": "/pytorch/aten/src/ATen/native/cuda/Loss.cu:245 nll_loss_forward_reduce_cuda_kernel_2d\nt >= 0 && t < n_classes\n",
    "address.rel": "",
    "trap.rel": "",
}


def test_texts_of_asserts() -> None:
    for name, wanted in CASES.items():
        with tap.Scratch() as scratch, tap.Scratch() as folder:
            done = tap.drive("assert", unpack(name, folder), scratch)
            tap.equal(done.stderr.decode(), "", name)
            tap.equal(done.stdout.decode(), wanted, name)
            tap.equal("image.cubin" in os.listdir(scratch), False, "the image is taken away")


if __name__ == "__main__":
    tap.need_cuda_gdb()
    tap.run([value for name, value in list(globals().items()) if name.startswith("test_")])
