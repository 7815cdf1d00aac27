"""What the disk and the file system may do to a grading gets a clear sentence, never a pass."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from learners import NO_STATE, ROOT, content, save

from mha_lessons.grade import command, process
from mha_lessons.grade.notebook import NotGradableError
from mha_lessons.grade.run import grade

WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x\n"
MOUNT = ["unshare", "--user", "--map-root-user", "--mount"]


def may_mount():
    if not shutil.which("unshare"):
        return False
    return subprocess.run([*MOUNT, "true"], capture_output=True).returncode == 0


@pytest.mark.parametrize("isolate", [False, True])
def test_a_notebook_of_50_mb_is_graded(tmp_path, isolate):
    made = content(split_heads=WRONG)
    data = {"image/png": "A" * (50 << 20)}
    made["cells"][-1]["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": data}]
    path = save(made, tmp_path / "a.ipynb")
    assert path.stat().st_size > 50 << 20
    submission = grade(path, 20, isolate)
    assert (submission.passed, submission.notes) == (4, [])


@pytest.mark.parametrize("isolate", [False, True])
def test_the_learner_s_folder_may_be_read_only_and_stays_as_it_is(tmp_path, isolate):
    folder = tmp_path / "work"
    path = save(content(), folder / "a.ipynb")
    before = path.read_bytes()
    folder.chmod(0o555)
    try:
        assert grade(path, 20, isolate).complete
        assert os.listdir(folder) == ["a.ipynb"]
        assert path.read_bytes() == before
    finally:
        folder.chmod(0o755)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_report_on_a_full_disk_is_told_and_the_verdicts_are_shown(tmp_path, capsys):
    path = save(content(), tmp_path / "a.ipynb")
    assert command.main(["grade", str(path), "--csv", "/dev/full"]) == 2
    out, err = capsys.readouterr()
    assert "02_split_heads: 8 of 8 checks passed" in out
    assert err == (
        "mha: The report /dev/full cannot be written (No space left on device). Use another name.\n"
    )


def test_a_temporary_folder_that_cannot_be_written_is_told(tmp_path, monkeypatch, capsys):
    def full(*arguments, **named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = save(content(), tmp_path / "a.ipynb")
    monkeypatch.setattr(process.tempfile, "TemporaryDirectory", full)
    sentence = (
        "The temporary folder cannot be written (No space left on device), so nothing was graded. "
        "Make room there, or set TMPDIR to another folder."
    )
    with pytest.raises(NotGradableError) as caught:
        grade(path)
    assert str(caught.value) == sentence
    assert command.main(["grade", str(path)]) == 1
    assert " ".join(sentence.split()[:5]) in capsys.readouterr().out


@pytest.mark.skipif(not may_mount(), reason="a user may not mount a file system here")
@pytest.mark.parametrize("kilobytes", [8, 48])
@pytest.mark.parametrize("isolate", [[], ["--isolate"]])
def test_on_a_disk_that_is_full_or_fills_up_nothing_passes_that_is_wrong(
    tmp_path, kilobytes, isolate
):
    path = save(content(split_heads=WRONG), tmp_path / "a.ipynb")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size={kilobytes}k none {disk} && exec "$@"'
    run = [sys.executable, "-m", "mha_lessons.grade", str(path), "--json", "-", *isolate]
    done = subprocess.run(
        [*MOUNT, "sh", "-c", mount, "sh", *run],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TMPDIR": str(disk)} | NO_STATE,
        capture_output=True,
        encoding="utf-8",
        timeout=200,
    )
    assert done.returncode == 1
    (submission,) = json.loads(done.stdout)["submissions"]
    passed = {row["check"] for row in submission["rows"] if row["status"] == "pass"}
    assert not passed or passed == {
        "split_heads_keeps_its_input",
        "parameter_count_projections",
        "parameter_count_bias",
        "parameter_count_refuses_uneven",
    }
    if kilobytes == 8:
        assert submission["rows"][0]["message"].startswith("The temporary folder cannot be written")
    assert Path(disk).exists()


def test_utf_16_is_told(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(content()), encoding="utf-16")
    with pytest.raises(NotGradableError, match=r"must be UTF-8 text, and a\.ipynb is not\. Save"):
        grade(path)


def test_a_notebook_that_ends_in_the_middle_is_told(tmp_path):
    text = json.dumps(content())
    path = tmp_path / "a.ipynb"
    for length in (1, len(text) // 2, len(text) - 1):
        path.write_text(text[:length], encoding="utf-8")
        with pytest.raises(NotGradableError, match=r"must be JSON, and a\.ipynb is broken"):
            grade(path)
