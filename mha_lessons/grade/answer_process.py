"""The process that holds the answers: how it is started, asked and ended."""

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

from .confine import end_all_below, unshare
from .wire import HEAD_AT_MOST, LENGTHS, NUMBERS_AT_MOST, NotPlainError, pack, unpack

GRADER = Path(__file__).resolve().parent
# In the order in which they need each other.
SENT = ("confine", "compare", "call", "verdicts", "wire", "handed_out", "answer_side")
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


class AnswerProcess:
    """`answer_side`, behind the walls that the system has; what it sends is not trusted."""

    def __init__(self):
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
        self.over = False
        self.received, self.unread = queue.Queue(maxsize=64), bytearray()
        pipe = self.process.stdout, self.received
        self.reader = threading.Thread(target=_read_all, args=pipe, daemon=True)
        self.reader.start()
        self._send(json.dumps(_setup(own)).encode() + b"\n")
        try:
            self.reply(time.monotonic() + START_LIMIT)
        except HungError:
            raise self.died() from None

    @property
    def pid(self):
        """The number of the process, and of its group."""
        return self.process.pid

    @property
    def ended(self):
        """Whether the process is no more."""
        return self.over or self.process.poll() is not None

    def ask(self, request, end):
        """Send a request; return the reply, a dictionary, if it comes before `end`."""
        self._send(pack(request))
        return self.reply(end)

    def _send(self, data):
        # In a thread: a process that does not read must not stop this one.
        threading.Thread(target=_write, args=(self.process.stdin, data), daemon=True).start()

    def reply(self, end):
        """Return the next reply."""
        lengths = self._read(LENGTHS.size, end)
        head, numbers = LENGTHS.unpack(lengths)
        if head > HEAD_AT_MOST or numbers > NUMBERS_AT_MOST:
            raise self.died()
        try:
            found = unpack(self._read(head, end), self._read(numbers, end))
        except NotPlainError:
            raise self.died() from None
        if not isinstance(found, dict):
            raise self.died()
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
                raise self.died()
            self.unread += piece
        taken = bytes(self.unread[:size])
        del self.unread[:size]
        return taken

    def died(self):
        """End the process, and return the error that says so."""
        self.end()
        return DiedError()

    def interrupt(self):
        """Stop the cell that runs; end the process when that does not help."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGINT)
                self.reply(time.monotonic() + STOP_LIMIT)
                return
        except (OSError, HungError, DiedError):
            pass
        self.end()

    def end(self):
        """End the process, and all that it started."""
        if self.over:  # its number may be another one's by now
            return
        self.over = True
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
