"""`mha hint` goes one step further each time; `mha reset` loses nothing."""

import json
import os
import re

import pytest
from learners import cell, content, save

from mha_lessons.grade import hint, reset, state
from mha_lessons.grade.notebook import exercises, parse, reference
from mha_lessons.grade.quiz import TRAPS
from mha_lessons.grade.report import Row, Submission
from mha_lessons.grade.splice import answers

SPLIT = hint.hints_in("02_split_heads")["split_heads"]


def titles(out):
    return re.findall(r"^02_split_heads, [\w]+\. (.*)$", out, re.M)


@pytest.mark.parametrize("exercise", exercises())
def test_every_answer_has_the_hints_of_its_own_text(exercise):
    found = hint.hints_in(exercise)
    assert list(found) == [name for _, name in answers(reference(exercise))]
    folded = sum(c.source.count("<details>") for c in parse(reference(exercise)).cells)
    told = [each for hints in found.values() for each in hints]
    assert len(set(told)) == folded
    for title, text in told:
        assert title.startswith("Hint ")
        assert text
        assert "details>" not in title + text
    tasks = [hints for name, hints in found.items() if not name.startswith("traps_")]
    assert all(2 <= len(hints) <= 3 for hints in tasks)


def test_each_call_goes_one_step_further_and_the_end_says_so(mha, remembered):
    shown = [mha("hint", "02", "split_heads") for _ in range(len(SPLIT) + 2)]
    assert {(status, err) for status, _, err in shown} == {(0, "")}
    for (title, text), (_, out, _) in zip(SPLIT, shown, strict=False):
        assert out == (
            f"02_split_heads, split_heads. {title}\n\n{text}\n\n"
            "Not enough? Run the same command again.\n"
        )
    for _, out, _ in shown[len(SPLIT) :]:
        assert out == (
            "There are no more hints for split_heads; --again shows those that were told.\n"
            "After `mha grade`, a check that did not pass may have one of its own.\n"
            "The solution is in the project, explained: solutions/02_split_heads.ipynb\n"
        )


def test_hints_can_be_shown_again_and_from_the_start(mha, remembered):
    assert mha("hint", "2", "split_heads", "--again")[1] == (
        "No hint for split_heads was told yet. Without --again comes the first one.\n"
    )
    mha("hint", "2", "split_heads")
    mha("hint", "2", "split_heads")
    names = [title for title, _ in SPLIT]
    assert titles(mha("hint", "2", "split_heads", "--again")[1]) == names[:2]
    assert titles(mha("hint", "2", "split_heads")[1]) == names[2:3]  # --again tells nothing new
    assert titles(mha("hint", "2", "split_heads", "--from-start")[1]) == names[:1]
    assert titles(mha("hint", "2", "split_heads")[1]) == names[1:2]


def test_a_check_continues_the_hints_of_its_answer_and_then_has_its_own(mha, remembered):
    rows = [
        Row("split_heads_values", "pass", hint="of a check that passes"),
        Row("split_heads_batch", "fail", "no", "Count axes from the end."),
        Row("parameter_count_bias", "fail", "no", "of another answer"),
    ]
    state.record([Submission("a.ipynb", "02_split_heads", rows)])
    for _ in SPLIT[1:]:
        mha("hint", "02", "split_heads")
    assert titles(mha("hint", "02", "split_heads_batch")[1]) == [SPLIT[-1][0]]
    out = mha("hint", "02", "SPLIT_HEADS_BATCH")[1]
    assert out.startswith(
        "02_split_heads, split_heads_batch. From the check split_heads_batch\n\nCount axes from"
    )
    out = mha("hint", "02", "split_heads_batch")[1]
    assert out.startswith("There are no more hints for split_heads_batch;")
    assert "After `mha grade`" not in out
    assert "Count axes" in mha("hint", "02", "split_heads", "--again")[1]

    rows[1].hint = "Another one, after the next mistake."
    state.record([Submission("a.ipynb", "02_split_heads", rows)])
    assert "Another one" in mha("hint", "02", "split_heads")[1]
    assert "There are no more" in mha("hint", "02", "split_heads")[1]


def test_without_a_name_comes_what_is_wrong_and_then_what_is_missing(mha, remembered):
    def next_is(*rows):
        state.record([Submission("a.ipynb", "02_split_heads", [Row(*row) for row in rows])])
        return hint.target("02_split_heads").answer

    first, second = ("split_heads_values", "parameter_count_bias")
    assert hint.target("02_split_heads").answer == "split_heads"
    assert next_is((first, "todo"), (second, "fail")) == "parameter_count"
    every = hint.target("02_split_heads", "split_heads").checks
    assert next_is(*[(name, "pass") for name in every]) == "parameter_count"
    out = mha("hint", "split_heads")[1]
    assert out.startswith("02_split_heads, parameter_count. Hint 1: one head\n")


def test_a_statement_of_the_quiz_has_one_hint_of_its_own(mha, remembered):
    out = mha("hint", "06", "t7")[1]
    assert out.startswith(f"06_traps, T7. From the check T7\n\n{TRAPS['T7'].hint}\n")
    assert mha("hint", "06", "T7")[1].startswith("There are no more hints for T7;")
    assert TRAPS["T8"].hint in mha("hint", "06", "T8")[1]


def test_hints_are_told_where_nothing_can_be_remembered(mha, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("MHA_STATE", str(tmp_path / "file" / "progress.json"))
    for _ in range(2):
        assert titles(mha("hint", "02", "split_heads")[1]) == [SPLIT[0][0]]
    assert mha("hint", "02", "--from-start")[0] == 0


@pytest.mark.parametrize("told", [{"split_heads": "x"}, {"split_heads": -3}, {"split_heads": []}])
def test_an_edited_file_does_no_harm(mha, remembered, told):
    state.update(lambda now: now.told.update({"02_split_heads": told}))
    assert titles(mha("hint", "02", "split_heads")[1]) == [SPLIT[0][0]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["hint"], "The following arguments are required: EXERCISE"),
        (["hint", "07"], "There is no exercise 07. The exercises are 01_one_head, 02_split_heads"),
        (["hint", "no.ipynb"], "There is no exercise no.ipynb. The exercises are "),
        (["hint", "02", "merge"], "02_split_heads has no check and no answer that is called merge"),
        (["hint", "02", "T7"], "Its answers are split_heads, parameter_count; `mha grade` shows"),
        (["hint", "02", "--again", "--from-start"], "not allowed with argument --again"),
        (["hint", "other.ipynb"], "other.ipynb is no exercise of this course"),
        (["reset", "07"], "There is no exercise 07."),
        (["reset", "02"], "There is no 02_split_heads.ipynb in . or mha-exercises. Give the path"),
        (["reset", "02", "sub"], "There is no 02_split_heads.ipynb in sub. Give the path of the"),
        (["reset", "other.ipynb"], "other.ipynb is no exercise of this course"),
        (["reset", "broken.ipynb"], "broken.ipynb is broken, line 1"),
    ],
)
def test_a_wrong_call_gets_one_sentence(mha, remembered, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    save({"cells": []}, tmp_path / "other.ipynb")
    (tmp_path / "broken.ipynb").write_text("{", encoding="utf-8")
    status, out, err = mha(*arguments)
    assert (status, out) == (2, "")
    assert re.fullmatch("mha: .*\n", err)
    assert words in err


@pytest.fixture
def work(tmp_path, mha, remembered):
    """Return the path of an exercise that a learner has begun."""
    mha("start", tmp_path / "work")
    path = tmp_path / "work" / "02_split_heads.ipynb"
    made = content(folder="exercises")
    cell(made, "02-answer-split_heads")["source"] = "# ANSWER: split_heads\nmine = 1"
    return save(made, path)


def test_reset_hands_out_again_and_keeps_numbered_backups(mha, work):
    first = work.read_bytes()
    status, out, err = mha("reset", "02")  # where `mha start` wrote it
    assert (status, err) == (0, "")
    backup = work.with_name("02_split_heads.ipynb.backup-1")
    assert backup.read_bytes() == first
    assert f"wrote  {work} as it was handed out\n" in out
    assert f"kept   {backup} (your work; to open it, give it a name that ends in .ipynb)" in out
    assert "Load it from disk there" in out
    handed_out = json.loads(work.read_text(encoding="utf-8"))
    assert [c["source"] for c in handed_out["cells"]] == [
        c["source"] for c in reference("02_split_heads")["cells"]
    ]
    assert not any(c.get("outputs") for c in handed_out["cells"])

    work.write_text("{ broken", encoding="utf-8")
    assert mha("reset", work)[0] == 0  # also by its path, and when it is broken
    assert backup.read_bytes() == first
    second = work.with_name("02_split_heads.ipynb.backup-2")
    assert second.read_text(encoding="utf-8") == "{ broken"


def test_reset_leaves_alone_what_is_as_it_was_handed_out(mha, work):
    mha("reset", work)
    before = {path: path.stat().st_mtime_ns for path in work.parent.iterdir()}
    status, out, _ = mha("reset", "2", work.parent)
    assert (status, out) == (0, f"{work} is as it was handed out. Nothing was changed.\n")
    assert {path: path.stat().st_mtime_ns for path in work.parent.iterdir()} == before


def test_a_renamed_exercise_is_reset_by_its_path(mha, work):
    renamed = work.rename(work.with_name("mine.ipynb"))
    assert mha("reset", renamed)[0] == 0
    assert renamed.with_name("mine.ipynb.backup-1").exists()
    assert not work.exists()


@pytest.mark.parametrize("step", ["backup", "stub"])
def test_without_room_nothing_is_changed(mha, work, monkeypatch, step):
    def full(*_):
        raise OSError(28, "No space left on device", "there")

    before = work.read_bytes()
    monkeypatch.setattr(os, "fsync" if step == "backup" else "replace", full)
    status, out, err = mha("reset", work)
    monkeypatch.undo()
    assert (status, out) == (2, "")
    assert err == (
        f"mha: {work} was not changed: the folder must have room for a backup, and there cannot be "
        "written (No space left on device). Make room, or copy the notebook elsewhere.\n"
    )
    assert work.read_bytes() == before
    left = [path.name for path in work.parent.iterdir() if path.suffix != ".ipynb"]
    assert left == ([] if step == "backup" else ["02_split_heads.ipynb.backup-1"])


def test_a_backup_is_not_graded_with_its_folder(mha, work):
    mha("reset", work)
    from mha_lessons.grade.batch import notebooks_in

    assert [path.stem for path in notebooks_in(work.parent)] == exercises()


def test_reset_is_one_function_too(work):
    backup = reset.reset(work, "02_split_heads")
    assert backup.parent == work.parent
    assert reset.reset(work, "02_split_heads") is None
