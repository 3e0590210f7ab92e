#!/usr/bin/env python3
"""Running cudatrap night after night: the configuration files, retention, the hook, redaction, the page of all faults, what the manual promises.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import lzma
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Optional

from formats_html import check_page
from frontend import APP, BUILD, CUDATRAP, FAKECUDA, PATIENCE, SRC, Bench, Skip, Tests

LAUNCHES = str(BUILD / "tests/cli/recordapp")
tests = Tests()
test = tests.add


def call(b: Bench, *words: str, env: Optional[Dict[str, str]] = None, cwd: Optional[Path] = None, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([CUDATRAP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env={**b.env, **(env or {})},
                          timeout=PATIENCE, cwd=cwd or b.dir, check=False, **more)


def plain(b: Bench, *words: str, env: Optional[Dict[str, str]] = None, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    """A run without any option of the bench's: what is set elsewhere decides."""
    return call(b, *words, "--", APP, "assert", env={"CUDATRAP_CUDA_GDB": str(b.gdb), **(env or {})}, **more)


def help_rows(b: Bench) -> str:
    """The options of --help, without what they mean."""
    return "\n".join(line[:36] for line in call(b, "--help").stdout.decode().splitlines() if line.startswith(("  -", "      --")))


# ---- Where options come from -----------------------------------------------------------------------------------


@test
def the_report_folder_can_be_given_by_the_environment(b: Bench) -> None:
    assert plain(b, env={"CUDATRAP_DIR": str(b.dir / "mine")}).returncode == 99
    assert len(list((b.dir / "mine").iterdir())) == 1
    assert plain(b, "-o", "other", env={"CUDATRAP_DIR": str(b.dir / "mine")}).returncode == 99
    assert len(list((b.dir / "other").iterdir())) == 1 and len(list((b.dir / "mine").iterdir())) == 1
    listed = call(b, "list", env={"CUDATRAP_DIR": str(b.dir / "mine")})
    assert b"1 report of 1 fault" in listed.stdout, listed
    told = call(b, "-o", "rel", "--", "sh", "-c", 'echo "$CUDATRAP_DIR"')
    assert told.stdout.decode().strip() == str(b.dir / "rel"), told  # what runs under cudatrap can find the reports


@test
def configuration_files_and_their_order(b: Bench) -> None:
    config = b.dir / "config"
    config.mkdir()
    (config / "cudatrap.conf").write_text("# mine\nerror-exitcode 41  # a comment\nreport-dir = a#b\n")
    assert plain(b).returncode == 41 and (b.dir / "a#b").is_dir()
    home = b.dir / "home"
    (home / ".config").mkdir(parents=True)
    (home / ".config/cudatrap.conf").write_text("error-exitcode=42\n")
    assert plain(b, env={"XDG_CONFIG_HOME": "", "HOME": str(home)}).returncode == 42
    (b.dir / ".cudatrap.conf").write_text("error-exitcode 43\nredact  *SSN*\n")
    assert plain(b).returncode == 43
    assert plain(b, env={"CUDATRAP_OPTIONS": "--error-exitcode=44"}).returncode == 44
    assert plain(b, "--error-exitcode=45", env={"CUDATRAP_OPTIONS": "--error-exitcode=44"}).returncode == 45


@test
def a_bad_line_of_a_configuration_file_is_named(b: Bench) -> None:
    for text, word in (("\nfrobnicate\n", b".cudatrap.conf:2: "), ("keep", b".cudatrap.conf:1: "), ("error-exitcode x\n", b".cudatrap.conf:1: "), ("report-dir", b"report-dir")):
        (b.dir / ".cudatrap.conf").write_text(text)
        done = plain(b)
        assert done.returncode == 125 and word in done.stderr and len(done.stderr.splitlines()) == 1, (text, done)


@test
def every_option_can_stand_in_a_file(b: Bench) -> None:
    names = re.findall(r"^ +(?:-\w, )?--([a-z-]+)(=[A-Z|a-z]+)?", help_rows(b), re.M)
    values = {"engine": "wait", "after-fault": "end", "timeout": "50", "grace": "1", "ending-limit": "100", "deadline": "20", "error-exitcode": "99", "dump": "light", "dump-limit": "10", "color": "never",
              "width": "90", "record-depth": "5000", "history": "4", "keep": "5", "keep-days": "5", "also": "html", "report-dir": "reports", "job-dir": "reports", "cuda-gdb": str(b.gdb), "on-report": "true"}
    config = b.dir / "config"
    config.mkdir()
    assert len(names) > 30, names
    lines = [f"{name} {values.get(name, 'x')}" if value else name for name, value in names if name not in ("help", "version", "verbose")]
    (config / "cudatrap.conf").write_text("\n".join(lines) + "\n")
    done = plain(b)
    assert done.returncode == 99, done


@test
def the_current_folders_file_is_not_trusted(b: Bench) -> None:
    mine = b.dir / ".cudatrap.conf"
    for line in ("on-report touch owned", "cuda-gdb /tmp/x", "keep 1", "keep-days 1", "command info"):
        mine.write_text(line + "\n")
        done = plain(b)
        assert done.returncode == 125 and b".cudatrap.conf:1: --" in done.stderr and b"may not stand here" in done.stderr, (line, done)
    mine.write_text("error-exitcode 43\n")
    mine.chmod(0o646)
    done = plain(b)
    assert done.returncode == 99 and b"everybody may write" in done.stderr.splitlines()[0], done
    mine.chmod(0o664)
    assert plain(b).returncode == 43
    mine.rename(b.dir / "elsewhere")
    mine.symlink_to("elsewhere")
    done = plain(b)
    assert done.returncode == 99 and b".cudatrap.conf is not read: it is a link" in done.stderr, done
    mine.unlink()
    mine.mkdir()
    done = plain(b)
    assert done.returncode == 99 and b"it is not a file" in done.stderr, done
    mine.rmdir()
    os.mkfifo(mine)
    assert b"it is not a file" in plain(b).stderr


@test
def a_file_of_another_user_is_not_read(b: Bench) -> None:
    if os.geteuid() != 0:
        raise Skip("needs root, to give a file away")
    mine = b.dir / ".cudatrap.conf"
    mine.write_text("error-exitcode 43\n")
    os.chown(mine, 12345, 12345)
    done = plain(b)
    assert done.returncode == 99 and b"it belongs to another user" in done.stderr, done


# ---- Retention --------------------------------------------------------------------------------------------------


def old_report(base: Path, day: str, host: str = "gpu7") -> Path:
    folder = base / f"{day}-010000-{host}-1-assert-k"
    folder.mkdir(parents=True)
    (folder / "incident.json").write_text('{"version": 1, "kind": "assert"}')
    (folder / "report.txt").write_text("old")
    return folder


@test
def the_newest_stay(b: Bench) -> None:
    base = b.dir / "reports"
    old = [old_report(base, f"2020010{i}") for i in range(1, 6)]
    assert b.run(["--keep", "3"], [APP, "assert"]).status == 99
    assert [o.exists() for o in old] == [False, False, False, True, True] and len(b.reports()) == 3, b.reports()
    assert not [p for p in base.iterdir() if p.name.startswith(".")], list(base.iterdir())
    assert b.run(["--keep", "1"], [APP, "assert"]).status == 99
    assert len(b.reports()) == 1 and b.reports()[0].name > "2026"


@test
def all_that_a_report_may_hold_goes_with_it(b: Bench) -> None:
    dump = b.dir / "assert.nvcore"
    dump.write_bytes(lzma.decompress((SRC / "tests/data/gpu-cores/assert.rel.nvcore.xz").read_bytes()))
    r = b.run(["--engine", "core", "--keep-dump", "--async", "--keep-record", "--also", "html"], [LAUNCHES, "unique", FAKECUDA], env={"FAKE_DUMP": str(dump)})
    assert {p.name for p in r.reports[0].iterdir()} >= {"gpu.nvcore", "launches.record", "report.html"}, list(r.reports[0].iterdir())
    assert b.run(["--keep", "1"], [APP, "assert"]).status == 99
    assert len(b.reports()) == 1 and b.reports()[0] != r.reports[0], b.reports()


@test
def reports_of_some_days_stay(b: Bench) -> None:
    base = b.dir / "reports"
    days = [time.strftime("%Y%m%d", time.gmtime(time.time() - 86400 * n)) for n in (1, 9, 30)]
    old = [old_report(base, day) for day in days]
    assert b.run(["--keep-days", "7"], [APP, "assert"]).status == 99
    assert [o.exists() for o in old] == [True, False, False], b.reports()


@test
def nothing_else_is_ever_removed(b: Bench) -> None:
    base = b.dir / "reports"
    noted = old_report(base, "20200101", "noted")
    (noted / "NOTES.md").write_text("why it failed")
    nested = old_report(base, "20200102", "nested")
    (nested / "report.d").mkdir()
    linked = old_report(base, "20200103", "linked")
    victim = b.dir / "victim"
    victim.write_text("precious")
    (linked / "report.html").symlink_to(victim)
    strange = base / "20200104-010000-no-incident"
    strange.mkdir()
    (strange / "report.txt").write_text("x")
    (base / "notes").mkdir()
    (base / "20200105-010000-a-file").write_text("x")
    away = old_report(b.dir / "away", "20200106")
    (base / away.name).symlink_to(away)
    half = base / ".20200107-010000-h-1-assert-k.tmp"  # of a process that was killed
    half.mkdir()
    deeper = old_report(base / "night1", "20200108")
    before = {p for p in base.rglob("*")} | {away / "incident.json"}
    r = b.run(["--keep", "1", "--keep-days", "1"], [APP, "assert"])
    assert r.status == 99 and before <= {p for p in base.rglob("*")} | {away / "incident.json"} and victim.read_text() == "precious", r.text()
    assert deeper.exists()


@test
def a_job_keeps_all_its_ranks(b: Bench) -> None:
    job = b.dir / "job"
    old_report(job, "20200101")
    assert b.run(["--keep", "1", "--job-dir", str(job)], [APP, "assert"], env={"RANK": "0", "WORLD_SIZE": "1"}).status == 99
    assert len([p for p in job.iterdir() if p.name != "ranks"]) == 2


@test
def runs_that_clean_up_at_once_do_not_quarrel(b: Bench) -> None:
    base = b.dir / "reports"
    for i in range(1, 30):
        old_report(base, f"202001{i:02}")
    running = [subprocess.Popen(b.command(["--keep", "2"], [APP, "assert"]), env=b.env, cwd=b.dir, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) for _ in range(4)]
    ended = [(p.communicate(timeout=PATIENCE)[1], p.returncode) for p in running]
    assert all(status == 99 and b"not all old reports" not in err for err, status in ended), ended
    assert 1 <= len(b.reports()) <= 4 and not [p for p in base.iterdir() if p.name[0] == "."], list(base.iterdir())


# ---- The hook ---------------------------------------------------------------------------------------------------


def hook(b: Bench, text: str, name: str = "hook") -> str:
    path = b.dir / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


@test
def the_hook_gets_the_folder_and_the_facts(b: Bench) -> None:
    path = hook(b, 'printf "%s|" "$@" > told; echo "$CUDATRAP_REPORT|$CUDATRAP_KIND|$CUDATRAP_SIGNATURE|${LD_PRELOAD:-none}" >> told; cat >> told; echo noise; trap\n')
    r = b.run(["--on-report", f"{path} 'two words' \"$(x)\"", "-o", "reports"], [APP, "assert"])
    told = (b.dir / "told").read_text()
    folder = str(r.reports[0])
    signature = json.loads((r.reports[0] / "summary.json").read_text())["signature"]
    assert told == f"two words|$(x)|{folder}|{folder}|assert|{signature}|none\n", told
    assert r.status == 99 and b"noise" in r.err and b"noise" not in r.out, r.text()


@test
def the_hooks_failure_is_said_and_changes_nothing(b: Bench) -> None:
    for command, word in ((hook(b, "exit 3\n"), "status 3"), ("/no/such/hook", "status 127"), (str(b.dir), "status 126"), (hook(b, "kill -9 $$\n", "killed") + " x", "signal 9")):
        r = b.run(["--on-report", command], [APP, "assert"])
        assert r.status == 99 and "--on-report" in r.text() and word in r.text(), (command, r.text())
    r = b.run(["--on-report", "a 'quote"], [APP, "ok"])
    assert r.status == 125 and "--on-report" in r.text() and "quote" in r.text(), r.text()


@test
def the_hook_runs_only_on_a_report(b: Bench) -> None:
    assert b.run(["--on-report", hook(b, "touch told\n")], [APP, "ok"]).status == 0
    assert not (b.dir / "told").exists()


# ---- Redaction --------------------------------------------------------------------------------------------------

SECRETS = ["--hf-token=hunter2a", "--password", "hunter2b", "--api_key=hunter2c d", "DB_PASSWORD=hunter2d", "https://ada:hunter2e@host/x", "AKIA" + "HUNTER2FHUNTER2F",
           "--", "sh -c \"export MY_TOKEN='hunter2g h' && run\"", "--url=postgres://u:hunter2i@db/x", "--x=ghp_" + "hunter2j" * 5, "trainer.hub.token=hunter2n", "HF_TOKEN_2=hunter2o", "sk-" + "hunter2p" * 6]
HARMLESS = ["--tokenizer=gpt2", "--max-tokens", "100", "--keyframes=3", "--monkey", "https://host/a@b", "user@host", "--lr=0.1", "--num-key-value-heads", "8", "model.max_tokens=5", "tokenizer=gpt2"]


@test
def secrets_are_in_no_file_of_a_report(b: Bench) -> None:
    env = {"CUDA_MY_SECRET": "hunter2k", "NCCL_DEBUG": "INFO", "TORCH_NCCL_API_KEY": "hunter2l", "CUDA_PROXY": "http://u:hunter2m@proxy:80/"}
    r = b.run(["--also=html,junit,markdown,sarif,gitlab,github"], [APP, "assert", "1", *SECRETS, *HARMLESS], env=env)
    assert r.status == 99, r.text()
    for path in [*r.reports[0].iterdir()]:
        assert b"unter2" not in path.read_bytes().lower(), (path, re.findall(rb".{40}unter2.{20}", path.read_bytes()))
    assert "unter2" not in r.text().lower()
    found = r.incident()
    assert found["command"][3:6] == ["--hf-token=[redacted]", "--password", "[redacted]"], found["command"]
    assert [w for w in HARMLESS if w not in found["command"]] == [], found["command"]
    environment = {e["name"]: e["value"] for e in found["environment"]}
    assert environment["CUDA_MY_SECRET"] == "[redacted]" and environment["NCCL_DEBUG"] == "INFO" and environment["CUDA_PROXY"] == "http://[redacted]@proxy:80/", environment


@test
def more_can_be_redacted(b: Bench) -> None:
    r = b.run(["--redact", "*customer*", "--redact", "acme-*"], [APP, "assert", "1", "--customer-name=bob", "--Customer", "eve", "acme-corp", "other"], env={"CUDA_CUSTOMER": "carol"})
    found = r.incident()
    assert found["command"][3:] == ["--customer-name=[redacted]", "--Customer", "[redacted]", "[redacted]", "other"], found["command"]
    assert {"name": "CUDA_CUSTOMER", "value": "[redacted]"} in found["environment"], found["environment"]


# ---- The system's log -------------------------------------------------------------------------------------------


@test
def without_a_system_log_it_says_so(b: Bench) -> None:
    if os.path.exists("/dev/log") or os.path.exists("/run/systemd/journal/socket"):
        raise Skip("this machine has a system log, which a test must not fill")
    r = b.run(["--syslog"], [APP, "assert"])
    assert r.status == 99 and "--syslog: nothing was logged" in r.text(), r.text()


# ---- The page of all faults -------------------------------------------------------------------------------------

HOSTILE = ["</script><script>alert(1)</script>", "a\nb", "\x1b[31mred", "\"'><img src=x onerror=y>", "]]>", "<!--", "\u202ertl", "&amp;"]


@test
def the_page_of_all_faults_is_whole_and_hostile_text_is_text(b: Bench) -> None:
    tree = b.dir / "tree"
    for i, text in enumerate(HOSTILE):
        folder = tree / f"a{i}"
        folder.mkdir(parents=True)
        (folder / "incident.json").write_text(json.dumps({
            "version": 1, "time_us": 1796086800000000 + i, "host": text, "kind": "assert", "command": [text], "rank": {"rank": i, "world_size": 9, "job": text},
            "gpu": {"kernel": {"name": f"void k{i}(int)"}}, "assert": {"file": text, "line": 7, "expression": text}}))
    os.rename(tree / "a0", os.path.join(os.fsencode(tree), b"a\xff<b>\n"))
    known = b.dir / "known"
    signatures = [f["signature"] for f in json.loads(call(b, "list", "--format=json", str(tree)).stdout)["faults"]]
    known.write_text(f"{signatures[0]} 2020-01-01 <old>\n{signatures[1]} 2999-01-01 \"driver\" & bug\n")
    done = call(b, "list", "--format", "html", "--known", str(known), str(tree))
    assert done.returncode == 1 and done.stderr == b"", done.stderr
    page = done.stdout.decode()  # strict: it must be UTF-8
    check_page(page)
    assert "<script" not in page and "\x1b" not in page and "\u202e" not in page and "<img" not in page, page
    assert page.count("<section>") == len(HOSTILE) and "new again" in page and "&lt;old&gt;" in page and "7 new, 1 known" in page, page[-3000:]
    check_page(call(b, "list", "--format", "html").stdout.decode())  # nothing has failed yet


# ---- The manual -------------------------------------------------------------------------------------------------

MANUAL = (SRC / "doc/cudatrap.1").read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")


@test
def the_manual_has_every_option(b: Bench) -> None:
    for name in re.findall(r"--([a-z-]+)", help_rows(b)):
        assert f"--{name}" in MANUAL, name


def status_table() -> Dict[str, str]:
    section = MANUAL[MANUAL.index(".SH EXIT STATUS"):MANUAL.index(".SH FILES")]
    table = section[section.index(".TS"):section.index(".TE")]
    return {row.split("|")[0].strip(): row.split("|")[1].strip() for row in table.splitlines() if "|" in row and not row.startswith(("tab", "l"))}


@test
def the_manuals_exit_statuses_are_those_that_come(b: Bench) -> None:
    not_executable = b.dir / "file"
    not_executable.write_text("x")
    ours = ["--cuda-gdb", str(b.gdb), "-o", str(b.dir / "reports"), "--grace", "1"]

    def status(*words: str) -> int:
        return call(b, *ours, *words).returncode

    empty = b.dir / "empty"
    empty.mkdir()
    (b.dir / "known").write_text("")
    seen = {
        "0": status("--", "true"),
        "99": status("--", APP, "assert"),
        "N": status("--error-exitcode=17", "--", APP, "assert") - 17 or "N",
        "124": status("--timeout", "0.2", "--", "sleep", "60"),
        "125": status("--no-such-option"),
        "126": status("--", str(not_executable)),
        "127": status("--", str(b.dir / "missing")),
        "1": status("list", "--known", str(b.dir / "known"), str(b.dir / "reports")),
    }
    assert {k: str(v) for k, v in seen.items()} == {k: k for k in seen}, seen
    assert status("list", "--known", str(b.dir / "known"), str(empty)) == 0 and status("merge", str(empty)) == 1 and status("list", str(b.dir / "missing")) == 125
    assert status("--", "sh", "-c", "exit 7") == 7
    assert call(b, *ours, "--", "sh", "-c", "kill -TERM $$").returncode == -15  # a shell shows 128+15
    told = set(status_table())
    assert set(seen) <= told and "128+n" in told, (told, set(seen))


@test
def recipes_name_options_that_exist(b: Bench) -> None:
    known = set(re.findall(r"--([a-z][a-z-]+)", call(b, "--help").stdout.decode()))
    names = sorted((SRC / "doc/recipes").glob("*.md"))
    assert {"torchrun.md", "slurm.md", "kubernetes.md", "ray.md", "lightning.md", "pytest.md", "jupyter.md", "ci-github.md", "ci-gitlab.md"} <= {p.name for p in names}, names
    listed = (SRC / "doc/local.mk").read_text()
    for path in names:
        assert f"doc/recipes/{path.name}" in listed, path
        for line in path.read_text().splitlines():
            for words in re.findall(r"\bcudatrap((?: +--?[a-z][^ `]*)+)", line):
                for option in re.findall(r"--([a-z][a-z-]*)", words):
                    assert option in known, (path.name, option, line)


if __name__ == "__main__":
    sys.exit(tests.run())
