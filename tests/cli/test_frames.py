#!/usr/bin/env python3
"""What a report tells about the user's own frames: the lines around them. All with stand-ins for driver and debugger.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import subprocess
import sys
from typing import Any, Dict, List

from frontend import CUDATRAP, PATIENCE, Bench, Tests
from pyprogram import run

tests = Tests()
test = tests.add
BODY = """
def train():
    labels = [1, 2, 3]
\tif labels: fault()  # here
    return labels

train()
""".replace("\t", "    ")


def frames(incident: Dict[str, Any], file: str) -> List[Dict[str, Any]]:
    return [f for t in incident["threads"] for f in t["frames"] + t.get("python", []) if f.get("file", "").endswith(file)]


@test
def user_frames_have_the_lines_around(b: Bench) -> None:
    got = run(b, BODY, "--also=html,markdown")
    found = next(f for f in frames(got.incident(), "program.py") if f["function"] == "train")
    lines = (b.dir / "program.py").read_text().split("\n")
    assert found["excerpt"] == lines[found["line"] - 4:found["line"] + 3], found
    assert found["excerpt_line"] == found["line"] - 3 and lines[found["line"] - 1].strip() == found["source"], found
    page, markdown, text = [(got.reports[0] / name).read_text() for name in ("report.html", "report.md", "report.txt")]
    assert f'<summary>lines {found["line"] - 3} to {found["line"] + 3}</summary>' in page
    assert "<strong><code>    if labels: fault()  # here</code></strong>" in page
    # The innermost frame of the user's is the one that calls into the driver's stand-in.
    assert "\n### Source\n" in markdown and "    fake.fake_launch(1)\n" in markdown, markdown
    assert "labels = [1, 2, 3]" not in text, text


@test
def the_shell_shows_them_with_the_frame(b: Bench) -> None:
    got = run(b, BODY)
    thread = next(t for t in got.incident()["threads"] if any(f.get("function") == "train" for f in t["frames"]))
    number, frame = next((i, f) for i, f in enumerate(thread["frames"]) if f.get("function") == "train")
    said = subprocess.run([CUDATRAP, "shell", "-c", f"frame {number}", str(got.reports[0])], stdout=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=True).stdout.decode()
    line = frame["line"]
    assert f"\n  > {line:5}      if labels: fault()  # here\n    {line + 1:5}      return labels\n" in said, said


@test
def secrets_in_sources_are_left_out(b: Bench) -> None:
    got = run(b, BODY.replace("labels = [1, 2, 3]", "labels = 1; db_password = 'hunter2'"), "--also=html,markdown")
    for path in got.reports[0].iterdir():
        assert "hunter2" not in path.read_text(), path
    assert any("    labels = 1; db_password = '[redacted]'" in f.get("excerpt", []) for f in frames(got.incident(), "program.py"))


@test
def a_file_that_was_changed_meanwhile_is_not_shown(b: Bench) -> None:
    change = "\nimport os, time\nos.utime(__file__, (time.time() + 3600,) * 2)\n"
    got = run(b, change + BODY, "--also=html")
    found = frames(got.incident(), "program.py")
    assert found and not any("excerpt" in f for f in found), found
    assert [n for n in got.incident()["notes"] if "program.py was changed after the process began" in n], got.incident()["notes"]
    page = (got.reports[0] / "report.html").read_text()
    assert ">fake.fake_launch(1)<" in page and ">    fake.fake_launch(1)<" not in page


@test
def library_frames_have_none(b: Bench) -> None:
    body = "import sys\nsys.path.insert(0, 'site-packages')\nimport library\nlibrary.call(fault)\n"
    folder = b.dir / "site-packages"
    folder.mkdir()
    (folder / "library.py").write_text("def call(f):\n    f()\n")
    got = run(b, body)
    library = frames(got.incident(), "library.py")
    assert library and library[0]["source"] == "f()" and "excerpt" not in library[0], library
    assert any("excerpt" in f for f in frames(got.incident(), "program.py"))


LOCALS = """
STEPS = 3
def train(rate, shape=(3, 224), db_password="hunter2"):
    note, hf_token, model = "it's", "abc", object()
    fault()
train(0.1)
"""


def plain(incident: Dict[str, Any], function: str) -> Dict[str, str]:
    return {row["name"]: row["value"] for row in incident["python_locals"] if row["function"] == function}


@test
def plain_locals_of_user_frames_are_told(b: Bench) -> None:
    got = run(b, LOCALS, "--also=html,markdown")
    found = got.incident()
    assert plain(found, "train") == {"rate": "0.1", "shape": "(3, 224)", "note": '"it\'s"', "hf_token": "[redacted]", "db_password": "[redacted]"}, found["python_locals"]
    assert plain(found, "<module>") == {"STEPS": "3"}, found["python_locals"]
    page, markdown, text = [(got.reports[0] / name).read_text() for name in ("report.html", "report.md", "report.txt")]
    assert "<h2>Python locals</h2>" in page and "<code>(3, 224)</code>" in page and "hunter2" not in page
    assert "(3, 224)" not in text.replace("shape=(3, 224)", "") and "rate = 0.1" not in markdown
    said = subprocess.run([CUDATRAP, "shell", "-c", "python locals", str(got.reports[0])], stdout=subprocess.PIPE, env=b.env, timeout=PATIENCE, check=True).stdout.decode()
    assert "  rate = 0.1\n  shape = (3, 224)\n" in said and "  STEPS = 3\n" in said and said.startswith("train  "), said


if __name__ == "__main__":
    sys.exit(tests.run())
