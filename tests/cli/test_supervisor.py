#!/usr/bin/env python3
# The supervisor against the same command run directly: bytes, terminals, signals, job control, status, process trees.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import termios
import time
from typing import Callable, List, Tuple

sys.dont_write_bytecode = True  # the sources may be read-only
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import APP, PATIENCE, SUPERVISE, Run, Shell, Terminal, children_of, equal, main, read_line, state, test, until  # noqa: E402


# ---- bytes


@test("stdin and stdout are the target's own, byte for byte, to the end of input")
def _() -> None:
    with Run() as run:
        data = os.urandom(1 << 20)
        for options in ((), ("--watch-stdout",)):
            done = run.call(APP, "cat", input=data, options=options)
            equal(done.returncode, 0)
            equal(done.stdout == data, True)
            equal(run.saw(1) == (data if options else b""), True)
        equal(run.call(APP, "cat", input=b"").stdout, b"")


@test("stderr passes every byte through a pipe, and the hook sees it")
def _() -> None:
    with Run() as run:
        want = bytes(range(256)) * 1000
        done = run.call(APP, "binary", "1000")
        equal(done.stderr == want, True)
        equal(run.saw() == want, True)


@test("a line of 10 MB without an end arrives whole")
def _() -> None:
    with Run() as run:
        done = run.call(APP, "big-line", str(10 << 20))
        equal((done.returncode, done.stderr == b"a" * (10 << 20), len(run.saw())), (0, True, 10 << 20))


@test("stderr passes every byte through a terminal")
def _() -> None:
    with Run() as run:
        for options in ((), ("--watch-stdout",)):
            terminal = Terminal(run.command(APP, "binary", "1000", options=options), run.env, raw=True)
            status, text = terminal.end()
            equal((status, text == bytes(range(256)) * 1000), (0, True))


@test("a progress bar looks on a terminal as it does without us")
def _() -> None:
    with Run() as run:
        direct = Terminal([APP, "progress", "500"], run.env).end()
        equal(Terminal(run.command(APP, "progress", "500"), run.env).end(), direct)


@test("100000 assert lines come through complete and in order")
def _() -> None:
    with Run() as run:
        direct = subprocess.run([APP, "assert", "100000"], stderr=subprocess.PIPE, env=run.env, check=False)
        done = run.call(APP, "assert", "100000")
        equal(done.returncode, direct.returncode)
        equal(done.stderr == direct.stderr, True)
        equal(run.saw() == direct.stderr, True)


@test("a reader that pauses makes the target wait, and nothing is lost")
def _() -> None:
    with Run() as run:
        process = run.start(APP, "big-line", str(4 << 20))
        until(lambda: any(state(pid) == "S" for pid in children_of(process.pid)), "the target to wait")
        out, err = process.communicate(timeout=PATIENCE)
        equal((process.returncode, out, len(err)), (0, b"", 4 << 20))


@test("a timeout holds although nobody reads stderr")
def _() -> None:
    with Run() as run:
        process = run.start(APP, "flood", "2", options=("--timeout", "300", "--grace", "100"))
        equal(process.wait(timeout=PATIENCE), 124)
        process.communicate()
        run.gone()


@test("stderr that cannot be written (full, closed) costs the target nothing")
def _() -> None:
    with Run() as run:
        with open("/dev/full", "wb") as full:
            equal(run.call(APP, "assert", "100", stderr=full).returncode, 1)
        equal(len(run.saw().splitlines()), 101)
        for closed in ("2>&-", "<&-", ">&-", "<&- >&- 2>&-"):
            line = shlex.join(run.command(APP, "exit", "9")) + " " + closed
            equal(subprocess.run(["sh", "-c", line], env=run.env, timeout=PATIENCE, check=False).returncode, 9)


@test("a file that stdout and stderr share is not overwritten")
def _() -> None:
    with Run() as run:
        path = os.path.join(run.folder.name, "log")
        with open(path, "wb") as log:
            log.write(b"before\n")
            log.flush()
            run.call(APP, "ok", stdout=log, stderr=log)
            run.call(APP, "ok", stdout=log, stderr=log)
        with open(path, "rb") as log:
            text = log.read()
        equal(sorted(text.splitlines()), [b"before", b"note", b"note", b"ok", b"ok"])


# ---- what the target can see


@test("isatty() of all three descriptors, in all eight ways to redirect")
def _() -> None:
    with Run() as run:
        for mask in range(8):
            got = []
            for command in ([APP, "isatty"], run.command(APP, "isatty"), run.command(APP, "isatty", options=("--watch-stdout",))):
                out_read, out_write = os.pipe()
                null = os.open("/dev/null", os.O_RDWR)
                redirect = {0: null} if mask & 1 else {}
                redirect.update({1: out_write} if mask & 2 else {})
                redirect.update({2: null} if mask & 4 else {})
                terminal = Terminal(command, run.env, redirect=redirect)
                os.close(out_write)
                os.close(null)
                status, text = terminal.end()
                with open(out_read, "rb") as piped:
                    got.append((status, (text + piped.read()).replace(b"\r", b"")))
            equal(got[1:], [got[0], got[0]])
            equal(got[0], (0, b"%d %d %d\n" % (not mask & 1, not mask & 2, not mask & 4)))


@test("ignored and blocked signals and open descriptors are inherited as they were")
def _() -> None:
    def prepare(ignored: List[int], blocked: List[int]) -> Callable[[], None]:
        def set_up() -> None:
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return set_up

    cases: List[Tuple[List[int], List[int]]] = [
        ([], []), ([signal.SIGHUP], []), ([signal.SIGINT, signal.SIGQUIT], []), ([signal.SIGPIPE], []),
        ([signal.SIGCHLD], []), ([signal.SIGTSTP, signal.SIGTTOU], []), ([], [signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGPIPE]),
    ]
    with Run() as run:
        for ignored, blocked in cases:
            extra_read, extra_write = os.pipe()
            more = {"preexec_fn": prepare(ignored, blocked), "pass_fds": (extra_read, extra_write)}
            direct = subprocess.run([APP, "inherited"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=run.env,
                                    check=False, **more)  # type: ignore[call-overload]
            done = run.call(APP, "inherited", **more)
            os.close(extra_read)
            os.close(extra_write)
            equal(done.stdout, direct.stdout)
            equal(b"SigIgn" in direct.stdout, True)


@test("the environment gains one variable, and a run inside a run keeps the outer mark")
def _() -> None:
    with Run() as run:
        def names(text: bytes) -> set:
            return {line.split(b"=")[0] for line in text.split(b"\0") if line}
        run.env.pop("CUDATRAP_RUN_ID", None)
        direct = subprocess.run(["env", "-0"], env=run.env, stdout=subprocess.PIPE, check=False).stdout
        once = run.call("env", "-0").stdout
        equal(names(once) - names(direct), {b"CUDATRAP_RUN_ID"})
        twice = run.call(*run.command("env", "-0")).stdout
        marks = [line for line in twice.split(b"\0") if line.startswith(b"CUDATRAP_RUN_ID=")]
        equal(len(marks), 1)
        equal(bool(re.fullmatch(rb"CUDATRAP_RUN_ID=[0-9a-f]{32}:[0-9a-f]{32}", marks[0])), True)
        run.env["CUDATRAP_RUN_ID"] = "../evil " * 9
        marks = [line for line in run.call("env", "-0").stdout.split(b"\0") if line.startswith(b"CUDATRAP_RUN_ID=")]
        equal(bool(re.fullmatch(rb"CUDATRAP_RUN_ID=[0-9a-f]{32}", marks[0])), True)


@test("the window's size is there from the start and follows, alone on the terminal and in a pipeline")
def _() -> None:
    with Run() as run:
        for piped in (False, True):
            out_read, out_write = os.pipe()
            terminal = Terminal(run.command(APP, "winsize", "132"), run.env, size=(31, 101), redirect={1: out_write} if piped else {})
            os.close(out_write)
            with open(out_read, "rb", buffering=0) as pipe:
                if piped:
                    equal(pipe.read(64), b"size 31 101\n")
                else:
                    terminal.expect("size 31 101")
                terminal.resize(40, 132)
                status, text = terminal.end()
                equal(status, 0)
                equal(b"size 40 132" in (pipe.readall() if piped else text), True)


# ---- how it ends


@test("every exit status from 0 to 255")
def _() -> None:
    with Run() as run:
        for n in range(256):
            equal(run.call(APP, "exit", str(n)).returncode, n)
            equal(run.result()["status"], n)


@test("death by each signal looks as it does without us; the status is 128 + n")
def _() -> None:
    with Run() as run:
        for number in sorted(set(range(1, 32)) - {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}):
            direct = subprocess.run([APP, "signal", str(number)], check=False, env=run.env).returncode
            equal((number, run.call(APP, "signal", str(number)).returncode), (number, direct))
            if direct:
                equal((run.result()["signal"], run.result()["status"]), (number, 128 + number))


@test("a command that cannot be run: 127 not found, 126 otherwise; PATH is that of the target")
def _() -> None:
    with Run() as run:
        plain = os.path.join(run.folder.name, "plain")
        with open(plain, "w", encoding="ascii") as file:
            file.write("#!/no/such/interpreter\n")
        equal(run.call("no-such-command").returncode, 127)
        equal(run.call(plain).returncode, 126)
        equal(run.call(run.folder.name).returncode, 126)
        equal(run.call(plain + "/below").returncode, 126)
        os.chmod(plain, 0o755)
        equal(run.call(plain).returncode, 127)
        with open(plain, "w", encoding="ascii") as file:
            file.write("exit 5\n")  # no first line: a shell runs it, as from a shell
        run.env["PATH"] = run.folder.name
        equal(run.call("plain").returncode, 5)
        equal(run.call().returncode, 125)
        terminal = Terminal(run.command("no-such-command"), run.env)
        equal(terminal.end()[0], 127)
        run.gone()


@test("--timeout ends with 124: by SIGTERM, by SIGKILL when that is ignored, also when stopped")
def _() -> None:
    with Run() as run:
        equal(run.call(APP, "sleep", options=("--timeout", "200")).returncode, 124)
        equal(run.result()["signal"], signal.SIGTERM)
        equal(run.call(APP, "ignore-term", options=("--timeout", "400", "--grace", "200")).returncode, 124)
        equal((run.result()["signal"], run.result()["timed_out"]), (signal.SIGKILL, 1))
        equal(run.call("sh", "-c", "kill -STOP $$", options=("--timeout", "200")).returncode, 124)
        equal(run.result()["signal"], signal.SIGTERM)
        equal(run.call(APP, "exit", "3", options=("--timeout", "60000")).returncode, 3)
        run.gone()


@test("a target that closes stderr runs on, and nothing spins")
def _() -> None:
    with Run() as run:
        done = run.call(APP, "close-stderr", "0")
        equal((done.returncode, done.stdout), (7, b"closed\n"))
        terminal = Terminal(run.command(APP, "close-stderr", "1"), run.env)
        terminal.expect("closed")
        with open(f"/proc/{terminal.pid}/stat", encoding="latin-1") as file:
            before = sum(int(x) for x in file.read().rpartition(")")[2].split()[11:13])
        time.sleep(0.5)
        with open(f"/proc/{terminal.pid}/stat", encoding="latin-1") as file:
            after = sum(int(x) for x in file.read().rpartition(")")[2].split()[11:13])
        equal(after - before < 20, True)  # of 50 ticks, had it spun
        equal(terminal.end()[0], 7)


# ---- signals


@test("each signal sent to us reaches the target, once")
def _() -> None:
    with Run() as run:
        process = run.start(APP, "count-signals", stdin=subprocess.DEVNULL, start_new_session=True)
        equal(read_line(process), b"ready\n")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM):
            os.kill(process.pid, number)
            equal(read_line(process), b"got\n")
        equal(read_line(process), b"1=1 2=1 3=1 10=1 12=1 15=1 14=1 \n")
        equal(process.wait(timeout=PATIENCE), 0)
        process.communicate()


@test("the target has a process group of its own, and the terminal when we had it")
def _() -> None:
    with Run() as run:
        script = "cat /proc/$$/stat"  # proc(5): pid, comm, state, ppid, pgrp, session, tty_nr, tpgid
        fields = run.call("sh", "-c", script, start_new_session=True).stdout.split()
        equal(fields[4], fields[0])
        status, text = Terminal(run.command("sh", "-c", script), run.env).end()
        fields = text.split()
        equal((status, fields[4], fields[7]), (0, fields[0], fields[0]))


@test("Ctrl-C and Ctrl-\\ reach the target once, whether it has the terminal or shares it")
def _() -> None:
    with Run() as run:
        for piped in (False, True):
            for key, number in ((b"\x03", 2), (b"\x1c", 3)):
                out_read, out_write = os.pipe()
                terminal = Terminal(run.command(APP, "count-signals", "3"), run.env, redirect={1: out_write} if piped else {})
                os.close(out_write)
                with open(out_read, "rb", buffering=0) as pipe:
                    if piped:
                        equal(pipe.read(6), b"ready\n")
                    else:
                        terminal.expect("ready\r\n")
                    terminal.send(key)
                    if piped:
                        equal(pipe.read(4), b"got\n")
                    else:
                        terminal.expect("got\r\n")
                    # One more, by hand: a doubled one would have been there before it.
                    time.sleep(0.1)
                    os.kill(run.alive(APP)[0], signal.SIGUSR1)
                    status, text = terminal.end()
                    text += pipe.read(200) if piped else b""
                equal(status, 0)
                equal(f" {number}=1 ".encode() in text, True)


@test("Ctrl-C ends a script after its command died of it, as without us")
def _() -> None:
    with Run() as run:
        for command in ([APP, "sleep"], run.command(APP, "sleep")):
            terminal = Terminal(["bash", "-c", shlex.join(command) + "; echo after"], run.env)
            terminal.expect("ready")
            terminal.send(b"\x03")
            status, text = terminal.end()
            equal((status, b"after" in text), (-signal.SIGINT, False))
            run.gone()


@test("under nohup a hang-up is survived, without it it is not")
def _() -> None:
    with Run() as run:
        for prefix, survives in (([], False), (["nohup"], True)):
            command = prefix + run.command("sh", "-c", "echo ready; read line; echo read $line; exit 4")
            process = subprocess.Popen(command, env=run.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
            equal(read_line(process), b"ready\n")
            os.kill(process.pid, signal.SIGHUP)
            if survives:
                equal(process.communicate(b"x\n", timeout=PATIENCE)[0], b"read x\n")
            equal(process.wait(timeout=PATIENCE), 4 if survives else -signal.SIGHUP)
            process.communicate()


# ---- job control


@test("Ctrl-Z stops the job, fg brings it back with the terminal")
def _() -> None:
    with Run() as run:
        shell = Shell(run.env)
        for command in ("$A cat", "$S -- $A cat"):
            shell.type(command)
            shell.send(b"one\n")
            shell.expect("one\r\none\r\n")
            shell.send(b"\x1a")
            shell.expect("Stopped")
            shell.prompt()
            shell.foreground()
            shell.expect(r"cat\r\n")
            shell.send(b"two\n")
            shell.expect("two\r\ntwo\r\n")
            shell.send(b"\x1a")
            shell.expect("Stopped")
            shell.prompt()
            shell.foreground()
            shell.expect(r"cat\r\n")
            shell.send(b"\x04")
            shell.prompt()
            equal(shell.do("echo status $?").strip(), b"status 0")
        shell.leave()
        run.gone()


@test("started in the background: stops when it wants to read, fg gives it the terminal; bg lets it run")
def _() -> None:
    with Run() as run:
        shell = Shell(run.env)
        for command in ("$A cat", "$S -- $A cat"):
            shell.do(command + " &")
            until(lambda: b"Stopped" in shell.do("jobs"), "the job to stop")
            shell.foreground()
            shell.expect(r"cat\r\n")
            shell.send(b"three\n")
            shell.expect("three\r\nthree\r\n")
            shell.send(b"\x03")
            shell.prompt()
            equal(shell.do("echo status $?").strip(), b"status 130")
        for command in ("$A sleep", "$S -- $A sleep"):
            shell.type(command)
            shell.expect("ready")
            shell.send(b"\x1a")
            shell.expect("Stopped")
            shell.prompt()
            shell.do("bg")
            until(lambda: b"Running" in shell.do("jobs"), "the job to run")
            shell.foreground()
            shell.expect(r"sleep\r\n")
            shell.send(b"\x03")
            shell.prompt()
            equal(shell.do("echo status $?").strip(), b"status 130")
        shell.leave()
        run.gone()


@test("a background job brought to the foreground hears Ctrl-C and Ctrl-Z")
def _() -> None:
    with Run() as run:
        shell = Shell(run.env)
        for _i in range(10):  # at whatever moment of its start
            shell.do("$S -- $A sleep > /dev/null &")
            until(lambda: bool(run.alive(SUPERVISE)), "the shell's child to be us")  # before that it ignores Ctrl-Z
            shell.foreground()
            shell.expect(r"null\r\n")
            shell.send(b"\x1a")
            shell.expect("Stopped")
            shell.prompt()
            shell.foreground()
            shell.expect(r"null\r\n")
            shell.send(b"\x03")
            shell.prompt()
            equal(shell.do("echo status $?").strip(), b"status 130")
        shell.leave()
        run.gone()


@test("in a pipeline the others keep the terminal, Ctrl-Z and fg work on all of it")
def _() -> None:
    with Run() as run:
        ends: List[bytes] = []
        shell = Shell(run.env)
        reader = "sh -c 'cat; read x < /dev/tty; echo got $x'"
        for command in ("$A ok", "$S -- $A ok"):
            shell.type(f"{command} 2>&1 | {reader}")
            shell.expect("note")
            shell.send(b"word\n")
            shell.expect("got word")
            shell.prompt()
        for command in ("$A cat", "$S -- $A cat"):
            shell.type(f"{command} | cat")
            shell.send(b"one\n")
            shell.expect("one\r\none\r\n")
            shell.send(b"\x1a")
            shell.expect("Stopped")
            shell.prompt()
            shell.foreground()
            shell.expect(r"cat\r\n")
            shell.send(b"two\n")
            shell.expect("two\r\ntwo\r\n")
            shell.send(b"\x03")
            shell.prompt()
            ends.append(shell.do("echo status ${PIPESTATUS[*]}").strip())
        equal(ends[1], ends[0])
        shell.leave()
        run.gone()


@test("a reader that goes away: SIGPIPE as without us, on stdout and on stderr")
def _() -> None:
    with Run() as run:
        for command in (f"{APP} flood 1 | head -1", f"{APP} flood 2 2>&1 >/dev/null | head -1", f"{APP} flood 2 2>&1 | head -1"):
            got = []
            for prefix in ("", SUPERVISE + " -- ", SUPERVISE + " --watch-stdout -- "):
                done = subprocess.run(["bash", "-c", prefix + command + "; echo ${PIPESTATUS[*]}"], env=run.env, stdout=subprocess.PIPE,
                                      timeout=PATIENCE, check=False, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
                got.append(done.stdout)
            equal(got, [b"y\n141 0\n"] * 3)


@test("Ctrl-Z with nobody to continue it does not freeze the target")
def _() -> None:
    with Run() as run:
        terminal = Terminal(run.command(APP, "cat"), run.env)  # session leader: an orphaned group
        terminal.send(b"one\n")
        terminal.expect("one\r\none\r\n")
        terminal.send(b"\x1a")
        terminal.send(b"two\n")
        terminal.expect("two\r\ntwo\r\n")
        terminal.send(b"\x03")
        equal(terminal.end()[0], -signal.SIGINT)


@test("a target killed in raw mode leaves a usable terminal behind")
def _() -> None:
    with Run() as run:
        for arguments, options in ((["raw-and-die", "11"], ()), (["raw-and-die"], ("--timeout", "300"))):
            terminal = Terminal(["bash", "-c", shlex.join(run.command(APP, *arguments, options=options)) + "; stty -a"], run.env)
            _status, text = terminal.end()
            equal((b" icanon" in text, b" echo " in text), (True, True))
            # Alone on the terminal, as a shell's job would be.
            keeper = os.open("/dev/null", os.O_RDONLY)
            terminal = Terminal(run.command(APP, *arguments, options=options), run.env)
            terminal.expect("raw")
            until(lambda: termios.tcgetattr(terminal.fd)[3] == terminal.modes[3] or os.waitpid(terminal.pid, os.WNOHANG)[0] != 0, "the modes")
            equal(termios.tcgetattr(terminal.fd)[3], terminal.modes[3])
            terminal.close()
            os.close(keeper)


# ---- the tree


@test("what the target leaves behind is ended and counted: children, daemons, 200 of them, those that ignore SIGTERM")
def _() -> None:
    with Run() as run:
        for command, left in (([APP, "grandchild"], 2), ([APP, "daemon", "6"], 1), ([APP, "many-children", "200"], 200),
                              (["sh", "-c", f"{APP} ignore-term & read x"], 1)):
            process = run.start(*command, options=("--grace", "300"), stdin=subprocess.PIPE)
            first = read_line(process)
            equal(bool(first), True)
            process.communicate(b"\n", timeout=PATIENCE)
            equal(process.returncode, 6 if "daemon" in command else 0)
            equal((command[1], run.result()["left"]), (command[1], left))
            equal(run.result()["immortal"], 0)
            run.gone()


@test("a child that is about to end by itself may do so")
def _() -> None:
    with Run() as run:
        done = run.call("bash", "-c", "exec > >(sleep 0.1; cat); echo last words")
        equal((done.stdout, run.result()["left"]), (b"last words\n", 0))


@test("a grandchild that holds stderr open does not hold us")
def _() -> None:
    with Run() as run:
        done = run.call("sh", "-c", f"{APP} sleep >/dev/null & exit 2", options=("--grace", "300"))
        equal((done.returncode, run.result()["left"]), (2, 1))
        run.gone()


@test("killed with SIGKILL we leave nobody behind: child, daemon, helper, a run inside the run")
def _() -> None:
    with Run() as run:
        inner = run.command(APP, "daemon")
        cases = ([APP, "grandchild", "1"], ["sh", "-c", f"{APP} daemon; {APP} sleep"], inner, ["sh", "-c", f"env -i {APP} sleep 0 {run.token}; :"],
                 ["sh", "-c", f"setsid {APP} sleep & sleep 60"])
        for command in cases:
            for options in ((), ("--helper", "exec", "--hold")):
                process = run.start(*command, options=options)
                equal(bool(read_line(process)), True)
                if command is not inner:  # whose target has ended
                    until(lambda: len(run.alive()) >= 3, "all of them to be there")
                os.kill(process.pid, signal.SIGKILL)
                process.communicate(timeout=PATIENCE)
                run.gone()


@test("killed with SIGKILL on a terminal: the target and the helper processes go, too")
def _() -> None:
    with Run() as run:
        shell = Shell(run.env)
        shell.type("$S -- $A grandchild 1")
        shell.expect("grandchild")
        supervisor = [pid for pid in run.alive(SUPERVISE) if os.getpgid(pid) == pid and os.getsid(pid) == shell.pid]
        equal(len(supervisor), 1)
        os.kill(supervisor[0], signal.SIGKILL)
        shell.prompt()
        equal(shell.do("echo status $?").strip(), b"status 137")
        until(lambda: set(run.alive()) <= {shell.pid}, "all but the shell to end")
        shell.leave()


@test("children that we had before are not the target's and are left alone")
def _() -> None:
    with Run() as run:
        script = "sleep 60 & echo $!; exec " + shlex.join(run.command("true"))
        done = subprocess.Popen(["sh", "-c", script], env=run.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        sleeper = int(read_line(done))
        equal(done.wait(timeout=PATIENCE), 0)
        equal((run.result()["left"], state(sleeper)), (0, "S"))
        os.kill(sleeper, signal.SIGKILL)
        done.communicate()


@test("end_tree() ends everybody, from a timer, and a second pair of signals cuts the grace short")
def _() -> None:
    with Run() as run:
        equal(run.call(APP, "grandchild", "1", options=("--end-after", "500")).returncode, -signal.SIGTERM)
        equal("tree 3\n" in run.events(), True)
        equal(run.result()["left"], 0)
        process = run.start(APP, "ignore-term", options=("--end-after", "100", "--grace", "100000000"))
        equal(read_line(process), b"ready\n")
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            os.kill(process.pid, signal.SIGTERM)
            time.sleep(0.1)
        equal(process.wait(timeout=1), -signal.SIGKILL)
        process.communicate()
        run.gone()


@test("a collection that never finishes can be broken off with two Ctrl-C")
def _() -> None:
    with Run() as run:
        terminal = Terminal(run.command(APP, "ok", options=("--hold",)), run.env)
        terminal.expect("note")
        until(lambda: "ended target 0" in run.events(), "the target to end")
        terminal.send(b"\x03")
        time.sleep(0.1)
        terminal.send(b"\x03")
        equal(terminal.end()[0], 0)


@test("an error of ours ends the run's processes all the same")
def _() -> None:
    with Run() as run:
        equal(run.call(APP, "grandchild", "1", options=("--fail-loop",)).returncode, 125)
        run.gone()


# ---- helpers


@test("a helper is watched, reaped and told of; it is no part of the tree")
def _() -> None:
    with Run() as run:
        equal(run.call("sh", "-c", "sleep 0.3; exit 8", options=("--helper", "5")).returncode, 8)
        equal([x for x in run.events().splitlines() if "helper" in x], ["ended helper 5", "helper says hello"]
              if run.events().startswith("ended") else ["helper says hello", "ended helper 5"])
        for kind in ("sleep", "exec"):
            equal(run.call(APP, "exit", "4", options=("--helper", kind)).returncode, 4)
            equal((run.result()["left"], "ended helper" in run.events()), (0, False))
            run.gone()


@test("processes that wait in the driver are seen by their line, and ended")
def _() -> None:
    with Run() as run:
        run.env["CUDA_DEVICE_WAITS_ON_EXCEPTION"] = "1"
        process = run.start(APP, "assert-children", "2", options=("--timeout", "100000"))
        until(lambda: len(re.findall(rb"\(PID (\d+)\) for inspection\.\n", run.stderr_so_far(process))) == 2, "both lines")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        equal((process.returncode, run.result()["left"]), (-signal.SIGTERM, 2))
        run.gone()


sys.exit(main())
