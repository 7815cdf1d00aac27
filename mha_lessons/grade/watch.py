"""Grade a notebook each time it is saved: ``mha watch``."""

import os
import threading
import time
from pathlib import Path

from .batch import notebooks_in
from .notebook import NotGradableError

INTERVAL = 0.03  # seconds between two looks
LIST_INTERVAL = 1.0  # the same, for new files in a folder
SETTLED = 0.5  # a broken file that is younger may still be being written
GONE = 2.0  # editors that save by renaming leave a gap


class Saves:
    """Notice when a notebook, or one in a folder, is saved or gone."""

    def __init__(self, path):
        self.path, self.listed = Path(path), -LIST_INTERVAL
        self.files = [] if self.path.is_dir() else [self.path]
        self.seen = {file: _signature(file) for file in self._files()}
        self.missing = {}  # file to when it was first missed

    def look(self):
        """Return the files that were saved since the last look, and those that are gone."""
        saved, gone, now = [], [], time.monotonic()
        for file in self._files():
            signature = _signature(file)
            if signature is None:
                if self.seen.get(file) and now - self.missing.setdefault(file, now) > GONE:
                    gone.append(file)
                    self.seen[file] = None
                continue
            self.missing.pop(file, None)
            if signature != self.seen.get(file):
                saved.append(file)
                self.seen[file] = signature
        return saved, gone

    def _files(self):
        if self.path.is_dir() and time.monotonic() - self.listed >= LIST_INTERVAL:
            self.listed = time.monotonic()
            self.files = list(dict.fromkeys([*self.files, *notebooks_in(self.path)]))
        return self.files


def _signature(file):
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class _Grading(threading.Thread):
    """One grading, which may be stopped when the file is saved again."""

    def __init__(self, grade, file):
        super().__init__(daemon=True)
        self.grade, self.file, self.stop = grade, file, threading.Event()
        self.started, self.found = time.monotonic(), None
        self.start()

    def run(self):
        try:
            self.found = self.grade(self.file, self.stop)
        except Exception as error:
            self.found = error


def watch(path, grade, show, say, first=()):
    """Grade the notebook or the folder at `path` on each save, until an interrupt.

    Parameters
    ----------
    path : path
    grade : callable
        ``(file, stop)`` to a `Submission`.
    show : callable
        Is given each `Submission`, and the seconds since its save was noticed.
    say : callable
        Is given a sentence when there is something else to tell.
    first : iterable of paths
        What to grade at once.
    """
    saves, waiting, grading = Saves(path), dict.fromkeys(first, time.monotonic()), None
    try:
        while True:
            saved, gone = saves.look()
            for file in gone:
                say(f"{file} is gone. It is graded when it comes back.")
            waiting |= dict.fromkeys(saved, time.monotonic())
            if grading and grading.file in waiting:  # only the newest is of interest
                grading.stop.set()
            if grading and not grading.is_alive():
                if not grading.stop.is_set():
                    _tell(grading, waiting, show, say)
                grading = None
            if waiting and not grading:
                file = next(iter(waiting))
                noticed = waiting.pop(file)
                grading = _Grading(grade, file)
                grading.noticed = noticed
            time.sleep(INTERVAL)
    finally:
        if grading:
            grading.stop.set()
            grading.join()


def _tell(grading, waiting, show, say):
    age = time.monotonic() - grading.noticed
    if not isinstance(grading.found, Exception):
        show(grading.found, age)
    elif isinstance(grading.found, NotGradableError) and age < SETTLED:
        waiting.setdefault(grading.file, grading.noticed)  # half written, or between two names
    else:
        say(str(grading.found))
