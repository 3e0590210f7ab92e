#!/usr/bin/env python3
"""Every transcript in the tutorial and in README is what the tool says: run again here, or taken from a recorded session. TAP.

A ```console block has a comment before it: `<!-- run: SHELL COMMAND -->`, on recorded data in the source folder, or
`<!-- session: NAME: COMMAND; COMMAND -->`, from tests/gpu/recorded/NAME.txt, or `<!-- recorded: FILE -->`, the file itself.
UPDATE_GOLDEN=1 writes the blocks anew. SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List, Match

SRC = Path(os.environ.get("top_srcdir", Path(__file__).resolve().parents[2])).resolve()
BUILD = Path(os.environ.get("top_builddir", ".")).resolve()
PAGES = ("doc/tutorial.md", "README.md")
BLOCK = re.compile(r"<!-- (run|session|recorded): (.*?) -->\n```console\n(.*?)```\n", re.S)


def run(command: str) -> str:
    """As somebody in the source folder with cudatrap in PATH would see it; 100 columns wide."""
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("CUDATRAP_")}, "PATH": f"{BUILD}:{os.environ['PATH']}", "CUDATRAP_DATA": str(SRC / "data"), "LC_ALL": "C.UTF-8",
           "CUDATRAP_OPTIONS": "--width=100"}
    done = subprocess.run(command, shell=True, cwd=SRC, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return f"$ {command}\n{done.stdout.decode(errors='replace')}"


def session(name: str, commands: List[str]) -> str:
    """The answers of a recorded cuda-gdb session to these commands."""
    text = (SRC / "tests/gpu/recorded" / f"{name}.txt").read_text()
    answers = {}
    for part in text.split("(cuda-gdb) ")[1:]:
        command, _, answer = part.partition("\n")
        answers.setdefault(command.strip(), answer)
    return "".join(f"(cuda-gdb) {c}\n{answers[c]}" for c in commands)


def wanted(kind: str, what: str) -> str:
    if kind == "run":
        return run(what)
    if kind == "recorded":
        return (SRC / what).read_text()
    name, _, commands = what.partition(": ")
    return session(name, [c.strip() for c in commands.split("; ")])


def check(page: str) -> List[str]:
    """What is wrong with a page."""
    path = SRC / page
    text = path.read_text()
    wrong: List[str] = []

    def one(match: Match[str]) -> str:
        got = wanted(match[1], match[2])
        got += "" if got.endswith("\n") else "\n"
        if got != match[3]:
            wrong.append(f"{page}: {match[1]}: {match[2]}\n--- in the page\n{match[3]}--- is\n{got}")
        return f"<!-- {match[1]}: {match[2]} -->\n```console\n{got}```\n"

    fresh = BLOCK.sub(one, text)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(fresh)
        return []
    if text.count("```console\n") != len(BLOCK.findall(text)):
        wrong.append(f"{page}: a console block without a comment that says where it is from")
    return wrong


def main() -> int:
    failed = 0
    print(f"1..{len(PAGES)}")
    for number, page in enumerate(PAGES, 1):
        wrong = check(page)
        failed += bool(wrong)
        for line in "\n".join(wrong).splitlines():
            print("# " + line)
        print(f"{'not ok' if wrong else 'ok'} {number} - transcripts of {page}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
