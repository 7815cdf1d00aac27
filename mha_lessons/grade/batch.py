"""Grade many notebooks: some at a time, in their order, and a broken one stops no other."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from .notebook import NotGradableError
from .report import Submission
from .run import grade
from .warm import POSSIBLE, Warm


def grade_all(files, timeout=10, isolate=False, jobs=1, journal=None):
    """Grade `files`, `jobs` of them at a time; yield a `Submission` for each, in their order.

    A file that cannot be graded gets one, too, which says why. What a `Journal` knows is taken
    from there, and the rest is written down in it. When the caller stops early, by ``close()`` or
    by an interrupt, what is running is ended.
    """
    stop = threading.Event()
    many = len(files) > 1 and not isolate and POSSIBLE
    with Warm() if many else contextlib.nullcontext() as warm, ThreadPoolExecutor(jobs) as pool:

        def grade_one(file):
            return grade_or_say_why(file, timeout, isolate, stop, warm)

        graded = partial(journal.graded, grade=grade_one) if journal else grade_one
        running = [pool.submit(graded, file) for file in files]
        try:
            for submission in running:
                yield submission.result()
        finally:
            stop.set()
            for submission in running:
                submission.cancel()


def grade_or_say_why(file, timeout=10, isolate=False, stop=None, warm=None):
    """Grade one file as `grade` does; whatever is wrong with it is in its `Submission`."""
    try:
        return grade(file, timeout, isolate, stop, warm)
    except NotGradableError as error:
        reason = str(error)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        reason = f"the grader failed, and that is no fault of yours. Please report this: {said}"
    return Submission.unreadable(file, reason)


def notebooks_in(folder):
    """Return the notebooks in `folder` and below it, in the order of their names.

    Not the copies that Jupyter keeps in .ipynb_checkpoints, nor what is in another hidden folder.
    """
    found = []
    for file in sorted(folder.rglob("*.ipynb")):
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        if file.is_file() and not hidden:
            found.append(file)
    return found
