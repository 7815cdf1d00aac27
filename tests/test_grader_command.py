"""The command line says what it did, what was wrong with the call, and what to do next."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from learners import NO_STATE, ROOT, content, save

import mha_lessons
from mha_lessons.grade import batch, command
from mha_lessons.grade.notebook import exercises, read
from mha_lessons.grade.report import Row, Submission, as_text

MIXED = [
    Row("first", "pass", "", seconds=0.25),
    Row("second", "fail", "=1+1 is wrong, \x01 and \u201cquoted\u201d", "Mind the gap.", "a.b"),
    Row("third", "todo", "not written yet"),
    Row("fourth", "timeout", "stopped"),
]


@pytest.fixture
def graded(monkeypatch):
    """Replace the grading itself: every notebook that can be read gets the same rows."""
    rows = [Row("first", "pass")]

    def grade(path, *how):
        read(path)
        return Submission(str(path), "02_split_heads", list(rows), ["a note"])

    monkeypatch.setattr(batch, "grade", grade)
    return rows


def test_the_version_is_the_package_s(capsys):
    with pytest.raises(SystemExit) as caught:
        command.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"mha {mha_lessons.__version__}\n"


def test_start_writes_what_can_be_graded_and_never_over_a_file(mha, tmp_path):
    folder = tmp_path / "new" / "work"
    status, out, err = mha("start", folder)
    assert (status, err) == (0, "")
    assert sorted(path.stem for path in folder.iterdir()) == exercises()
    assert f"wrote  {folder / '02_split_heads.ipynb'}\n" in out
    assert f"then run: mha grade {folder}" in out

    (folder / "02_split_heads.ipynb").write_text("mine", encoding="utf-8")
    (folder / "06_traps.ipynb").unlink()
    status, out, _ = mha("start", folder)
    assert status == 0
    assert f"kept   {folder / '02_split_heads.ipynb'} (it was there already)\n" in out
    assert f"wrote  {folder / '06_traps.ipynb'}\n" in out
    assert (folder / "02_split_heads.ipynb").read_text(encoding="utf-8") == "mine"


def test_start_writes_the_learner_s_notebooks_without_the_setup_cell(mha, tmp_path):
    mha("start", tmp_path)
    for name in exercises():
        written = json.loads((tmp_path / f"{name}.ipynb").read_text(encoding="utf-8"))
        for cell in written["cells"]:
            cell["source"] = "".join(cell["source"])
        published = content(name, folder="exercises")
        published["cells"] = [cell for cell in published["cells"] if cell["id"] != "setup"]
        assert written == published


def test_start_has_a_default_folder(mha, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mha("start")[0] == 0
    assert (tmp_path / "mha-exercises" / "06_traps.ipynb").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], r"The following arguments are required: VERB\. Run `mha --help` to see how\."),
        (["conquer"], r"invalid choice: 'conquer'"),
        (["grade", "--foo"], r"Unrecognized arguments: --foo\. Run `mha grade --help` to see"),
        (["start", "--foo"], r"Unrecognized arguments: --foo\. Run `mha start --help` to see"),
        (["grade", "a.ipynb", "--json", ""], "--json needs the name of a file: got nothing"),
        (["grade", "a.ipynb", "--csv", "r", "--json", "./r"], "needs a file of its own: got "),
        (["grade", "a.ipynb", "--csv", "locked"], r"report locked cannot be written \(no perm"),
        (["grade", "--timeout", "0"], "it must be more than 0 and at most 3600: got 0"),
        (["grade", "--timeout", "nan"], "it must be more than 0 and at most 3600: got nan"),
        (["grade", "--timeout", "soon"], "it must be more than 0 and at most 3600: got soon"),
        (
            ["grade", "none.ipynb"],
            r"There is no file none\.ipynb\. Check the name, or run `mha start`",
        ),
        (["grade", "empty"], "A folder to grade must hold notebooks: empty has none"),
        (["grade", "notes.txt"], r"notes\.txt is no notebook\. Give a file whose name ends in"),
        (
            ["grade", "other.ipynb"],
            r"other\.ipynb is no exercise of this course: it has no `# ANSWER",
        ),
        (["grade", "a.ipynb", "--json", "b.ipynb"], "must not replace a notebook: got b.ipynb"),
        (
            ["grade", "a.ipynb", "--csv", "no/f.csv"],
            "must be a file in a folder that exists: got no",
        ),
        (
            ["grade", "a.ipynb", "--junit", "empty"],
            "must be a file in a folder that exists: got em",
        ),
        (["grade", "a.ipynb", "--csv", "-"], "Only --json can go to standard output: got --csv -"),
        (["grade", "a.ipynb", "--csv", "r", "--json", "r"], "needs a file of its own: got r twice"),
        (["start", "notes.txt"], r"need a folder that can be written: notes\.txt cannot \("),
    ],
)
def test_a_wrong_call_gets_one_sentence_and_changes_nothing(
    mha, tmp_path, monkeypatch, arguments, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty" / ".ipynb_checkpoints").mkdir(parents=True)
    save(content(), tmp_path / "empty" / ".ipynb_checkpoints" / "a.ipynb")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    save({"cells": []}, tmp_path / "other.ipynb")
    save(content(), tmp_path / "a.ipynb")
    save(content(), tmp_path / "b.ipynb")
    (tmp_path / "locked").write_text("mine", encoding="utf-8")
    real = os.access  # root may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "locked" and real(path, mode))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    status, out, err = mha(*arguments)
    assert (status, out) == (2, "")
    assert re.fullmatch("mha: .*\n", err)
    assert re.search(words, err)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_the_status_says_whether_every_check_passed(mha, graded, tmp_path):
    path = save(content(), tmp_path / "a.ipynb")
    status, out, err = mha("grade", path)
    assert (status, err) == (0, "")
    following = exercises()[exercises().index("02_split_heads") + 1]
    assert out.endswith(f"All checks passed. Next: {following}.\n")
    graded[:] = [Row("zeroth", "todo"), *MIXED]
    status, out, err = mha("grade", path)
    assert (status, err) == (1, "")
    assert out.endswith(
        f"Next: second in {path}. Save the notebook, then grade it again."
        " Stuck? Run: mha hint 02 second\n"
    )
    graded.clear()
    status, out, _ = mha("grade", path)  # no checks are no success
    assert status == 1


def test_one_broken_file_gets_a_row_and_the_others_are_graded(mha, graded, tmp_path):
    for name in ("a", "z"):
        save(content(), tmp_path / "class" / f"{name}.ipynb")
    (tmp_path / "class" / "m.ipynb").write_text("{", encoding="utf-8")
    status, out, _ = mha("grade", tmp_path / "class", "--json", tmp_path / "r.json")
    assert status == 1
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["submissions"]
    assert [(s["exercise"], s["passed"], s["total"]) for s in found] == [
        ("02_split_heads", 1, 1),
        (None, 0, 1),
        ("02_split_heads", 1, 1),
    ]
    (row,) = found[1]["rows"]
    assert (row["check"], row["status"]) == ("notebook", "blocked")
    assert "m.ipynb is broken, line 1" in row["message"]
    assert "not graded: 0 of 1 checks passed" in out


def test_several_named_files_are_a_class_too(mha, graded, tmp_path):
    good = save(content(), tmp_path / "a.ipynb")
    (tmp_path / "m.ipynb").write_text("{", encoding="utf-8")
    assert mha("grade", good, tmp_path / "m.ipynb", good)[0] == 1


def test_json_on_standard_output_is_nothing_but_json(mha, graded, tmp_path):
    graded[:] = MIXED
    path = save(content(), tmp_path / "a.ipynb")
    status, out, err = mha("grade", path, "--json", "-")
    assert (status, err) == (1, "")
    assert json.loads(out) == {
        "submissions": [
            {
                "file": str(path),
                "exercise": "02_split_heads",
                "passed": 1,
                "total": 4,
                "rows": [
                    {
                        "check": row.check,
                        "status": row.status,
                        "message": row.message,
                        "hint": row.hint,
                        "mistake": row.mistake,
                        "seconds": row.seconds,
                    }
                    for row in MIXED
                ],
                "notes": ["a note"],
            }
        ]
    }
    assert out.isascii()


def test_csv_and_junit_hold_every_check(mha, graded, tmp_path):
    graded[:] = MIXED
    path = save(content(), tmp_path / "a.ipynb")
    mha("grade", path, "--csv", tmp_path / "r.csv", "--junit", tmp_path / "r.xml")
    table = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text(encoding="utf-8"))))
    assert [row["status"] for row in table] == [row.status for row in MIXED]
    assert [row["mistake"] for row in table] == ["", "a.b", "", ""]
    assert {row["file"] for row in table} == {str(path)}

    (suite,) = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["4", "2", "1"]
    assert [[verdict.tag for verdict in case] for case in suite] == [
        [],
        ["failure"],
        ["failure"],
        ["error"],
    ]
    assert suite[1][0].get("message") == MIXED[1].message.replace("\x01", "?")


def test_the_table_fits_and_is_plain_where_it_is_not_a_terminal():
    long = Row("second", "fail", "the message " * 20, "the hint " * 20)
    text = as_text(Submission("a.ipynb", "02_split_heads", [MIXED[0], long]), width=72)
    lines = text.splitlines()
    assert lines[0] == "02_split_heads: 1 of 2 checks passed (a.ipynb)"
    assert lines[1] == "  pass     first"
    assert max(map(len, lines)) <= 72
    assert "\x1b" not in text
    colourful = as_text(Submission("a.ipynb", "02_split_heads", [MIXED[0]]), colour=True)
    assert "\x1b[32mpass" in colourful
    brief = as_text(Submission("a.ipynb", "02_split_heads", [MIXED[0], long]), brief=True)
    assert "pass " not in brief


def test_neighbours_with_the_same_words_share_them():
    rows = [Row(name, "blocked", "no answer cell", "Add one.") for name in "abc"]
    rows.append(Row("d", "blocked", "another reason"))
    lines = as_text(Submission("a.ipynb", "02_split_heads", rows)).splitlines()
    assert lines[1:] == [
        "  blocked  a, b, c",
        "           no answer cell",
        "           hint: Add one.",
        "  blocked  d  another reason",
    ]


def test_help_says_what_is_taken_without_being_told(capsys):
    with pytest.raises(SystemExit):
        command.main(["grade", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "seconds per check (default: 10)" in shown
    assert (
        "a notebook, a folder of notebooks, or an exercise (default: the current folder)" in shown
    )


def test_what_is_to_do_is_one_line_at_the_end():
    rows = [Row("a", "todo", "not written yet"), Row("b", "pass"), Row("c", "todo")]
    lines = as_text(Submission("a.ipynb", "02_split_heads", rows)).splitlines()
    assert lines[1:] == ["  pass     b", "  todo     a, c"]


def test_python_m_grades_from_a_folder_with_a_json_py(tmp_path):
    (tmp_path / "json.py").write_text("raise RuntimeError('not json')", encoding="utf-8")
    save(content(split_heads="# ANSWER: split_heads\nsplit_heads = 5"), tmp_path / "renamed.ipynb")
    done = subprocess.run(
        [sys.executable, "-m", "mha_lessons.grade", "renamed.ipynb", "--json", "-"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)} | NO_STATE,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (1, "")
    (submission,) = json.loads(done.stdout)["submissions"]
    assert (submission["passed"], submission["total"]) == (3, 8)
    assert submission["rows"][0]["message"] == "split_heads must be a function: got int 5"


def test_a_reader_who_leaves_gets_no_traceback(tmp_path):
    code = (
        "import sys\nfrom mha_lessons.grade.command import main\n"
        f"sys.exit(main(['start', {str(tmp_path)!r}]))"
    )
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [sys.executable, "-u", "-c", code], stdout=write_end, stderr=subprocess.PIPE
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (130, b"")


def test_the_command_line_imports_nothing_heavy():
    code = (
        "import sys\nfrom mha_lessons.grade.command import main\n"
        "heavy = {'numpy', 'torch', 'pytest', 'nbval', 'nbformat', 'IPython'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_check_imports_torch():
    code = (
        "import sys\nfrom mha_lessons.grade.exercises import split_heads, traps\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
