"""The runner of the checks: each raises one friendly error, or prints one fixed line.

A check is written once, as a function of an `Answer`::

    @check("split_heads")
    def split_heads_values(answer):
        answer.must_equal(expected, x, 3, hint="...")

and called in a notebook with what the learner wrote: ``check.split_heads_values(split_heads)``.
"""

import functools

import numpy as np

from .bank import BANK
from .call import run
from .compare import TOLERANCE, as_array, close, difference, kind, same, tolerance_of
from .mistakes import changed, recognise

NEARLY = 1e-9  # a known mistake may be right on some arguments, and this may be rounding
SLIPS = (NameError, AttributeError, TypeError, ImportError)  # a typo, not a missing test


def one_line(text, limit=300):
    """Put `text` on one line, without control characters, at most `limit` characters long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


class CheckFailed(AssertionError):  # noqa: N818 - learners read this name
    """A check's verdict on a wrong answer: what is wrong, a hint, the mistake if it is known."""

    def __init__(self, message, hint="", mistake=None):
        self.check = ""
        self.message, self.hint, self.mistake = one_line(message), one_line(hint), mistake
        super().__init__(message)

    def _render_traceback_(self):
        # Jupyter and nbval show these lines in place of a traceback.
        hint = [f"hint: {self.hint}"] if self.hint else []
        return [f"not yet: {self.check}: {self.message}", *hint]

    def __str__(self):
        # One labelled line each: the grader reads them back from the notebook's error message.
        mistake = [f"mistake: {self.mistake}"] if self.mistake else []
        return "\n".join(self._render_traceback_() + mistake)


class NotWritten(CheckFailed):
    """The answer still is what was handed out."""


def check(answer):
    """Make the decorated function the check of an answer that is called `answer`.

    The check takes what the learner wrote, prints ``ok: <its name>`` when that passes, and raises
    `CheckFailed` otherwise.
    """

    def decorate(function):
        @functools.wraps(function)
        def checked(given):
            try:
                function(Answer(answer, given, function.__name__))
            except CheckFailed as failed:
                failed.check = function.__name__
                raise failed from None
            # In one piece: a kernel may show two pieces as two outputs.
            print(f"ok: {function.__name__}\n", end="")

        checked.answer = answer
        return checked

    return decorate


class Answer:
    """What a learner wrote, with the questions that a check may ask of it.

    Parameters
    ----------
    name : str
        The answer's name in its exercise.
    given
        What the learner's notebook holds under that name.
    check : str
        The check that asks.
    """

    def __init__(self, name, given, check):
        self.name, self.given, self.check = name, given, check

    def must_equal(self, expected, *arguments, hint="", tolerance=None, at_least=0, **named):
        """Fail unless the call gives `expected`, within `tolerance` or that of the result's type.

        The tolerance of the type is `at_least` that much: an answer may round on its way and
        return a finer type. What is `named` is passed by keyword.
        """
        outcome = self.called(*arguments, **named)
        array = None
        if outcome.error is None and outcome.value is not None:
            self.fail_if_several(outcome.value, np.shape(expected))
            wanted = "an array of numbers" if np.shape(expected) else "one number"
            array = self.array(outcome.value, wanted)
            if tolerance is None:
                tolerance = max(at_least, tolerance_of(array))
            if close(array, expected, tolerance):
                return
        if array is None or not close(array, expected, NEARLY):
            within = min(at_least, TOLERANCE["float32"]) or None
            self.fail_if_known(outcome, *arguments, within=within, **named)
        self.fail_if_no_value(outcome)
        if changed(outcome, *arguments, *named.values()):
            hint = "Your code also changed the array that it was given: work on a copy."
        elif not same(self.called(*arguments, **named).value, outcome.value):
            hint = "Two calls with the same arguments gave different results: use nothing random."
        elif _half(array) and not any(map(_half, arguments)):
            hint = "The result is float16, which keeps three digits: keep the type of the input."
        raise CheckFailed(difference(array, expected, tolerance), hint)

    def must_refuse(self, *arguments, hint=""):
        """Fail unless the call raises ValueError; an AssertionError will do, with any words."""
        outcome = self.called(*arguments)
        if outcome.error and outcome.error.is_a(ValueError, AssertionError):
            return
        self.fail_if_known(outcome, *arguments)
        came = f"it returned {kind(outcome.value)}"
        if outcome.error is not None:
            came = f"it raised {_named(outcome.error)}{_line_of(outcome.error)}"
            if outcome.error.is_a(*SLIPS) and not outcome.error.on_purpose:
                hint = ""  # it never came to the size
        raise CheckFailed(f"this call must raise ValueError, and {came}", hint)

    def must_keep_its_arguments(self, *arguments, hint="", **named):
        """Fail if the call changes an array that it was given."""
        outcome = self.called(*arguments, **named)
        if changed(outcome, *arguments, *named.values()):
            self.fail_if_known(outcome, *arguments, **named)
            raise CheckFailed("your code changed the array that it was given", hint)
        self.fail_if_no_value(outcome)

    def must_return(self, *arguments, **named):
        """Return what the call returns; fail if it returns nothing or raises."""
        outcome = self.called(*arguments, **named)
        if outcome.error is not None:
            self.fail_if_known(outcome, *arguments, **named)
        self.fail_if_no_value(outcome)
        return outcome.value

    def called(self, *arguments, **named):
        """Return the `Outcome` of a call; fail if the answer is not yet written."""
        if not callable(self.given):
            raise CheckFailed(
                f"{self.name} must be a function: got {kind(self.given)}",
                f"Define it with `def {self.name}(...)`, and use its name for nothing else.",
            )
        outcome = run(self.given, arguments, **named)
        if outcome.unwritten:
            raise NotWritten("not written yet")
        return outcome

    def fail_if_several(self, value, shape):
        """Fail if `value` is a tuple of results, and not one result of this `shape`."""
        if isinstance(value, tuple) and _shape(value) != shape:
            asked = "array" if shape else "number"
            raise CheckFailed(
                f"your function returned {len(value)} results, and one is asked for",
                f"Return the {asked} alone: a comma after `return` makes a tuple.",
            )

    def array(self, value, wanted="an array of numbers"):
        """Return `value` as an array; fail, saying what is `wanted`, if it is none."""
        try:
            return as_array(value, wanted)
        except TypeError as error:
            raise CheckFailed(str(error)) from None

    def fail_if_known(self, outcome, *arguments, within=None, **named):
        """Fail with the words of a known mistake if one gives the same outcome."""
        known = recognise(self.name, self.check, outcome, arguments, within, **named)
        if known:
            self.fail_as(known.id.removeprefix(f"{self.name}."))

    def fail_as(self, mistake):
        """Fail with the words of the known `mistake` of this answer."""
        known = BANK[f"{self.name}.{mistake}"]
        raise CheckFailed(known.says, known.hint, known.id)

    def fail_if_no_value(self, outcome):
        """Fail if the call raised, or returned None."""
        if outcome.error is not None:
            raise CheckFailed(f"your code raised {_named(outcome.error)}{_line_of(outcome.error)}")
        if outcome.value is None:
            raise CheckFailed(
                "your function returned None", "Is there a `return` before the result?"
            )


def _shape(value):
    try:
        return as_array(value).shape
    except TypeError:
        return None


def _half(value):
    return str(getattr(value, "dtype", "")) == "float16"


def _named(error):
    if error.is_a(SystemExit):
        return "SystemExit: it called exit()"
    if error.name == "StdinNotImplementedError":
        return "an error: it called input(), and nobody is there to type"
    return f"{error.name}: {error.words:.200}" if error.words else error.name


def _line_of(error):
    return f" (at your line `{error.line:.80}`)" if error.line else ""
