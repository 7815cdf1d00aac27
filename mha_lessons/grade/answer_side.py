"""The program of the process that holds the answers, and nothing else of the grader's.

`answer_process` starts it, and sends it this text and those of the modules that it needs: the
grader cannot be imported there. Then it sends requests, and each gets one reply. Everything here is
in the learner's hands; what a reply says is believed nowhere.
"""

import builtins
import io
import linecache
import os
import re
import signal
import sys
import types
from dataclasses import asdict

from .call import Raised, run
from .confine import keep_to
from .handed_out import HandedOut
from .verdicts import PRINTED_AT_MOST
from .wire import LENGTHS, pack, unpack

# What only IPython understands: magics, shell commands, `f?`, `await` outside a function.
IPYTHON = re.compile(r"^\s*[%!?]|=\s*[%!]|\?\s*$|\bawait\b", re.M)


class StdinNotImplementedError(NotImplementedError):
    """What a notebook raises for ``input()``."""


def _nobody_types(prompt=""):
    raise StdinNotImplementedError("nobody is there to type")


class _Sink(io.TextIOBase):
    """Count what a cell prints; an endless print ends the process."""

    def __init__(self, reply):
        self.reply, self.printed = reply, 0

    def write(self, text):
        self.printed += len(text)
        if self.printed > PRINTED_AT_MOST:
            self.reply({"flood": True})
            os._exit(1)
        return len(text)


class AnswerSide:
    """The learner's names, and the requests that concern them."""

    def __init__(self, reply):
        self.sink = sys.stdout = sys.stderr = _Sink(reply)
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        self.names = vars(module)
        self.library = HandedOut()
        sys.meta_path.insert(0, self.library)

    def cell(self, name, source, given):
        """Run a cell, `given` by the exercise or the learner's own; reply with what it raised."""
        self.sink.printed = 0
        if given:
            self.library.add(source)
        else:
            self.library.close()
        file = f"<cell {name}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        try:
            try:
                code = compile(source, file, "exec", dont_inherit=True)
            except SyntaxError as error:
                if not IPYTHON.search(source):
                    raise SyntaxError(f"{error.msg} (line {error.lineno})") from None
                code = None
            if code is None or "get_ipython" in source:
                self._in_ipython(source)
            else:
                exec(code, self.names)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # SystemExit too
            return {"raised": asdict(Raised.of(raised))}
        return {"raised": None}

    @staticmethod
    def _in_ipython(source):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        config = Config({"HistoryManager": {"enabled": False}})
        shell = InteractiveShell.instance(user_module=sys.modules["__main__"], config=config)
        shell.enable_gui = lambda gui=None: None  # for `%matplotlib inline`
        shell.showtraceback = shell.showsyntaxerror = lambda *arguments, **named: None
        shell.run_cell(source, silent=True).raise_error()

    def look(self, name):
        """Reply whether there is something of this `name`, and what it is."""
        if name not in self.names:
            return {"found": False}
        value = self.names[name]
        if callable(value):
            return {"found": True, "callable": True}
        return {"found": True, "callable": False, "value": value}

    def call(self, name, arguments, named):
        """Call the function of this `name`; reply with its outcome."""
        outcome = run(self.names[name], arguments, **named)
        error = outcome.error and asdict(outcome.error)
        return {"value": outcome.value, "raised": error, "arguments": outcome.arguments}


def serve(requests, confined):
    """Answer requests until there are no more."""
    replies = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)

    def reply(value):
        data = memoryview(pack(value))
        while data:
            data = data[os.write(replies, data) :]

    builtins.input = _nobody_types
    builtins.display = lambda *objects, **named: None
    side = AnswerSide(reply)
    keep_to(**confined)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reply({"ready": True})
    while lengths := requests.read(LENGTHS.size):
        verb, *parts = unpack(*map(requests.read, LENGTHS.unpack(lengths)))
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            found = getattr(side, verb)(*parts)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            found = {"interrupted": True}
        reply(found)
