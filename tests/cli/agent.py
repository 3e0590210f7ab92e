# The agent in real processes: what it says about Python, and that it is not noticed otherwise.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import traceback
from typing import Any, Callable, Dict, List, Optional, Tuple

sys.dont_write_bytecode = True  # the sources may be read-only
from agent_lab import (  # noqa: E402: after the line above
    AGENT, HELPERS, PATIENCE_S, Lab, Skip, count_threads, equal, lab, line_of, read_json, tell, wait_for)

# One thread waits in a method, one of a class that watches its attributes in a function with an odd name, the main thread in the driver.
# Told to go on, it reports what a debugger or a handler of its own would have noticed.
TARGET = '''
import ctypes, json, os, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
pipes = [os.pipe() for _ in range(3)]
noticed = []

def trace(frame, event, argument):
    if not frame.f_code.co_filename.startswith(("/", "<frozen")):
        noticed.append(frame.f_code.co_filename)

class Model:
    def forward(self, fd):
        os.read(fd, 1)  # FORWARD

def gr\u00fc\u00dfe(fd):
    os.read(fd, 1)  # GREET

class Watching(threading.Thread):
    def __getattribute__(self, name):
        askers.add(threading.get_ident())
        return super().__getattribute__(name)
    def run(self):
        gr\u00fc\u00dfe(pipes[1][0])  # RUN

def main():
    def step():
        cuda.agent_wait(pipes[2][0])  # WAIT
    try:
        raise ValueError("the program's own")
    except ValueError:
        step()  # STEP
        return sys.exc_info()[0] is ValueError

askers = set()
threads = [threading.Thread(target=Model().forward, args=(pipes[0][0],), name="first"), Watching(name='a "\u00e4\U0001f600" \\\\')]
for t in threads:
    t.start()
threading.settrace(trace); threading.setprofile(trace); sys.settrace(trace); sys.setprofile(trace)

def release():
    sys.stdin.readline()
    for _, w in pipes:
        os.write(w, b"x")

helper = threading.Thread(target=release)
helper.start()
print(json.dumps([threading.get_native_id()] + [t.native_id for t in threads]), flush=True)
kept = main()  # MAIN
sys.settrace(None); sys.setprofile(None)
for t in threads + [helper]:
    t.join()
askers -= {t.ident for t in threads + [helper, threading.current_thread()]}
print(json.dumps([kept, noticed, len(askers)]), flush=True)
'''


def ask_until_waiting(l: Lab, pid: int, line: int) -> Dict[str, Any]:
    """The answer once the main thread is at the given line."""
    def attempt() -> Optional[Dict[str, Any]]:
        answer = json.loads(l.ask(pid))
        main = [t for t in answer["threads"] if t["tid"] == pid]
        at_line = main and main[0]["frames"] and main[0]["frames"][0]["line"] == line
        busy = [t for t in answer["threads"] if t["frames"] and t["frames"][0]["function"].split(".")[-1] not in WAITING]
        return answer if at_line and not busy else None
    return wait_for("the main thread at line %d" % line, attempt)


WAITING = ("forward", "gr\u00fc\u00dfe", "step", "release")


def check_stacks(python: str, version: Tuple[int, int], flags: Tuple[str, ...]) -> None:
    with lab() as l:
        target = l.start_python(python, TARGET, *flags)
        tids = read_json(target)
        equal(stat.S_IMODE(os.stat(l.socket_path(target.pid)).st_mode), 0o600)
        answer = ask_until_waiting(l, target.pid, line_of(TARGET, "WAIT"))
        equal(answer["version"], 1)
        equal(answer["pid"], target.pid)
        assert answer["python"].startswith("%d.%d." % version), answer["python"]
        threads = {t["tid"]: t for t in answer["threads"]}
        equal(len(answer["threads"]), 4)
        long_names = version >= (3, 11)

        def check(tid: int, name: str, want: List[Tuple[str, str]]) -> None:
            equal(threads[tid]["name"], name)
            frames = threads[tid]["frames"][:len(want)]
            equal([(f["function"], f["line"]) for f in frames], [(f, line_of(TARGET, m)) for f, m in want])
            equal({f["file"] for f in frames}, {os.path.join(l.top, "target.py")})

        check(tids[0], "MainThread", [("main.<locals>.step" if long_names else "step", "WAIT"), ("main", "STEP"), ("<module>", "MAIN")])
        equal(len(threads[tids[0]]["frames"]), 3)
        check(tids[1], "first", [("Model.forward" if long_names else "forward", "FORWARD")])
        check(tids[2], 'a "\u00e4\U0001f600" \\', [("gr\u00fc\u00dfe", "GREET"), ("Watching.run" if long_names else "run", "RUN")])
        tell(target)
        equal(read_json(target), [True, [], 0])
        equal(target.wait(PATIENCE_S), 0)


def check_deep_recursion(python: str) -> None:
    body = '''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
def down(n):
    if n:
        down(n - 1)
    else:
        print("1", flush=True)
        sys.stdin.readline()
down(400)
'''
    with lab() as l:
        target = l.start_python(python, body)
        read_json(target)
        answer = json.loads(l.ask(target.pid))
        equal([len(t["frames"]) for t in answer["threads"]], [256])
        tell(target)
        equal(target.wait(PATIENCE_S), 0)


def check_gil_held(python: str) -> None:
    body = '''
import ctypes, os, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
print("1", flush=True)
ctypes.PyDLL("libcuda.so.1").agent_wait(0)
sys.exit(7)
'''
    with lab() as l:
        target = l.start_python(python, body)
        read_json(target)
        # It may still be on its way into the driver: then it answers.
        wait_for("a request without an answer", lambda: l.ask(target.pid, timeout_ms=200).startswith("timeout: "))
        equal(l.ask(target.pid, timeout_ms=50), "timeout: the agent in process %d did not answer in time\n" % target.pid)
        tell(target)
        equal(target.wait(PATIENCE_S), 7)


# list.insert stands for the switch: a function in C of two arguments that tells whether it was called, and with what.
ANOMALY_BODY = '''
import ctypes, json, sys, time, types
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
print("1", flush=True)
sys.stdin.readline()
calls = []
torch = types.ModuleType("torch")
torch.set_anomaly_enabled = lambda *arguments: calls.append("code of the program's")
sys.modules["torch"] = torch
print("2", flush=True)
sys.stdin.readline()
torch.set_anomaly_enabled = calls.insert
while WAIT and not calls:
    time.sleep(0.01)
print(json.dumps(calls), flush=True)
sys.stdin.readline()
'''


def check_anomaly(python: str) -> None:
    with lab() as l:
        target = l.start_python(python, ANOMALY_BODY.replace("WAIT", "True"), env=l.environment(CUDATRAP_ANOMALY="1"))
        equal(read_json(target), 1)
        equal(json.loads(l.ask(target.pid, "anomaly"))["anomaly"], "PyTorch is not imported")
        tell(target)
        equal(read_json(target), 2)
        equal(json.loads(l.ask(target.pid, "anomaly"))["anomaly"], "PyTorch is not imported yet, or has no such switch")
        tell(target)
        equal(read_json(target), [False])  # insert(True, False): without the search for NaNs


def check_anomaly_unwanted(python: str) -> None:
    with lab() as l:
        target = l.start_python(python, ANOMALY_BODY.replace("WAIT", "False"))
        equal(read_json(target), 1)
        tell(target)
        equal(read_json(target), 2)
        tell(target)
        equal(read_json(target), [])
        equal(json.loads(l.ask(target.pid, "anomaly"))["anomaly"], "on")


def check_finalizing(python: str) -> None:
    body = '''
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
class Last:
    def __del__(self, write=__import__("os").write, wait=cuda.agent_wait):
        write(1, b"1\\n")
        wait(0)
last = Last()
'''
    with lab() as l:
        target = l.start_python(python, body)
        read_json(target)
        equal(json.loads(l.ask(target.pid)), {"version": 1, "pid": target.pid, "error": "Python is shutting down in this process"})
        tell(target)
        equal(target.wait(PATIENCE_S), 0)


def check_python_error(python: str) -> None:
    body = '''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
def refuse(event, arguments):
    if event == "sys._current_frames":
        raise RuntimeError("not here")
sys.addaudithook(refuse)
print("1", flush=True)
sys.stdin.readline()
sys.exit(5)
'''
    with lab() as l:
        target = l.start_python(python, body)
        read_json(target)
        equal(json.loads(l.ask(target.pid))["error"], "Python could not list its stacks")
        tell(target)
        equal(target.wait(PATIENCE_S), 5)


FORK = '''
import ctypes, json, os, sys, threading
def use_cuda():
    ctypes.CDLL("libcuda.so.1").cuInit(0)
def sockets():
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink("/proc/self/fd/" + fd).startswith("socket:"))
        except FileNotFoundError:
            pass
    return sum(found)
def child():
    out = [os.getpid(), len(os.listdir("/proc/self/task")), sockets()]
    print(json.dumps(out), flush=True)
    sys.stdin.readline()
    use_cuda()
    print("1", flush=True)
    sys.stdin.readline()
    os._exit(3)
use_cuda()
print("1", flush=True)
sys.stdin.readline()
def fork():
    pid = os.fork()
    if pid == 0:
        child()
    print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]), flush=True)
t = threading.Thread(target=fork)  # the child's first thread was not the parent's
t.start()
t.join()
'''


def check_fork(python: str) -> None:
    with lab() as l:
        target = l.start_python(python, FORK)
        read_json(target)
        tell(target)
        child, threads, sockets = read_json(target)
        equal((threads, sockets), (1, 0))
        assert l.ask(child).startswith("not found: "), "an agent in a child that has not used CUDA"
        assert json.loads(l.ask(target.pid))["threads"], "the parent's agent is gone"
        tell(target)
        read_json(target)
        answer = json.loads(l.ask(child))
        equal([answer["pid"]] + [t["tid"] for t in answer["threads"]], [child, child])
        tell(target)
        equal(read_json(target), 3)
        equal(target.wait(PATIENCE_S), 0)


CLOSEFROM = '''
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
print("1", flush=True)
sys.stdin.readline()
os.closerange(3, 4096)
print("1", flush=True)
sys.stdin.readline()
ctypes.CDLL("libcuda.so.1").cuInit(0)
print("1", flush=True)
sys.stdin.readline()
sys.exit(4)
'''


def check_closefrom(python: str) -> None:
    with lab() as l:
        target = l.start_python(python, CLOSEFROM)
        read_json(target)
        tell(target)
        read_json(target)
        wait_for("the agent's thread to end", lambda: count_threads(target.pid) == 1)
        assert l.ask(target.pid).startswith("not found: ")
        tell(target)
        read_json(target)
        assert json.loads(l.ask(target.pid))["threads"]
        tell(target)
        equal(target.wait(PATIENCE_S), 4)


REPLACE = '''
import ctypes, os, socket, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
print("1", flush=True)
path = sys.stdin.readline().strip()
ours = [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) >= 100]
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen(8)
os.dup2(server.fileno(), ours[0])
print(len(ours), flush=True)
for _ in range(20):
    connection, _ = server.accept()
    connection.sendall(b"mine")
    connection.close()
'''


def check_replaced_descriptor(python: str) -> None:
    with lab() as l:
        target = l.start_python(python, REPLACE)
        read_json(target)
        path = os.path.join(l.top, "own.sock")
        tell(target, path)
        equal(read_json(target), 1)
        wait_for("the agent's thread to end", lambda: count_threads(target.pid) == 1)
        for _ in range(20):
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
                client.settimeout(PATIENCE_S)
                client.connect(path)
                equal(client.recv(16), b"mine")
        equal(target.wait(PATIENCE_S), 0)


def check_exec(python: str) -> None:
    body = '''
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
print("1", flush=True)
sys.stdin.readline()
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
'''
    with lab() as l:
        target = l.start_python(python, body)
        read_json(target)
        tell(target)
        read_json(target)
        assert json.loads(l.ask(target.pid))["threads"]
        tell(target)
        equal(target.wait(PATIENCE_S), 0)


WAIT_FOR_INPUT = '''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
print("1", flush=True)
sys.stdin.readline()
'''


def check_odd_clients(python: str) -> None:
    with lab(deep=True) as l:
        target = l.start_python(python, WAIT_FOR_INPUT)
        read_json(target)
        fd = os.open(l.sockets, os.O_PATH)
        address = "/proc/self/fd/%d/%d.sock" % (fd, target.pid)
        equal(json.loads(l.ask(target.pid, "dance")), {"version": 1, "pid": target.pid, "error": "unknown request"})
        for sent in (b"", b"stacks", b"x" * 1000, b"stacks\n"):  # nothing more comes, or nobody reads the answer
            client = socket.socket(socket.AF_UNIX)
            client.connect(address)
            with contextlib.suppress(BrokenPipeError):
                client.sendall(sent)
            client.close()
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as silent:
            silent.connect(address)
            assert json.loads(l.ask(target.pid))["threads"], "one silent client stops the others"
        os.close(fd)
        tell(target)
        equal(target.wait(PATIENCE_S), 0)


def check_other_user(python: str) -> None:
    if os.geteuid() != 0:
        raise Skip("only root can be another user")
    with lab() as l:
        target = l.start_python(python, WAIT_FOR_INPUT)
        read_json(target)
        os.chmod(l.top, 0o711)
        os.chmod(l.sockets, 0o711)
        os.chmod(l.socket_path(target.pid), 0o666)  # as if the files' modes had not stopped them
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(OSError), contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
                os.setuid(65534)
                client.settimeout(PATIENCE_S)
                client.connect(l.socket_path(target.pid))
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):  # refused before or after it was read
                    client.sendall(b"stacks\n")
                    os._exit(2 if client.recv(1) else 0)
                status = 0
            os._exit(status)
        equal(os.waitpid(child, 0)[1], 0)
        assert json.loads(l.ask(target.pid))["threads"]
        tell(target)
        equal(target.wait(PATIENCE_S), 0)


def check_bad_settings(python: str) -> None:
    bad: List[Dict[str, Optional[str]]] = [
        {"CUDATRAP_SUPERVISOR_PID": None}, {"CUDATRAP_SUPERVISOR_PID": ""}, {"CUDATRAP_SUPERVISOR_PID": "12x"},
        {"CUDATRAP_SUPERVISOR_PID": "-1"}, {"CUDATRAP_SUPERVISOR_PID": "99999999999999999999"}, {"CUDATRAP_SUPERVISOR_PID": "0"},
        {"CUDATRAP_AGENT_DIR": None}, {"CUDATRAP_AGENT_DIR": ""}, {"CUDATRAP_AGENT_DIR": "."}, {"CUDATRAP_AGENT_DIR": "/" + "x" * 5000},
    ]
    for changes in bad:
        with lab() as l:
            target = l.start_python(python, WAIT_FOR_INPUT, env=l.environment(**changes))
            read_json(target)
            equal(count_threads(target.pid), 1)
            equal(os.listdir(l.sockets), [])
    with lab() as l:  # a folder that is gone: no thread either
        os.rmdir(l.sockets)
        target = l.start_python(python, WAIT_FOR_INPUT)
        read_json(target)
        equal(count_threads(target.pid), 1)
        tell(target)
        equal(target.wait(PATIENCE_S), 0)


def check_without_cuda(python: str) -> None:
    body = '''
import ctypes, os, sys
ctypes.CDLL(None).getpid()
try:
    ctypes.CDLL(None).cuLaunchKernel
except AttributeError:
    pass
print("1", flush=True)
sys.stdin.readline()
sys.exit(6)
'''
    with lab() as l:
        target = l.start_python(python, body)
        read_json(target)
        equal(count_threads(target.pid), 1)
        equal([os.path.basename(os.readlink(p)) for p in glob.glob("/proc/%d/fd/*" % target.pid) if "socket" in os.readlink(p)], [])
        equal(os.listdir(l.sockets), [])
        tell(target)
        equal(target.wait(PATIENCE_S), 6)
        env = l.environment()
        got = subprocess.run(["env", "-0"], env=env, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
        equal(sorted(got), sorted(["%s=%s" % pair for pair in env.items()] + [""]))
        for status in (0, 1, 255):
            equal(subprocess.run(["sh", "-c", "exit %d" % status], env=env, check=False).returncode, status)
        equal(subprocess.run(["sh", "-c", "kill -9 $$"], env=env, check=False).returncode, -9)
        equal(os.listdir(l.sockets), [])


def check_linked_driver() -> None:
    with lab() as l:
        target = l.start(["cat"], l.environment(os.path.join(l.libraries, "libcuda.so.1")))
        wait_for("the agent", lambda: not l.ask(target.pid).startswith("not found: "))
        equal(l.ask(target.pid), '{"version":1,"pid":%d,"error":"no Python in this process"}\n' % target.pid)
        with open("/proc/%d/task/%d/comm" % (target.pid, max(map(int, os.listdir("/proc/%d/task" % target.pid))))) as f:
            equal(f.read(), "cudatrap-agent\n")
        equal(target.communicate(timeout=PATIENCE_S)[0], "")
        equal(target.returncode, 0)


def check_not_initialized(pythons: List[Tuple[str, Tuple[int, int]]]) -> None:
    code = "import os, sysconfig; v = sysconfig.get_config_var; print(os.path.join(v('LIBDIR'), v('INSTSONAME') or ''))"
    for python, _ in pythons:
        library = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout.strip()
        if ".so" in library and os.path.exists(library):
            break
    else:
        raise Skip("no Python here comes as a shared library")
    with lab() as l:
        target = l.start(["cat"], l.environment(os.path.join(l.libraries, "libcuda.so.1"), library))
        wait_for("the agent", lambda: not l.ask(target.pid).startswith("not found: "))
        equal(json.loads(l.ask(target.pid))["error"], "Python is not initialized in this process")


def run_probe(l: Lab, what: str) -> Tuple[int, str]:
    done = subprocess.run([os.path.join(HELPERS, "agent_probe"), what], env=l.environment(), stdout=subprocess.PIPE,
                          universal_newlines=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout


def check_rtld_next() -> None:
    with lab() as l:
        equal(run_probe(l, "next"), (0, "default 1 own 1 next 2 3 0\nmissing null, error set\n"))


def check_storm() -> None:
    with lab() as l:
        for _ in range(5):
            equal(run_probe(l, "storm"), (0, "wrong 0 threads 2\n"))


def check_pthread_exit() -> None:
    with lab() as l:
        equal(run_probe(l, "pthread-exit"), (0, "last thread done\n"))


def check_symbols() -> None:
    if not shutil.which("nm"):
        raise Skip("no nm")
    text = subprocess.run(["nm", "-D", AGENT], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    rows = [line.split() for line in text.splitlines()]
    equal(sorted(row[-1] for row in rows if row[-2] not in "Uwv"), ["dlsym", "fprintf"])
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"@GLIBC_([0-9.]+)", text)}
    assert versions and max(versions) <= (2, 17), "needs glibc %s" % (max(versions),)


def find_pythons() -> List[Tuple[str, Tuple[int, int]]]:
    """One interpreter for each version from 3.8 on: that of configure, those in PATH and pyenv's."""
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    names = [sys.executable] + [shutil.which("python3.%d" % n) or "" for n in range(8, 20)]
    names += sorted(glob.glob(os.path.join(root, "versions", "3.*", "bin", "python3")))
    found: Dict[Tuple[int, int], str] = {}
    code = "import sys, ctypes, sysconfig; print(sys.version_info[0], sys.version_info[1], sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
    for name in names:
        if not name or not os.path.exists(name):
            continue
        done = subprocess.run([name, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, universal_newlines=True)
        words = done.stdout.split()
        if done.returncode == 0 and (int(words[0]), int(words[1])) >= (3, 8) and words[2] == "0":
            found.setdefault((int(words[0]), int(words[1])), name)
    return [(found[version], version) for version in sorted(found)]


def no_python() -> None:
    raise Skip("no Python from 3.8 on with ctypes and a GIL found")


def list_cases() -> List[Tuple[str, Callable[[], None]]]:
    cases: List[Tuple[str, Callable[[], None]]] = [
        ("nothing but dlsym and fprintf is exported, nothing newer than glibc 2.17 needed", check_symbols),
        ("RTLD_NEXT means the caller's", check_rtld_next),
        ("dlsym from many threads starts one listener", check_storm),
        ("a process whose main thread has left still ends", check_pthread_exit),
        ("a driver linked to the program is noticed, no Python is told", check_linked_driver),
    ]
    pythons = find_pythons()
    if not pythons:
        return cases + [("stacks of Python", no_python)]

    def add(name: str, check: Callable[..., None], *arguments: Any) -> None:
        cases.append((name, lambda: check(*arguments)))

    add("Python not initialized is told", check_not_initialized, pythons)
    for python, version in pythons:
        label = "Python %d.%d: " % version
        for flags in ((), ("-I", "-S")):
            add(label + "functions, lines, threads " + " ".join(flags), check_stacks, python, version, flags)
        add(label + "a deep stack is cut", check_deep_recursion, python)
        add(label + "the GIL not to be had", check_gil_held, python)
        add(label + "shutting down", check_finalizing, python)
        add(label + "anomaly detection is turned on once PyTorch is there", check_anomaly, python)
        add(label + "anomaly detection is left alone", check_anomaly_unwanted, python)
        add(label + "an error in Python stays inside", check_python_error, python)
        add(label + "a forked child starts anew", check_fork, python)
    python = pythons[-1][0]
    add("a program that closes every descriptor", check_closefrom, python)
    add("a program that reuses our descriptor keeps its connections", check_replaced_descriptor, python)
    add("a program that calls exec", check_exec, python)
    add("odd clients, and a folder with a long name", check_odd_clients, python)
    add("another user is refused", check_other_user, python)
    add("settings that make no sense", check_bad_settings, python)
    add("a process without CUDA is left alone", check_without_cuda, python)
    return cases


def run_case(number: int, name: str, check: Callable[[], None]) -> bool:
    try:
        check()
    except Skip as e:
        print("ok %d - %s # SKIP %s" % (number, name, e), flush=True)
        return True
    except Exception:  # a test's own defect fails its case alone
        for line in traceback.format_exc().splitlines():
            print("# " + line)
        print("not ok %d - %s" % (number, name), flush=True)
        return False
    print("ok %d - %s" % (number, name), flush=True)
    return True


def main() -> int:
    cases = list_cases()
    print("1..%d" % len(cases), flush=True)
    results = [run_case(number, name, check) for number, (name, check) in enumerate(cases, 1)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
