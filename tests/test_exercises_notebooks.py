"""One source makes the learner's notebook, the solved one and the grader's reference."""

import json
import os
import re
import subprocess
import sys

import jupytext
import nbformat
import pytest
import repository
from learners import ROOT

import exercises

SOURCES = sorted((ROOT / "solutions").glob("*.py"))
NAMES = [source.stem for source in SOURCES]
ADDRESS = "https://example.invalid/another/place"


@pytest.fixture(scope="module")
def made():
    """Make all notebooks anew, for another address."""
    found = {}
    for source in SOURCES:
        found |= exercises.notebooks(source, ADDRESS)
    return {path: nbformat.reads(text, as_version=4) for path, text in found.items()}


def committed(folder, name):
    return nbformat.read(folder / f"{name}.ipynb", as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_committed_notebooks_follow_from_their_sources(made):
    # Made for another address: the setup cell may differ, and nothing else.
    folders = (exercises.EXERCISES, exercises.SOLUTIONS, exercises.REFERENCES)
    assert set(made) == {path for folder in folders for path in folder.glob("*.ipynb")}
    for path, notebook in made.items():
        on_disk = nbformat.read(path, as_version=4)
        for cell in on_disk.cells:
            if cell.id == "setup":
                assert cell.source == repository.setup_cell(repository.repository_url())
                cell.source = repository.setup_cell(ADDRESS)
        assert on_disk == notebook, path


def test_check_notices_a_changed_a_missing_and_an_orphaned_notebook(tmp_path, monkeypatch, capsys):
    for name in ("EXERCISES", "SOLUTIONS", "REFERENCES", "ROOT"):
        monkeypatch.setattr(exercises, name, tmp_path)
    (tmp_path / "07_new.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(
        exercises,
        "notebooks",
        lambda source, url: {
            tmp_path / "07_new.ipynb": "new\n",
            tmp_path / "07_ref.ipynb": "ref\n",
        },
    )
    assert exercises.main(["--check"]) == 1
    assert "07_new.ipynb differs from its source: run python tools/exercises.py" in (
        capsys.readouterr().out
    )
    assert list(tmp_path.glob("*.ipynb")) == []  # it only looks

    assert exercises.main([]) == 0
    assert exercises.main(["--check"]) == 0
    capsys.readouterr()
    (tmp_path / "07_ref.ipynb").write_bytes(b"ref\r\n")
    assert exercises.main(["--check"]) == 1
    assert capsys.readouterr().out.startswith("07_ref.ipynb differs")
    assert exercises.main([]) == 0
    (tmp_path / "08_gone.ipynb").write_text("", encoding="utf-8")
    assert exercises.main(["--check"]) == 1
    assert "08_gone.ipynb has no source in solutions/: remove it" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_the_first_code_cell_installs_the_package_but_not_in_the_reference(name):
    setup = repository.setup_cell(repository.repository_url())
    for folder in (exercises.EXERCISES, exercises.SOLUTIONS):
        assert code(committed(folder, name))[0].source == setup
    reference = committed(exercises.REFERENCES, name)
    assert "setup" not in [cell.id for cell in reference.cells]
    assert repository.repository_url() not in json.dumps(reference)


@pytest.mark.parametrize("name", NAMES)
def test_learners_get_no_answer_and_no_output(name):
    source = next(path for path in SOURCES if path.stem == name).read_text(encoding="utf-8")
    answers = [body.strip() for _, body in exercises.SOLVED_LINES.findall(source)]
    assert answers
    for folder in (exercises.EXERCISES, exercises.REFERENCES):
        text = "\n".join(cell.source for cell in committed(folder, name).cells)
        assert "SOLUTION" not in text
        assert not [answer for answer in answers if answer in text]
        assert not re.search(r'"T\d+": "', text.replace('`"T1": "a"`', ""))
    for cell in code(committed(exercises.EXERCISES, name)):
        assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize("name", NAMES)
def test_solutions_show_no_marker_and_nothing_of_this_machine(name):
    text = (exercises.SOLUTIONS / f"{name}.ipynb").read_text(encoding="utf-8")
    assert "SOLUTION" not in text
    notebook = nbformat.reads(text, as_version=4)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "mha": {"exercise": name},
    }
    assert all(cell.metadata == {} for cell in notebook.cells)
    counts = [cell.execution_count for cell in code(notebook)]
    assert counts == list(range(1, len(counts) + 1))


@pytest.mark.parametrize("name", NAMES)
def test_every_task_says_how_hard_it_is_why_it_matters_and_has_nested_hints(name):
    cells = jupytext.read(ROOT / "solutions" / f"{name}.py").cells
    tasks = [cell.source for cell in cells if re.match(r"## \d\. ", cell.source)]
    assert len(tasks) >= 2
    for task in tasks:
        assert re.search(r"\*\*Difficulty:\*\* [1-5] of 5\. \*\*Time:\*\* \d+ minutes\.", task)
        assert "**Why this matters.**" in task
        assert "**Your task.**" in task
        hints = re.findall(r"<details><summary>Hint (\d): ", task)
        assert hints in (["1", "2"], ["1", "2", "3"])
        assert task.rstrip().endswith("\n".join(["</details>"] * len(hints)))


def test_an_answer_without_markers_is_not_handed_out():
    cell = nbformat.v4.new_code_cell("# ANSWER: softmax\ndef softmax(scores):\n    return scores")
    with pytest.raises(ValueError, match=r"between ### BEGIN SOLUTION and .*: softmax has neither"):
        exercises.stub(cell)


def test_a_stub_keeps_the_signature_and_raises():
    cell = nbformat.v4.new_code_cell(
        "# ANSWER: f\ndef f(x):\n    '''Say it.'''\n    ### BEGIN SOLUTION\n    return x\n"
        "    ### END SOLUTION"
    )
    assert exercises.stub(cell) == (
        "# ANSWER: f\ndef f(x):\n    '''Say it.'''\n"
        '    raise NotImplementedError("f is not written yet")'
    )


def test_plain_nbval_fails_as_released_and_passes_solved():
    name = NAMES[0]
    files = [f"{folder}/{name}.ipynb" for folder in ("exercises", "solutions")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", "-rA", "-q", "--color=no", *files],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 1
    verdicts = re.findall(r"^(PASSED|FAILED|ERROR) (exercises|solutions)/", done.stdout, re.M)
    assert {verdict for verdict, folder in verdicts if folder == "solutions"} == {"PASSED"}
    checks = re.findall(r"^check\.", SOURCES[0].read_text(encoding="utf-8"), re.M)
    assert verdicts.count(("FAILED", "exercises")) == len(checks)
