"""The quiz of exercise 06: one statement per trap, read from ``quiz.toml``."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Trap:
    """One statement, and the choices: true or false, for which reason.

    Attributes
    ----------
    id : str
        ``T1`` to ``T20``.
    statement, hint : str
    choices : dict
        Letter to text; each begins with True or False.
    right : str
        The letter of the right choice.
    explanations : dict
        Letter of a wrong choice to what is wrong with it.
    """

    id: str
    statement: str
    hint: str
    choices: dict
    right: str
    explanations: dict


def _read(path):
    items = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Trap(id=name, **item) for name, item in items.items()}


TRAPS = _read(Path(__file__).with_name("quiz.toml"))


def group_of(trap):
    """Return the name of the answer that holds `trap`: five traps share one."""
    number = int(trap.removeprefix("T"))
    first = (number - 1) // 5 * 5 + 1
    return f"traps_{first}_to_{first + 4}"
