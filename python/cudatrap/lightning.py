"""A Lightning callback: epoch, step, batch and dataloader in the report of a GPU fault.

    from cudatrap.lightning import CudaTrap
    trainer = Trainer(callbacks=[CudaTrap()])

Works with `lightning` and with `pytorch_lightning`, whichever the program has imported, else whichever there is.
SPDX-License-Identifier: GPL-3.0-or-later
"""
import importlib
import sys
from typing import Any, Optional

from .notes import note
from .progress import set_launch_blocking


def _callback_class() -> Any:
    names = ("lightning.pytorch", "pytorch_lightning")
    for name in [n for n in names if n in sys.modules] + list(names):
        try:
            return importlib.import_module(name).Callback
        except ModuleNotFoundError as e:
            if e.name is None or name.split(".")[0] != e.name.split(".")[0]:
                raise
    raise ImportError("cudatrap.lightning needs lightning or pytorch_lightning")


class CudaTrap(_callback_class()):  # type: ignore[misc]
    """Notes where the trainer is. `debug`: True asks for CUDA_LAUNCH_BLOCKING=1, False for 0, None leaves it as it is.

    The switch works only while CUDA is not initialised: make the callback before anything touches the GPU; later it warns.
    """

    def __init__(self, debug: Optional[bool] = None) -> None:
        super().__init__()
        set_launch_blocking(debug)

    def _note(self, trainer: Any, stage: str, batch_idx: Optional[int], dataloader_idx: Optional[int] = None) -> None:
        note(stage=stage, epoch=trainer.current_epoch, step=trainer.global_step, batch=batch_idx, dataloader=dataloader_idx)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._note(trainer, "train", batch_idx)

    def on_validation_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        self._note(trainer, "sanity check" if trainer.sanity_checking else "validate", batch_idx, dataloader_idx)

    def on_test_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        self._note(trainer, "test", batch_idx, dataloader_idx)

    def on_predict_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        self._note(trainer, "predict", batch_idx, dataloader_idx)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        note(stage=None, epoch=None, step=None, batch=None, dataloader=None)
