"""Hints, one step further each time: ``mha hint``.

First come those of the exercise's text, which is their one home; then the own hint of a check that
did not pass when the notebook was graded last; then the way to the solution.
"""

import re
from dataclasses import dataclass

from . import state
from .notebook import parse, reference
from .quiz import TRAPS
from .report_files import WrongCallError
from .splice import answers, checks

TASK = re.compile(r"^## ", re.M)
FOLDED = re.compile(r"<details>\s*<summary>(.*?)</summary>(.*?)(?=</?details>|\Z)", re.S)


@dataclass
class Target:
    """What a hint is asked for: an answer, and its checks that are of interest."""

    exercise: str
    answer: str
    checks: list
    check: str | None = None

    @property
    def name(self):
        """The check, where one was asked for; else the answer."""
        return self.check or self.answer


def hints_in(exercise):
    """Return the hints in the exercise's text: answer to a list of (title, text)."""
    found, last, names = {}, [], dict(answers(reference(exercise)))
    for cell in parse(reference(exercise)).cells:
        if cell.kind == "markdown" and TASK.search(cell.source):
            last = []
        hints = FOLDED.findall(cell.source) if cell.kind == "markdown" else []
        last = last + [(title.strip(), text.strip()) for title, text in hints]
        if cell.id in names:
            found[names[cell.id]] = last
    return found


def target(exercise, name=None):
    """Find what is meant by `name`, a check or an answer; without one, what is to do next.

    Raises
    ------
    WrongCallError
        When the exercise has neither a check nor an answer of that name.
    """
    found = [(check, answer) for _, check, answer in checks(reference(exercise))]
    of = {}
    for check, answer in found:
        of.setdefault(answer, []).append(check)
    name = name or _first_open(exercise, found)
    answer = next((each for each in of if each.lower() == name.lower()), None)
    if answer:
        return Target(exercise, answer, of[answer])
    for check, answer in found:
        if check.lower() == name.lower():
            return Target(exercise, answer, [check], check)
    raise WrongCallError(
        f"{exercise} has no check and no answer that is called {name}. Its answers are "
        f"{', '.join(of)}; `mha grade` shows the checks."
    )


def _first_open(exercise, found):
    """Return the answer to go on with: one that is wrong, or else one that is not written."""
    rows = _rows(exercise)
    status = {check: rows.get(check, {}).get("status", "todo") for check, _ in found}
    waiting = [pair for pair in found if status[pair[0]] != "pass"]
    return min(waiting, key=lambda pair: status[pair[0]] == "todo", default=found[0])[1]


def _rows(exercise):
    grading = state.read().exercises.get(exercise, {"rows": []})
    return {row["check"]: row for row in grading["rows"]}


def _nested(target):
    """Return the hints of the text; a statement of the quiz has one of its own instead."""
    return [] if target.check in TRAPS else hints_in(target.exercise)[target.answer]


def next_hint(target):
    """Return the next hint as (title, text), and remember that it was told; None at the end."""
    told = state.read().told.get(target.exercise, {})
    key, value, hint = _next(target, told)
    if hint:
        state.update(lambda now: now.told.setdefault(target.exercise, {}).update({key: value}))
    return hint


def _next(target, told):
    nested = _nested(target)
    count = _count(target, told)
    if count < len(nested):
        title, text = nested[count]
        return target.answer, count + 1, (title, text)
    for check, text in _own_hints(target):
        if told.get(check) != text:
            return check, text, (f"From the check {check}", text)
    return None, None, None


def _count(target, told):
    count = told.get(target.answer)
    return count if isinstance(count, int) and count > 0 else 0


def _own_hints(target):
    """Return (check, hint) for the checks that have one of their own to give."""
    rows = _rows(target.exercise)
    hints = []
    for check in target.checks:
        row = rows.get(check, {})
        if check in TRAPS:  # a statement of the quiz has its hint before it is answered
            if row.get("status") != "pass":
                hints.append((check, TRAPS[check].hint))
        elif row.get("hint") and row["status"] != "pass":
            hints.append((check, row["hint"]))
    return hints


def told_so_far(target):
    """Return the hints that were told already, as a list of (title, text)."""
    told = state.read().told.get(target.exercise, {})
    nested = _nested(target)[: _count(target, told)]
    own = [(c, told[c]) for c in target.checks if isinstance(told.get(c), str)]
    return nested + [(f"From the check {check}", text) for check, text in own]


def forget(target):
    """Begin again with the first hint."""

    def change(now):
        told = now.told.get(target.exercise, {})
        for name in (target.answer, *target.checks):
            told.pop(name, None)

    state.update(change)
