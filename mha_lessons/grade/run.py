"""Grade one notebook: take its answers over, run them, and judge the verdicts."""

import re
from pathlib import Path

from .notebook import NotGradableError, read, recognise, reference
from .process import run
from .report import Row, Submission
from .splice import COMPANION, answers, checks, names_elsewhere, splice

BROKEN = ("fail", "timeout", "crash")
UNDEFINED = re.compile(r"NameError: name '(\w+)' is not defined")
MOVE = "`{}` is defined in another cell, which is not run here: move it into the answer cell."


def load(path):
    """Return the notebook at `path`, and the name of the exercise that it is."""
    notebook = read(path)
    exercise = recognise(notebook)
    if exercise is None:
        raise NotGradableError(
            f"{Path(path).name} is no exercise of this course: it has no `# ANSWER:` cell that "
            "we know. Write the exercises with `mha start`, and answer in those."
        )
    return notebook, exercise


def grade(path, timeout=10, isolate=False, stop=None, warm=None):
    """Grade the notebook at `path`, with at most `timeout` seconds per cell.

    With `isolate`, the answers run in another process than the checks. The event `stop` ends the
    run; then what is not known yet is "not run". A `Warm` makes a run fast that is not isolated.

    Raises
    ------
    NotGradableError
        When it cannot be read, or is no exercise of this course.
    """
    notebook, exercise = load(path)
    content = reference(exercise)
    spliced, missing, notes = splice(notebook, content)
    beside = Path(path).resolve().parent
    verdicts, log = run(spliced, timeout, beside, isolate, stop, warm)
    if verdicts is None and not (stop and stop.is_set()):  # it happens on a busy machine
        verdicts, log = run(spliced, timeout, beside, isolate, stop)
    if verdicts is None:
        verdicts = {}
        notes.append(
            "The notebook's Python process did not start, in two tries. Close other programs "
            f"and grade again; if it stays so, install ipykernel again. {log}".strip()
        )
    rows = judge(content, missing, verdicts, names_elsewhere(notebook, content))
    notes += _of_cells(content, verdicts, rows)
    return Submission(str(path), exercise, rows, notes)


def judge(content, missing, verdicts, elsewhere=()):
    """Make one row for each check of the reference: what has no verdict is not passed.

    `elsewhere` holds the names that the learner's other cells define.
    """
    why = missing | _stopped(content, verdicts)
    rows = []
    for identity, check, answer in checks(content):
        row = Row(check, **verdicts.get(identity, {}))
        undefined = UNDEFINED.search(row.message)
        stopped = row.message.startswith(f"NameError: name '{answer}' is not defined")
        if stopped or (row.status == "not run" and answer in why):
            row.status = "blocked"
            row.message = why.get(answer, f"its answer cell does not define {answer}")
        elif undefined and undefined[1] in elsewhere:
            row.hint = MOVE.format(undefined[1])
        rows.append(row)
    return rows


def _stopped(content, verdicts):
    """Say for each answer whose cell did not come to its end, why."""
    cells = {name: verdicts.get(identity, {}) for identity, name in answers(content)}
    return {
        name: f"its answer cell stopped: {verdict['message']}"
        for name, verdict in cells.items()
        if verdict.get("status") in BROKEN
    }


def _of_cells(content, verdicts, rows):
    blocked = {row.message for row in rows if row.status == "blocked"}
    stopped = _stopped(content, verdicts)
    notes = [f"{name}: {why}" for name, why in stopped.items() if why not in blocked]
    if any(row.status != "pass" for row in rows):  # else it was not needed
        for identity, verdict in verdicts.items():
            if identity.startswith(COMPANION) and verdict["status"] in BROKEN:
                notes.append(f"a cell of your own stopped: {verdict['message']}")
    return notes
