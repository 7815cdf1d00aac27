"""The small local file that remembers a learner's progress, and the hints that were told.

Nothing depends on it: it may be deleted at any time, and where it cannot be read or written the
grader does without it.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from .summary import is_class

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt

REMEMBERED = ("check", "status", "hint")  # of a row
WAIT = 2.0  # seconds: as long as one grader waits for another


@dataclass
class State:
    """What is remembered.

    Attributes
    ----------
    exercises : dict
        Exercise to its last grading: ``graded`` (time), ``rows`` (of each: `REMEMBERED`).
    told : dict
        Exercise to the hints that were told: answer to how many, check to the words of its own.
    folder : str or None
        Where the exercises were written last.
    """

    exercises: dict = field(default_factory=dict)
    told: dict = field(default_factory=dict)
    folder: str | None = None


def file():
    """Return the path of the file, or None where there is no place for it."""
    if own := os.environ.get("MHA_STATE"):
        return Path(own)
    try:
        return _folder() / "mha-lessons" / "progress.json"
    except RuntimeError:  # a user without a home
        return None


def _folder():
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    given = os.environ.get("XDG_STATE_HOME", "")  # its specification: ignored when relative
    return Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"


def read():
    """Return the `State`; an empty one where the file is missing or is not ours."""
    path = file()
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError, RecursionError):
        found = {}
    if not isinstance(found, dict):
        return State()
    folder = found.get("folder")
    return State(
        {name: each for name, each in _dict(found, "exercises").items() if _is_grading(each)},
        {name: each for name, each in _dict(found, "told").items() if isinstance(each, dict)},
        folder if isinstance(folder, str) else None,
    )


def _dict(found, name):
    value = found.get(name)
    return value if isinstance(value, dict) else {}


def _is_grading(value):
    rows = value.get("rows") if isinstance(value, dict) else None
    return (
        isinstance(rows, list)
        and isinstance(value.get("graded"), str)
        and all(isinstance(row, dict) and set(row) == set(REMEMBERED) for row in rows)
    )


def update(change):
    """Let `change` alter the `State`, and keep it; return whether that was possible.

    The file is replaced as a whole, so that nobody ever reads half of it, and one process at a
    time does so.
    """
    path = file()
    try:
        if path is None:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.with_name(f"{path.name}.lock")):
            state = read()
            change(state)
            _replace(path, json.dumps(asdict(state), indent=1) + "\n")
    except OSError:
        return False
    return True


def _replace(path, text):
    handle, temporary = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as written:
            written.write(text)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _locked(path):
    """Hold a lock that ends with the process; go on without it where another does not let go."""
    with open(path, "a+b") as lock:
        end = time.monotonic() + WAIT
        while not (held := _try_lock(lock)) and time.monotonic() < end:
            time.sleep(0.01)
        try:
            yield
        finally:
            if held and not fcntl:
                lock.seek(0)
                msvcrt.locking(lock.fileno(), msvcrt.LK_UNLCK, 1)


def _try_lock(lock):
    try:
        if fcntl:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            lock.seek(0)
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def record(submissions):
    """Remember the verdicts of a learner's own notebooks; return whether that was possible.

    Two notebooks of one exercise are a class, and no progress of the one who grades it.
    """
    own = [s for s in submissions if s.exercise]
    if not own or is_class(own):
        return False
    graded = datetime.now(UTC).isoformat(timespec="seconds")

    def change(state):
        for s in own:
            rows = [{name: getattr(row, name) for name in REMEMBERED} for row in s.rows]
            state.exercises[s.exercise] = {"graded": graded, "rows": rows}

    return update(change)
