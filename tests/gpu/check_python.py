"""The Python package on a machine with a GPU: notes, pytest, Lightning, Hugging Face, Jupyter, DataLoader workers. Called by check_gpu.py.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

FAULT = """
import torch
def fault():
    x = torch.randn(8, 3, device="cuda")
    y = torch.tensor([0, 1, 3, 0, 1, 2, 0, 1], device="cuda")
    torch.nn.functional.cross_entropy(x, y)
    torch.cuda.synchronize()
"""

NOTES = FAULT + """
import cudatrap
for step in range(3):
    cudatrap.note(epoch=1, step=step, loss=torch.zeros(1, device="cuda"))
fault()
"""

WORKERS = FAULT + """
import cudatrap, sys
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        cudatrap.note(worker=torch.utils.data.get_worker_info().id, item=i)
        if i == 5:
            fault()
        return i
if __name__ == "__main__":
    cudatrap.note(who="parent")
    list(torch.utils.data.DataLoader(Data(), num_workers=2, batch_size=None, multiprocessing_context=sys.argv[1]))
"""

TEST_FILE = FAULT + """
import pytest
@pytest.mark.parametrize("n", [2, 3])
def test_loss(n):
    if n == 3:
        fault()
"""

LIGHTNING = """
import torch
try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl
from cudatrap.lightning import CudaTrap
class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
    def training_step(self, batch, batch_idx):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.layer(x), y + (1 if batch_idx == 2 else 0) * 3)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
callback = CudaTrap(debug=True)
data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.zeros(32, dtype=torch.long))
trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=1, callbacks=[callback], logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8))
"""

HUGGING_FACE = """
import tempfile, torch
from transformers import Trainer, TrainingArguments
from cudatrap.huggingface import CudaTrapCallback
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, i):
        return {"x": torch.randn(4), "labels": torch.tensor(9 if i >= 16 else 0)}
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
    def forward(self, x, labels):
        return {"loss": torch.nn.functional.cross_entropy(self.layer(x), labels)}
class InOrder(Trainer):
    def _get_train_sampler(self, *a, **k):
        return torch.utils.data.SequentialSampler(self.train_dataset)
args = TrainingArguments(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=8, num_train_epochs=1, report_to=[], save_strategy="no", disable_tqdm=True)
InOrder(model=Model(), args=args, train_dataset=Data(), callbacks=[CudaTrapCallback()]).train()
"""

Case = Tuple[str, Tuple[str, ...], str, List[str], Dict[str, str]]

CASES: List[Case] = [
    ("notes", ("torch",), NOTES, [], {"epoch": "1", "step": "2", "loss": "<Tensor>"}),
    ("workers forked", ("torch",), WORKERS, ["fork"], {"item": "5"}),
    ("workers spawned", ("torch",), WORKERS, ["spawn"], {"item": "5"}),
    ("lightning", ("torch", "lightning|pytorch_lightning"), LIGHTNING, [], {"stage": "train", "epoch": "0", "step": "2", "batch": "2"}),
    ("hugging face", ("torch", "transformers", "accelerate"), HUGGING_FACE, [], {"stage": "train", "step": "2", "batch": "2"}),
]


def missing(names: Tuple[str, ...]) -> Optional[str]:
    for choice in names:
        if all(importlib.util.find_spec(name) is None for name in choice.split("|")):
            return choice
    return None


def progress(incident: Optional[Dict[str, Any]]) -> Dict[str, str]:
    return {p["name"]: p["value"] for p in (incident or {}).get("progress", [])}


def without_package(package: Path) -> Dict[str, str]:
    rest = [p for p in os.environ.get("PYTHONPATH", "").split(":") if p and Path(p) != package]
    return {"PYTHONPATH": ":".join(rest)}


def check_programs(checks: Any, run: Callable[..., Any], package: Path, folder: Path) -> None:
    for name, modules, body, words, wanted in CASES:
        gap = missing(modules)
        if gap:
            print(f"# python {name}: not run, no module {gap}")
            continue
        program = folder / (name.replace(" ", "_") + ".py")
        program.write_text(body)
        for engine in ("wait", "core"):
            got = run([sys.executable, str(program), *words], ["--engine", engine], {"PYTHONPATH": str(package)})
            found = progress(got.incident)
            checks.check(got.status == 99 and wanted.items() <= found.items(), f"{engine} python {name}: where it was", f"status {got.status} {found}\n{got.err}")
            checks.check("who" not in found, f"{engine} python {name}: nothing of another process", str(found))


def check_pytest(checks: Any, run: Callable[..., Any], package: Path, folder: Path) -> None:
    gap = missing(("torch", "pytest"))
    if gap:
        print(f"# python pytest: not run, no module {gap}")
        return
    (folder / "test_loss.py").write_text(TEST_FILE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "test_loss.py")]
    for engine in ("wait", "core", "live"):
        got = run([*command, "-p", "cudatrap.pytest_plugin"], ["--engine", engine], {"PYTHONPATH": str(package)})
        test = progress(got.incident).get("test", "")
        checks.check(got.status == 99 and test.endswith("test_loss.py::test_loss[3]"), f"{engine} pytest with the plugin: the test", f"{test}\n{got.err}")
    got = run(command, [], without_package(package))
    test = progress(got.incident).get("test", "")
    checks.check(got.status == 99 and test.endswith("test_loss.py::test_loss[3] (call)"), "pytest without the package: the test", f"{test}\n{got.err}")


def check_jupyter(checks: Any, top_build: Path, package: Path, folder: Path) -> None:
    gap = missing(("torch", "jupyter_client", "ipykernel"))
    if gap:
        print(f"# python jupyter: not run, no module {gap}")
        return
    import jupyter_client
    from jupyter_client.kernelspec import KernelSpecManager

    env = {**os.environ, "PYTHONPATH": str(package)}
    subprocess.run([sys.executable, "-m", "cudatrap.kernel", "install", "--prefix", str(folder / "jupyter"), "--cudatrap", str(top_build.resolve() / "cudatrap")], env=env, check=True)
    specs = KernelSpecManager(kernel_dirs=[str(folder / "jupyter/share/jupyter/kernels")])
    shown: List[str] = []

    def hear(message: Any) -> None:
        content = message["content"]
        shown.extend([content["text"]] if message["msg_type"] == "stream" else content["data"].values() if message["msg_type"] == "display_data" else [])

    for turn in range(2):
        manager = jupyter_client.KernelManager(kernel_name="cudatrap", kernel_spec_manager=specs, connection_file=str(folder / "kernel-gpu.json"))
        manager.start_kernel(env=env, cwd=str(folder))
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=120)
        if turn == 0:
            client.execute(FAULT + "import cudatrap\ncudatrap.note(cell=1)\nfault()\n")
            end = time.monotonic() + 120
            while manager.is_alive() and time.monotonic() < end:
                time.sleep(0.2)
            checks.check(not manager.is_alive(), "jupyter: the fault ends the kernel")
        else:
            client.execute_interactive("1", timeout=60, output_hook=hear)
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    text = "\n".join(shown)
    checks.check("device-side assert" in text and "nll_loss" in text and "cell 1" in text, "jupyter: the next kernel's first cell shows the report", text[:2000])


def check_python(checks: Any, run: Callable[..., Any], top_src: Path, top_build: Path) -> None:
    """run(command, options, environment) is check_gpu.Run."""
    package = (top_src / "python").resolve()
    with tempfile.TemporaryDirectory(prefix="check-python-") as made:
        folder = Path(made)
        check_programs(checks, run, package, folder)
        check_pytest(checks, run, package, folder)
        check_jupyter(checks, top_build, package, folder)
