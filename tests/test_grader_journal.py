"""A journal survives a kill; what a verdict depends on makes it graded again."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from graded_class import WRONG, submission
from hypothesis import given
from hypothesis import strategies as st
from learners import ROOT, content, save

from benchmarks import classroom
from mha_lessons.grade import batch, command, journal
from mha_lessons.grade.journal import Journal
from mha_lessons.grade.report import STATUSES, Row, Submission, as_plain
from mha_lessons.grade.report_files import WrongCallError


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def lines(path):
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_after_a_kill_no_notebook_is_graded_twice_and_none_is_lost(tmp_path, monkeypatch):
    made = classroom.make(6, tmp_path / "class", ["02_split_heads"])
    kept = tmp_path / "journal"
    call = ["grade", str(tmp_path / "class"), "--resume", str(kept), "--jobs=2", "--timeout=60"]
    run = subprocess.Popen(
        [sys.executable, "-m", "mha_lessons.grade", *call[1:]],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: len(lines(kept)) > 2 or run.poll() is not None)
    run.kill()
    assert run.communicate()[1] == b""
    before = len(lines(kept)) - 1
    assert 2 <= before < 6
    with open(kept, "a", encoding="utf-8") as file:
        file.write('{"key": "killed while it wrote')

    graded, real = [], batch.grade
    monkeypatch.setattr(
        batch, "grade", lambda path, *how: (graded.append(path), real(path, *how))[1]
    )
    assert command.main([*call, "--json", str(tmp_path / "r.json")]) == 1
    assert len(graded) == len(set(graded)) == 6 - before
    told = json.loads((tmp_path / "r.json").read_text())["submissions"]
    assert [plain["file"] for plain in told] == list(map(str, made))
    for plain, expected in zip(told, made.values(), strict=True):
        assert expected.wrong(Submission.from_plain(plain)) == []
    graded.clear()
    assert command.main(call) == 1
    assert graded == []
    entries = [json.loads(line) for line in lines(kept)[1:] if line.endswith("}")]
    assert len(entries) == len({entry["key"] for entry in entries}) == 6


def test_a_second_run_says_that_it_took_verdicts_over(fake_grading, tmp_path, capsys):
    for name in "abc":
        save(content() | {"name": name}, tmp_path / "class" / f"{name}.ipynb")
    call = ["grade", str(tmp_path / "class"), "--resume", str(tmp_path / "journal")]
    assert command.main(call) == 1
    first = capsys.readouterr()
    assert first.err == ""
    save(content() | {"name": "changed"}, tmp_path / "class" / "b.ipynb")
    assert command.main(call) == 1
    second = capsys.readouterr()
    assert second.out == first.out
    assert second.err == f"mha: 2 of 3 verdicts were in {tmp_path / 'journal'} already.\n"
    assert [path.stem for path in fake_grading] == ["a", "b", "c", "b"]


@pytest.mark.parametrize("change", ["notebook", "version", "timeout", "isolation"])
def test_what_a_verdict_depends_on_makes_it_graded_again(tmp_path, monkeypatch, change):
    path, kept = save(content(), tmp_path / "a.ipynb"), tmp_path / "journal"
    graded = []

    def grade(file):
        graded.append(file)
        return submission(file, Row("first", "pass"))

    def run(*how):
        opened = Journal(kept, *how)
        opened.graded(path, grade)
        opened.close()

    run(10, False)
    run(10, False)
    assert len(graded) == 1
    if change == "notebook":
        save(content(split_heads=WRONG), path)
    if change == "version":
        monkeypatch.setattr(journal, "everything", lambda: ["another"])
    run(20 if change == "timeout" else 10, change == "isolation")
    assert len(graded) == 2


def test_the_version_is_that_of_all_files_that_decide(tmp_path, monkeypatch):
    from mha_lessons.grade import version

    package = tmp_path / "mha_lessons"
    shutil.copytree(ROOT / "mha_lessons", package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(version, "PACKAGE", package)
    before = version.lessons.__wrapped__()
    assert before == version.lessons.__wrapped__()
    for name in (
        "grade/reference/02_split_heads.ipynb",
        "grade/bank/softmax.py",
        "grade/quiz.toml",
    ):
        with open(package / name, "a", encoding="utf-8") as file:
            file.write("\n")
        assert before != (before := version.lessons.__wrapped__())


def test_a_copy_of_a_notebook_gets_the_verdicts_under_its_own_name(fake_grading, tmp_path):
    files = [save(content(), tmp_path / f"{name}.ipynb") for name in "ab"]
    kept = Journal(tmp_path / "journal")
    found = list(batch.grade_all(files, journal=kept))
    kept.close()
    assert [s.file for s in found] == list(map(str, files))
    assert len(lines(tmp_path / "journal")) == 2


@pytest.mark.parametrize(
    "found",
    [
        submission("f", Row("first", "pass"), Row("second")),  # stopped
        Submission.unreadable("f", "broken"),
    ],
)
def test_what_is_no_verdict_is_not_kept(tmp_path, found):
    path, kept = save(content(), tmp_path / "a.ipynb"), Journal(tmp_path / "journal")
    assert kept.graded(path, lambda file: found) is found
    kept.close()
    assert len(lines(tmp_path / "journal")) == 1


def test_a_notebook_that_is_saved_while_it_is_graded_is_graded_again(tmp_path):
    path, kept = save(content(), tmp_path / "a.ipynb"), Journal(tmp_path / "journal")

    def grade(file):
        save(content(split_heads=WRONG), path)
        return submission(file, Row("first", "pass"))

    before = path.read_bytes()
    kept.graded(path, grade)
    assert kept.find(path) is None
    path.write_bytes(before)  # who knows which of the two was graded
    assert kept.find(path) is None
    kept.close()


def test_a_verdict_is_on_the_disk_at_once_and_there_once(tmp_path):
    path, kept = save(content(), tmp_path / "a.ipynb"), Journal(tmp_path / "journal")
    for _ in range(2):  # as two jobs do that grade copies at the same time
        kept.keep(path, kept.key(path), submission(path, Row("first", "pass")))
        assert len(lines(tmp_path / "journal")) == 2
    kept.close()


def test_a_fifo_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "a.ipynb")
    kept = Journal(tmp_path / "journal")
    assert kept.key(tmp_path / "a.ipynb") is None
    kept.close()


@pytest.mark.parametrize(
    "text", ["", journal.FIRST[:9], journal.FIRST, journal.FIRST + "\n", journal.FIRST + '\n{"ke']
)
def test_a_journal_goes_on_wherever_it_was_cut_off(fake_grading, tmp_path, text):
    kept, path = tmp_path / "journal", save(content(), tmp_path / "a.ipynb")
    kept.write_text(text)
    for _ in range(2):
        opened = Journal(kept)
        (found,) = batch.grade_all([path], journal=opened)
        opened.close()
        assert found.passed == 1
    assert len(fake_grading) == 1


FORGED = submission("f", Row("first", "pass"))


@pytest.mark.parametrize(
    "change",
    [
        {"passed": 2},
        {"passed": 0, "rows": [as_plain(FORGED)["rows"][0] | {"status": "brilliant"}]},
        {"rows": [as_plain(FORGED)["rows"][0] | {"message": ["a", "list"], "status": "fail"}]},
        {"rows": [{"check": "first", "os": "system"}]},
        {"rows": [as_plain(FORGED)["rows"][0] | {"seconds": float("nan")}]},
        {"notes": [5]},
        {"more": 1},
        {"file": None},
    ],
)
def test_a_line_that_holds_no_submission_is_passed_over(fake_grading, tmp_path, change):
    kept, path = tmp_path / "journal", save(content(), tmp_path / "a.ipynb")
    opened = Journal(kept)
    key = opened.key(path)
    opened.close()
    with open(kept, "a") as file:
        file.write(json.dumps({"key": key, "submission": as_plain(FORGED) | change}) + "\n")
    opened = Journal(kept)
    assert opened.known == {}
    opened.close()


@pytest.mark.parametrize("text", ["mine", "file,exercise\n", "{}\n", "\n"])
def test_another_file_is_no_journal_and_stays_as_it_is(tmp_path, capsys, text):
    save(content(), tmp_path / "a.ipynb")
    (tmp_path / "notes").write_text(text)
    call = ["grade", str(tmp_path / "a.ipynb"), "--resume", str(tmp_path / "notes")]
    assert command.main(call) == 2
    assert "is something else than a journal of `mha grade`" in capsys.readouterr().err
    assert (tmp_path / "notes").read_text() == text


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("", "--resume needs the name of a file"),
        ("a.ipynb", "must not replace a notebook"),
        ("no/journal", "must be a file in a folder that exists"),
        ("r", "needs a file of its own: got r twice"),
    ],
)
def test_a_journal_needs_a_file_of_its_own(tmp_path, monkeypatch, capsys, target, words):
    monkeypatch.chdir(tmp_path)
    save(content(), tmp_path / "a.ipynb")
    assert command.main(["grade", "a.ipynb", "--csv", "r", "--resume", target]) == 2
    assert words in capsys.readouterr().err


def test_two_runs_cannot_use_one_journal_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    first = Journal(tmp_path / "journal")
    with pytest.raises(WrongCallError, match="One run at a time may use a journal, and another"):
        Journal(tmp_path / "journal")
    first.close()
    Journal(tmp_path / "journal").close()


def test_a_full_disk_ends_the_run_with_a_sentence(fake_grading, tmp_path, monkeypatch, capsys):
    save(content(), tmp_path / "a.ipynb")
    real, calls = os.fsync, []

    def fsync(descriptor):
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    call = ["grade", str(tmp_path / "a.ipynb"), "--resume", str(tmp_path / "journal")]
    assert command.main(call) == 2
    assert "cannot be written (No space left on device). Make room, then" in capsys.readouterr().err


texts = st.text(st.characters(codec="utf-8"), max_size=9)
plain_rows = st.builds(
    Row, texts, st.sampled_from(STATUSES), texts, texts, st.none() | texts, st.floats(0, 99)
)


@given(st.builds(Submission, texts, st.none() | texts, st.lists(plain_rows), st.lists(texts)))
def test_a_submission_is_the_same_after_a_way_through_json(made):
    assert Submission.from_plain(json.loads(json.dumps(as_plain(made)))) == made
