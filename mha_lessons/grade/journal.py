"""Remember each verdict as soon as it is known, so that a run which was killed can go on.

A journal is a text file with one line per graded notebook. The line's key is a hash of all that
its verdict depends on: the notebook's bytes, the exercises and checks, Python and the libraries,
and how it was graded. A changed notebook, or a new version of an exercise, is graded again.
"""

import hashlib
import json
import os
import threading

from .report import Submission, as_plain
from .report_files import WrongCallError
from .version import everything

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FIRST = '{"journal": "mha grade", "format": 1}'


class Journal:
    """The verdicts in the file at `path`, and those to come.

    Parameters
    ----------
    path : path
        It is made when there is none.
    *how
        What else the verdicts depend on.

    Raises
    ------
    WrongCallError
        When the file is something else, cannot be written, or another run writes to it.
    """

    def __init__(self, path, *how):
        self.path, self.how = path, how
        self.taken, self.lock = set(), threading.Lock()
        try:
            self.file = open(path, "ab+")
        except OSError as error:
            raise WrongCallError(
                f"A journal must be a file that can be written: {path} cannot "
                f"({error.strerror}). Use another name."
            ) from None
        try:
            self._lock()
            self.known = self._read()
        except BaseException:
            self.file.close()
            raise

    def _lock(self):
        if fcntl:  # the system lifts it when this process ends, however it ends
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WrongCallError(
                    f"One run at a time may use a journal, and another one uses {self.path}. "
                    "Wait for its end, or use another name."
                ) from None
            except OSError:  # a file system without locks
                return

    def _read(self):
        self.file.seek(0)
        lines = self.file.read().decode("utf-8", errors="replace").split("\n")
        whole = lines[:-1]
        if whole[:1] not in ([], [FIRST]) or (not whole and not FIRST.startswith(lines[0])):
            raise WrongCallError(
                f"{self.path} is something else than a journal of `mha grade`, and is left as it "
                "is. Use another name."
            )
        if not whole:
            self.file.truncate(0)
            self._write(FIRST)
        elif lines[-1]:  # a run was killed in the middle of this line
            self._write("")
        return dict(filter(None, map(_entry, whole[1:])))

    def _write(self, line):
        try:
            self.file.write(line.encode() + b"\n")
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise WrongCallError(
                f"The journal {self.path} cannot be written ({error.strerror}). Make room, then "
                "run the same command again: what is in it is not graded again."
            ) from None

    def key(self, file):
        """Return the hash of all that the verdict on `file` depends on; None when unreadable."""
        if not os.path.isfile(file):  # reading a FIFO has no end
            return None
        try:
            with open(file, "rb") as opened:
                content = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError:
            return None
        return hashlib.sha256(json.dumps([content, everything(), self.how]).encode()).hexdigest()

    def find(self, file):
        """Return what is known of `file`, or None."""
        plain = self.known.get(self.key(file))
        if plain is None:
            return None
        self.taken.add(file)
        return Submission.from_plain(plain | {"file": str(file)})

    def keep(self, file, key, submission):
        """Write down what was found of `file`, whose key was `key` before it was graded.

        What is no verdict is not kept: that a run was stopped, or that a file is no exercise. Nor
        is one on a file that was saved while it was graded.
        """
        final = submission.exercise and all(row.status != "not run" for row in submission.rows)
        if not final or key is None or key != self.key(file):
            return
        with self.lock:
            if key not in self.known:
                self.known[key] = as_plain(submission)
                self._write(json.dumps({"key": key, "submission": self.known[key]}))

    def graded(self, file, grade):
        """Return what is known of `file`; when nothing is, grade it and keep that."""
        found = self.find(file)
        if found is None:
            key = self.key(file)
            found = grade(file)
            self.keep(file, key, found)
        return found

    def close(self):
        """Close the file; another run may then use it."""
        self.file.close()


def _entry(line):
    """Return key and plain submission; None for a line that no whole write left."""
    try:
        entry = json.loads(line)
        Submission.from_plain(entry["submission"])
        return str(entry["key"]), entry["submission"]
    except (ValueError, TypeError, KeyError):
        return None
