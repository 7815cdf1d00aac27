"""The process that holds the answers, seen from the side that holds the checks."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from .call import Outcome, Raised, Remote
from .confine import end_all_below, unshare
from .verdicts import AFTER_A_TIMEOUT
from .wire import HEAD_AT_MOST, LENGTHS, NUMBERS_AT_MOST, NotPlainError, pack, unpack

GRADER = Path(__file__).resolve().parent
# In the order in which they need each other.
SENT = ("confine", "compare", "call", "verdicts", "wire", "answer_side")
START = """\
import json, os, sys, types
requests = os.fdopen(os.dup(0), "rb")
setup = json.loads(requests.readline())
sys.path[:] = setup["path"]
parent = sys.modules["mha_answer"] = types.ModuleType("mha_answer")
parent.__path__ = []
for name, source, file in setup["modules"]:
    module = sys.modules["mha_answer." + name] = types.ModuleType("mha_answer." + name)
    module.__package__, module.__file__ = "mha_answer", file
    exec(compile(source, "<grader>", "exec"), vars(module))
sys.modules["mha_answer.answer_side"].serve(requests, setup["confined"])
"""
INHERITED = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
START_LIMIT, STOP_LIMIT = 60, 1.0  # seconds


class HungError(Exception):
    """The answer took longer than it may."""


class DiedError(Exception):
    """The process has ended, or sent what is no reply."""


class FloodError(DiedError):
    """The process printed too much."""


class Elsewhere:
    """The learner's cells and names, in a process of their own.

    When that has ended, the next request starts another one, in which the cells run again but for
    those that ended it.
    """

    def __init__(self):
        self.process, self.received = None, None
        self.cells = []  # (name, source, limit) of those that may run again

    def run(self, name, source, limit):
        """Run a cell; return what it raised, or None."""
        self.ready()
        self.cells.append((name, source, limit))
        try:
            return self._run(name, source, limit)
        except HungError:
            # It gets a chance to stop, so that the names which it has made stay.
            self.cells[-1] = (name, source, AFTER_A_TIMEOUT)
            self._interrupt()
            raise
        except DiedError:
            self.cells.pop()
            raise

    def ready(self):
        """Have a process, with the names of all cells so far."""
        if self.process and self.process.poll() is not None:
            self.end()
        if self.process:
            return
        self._start()
        cells, self.cells = self.cells, []
        for name, source, limit in cells:
            with contextlib.suppress(HungError, DiedError):
                self.run(name, source, limit)

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
            raise self._no_reply()
        return Outcome(found.get("value"), self._raised(found), left)

    def _run(self, name, source, limit):
        return self._raised(self._ask(["cell", name, source], time.monotonic() + limit))

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
        raise self._no_reply()

    def _ask(self, request, end):
        """Send a request; return the reply, a dictionary."""
        self._send(pack(request))
        try:
            found = self._reply(end)
        except HungError:
            if request[0] != "cell":  # see `run`
                self.end()
            raise
        if "interrupted" in found:
            raise KeyboardInterrupt  # it raised that itself
        return found

    def _send(self, data):
        # In a thread: a process that does not read must not stop this one.
        threading.Thread(target=_write, args=(self.process.stdin, data), daemon=True).start()

    def _reply(self, end):
        lengths = self._read(LENGTHS.size, end)
        head, numbers = LENGTHS.unpack(lengths)
        if head > HEAD_AT_MOST or numbers > NUMBERS_AT_MOST:
            raise self._no_reply()
        try:
            found = unpack(self._read(head, end), self._read(numbers, end))
        except NotPlainError:
            raise self._no_reply() from None
        if not isinstance(found, dict):
            raise self._no_reply()
        if "flood" in found:
            self.end()
            raise FloodError
        return found

    def _read(self, size, end):
        while len(self.unread) < size:
            try:
                piece = self.received.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                raise HungError from None
            if not piece:
                raise self._no_reply()
            self.unread += piece
        taken = bytes(self.unread[:size])
        del self.unread[:size]
        return taken

    def _no_reply(self):
        """End the process, and return the error that says why."""
        self.end()
        return DiedError()

    def _start(self):
        self.folder = tempfile.TemporaryDirectory(prefix="answer-", ignore_cleanup_errors=True)
        own = os.path.realpath(self.folder.name)
        settings = {name: os.environ[name] for name in INHERITED if name in os.environ}
        settings |= dict.fromkeys(("HOME", "TMPDIR", "TMP", "TEMP", "IPYTHONDIR"), f"{own}/")
        settings |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        self.process = subprocess.Popen(
            [*unshare(), sys.executable, "-I", "-S", "-X", "utf8", "-c", START],
            cwd=own,
            env=settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        self.received, self.unread = queue.Queue(maxsize=64), bytearray()
        pipe = self.process.stdout, self.received
        self.reader = threading.Thread(target=_read_all, args=pipe, daemon=True)
        self.reader.start()
        self._send(json.dumps(_setup(own)).encode() + b"\n")
        try:
            self._reply(time.monotonic() + START_LIMIT)
        except HungError:
            raise self._no_reply() from None

    def _interrupt(self):
        """Stop the cell that runs; end the process when that does not help."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGINT)
                self._reply(time.monotonic() + STOP_LIMIT)
                return
        except (OSError, HungError, DiedError):
            pass
        self.end()

    def end(self):
        """End the process, and all that it started."""
        if not self.process:
            return
        end_all_below(self.process.pid)
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        while self.reader.is_alive() and not self.received.empty():  # it waits for room
            self.received.get()
        self.reader.join(STOP_LIMIT)  # longer, when another process holds the pipe
        self.process = None
        self.folder.cleanup()


def _setup(own):
    files = [GRADER / f"{name}.py" for name in SENT]
    modules = [(file.stem, file.read_text(encoding="utf-8"), str(file)) for file in files]
    path = [os.path.realpath(folder) for folder in sys.path if folder]
    readable = [sys.prefix, sys.base_prefix, str(GRADER.parent), *path]
    home = GRADER.parent.parent
    if home.name not in ("site-packages", "dist-packages"):  # the project, with its solutions
        readable = [folder for folder in readable if folder != str(home)]
    confined = {"readable": readable, "listed": str(home), "hidden": str(GRADER), "own": own}
    return {"path": path, "modules": modules, "confined": confined}


def _write(stream, data):
    data = memoryview(data)
    with contextlib.suppress(OSError, ValueError):  # it has ended; the reader says so
        while data:
            data = data[stream.write(data) :]


def _read_all(stream, received):
    """Put what comes into a queue of limited length: who sends without end has to wait."""
    with stream:
        while piece := stream.read(1 << 16):
            received.put(piece)
    received.put(b"")
