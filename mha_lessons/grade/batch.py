"""Grade many notebooks: some at a time, in their order, and a broken one stops no other."""

import threading
from concurrent.futures import ThreadPoolExecutor

from .notebook import NotGradableError
from .report import Submission
from .run import grade


def grade_all(files, timeout=10, isolate=False, jobs=1):
    """Grade `files`, `jobs` of them at a time; yield a `Submission` for each, in their order.

    A file that cannot be graded gets one, too, which says why. When the caller stops early, by
    ``close()`` or by an interrupt, what is running is ended.
    """
    if jobs == 1:
        yield from (grade_or_say_why(file, timeout, isolate) for file in files)
        return
    stop = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(grade_or_say_why, file, timeout, isolate, stop) for file in files]
        try:
            for submission in running:
                yield submission.result()
        finally:
            stop.set()
            for submission in running:
                submission.cancel()


def grade_or_say_why(file, timeout=10, isolate=False, stop=None):
    """Grade one file as `grade` does; whatever is wrong with it is in its `Submission`."""
    try:
        return grade(file, timeout, isolate, stop)
    except NotGradableError as error:
        reason = str(error)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        reason = f"the grader failed, and that is no fault of yours. Please report this: {said}"
    return Submission.unreadable(file, reason)
