"""The grader's benchmark times a path only when its verdicts are right. No test looks at a time."""

import json

import pytest

from benchmarks import classroom, grading, grading_peers
from benchmarks.grading import UntrueError
from mha_lessons.grade.bank import BANK
from mha_lessons.grade.notebook import reference
from mha_lessons.grade.splice import checks

WORDS = "Only right verdicts are timed: "


@pytest.fixture
def paths(monkeypatch):
    """Leave the peers and the processes out: each path says what the list holds."""
    says = []
    for kind in (grading.Cold, grading.InWarm):
        monkeypatch.setattr(kind, "grade", lambda self: None)
        monkeypatch.setattr(
            kind, "passed", lambda self: says[0 if "wrong" in self.path.name else 1]
        )
    monkeypatch.setattr(grading, "PEERS", {})
    return says


def test_a_path_that_takes_a_wrong_notebook_for_right_is_not_timed(paths, tmp_path):
    paths[:] = [8, 8]
    with pytest.raises(UntrueError, match=f"{WORDS}mha grade, cold says 8, and 4 is right"):
        grading.one_notebook(tmp_path, "python", 1)


def test_a_path_that_rejects_a_right_notebook_is_not_timed(paths, tmp_path):
    paths[:] = [4, 7]
    with pytest.raises(UntrueError, match=r"says 7, and 8 is right\. Find out why first"):
        grading.one_notebook(tmp_path, "python", 1)


def test_each_path_is_timed_as_often_as_the_others(paths, tmp_path):
    paths[:] = [4, 8]
    taken = grading.one_notebook(tmp_path, "python", 3)
    assert {name: len(times) for name, times in taken.items()} == {
        "mha grade, cold": 3,
        "mha grade, cold, with torch": 3,
        "mha grade, warm": 3,
    }


def test_the_notebook_with_torch_imports_it_and_the_other_does_not(tmp_path):
    path = grading.save(None, tmp_path / "right.ipynb")
    cold = grading.Cold(tmp_path, grading.TORCH)
    cold.hand_in(path)
    assert "import torch" in cold.path.read_text(encoding="utf-8")
    assert "import torch" not in path.read_text(encoding="utf-8")


def test_a_check_that_misses_a_mistake_is_not_timed():
    with pytest.raises(UntrueError, match=f"{WORDS}c says None, and a.b is right"):
        grading._times("c", lambda answer: None, None, "a.b", 1)


def test_every_check_and_its_mistakes_are_timed():
    right, wrong = grading.check_cells(1)
    names = {check for name in grading.exercises() for _, check, _ in checks(reference(name))}
    assert set(right) == names
    assert len(wrong) > 100


def test_a_class_with_a_wrong_verdict_is_not_timed(monkeypatch, tmp_path):
    def run(call, **how):
        target = call[call.index("--json") + 1]
        target.write_text(json.dumps({"submissions": []}))

    monkeypatch.setattr(grading.subprocess, "run", run)
    with pytest.raises(UntrueError, match=f"{WORDS}the class says \\[\\], and \\['"):
        grading.a_class(tmp_path, 2)


def test_a_peer_that_is_not_installed_is_left_out_with_a_sentence(monkeypatch, tmp_path, capsys):
    class Missing(grading_peers.Nbval):
        package, module = "nbval", "nbval_that_nobody_has"

    monkeypatch.setattr(grading, "PEERS", {"pytest --missing": Missing})
    monkeypatch.setattr(grading, "demand", lambda *words: None)
    for kind in (grading.Cold, grading.InWarm):
        monkeypatch.setattr(kind, "grade", lambda self: None)
        monkeypatch.setattr(kind, "passed", lambda self: 0)
    taken = grading.one_notebook(tmp_path, grading.sys.executable, 1)
    assert "pytest --missing" not in taken
    said = capsys.readouterr().out
    assert said.startswith("pytest --missing is left out: nbval is not installed for ")


def test_a_target_is_judged_by_the_least_time():
    assert "reached" in grading.line("mha grade, cold", [9.0, 1.0])
    assert "NOT REACHED" in grading.line("mha grade, cold", [9.0, 2.5])


def test_a_made_answer_is_the_function_itself(tmp_path):
    names = {}
    exec("import numpy as np", names)
    row = BANK["split_heads.columns_dealt"]
    exec(classroom.cell_of("split_heads", row.wrong), names)
    x = names["np"].arange(24.0).reshape(2, 12)
    assert (names["split_heads"](x, 3) == row.wrong(x, 3)).all()


def test_a_class_is_the_same_each_time(tmp_path):
    made = [classroom.make(6, tmp_path / name) for name in "ab"]
    assert [list(map(vars, each.values())) for each in made[:1]] == [
        list(map(vars, each.values())) for each in made[1:]
    ]
    assert [p.read_bytes() for p in made[0]] == [p.read_bytes() for p in made[1]]


def test_a_solution_s_cell_counts_as_right_only_beside_right_answers(tmp_path):
    made = classroom.make(60, tmp_path, ["03_concat_and_project"])
    sure = {"multi_head_attention_values" in e.passing for e in made.values() if not e.mistakes}
    unsure = {
        "multi_head_attention_values" in e.passing
        for path, e in made.items()
        if any(mistake.startswith("merge_heads.") for mistake in e.mistakes.values())
    }
    assert (sure, unsure) == ({True}, {False})
