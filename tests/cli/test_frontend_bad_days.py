#!/usr/bin/env python3
"""The front-end on bad days: nothing to write on, nobody to read, no rights, no time. No GPU is needed.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable, List

from frontend import APP, CUDATRAP, FAKECUDA, PATIENCE, Bench, Result, Tests, collector, wait_for

tests = Tests()
test = tests.add
KERNEL = "nll_loss_forward_reduce_cuda_kernel_2d"




def run_prepared(b: Bench, prepare: Callable[[], None], argv: List[str], options: List[str] = []) -> Result:
    """A run whose process was changed between fork and exec."""
    done = subprocess.run(b.command(options, argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=b.env, timeout=PATIENCE,
                          cwd=b.dir, check=False, preexec_fn=prepare)
    return Result(done.returncode, done.stdout, done.stderr, b.reports())


def close_all(*fds: int) -> Callable[[], None]:
    def prepare() -> None:
        for fd in fds:
            os.close(fd)
    return prepare


def real_gdb() -> str:
    """A cuda-gdb with gdb.cuda, or ""."""
    found = shutil.which("cuda-gdb") or ""
    asked = subprocess.run([found, "-nx", "-batch", "-ex", "python print(hasattr(gdb, 'cuda'))"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           timeout=PATIENCE, check=False).stdout if found else b""
    return found if b"True" in asked else ""


# ---- standard streams -----------------------------------------------------------------------------------------------


@test
def closed_standard_streams_cost_nothing(b: Bench) -> None:
    for fds in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        fresh = Bench()
        r = run_prepared(fresh, close_all(*fds), [APP, "assert"])
        i = r.incident()
        assert r.status == 99 and i["gpu"]["device"]["name"] == "NVIDIA H200", (fds, r.status, i.get("collectors"))
        assert fresh.leftovers() == []


@test
def a_closed_stdin_is_closed_for_the_command_too(b: Bench) -> None:
    r = run_prepared(b, close_all(0), ["sh", "-c", "[ -e /proc/$$/fd/0 ] && echo open || echo closed"])
    assert r.out == b"closed\n", r.out


@test
def a_closed_stdout_is_an_error_of_help_and_doctor(b: Bench) -> None:
    for words in (["--help"], ["--version"], ["doctor"], ["report", "--help"]):
        done = subprocess.run([CUDATRAP, *words], stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=False, preexec_fn=close_all(1))
        assert done.returncode == 125, (words, done)


CUDA_SCRIPT = """import ctypes, sys
fake = ctypes.CDLL(sys.argv[1])
hasattr(ctypes.CDLL(None), 'cuInit')
import time
time.sleep(1)
def step():
    return fake.fake_launch(40)
sys.exit(step() and 9)
"""


@test
def stderr_sent_to_a_file_is_read_there(b: Bench) -> None:
    script = b.dir / "train.py"
    script.write_text(CUDA_SCRIPT)
    r = b.run(["--after-fault", "continue"], ["sh", "-c", f'{sys.executable} {script} {FAKECUDA} >log 2>&1; exit $?'])
    i = r.incident()
    assert r.status == 99 and i["gpu"]["device"]["name"] == "NVIDIA H200" and i["assert"]["lines"] == 40, (r.status, i)
    assert b"now attach" not in r.err and (b.dir / "log").read_bytes().count(b"Assertion `") == 40


@test
def stderr_that_nobody_sees_is_no_way_out(b: Bench) -> None:
    script = b.dir / "train.py"
    script.write_text(CUDA_SCRIPT)
    for where in ("2>/dev/null", "2>&-"):
        fresh = Bench()
        r = fresh.run([], ["sh", "-c", f"exec {sys.executable} {script} {FAKECUDA} {where}"])
        assert r.status == 99 and len(r.reports) == 1, (where, r.status, r.err)


# ---- temporary files, report folder, environment -----------------------------------------------------------------------


@test
def a_tmpdir_that_cannot_be_used_is_not_needed(b: Bench) -> None:
    blocked = b.dir / "file"
    blocked.write_text("")
    for tmpdir in ("/no/such/folder", str(blocked), "relative", "/proc"):
        fresh = Bench()
        r = fresh.run([], [APP, "assert"], env={"TMPDIR": tmpdir})
        assert r.status == 99 and KERNEL in r.text(), (tmpdir, r.err)


@test
def a_tmpdir_with_blanks_works(b: Bench) -> None:
    odd = b.dir / "a b:c"
    odd.mkdir()
    i = b.run([], [APP, "assert"], env={"TMPDIR": str(odd)}).incident()
    assert i["gpu"]["device"]["name"] == "NVIDIA H200" and list(odd.iterdir()) == []


@test
def a_file_limit_costs_what_does_not_fit(b: Bench) -> None:
    r = run_prepared(b, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)), [APP, "assert"])
    assert r.status == 99 and b"GPU fault" in r.err and b"was not written" in r.err, (r.status, r.err)
    assert r.reports == [] and b.leftovers() == []


@test
def stderr_in_a_file_that_is_full_costs_lines_not_the_run(b: Bench) -> None:
    log = b.dir / "stderr"
    with log.open("wb") as err:
        done = subprocess.run(b.command([], [APP, "big-line", "100000"]), stdout=subprocess.PIPE, stderr=err, env=b.env, timeout=PATIENCE, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    assert done.returncode == 0 and log.stat().st_size == 8192, (done, log.stat().st_size)


@test
def a_home_that_is_no_folder_has_no_configuration(b: Bench) -> None:
    assert b.run([], [APP, "ok"], env={"HOME": "/dev/null", "XDG_CONFIG_HOME": ""}).status == 0
    assert b.run([], [APP, "ok"], env={"XDG_CONFIG_HOME": "/dev/null"}).status == 0


@test
def a_working_directory_that_is_gone(b: Bench) -> None:
    gone = b.dir / "gone"
    gone.mkdir()
    done = subprocess.run(["sh", "-c", f'cd "{gone}" && rmdir "{gone}" && exec "$@"', "sh", CUDATRAP, "--cuda-gdb", str(b.gdb), "-o", "reports", "--", APP, "assert"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=False)
    assert done.returncode == 99 and KERNEL.encode() in done.stderr and b"was not written" in done.stderr, done


@test
def an_empty_environment(b: Bench) -> None:
    done = subprocess.run(b.command(["--engine", "wait"], [APP, "assert"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"FAKE_GDB_JSON": str(b.gpu_json)},
                          timeout=PATIENCE, cwd=b.dir, check=False)
    assert done.returncode == 99 and KERNEL.encode() in done.stderr, done


@test
def a_command_line_of_200_kilobytes(b: Bench) -> None:
    words = ["x" * 100000, "y" * 100000]
    assert b.run([], ["sh", "-c", 'echo ${#1} ${#2}', "sh", *words]).out == b"100000 100000\n"
    assert b.run([], [APP, "assert", "1", *words]).status == 99


# ---- the agent -------------------------------------------------------------------------------------------------------------


@test
def an_agent_that_cannot_be_loaded_is_left_out_in_silence(b: Bench) -> None:
    bad = b.dir / "bad.so"
    bad.write_bytes(b"\x7fELF not really")
    r = b.run([], ["sh", "-c", "echo [$LD_PRELOAD]"], env={"CUDATRAP_AGENT": str(bad)})
    assert (r.status, r.out, r.err) == (0, b"[]\n", b""), (r.out, r.err)
    assert b"no agent: " in b.run(["-v"], [APP, "ok"], env={"CUDATRAP_AGENT": str(bad)}).err


@test
def an_agent_with_an_odd_or_relative_path_is_preloaded(b: Bench) -> None:
    odd = b.dir / "an agent"
    odd.mkdir()
    agent = odd / "agent:1.so"
    shutil.copy(os.environ["CUDATRAP_AGENT"], agent)
    for given in (str(agent), "an agent/agent:1.so"):
        r = b.run([], ["sh", "-c", "cd /; cat /proc/self/maps"], env={"CUDATRAP_AGENT": given})
        assert r.err == b"" and b"/agent:1.so" in r.out, (given, r.err)


@test
def what_the_user_preloads_comes_first(b: Bench) -> None:
    agent = os.environ["CUDATRAP_AGENT"]
    assert b.run([], ["sh", "-c", "echo $LD_PRELOAD"], env={"LD_PRELOAD": FAKECUDA}).out.decode() == f"{FAKECUDA} {os.path.realpath(agent)}\n"


@test
def a_run_inside_a_run_reports_once_also_without_an_agent(b: Bench) -> None:
    for agent in (os.environ["CUDATRAP_AGENT"], "/no/such.so"):
        fresh = Bench()
        inner = fresh.command(["--engine", "wait", "--error-exitcode", "55"], [APP, "assert"])
        r = fresh.run([], ["env", f"CUDATRAP_AGENT={agent}", *inner])
        assert r.status == 55 and len(r.reports) == 1, (agent, r.status, r.reports)


# ---- rights ------------------------------------------------------------------------------------------------------------------


def without_leak_checks(b: Bench) -> Bench:
    """The leak checker of sanitized builds needs the right to trace, too."""
    b.env["ASAN_OPTIONS"] += ":detect_leaks=0"
    return b


def refuse_tracing() -> None:
    """seccomp: ptrace and process_vm_readv fail with EPERM, as in a container without SYS_PTRACE. x86-64 and aarch64."""
    numbers = {"x86_64": (101, 310), "aarch64": (117, 270)}[os.uname().machine]
    rows = [(0x20, 0, 0, 0)]  # load the number of the call
    rows += [(0x15, len(numbers) - i, 0, n) for i, n in enumerate(numbers)]  # is it this one? then to the last row
    rows += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)]  # allow; EPERM
    import struct
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        os._exit(70)


@test
def without_the_right_to_trace_the_python_stack_is_there(b: Bench) -> None:
    script = b.dir / "train.py"
    script.write_text("import ctypes, sys\nfake = ctypes.CDLL(sys.argv[1])\nhasattr(ctypes.CDLL(None), 'cuInit')\ndef step():\n    fake.fake_launch(1)\nstep()\n")
    b.env["FAKE_GDB"] = "refused"
    r = run_prepared(without_leak_checks(b), refuse_tracing, [sys.executable, str(script), FAKECUDA], ["--engine", "wait"])
    i = r.incident()
    assert r.status == 99 and collector(i, "native-stacks")["status"] == "failed" and "SYS_PTRACE" in collector(i, "native-stacks")["detail"], i["collectors"]
    frames = [f.get("function") for t in i["threads"] for f in t["frames"] if f["kind"] == "python"]
    assert frames[:2] == ["step", "<module>"], (frames, i["collectors"])
    assert " ".join(r.text().split()).count("does not let cuda-gdb attach") == 1, "said once: " + r.text()


@test
def an_ordinary_user(b: Bench) -> None:
    if os.getuid() != 0:
        return  # every other test is one
    for path in (b.dir, b.gdb):
        os.chown(path, 65534, 65534)

    def become_nobody() -> None:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        r = run_prepared(b, become_nobody, [APP, "assert"])
    except PermissionError:
        return  # the build tree is not for others to read
    assert r.status == 99 and r.incident()["gpu"]["device"]["name"] == "NVIDIA H200", r.err


# ---- time and signals ------------------------------------------------------------------------------------------------------------


def start_hanging(b: Bench, options: List[str]) -> "subprocess.Popen[bytes]":
    """A run whose cuda-gdb hangs; returns when it does."""
    p = subprocess.Popen(b.command(options, [APP, "assert"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**b.env, "FAKE_GDB": "hang"}, cwd=b.dir)
    wait_for(lambda: (b.dir / "gdb.log").exists())
    return p


def finish(b: Bench, p: "subprocess.Popen[bytes]") -> Result:
    out, err = p.communicate(timeout=PATIENCE)
    return Result(p.returncode, out, err, b.reports())


@test
def breaking_off_a_collection_keeps_what_there_is(b: Bench) -> None:
    p = start_hanging(b, ["--deadline", "1000"])
    for _ in range(3):
        p.send_signal(signal.SIGINT)
        try:
            p.wait(0.3)
        except subprocess.TimeoutExpired:
            pass
    r = finish(b, p)
    i = r.incident()
    assert r.status == 99 and any(f.get("function") == "fake_launch" for t in i["threads"] for f in t["frames"]), i
    assert any("broken off" in n for n in i["notes"]), i["notes"]
    assert i["ending"]["kind"] == "signaled" and i["ending"]["status"] == signal.SIGINT, i["ending"]
    assert b.leftovers() == []


@test
def a_command_that_ends_while_it_is_read_is_said_to_have_ended_by_itself(b: Bench) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        fresh = Bench()
        p = start_hanging(fresh, ["--deadline", "6"])  # long after the signal, on a slow machine too
        p.send_signal(number)
        i = finish(fresh, p).incident()
        assert i["ending"]["kind"] == "signaled" and i["ending"]["status"] == number, i["ending"]


@test
def a_timeout_while_it_is_read(b: Bench) -> None:
    i = finish(b, start_hanging(b, ["--deadline", "3", "--timeout", "1"])).incident()
    assert i["ending"]["kind"] == "timed-out" and i["threads"], i["ending"]


@test
def no_time_at_all(b: Bench) -> None:
    r = b.run(["--deadline", "0"], [APP, "assert"])
    assert r.status == 99 and collector(r.incident(), "native-stacks")["status"] == "timed-out", r.err


@test
def a_killed_collection_removes_the_debuggers_folder(b: Bench) -> None:
    b.gdb.write_text(b.gdb.read_text().replace("hang)", 'hang) mkdir -p "$TMPDIR/cuda-dbg/$$/session1";'))
    p = start_hanging(b, ["--deadline", "1000"])
    wait_for(lambda: any((b.dir / "cuda-dbg").glob("*/session1")))
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.name != str(p.pid) and f"PPid:\t{p.pid}\n" in (entry / "status").read_text() and "cudatrap\0" in (entry / "cmdline").read_text() \
                    and (entry / "comm").read_text() == "cudatrap\n":
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue
    r = finish(b, p)
    assert r.status == 99 and any("cut short" in n for n in r.incident()["notes"]), r.err
    assert list((b.dir / "cuda-dbg").iterdir()) == []


@test
def a_program_that_says_it_waits_without_end_does_not_fill_the_report(b: Bench) -> None:
    line = "You can now attach a debugger to the application (PID '$$') for inspection."
    r = b.run(["--deadline", "2"], ["sh", "-c", f"i=0; while [ $i -lt 3000 ]; do echo '{line}' >&2; i=$((i+1)); done; sleep 100"])
    assert r.status == 99 and len(r.incident()["consequences"]) <= 64, r.status


# ---- engine live, with a real cuda-gdb on host programs ----------------------------------------------------------------------------


def live(b: Bench, argv: List[str], prepare: Callable[[], None] = lambda: None) -> Result:
    done = subprocess.run([CUDATRAP, "--engine", "live", "--grace", "1", "-o", str(b.dir / "reports"), "--cuda-gdb", GDB, "--", *argv], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=b.env, timeout=PATIENCE, cwd=b.dir, check=False, preexec_fn=prepare)
    return Result(done.returncode, done.stdout, done.stderr, b.reports())


def live_ends_as_the_command_does(b: Bench) -> None:
    assert live(b, ["sh", "-c", "exit 3"]).status == 3
    r = live(b, ["sh", "-c", "kill -SEGV $$"])
    assert r.status == -signal.SIGSEGV and r.reports == [], r.status


def live_commands_that_cannot_run(b: Bench) -> None:
    plain = b.dir / "plain"
    plain.write_text("data")
    for argv, status in ((["/no/such"], 127), (["no-such"], 127), ([str(plain)], 126), (["/"], 126)):
        r = live(b, argv)
        assert r.status == status and len(r.err.splitlines()) == 1, (argv, r.status, r.err)


def live_runs_a_script_without_a_first_line(b: Bench) -> None:
    plain = b.dir / "plain"
    plain.write_text("echo $1\n")
    plain.chmod(0o755)
    assert live(b, [str(plain), "x"]).out == b"x\n"


def live_with_closed_streams(b: Bench) -> None:
    assert live(b, [APP, "ok"], close_all(0)).out == b"ok\n"
    assert live(b, [APP, "ok"], close_all(0, 1, 2)).status == 0


def live_without_the_right_to_trace_says_so(b: Bench) -> None:
    r = live(without_leak_checks(b), [APP, "ok"], refuse_tracing)
    assert r.status == 125 and r.out == b"" and len(r.err.splitlines()) == 1 and b"SYS_PTRACE" in r.err, (r.status, r.err)


GDB = real_gdb()
if GDB:
    for function in (live_ends_as_the_command_does, live_commands_that_cannot_run, live_runs_a_script_without_a_first_line, live_with_closed_streams,
                     live_without_the_right_to_trace_says_so):
        test(function)
else:
    print("# engine live was not tried: no cuda-gdb with gdb.cuda in PATH")

if __name__ == "__main__":
    sys.exit(tests.run())
