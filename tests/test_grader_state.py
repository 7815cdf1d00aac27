"""A learner's progress is kept in one small file, and grading never depends on it."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from learners import content, save

from mha_lessons.grade import batch, state
from mha_lessons.grade.notebook import exercises, reference
from mha_lessons.grade.report import Row, Submission
from mha_lessons.grade.splice import checks

ROWS = [Row("split_heads_values", "pass"), Row("split_heads_batch", "fail", "no", "Look again.")]


def submission(exercise="02_split_heads", rows=ROWS):
    return Submission("a.ipynb", exercise, rows)


@pytest.mark.parametrize(
    ("system", "settings", "expected"),
    [
        ("linux", {}, "/home/ada/.local/state/mha-lessons/progress.json"),
        ("linux", {"XDG_STATE_HOME": "/var/ada"}, "/var/ada/mha-lessons/progress.json"),
        (
            "linux",
            {"XDG_STATE_HOME": "relative"},
            "/home/ada/.local/state/mha-lessons/progress.json",
        ),
        (
            "darwin",
            {"XDG_STATE_HOME": "/var/ada"},
            "/home/ada/Library/Application Support/mha-lessons/progress.json",
        ),
        ("win32", {"LOCALAPPDATA": "/c/local"}, "/c/local/mha-lessons/progress.json"),
        ("win32", {}, "/home/ada/AppData/Local/mha-lessons/progress.json"),
        ("win32", {"MHA_STATE": "/mine.json"}, "/mine.json"),
    ],
)
def test_the_file_is_where_each_system_keeps_such_files(monkeypatch, system, settings, expected):
    for name in ("MHA_STATE", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    assert state.file().as_posix() == expected


def test_a_user_without_a_home_has_no_file_and_no_error(monkeypatch):
    def no_home():
        raise RuntimeError

    monkeypatch.delenv("MHA_STATE")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert state.file() is None
    assert state.read() == state.State()
    assert not state.record([submission()])


def test_what_is_recorded_is_read_back(remembered):
    assert state.record([submission()])
    grading = state.read().exercises["02_split_heads"]
    assert grading["rows"] == [
        {"check": "split_heads_values", "status": "pass", "hint": ""},
        {"check": "split_heads_batch", "status": "fail", "hint": "Look again."},
    ]
    graded = datetime.fromisoformat(grading["graded"])
    assert abs((datetime.now(graded.tzinfo) - graded).total_seconds()) < 600
    assert json.loads(remembered.read_text(encoding="utf-8"))["exercises"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"exercises": 5, "told": [], "folder": 7}',
        '{"exercises": {"02_split_heads": {"graded": "now", "rows": [{"check": "a"}]}}}',
        '{"exercises": {"02_split_heads": {"rows": []}}, "told": {"02_split_heads": 3}}',
        "[" * 100_000,
        "\x00\ufffe",
    ],
)
def test_a_file_that_is_not_ours_counts_as_none(remembered, text):
    remembered.parent.mkdir()
    remembered.write_text(text, encoding="utf-8")
    assert state.read() == state.State()
    assert state.record([submission()])
    assert list(state.read().exercises) == ["02_split_heads"]


def test_a_file_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    monkeypatch.setenv("MHA_STATE", str(tmp_path / "file" / "progress.json"))
    assert not state.record([submission()])
    assert state.read() == state.State()


def test_a_failed_write_keeps_what_was_there_and_leaves_nothing_behind(remembered, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    state.record([submission()])
    before = remembered.read_bytes()
    monkeypatch.setattr(state.os, "replace", full)
    assert not state.record([submission("01_one_head")])
    assert remembered.read_bytes() == before
    assert {path.name for path in remembered.parent.iterdir()} == {
        remembered.name,
        f"{remembered.name}.lock",
    }


def test_a_class_is_nobody_s_progress(remembered):
    assert not state.record([submission(), submission()])
    assert not state.record([Submission.unreadable("a.ipynb", "broken")])
    assert not state.record([])
    assert not remembered.exists()
    assert state.record([submission(), submission("01_one_head")])


MANY = """\
import sys
from mha_lessons.grade import state
for number in range(20):
    name = f"{sys.argv[1]}-{number}"
    assert state.update(lambda now: now.told.update({name: {"a": 1}}))
"""


def test_graders_at_once_neither_break_the_file_nor_lose_what_another_wrote(remembered):
    running = [subprocess.Popen([sys.executable, "-c", MANY, name]) for name in "abcd"]
    seen = 0
    while any(process.poll() is None for process in running):
        if remembered.exists():
            json.loads(remembered.read_text(encoding="utf-8"))  # whole, at every moment
            seen += 1
    assert [process.returncode for process in running] == [0] * 4
    assert seen
    expected = {f"{name}-{number}" for name in "abcd" for number in range(20)}
    assert set(state.read().told) == expected


def test_a_lock_that_is_never_given_back_stops_nobody(remembered, monkeypatch):
    monkeypatch.setattr(state, "WAIT", 0.1)
    remembered.parent.mkdir()
    with state._locked(remembered.with_name(f"{remembered.name}.lock")):
        assert state.record([submission()])


def test_progress_shows_what_was_graded_and_when(mha, remembered):
    status, out, err = mha("progress")
    assert (status, err) == (0, "")
    assert out.count("not graded yet") == len(exercises())
    assert "Nothing is remembered yet: `mha grade` and %grade do that." in out

    state.record([submission()])
    total = len(checks(reference("02_split_heads")))
    status, out, _ = mha("progress")
    line = next(line for line in out.splitlines() if line.startswith("02_split_heads"))
    assert f" 1 of {total:>2}  {datetime.now():%Y-%m-}" in line
    assert f"Remembered in {remembered}. You may delete this file." in out

    remembered.unlink()
    assert mha("progress")[1].count("not graded yet") == len(exercises())


def test_progress_counts_no_check_that_the_exercise_lacks(mha, remembered):
    state.record([submission(rows=[*ROWS, Row("of_another_version", "pass")])])
    assert " 1 of  8" in mha("progress")[1]


@pytest.fixture
def graded(monkeypatch):
    def grade(path, *how):
        return Submission(str(path), "02_split_heads", list(ROWS))

    monkeypatch.setattr(batch, "grade", grade)


def test_grading_remembers_the_learner_s_verdicts_and_no_class(mha, remembered, graded, tmp_path):
    path = save(content(), tmp_path / "a.ipynb")
    mha("grade", path, "--isolate")
    other = save(content(), tmp_path / "b.ipynb")
    mha("grade", path, other)
    assert not remembered.exists()
    mha("grade", path)
    assert len(state.read().exercises["02_split_heads"]["rows"]) == 2


@pytest.mark.parametrize("named", ["02", "2", "02_split_heads", "split_heads", "Split-Heads"])
def test_an_exercise_is_graded_by_its_name(mha, remembered, graded, tmp_path, monkeypatch, named):
    mha("start", tmp_path / "anywhere")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    out = mha("grade", named)[1]  # where `mha start` wrote it last
    assert f"({tmp_path / 'anywhere' / '02_split_heads.ipynb'})" in out
    mha("start")
    assert f"({Path('mha-exercises', '02_split_heads.ipynb')})" in mha("grade", named)[1]
    save(content(), Path("02_split_heads.ipynb"))
    assert "(02_split_heads.ipynb)" in mha("grade", named)[1]


def test_an_exercise_that_was_not_started_is_said_to_be_missing(
    mha, remembered, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    status, out, err = mha("grade", "02")
    assert (status, out) == (2, "")
    assert err == (
        "mha: There is no 02_split_heads.ipynb in . or mha-exercises. "
        "Give the path of the file, or run `mha start` first.\n"
    )
