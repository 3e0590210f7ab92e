#!/usr/bin/env python3
"""A notebook's kernel under cudatrap, started as Jupyter starts it; with a stand-in for the driver. Skipped where Jupyter is not installed.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
from typing import Any, Iterator, List, Tuple

from frontend import CUDATRAP, PATIENCE, Bench, Skip, Tests, wait_for
from pyprogram import FAULT, environment

tests = Tests()
test = tests.add


def need(*modules: str) -> None:
    for name in modules:
        if importlib.util.find_spec(name) is None:
            raise Skip(f"{name} is not installed for this Python")


def install(b: Bench, *options: str) -> None:
    env = {**b.env, **environment(b)}
    done = subprocess.run([sys.executable, "-m", "cudatrap.kernel", "install", "--prefix", str(b.dir / "jupyter"), "--cudatrap", CUDATRAP, "--", "--cuda-gdb", str(b.gdb),
                           "--grace=1", *options], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def kernel(b: Bench) -> Iterator[Tuple[Any, Any]]:
    """A manager and a client, as a server has them; the kernel's stderr goes into a file, as the server's log."""
    import jupyter_client
    from jupyter_client.kernelspec import KernelSpecManager

    specs = KernelSpecManager(kernel_dirs=[str(b.dir / "jupyter/share/jupyter/kernels")])
    manager = jupyter_client.KernelManager(kernel_name="cudatrap", kernel_spec_manager=specs, connection_file=str(b.dir / "kernel-1234.json"))
    env = {**b.env, **environment(b), "JUPYTER_RUNTIME_DIR": str(b.dir / "runtime"), "IPYTHONDIR": str(b.dir / "ipython")}
    with open(b.dir / "log", "ab") as log:
        manager.start_kernel(env=env, cwd=str(b.dir), stderr=log, stdout=log)
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=PATIENCE)
            yield manager, client
        finally:
            client.stop_channels()
            manager.shutdown_kernel()


def shown(client: Any, code: str) -> str:
    """All that a cell shows: its streams, its results, its errors."""
    found: List[str] = []

    def hear(message: Any) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            found.append(content["text"])
        elif message["msg_type"] in ("display_data", "execute_result"):
            found.extend(content["data"].values())
        elif message["msg_type"] == "error":
            found.append("error " + content["ename"])

    client.execute_interactive(code, timeout=PATIENCE, output_hook=hear)
    return "\n".join(found)


def fault(b: Bench, manager: Any, client: Any) -> None:
    """A cell that faults: the kernel ends, as Jupyter sees it."""
    shown(client, FAULT)
    client.execute("import cudatrap\ncudatrap.note(cell=3)\nfault()")
    wait_for(lambda: not manager.is_alive())


@test
def a_fault_ends_the_kernel_and_the_next_one_shows_its_report(b: Bench) -> None:
    need("jupyter_client", "ipykernel")
    install(b)
    with kernel(b) as (manager, client):
        assert shown(client, "1 + 1") == "2"
        fault(b, manager, client)
        reports = [p for p in (b.dir / "cudatrap-reports" / "kernel-1234").iterdir() if not p.name.startswith(".")]
        assert len(reports) == 1, reports
        assert b"device-side assert" in (b.dir / "log").read_bytes() and b"cell 3" in (b.dir / "log").read_bytes()
    with kernel(b) as (manager, client):  # the same connection file: what Jupyter does when a kernel has died
        first = shown(client, "2 + 2")
        assert "ended by a GPU fault" in first and "device-side assert" in first and "<iframe sandbox" in first and "4" in first, first[:2000]
        assert shown(client, "3 + 3") == "6"
        again = shown(client, "%cudatrap")
        assert "device-side assert" in again and "cell 3" in again, again[:2000]
    with kernel(b) as (manager, client):
        assert shown(client, "5 + 5") == "10"


@test
def a_kernel_under_cudatrap_can_be_interrupted(b: Bench) -> None:
    need("jupyter_client", "ipykernel")
    install(b)
    with kernel(b) as (manager, client):
        client.execute("print('begun', flush=True)\nimport time\ntime.sleep(1000)", stop_on_error=False)
        while True:
            message = client.get_iopub_msg(timeout=PATIENCE)
            if message["msg_type"] == "stream":
                break
        manager.interrupt_kernel()
        while message["msg_type"] != "error":
            message = client.get_iopub_msg(timeout=PATIENCE)
        assert message["content"]["ename"] == "KeyboardInterrupt", message["content"]
        got = shown(client, "print(6 * 7)")
        assert got.strip() == "42", got
    assert not b.leftovers(), b.leftovers()


@test
def the_extension_without_a_report_says_so(b: Bench) -> None:
    need("jupyter_client", "ipykernel")
    install(b)
    with kernel(b) as (_, client):
        assert "no report in" in shown(client, "%load_ext cudatrap\n%cudatrap")
        assert "not found" in shown(client, "%unload_ext cudatrap\n%cudatrap")


@test
def a_notebook_run_by_a_program_under_cudatrap_is_trapped(b: Bench) -> None:
    need("nbclient", "nbformat", "ipykernel")
    body = f"""
import asyncio, nbformat, sys
from nbclient import NotebookClient
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell({FAULT!r}), nbformat.v4.new_code_cell("fault()")])
NotebookClient(book, timeout={PATIENCE}, kernel_name="python3").execute()
"""
    program = b.dir / "book.py"
    program.write_text(body)
    prefix = b.dir / "kernels"
    subprocess.run([sys.executable, "-m", "ipykernel", "install", "--prefix", str(prefix), "--name", "python3"], env={**b.env, **environment(b)}, check=True, timeout=PATIENCE,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    got = b.run([], [sys.executable, str(program)], env={**environment(b), "JUPYTER_PATH": str(prefix / "share/jupyter"), "IPYTHONDIR": str(b.dir / "ipython")})
    found = got.incident()
    assert got.status == 99 and found["process"].get("descendant") and "ipykernel_launcher" in " ".join(found["process"]["argv"]), got.text()
    functions = [f.get("function") for t in found["threads"] for f in t.get("frames", [])]
    assert "fault" in functions, functions


@test
def a_server_under_cudatrap_lives_on_when_it_is_asked_to(b: Bench) -> None:
    need("jupyter_client", "ipykernel")
    body = f"""
import jupyter_client
FAULT = {FAULT!r}
def start():
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3")
    return manager, client
def run(client, code):
    said = []
    client.execute_interactive(code, timeout={PATIENCE}, output_hook=lambda m: said.append(m["content"].get("text", "")))
    return "".join(said).strip()
(one, first), (two, second) = start(), start()
run(first, FAULT)
run(first, "code = fake.fake_launch(1)")
print("first:", run(first, "print(code)"))
print("second:", run(second, "print(2 + 2)"))
for manager, client in ((one, first), (two, second)):
    client.stop_channels()
    manager.shutdown_kernel()
"""
    program = b.dir / "server.py"
    program.write_text(body)
    prefix = b.dir / "kernels"
    subprocess.run([sys.executable, "-m", "ipykernel", "install", "--prefix", str(prefix), "--name", "python3"], env={**b.env, **environment(b)}, check=True, timeout=PATIENCE,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    got = b.run(["--after-fault=continue"], [sys.executable, str(program)],
                env={**environment(b), "JUPYTER_PATH": str(prefix / "share/jupyter"), "JUPYTER_RUNTIME_DIR": str(b.dir / "runtime"), "IPYTHONDIR": str(b.dir / "ipython")})
    assert got.status == 99 and got.out.decode().splitlines()[-2:] == ["first: 710", "second: 4"], (got.out, got.text())
    assert got.incident()["process"].get("descendant"), got.incident()["process"]


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.pop("JPY_PARENT_PID", None)
    sys.exit(tests.run())
