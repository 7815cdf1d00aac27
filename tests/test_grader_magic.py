"""`%grade` gives in a notebook the verdicts of the command line.

Colab is not here: its front end is replaced at the one place where it is asked, and what it answers
has the form that Colab's answers have.
"""

import copy
import json
import subprocess
import sys
import types
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from learners import content, save
from nbclient import NotebookClient

import mha_lessons
from mha_lessons.grade import magic, state
from mha_lessons.grade.report import Row, Submission
from mha_lessons.grade.report_html import as_html

WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return None"


class Table(HTMLParser):
    """The texts of a table's cells, what is folded away, and the names of all elements."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.folded, self.shown, self.inside = [], "", "", []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.inside.append(tag)

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag

    def handle_data(self, data):
        if "details" in self.inside and "summary" not in self.inside:
            self.folded += data
        elif "style" not in self.inside:
            self.shown += data


@pytest.fixture
def shell(monkeypatch, remembered):
    """Return a shell of which the magic is asked, with a history that the test writes."""
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    history = types.SimpleNamespace(input_hist_raw=[""])
    events = types.SimpleNamespace(register=lambda event, called: setattr(events, event, called))
    return types.SimpleNamespace(user_ns={}, history_manager=history, events=events)


@pytest.fixture
def graded(monkeypatch):
    """Replace the grading itself; return what was graded."""
    files = []

    def grade(path):
        files.append(Path(path))
        return Submission(str(path), "02_split_heads", [Row("split_heads_values", "pass")])

    monkeypatch.setattr(magic, "grade", grade)
    return files


def test_a_notebook_shows_the_verdicts_of_the_command_line(mha, remembered, tmp_path, monkeypatch):
    path = save(content(split_heads=WRONG), tmp_path / "02_split_heads.ipynb")
    mha("grade", path, "--json", tmp_path / "r.json")
    (expected,) = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["submissions"]
    remembered.unlink()

    sources = [
        "%load_ext mha_lessons",
        WRONG + "  # and more",
        "result = %grade\n{row.check: [row.status, row.message] for row in result.submission.rows}",
        "result",
        "%grade missing.ipynb",
    ]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    notebook = nbformat.v4.new_notebook(cells=cells)
    metadata = {"metadata": {"path": str(tmp_path)}}
    how = {"timeout": 120, "kernel_name": "python3", "resources": metadata}
    NotebookClient(notebook, allow_error_names=["UsageError"], **how).execute()
    _, _, verdicts, shown, refused = (each.outputs for each in notebook.cells)

    rows = {row["check"]: [row["status"], row["message"]] for row in expected["rows"]}
    assert eval(verdicts[0]["data"]["text/plain"]) == rows
    assert {status for status, _ in rows.values()} == {"pass", "fail"}
    assert "split_heads_values" in shown[0]["data"]["text/html"]
    assert "3 of 8 checks passed" in shown[0]["data"]["text/plain"]
    assert (
        "The saved file is older than what you ran (split_heads)." in shown[0]["data"]["text/html"]
    )
    assert refused[0]["text"] == (
        "UsageError: There is no file missing.ipynb. Check the name, or run `mha start` first.\n"
    )
    kept = state.read().exercises["02_split_heads"]["rows"]  # the kernel wrote it
    assert [row["status"] for row in kept] == [row["status"] for row in expected["rows"]]


def test_loading_the_package_as_an_extension_adds_one_magic():
    shell = InteractiveShell.instance()
    try:
        mha_lessons.load_ipython_extension(shell)
        assert "grade" in shell.magics_manager.magics["line"]
        with pytest.raises(UsageError, match="This editor does not say which notebook runs here"):
            shell.run_line_magic("grade", "")
    finally:
        InteractiveShell.clear_instance()


@pytest.mark.parametrize("where", ["jupyter", "vscode", "below its root", "named", "quoted", "02"])
def test_the_notebook_is_found(shell, graded, tmp_path, monkeypatch, where):
    path = save(content(), tmp_path / "02_split_heads.ipynb")
    other = save(content(), tmp_path / "other.ipynb")
    monkeypatch.chdir(tmp_path)
    if where == "vscode":
        monkeypatch.setenv("JPY_SESSION_NAME", str(other))  # VS Code may be started by Jupyter
        shell.user_ns["__vsc_ipynb_file__"] = str(path)
    elif where in ("jupyter", "below its root"):
        said = path if where == "jupyter" else "folder/02_split_heads.ipynb"
        monkeypatch.setenv("JPY_SESSION_NAME", str(said))
    else:
        monkeypatch.setenv("JPY_SESSION_NAME", str(other))
    named = {"named": "02_split_heads.ipynb", "quoted": "~/02_split_heads.ipynb", "02": "02"}
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    magic.grade_here(shell, magic.Runs(shell), named.get(where, ""))
    assert [each.resolve() for each in graded] == [path.resolve()]


def test_quotes_around_a_name_are_no_part_of_it(shell, graded, tmp_path):
    path = save(content(), tmp_path / "my work.ipynb")
    magics = {}
    shell.register_magic_function = lambda f, magic_name: magics.update({magic_name: f})
    magic.load(shell)
    assert repr(magics["grade"](f' "{path}" ')).startswith("02_split_heads: 1 of 1 checks passed")
    assert graded == [path]


@pytest.mark.parametrize(
    ("said", "named", "words"),
    [
        (None, "", r"This editor does not say which notebook runs here\. Save it, and name it: %g"),
        ("gone.ipynb", "", r"There is no file gone\.ipynb\. Was the notebook renamed\? Then name"),
        ("here.ipynb", "no.ipynb", r"There is no file no\.ipynb\. Check the name, or run `mha sta"),
        ("text.ipynb", "", r"A notebook must be JSON, and text\.ipynb is broken"),
        ("plain.ipynb", "", r"plain\.ipynb is no exercise of this course"),
        ("here.ipynb", ".", r"cannot be read: it is a folder or a device"),
    ],
)
def test_a_notebook_that_is_not_found_gets_one_sentence(
    shell, tmp_path, monkeypatch, said, named, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.ipynb").write_text("{", encoding="utf-8")
    save({"cells": []}, tmp_path / "plain.ipynb")
    save(content(), tmp_path / "here.ipynb")
    if said:
        monkeypatch.setenv("JPY_SESSION_NAME", said)
    magics = {}
    shell.register_magic_function = lambda f, magic_name: magics.update({magic_name: f})
    magic.load(shell)
    with pytest.raises(UsageError, match=words):
        magics["grade"](named)
    assert state.read().exercises == {}


ANOTHER = "# ANSWER: split_heads\nsplit_heads = 1"


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ([], []),
        ([WRONG], []),
        ([f"{WRONG}\n"], []),
        ([ANOTHER, WRONG], []),
        ([WRONG, ANOTHER], ["split_heads"]),
        (["# ANSWER: something_else\nx = 1", "split_heads = 2"], []),
    ],
)
@pytest.mark.parametrize("loaded", ["before", "after"])
def test_a_file_that_is_older_than_what_was_run_is_said_to_be(
    shell, graded, tmp_path, monkeypatch, run, told, loaded
):
    path = save(content(split_heads=WRONG), tmp_path / "a.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    monkeypatch.setattr(magic.time, "time", lambda: path.stat().st_mtime + 1)
    if loaded == "before":
        runs = magic.Runs(shell)
        for source in run:
            shell.events.pre_run_cell(types.SimpleNamespace(raw_cell=source))
    else:
        shell.history_manager.input_hist_raw += run
        runs = magic.Runs(shell)
    assert magic.grade_here(shell, runs).notes == [
        f"The saved file is older than what you ran ({name}). "
        "Save the notebook, then run %grade again."
        for name in told
    ]


def test_a_file_that_was_saved_since_is_not_said_to_be_older(shell, graded, tmp_path, monkeypatch):
    shell.history_manager.input_hist_raw.append(ANOTHER)
    path = save(content(split_heads=WRONG), tmp_path / "a.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    monkeypatch.setattr(magic.time, "time", lambda: path.stat().st_mtime - 1)
    assert magic.grade_here(shell, magic.Runs(shell)).notes == []


@pytest.fixture
def colab(monkeypatch):
    """Put a front end in Colab's place; the test says what it answers."""
    asked = []
    message = types.ModuleType("google.colab._message")

    def blocking_request(request_type, request="", timeout_sec=5, parent=None):
        asked.append((request_type, timeout_sec))
        if isinstance(message.answer, Exception):
            raise message.answer
        return message.answer

    message.blocking_request = blocking_request
    package = types.ModuleType("google.colab")
    package._message = message
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", package)
    message.asked = asked
    return message


def test_in_colab_the_front_end_hands_over_the_notebook(shell, colab, tmp_path):
    opened = content(split_heads=WRONG)
    for each in opened["cells"]:  # Colab keeps its ids there, and its sources as lines
        each["metadata"] = {"id": each.pop("id")}
        each["source"] = each["source"].splitlines(keepends=True)
    colab.answer = {"ipynb": copy.deepcopy(opened)}
    submission = magic.grade_here(shell, magic.Runs(shell))
    assert colab.asked == [("get_ipynb", magic.COLAB_PATIENCE)]
    assert (submission.file, submission.exercise) == ("this notebook", "02_split_heads")
    assert (submission.passed, len(submission.rows)) == (3, 8)
    assert list(state.read().exercises) == ["02_split_heads"]


def test_in_colab_a_named_file_is_graded_as_elsewhere(shell, colab, graded, tmp_path):
    path = save(content(), tmp_path / "a.ipynb")
    magic.grade_here(shell, magic.Runs(shell), str(path))
    assert (graded, colab.asked) == ([path], [])


@pytest.mark.parametrize("answer", [None, {}, "no", TimeoutError("late")])
def test_a_front_end_that_does_not_answer_gets_one_sentence(shell, colab, answer):
    colab.answer = answer
    with pytest.raises(magic.WrongCallError, match="Colab did not hand over this notebook"):
        magic.grade_here(shell, magic.Runs(shell))


HOSTILE = '<script>alert(1)</script> & "\'" $x$'


def test_the_table_folds_hints_away_and_escapes_what_learners_write():
    rows = [
        Row("first", "pass", hint="never needed"),
        Row("second", "fail", HOSTILE, f"hint {HOSTILE}"),
        Row("third", "todo", "not written yet"),
    ]
    submission = Submission(f"{HOSTILE}.ipynb", "02_split_heads", rows, [f"note {HOSTILE}"])
    html = as_html(submission)
    table = Table(html)
    assert table.inside == []
    assert "script" not in table.elements
    assert f"hint {HOSTILE}" in table.folded
    assert "02_split_heads: 1 of 3 checks passed" in table.shown
    for words in ("first", "pass", HOSTILE, "fail", "todo", "not written yet", f"note {HOSTILE}"):
        assert words in table.shown
    assert "hint " not in table.shown
    assert html.count("$") == html.count("<span>$</span>")  # no formula begins


def test_a_result_is_html_and_text():
    result = magic.Result(Submission("a.ipynb", "02_split_heads", [Row("first", "pass")]))
    bundle = result._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"].startswith("02_split_heads: 1 of 1 checks passed (a.ipynb)")
    assert bundle["text/html"] == result._repr_html_()


def test_a_saved_magic_changes_no_verdict(tmp_path, mha, remembered):
    made = content()
    made["cells"].append({"cell_type": "code", "metadata": {}, "outputs": [], "source": "%grade"})
    assert mha("grade", save(made, tmp_path / "a.ipynb"))[0] == 0


def test_importing_the_package_loads_no_grader():
    code = "import mha_lessons, sys; sys.exit('mha_lessons.grade' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
