"""A save is noticed however an editor makes it, and the newest one is graded."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from learners import NO_STATE, ROOT, content, save

from mha_lessons.grade import command, watch
from mha_lessons.grade.notebook import NotGradableError
from mha_lessons.grade.report import Row, Submission
from mha_lessons.grade.watch import Saves

WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text("0", encoding="utf-8")
    return path


def test_a_file_that_stays_is_not_saved(file):
    saves = Saves(file)
    assert saves.look() == saves.look() == ([], [])


def test_a_save_in_place_is_noticed_once(file):
    saves = Saves(file)
    file.write_text("new", encoding="utf-8")
    assert saves.look() == ([file], [])
    assert saves.look() == ([], [])


def test_a_save_by_renaming_is_noticed_though_size_and_time_are_the_same(file):
    saves, status = Saves(file), file.stat()
    new = file.with_name(".a.tmp")
    new.write_text("1", encoding="utf-8")
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.replace(file)
    assert saves.look() == ([file], [])


def test_a_gap_between_two_names_is_no_deletion(file, monkeypatch):
    saves = Saves(file)
    file.unlink()
    assert saves.look() == ([], [])
    file.write_text("0", encoding="utf-8")
    assert saves.look() == ([file], [])


def test_a_deleted_file_is_told_once_and_noticed_when_it_is_back(file, monkeypatch):
    monkeypatch.setattr(watch, "GONE", 0)
    saves = Saves(file)
    file.unlink()
    saves.look()
    time.sleep(0.01)
    assert saves.look() == ([], [file])
    assert saves.look() == ([], [])
    file.write_text("0", encoding="utf-8")
    assert saves.look() == ([file], [])


def test_a_new_file_in_a_folder_is_noticed_and_hidden_ones_are_not(file, monkeypatch):
    monkeypatch.setattr(watch, "LIST_INTERVAL", 0)
    saves = Saves(file.parent)
    new = file.with_name("b.ipynb")
    new.write_text("0", encoding="utf-8")
    hidden = file.parent / ".ipynb_checkpoints" / "a-checkpoint.ipynb"
    hidden.parent.mkdir()
    hidden.write_text("0", encoding="utf-8")
    assert saves.look() == ([new], [])


class Watched:
    """`watch` in a thread, with a grader of the test's own."""

    def __init__(self, path, grade, first=()):
        self.shown, self.said, self.grade = [], [], grade
        self.failed = None
        self.stopped = False
        self.thread = threading.Thread(target=self._run, args=(path, first))
        self.thread.start()

    def _run(self, path, first):
        def show(submission, seconds):
            self.shown.append(submission)

        try:
            watch.watch(path, self.grade, show, self._say, first)
        except KeyboardInterrupt:
            self.stopped = True

    def _say(self, sentence):
        self.said.append(sentence)

    def until(self, condition):
        end = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.fixture
def watched(file, monkeypatch):
    """Start a `Watched`, and end it as Ctrl+C would."""
    running, looking, over = [], threading.Event(), threading.Event()
    sleep = time.sleep

    def until_over(seconds):
        looking.set()
        if over.is_set():
            raise KeyboardInterrupt
        sleep(seconds)

    class Clock:
        monotonic = staticmethod(time.monotonic)
        sleep = staticmethod(until_over)

    monkeypatch.setattr(watch, "time", Clock)

    def start(grade, first=()):
        running.append(Watched(file, grade, first))
        assert looking.wait(20)
        return running[-1]

    yield start
    over.set()
    for each in running:
        each.thread.join(10)
        assert each.stopped


def test_only_the_newest_of_several_saves_is_shown(file, watched):
    started = []

    def grade(path, stop):
        text = path.read_text(encoding="utf-8")
        started.append(text)
        if text != "3":
            assert stop.wait(5)
        return text

    running = watched(grade, first=[file])
    for number in "123":
        running.until(lambda: started)
        file.write_text(number, encoding="utf-8")
        running.until(lambda number=number: started[-1] == number)
    running.until(lambda: running.shown)
    assert (running.shown, running.said) == (["3"], [])
    assert started == ["0", "1", "2", "3"]


def test_a_half_written_file_is_not_told_but_graded_when_it_is_whole(file, watched, monkeypatch):
    monkeypatch.setattr(watch, "SETTLED", 60)
    tries = []

    def grade(path, stop):
        tries.append(1)
        if path.read_text(encoding="utf-8") != "whole":
            raise NotGradableError("broken")
        return "graded"

    running = watched(grade)
    file.write_text("who", encoding="utf-8")
    running.until(lambda: len(tries) > 2)
    file.write_text("whole", encoding="utf-8")
    running.until(lambda: running.shown)
    assert (running.shown, running.said) == (["graded"], [])


def test_a_file_that_stays_broken_is_told_once(file, watched, monkeypatch):
    monkeypatch.setattr(watch, "SETTLED", 0.1)

    def grade(path, stop):
        raise NotGradableError("a sentence")

    running = watched(grade)
    file.write_text("new", encoding="utf-8")
    running.until(lambda: running.said)
    time.sleep(0.3)
    assert running.said == ["a sentence"]


def test_an_error_of_the_grader_is_told_and_the_watch_goes_on(file, watched):
    def grade(path, stop):
        if path.read_text(encoding="utf-8") == "bad":
            raise KeyError("oops")
        return "graded"

    running = watched(grade)
    file.write_text("bad", encoding="utf-8")
    running.until(lambda: running.said)
    file.write_text("good", encoding="utf-8")
    running.until(lambda: running.shown)
    assert running.said == ["'oops'"]


def test_an_interrupt_stops_the_grading_that_runs(file, watched):
    stopped, begun = threading.Event(), threading.Event()

    def grade(path, stop):
        begun.set()
        if stop.wait(20):
            stopped.set()

    watched(grade, first=[file])
    assert begun.wait(20)
    # The fixture's end is the interrupt; it waits for the grading.
    threading.Thread(target=lambda: stopped.wait(20)).start()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_mha_watch_grades_on_each_save_and_leaves_no_process(tmp_path):
    path = save(content(), tmp_path / "work" / "a.ipynb")
    (path.parent / "numpy.py").write_text("raise RuntimeError('not NumPy')", encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, "-c", "from mha_lessons.grade.command import main; main(['watch', '.'])"],
        cwd=path.parent,
        env={"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "PYTHONSAFEPATH": "1"} | NO_STATE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    lines = iter(running.stdout.readline, "")
    try:
        assert next(lines).startswith("Watching .. Save a notebook, and it is graded.")
        time.sleep(1)
        for made, expected in [(content(), "8 of 8"), (content(split_heads=WRONG), "4 of 8")]:
            save(made, path)
            found = next(line for line in lines if "checks passed (" in line)
            assert found == f"02_split_heads: {expected} checks passed (a.ipynb)\n"
        assert re.fullmatch(
            r"Next: split_heads_values in a\.ipynb\. Save, and it is graded again\."
            r" Stuck\? Run: mha hint 02 split_heads_values\n",
            next(line for line in lines if line.startswith("Next")),
        )
    finally:
        running.send_signal(signal.SIGINT)
        rest, errors = running.communicate(timeout=30)
    assert (running.returncode, rest, errors) == (0, "\nStopped.\n", "")
    assert [name for name in os.listdir(tmp_path) if name.startswith("mha-")] == []
    mark = os.fsencode(tmp_path) + b"/"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                assert mark not in file.read()
        except OSError:
            continue


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["watch", "none.ipynb"], "There is no file none.ipynb. Check the name"),
        (["watch", "notes.txt"], "notes.txt is no notebook. Give a file whose name ends in .ipynb"),
        (["watch", "--timeout", "0"], "must be more than 0 and at most 3600: got 0"),
    ],
)
def test_a_watch_that_makes_no_sense_is_refused(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert command.main(arguments) == 2
    assert words in capsys.readouterr().err


def test_where_there_is_no_fork_a_watch_grades_all_the_same(tmp_path, monkeypatch, capsys):
    path = save(content(), tmp_path / "a.ipynb")

    def once(path, grade, show, say, first):
        show(grade(first[0], threading.Event()), 0.25)
        raise KeyboardInterrupt

    def grade(file, *, timeout, warm, stop):
        assert warm is None
        return Submission(str(file), "02_split_heads", [Row("first", "pass")])

    monkeypatch.setattr(command, "POSSIBLE", False)
    monkeypatch.setattr(command, "watch", once)
    monkeypatch.setattr(command, "grade", grade)
    assert command.main(["watch", str(path)]) == 0
    assert ", after 0.2 s:\n02_split_heads: 1 of 1 checks passed" in capsys.readouterr().out
