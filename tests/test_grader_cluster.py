"""On a Dask cluster each notebook is graded once, also when a worker is lost; errors say what."""

import json
import os
import signal
import sys

import pytest
from learners import content, save

from mha_lessons.grade import batch, cluster, command
from mha_lessons.grade.journal import Journal
from mha_lessons.grade.report import as_plain

REQUIRED = os.environ.get("MHA_REQUIRE_PEERS") == "1"
WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x\n"
SLOW = "import time\ntime.sleep(1)\n"
UNUSED = "tcp://127.0.0.1:9"  # nobody serves there
GRADE = "--timeout=30"


@pytest.fixture(scope="module")
def workers():
    """Start a cluster with two workers, each a process of its own, restarted when it is lost."""
    if not REQUIRED:
        pytest.importorskip("distributed")
    import dask
    from distributed import LocalCluster

    quiet = {
        "distributed.logging": {"distributed": "critical"},
        "distributed.admin.tick.limit": "1h",
    }
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60
        ) as started,
    ):
        yield started


def class_of(folder, number, slow=""):
    """Write notebooks of which every third has a mistake, and one that is broken."""
    files = []
    for index in range(number):
        made = content(split_heads=slow + WRONG) if index % 3 == 0 else content()
        made["metadata"]["number"] = index  # no two are equal
        files.append(save(made, folder / f"{index}.ipynb"))
    files[1].write_text("{", encoding="utf-8")
    return files


def without_seconds(submission):
    plain = as_plain(submission)
    for row in plain["rows"]:
        row["seconds"] = 0
    return plain


def test_a_lost_worker_loses_no_notebook_and_grades_none_twice(workers, tmp_path):
    files = class_of(tmp_path / "class", 5, SLOW)
    journal = Journal(tmp_path / "journal")
    found = []
    for submission in cluster.grade_all(workers.scheduler_address, files, 30, journal=journal):
        found.append(submission)
        if len(found) == 1:  # both workers are at one of the others
            lost = next(iter(workers.workers.values())).process.process.pid
            os.kill(lost, signal.SIGKILL)
    journal.close()
    assert [submission.passed for submission in found] == [4, 0, 8, 4, 8]
    assert [submission.file for submission in found] == list(map(str, files))
    kept = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()[1:]]
    assert len(kept) == len({entry["key"] for entry in kept}) == 4  # all but the broken one
    here = batch.grade_all(files[:2], 30)  # the same words as without a cluster
    assert list(map(without_seconds, found[:2])) == list(map(without_seconds, here))


def test_what_a_journal_knows_is_not_sent(workers, tmp_path, monkeypatch, capsys):
    (file,) = files = class_of(tmp_path / "class", 2)[:1]
    call = ["grade", str(file), GRADE, "--resume", str(tmp_path / "journal"), "--scheduler"]
    assert command.main([*call, workers.scheduler_address]) == 1
    monkeypatch.setattr(cluster, "_content", None)  # sending would fail
    assert command.main([*call, workers.scheduler_address]) == 1
    first, second = capsys.readouterr().out.split("02_split_heads:")[1:]
    assert first == second
    assert files == [file]


def refused(capsys, *arguments):
    """Return the one sentence that a call gets."""
    status = command.main(["grade", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    return err


def test_workers_with_another_version_are_refused(workers, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "lessons", lambda: "another")  # here, and not in the workers
    (file, _) = class_of(tmp_path, 2)
    said = refused(capsys, file, "--scheduler", workers.scheduler_address)
    assert "All workers must have the mha_lessons that is installed here: tcp://127.0.0.1:" in said
    assert "and 1 more has another one, or none. Install the same version there." in said


def test_a_worker_that_comes_later_with_another_version_grades_nothing(tmp_path):
    with pytest.raises(cluster.OtherVersionError, match="has another version of mha_lessons"):
        cluster._grade_here("a.ipynb", b"", 10, False, "another")


def test_a_scheduler_without_workers_is_refused(tmp_path, capsys):
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    (file, _) = class_of(tmp_path, 2)
    with LocalCluster(n_workers=0, dashboard_address=":0", processes=False) as empty:
        said = refused(capsys, file, "--scheduler", empty.scheduler_address)
    assert "has no workers. Start one with: dask worker " in said


@pytest.mark.parametrize("address", [UNUSED, "no address", "http://127.0.0.1:9"])
def test_a_scheduler_that_does_not_answer_is_named(tmp_path, monkeypatch, capsys, address):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "SECONDS_TO_ANSWER", 0.3)
    (file, _) = class_of(tmp_path, 2)
    said = refused(capsys, file, "--scheduler", address)
    assert f"No Dask scheduler answers at {address} (" in said
    assert "Start one with `dask scheduler`, or give the address that it shows." in said


def test_without_dask_the_sentence_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    (file, _) = class_of(tmp_path, 2)
    said = refused(capsys, file, "--scheduler", UNUSED)
    assert "needs Dask, and it is not installed. Install it with: pip install 'mha-les" in said


def test_jobs_and_a_scheduler_exclude_each_other(tmp_path, capsys):
    (file, _) = class_of(tmp_path, 2)
    said = refused(capsys, file, "--scheduler", UNUSED, "--jobs", 2)
    assert "with --scheduler the workers decide how many notebooks are graded at a time" in said
