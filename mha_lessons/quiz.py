"""Questions for the end of a chapter: each wrong choice says what is wrong with it."""

import re
from html import escape
from math import isfinite
from numbers import Integral, Real
from typing import NamedTuple

from mha_lessons.grade.quiz import TRAPS

RIGHT, WRONG = "✓ Right.", "✗ Not right."


class Choice(NamedTuple):
    """One choice as the reader sees it, and what is said to somebody who took it."""

    text: str
    explanation: str
    is_right: bool


class Quiz:
    """Ask one question with one right choice.

    The last expression of a cell shows it: on a page of the book as a form, anywhere else as a list
    whose entries unfold. Choices may be numbers that the cell has computed. `right` is a value too,
    so a right answer that is no longer among the choices stops the page.

    Parameters
    ----------
    name : str
        Letters, digits and hyphens. The reader's progress remembers it, so it stands once in the
        book.
    question : str
        Text between backticks is shown as code, here and in choices and explanations.
    choices : list of (choice, explanation)
        At least two, texts or numbers. Floats are rounded to 4 decimals. An explanation may be
        empty for the right choice only.
    right : str or number
        The right one of the choices.

    Raises
    ------
    ValueError, TypeError
        When a value breaks one of these rules; the message says what to do.

    Examples
    --------
    >>> d_model, num_heads = 512, 8
    >>> Quiz(
    ...     "heads-on-a-page",
    ...     "How wide is a head?",
    ...     [(d_model, "This is the layer."), (64, "All heads together are as wide as the layer.")],
    ...     right=d_model / num_heads,
    ... )
    Quiz heads-on-a-page: How wide is a head?
    - 512
    - 64
    """

    def __init__(self, name, question, choices, right):
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9-]+", name):
            raise ValueError(
                "A quiz's name must be letters, digits and hyphens, since progress is stored under "
                f"it: got {name!r}. Choose one such as 'head-width'."
            )
        self.name, self.question = name, _text("question", question, name)
        self.choices = _choices(name, choices, _shown(name, right))

    @classmethod
    def trap(cls, name: str) -> "Quiz":
        """Make a quiz of one of the twenty traps, "T1" to "T20".

        Exercise 06 asks the same statements. The book may give their answers away: the exercise is
        there to find out what you know, nobody else sees its result, and `solutions/` holds its
        answers too. A second meeting with a statement is practice.

        Parameters
        ----------
        name : str

        Returns
        -------
        Quiz

        Raises
        ------
        ValueError
            When there is no such trap.
        """
        if name not in TRAPS:
            raise ValueError(f"Traps are T1 to T{len(TRAPS)}: got {name!r}. Choose one of these.")
        trap = TRAPS[name]
        pairs = [(text, trap.explanations.get(key, "")) for key, text in trap.choices.items()]
        return cls(name, trap.statement, pairs, right=trap.choices[trap.right])

    def __repr__(self):
        lines = [f"Quiz {self.name}: {self.question}", *(f"- {c.text}" for c in self.choices)]
        return "\n".join(lines)

    def _repr_html_(self):
        """Write a list that answers without a script; `static/quiz.js` makes a form of it."""
        items = "".join(
            f"<li{' data-right' if choice.is_right else ''}>"
            f"<details><summary>{_inline(choice.text)}</summary>"
            f"<p><b>{RIGHT if choice.is_right else WRONG}</b> {_inline(choice.explanation)}</p>"
            "</details></li>"
            for choice in self.choices
        )
        return (
            f'<mha-quiz name="{self.name}"><div class="mha-live">'
            f"<p>{_inline(self.question)}</p><ul>{items}</ul></div></mha-quiz>"
        )


def _choices(name, choices, right):
    """Return the choices, or say which rule they break."""
    pairs = list(choices)
    if len(pairs) < 2 or any(not isinstance(p, tuple) or len(p) != 2 for p in pairs):
        raise ValueError(
            f"A quiz needs two choices or more, each with its explanation: {name!r} got {pairs!r}. "
            "Write [(choice, explanation), (choice, explanation)]."
        )
    texts = [_shown(name, choice) for choice, _ in pairs]
    for text in texts:
        if texts.count(text) > 1:
            raise ValueError(
                f"The choices of a quiz must differ: {name!r} shows {text!r} twice. Change one of "
                "the two, or the numbers that it comes from."
            )
    if right not in texts:
        raise ValueError(
            f"The right answer must be one of the choices: {name!r} got {right!r}, and the choices "
            f"{', '.join(texts)}. Correct the answer or the choices."
        )
    made = []
    for text, (_, explanation) in zip(texts, pairs, strict=True):
        if text != right or explanation != "":
            explanation = _text(f"explanation of {text!r}", explanation, name)
        made.append(Choice(text, explanation, text == right))
    return tuple(made)


def _text(what, value, name):
    if not isinstance(value, str) or not value.strip():
        raise ValueError(
            "A quiz needs a question, and each wrong choice an explanation: "
            f"the {what} of {name!r} is {value!r}. Write a sentence."
        )
    return value


def _shown(name, value):
    """Return a choice as the reader sees it."""
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(
            f"A choice must be a text or a number: {name!r} got {value!r}. Pass one, such as "
            "float(x) for an array of one number."
        )
    if not isfinite(value):
        raise ValueError(
            f"A choice must be a finite number: {name!r} got {value!r}. "
            "Look at its computation, or write it as text."
        )
    text = str(int(value)) if isinstance(value, Integral) else f"{float(value):.4f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text.replace("-", "−")


def _inline(text):
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
