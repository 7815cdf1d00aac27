"""What a known wrong answer is, and how a learner's result is recognised as one."""

from collections.abc import Callable
from dataclasses import dataclass

from .call import run
from .compare import same

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


def recognise(answer, arguments, outcome):
    """Find the known mistake that gives the same `outcome` on the same `arguments`, or None."""
    for known in BANK.values():
        if known.answer == answer and _alike(run(known.wrong, arguments), outcome):
            return known
    return None


def _alike(known, outcome):
    if not all(map(same, known.arguments, outcome.arguments)):
        return False
    if known.error is None or outcome.error is None:
        return known.error is outcome.error and same(known.value, outcome.value)
    # Everybody words an error of their own differently; NumPy always says the same.
    return type(known.error) is type(outcome.error) and (
        str(known.error) == str(outcome.error) or (known.on_purpose and outcome.on_purpose)
    )
