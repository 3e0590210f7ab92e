#!/usr/bin/env python3
"""The whole front-end, as a user runs it, against a stand-in for the CUDA driver and one for cuda-gdb: no GPU is needed.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import lzma
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import sys
from pathlib import Path
from typing import Dict

from frontend import SRC, APP, CUDATRAP, FAKECUDA, PATIENCE, Bench, Tests, collector, wait_for

tests = Tests()
test = tests.add


# ---- nothing fails ---------------------------------------------------------------------------------------------


@test
def nothing_changes_when_nothing_fails(b: Bench) -> None:
    r = b.run([], [APP, "ok"])
    assert (r.status, r.out, r.err) == (0, b"ok\n", b"note\n"), (r.status, r.out, r.err)
    assert r.reports == [] and not (b.dir / "reports").exists()
    assert not (b.dir / "gdb.log").exists(), "cuda-gdb was attached to nothing"
    assert b.leftovers() == []


@test
def exit_status_and_input_are_the_commands(b: Bench) -> None:
    assert b.run([], ["sh", "-c", "exit 37"]).status == 37
    assert b.run([], ["sh", "-c", "kill -SEGV $$"]).status == -signal.SIGSEGV, "we end by the same signal"
    assert b.run([], ["cat"], stdin=b"a\0b\xff").out == b"a\0b\xff"


@test
def a_subcommand_word_behind_two_dashes_is_a_command(b: Bench) -> None:
    tool = b.dir / "report"
    tool.write_text("#!/bin/sh\necho mine\n")
    tool.chmod(0o755)
    r = b.run([], ["report"], env={"PATH": f"{b.dir}:{b.env['PATH']}"})
    assert (r.status, r.out) == (0, b"mine\n"), r.err


# ---- a fault ---------------------------------------------------------------------------------------------------


@test
def a_fault_ends_in_a_report(b: Bench) -> None:
    r = b.run([], [APP, "assert", "3"])
    i = r.incident()
    assert r.status == 99, r.err
    assert i["engine"] == "wait" and i["kind"] == "assert"
    assert i["gpu"]["device"]["name"] == "NVIDIA H200"
    assert i["ending"]["kind"] == "ended-by-us"
    assert collector(i, "native-stacks")["status"] == "ok", i["collectors"]
    assert any(f.get("function") == "fake_launch" for t in i["threads"] for f in t["frames"]), i["threads"]
    assert "nll_loss_forward_reduce_cuda_kernel_2d" in r.text() and "noise" not in r.text()
    assert "\nreport: " in r.text(), r.text()
    assert "auto-solib-add off" in (b.dir / "gdb.log").read_text()
    assert b.leftovers() == []


@test
def the_report_folder_is_private_and_complete(b: Bench) -> None:
    r = b.run(["-q"], [APP, "assert"])
    folder = r.reports[0]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(p.name for p in folder.iterdir()) == ["incident.json", "log.txt", "report.txt", "summary.json"]
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert "NVIDIA H200" not in r.text() and str(folder.name) in r.text(), "quiet: only the folder's name"


@test
def the_stored_report_shows_again(b: Bench) -> None:
    first = b.run([], [APP, "assert"])
    again = subprocess.run([CUDATRAP, "report", str(first.reports[0])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=False)
    assert again.returncode == 0 and b"nll_loss_forward" in again.stdout, again
    piped = subprocess.run([CUDATRAP, "report", "--format", "json", "-"], input=(first.reports[0] / "incident.json").read_bytes(), stdout=subprocess.PIPE,
                           env=b.env, timeout=PATIENCE, check=False)
    assert piped.returncode == 0 and json.loads(piped.stdout)["kind"] == "assert"


@test
def also_puts_more_formats_into_the_folder(b: Bench) -> None:
    r = b.run(["--also", "html,junit, sarif"], [APP, "assert"])
    names = sorted(p.name for p in r.reports[0].iterdir())
    assert names == ["incident.json", "log.txt", "report.html", "report.junit.xml", "report.sarif", "report.txt", "summary.json"], names
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in r.reports[0].iterdir())
    assert "nll_loss_forward" in (r.reports[0] / "report.html").read_text() and "::error" not in r.text()
    wrong = Bench().run(["--also", "html,pdf"], [APP, "assert"])
    assert wrong.status == 125 and wrong.err.startswith(b"cudatrap: --also: 'pdf' is none of: text json html"), wrong.err


@test
def github_actions_is_told(b: Bench) -> None:
    summary = b.dir / "summary.md"
    summary.write_text("before")
    for quiet in ([], ["-q"]):
        r = b.run(quiet, [APP, "assert"], env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
        lines = [line for line in r.text().splitlines() if line.startswith("::error ")]
        assert len(lines) == 1 and "title=device-side assert in nll_loss_forward" in lines[0] and str(b.dir / "reports") in lines[0], r.text()
        assert r.out == b.run([], [APP, "assert"]).out, "standard output is the command's own"
    assert summary.read_text().startswith("before\n## device-side assert") and summary.read_text().count("## device-side assert") == 2
    r = b.run([], [APP, "assert"], env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(b.dir / "no" / "such")})
    assert r.status == 99 and "summary of the job was not written" in r.text(), r.text()


@test
def error_exitcode_is_obeyed(b: Bench) -> None:
    assert b.run(["--error-exitcode", "7"], [APP, "assert"]).status == 7


@test
def after_fault_continue_lets_the_command_end_by_itself(b: Bench) -> None:
    r = b.run(["--after-fault", "continue"], [APP, "assert", "2"])
    i = r.incident()
    assert r.status == 99 and i["ending"]["kind"] == "exited" and i["ending"]["status"] == 1, i["ending"]
    assert i["assert"]["lines"] == 2 and "t >= 0 && t < n_classes" in i["assert"]["expression"], i["assert"]


DRIVER_LINE = b"before: 0 0; the launch returned 710, the next call 710\ncleaned up\n"


@test
def the_command_gets_its_error_and_ends_by_its_own_means(b: Bench) -> None:
    for options in (["--engine", "wait"], ["--engine", "core"], ["--engine", "wait", "--after-fault=error"]):
        r = Bench().run(options, [APP, "assert-by-driver"], env=dump(b))
        i = r.incident()
        assert r.status == 99 and r.out == DRIVER_LINE, (options, r.out, r.err)
        assert i["ending"] == {"kind": "exited", "status": 7, "detail": i["ending"]["detail"]} and "returned error 710" in i["ending"]["detail"], i["ending"]
        assert b.leftovers() == []


@test
def after_fault_end_ends_the_command(b: Bench) -> None:
    r = b.run(["--after-fault=end"], [APP, "assert-by-driver"])
    assert r.status == 99 and r.out == b"" and r.incident()["ending"]["kind"] == "ended-by-us", (r.out, r.err)
    r = Bench().run(["--engine", "core", "--after-fault=end"], [APP, "assert-by-driver"], env=dump(b))
    assert r.status == 99 and r.out == b"" and r.incident()["ending"] == {**r.incident()["ending"], "kind": "signaled", "status": 6}, (r.out, r.err)


@test
def a_command_that_takes_its_time_to_end_has_its_report_before(b: Bench) -> None:
    r = b.run([], [APP, "assert-by-driver", "6"])
    assert r.status == 99 and r.out == DRIVER_LINE, (r.out, r.err)
    text = r.text()
    assert text.count("device-side assert in") == 1 and "still running when this was written" in text and "exited with status 7" in text.split("still running")[1], text
    i = r.incident()
    assert i["ending"]["kind"] == "exited" and i["ending"]["status"] == 7 and len(r.reports) == 1, i["ending"]
    assert "by itself, with status 7" in (r.reports[0] / "report.txt").read_text()


@test
def a_command_that_does_not_end_after_its_error_is_ended(b: Bench) -> None:
    r = b.run(["--ending-limit", "1"], [APP, "assert-by-driver", "100"])
    i = r.incident()
    assert r.status == 99 and i["ending"]["kind"] == "ended-by-us" and any("--ending-limit" in n for n in i["notes"]), (i["ending"], i.get("notes"))
    assert b.leftovers() == []


@test
def continuing_into_the_next_fault_comes_to_an_end(b: Bench) -> None:
    r = b.run(["--after-fault", "continue"], [APP, "assert-twice"])
    i = r.incident()
    assert r.status == 99 and i["ending"]["kind"] == "ended-by-us" and len(i["consequences"]) == 1, (i["ending"], i.get("consequences"))
    assert b.leftovers() == []


@test
def every_process_of_the_tree_is_watched(b: Bench) -> None:
    r = b.run([], [APP, "assert-children", "2"])
    i = r.incident()
    assert i["process"].get("descendant"), i["process"]
    assert r.status == 99 and b.leftovers() == []


@test
def python_frames_and_lines_are_in_the_report(b: Bench) -> None:
    script = b.dir / "train.py"
    script.write_text("import ctypes, sys\n"
                      "fake = ctypes.CDLL(sys.argv[1])\n"
                      "hasattr(ctypes.CDLL(None), 'cuInit')\n"
                      "def step(n):\n"
                      "    return fake.fake_launch(n)\n"
                      "def main():\n"
                      "    step(1)\n"
                      "main()\n")
    i = b.run([], [sys.executable, str(script), FAKECUDA]).incident()
    frames = [(f.get("function"), f.get("line"), f.get("source")) for t in i["threads"] for f in t["frames"] if f["kind"] == "python"]
    assert frames[:3] == [("step", 5, "return fake.fake_launch(n)"), ("main", 7, "step(1)"), ("<module>", 8, "main()")], (frames, i["collectors"])
    assert collector(i, "python-agent")["status"] == "ok" and collector(i, "python-walk")["status"] == "ok", i["collectors"]


@test
def tensors_of_the_frames_are_in_the_report(b: Bench) -> None:
    script = b.dir / "train.py"
    script.write_text("import ctypes, sys\n"
                      "sys.dont_write_bytecode = True\n"
                      "sys.path.insert(0, sys.argv[2])\n"
                      "import fake_torch\n"
                      "fake_torch.install()\n"
                      "fake = ctypes.CDLL(sys.argv[1])\n"
                      "hasattr(ctypes.CDLL(None), 'cuInit')\n"
                      "def step(logits, y):\n"
                      "    return fake.fake_launch(1)\n"
                      "step(fake_torch.Tensor([4, 3], data_ptr=0x1000), fake_torch.Tensor([5], fake_torch.int64, data_ptr=0x2000))\n")
    i = b.run([], [sys.executable, str(script), FAKECUDA, os.path.dirname(os.path.abspath(__file__))]).incident()
    assert collector(i, "tensors")["status"] == "ok", i["collectors"]
    names = [(t["name"], t["role"], t["shape"], t["dtype"], t["data_ptr"]) for t in i["tensors"] if t["function"] == "step"]
    assert names == [("logits", "argument", [4, 3], "float32", "0x1000"), ("y", "argument", [5], "int64", "0x2000")], i["tensors"]
    # Nothing here tells which thread launched, so whose call to check is not known.
    assert "checks" not in i and not any(t.get("launching") for t in i["threads"]), i.get("checks")


@test
def faulthandler_speaks_before_the_end(b: Bench) -> None:
    code = f"import ctypes; ctypes.CDLL({FAKECUDA!r}).fake_launch(1)"
    r = b.run([], [sys.executable, "-X", "faulthandler", "-c", code])
    assert r.status == 99 and "Fatal Python error: Aborted" in r.text(), r.text()


@test
def async_leaves_launch_blocking_alone(b: Bench) -> None:
    show = ["sh", "-c", "echo ${CUDA_LAUNCH_BLOCKING-unset} ${CUDA_DEVICE_WAITS_ON_EXCEPTION-unset} ${CUDA_ENABLE_COREDUMP_ON_EXCEPTION-unset}"]
    env = {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1"}
    assert b.run([], show, env=env).out == b"1 1 unset\n"
    assert b.run(["--async"], show, env=env).out == b"unset 1 unset\n"
    assert b.run(["--async"], show, env={"CUDA_LAUNCH_BLOCKING": "1"}).out == b"1 1 unset\n"


@test
def a_foreign_pid_in_the_waiting_line_is_not_believed(b: Bench) -> None:
    line = "host: The application encountered a device error and CUDA_DEVICE_WAITS_ON_EXCEPTION is set. You can now attach a debugger to the application (PID 1) for inspection."
    r = b.run([], ["sh", "-c", f"echo '{line}' >&2"])
    assert r.status == 0 and r.reports == [] and not (b.dir / "gdb.log").exists()


@test
def an_assert_that_nobody_trapped_is_still_reported(b: Bench) -> None:
    line = "/pytorch/Loss.cu:245: nll: block: [0,0,0], thread: [2,0,0] Assertion `t >= 0` failed."
    r = b.run([], ["sh", "-c", f"echo '{line}' >&2; exit 1"])
    i = r.incident()
    assert r.status == 99 and i["assert"]["line"] == 245 and "gpu" not in i and i["ending"]["status"] == 1, i


@test
def a_fault_is_heard_when_stderr_goes_elsewhere(b: Bench) -> None:
    log = b.dir / "stderr.log"
    r = b.run([], ["sh", "-c", f"exec {APP} assert 2>{log}"])
    assert r.status == 99 and r.incident()["gpu"]["device"]["name"] == "NVIDIA H200", r.err
    assert b"WAITS_ON_EXCEPTION" in log.read_bytes() and b.leftovers() == []


@test
def a_fault_told_twice_is_one_fault(b: Bench) -> None:
    i = b.run(["--after-fault", "continue"], [APP, "assert"]).incident()
    assert not i.get("consequences"), i["consequences"]


# ---- engine core -----------------------------------------------------------------------------------------------


def dump(b: Bench, name: str = "torch-cross-entropy-sm90") -> Dict[str, str]:
    """The environment in which the stand-in for the driver writes a recorded dump."""
    path = b.dir / f"{name}.nvcore"
    path.write_bytes(lzma.decompress((SRC / f"tests/data/gpu-cores/{name}.nvcore.xz").read_bytes()))
    return {"FAKE_DUMP": str(path)}


@test
def core_reads_the_dump_and_explains_the_abort(b: Bench) -> None:
    r = b.run(["--engine", "core"], [APP, "assert", "1"], env=dump(b))
    i = r.incident()
    assert r.status == 99 and i["engine"] == "core" and i["kind"] == "assert", r.err
    assert i["gpu"]["kernel"]["grid_dim"] == [1, 1, 1] and i["gpu"]["groups"][0]["lanes"][0]["thread"] == [2, 0, 0], i["gpu"]
    assert i["ending"]["kind"] == "signaled" and i["ending"]["status"] == 6 and "driver aborts" in i["ending"]["detail"], i["ending"]
    assert not (b.dir / "gdb.log").exists() and b.leftovers() == []


@test
def core_reads_the_value_where_the_dump_holds_memory(b: Bench) -> None:
    env = dump(b)
    labels = b.dir / "labels"
    labels.write_bytes(struct.pack("<32q", *(3 if i == 2 else i % 3 for i in range(32))))
    # A made dump: the recorded one has no memory. The address is that of its kernel's argument 3.
    subprocess.run([sys.executable, str(SRC / "tests/tools/add_memory.py"), env["FAKE_DUMP"], env["FAKE_DUMP"], f"0x7f891fe00600={labels}"], check=True)
    r = b.run(["--engine", "core", "--dump=memory"], [APP, "assert", "1"], env=env)
    i = r.incident()
    assert i["gpu"]["memory"][0]["elements"] == [{"index": 2, "value": "3", "at": {"block": [0, 0, 0], "thread": [2, 0, 0]}}], i["gpu"]["memory"]
    # The stand-in prints an assert of its own, which is not the one that the table has for this kernel: a candidate then.
    assert ("target[2]", "3") in [(v["name"], v.get("text")) for v in i["values"]] and b"target[2] = 3" in r.err, (i["values"], r.err)


@test
def core_takes_the_stacks_that_python_prints_when_nobody_could_be_asked(b: Bench) -> None:
    printed = ("Fatal Python error: Aborted\\n\\nThread 0x00007f3c5d7fa640 (most recent call first):\\n  <no Python frame>\\n\\n"
               "Current thread 0x00007f3c9a2c1740 [python3] (most recent call first):\\n"
               "  File \"/home/u/a \", line 7 in b/train.py\", line 19 in step\\n  File \"/home/u/train.py\", line 30 in <module>\\n\\nExtension modules: x\\n")
    r = b.run(["--engine", "core"], ["sh", "-c", f"printf '{printed}' >&2; exec {APP} assert"], env=dump(b))
    i = r.incident()
    frames = [[(f["file"], f["line"], f["function"]) for f in t["frames"]] for t in i["threads"] if t["frames"][0]["kind"] == "python"]
    assert frames == [[('/home/u/a ", line 7 in b/train.py', 19, "step"), ("/home/u/train.py", 30, "<module>")]], (i["threads"], r.err)
    assert any(c["name"] == "faulthandler" for c in i["collectors"]), i["collectors"]


@test
def core_has_python_print_its_stacks_where_there_is_no_agent(b: Bench) -> None:
    show = [sys.executable, "-c", "import os; print(os.environ.get('PYTHONFAULTHANDLER'))"]
    assert b.run(["--engine", "core"], show).out == b"None\n"
    assert b.run(["--engine", "core"], show, env={"CUDATRAP_AGENT": "/nonexistent.so"}).out == b"1\n"
    assert b.run(["--engine", "core"], show, env={"CUDATRAP_AGENT": "/nonexistent.so", "PYTHONFAULTHANDLER": ""}).out == b"\n", "the user's word counts"


@test
def core_holds_the_driver_while_the_python_stack_is_read(b: Bench) -> None:
    script = b.dir / "train.py"
    script.write_text("import ctypes, sys\n"
                      "hasattr(ctypes.CDLL(None), 'cuInit')\n"
                      "def step():\n"
                      "    return ctypes.CDLL(sys.argv[1]).fake_launch(1)\n"
                      "step()\n")
    r = b.run(["--engine", "core"], [sys.executable, str(script), FAKECUDA], env=dump(b))
    i = r.incident()
    frames = [(f.get("function"), f.get("line")) for t in i["threads"] for f in t["frames"] if f["kind"] == "python"]
    assert r.status == 99 and frames == [("step", 4), ("<module>", 5)], (frames, i["collectors"])
    assert collector(i, "gpu")["status"] == "ok" and b.leftovers() == [], i["collectors"]


@test
def core_keeps_the_dump_when_asked(b: Bench) -> None:
    env = dump(b, "assert.rel")
    r = b.run(["--engine", "core", "--keep-dump"], [APP, "assert"], env=env)
    kept = r.reports[0] / "gpu.nvcore"
    assert kept.read_bytes() == Path(env["FAKE_DUMP"]).read_bytes() and stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert r.incident()["gpu"]["groups"][0]["threads"] == 2


@test
def core_says_when_a_dump_was_cut(b: Bench) -> None:
    r = b.run(["--engine", "core"], [APP, "assert", "1"], env=dump(b, "truncated"))
    i = r.incident()
    assert r.status == 99 and collector(i, "gpu")["status"] == "failed" and "gave up" in collector(i, "gpu")["detail"], i["collectors"]
    assert i["assert"]["line"] == 42, "the log still tells"


@test
def core_limits_the_dump(b: Bench) -> None:
    script = "import ctypes, sys; hasattr(ctypes.CDLL(None), 'cuInit'); ctypes.CDLL(sys.argv[1]).fake_launch(1)"
    r = b.run(["--engine", "core", "--dump-limit", "1"], [sys.executable, "-c", script, FAKECUDA], env=dump(b))
    assert r.status == 99 and "--dump-limit" in collector(r.incident(), "gpu")["detail"] and b.leftovers() == [], r.err


@test
def core_sets_what_the_driver_needs(b: Bench) -> None:
    show = ["sh", "-c", "echo $CUDA_COREDUMP_GENERATION_FLAGS ${CUDA_DEVICE_WAITS_ON_EXCEPTION-unset} $CUDA_ENABLE_COREDUMP_ON_EXCEPTION"]
    light = b.run(["--engine", "core"], show, env={"CUDA_DEVICE_WAITS_ON_EXCEPTION": "1"}).out.decode()
    assert light.endswith(" unset 1\n") and light.count("skip_") == 6 and "skip_abort" not in light, light
    assert "skip_global" not in b.run(["--engine", "core", "--dump=memory"], show).out.decode()
    r = b.run(["--engine", "core", "--after-fault=continue"], show)
    assert r.status == 125 and len(r.err.splitlines()) == 1 and b"--after-fault" in r.err, r.err


@test
def several_processes_that_dump_are_told_apart(b: Bench) -> None:
    script = ("import ctypes, os, sys; hasattr(ctypes.CDLL(None), 'cuInit');"
              "child = os.fork(); hasattr(ctypes.CDLL(None), 'cuInit'); ctypes.CDLL(sys.argv[1]).fake_launch(1)")
    r = b.run(["--engine", "core"], [sys.executable, "-c", script, FAKECUDA], env=dump(b))
    i = r.incident()
    assert r.status == 99 and len(i.get("consequences", [])) == 1 and "dump" in i["consequences"][0]["text"], i.get("consequences")
    assert b.leftovers() == []


@test
def a_stored_dump_is_a_report_too(b: Bench) -> None:
    path = SRC / "tests/data/gpu-cores/many.rel.nvcore.xz"
    done = subprocess.run([CUDATRAP, "report", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and b"270336 threads" in done.stdout.replace(b",", b"") and b"t >= 0 && t < n_classes" in done.stdout, done
    cut = subprocess.run([CUDATRAP, "report", str(SRC / "tests/data/gpu-cores/truncated.nvcore.xz")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env,
                         timeout=PATIENCE, check=False)
    assert cut.returncode == 1 and len(cut.stderr.splitlines()) == 1 and b"skip_constbank_memory" in cut.stderr, cut
    raw = subprocess.run([CUDATRAP, "report", "--raw", "-"], input=(SRC / "tests/data/gpu-cores/trap.rel.nvcore.xz").read_bytes(), stdout=subprocess.PIPE,
                         env=b.env, timeout=PATIENCE, check=False)
    assert raw.returncode == 0 and b'name "NVIDIA H200"' in raw.stdout


@test
def attach_reads_a_process_and_leaves_it_as_it_was(b: Bench) -> None:
    for waits in ("1", "0"):
        fresh = Bench()
        target = subprocess.Popen([APP, "assert"], env={**fresh.env, "CUDA_DEVICE_WAITS_ON_EXCEPTION": waits} if waits == "1" else fresh.env,
                                  stderr=subprocess.PIPE) if waits == "1" else subprocess.Popen(["sleep", "1000"], env=fresh.env)
        if target.stderr:
            target.stderr.readline()
        done = subprocess.run([CUDATRAP, "attach", "--cuda-gdb", str(fresh.gdb), "-o", str(fresh.dir / "reports"), str(target.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=fresh.env, timeout=PATIENCE, check=False)
        i = json.loads((fresh.reports()[0] / "incident.json").read_text())
        if waits == "1":
            assert target.poll() is None, "it still waits"
        target.kill()
        target.wait()
        if target.stderr:
            target.stderr.close()
        assert done.returncode == 0 and b"NVIDIA H200" in done.stderr and i["ending"]["kind"] == "running", (waits, done)
        assert i["process"]["pid"] == target.pid and [x for x in fresh.leftovers() if x.startswith("cudatrap-")] == []


@test
def attach_needs_a_process(b: Bench) -> None:
    for words in (["attach"], ["attach", "x"], ["attach", "0"], ["attach", "4194303"], ["attach", "1", "2"]):
        done = subprocess.run([CUDATRAP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=False)
        assert done.returncode == 125 and len(done.stderr.splitlines()) == 1 and done.stderr.startswith(b"cudatrap: attach: "), (words, done)


# ---- bad days ----------------------------------------------------------------------------------------------------


@test
def without_cuda_gdb_the_other_collectors_report(b: Bench) -> None:
    r = b.run(["--engine", "wait"], [APP, "assert"], gdb=False, env={"PATH": "/usr/bin:/bin", "CUDA_HOME": str(b.dir), "CUDATRAP_CUDA_GDB": "", "CUDA_PATH": str(b.dir)})
    i = r.incident()
    assert r.status == 99 and collector(i, "native-stacks")["status"] == "ok"
    assert collector(i, "gpu")["status"] in ("failed", "skipped") and "cuda-gdb" in collector(i, "gpu")["detail"], i["collectors"]
    assert b.leftovers() == []


@test
def without_cuda_gdb_the_driver_dumps(b: Bench) -> None:
    env = {"PATH": "/usr/bin:/bin", "CUDA_HOME": str(b.dir), "CUDATRAP_CUDA_GDB": "", "CUDA_PATH": str(b.dir), **dump(b, "assert.rel")}
    i = b.run([], [APP, "assert"], gdb=False, env=env).incident()
    assert i["engine"] == "core" and "no cuda-gdb" in i["engine_why"] and i["gpu"]["groups"][0]["threads"] == 2, i["engine_why"]


@test
def a_cuda_gdb_that_fails_costs_the_gpu_part_only(b: Bench) -> None:
    for how, word in (("crash", "crash"), ("refused", "ptrace"), ("garbage", "")):
        fresh = Bench()
        r = fresh.run([], [APP, "assert"], env={"FAKE_GDB": how})
        i = r.incident()
        row = collector(i, "gpu")
        assert r.status == 99 and row["status"] == "failed" and word in row["detail"], (how, row)
        assert i["threads"] and fresh.leftovers() == [], (how, fresh.leftovers())


@test
def a_cuda_gdb_that_hangs_is_ended_at_the_deadline(b: Bench) -> None:
    r = b.run(["--deadline", "3"], [APP, "assert"], env={"FAKE_GDB": "hang"})
    i = r.incident()
    assert r.status == 99 and collector(i, "gpu")["status"] == "timed-out", i["collectors"]
    assert i["threads"] and b.leftovers() == []


@test
def an_explicit_cuda_gdb_must_work(b: Bench) -> None:
    r = b.run(["--cuda-gdb", "/no/such/gdb"], [APP, "ok"], gdb=False)
    assert r.status == 125 and r.out == b"" and len(r.err.splitlines()) == 1 and b"/no/such/gdb" in r.err, r.err


@test
def commands_that_cannot_run(b: Bench) -> None:
    plain = b.dir / "plain"
    plain.write_text("data")
    for argv, status, word in ((["/no/such/command"], 127, b"/no/such/command"), (["no-such-command"], 127, b"no-such-command"), ([str(plain)], 126, b"plain")):
        r = b.run([], argv)
        assert r.status == status and word in r.err and len(r.err.splitlines()) == 1, (argv, r.status, r.err)


@test
def wrong_use_is_one_line_and_125(b: Bench) -> None:
    for words in ([], ["--no-such-option", "true"], ["--timeout", "soon", "true"], ["--error-exitcode", "256", "true"], ["--engine", "warp", "true"],
                  ["report"], ["report", "--format", "pdf", "x"], ["doctor", "x"]):
        done = subprocess.run([CUDATRAP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=False)
        assert done.returncode == 125 and done.stdout == b"" and len(done.stderr.splitlines()) == 1 and done.stderr.startswith(b"cudatrap: "), (words, done)


@test
def options_come_from_file_and_environment_too(b: Bench) -> None:
    (b.dir / "config" / "cudatrap").mkdir(parents=True)
    (b.dir / "config" / "cudatrap" / "config").write_text("# mine\nerror-exitcode 41\nquiet\n")
    assert b.run([], [APP, "assert"]).status == 41
    assert Bench().run([], [APP, "assert"], env={"CUDATRAP_OPTIONS": "--error-exitcode=42 --async", "XDG_CONFIG_HOME": str(b.dir / "config")}).status == 42
    (b.dir / "config" / "cudatrap" / "config").write_text("\nfrobnicate\n")
    r = b.run([], [APP, "ok"])
    assert r.status == 125 and b"config:2: " in r.err and b"frobnicate" in r.err, r.err


@test
def a_report_folder_that_cannot_be_written(b: Bench) -> None:
    blocked = b.dir / "blocked"
    blocked.write_text("a file")
    done = subprocess.run([CUDATRAP, "--cuda-gdb", str(b.gdb), "-q", "-o", str(blocked), "--", APP, "assert"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=b.env, timeout=PATIENCE, check=False)
    assert done.returncode == 99 and b"nll_loss_forward" in done.stderr and b"was not written" in done.stderr, done.stderr


@test
def a_report_file_that_is_none(b: Bench) -> None:
    bad = b.dir / "bad.json"
    bad.write_text('{"version": 1, "kind": 7}')
    done = subprocess.run([CUDATRAP, "report", str(bad), "/no/such"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=False)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 1 and len(lines) == 2 and "kind" in lines[0] and "/no/such" in lines[1], lines


@test
def an_agent_that_is_not_there(b: Bench) -> None:
    r = b.run(["--engine", "wait"], [APP, "assert"], env={"CUDATRAP_AGENT": "/no/such/agent.so"})
    assert r.status == 99 and collector(r.incident(), "native-stacks")["status"] == "ok"
    assert "cannot be preloaded" not in r.text()


@test
def a_timeout_ends_a_command_without_a_report(b: Bench) -> None:
    r = b.run(["--timeout", "0.3"], [APP, "ignore-term"])
    assert r.status == 124 and r.reports == [] and b.leftovers() == [], (r.status, r.err)


@test
def killing_cudatrap_leaves_nothing_behind(b: Bench) -> None:
    p = subprocess.Popen(b.command(["--deadline", "100"], [APP, "assert"]), stderr=subprocess.PIPE, env={**b.env, "FAKE_GDB": "hang"}, cwd=b.dir)
    wait_for(lambda: (b.dir / "gdb.log").exists())
    p.kill()
    p.wait(PATIENCE)
    assert p.stderr is not None
    p.stderr.close()
    wait_for(lambda: [x for x in b.leftovers() if not x.startswith("cudatrap-")] == [])


@test
def a_flood_of_assert_lines_is_counted(b: Bench) -> None:
    r = b.run(["--after-fault", "continue"], [APP, "assert", "100000"])
    i = r.incident()
    assert i["assert"]["lines"] == 100000, i["assert"]["lines"]
    assert len(i["assert"]["block_runs"]) == 1 and i["assert"]["block_runs"][0]["count"] == 3125, i["assert"]["block_runs"]
    assert r.err.count(b"Assertion `") >= 100000, "the lines themselves passed through"
    assert (r.reports[0] / "log.txt").stat().st_size < 400000


@test
def on_a_terminal_the_report_is_coloured_and_fits(b: Bench) -> None:
    for no_color in ("", "1"):
        fresh = Bench()
        master, slave = pty.openpty()
        env = {**fresh.env, "TERM": "xterm", **({"NO_COLOR": no_color} if no_color else {})}
        import fcntl, struct, termios
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        p = subprocess.Popen(fresh.command([], [APP, "assert"]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, env=env, cwd=fresh.dir)
        os.close(slave)
        seen = b""
        while True:
            ready, _, _ = select.select([master], [], [], PATIENCE)
            assert ready, "no output"
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        p.wait(PATIENCE)
        os.close(master)
        assert (b"\x1b[" in seen) == (not no_color), seen
        report = re.sub(rb"\x1b\[[0-9;]*m", b"", seen).decode().replace("\r\n", "\n").split("cudatrap: ", 1)[1]
        assert all(len(line) <= 60 for line in report.splitlines()[:6]), report


if __name__ == "__main__":
    sys.exit(tests.run())
