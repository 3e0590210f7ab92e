#!/usr/bin/env python3
# The agent's gates: every call of the driver fails once they are shut, and who is in one comes out. TAP.
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import sys
from typing import Callable, List

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_lab import HELPERS, PATIENCE_S, Lab  # noqa: E402

PROGRAM = os.path.join(HELPERS, "agent_gate")
N_HELD = 24


def check_shut() -> None:
    lab = Lab()
    try:
        target = lab.start([PROGRAM])
        assert target.stdout and target.stdout.readline() == "ready\n"
        answer = json.loads(lab.ask(target.pid, "fail 710"))
        assert answer == {"version": 1, "pid": target.pid, "error_code": 710}, answer
        out, _ = target.communicate(timeout=PATIENCE_S)
        assert out.splitlines() == ["held" + " 710" * N_HELD, "in a callback 710", "sleep interrupted 0", "after a longjmp 710", "later 710, text 902"], out
        assert target.returncode == 3, target.returncode
    finally:
        lab.close()


def check_hold() -> None:
    lab = Lab()
    try:
        target = lab.start([PROGRAM])
        assert target.stdout and target.stdout.readline() == "ready\n"
        assert json.loads(lab.ask(target.pid, "hold"))["error_code"] == 0
        assert json.loads(lab.ask(target.pid, "fail 700"))["error_code"] == 700
        out, _ = target.communicate(timeout=PATIENCE_S)
        assert "held" + " 700" * N_HELD in out and target.returncode == 3, out
    finally:
        lab.close()


def check_refused() -> None:
    lab = Lab()
    try:
        target = lab.start([PROGRAM])
        assert target.stdout and target.stdout.readline() == "ready\n"
        for request in ("fail", "fail 0", "fail x", "fail 99999999999"):
            assert "error" in json.loads(lab.ask(target.pid, request)), request
        assert target.poll() is None
        lab.ask(target.pid, "fail 719")
        target.communicate(timeout=PATIENCE_S)
    finally:
        lab.close()


def main() -> int:
    cases: List[Callable[[], None]] = [check_shut, check_hold, check_refused]
    failed = 0
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        name = case.__name__.replace("check_", "a gate: ")
        try:
            case()
            print(f"ok {number} - {name}")
        except Exception as e:  # one case's failure must not hide the others
            failed += 1
            for line in str(e).splitlines():
                print("# " + line)
            print(f"not ok {number} - {name}")
    print(f"# {len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
