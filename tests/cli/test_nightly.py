#!/usr/bin/env python3
"""Many ranks and many nights: list and merge over made-up folders, and over what real runs of several ranks leave.

SPDX-License-Identifier: GPL-3.0-or-later
"""
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from frontend import APP, CUDATRAP, PATIENCE, Bench, Tests, wait_for

tests = Tests()
test = tests.add

NIGHT = 1796086800000000  # 2026-12-01T01:00:00Z
DAY = 86400 * 1000000
FOLLOWER = "[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)"


def call(b: Bench, *words: str, env: Optional[Dict[str, str]] = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([CUDATRAP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**b.env, **(env or {})}, timeout=PATIENCE, cwd=b.dir,
                          check=False, encoding="utf-8", errors="surrogateescape")


def incident(us: int = NIGHT, kernel: str = "void k<float>(float*)", **more: Any) -> Dict[str, Any]:
    made: Dict[str, Any] = {"version": 1, "time_us": us, "host": "gpu7", "kind": "assert", "command": ["python", "train.py"],
                            "gpu": {"kernel": {"name": kernel}}, "assert": {"file": "/src/k.cu", "line": 7, "expression": "t >= 0"}}
    made.update(more)
    return made


def put(folder: Path, document: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "incident.json").write_text(document if isinstance(document, str) else json.dumps(document))
    return folder


def rank(number: int, size: int = 4, job: Optional[str] = "4711") -> Dict[str, Any]:
    found = {"rank": number, "local_rank": number % 2, "world_size": size, "launcher": "torchrun"}
    return {**found, "job": job} if job else found


def follower(us: int, number: int, **more: Any) -> Dict[str, Any]:
    made = incident(us, rank=rank(number), kind="api-error", log=[{"kind": "follower", "text": FOLLOWER, "count": 1}], **more)
    del made["gpu"], made["assert"]
    return made


def faults(b: Bench, *words: str) -> List[Dict[str, Any]]:
    done = call(b, "list", "--format", "json", *words)
    assert done.returncode in (0, 1), done
    return list(json.loads(done.stdout)["faults"])


def merged(b: Bench, *words: str) -> Dict[str, Any]:
    done = call(b, "merge", "--format", "json", *words)
    assert done.returncode == 0, done
    return dict(json.loads(done.stdout))


def ranks_env(number: int, size: int, **more: str) -> Dict[str, str]:
    return {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(size), "TORCHELASTIC_RUN_ID": "night", **more}


# ---- list ------------------------------------------------------------------------------------------------------


@test
def reports_are_grouped_by_fault(b: Bench) -> None:
    tree = b.dir / "tree"
    for i, host in enumerate(("gpu7", "gpu8", "gpu7")):
        put(tree / f"night{i}" / f"a{i}", incident(NIGHT + i * DAY, host=host, rank=rank(i)))
    put(tree / "night0" / "b", incident(NIGHT - DAY, "void other(int)", command=["python", "eval.py"]))
    found = faults(b, str(tree))
    assert [(f["reports"], f["kernel"]) for f in found] == [(3, "k"), (1, "other")], found
    assert found[0]["hosts"] == ["gpu7", "gpu8"] and found[0]["ranks"] == [0, 1, 2] and found[0]["jobs"] == ["4711"], found[0]
    assert (found[0]["first"], found[0]["last"]) == ("2026-12-01T01:00:00.000Z", "2026-12-03T01:00:00.000Z"), found[0]
    assert found[0]["commands"] == ["python train.py"] and found[0]["newest"].endswith("night2/a2"), found[0]
    put(tree / "long", incident(NIGHT - 2 * DAY, "void other(int)", command=["x" * 119 + "\u20ac" + "y" * 100]))
    assert "  commands python eval.py, " + "x" * 119 + "...\n" in call(b, "list", str(tree)).stdout
    (tree / "long" / "incident.json").unlink()
    text = call(b, "list", str(tree))
    assert text.returncode == 0 and "device-side assert in k: t >= 0" in text.stdout and "ranks    0-2\n" in text.stdout, text.stdout
    assert text.stdout.endswith("4 reports of 2 faults\n") and text.stdout.index(" in k:") < text.stdout.index(" in other:"), text.stdout


@test
def since_is_a_date_or_a_span(b: Bench) -> None:
    tree = b.dir / "tree"
    now = int(time.time() * 1000000)
    for name, us in (("old", now - 3 * DAY), ("new", now - DAY // 2), ("undated", 0)):
        put(tree / name, incident(us, f"void {name}()"))
    assert sorted(f["kernel"] for f in faults(b, "--since", "1d", str(tree))) == ["new", "undated"]
    assert len(faults(b, "--since", "80h", str(tree))) == 3 and len(faults(b, "--since", "2020-02-29", str(tree))) == 3
    assert [f["kernel"] for f in faults(b, "--since", "2999-01-01", str(tree))] == ["undated"]
    for bad in ("yesterday", "2026-02-29", "5", "-1d", "2026-11-30T25:00"):
        done = call(b, "list", f"--since={bad}", str(tree))
        assert done.returncode == 125 and "--since" in done.stderr and len(done.stderr.splitlines()) == 1, (bad, done)


@test
def known_faults_do_not_fail_a_night(b: Bench) -> None:
    tree, known = b.dir / "tree", b.dir / "known"
    put(tree / "a", incident())
    put(tree / "b", incident(kernel="void other()"))
    signatures = {f["kernel"]: f["signature"] for f in faults(b, str(tree))}
    known.write_text(f"# ours\n\n{signatures['k']}  2999-12-31  driver bug, reported\n")
    done = call(b, "list", "--known", str(known), str(tree))
    assert done.returncode == 1 and "1 new, 1 known" in done.stdout and "known    until 2999-12-31: driver bug, reported" in done.stdout, done
    known.write_text(f"{signatures['k']} 2999-12-31 driver bug\n{signatures['other']} flaky # for years\n")
    done = call(b, "list", "--known", str(known), str(tree))
    assert done.returncode == 0 and "0 new, 2 known" in done.stdout and "flaky # for years" in done.stdout, done
    known.write_text(f"{signatures['k']} 2020-01-31 driver bug\n{signatures['other']} flaky\n")
    done = call(b, "list", "--known", str(known), str(tree))
    assert done.returncode == 1 and "no more, since the end of 2020-01-31: driver bug" in done.stdout, done
    row = next(f for f in faults(b, "--known", str(known), str(tree)) if f["kernel"] == "k")
    assert row["new"] and row["known"] == {"reason": "driver bug", "expired": True, "until": "2020-01-31"}, row
    known.write_text(f"{signatures['k']} fine\n{signatures['k'].upper()[:-1]}Z no\n")
    done = call(b, "list", "--known", str(known), str(tree))
    assert done.returncode == 125 and f"{known}:2: " in done.stderr and done.stdout == "", done
    assert call(b, "list", "--known", "/no/such", str(tree)).returncode == 125


@test
def nothing_failed_is_no_error(b: Bench) -> None:
    done = call(b, "list")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 reports of 0 faults\n", ""), done
    (b.dir / "known").write_text("")
    assert call(b, "list", "--known", "known").returncode == 0
    assert json.loads(call(b, "list", "--format", "json").stdout)["faults"] == []
    done = call(b, "list", "no-such-folder")
    assert done.returncode == 125 and "no-such-folder" in done.stderr, done
    done = call(b, "list", "--format", "pdf")
    assert done.returncode == 125 and "pdf" in done.stderr, done


@test
def what_is_no_report_is_counted_and_named(b: Bench) -> None:
    tree = b.dir / "tree"
    put(tree / "good", incident())
    put(tree / "half", '{"version": 1, "kind": "ass')
    put(tree / "foreign", '{"name": "npm"}')
    put(tree / "empty", "")
    (tree / "fifo").mkdir()
    os.mkfifo(tree / "fifo" / "incident.json")
    (tree / "dir" / "incident.json").mkdir(parents=True)
    (tree / "link").mkdir()
    (tree / "link" / "incident.json").symlink_to("/etc/passwd")
    put(tree / ".being-written.tmp", incident())
    put(tree / "bad-summary", incident())
    (tree / "bad-summary" / "summary.json").write_text("{")
    put(tree / "old-summary", incident(kernel="void truth()"))
    (tree / "old-summary" / "summary.json").write_text(json.dumps(
        {"version": 1, "signature_version": 0, "signature": "0" * 16, "kind": "assert", "time_us": NIGHT, "kernel": "stale"}))
    done = call(b, "list", "-v", str(tree))
    assert done.returncode == 0 and "3 reports of 2 faults; 6 could not be read" in done.stdout and "truth" in done.stdout, done
    assert len(done.stderr.splitlines()) == 6, done.stderr
    for name in ("half", "foreign", "empty", "fifo", "dir", "link"):
        assert f"skipped {tree}/{name}: incident.json" in done.stderr, (name, done.stderr)
    assert call(b, "list", str(tree)).stderr == ""


@test
def loops_and_depth_are_survived(b: Bench) -> None:
    tree = b.dir / "tree"
    put(tree / "a", incident())
    (tree / "loop").symlink_to(tree)
    deep = tree
    for i in range(40):
        deep = deep / "d"
    put(deep / "x", incident())
    (b.dir / "door").symlink_to(tree)
    done = call(b, "list", "-v", str(b.dir / "door"), str(tree) + "/", str(tree / "a"))
    assert done.returncode == 0 and "1 report of 1 fault;" in done.stdout and "nested too deep" in done.stderr, done


@test
def hostile_text_stays_text(b: Bench) -> None:
    tree = b.dir / "tree"
    put(tree / "a\n\x1b[31mb", incident(host="h\x1b[2J\nx</script>", command=["a\nb", "\u202e"], kernel="void <script>\x07()"))
    os.mkdir(os.fsencode(tree) + b"/\xff\xfe")
    Path(os.fsdecode(os.fsencode(tree) + b"/\xff\xfe/incident.json")).write_text("nonsense")
    for words in (("list", "-v"), ("list", "--format", "json", "-v"), ("merge",)):
        done = call(b, *words, str(tree))
        assert done.returncode == 0 and not any(c in done.stdout + done.stderr for c in "\x1b\x07\u202e"), (words, done)
    row = faults(b, str(tree))[0]
    assert row["hosts"] == ["h\ufffd[2J x</script>"] and "\n" not in row["newest"], row


# ---- runs of ranks ---------------------------------------------------------------------------------------------


@test
def the_rank_is_in_the_report(b: Bench) -> None:
    for env, want in ((ranks_env(3, 8), {"rank": 3, "local_rank": 3, "world_size": 8, "job": "night", "launcher": "torchrun"}),
                      ({"SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_NTASKS": "16", "SLURM_JOB_ID": "4711"},
                       {"rank": 5, "local_rank": 1, "world_size": 16, "job": "4711", "launcher": "slurm"}),
                      ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
                       {"rank": 1, "local_rank": 0, "world_size": 2, "launcher": "openmpi"})):
        fresh = Bench()
        r = fresh.run([], [APP, "assert"], env=env)
        found = r.incident()
        assert found["rank"] == want and found["monotonic_us"] > 0 and len(found["boot_id"]) == 36, found["rank"]
        line = f"{want['rank']} of {want['world_size']} (local {want['local_rank']}), host {found['host']}" + (f", job {want['job']}" if "job" in want else "")
        assert re.search(rf"^  rank +{re.escape(line)}$", r.text(), re.M), r.text()
        summary = json.loads((r.reports[0] / "summary.json").read_text())
        assert summary["rank"] == want["rank"] and len(summary["signature"]) == 16 and f"signature {summary['signature']}" in r.text(), summary
    assert "rank" not in Bench().run([], [APP, "assert"]).incident()


@test
def one_supervisor_over_several_ranks_names_the_one_that_failed(b: Bench) -> None:
    launcher = f"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 {APP} sleep 100 & RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 {APP} assert; wait"
    r = b.run([], ["sh", "-c", launcher])
    found = r.incident()
    assert r.status == 99 and found["rank"]["rank"] == 1 and found["process"]["descendant"], found["rank"]
    assert b.leftovers() == []


@test
def ranks_that_fail_together_share_a_folder(b: Bench) -> None:
    n = 4
    running = [subprocess.Popen(b.command(["-q", "--job-dir", str(b.dir / "job")], [APP, "assert", "1"]), stderr=subprocess.PIPE, cwd=b.dir,
                                env={**b.env, **ranks_env(i, n)}) for i in range(n)]
    for p in running:
        _, err = p.communicate(timeout=PATIENCE)
        assert p.returncode == 99, err
    names = sorted(p.name for p in (b.dir / "job").iterdir())
    assert len(names) == n + 1 and "ranks" in names and not any(x.startswith(".") for x in names), names
    assert len(list((b.dir / "job" / "ranks").iterdir())) == n
    found = merged(b, str(b.dir / "job"))
    assert [c["text"] for c in found["consequences"]][0].endswith("(3 reports): the same fault"), found["consequences"]
    assert any(x.startswith("4 reports of job night from 1 host: rank ") and x.endswith(" failed first") for x in found["notes"]), found["notes"]
    assert not any("left no report" in x or "no trace" in x for x in found["notes"]), found["notes"]
    row, = faults(b, str(b.dir / "job"))
    assert row["reports"] == n and row["ranks"] == [0, 1, 2, 3], row


@test
def ranks_that_vanish_are_named(b: Bench) -> None:
    job = ["--job-dir", str(b.dir / "job"), "-q"]
    r = b.run(job, [APP, "assert"], env=ranks_env(0, 6))
    assert r.status == 99
    assert b.run(job, [APP, "ok"], env=ranks_env(1, 6)).status == 0
    assert b.run(job, ["sh", "-c", "kill -KILL $$"], env=ranks_env(2, 6)).status == -signal.SIGKILL
    assert b.run(job, ["sh", "-c", f"echo '{FOLLOWER}' >&2; exit 1"], env=ranks_env(3, 6)).status == 1
    lost = subprocess.Popen(b.command(job, [APP, "sleep"]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=b.dir, env={**b.env, **ranks_env(4, 6)})
    assert lost.stdout is not None and lost.stdout.readline() == b"ready\n"
    lost.kill()
    lost.communicate(timeout=PATIENCE)
    wait_for(lambda: [x for x in b.leftovers() if not x.startswith("cudatrap-")] == [])
    notes = merged(b, str(b.dir / "job"))["notes"]
    def note(start: str) -> str:
        return next((x for x in notes if x.startswith(start + " ")), f"no note on {start}: {notes}")
    assert "died of SIGKILL and left no report" in note("rank 2"), notes
    assert "ended with status 1 and left no report; the output speaks of another rank's fault" in note("rank 3"), notes
    assert "left neither report nor end" in note("rank 4"), notes
    assert "left no trace here" in note("rank 5 of 6"), notes
    assert not any(x.startswith("rank 1 ") for x in notes), notes


@test
def markers_alone_still_tell_who_vanished(b: Bench) -> None:
    assert b.run(["--job-dir", str(b.dir / "job")], ["sh", "-c", "exit 3"], env=ranks_env(0, 1)).status == 3
    done = call(b, "merge", str(b.dir / "job"))
    assert done.returncode == 1 and done.stdout == "" and "rank 0 on" in done.stderr and "ended with status 3 and left no report" in done.stderr, done
    done = call(b, "merge")
    assert done.returncode == 1 and "no report" in done.stderr, done


@test
def without_job_dir_nothing_is_left_when_nothing_fails(b: Bench) -> None:
    assert b.run([], [APP, "ok"], env=ranks_env(0, 2)).status == 0
    assert not (b.dir / "reports").exists() and b.leftovers() == []
    r = b.run(["--job-dir", str(b.dir / "job"), "-v"], [APP, "ok"])
    assert r.status == 0 and not (b.dir / "job").exists() and "no launcher's rank" in r.text(), r.text()


@test
def a_job_dir_that_cannot_be_written_costs_only_the_markers(b: Bench) -> None:
    (b.dir / "blocked").write_text("a file")
    r = b.run(["--job-dir", str(b.dir / "blocked")], [APP, "ok"], env=ranks_env(0, 2))
    assert r.status == 0 and r.out == b"ok\n" and r.text().count("cudatrap: --job-dir: ") == 1, r.text()


# ---- merge -----------------------------------------------------------------------------------------------------


@test
def the_first_fault_is_not_the_first_complaint(b: Bench) -> None:
    tree = b.dir / "tree"
    put(tree / "r1", follower(NIGHT - 500000, 1))
    put(tree / "r2", incident(NIGHT, rank=rank(2), host="gpu8"))
    put(tree / "r0", follower(NIGHT + 1500000, 0))
    put(tree / "r3", incident(NIGHT + 250000, "void second()", rank=rank(3)))
    found = merged(b, str(tree))
    assert found["rank"]["rank"] == 2 and found["gpu"]["kernel"]["name"] == "void k<float>(float*)", found
    followers, second = found["consequences"]
    assert followers["text"] == "ranks 0,1 on gpu7 (2 reports): speaks of another rank's fault: " + FOLLOWER and followers["seconds_after"] == -0.5, followers
    assert second["text"].startswith("rank 3 on gpu7: another fault, device-side assert in second: t >= 0 (signature ") and "pid" not in second, second
    assert any("rank 3 on gpu7 failed 0.2 s later by the clock of another machine" in x for x in found["notes"]), found["notes"]
    text = call(b, "merge", str(tree))
    assert text.stdout.startswith("cudatrap: 4 reports of job 4711 from 2 hosts: rank 2 on gpu8 failed first\n\ncudatrap: device-side assert in k"), text.stdout
    assert "2 of 4 (local 0), host gpu8, job 4711" in text.stdout and "pid 0" not in text.stdout, text.stdout
    assert f"report: {tree / 'r2'}" in text.stdout, text.stdout


@test
def the_monotonic_clock_orders_one_machine(b: Bench) -> None:
    tree = b.dir / "tree"
    put(tree / "late", incident(NIGHT - 5000000, rank=rank(0), boot_id="b1", monotonic_us=9000000))  # the wall clock was set back in between
    put(tree / "early", incident(NIGHT, rank=rank(1), boot_id="b1", monotonic_us=7000000))
    found = merged(b, str(tree))
    assert found["rank"]["rank"] == 1 and found["consequences"][0]["seconds_after"] == 2, found["consequences"]
    assert not any("clock" in x for x in found["notes"]), found["notes"]


@test
def followers_alone_are_said_to_be_that(b: Bench) -> None:
    put(b.dir / "tree" / "r1", follower(NIGHT, 1))
    put(b.dir / "tree" / "r0", follower(NIGHT + 1, 0))
    notes = merged(b, "tree")["notes"]
    assert any("none has one of its own" in x for x in notes) and any(x.startswith("ranks 2,3 of 4 left no report") for x in notes), notes
    assert "NCCL_DEBUG" not in str(merged(Bench(), str(put(b.dir / "other" / "r", incident(rank=rank(0)))))), "advice only where it applies"


@test
def two_jobs_in_one_folder_are_told_apart(b: Bench) -> None:
    tree = b.dir / "tree"
    put(tree / "a", incident(rank=rank(0, job="4711")))
    put(tree / "b", incident(rank=rank(1, job="4712")))
    put(tree / "c", incident(NIGHT + 1, rank=rank(2, job=None)))
    done = call(b, "merge", str(tree))
    assert done.returncode == 125 and done.stdout == "" and "4711, 4712" in done.stderr and "--job" in done.stderr, done
    found = merged(b, "--job", "4712", str(tree))
    assert found["rank"]["job"] == "4712" and len(found["consequences"]) == 1, found
    assert call(b, "merge", "--job", "1", str(tree)).returncode == 0, "the one without a job may be of any"
    put(tree / "d", incident(NIGHT + 3 * DAY, rank=rank(2, job="4712")))
    assert any("spread over 72 hours" in x for x in merged(b, "--job", "4712", str(tree))["notes"])
    assert merged(b, "--job", "4712", "--since", "2026-12-02", str(tree))["rank"]["rank"] == 2


@test
def a_first_report_that_is_damaged_leaves_its_summary(b: Bench) -> None:
    r = b.run(["-q"], [APP, "assert"], env=ranks_env(1, 2))
    (r.reports[0] / "incident.json").write_text("{")
    found = merged(b, str(b.dir / "reports"))
    assert found["rank"]["rank"] == 1 and any("only the summary of the first report could be read" in x for x in found["notes"]), found


@test
def five_thousand_ranks_are_one_page(b: Bench) -> None:
    n = 5000
    for i in range(n):
        folder = b.dir / "tree" / f"r{i}"
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text(json.dumps({
            "version": 1, "signature_version": 1, "signature": "0123456789abcdef", "kind": "assert" if i == 4321 else "unknown", "own_fault": i == 4321,
            "time_us": NIGHT + (0 if i == 4321 else 1000 + i), "host": f"gpu{i // 8}", "rank": i, "world_size": n + 2, "job": "big", "kernel": "k",
            **({} if i == 4321 else {"follower": FOLLOWER})}))
    done = call(b, "merge", str(b.dir / "tree"))
    assert done.returncode == 0 and "5000 reports of job big from 625 hosts: rank 4321 on gpu540 failed first" in done.stdout, done.stderr
    assert "ranks 0-4320,4322-4999" in done.stdout and "ranks 5000,5001 of 5002 left no report" in done.stdout and len(done.stdout) < 5000, done.stdout


if __name__ == "__main__":
    sys.exit(tests.run())
