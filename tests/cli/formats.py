#!/usr/bin/env python3
"""Every format of `cudatrap report`, over the recorded incidents and over what can be made of them, against the rules of its readers.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import formats_rules as rules  # noqa: E402
from formats_html import check_page  # noqa: E402

CASES = Path(os.environ["top_srcdir"]) / "tests/data/render"
CUDATRAP = str(Path(os.environ["top_builddir"]) / "cudatrap")
PATIENCE = 300  # seconds; only a broken program needs them
ROUNDS = 12  # changed copies of each case

CHECKS: Dict[str, Callable[[str], Any]] = {
    "html": check_page, "markdown": rules.check_markdown, "junit": rules.check_junit, "sarif": rules.check_sarif, "gitlab": rules.check_gitlab, "github": rules.check_github,
}
# The first bytes of a document, by which several on one stream are told apart.
STARTS = {"html": "<!DOCTYPE html>\n", "markdown": "## ", "junit": "<?xml ", "sarif": "{\n", "gitlab": "[\n", "github": "::error "}
TEXTS = ["", " ", "\n", "`", "``````", "</script><script>alert(1)</script>", "]]>", "<!--", "&lt;", "\"'><img src=x onerror=y>", "@ada", "#12 GH-1 deadbeef", "[a](http://b)",
         "|a|b|", "\\", "\x1b[31m\x00\x07", "\u202e\ufffe\uffff", "%0A%25", "::error::", "a" * 20000, "/", "./", "<stdin>", "http://x/y", "C:\\x\\y.cu", "é人" * 50]
NUMBERS = [0, 1, 31, 32, 63, 64, 65, 4095, 65536, 2**31 - 1, 2**32 - 1]


def mutated(value: Any, random_: random.Random) -> Any:
    """A copy with some texts, numbers and lengths of lists changed; words of the tables mostly stay, so that many are still incidents."""
    if isinstance(value, dict):
        return {k: v if k in ("version", "time_us") or random_.random() < 0.3 else mutated(v, random_) for k, v in value.items() if random_.random() > 0.01}
    if isinstance(value, list):
        items = [mutated(v, random_) for v in value]
        return items * 3 if items and random_.random() < 0.02 and not isinstance(items[0], int) else items
    if isinstance(value, bool) or random_.random() < 0.6:
        return value
    if isinstance(value, str) and not value.startswith("0x") and value not in WORDS:
        return random_.choice(TEXTS) + (value if random_.random() < 0.5 else "")
    return random_.choice(NUMBERS) if isinstance(value, int) and value >= 0 else value


WORDS = set("unknown assert exception trap api-error hang assert-pc trap-pc running log image debugger assert-printf waiting cuda-error dump follower other native python ok "
            "partial failed timed-out skipped exited signaled ended-by-us".split())


def render(format_: str, files: List[Path]) -> str:
    done = subprocess.run([CUDATRAP, "report", "--format", format_, *map(str, files)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:2000]
    return done.stdout.decode()  # strict: it must be UTF-8


def is_incident(path: Path) -> bool:
    return subprocess.run([CUDATRAP, "report", "--format", "json", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False).returncode == 0


def changed_incidents(folder: Path, cases: List[Path]) -> List[Path]:
    random_ = random.Random(1)
    files = []
    for case in cases:
        original = json.loads((case / "incident.json").read_text())
        for number in range(ROUNDS):
            path = folder / f"{case.name}-{number}.json"
            path.write_text(json.dumps(mutated(copy.deepcopy(original), random_)))
            if is_incident(path):
                files.append(path)
    return files


def check_recorded(format_: str, cases: List[Path]) -> None:
    for case in cases:
        try:
            CHECKS[format_](render(format_, [case]))
        except Exception as e:
            raise AssertionError(f"{case.name}: {type(e).__name__}: {e}") from e


def check_changed(format_: str, files: List[Path]) -> None:
    for path in files:
        try:
            CHECKS[format_](render(format_, [path]))
        except Exception as e:
            raise AssertionError(f"{path.read_text()[:3000]}: {type(e).__name__}: {e}") from e


def check_several(format_: str, cases: List[Path]) -> None:
    text = render(format_, [cases[0], cases[1]])
    assert text == render(format_, [cases[0]]) + render(format_, [cases[1]]) and text.startswith(STARTS[format_])


def check_hostile_text_is_text(cases: List[Path]) -> None:
    """Of what is in the fields, nothing became an element, and all of it is there to read."""
    case = next(c for c in cases if c.name == "markup")
    page = render("html", [case])
    assert "&lt;b onload=" in page and "<b " not in page and "\x1b" not in page and "\u202e" not in page and "\ufffe" not in page
    assert "<b onload=\"x\">'&amp;]]></script><![CDATA[ ``` ` @ada #12 |x| [l](http://e.x) <!-- **w**" in check_page(page)


def check_bounds(folder: Path, cases: List[Path]) -> None:
    """A picture of a huge grid is no larger than that of a small one; a stack of any depth is a page."""
    incident = json.loads((next(c for c in cases if c.name == "cpp-assert-two-blocks") / "incident.json").read_text())
    incident["gpu"]["kernel"]["grid_dim"] = [2**31 - 1, 65535, 65535]
    last = [2**31 - 2, 65534, 65534]
    incident["gpu"]["groups"][0]["block_runs"] = [{"first": [0, 0, 0], "last": last, "count": (2**31 - 1) * 65535 * 65535}]
    thread = incident["threads"][0]
    thread["frames"] = [{"kind": "python", "function": "visit", "file": "/w/tree.py", "line": i + 1} for i in range(20000)]
    path = folder / "huge.json"
    path.write_text(json.dumps(incident))
    page = render("html", [path])
    text = check_page(page)
    assert len(page) < 400000, len(page)
    assert "19,600 more lines" in text and "Each cell stands for" in text
    rules.check_markdown(render("markdown", [path]))
    rules.check_sarif(render("sarif", [path]))


def main() -> int:
    cases = sorted(p.parent for p in CASES.glob("*/incident.json"))
    with tempfile.TemporaryDirectory(prefix="ct-formats-") as name:
        folder = Path(name)
        files = changed_incidents(folder, cases)
        tests: List[Any] = [("there are cases, and changed ones that can be read", lambda: len(cases) >= 10 and len(files) >= 30 or exit_with(f"{len(cases)}, {len(files)}"))]
        for f in CHECKS:
            tests.append((f"{f}: recorded incidents", lambda f=f: check_recorded(f, cases)))
            tests.append((f"{f}: changed incidents", lambda f=f: check_changed(f, files)))
            tests.append((f"{f}: one document a file", lambda f=f: check_several(f, cases)))
        tests.append(("hostile text is text", lambda: check_hostile_text_is_text(cases)))
        tests.append(("huge grids and deep stacks are bounded", lambda: check_bounds(folder, cases)))
        print(f"1..{len(tests)}")
        failed = 0
        for number, (what, function) in enumerate(tests, 1):
            try:
                function()
            except Exception as e:  # a test that breaks is a test that failed
                failed += 1
                for line in f"{type(e).__name__}: {e}".splitlines():
                    print("# " + line)
                print(f"not ok {number} - {what}")
            else:
                print(f"ok {number} - {what}")
            sys.stdout.flush()
    return 1 if failed else 0


def exit_with(what: str) -> None:
    raise AssertionError(what)


if __name__ == "__main__":
    sys.exit(main())
