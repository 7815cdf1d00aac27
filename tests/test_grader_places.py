"""Reports for spreadsheets, Gradescope and GitHub Classroom are what these read."""

import base64
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from graded_class import CLASS, WRONG, submission
from learners import ROOT, content, save

from mha_lessons.grade import command
from mha_lessons.grade.notebook import exercises, reference
from mha_lessons.grade.report import Row, as_csv
from mha_lessons.grade.report_elsewhere import as_classroom, as_gradescope
from mha_lessons.grade.report_files import REPORTS
from mha_lessons.grade.splice import checks


def test_reports_are_written_whatever_a_file_is_called(fake_grading, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.ipynb")
    try:
        save(content(), Path(path))
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    targets = {name: tmp_path / f"report.{name}" for name in REPORTS}
    kept = tmp_path / "journal"
    call = ["grade", path, "--resume", str(kept)]
    assert command.main([*call, *(f"--{name}={target}" for name, target in targets.items())]) == 1
    assert all(target.read_text(encoding="utf-8") for target in targets.values())
    assert command.main(call) == 1
    assert len(fake_grading) == 1


def test_a_spreadsheet_computes_nothing_of_what_a_learner_wrote(fake_grading, tmp_path):
    hostile = submission("=HYPERLINK()", *(Row("c", "fail", f"{sign}1") for sign in "=+-@\t"))
    table = list(csv.reader(as_csv([hostile]).splitlines()))
    assert [row[0] for row in table[1:]] == ["'=HYPERLINK()"] * 5
    assert all(row[4].startswith("'") for row in table[1:])
    assert table[1][-1] == "0.0"


DOCUMENTED = {
    "score": (int, float),
    "execution_time": (int, float),
    "output": str,
    "output_format": str,
    "visibility": str,
    "stdout_visibility": str,
    "tests": list,
}
DOCUMENTED_TEST = {
    "score": (int, float),
    "max_score": (int, float),
    "status": str,
    "name": str,
    "name_format": str,
    "output": str,
    "output_format": str,
    "tags": list,
    "visibility": str,
}


def test_gradescope_gets_what_it_documents():
    result = json.loads(as_gradescope(CLASS[1:2] + CLASS[-1:]))
    for holder, documented in [
        (result, DOCUMENTED),
        *((t, DOCUMENTED_TEST) for t in result["tests"]),
    ]:
        assert all(isinstance(value, documented[name]) for name, value in holder.items())
    first = result["tests"][0]
    assert (first["score"], first["max_score"], first["status"]) == (0, 1, "failed")
    assert first["name"] == "02_split_heads: one"
    assert first["output"] == "fail: rows are mixed"
    assert first["tags"] == ["x.mixed"]
    assert result["tests"][-1]["output"] == "blocked: broken"
    assert {t["status"] for t in json.loads(as_gradescope(CLASS[4:5]))["tests"]} == {"passed"}
    assert json.loads(as_gradescope([]))["score"] == 0


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_copies_the_better_one_counts_and_no_point_twice(order):
    copies = [CLASS[1], CLASS[4]][::order]
    result = json.loads(as_gradescope(copies))
    assert [test["score"] for test in result["tests"]] == [1, 1]
    assert result["output"].startswith("b does not count: e is the same exercise")
    decoded = json.loads(base64.b64decode(as_classroom(copies)))
    assert (decoded["max_score"], len(decoded["tests"])) == (2, 2)


def test_github_s_reporter_adds_up_the_checks_that_passed():
    text = as_classroom(CLASS[2:3] + CLASS[-1:])
    assert text.count("\n") == 1  # it is a step's output
    result = json.loads(base64.b64decode(text))
    # As its source adds them up.
    assert sum(test["score"] for test in result["tests"]) == 1
    assert (result["version"], result["status"], result["max_score"]) == (1, "fail", 3)
    assert [test["status"] for test in result["tests"]] == ["pass", "fail", "fail"]
    assert result["tests"][1]["message"] == "crash: the process ended"
    assert json.loads(base64.b64decode(as_classroom(CLASS[4:5])))["status"] == "pass"
    assert json.loads(base64.b64decode(as_classroom([])))["status"] == "fail"


def autograded(tmp_path):
    """Run Gradescope's harness as it does; return results.json."""
    root = tmp_path / "autograder"
    for name in ("results", "submission"):
        (root / name).mkdir(parents=True, exist_ok=True)
    if not (root / "venv").exists():
        (root / "venv").symlink_to(sys.prefix)
    done = subprocess.run(
        [ROOT / "classroom" / "gradescope" / "run_autograder"],
        env=os.environ | {"AUTOGRADER_ROOT": str(root)},
        capture_output=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))


@pytest.mark.skipif(sys.platform == "win32", reason="Gradescope runs Linux")
def test_gradescope_s_harness_grades_and_says_what_is_missing(tmp_path):
    nothing = autograded(tmp_path)
    assert nothing["score"] == 0
    assert "A folder to grade must hold notebooks" in nothing["output"]
    save(content(split_heads=WRONG), tmp_path / "autograder" / "submission" / "a.ipynb")
    result = autograded(tmp_path)
    assert "score" not in result
    assert sum(test["score"] for test in result["tests"]) == 4
    assert len(result["tests"]) == 8


def test_github_s_files_call_what_there_is(tmp_path):
    folder = ROOT / "classroom" / "github"
    calls = []
    tests = json.loads((folder / "autograding.json").read_text())["tests"]
    assert [test["name"] for test in tests] == exercises()
    for test in tests:
        assert set(test) == {
            "name",
            "setup",
            "run",
            "input",
            "output",
            "comparison",
            "timeout",
            "points",
        }
        assert test["points"] == len(list(checks(reference(test["name"]))))
        assert f"{test['name']}.ipynb" in test["run"]
        calls.append(test["run"])
    workflow = yaml.safe_load((folder / "classroom.yml").read_text())
    (job,) = workflow["jobs"].values()
    steps = {step.get("id"): step for step in job["steps"]}
    calls.append(steps["mha"]["run"].splitlines()[0].removesuffix(" || true").replace('"', ""))
    reporter = job["steps"][-1]
    assert reporter["with"]["runners"] == "mha"
    assert reporter["env"] == {"MHA_RESULTS": "${{steps.mha.outputs.result}}"}
    for call in calls:
        program, *arguments = call.split()
        assert program == "mha"
        command._parser().parse_args(arguments)
