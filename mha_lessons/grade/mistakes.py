"""What a known wrong answer is, and how a learner's result is recognised as one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .call import run
from .compare import as_array, same

BANK = {}


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that we know.

    Attributes
    ----------
    id : str
        ``answer.name``; stands in reports.
    check : str
        The check that must reject it, as this mistake.
    says : str
        What is wrong, in one sentence.
    hint : str
        What to do about it.
    wrong : callable or other value
        The wrong answer itself.
    """

    id: str
    answer: str
    check: str
    says: str
    hint: str
    wrong: Callable


def add(answer, name, check, says, hint, wrong):
    """Put a wrong answer into the bank; its id is ``answer.name``."""
    identity = f"{answer}.{name}"
    assert identity not in BANK
    BANK[identity] = Mistake(identity, answer, check, says, hint, wrong)


def mistake(answer, check, says, hint):
    """Put the decorated function into the bank as a wrong `answer`, under its own name."""

    def keep(wrong):
        add(answer, wrong.__name__, check, says, hint, wrong)
        return wrong

    return keep


def recognise(answer, check, outcome, arguments, within=None, **named):
    """Find the known mistake that gives the same `outcome` on the same arguments, or None.

    Values are the same when they differ by less than `within`, or by what their type loses.

    A mistake that another check is there for is named only when the outcome is telling: an error,
    or a few truth values, come from many causes.
    """
    known = [row for row in BANK.values() if row.answer == answer]
    candidates = [row for row in known if row.check == check]
    if outcome.error is None and not _is_a_few_truth_values(outcome.value):
        candidates += [row for row in known if row.check != check]
    given = (*arguments, *named.values())
    changes = changed(outcome, *given)
    runs = ((row, run(row.wrong, arguments, **named)) for row in candidates)
    alike = (
        row
        for row, known in runs
        if changed(known, *given) is changes and _alike(known, outcome, within)
    )
    return next(alike, None)


def changed(outcome, *given):
    """Tell whether a call changed what it was given, be it by the last bit."""
    return not all(same(left, was, 0) for left, was in zip(outcome.arguments, given, strict=True))


def _is_a_few_truth_values(value):
    try:
        array = as_array(value)
    except TypeError:
        return True
    return array.size < 10 and bool(np.isin(array, (0, 1)).all())


def _alike(known, outcome, within):
    if not all(map(same, known.arguments, outcome.arguments)):
        return False
    if known.error is None or outcome.error is None:
        return known.error is outcome.error and same(known.value, outcome.value, within)
    # Everybody words an error of their own differently; NumPy always says the same. Python words a
    # division by zero by its operation.
    return known.error.kinds == outcome.error.kinds and (
        known.error.words == outcome.error.words
        or (known.error.on_purpose and outcome.error.on_purpose)
        or known.error.is_a(ZeroDivisionError)
    )
