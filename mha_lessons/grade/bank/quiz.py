"""Every wrong choice of the quiz in exercise 06, with its own explanation."""

from ..mistakes import add
from ..quiz import TRAPS, group_of

for trap in TRAPS.values():
    for letter, explanation in trap.explanations.items():
        choice = f"{trap.id}_{letter}"
        add(group_of(trap.id), choice, trap.id, explanation, trap.hint, wrong=letter)
