"""Call a function that somebody else wrote: quietly, on copies, and whatever it does."""

import contextlib
import copy
import io
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from opcode import opmap
from pathlib import Path
from typing import Any

import numpy as np

# Where the learner's code is not: this package, Python's library, and what is installed.
FOREIGN = (
    str(Path(__file__).parent.parent),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    *(folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))),
)
BANK = str(Path(__file__).parent / "bank")  # the answers there are as a learner writes them


@dataclass(frozen=True)
class Raised:
    """What there is to say of an error, as plain data: it may come from another process.

    Attributes
    ----------
    kinds : tuple of str
        The full names of its class and of that one's bases.
    words : str
    line : str
        The last line of the learner's own code that it passed.
    on_purpose : bool
        Whether a `raise` or an `assert` of the learner's own raised it, not an operation.
    """

    kinds: tuple
    words: str
    line: str
    on_purpose: bool

    @classmethod
    def of(cls, error):
        """Describe an exception that was caught."""
        try:
            words = str(error)
        except Exception:  # an exception of the learner's own, with a broken __str__
            words = ""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f.line for f in frames if f.line and not f.filename.startswith(FOREIGN)]
        last = error.__traceback__
        while last.tb_next:
            last = last.tb_next
        raised = last.tb_frame.f_code.co_code[last.tb_lasti] == opmap["RAISE_VARARGS"]
        file = last.tb_frame.f_code.co_filename
        on_purpose = raised and (file.startswith(BANK) or not file.startswith(FOREIGN))
        kinds = tuple(map(_full_name, type(error).__mro__))
        return cls(kinds, words[:1000], "".join(lines[-1:])[:200], on_purpose)

    @property
    def name(self):
        """The name of its class."""
        return self.kinds[0].rpartition(".")[2]

    def is_a(self, *classes):
        """Tell whether one of the `classes` would have caught it."""
        return any(_full_name(kind) in self.kinds for kind in classes)


def _full_name(kind):
    return f"{kind.__module__}.{kind.__qualname__}"


@dataclass
class Outcome:
    """What a call came to: a value or an error, and its arguments as it left them.

    Named arguments come last.
    """

    value: Any
    error: Raised | None
    arguments: tuple

    @property
    def unwritten(self):
        """Whether the function still raises the NotImplementedError it was handed out with."""
        # The exact type: a notebook's refusal of input() is a subclass. On purpose: torch raises
        # NotImplementedError where an operation is missing.
        written_as = _full_name(NotImplementedError)
        error = self.error
        return error is not None and error.kinds[0] == written_as and error.on_purpose


@dataclass(frozen=True)
class Remote:
    """A function in another process: `call` takes (arguments, named) and returns an `Outcome`."""

    call: Callable

    def __call__(self, *arguments, **named):
        """Exist, so that it is callable as a function here would be; `run` is the way."""
        raise TypeError("a remote function is called by `run`")


def run(function, arguments, **named):
    """Call `function` on deep copies of its arguments; return its `Outcome`, never its error."""
    if isinstance(function, Remote):
        return function.call(arguments, named)
    given, named = copy.deepcopy((arguments, named))
    value = error = None
    try:
        with quiet():
            value = function(*given, **named)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # SystemExit too
        error = Raised.of(raised)
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
