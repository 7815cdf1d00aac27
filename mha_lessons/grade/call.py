"""Call a function that somebody else wrote: quietly, on copies, and whatever it does."""

import contextlib
import copy
import io
import sys
import warnings
from dataclasses import dataclass
from opcode import opmap
from typing import Any

import numpy as np


@dataclass
class Outcome:
    """What a call came to: a value or an error, and its arguments as it left them.

    Named arguments come last.
    """

    value: Any
    error: BaseException | None
    arguments: tuple

    @property
    def on_purpose(self):
        """Whether the error was raised by a `raise` or an `assert`, not by an operation."""
        last = self.error.__traceback__
        while last.tb_next:
            last = last.tb_next
        return last.tb_frame.f_code.co_code[last.tb_lasti] == opmap["RAISE_VARARGS"]

    @property
    def unwritten(self):
        """Whether the function still raises the NotImplementedError it was handed out with."""
        # The exact type: a notebook's refusal of input() is a subclass. On purpose: torch raises
        # NotImplementedError where an operation is missing.
        return type(self.error) is NotImplementedError and self.on_purpose


def run(function, arguments, **named):
    """Call `function` on deep copies of its arguments; return its `Outcome`, never its error."""
    given, named = copy.deepcopy((arguments, named))
    value = error = None
    try:
        with quiet():
            value = function(*given, **named)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # SystemExit too
        error = raised
    return Outcome(value, error, (*given, *named.values()))


class _Sink(io.TextIOBase):
    # Keeps nothing, so that an endless print costs no memory.
    def write(self, text):
        return len(text)


@contextlib.contextmanager
def quiet():
    """Discard prints, warnings and displays; restore NumPy's print options and error state."""
    sink = _Sink()
    with (
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
        warnings.catch_warnings(),
        np.printoptions(),
        np.errstate(),
        _no_displays(),
    ):
        warnings.simplefilter("ignore")
        yield


def _no_displays():
    if "IPython" not in sys.modules:
        return contextlib.nullcontext()
    from IPython.utils.capture import capture_output

    return capture_output(stdout=False, stderr=False, display=True)
