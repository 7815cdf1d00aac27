import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

# The arrays of the tests are small: a second thread costs more than it brings.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Triton must know before anything imports it, torch.compile included. A GPU has nvidia-smi.
if shutil.which("nvidia-smi") is None:
    os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture(scope="session", autouse=True)
def no_real_progress(tmp_path_factory):
    """Keep the tests away from the progress of the one who runs them."""
    os.environ["MHA_STATE"] = str(tmp_path_factory.mktemp("state") / "progress.json")


@pytest.fixture
def remembered(tmp_path, monkeypatch):
    """Return the path of a file of progress that is not there yet."""
    path = tmp_path / "remembered" / "progress.json"
    monkeypatch.setenv("MHA_STATE", str(path))
    return path


@pytest.fixture
def mha(capsys):
    """Run the command line; return its exit status and what it wrote."""
    from mha_lessons.grade import command

    def call(*arguments):
        status = command.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def pytest_collection_modifyitems(items):
    """Skip the tests that need CUDA where there is none, with that reason."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked:
        import torch

        if not torch.cuda.is_available():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason="needs CUDA, and torch finds none"))


@pytest.fixture
def fake_grading(monkeypatch):
    """Replace the grading itself; return the list of the files that were graded."""
    from mha_lessons.grade import batch
    from mha_lessons.grade.report import Row, Submission

    graded = []

    def grade(path, *how):
        graded.append(path)
        rows = [Row("first", "pass"), Row("second", "fail", "wrong", "hint", "a.b")]
        return Submission(str(path), "02_split_heads", rows)

    monkeypatch.setattr(batch, "grade", grade)
    return graded
