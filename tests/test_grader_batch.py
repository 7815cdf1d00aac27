"""Many notebooks are graded in order, some at a time; none stops the rest, and a stop is true."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from learners import NO_STATE, ROOT, content, save

from mha_lessons.grade import batch, command
from mha_lessons.grade.batch import grade_all
from mha_lessons.grade.progress import Progress
from mha_lessons.grade.report import Row, Submission

WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x\n"
HANGS = WRONG.replace("return x", "while True: pass")
STOPPED = "grading was stopped before this notebook"


def passing(path):
    return Submission(str(path), "02_split_heads", [Row("first", "pass")])


@pytest.mark.parametrize("jobs", [1, 3])
def test_submissions_come_in_the_order_of_their_files(monkeypatch, jobs):
    def grade(path, *how):
        time.sleep(0.05 * (3 - path))  # the first is the last to be done
        return passing(path)

    monkeypatch.setattr(batch, "grade", grade)
    found = list(grade_all(range(4), jobs=jobs))
    assert [submission.file for submission in found] == ["0", "1", "2", "3"]


def test_as_many_are_graded_at_a_time_as_there_are_jobs(monkeypatch):
    meeting = threading.Barrier(3, timeout=20)  # broken unless three are there together

    def grade(path, *how):
        meeting.wait()
        return passing(path)

    monkeypatch.setattr(batch, "grade", grade)
    assert all(submission.complete for submission in grade_all(range(6), jobs=3))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("isolate", [True, False])
def test_a_broken_file_stops_no_other(tmp_path, jobs, isolate):
    files = [
        save(content(), tmp_path / "a.ipynb"),
        tmp_path / "b.ipynb",
        save(content(split_heads=WRONG), tmp_path / "c.ipynb"),
        tmp_path / "d.ipynb",
    ]
    files[1].write_text("{", encoding="utf-8")
    found = list(grade_all(files, timeout=20, isolate=isolate, jobs=jobs))
    assert [submission.passed for submission in found] == [8, 0, 4, 0]
    assert [submission.exercise for submission in found][1::2] == [None, None]
    assert found[1].rows[0].message.startswith("A notebook must be JSON, and b.ipynb is broken")
    assert found[3].rows[0].message.startswith("d.ipynb cannot be read")


def test_two_graders_at_once_do_not_disturb_each_other(tmp_path):
    path = save(content(split_heads=WRONG), tmp_path / "a.ipynb")
    command_ = [sys.executable, "-m", "mha_lessons.grade", str(path), "--json", "-"]
    runs = [
        subprocess.Popen(command_, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)} | NO_STATE)
        for _ in range(2)
    ]
    told = [json.loads(run.communicate(timeout=120)[0])["submissions"] for run in runs]
    for each in told:
        for row in each[0]["rows"]:
            row.pop("seconds")
    assert told[0] == told[1]
    assert told[0][0]["passed"] == 4


def interrupted(tmp_path, *options):
    """Grade a notebook that passes and two that hang; press Ctrl+C when one is graded."""
    for name in "abc":
        made = content() if name == "a" else content(split_heads=HANGS)
        save(made, tmp_path / "class" / f"{name}.ipynb")
    target = tmp_path / "r.json"
    command_ = [sys.executable, "-m", "mha_lessons.grade", "class", "--timeout=600"]
    run = subprocess.Popen(
        [*command_, "--json=r.json", *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"} | NO_STATE,
        encoding="utf-8",
    )
    first = run.stdout.readline()
    assert first.startswith("02_split_heads: 8 of 8"), first + run.stderr.read()
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert (run.returncode, errors) == (130, "")
    return json.loads(target.read_text(encoding="utf-8"))["submissions"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.parametrize("options", [[], ["--jobs", "3"], ["--isolate"]])
def test_ctrl_c_leaves_a_true_report_and_no_process(tmp_path, options):
    found = interrupted(tmp_path, *options)
    assert [submission["passed"] for submission in found] == [8, 0, 0]
    (row,) = found[2]["rows"]
    assert (row["status"], row["message"]) == ("not run", STOPPED)
    assert [file for file in os.listdir(tmp_path) if file.startswith("mha-")] == []
    assert processes_of(tmp_path) == []


def processes_of(folder):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if os.fsencode(folder) + b"/" in file.read():
                    found.append(pid)
        except OSError:
            continue
    return found


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_one_line_that_is_taken_away():
    stream = Terminal()
    progress = Progress(stream, 3)
    progress.draw()
    progress.add(passing("a"))
    progress.add(Submission("b", None, []))
    progress.draw()
    progress.clear()
    assert stream.getvalue() == (
        "\r\x1b[K0 of 3 graded, 0 complete\r\x1b[K2 of 3 graded, 1 complete, about 0 s left\r\x1b[K"
    )


@pytest.mark.parametrize(("stream", "total"), [(io.StringIO(), 3), (Terminal(), 1)])
def test_without_a_terminal_or_for_one_notebook_there_is_no_progress(stream, total):
    progress = Progress(stream, total)
    progress.draw()
    progress.clear()
    assert stream.getvalue() == ""


def test_what_was_known_before_does_not_make_the_rest_look_quick():
    stream = Terminal()
    progress = Progress(stream, 4)
    progress.start -= 100
    progress.add(passing("a"), known=True)
    progress.draw()
    assert stream.getvalue().endswith("1 of 4 graded, 1 complete")
    progress.add(passing("b"))
    progress.draw()
    assert stream.getvalue().endswith("2 of 4 graded, 2 complete, about 3 min left")


def test_a_long_time_is_told_in_minutes():
    stream = Terminal()
    progress = Progress(stream, 200)
    progress.start -= 100
    progress.add(passing("a"))
    progress.draw()
    assert stream.getvalue().endswith("1 of 200 graded, 1 complete, about 332 min left")


def test_the_table_stands_above_the_progress(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(batch, "grade", lambda path, *how: passing(path))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for name in "ab":
        save(content(), tmp_path / f"{name}.ipynb")
    assert command.main(["grade", str(tmp_path)]) == 0
    lines = capsys.readouterr().err.split("\r\x1b[K")
    assert [line[:24] for line in lines if line] == [
        "0 of 2 graded, 0 complet",
        "1 of 2 graded, 1 complet",
        "2 of 2 graded, 2 complet",
    ]
    assert lines[-1] == ""
