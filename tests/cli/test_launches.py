#!/usr/bin/env python3
"""The record of launches in whole runs: where it is kept, what becomes of it, what is made of it. No GPU is needed: the program leaves the record
itself, or the agent writes it for a driver that does nothing.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import fcntl
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional

from frontend import BUILD, CUDATRAP, FAKECUDA, PATIENCE, SRC, Bench, Result, Tests, collector

tests = Tests()
test = tests.add
APP = str(BUILD / "tests/cli/recordapp")


def folder_of(out: bytes) -> Path:
    return Path(out.decode().split()[1])


@test
def launches_are_recorded_with_async_or_when_asked(b: Bench) -> None:
    assert b.run([], [APP, "status"]).out == b"not recorded\n"
    assert b.run(["--async", "--no-record"], [APP, "status"]).out == b"not recorded\n"
    assert b.run(["--async", "--sync"], [APP, "status"]).out == b"not recorded\n"
    for options in (["--async"], ["--record"], ["--no-record", "--record"]):
        out = b.run(options, [APP, "status"]).out
        assert out.startswith(b"65536 /"), out
        assert not folder_of(out).exists(), "the folder outlives the run"
    assert b.leftovers() == []


@test
def what_a_killed_run_left_is_removed_by_the_next(b: Bench) -> None:
    held, left = Path(tempfile.mkdtemp(prefix="cudatrap-record-", dir="/dev/shm")), Path(tempfile.mkdtemp(prefix="cudatrap-record-", dir="/dev/shm"))
    (left / "launches.1").write_bytes(b"x")
    (held / "launches.1").write_bytes(b"x")
    fd = os.open(held, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        assert b.run(["--record"], [APP, "status"]).status == 0
        assert (held / "launches.1").exists(), "a folder that somebody holds is in use"
        assert not left.exists(), "a folder that nobody holds takes memory for nothing"
    finally:
        os.close(fd)
        shutil.rmtree(held)


@test
def a_record_of_an_outer_run_is_not_written_to(b: Bench) -> None:
    assert b.run([], [APP, "status"], env={"CUDATRAP_RECORD": "65536", "CUDATRAP_RECORD_DIR": str(b.dir)}).out == b"not recorded\n"


@test
def the_depth_is_a_power_of_two(b: Bench) -> None:
    for asked, depth in (("4096", b"4096"), ("5000", b"8192"), ("1048576", b"1048576")):
        out = b.run(["--record", "--record-depth", asked], [APP, "status"]).out
        assert out.split()[0] == depth, (asked, out)


@test
def bad_values_are_one_line(b: Bench) -> None:
    for option, value in (("--record-depth", "4095"), ("--record-depth", "1048577"), ("--record-depth", "many"), ("--record-depth", "-5"), ("--record-depth", ""),
                          ("--history", "1025"), ("--history", "-1"), ("--history", " 3"), ("--history", "3x"), ("--history", "99999999999999999999")):
        done = subprocess.run([CUDATRAP, option, value, "true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=False)
        assert done.returncode == 125 and len(done.stderr.splitlines()) == 1 and done.stderr.startswith(f"cudatrap: {option}: '{value}' is not".encode()), done


@test
def without_an_agent_it_is_said_and_the_run_goes_on(b: Bench) -> None:
    r = b.run(["--record"], [APP, "status"], env={"CUDATRAP_AGENT": str(b.dir / "none.so")})
    assert (r.status, r.out) == (0, b"not recorded\n") and r.text().startswith("cudatrap: launches are not recorded: no agent ("), r.err


@test
def the_launch_of_the_failing_kernel_is_found(b: Bench) -> None:
    r = b.run(["--async"], [APP, "unique", FAKECUDA])
    i = r.incident()
    launch = i["launch"]
    assert r.status == 99 and launch["certainty"] == "unique" and collector(i, "launches")["status"] == "ok", (launch, i["collectors"])
    assert [(f["function"], f["line"]) for f in launch["candidates"][0]["python"]] == [("train_step", 14)], launch
    assert launch["candidates"][0]["arguments_equal"] and launch["candidates"][0]["seconds_before"] >= 0, launch
    assert len(launch["history"]) == 1, "what came after the failing launch is not its history"
    assert "\nLaunched from\n" in r.text() and "train.py:14" in r.text(), r.text()
    assert "CUDA_LAUNCH_BLOCKING=1 was not in force" not in r.text(), r.text()
    assert b.leftovers() == []


@test
def launches_that_cannot_be_told_apart_are_all_shown(b: Bench) -> None:
    r = b.run(["--async"], [APP, "several", FAKECUDA])
    launch = r.incident()["launch"]
    assert launch["certainty"] == "several" and [c["python"][0]["line"] for c in launch["candidates"]] == [40, 14], launch
    assert "Launched from one of 2 places" in r.text(), r.text()
    assert "CUDA_LAUNCH_BLOCKING=1 was not in force" in " ".join(r.text().split()), r.text()


SYMBOL_OF_DUMP = "_ZN2at6native39_GLOBAL__N__5cd812b1_7_Loss_cu_5b0651e138nll_loss_forward_reduce_cuda_kernel_2dIfflEEvPT_S4_PKS3_PKT1_S6_bllll"
# As it holds them, but for the seven bytes behind the bool, which are nobody's.
ARGUMENTS_OF_DUMP = ("000ce01f897f0000" "0010f01f897f0000" "000ae01f897f0000" "0006e01f897f0000" "0000000000000000" "01ffffffffffffff"
                     "2000000000000000" "0300000000000000" "0300000000000000" "9cffffffffffffff")


@test
def the_kernel_of_a_dump_is_found_by_its_arguments(b: Bench) -> None:
    dump = b.dir / "ce.nvcore"
    dump.write_bytes(lzma.decompress((SRC / "tests/data/gpu-cores/torch-cross-entropy-sm90.nvcore.xz").read_bytes()))
    env = {"FAKE_DUMP": str(dump), "RECORD_SYMBOL": SYMBOL_OF_DUMP, "RECORD_ARGUMENTS": ARGUMENTS_OF_DUMP}
    r = b.run(["--engine", "core", "--async"], [APP, "unique", FAKECUDA], env=env)
    launch = r.incident()["launch"]
    assert launch["certainty"] == "unique" and launch["candidates"][0]["arguments_equal"] and launch["candidates"][0]["python"][0]["line"] == 14, launch
    other = Bench()
    launch = other.run(["--engine", "core", "--async"], [APP, "unique", FAKECUDA], env={**env, "RECORD_ARGUMENTS": "01" + ARGUMENTS_OF_DUMP[2:]}).incident()["launch"]
    assert launch["certainty"] == "none" and "other argument bytes" in launch["why"] and len(launch["history"]) == 3, launch


@test
def the_record_is_kept_on_demand(b: Bench) -> None:
    assert not (b.run(["--async"], [APP, "unique", FAKECUDA]).reports[0] / "launches.record").exists()
    other = Bench()
    r = other.run(["--async", "--keep-record", "--history", "0"], [APP, "unique", FAKECUDA])
    assert (r.reports[0] / "launches.record").read_bytes()[:8] == b"CTLAUNCH" and "history" not in r.incident()["launch"]


@test
def a_damaged_record_costs_its_own_part(b: Bench) -> None:
    i = b.run(["--async"], [APP, "garbage", FAKECUDA]).incident()
    assert collector(i, "launches")["status"] == "failed" and "launch" not in i and i["gpu"]["device"]["name"] == "NVIDIA H200", i["collectors"]


@test
def a_process_without_a_record_is_told(b: Bench) -> None:
    i = b.run(["--async"], [sys.executable, "-c", f"import ctypes; ctypes.CDLL({FAKECUDA!r}).fake_launch(1)"]).incident()
    assert collector(i, "launches")["status"] == "skipped" and "launched nothing" in collector(i, "launches")["detail"], i["collectors"]


@test
def a_failing_launch_that_is_ignored_is_reported(b: Bench) -> None:
    r = b.run(["--record"], [APP, "launch"])
    i = r.incident()
    call = i["launch"]["failed_call"]
    assert r.status == 0 and i["kind"] == "api-error" and i["ending"]["kind"] == "exited", (r.status, i)
    assert (call["call"], call["error_name"], call["why"]) == ("cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE", "a block of 2048 threads, where 1024 are allowed"), call
    assert call["ignored"] and call["went_on"] and call["at"]["python"][0]["line"] == 21, call
    assert "went on and ended with status 0" in r.text() and "in nothing" in r.text().splitlines()[0], r.text()
    assert i["process"]["pid"] > 0 and i["monotonic_us"] > 0


@test
def a_failing_launch_leaves_the_status_to_the_command(b: Bench) -> None:
    r = b.run(["--record"], [APP, "launch-fails"])
    call = r.incident()["launch"]["failed_call"]
    assert r.status == 3 and not call.get("ignored") and call["went_on"], (r.status, call)


@test
def a_failing_allocation_counts_when_the_command_failed(b: Bench) -> None:
    assert b.run(["--record"], [APP, "memory"]).reports == [], "an allocator may ask again"
    r = b.run(["--record"], [APP, "memory-fails"])
    call = r.incident()["launch"]["failed_call"]
    assert r.status == 3 and "(200.00 GiB) were asked for" in call["why"] and call["at"]["python"][0]["function"] == "grow", call


@test
def nothing_is_made_of_a_damaged_record_at_the_end(b: Bench) -> None:
    r = b.run(["--record"], [APP, "garbage"])
    assert (r.status, r.reports, r.err) == (0, [], b""), r.err


# ---- With the agent's own record ------------------------------------------------------------------------------------

SCRIPT = """import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
out = ctypes.c_void_p()
def entry(name):
    assert cuda.cuGetProcAddress_v2(name, ctypes.byref(out), 12000, ctypes.c_uint64(0), None) == 0
    return ctypes.CFUNCTYPE(ctypes.c_int)(out.value)
kernel, allocate = entry(b"cuLaunchKernel"), entry(b"cuMemAlloc")
def launch(*arguments, block=32):
    cells = [ctypes.c_int(arguments[0]), ctypes.c_long(arguments[1])]
    table = (ctypes.c_void_p * 2)(*[ctypes.addressof(c) for c in cells])
    numbers = [ctypes.c_uint(n) for n in (4, 5, 6, block, 1, 1, 0)]
    return kernel(ctypes.c_void_p(1), *numbers, ctypes.c_void_p(7), table, None)
def good():
    launch(1, 2)
def bad():
    launch(0x11223344, 3)
"""


def run_script(b: Bench, options: List[str], body: str, env: Optional[Dict[str, str]] = None) -> Result:
    script = b.dir / "train.py"
    script.write_text(SCRIPT + body)
    (b.dir / "lib").mkdir(exist_ok=True)
    if not (b.dir / "lib/libcuda.so.1").exists():
        (b.dir / "lib/libcuda.so.1").symlink_to(BUILD / "tests/cli/agent-libcuda.so")
    return b.run(options, [sys.executable, str(script), FAKECUDA], env={"LD_LIBRARY_PATH": str(b.dir / "lib"), **(env or {})})


def line_of(text: str) -> int:
    return [i for i, line in enumerate(SCRIPT.splitlines(), 1) if line.strip() == text][0]


@test
def what_the_agent_recorded_names_the_launching_line(b: Bench) -> None:
    part = json.loads(b.gpu_json.read_text())
    part["gpu"]["kernel"] = {"name": "first_kernel(int, long)", "symbol": "_Z12first_kernelil", "grid_dim": [4, 5, 6], "block_dim": [32, 1, 1]}
    part["gpu"]["arguments"] = [{"index": 0, "offset": 0, "size": 4, "kind": "integer", "bytes": "44332211"},
                                {"index": 1, "offset": 8, "size": 8, "kind": "integer", "bytes": "0300000000000000"}]
    (b.dir / "part.json").write_text(json.dumps(part))
    # The stand-in for the driver waits in a library of its own, out of which nobody is let.
    r = run_script(b, ["--async", "--keep-record", "--after-fault=end"], "for i in range(20):\n    good()\nbad()\nfor i in range(20):\n    good()\nctypes.CDLL(sys.argv[1]).fake_launch(1)\n",
                   {"FAKE_GDB_JSON": str(b.dir / "part.json")})
    i = r.incident()
    launch = i["launch"]
    assert r.status == 99 and launch["certainty"] == "unique" and launch["recorded"] == 41, (r.status, launch, i["collectors"])
    frames = [(f["function"].split(".")[-1], f["line"]) for f in launch["candidates"][0]["python"]]
    assert frames[:2] == [("launch", line_of("return kernel(ctypes.c_void_p(1), *numbers, ctypes.c_void_p(7), table, None)")),
                          ("bad", line_of("launch(0x11223344, 3)"))], frames
    assert launch["candidates"][0]["python"][1]["source"] == "launch(0x11223344, 3)" and launch["candidates"][0]["stream"] == "0x7", launch
    assert [h["count"] for h in launch["history"]] == [1, 20], launch["history"]
    assert (r.reports[0] / "launches.record").exists()


@test
def a_launch_that_the_driver_refuses_is_reported(b: Bench) -> None:
    r = run_script(b, ["--async"], "launch(1, 2, block=2048)\ngood()\n")
    i = r.incident()
    call = i["launch"]["failed_call"]
    assert r.status == 0 and i["kind"] == "api-error" and call["call"].startswith("cuLaunchKernel") and call["ignored"] and call["went_on"], (r.status, call)
    assert "2048 threads" in call["why"] and "1000" in call["why"] and call["at"]["name"] == "first_kernel(int, long)", call
    assert call["at"]["python"][1]["function"] == "<module>" and call["at"]["python"][1]["source"] == "launch(1, 2, block=2048)", call


@test
def memory_that_is_not_there_is_reported_when_the_command_fails(b: Bench) -> None:
    r = run_script(b, ["--async"], "def grow():\n    at = ctypes.c_uint64()\n    if allocate(ctypes.byref(at), ctypes.c_size_t(5000000)):\n        sys.exit(3)\ngrow()\n")
    call = r.incident()["launch"]["failed_call"]
    assert r.status == 3 and call["error_name"] == "CUDA_ERROR_OUT_OF_MEMORY" and "5000000 bytes" in call["why"] and "1000000" in call["why"], call
    assert call["at"]["python"][0]["function"].endswith("grow"), call


@test
def nothing_that_fails_leaves_nothing(b: Bench) -> None:
    r = run_script(b, ["--async"], "good()\n")
    assert (r.status, r.out, r.err, r.reports) == (0, b"", b"", []), (r.status, r.err)
    assert b.leftovers() == []


@test
def anomaly_detection_is_asked_for_by_the_environment(b: Bench) -> None:
    show = ["sh", "-c", "echo ${CUDATRAP_ANOMALY-unset}"]
    assert b.run(["--anomaly"], show).out == b"1\n"
    assert b.run([], show, env={"CUDATRAP_ANOMALY": "1"}).out == b"unset\n"


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(tests.run())
