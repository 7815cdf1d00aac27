"""Which check rejects which wrong answer: the bank, tried against every check."""

import contextlib
import importlib
import io
from dataclasses import dataclass

from .bank import BANK
from .checks import CheckFailed
from .notebook import exercises, reference
from .splice import checks, module_of_checks


@dataclass(frozen=True)
class Kill:
    """What became of one wrong answer.

    Attributes
    ----------
    row : Mistake
    rejects : tuple of str
        The checks that reject it.
    names : tuple of str
        Those of them that also say which mistake it is.
    """

    row: object
    rejects: tuple
    names: tuple


def all_checks():
    """Return every check that an exercise calls, in the order of the course: name to check."""
    found = {}
    for exercise in exercises():
        content = reference(exercise)
        module = importlib.import_module(module_of_checks(content))
        found |= {name: getattr(module, name) for _, name, _ in checks(content)}
    return found


def kills(answer, rivals=None):
    """Try every wrong `answer` of the bank against each of its checks.

    Returns
    -------
    list of Kill
        In the order of the bank.
    """
    rivals = all_checks() if rivals is None else rivals
    rivals = {name: check for name, check in rivals.items() if check.answer == answer}
    return [_kill(row, rivals) for row in BANK.values() if row.answer == answer]


def _kill(row, rivals):
    # A choice of the quiz is an answer to one statement; the others are not answered.
    rivals = rivals if callable(row.wrong) else {row.check: rivals[row.check]}
    given = row.wrong if callable(row.wrong) else {row.check: row.wrong}
    failures = {name: failure(check, given) for name, check in rivals.items()}
    rejects = tuple(name for name, failed in failures.items() if failed)
    return Kill(row, rejects, tuple(n for n in rejects if failures[n].mistake == row.id))


def failure(check, answer):
    """Return the `CheckFailed` of a check, or None where it passes."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            check(answer)
        except CheckFailed as failed:
            return failed
    return None
