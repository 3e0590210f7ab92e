#!/usr/bin/env python3
"""The Python package: notes in the report, forks and spawns, pytest, the frameworks' callbacks, the wheel. All with stand-ins.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import lzma
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from frontend import BUILD, PATIENCE, SRC, Bench, Skip, Tests, collector
from pyprogram import FAULT, PACKAGE, clean_environment, progress, run, write

tests = Tests()
test = tests.add


@test
def a_note_is_in_the_report_and_in_every_format(b: Bench) -> None:
    got = run(b, "import cudatrap\ncudatrap.note(epoch=1, step=39)\ncudatrap.note(step=40, batch=7, phase='train')\nfault()\n",
              "--also=html,junit,markdown,sarif")
    assert got.status == 99, got.text()
    found = got.incident()
    assert progress(found) == {"epoch": "1", "step": "40", "batch": "7", "phase": "train"}, found.get("progress")
    assert collector(found, "notes")["status"] == "ok", found["collectors"]
    assert "epoch 1, step 40, batch 7, phase train" in got.text(), got.text()
    for name in ("report.html", "report.md", "report.junit.xml", "report.sarif", "report.txt"):
        text = (got.reports[0] / name).read_text()
        assert "step 40" in text.replace("**", "").replace("\\", "") or '"step": "40"' in text, name


@test
def engine_core_has_notes_and_the_test_too(b: Bench) -> None:
    path = b.dir / "gpu.nvcore"
    path.write_bytes(lzma.decompress((SRC / "tests/data/gpu-cores/torch-cross-entropy-sm90.nvcore.xz").read_bytes()))
    found = run(b, "import cudatrap, os\nos.environ['PYTEST_CURRENT_TEST'] = 't.py::t (call)'\ncudatrap.note(step=4)\nfault()\n", "--engine=core",
                env={"FAKE_DUMP": str(path)}).incident()
    assert found["engine"] == "core" and progress(found) == {"step": "4", "test": "t.py::t (call)"}, found.get("progress")


@test
def a_note_is_taken_back_by_none(b: Bench) -> None:
    found = run(b, "import cudatrap\ncudatrap.note(batch=7, step=1)\ncudatrap.note(batch=None)\nfault()\n").incident()
    assert progress(found) == {"step": "1"}, found


@test
def a_program_that_notes_nothing_misses_nothing(b: Bench) -> None:
    found = run(b, "import cudatrap\nfault()\n").incident()
    assert "progress" not in found and not collector(found, "notes"), found


@test
def what_is_noted_may_be_anything(b: Bench) -> None:
    got = run(b, '''
import cudatrap, enum
class Bad:
    def __str__(self): raise RuntimeError("no")
    __repr__ = __index__ = __str__
class Text(str):
    def __str__(self): raise RuntimeError("no")
class Kind(enum.IntEnum):
    ONE = 1
cudatrap.note(bad=Bad(), text=Text("x"), kind=Kind.ONE, big=1 << 5000, yes=True, half=0.5, raw=b"x", many=list(range(40)), own=None)
cudatrap.note(**{"a\\nb": "c\\x1b[31m</script>\\n%0A::error::", "": "no name", "nul\\0": "a\\0b", "half\\udcff": "\\udcff", "long" * 40: "\\u20ac" * 4000})
fault()
''', "--also=html,junit,markdown,sarif,github,gitlab")
    assert got.status == 99 and "Traceback" not in got.text(), got.text()
    found = progress(got.incident())
    assert found["bad"] == "<Bad>" and found["text"] == "x" and found["kind"] == "1" and found["big"] == "<5001 bits>" and found["yes"] == "true", found
    assert found["half"] == "0.5" and found["raw"] == "<bytes>" and found["many"].endswith("15, ...]") and "own" not in found and "" not in found, found
    long = found[("long" * 40)[:64]]
    assert set(long) == {"\u20ac"} and len(long.encode()) <= 512, long
    html = (got.reports[0] / "report.html").read_text()
    assert "\x1b" not in got.text() and "</script>" not in html and "&lt;/script&gt;" in html, got.text()


@test
def more_than_there_is_room_for_is_left_out(b: Bench) -> None:
    found = run(b, "import cudatrap\ncudatrap.note(**{'k%d' % i: 'v' * 400 for i in range(100)})\nfault()\n").incident()
    assert 5 <= len(found["progress"]) <= 64 and found["progress"][0]["name"] == "k0", found.get("progress")


@test
def a_damaged_file_of_notes_costs_its_own_part_only(b: Bench) -> None:
    for number, damage in enumerate(("m[:8] = b'garbage!'", "m[8:12] = b'\\xff' * 4", "m[16:20] = b'\\xff' * 4", "m[12:16] = b'\\x01\\0\\0\\0'", "m[16:20] = b'\\x03\\0\\0\\0'",
                                     "m[24:25] = b'\\0'")):
        got = run(b, f"import cudatrap\nfrom cudatrap import notes\ncudatrap.note(step=1)\nm = notes._notes.map\n{damage}\nfault()\n")
        newest = json.loads((max(got.reports, key=os.path.getmtime) / "incident.json").read_text())
        assert got.status == 99 and collector(newest, "notes")["status"] == "failed" and "progress" not in newest, (damage, newest["collectors"])
        shutil.rmtree(b.dir / "reports")


@test
def notes_of_the_program_before_an_exec_are_not_believed(b: Bench) -> None:
    second = write(b.dir, "second.py", FAULT + "fault()\n")
    found = run(b, f"import cudatrap, os, sys\ncudatrap.note(step=1)\nos.execv(sys.executable, [sys.executable, {str(second)!r}])\n").incident()
    assert "progress" not in found, found


@test
def a_link_in_place_of_the_file_is_not_followed(b: Bench) -> None:
    victim = write(b.dir, "victim", "precious")
    got = run(b, f"import os\nos.symlink({str(victim)!r}, os.environ['CUDATRAP_AGENT_DIR'] + '/notes.%d' % os.getpid())\n"
                 "import cudatrap\ncudatrap.note(step=1)\nfault()\n")
    assert progress(got.incident()) == {"step": "1"} and victim.read_text() == "precious"


@test
def workers_that_fork_and_workers_that_are_spawned_have_notes_of_their_own(b: Bench) -> None:
    for method in ("fork", "spawn"):
        body = f'''
import cudatrap, multiprocessing
def work(n):
    cudatrap.note(worker=n)
    fault()
if __name__ == "__main__":
    cudatrap.note(step=5, who="parent")
    p = multiprocessing.get_context({method!r}).Process(target=work, args=(3,))
    p.start()
    p.join()
'''
        got = run(b, body)
        found = got.incident()
        assert got.status == 99 and progress(found) == {"worker": "3"} and found["process"].get("descendant"), (method, found.get("progress"), got.text())
        shutil.rmtree(b.dir / "reports")


@test
def a_parent_keeps_its_notes_when_a_worker_has_forked(b: Bench) -> None:
    found = run(b, '''
import cudatrap, os
cudatrap.note(step=5)
pid = os.fork()
if pid == 0:
    cudatrap.note(step=-1)
    os._exit(0)
os.waitpid(pid, 0)
cudatrap.note(batch=2)
fault()
''').incident()
    assert progress(found) == {"step": "5", "batch": "2"}, found


@test
def threads_and_signal_handlers_may_note_at_once(b: Bench) -> None:
    found = run(b, '''
import cudatrap, signal, threading
signal.signal(signal.SIGALRM, lambda *a: cudatrap.note(alarm=1))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0005)
def work(n):
    for i in range(3000):
        cudatrap.note(**{"t%d" % n: i})
all_ = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in all_]
for i in range(3000):
    cudatrap.note(main=i)
[t.join() for t in all_]
signal.setitimer(signal.ITIMER_REAL, 0)
fault()
''').incident()
    found = progress(found)
    assert {k: found[k] for k in ("t0", "t1", "t2", "t3", "main")} == dict.fromkeys(("t0", "t1", "t2", "t3", "main"), "2999"), found


@test
def without_cudatrap_it_does_nothing(b: Bench) -> None:
    body = "import cudatrap, cudatrap.notes, sys\ncudatrap.note(step=1)\nassert cudatrap.notes._notes is None\n" \
           "assert not {'torch', 'lightning', 'transformers', 'IPython', 'pytest', 'jupyter_client'} & set(sys.modules)\n"
    for env in (clean_environment(b), {**clean_environment(b), "CUDATRAP_AGENT_DIR": "relative"}, {**clean_environment(b), "CUDATRAP_AGENT_DIR": str(b.dir / "none")}):
        subprocess.run([sys.executable, "-c", body], env=env, check=True, timeout=PATIENCE)
    readonly = {**clean_environment(b), "CUDATRAP_AGENT_DIR": "/proc"}  # a folder in which nobody makes files
    subprocess.run([sys.executable, "-c", "import cudatrap\ncudatrap.note(step=1)\ncudatrap.note(step=2)"], env=readonly, check=True, timeout=PATIENCE)


PYTEST_BODY = "def test_loss(tmp_path):\n    fault()\n"


@test
def pytest_tells_the_test_without_the_package(b: Bench) -> None:
    # As pytest does it: os.environ, which /proc/PID/environ does not show.
    got = run(b, "import os\nos.environ['PYTEST_CURRENT_TEST'] = 'tests/test_loss.py::test_range[a-1] (call)'\nfault()\n", package=False)
    assert progress(got.incident()) == {"test": "tests/test_loss.py::test_range[a-1] (call)"}, got.incident()["collectors"]
    assert "test_range[a-1]" in got.text(), got.text()


@test
def a_hostile_os_environ_is_left_alone(b: Bench) -> None:
    got = run(b, '''
import os
class Mine(dict):
    def get(self, *a): raise SystemExit("foreign code ran")
    __getitem__ = __contains__ = __getattribute__ = get
os.environ = Mine()
fault()
''', package=False)
    assert got.status == 99 and "foreign code ran" not in got.text() and "progress" not in got.incident(), got.text()


@test
def pytest_itself_tells_the_test(b: Bench) -> None:
    if importlib.util.find_spec("pytest") is None:
        raise Skip("pytest is not installed for this Python")
    write(b.dir, "tests/test_loss.py", FAULT + PYTEST_BODY)
    for plugin, wanted in (([], "tests/test_loss.py::test_loss (call)"), (["-p", "cudatrap.pytest_plugin"], "tests/test_loss.py::test_loss")):
        got = run(b, "", argv=[sys.executable, "-m", "pytest", "-q", *plugin, "-p", "no:cacheprovider", "tests/test_loss.py"])
        assert got.status == 99 and progress(got.incident()) == {"test": wanted}, (plugin, got.text(), got.out)
        shutil.rmtree(b.dir / "reports")


STUB_LIGHTNING = """
class Callback:
    pass
"""
STUB_TORCH = """
class cuda:
    ready = False
    @staticmethod
    def is_initialized():
        return cuda.ready
"""


@test
def the_lightning_callback_names_where_the_trainer_is(b: Bench) -> None:
    write(b.dir, "stubs/lightning/__init__.py", "")
    write(b.dir, "stubs/lightning/pytorch/__init__.py", STUB_LIGHTNING)
    found = run(b, '''
from cudatrap.lightning import CudaTrap
class trainer:
    current_epoch, global_step, sanity_checking = 2, 120, False
c = CudaTrap()
c.on_train_batch_start(trainer, None, None, 19)
c.on_validation_batch_start(trainer, None, None, 3, dataloader_idx=1)
fault()
''', env={"PYTHONPATH": f"{PACKAGE}:{b.dir / 'stubs'}"}).incident()
    assert progress(found) == {"stage": "validate", "epoch": "2", "step": "120", "batch": "3", "dataloader": "1"}, found.get("progress")


@test
def the_hugging_face_callback_names_where_the_trainer_is(b: Bench) -> None:
    write(b.dir, "stubs/transformers.py", "class TrainerCallback:\n    pass\n")
    found = run(b, '''
from cudatrap.huggingface import CudaTrapCallback
class state:
    epoch, global_step = 0.5, 30
c = CudaTrapCallback()
c.on_epoch_begin(None, state, None)
c.on_step_begin(None, state, None)
c.on_substep_end(None, state, None)
fault()
''', env={"PYTHONPATH": f"{PACKAGE}:{b.dir / 'stubs'}"}).incident()
    assert progress(found) == {"stage": "train", "epoch": "0.5", "step": "30", "batch": "1"}, found.get("progress")


@test
def launch_blocking_is_switched_only_before_cuda_begins(b: Bench) -> None:
    write(b.dir, "stubs/torch.py", STUB_TORCH)
    body = '''
import os, torch, warnings
from cudatrap.progress import set_launch_blocking
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    set_launch_blocking(None)
    assert "CUDA_LAUNCH_BLOCKING" not in os.environ
    set_launch_blocking(True)
    assert os.environ["CUDA_LAUNCH_BLOCKING"] == "1" and not seen
    set_launch_blocking(False)
    assert os.environ["CUDA_LAUNCH_BLOCKING"] == "0" and not seen
    torch.cuda.ready = True
    set_launch_blocking(True)
    assert os.environ["CUDA_LAUNCH_BLOCKING"] == "0" and "too late" in str(seen[0].message)
'''
    env = {**clean_environment(b), "PYTHONPATH": f"{PACKAGE}:{b.dir / 'stubs'}"}
    env.pop("CUDA_LAUNCH_BLOCKING", None)
    subprocess.run([sys.executable, "-c", body], env=env, check=True, timeout=PATIENCE)


def check_wheel(path: Path) -> None:
    with zipfile.ZipFile(path) as z:
        names = set(z.namelist())
        want = {f"cudatrap/{p.name}" for p in (PACKAGE / "cudatrap").iterdir() if p.is_file()}
        assert want <= names, want - names
        rows = [line.split(",") for line in z.read("cudatrap-0.1.0.dist-info/RECORD").decode().splitlines()]
        assert {r[0] for r in rows} == names, rows
        for name, digest, size in rows[:-1]:
            raw = base64.urlsafe_b64encode(hashlib.sha256(z.read(name)).digest()).rstrip(b"=").decode()
            assert digest == "sha256=" + raw and int(size) == len(z.read(name)), name
        assert b"cudatrap = cudatrap.pytest_plugin" in z.read("cudatrap-0.1.0.dist-info/entry_points.txt")


@test
def the_wheel_is_built_without_a_network_from_a_folder_that_is_read_only(b: Bench) -> None:
    copy = b.dir / "python"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (copy / "cudatrap", copy):
        folder.chmod(0o555)
    out = b.dir / "out"
    out.mkdir()
    env = {**clean_environment(b), "PYTHONPATH": ""}
    subprocess.run([sys.executable, "-B", str(copy / "build_wheel.py"), str(out)], env=env, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
    (wheel,) = out.iterdir()
    check_wheel(wheel)
    if importlib.util.find_spec("pip") is not None:
        by_pip = b.dir / "by-pip"
        subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "wheel", "--no-index", "--no-deps", "--no-cache-dir", "-w", str(by_pip), str(copy)],
                       env=env, check=True, timeout=PATIENCE * 5)
        (other,) = by_pip.iterdir()
        assert other.read_bytes() == wheel.read_bytes()
    for folder in (copy, copy / "cudatrap"):
        folder.chmod(0o755)


@test
def package_and_program_have_one_version(b: Bench) -> None:
    found = subprocess.run([str(BUILD / "cudatrap"), "--version"], stdout=subprocess.PIPE, check=True, timeout=PATIENCE, env=b.env).stdout.decode().split()[1]
    assert f'__version__ = "{found}"\n' in (PACKAGE / "cudatrap/__init__.py").read_text(), found


@test
def every_file_of_the_package_is_installed(b: Bench) -> None:
    listed = (SRC / "python/local.mk").read_text()
    for path in PACKAGE.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".typed", ".toml"):
            assert str(path.relative_to(SRC)) in listed, path


@test
def a_kernel_has_a_folder_of_its_own_and_runs_without_cudatrap_too(b: Bench) -> None:
    body = '''
from cudatrap import kernel
assert kernel.report_folder("/x/kernel-1f/../a b.json", {"CUDATRAP_DIR": "/r"}) == "/r/a_b"
words = kernel.command_line("c.json", "/usr/bin/cudatrap", ["--async"], "/r/k")
assert words[:6] == ["/usr/bin/cudatrap", "--ending-limit=0", "--async", "--also=html", "--report-dir=/r/k", "--"], words
assert kernel.command_line("c.json", None, [], "/r/k")[1:] == ["-m", "ipykernel_launcher", "-f", "c.json"]
import sys
sys.executable = "/no/such/python"
assert kernel.main(["run", "-f", "c.json", "--cudatrap", "no-such-program"]) == 126
'''
    done = subprocess.run([sys.executable, "-c", body], env=clean_environment(b), stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and b"runs without it" in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(tests.run())
