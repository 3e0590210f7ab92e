"""A callback for Hugging Face's Trainer: epoch and step in the report of a GPU fault.

    from cudatrap.huggingface import CudaTrapCallback
    trainer = Trainer(..., callbacks=[CudaTrapCallback()])

SPDX-License-Identifier: GPL-3.0-or-later
"""
from typing import Any, Optional

from transformers import TrainerCallback

from .notes import note
from .progress import set_launch_blocking


class CudaTrapCallback(TrainerCallback):  # type: ignore[misc]
    """Notes where the trainer is. `debug` as in cudatrap.lightning.CudaTrap: it works only while CUDA is not initialised."""

    def __init__(self, debug: Optional[bool] = None) -> None:
        super().__init__()
        set_launch_blocking(debug)
        self.batch = 0  # of this epoch, counted here: the Trainer does not say

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.batch = 0
        note(stage="train", epoch=state.epoch, step=state.global_step, batch=0)

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        note(stage="train", epoch=state.epoch, step=state.global_step, batch=self.batch)

    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.batch += 1
        note(batch=self.batch)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.batch += 1

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        note(stage="evaluate", epoch=state.epoch, step=state.global_step, batch=None)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        note(stage=None, epoch=None, step=None, batch=None)
