"""A class gets the verdicts that its answers deserve, and one summary."""

import csv
import json
from xml.etree import ElementTree

from graded_class import CLASS, submission
from learners import content, save

from benchmarks import classroom
from mha_lessons.grade import command, summary
from mha_lessons.grade.notebook import reference
from mha_lessons.grade.report import Row, Submission
from mha_lessons.grade.splice import checks


def test_every_notebook_of_a_class_gets_the_verdicts_that_its_answers_deserve(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(command, "close_to_others", lambda: None)  # this process goes on
    made = classroom.make(12, tmp_path / "class")
    names = ("csv", "junit", "json", "html", "gradescope", "classroom")
    reports = [f"--{name}={tmp_path / name}" for name in names]
    call = ["grade", str(tmp_path / "class"), "--jobs=2", "--isolate", "--timeout=60", *reports]
    assert command.main(call) == 1
    told = json.loads((tmp_path / "json").read_text())["submissions"]
    found = [Submission.from_plain(plain) for plain in told]
    assert [s.file for s in found] == list(map(str, made))
    assert [
        w for s, expected in zip(found, made.values(), strict=True) for w in expected.wrong(s)
    ] == []
    mistakes = [m for expected in made.values() for m in expected.mistakes.values()]
    assert len(mistakes) > 5
    assert any(not expected.mistakes for expected in made.values())

    rows = sum(len(list(checks(reference(expected.exercise)))) for expected in made.values())
    with open(tmp_path / "csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == rows
    assert len(ElementTree.parse(tmp_path / "junit").findall(".//testcase")) == rows
    out = capsys.readouterr().out
    last = out[out.index("12 notebooks, ") :]
    assert "Most frequent mistakes, and in how many notebooks:" in last
    complete = sum(s.complete for s in found if s.exercise == "02_split_heads")
    assert f"  02_split_heads: {complete} of 2 complete" in last
    page = (tmp_path / "html").read_text(encoding="utf-8")
    assert all(mistake in page for mistake in mistakes)


def test_a_class_s_maker_notices_wrong_verdicts():
    expected = classroom.Expected("02_split_heads", {"first"}, {"second": "a.b"})
    right = submission("f", Row("first", "pass"), Row("second", "fail", "m", "h", "a.b"))
    assert expected.wrong(right) == []
    for rows in ([], [Row("first", "fail", "no"), right.rows[1]], [right.rows[0], Row("second")]):
        assert expected.wrong(submission("f", *rows))


# The summary


def test_a_mistake_counts_once_for_each_notebook():
    found = summary.stumbles(CLASS)
    assert [(s.mistake, s.check, s.count) for s in found] == [
        ("x.mixed", "one", 2),
        (None, "two", 1),
    ]


def test_the_summary_says_who_is_done_what_is_frequent_and_what_was_not_graded():
    assert summary.as_text(CLASS) == (
        "6 notebooks, 1 complete.\n"
        "  02_split_heads: 1 of 5 complete\n"
        "\n"
        "Most frequent mistakes, and in how many notebooks:\n"
        "  2  x.mixed: rows are mixed\n"
        "  1  two, no mistake that we know: the process ended\n"
        "\n"
        "Not graded: 1\n"
        "  f: broken\n"
    )
    many = [submission(i, Row(f"c{i}", "fail", "m " * 60)) for i in range(12)]
    text = summary.as_text(many)
    assert text.endswith("and 4 more: see --html\n")
    assert max(map(len, text.splitlines())) <= 80


def test_the_rates_count_all_that_was_handed_in():
    (exercise,) = summary.exercises(CLASS)
    assert (exercise.handed_in, exercise.complete) == (5, 1)
    assert exercise.checks["one"] == {"pass": 2, "fail": 2, "todo": 1}
    assert summary.statuses(exercise.checks["two"]) == "1 fail, 1 todo, 1 crash"


def test_one_learner_s_notebooks_are_no_class(fake_grading, tmp_path, monkeypatch, capsys):
    assert summary.is_class(CLASS)
    assert not summary.is_class(
        [CLASS[0], submission("g", exercise="06_traps"), CLASS[-1], CLASS[-1]]
    )
    save(content(), tmp_path / "a.ipynb")
    command.main(["grade", str(tmp_path)])
    assert capsys.readouterr().out.splitlines()[-1].startswith("Next: second in ")
