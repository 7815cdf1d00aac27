"""The learner's cells and names, in a process that holds nothing of the grader's."""

import contextlib
import time

from .answer_process import AnswerProcess, DiedError, HungError
from .call import Outcome, Raised, Remote
from .verdicts import AFTER_A_TIMEOUT


class Elsewhere:
    """The learner's cells and names, in a process of their own.

    When that has ended, the next request starts another one, in which the cells run again but for
    those that ended it.
    """

    def __init__(self):
        self.process = None
        self.cells = []  # (name, source, limit, given) of those that may run again

    def run(self, name, source, limit, given=False):
        """Run a cell, the learner's or `given` by the exercise; return what it raised, or None."""
        self.ready()
        self.cells.append((name, source, limit, given))
        try:
            return self._run(name, source, limit, given)
        except HungError:
            # It gets a chance to stop, so that the names which it has made stay.
            self.cells[-1] = (name, source, AFTER_A_TIMEOUT, given)
            self.process.interrupt()
            raise
        except DiedError:
            self.cells.pop()
            raise

    def ready(self):
        """Have a process, with the names of all cells so far."""
        if self.process and self.process.ended:
            self.end()
        if self.process:
            return
        self.process = AnswerProcess()
        cells, self.cells = self.cells, []
        for cell in cells:
            with contextlib.suppress(HungError, DiedError):
                self.run(*cell)

    def look(self, name, limit):
        """Return what the learner's notebook holds under `name`, a function as a `Remote`.

        Raises
        ------
        NameError
            When there is nothing of this name.
        """
        end = time.monotonic() + limit
        found = self._ask(["look", name], end)
        if found.get("found") is not True:
            raise NameError(f"name {name!r} is not defined")
        if found.get("callable") is not True:
            return found.get("value")
        return Remote(lambda arguments, named: self._call(name, arguments, named, end))

    def _call(self, name, arguments, named, end):
        found = self._ask(["call", name, arguments, named], end)
        left = found.get("arguments")
        if not isinstance(left, tuple) or len(left) != len(arguments) + len(named):
            raise self.process.died()
        return Outcome(found.get("value"), self._raised(found), left)

    def _run(self, name, source, limit, given):
        return self._raised(self._ask(["cell", name, source, given], time.monotonic() + limit))

    def _raised(self, found):
        told = found.get("raised")
        if told is None:
            return None
        try:
            raised = Raised(**told)
            texts = (*raised.kinds, raised.words, raised.line)
            if raised.kinds and all(type(text) is str for text in texts):
                return raised
        except (TypeError, ValueError):
            pass
        raise self.process.died()

    def _ask(self, request, end):
        try:
            found = self.process.ask(request, end)
        except HungError:
            if request[0] != "cell":  # see `run`
                self.end()
            raise
        if "interrupted" in found:
            raise KeyboardInterrupt  # it raised that itself
        return found

    def end(self):
        """End the process, if there is one."""
        if self.process:
            self.process.end()
            self.process = None
