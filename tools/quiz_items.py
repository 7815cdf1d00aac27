"""The quiz's statements as the book shows them, each with its right answer."""

import re
from pathlib import Path

from mha_lessons.grade import quiz

SOURCE = Path(quiz.__file__).with_name("quiz.toml")


def read(name):
    """Return the statement of a trap, ``True`` or ``False``, and the rest of the right choice.

    Parameters
    ----------
    name : str
        ``T1`` to ``T20``.

    Raises
    ------
    ValueError
        When the quiz has no such trap.
    """
    if name not in quiz.TRAPS:
        first, *_, last = quiz.TRAPS
        raise ValueError(f"The quiz has no trap {name}. Name one of {first} to {last}.")
    trap = quiz.TRAPS[name]
    verdict, reason = re.fullmatch(r"(True|False)(.*)", trap.choices[trap.right]).groups()
    return trap.statement, verdict, reason
