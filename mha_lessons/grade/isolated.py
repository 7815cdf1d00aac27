"""Grade a notebook with the answers in another process than the checks: ``mha grade --isolate``.

This process holds the checks, the expected values and the known mistakes, and never runs a line of
the learner's. `elsewhere` holds the answers. Arguments go there, and plain data comes back; so a
changed ``np.allclose``, patched checks, an object that equals everything, or a look at the
caller's frames are all on the wrong side.

Where the system has them, `confine` adds walls: no network and no process that survives
(``unshare``), no files but Python's own (Landlock), limits on memory and file sizes. ``mha`` says
which of them are missing. Then the answers still are in another process, and on Linux cannot reach
the memory or the open files of this one; but they can read and write whatever the user can, this
package included, which is then wrong in the next run.

It is no border between two people. The answers run as the same user, on the same kernel, and a
mistake in either opens everything. An exam belongs in a container or in another user's account,
with the reports outside. Of the library an answer can import what its exercise hands out, and
nothing else (`handed_out`): elsewhere, where a learner grades alone, it may import all of it. A
learner who copies a right answer passes, here as everywhere.
"""

import importlib
import json
import os
import sys
import time

from . import confine
from .answer_process import DiedError, FloodError, HungError
from .checks import CheckFailed, NotWritten
from .elsewhere import Elsewhere
from .signed import Writer
from .splice import ANSWER, COMPANION, IMPORT, check_in
from .verdicts import AFTER_A_TIMEOUT, DIED, FLOOD, late, raised, said

SOURCE_AT_MOST = 1_000_000  # characters


def main(timeout):
    """Grade ``graded.ipynb``; write the verdicts as `worker` does."""
    verdicts = os.dup(1)  # a duplicate is not inherited
    os.dup2(2, 1)
    confine.close_to_others()
    confine.adopt_orphans()
    confine.limit_resources()
    with open("graded.ipynb", encoding="utf-8") as file:
        content = json.load(file)
    answers = Elsewhere()
    try:
        with open(verdicts, "w", encoding="utf-8") as stream:
            lines = Writer(stream, sys.stdin.buffer.read())
            answers.ready()
            lines.write(kernel=answers.process.pid)
            for line in grade(content, answers, timeout):
                lines.write(**line)
    finally:
        answers.end()
        confine.end_all_below(os.getpid())


def grade(content, answers, timeout):
    """Run the cells of a spliced notebook; yield the verdict on each."""
    limit = timeout
    for cell in content["cells"]:
        if ANSWER in cell["metadata"]:
            limit = timeout
        start = time.monotonic()
        verdict = _verdict(cell, answers, limit)
        seconds = round(time.monotonic() - start, 3)
        if verdict["status"] == "timeout":
            limit = min(timeout, AFTER_A_TIMEOUT)
        yield {"cell": cell["id"], "seconds": seconds, **verdict}


def _verdict(cell, answers, limit):
    source = "".join(cell["source"])
    found = check_in(source)
    try:
        if found:
            return _judge(*found, answers, limit)
        if len(source) > SOURCE_AT_MOST:
            return said("fail", f"the cell is too long to be run: {len(source):,} characters")
        given = ANSWER not in cell["metadata"] and not cell["id"].startswith(COMPANION)
        error = answers.run(cell["id"], IMPORT.sub("", source), limit, given)
    except HungError:
        return late(limit)
    except FloodError:
        return said("crash", FLOOD)
    except DiedError:
        return said("crash", DIED)
    except KeyboardInterrupt:
        return raised("KeyboardInterrupt", "", source)
    return raised(error.name, error.words, source) if error else said("pass")


def _judge(module, check, answer, answers, limit):
    answers.ready()
    try:
        given = answers.look(answer, limit)
        getattr(importlib.import_module(module), check)(given)
    except NotWritten as failed:
        return said("todo", failed.message, failed.hint)
    except CheckFailed as failed:
        return said("fail", failed.message, failed.hint, failed.mistake)
    except (HungError, DiedError):
        raise
    except Exception as error:  # the check's own
        return raised(type(error).__name__, str(error), "")
    return said("pass")


if __name__ == "__main__":
    main(float(sys.argv[1]))
