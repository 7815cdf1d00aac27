"""A pytest plugin on top of nbval: a verdict per cell, written down as soon as it is known.

nbval waits its full timeout for a kernel that is dead, lets an endless print fill the memory, takes
orders from comments in the cells, and reports to a human. Here each cell becomes one line of JSON.
`worker` starts pytest with this plugin.
"""

import contextlib
import json
import re
import time
from collections import deque
from queue import Empty

import nbval.plugin
import pytest
from nbval.kernel import RunningKernel

from .splice import ANSWER

PRINTED_AT_MOST = 2_000_000  # characters per cell
AFTER_A_TIMEOUT = 1.0  # seconds: an answer that hangs once may hang in every check
MEMORY, FILE_SIZE = 8 << 30, 64 << 20  # bytes
verdicts = None  # the open file that the worker gives us


class KernelDiedError(Exception):
    """The process of the learner's code has ended."""


class TooMuchPrintedError(Exception):
    """A cell printed more than anybody reads."""


class Kernel(RunningKernel):
    """nbval's kernel, watched while a cell runs."""

    def __init__(self, *arguments, **options):
        self.received, self.printed = deque(), 0
        super().__init__(*arguments, **options)

    def execute_cell_input(self, *arguments, **options):
        """Send a cell to the kernel, and count its prints from zero."""
        self.received.clear()
        self.printed = 0
        return super().execute_cell_input(*arguments, **options)

    def await_reply(self, msg_id, timeout=None):
        """Wait for the reply to a message; notice a dead kernel and a flood of prints."""
        end = time.monotonic() + (timeout or 60)
        while True:
            message = None
            with contextlib.suppress(Empty):
                message = self._from_kernel(timeout=0.02)
                self.received.append(message)
            if self.printed > PRINTED_AT_MOST:
                self.stop()
                raise TooMuchPrintedError
            if time.monotonic() > end:
                raise Empty
            if message and message["msg_type"] != "status":
                continue  # it is at work
            with contextlib.suppress(Empty):
                reply = super().get_message("shell", timeout=0)
                if reply["parent_header"].get("msg_id") == msg_id:
                    return
            if not self.is_alive():
                raise KernelDiedError

    def get_message(self, stream, timeout=None):
        """Return the next message; those that came while a reply was awaited come first."""
        if stream != "iopub":
            return super().get_message(stream, timeout)
        if self.received:
            return self.received.popleft()
        if self.printed > PRINTED_AT_MOST:  # it prints on after the interrupt
            raise Empty
        return self._from_kernel(timeout)

    def _from_kernel(self, timeout):
        message = super().get_message("iopub", timeout)
        self.printed += len(message["content"].get("text", ""))
        return message


def pytest_configure():
    """Set the limits of this process and of the kernel, and watch the kernel."""
    limit_resources()
    nbval.plugin.RunningKernel = Kernel


def limit_resources():
    """Limit memory, file sizes and core dumps where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {"RLIMIT_DATA": MEMORY, "RLIMIT_FSIZE": FILE_SIZE, "RLIMIT_CORE": 0}
    for name, limit in limits.items():
        # RLIMIT_DATA and not RLIMIT_AS: CUDA reserves far more addresses than it uses.
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        with contextlib.suppress(OSError, ValueError):  # macOS refuses some of them
            resource.setrlimit(kind, (limit, hard))


def pytest_collection_modifyitems(items):
    """Forget what the learner's comments asked nbval to do."""
    for item in items:
        item.options.clear()
        item.options["check"] = True


def write(**line):
    """Write one line, at once: what is known stays known when this process is killed."""
    verdicts.write(json.dumps(line) + "\n")
    verdicts.flush()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Go on after a cell that ran out of time; nbval would expect all later ones to fail."""
    option = item.config.option
    if item.cell_num == 0:
        option.mha_timeout = option.nbval_cell_timeout
    if item.parent.timed_out:
        item.parent.timed_out = False
        option.nbval_cell_timeout = min(option.mha_timeout, AFTER_A_TIMEOUT)
    if ANSWER in item.cell.metadata:
        option.nbval_cell_timeout = option.mha_timeout


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """Write down the kernel's process, which has a group of its own, before it can hang."""
    if item.cell_num == 0:
        write(kernel=item.parent.kernel.km.provisioner.pid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Write the verdict on a cell."""
    report = yield
    if call.when == "call" or (call.when == "setup" and call.excinfo):
        verdict = _verdict(item, call)
        write(cell=item.cell["id"], seconds=round(call.duration, 3), **verdict)
    return report


def _verdict(item, call):
    error = call.excinfo and call.excinfo.value
    if isinstance(error, KernelDiedError):
        return _said("crash", "the Python process ended while this cell ran")
    too_much = item.parent.timed_out and item.parent.kernel.printed > PRINTED_AT_MOST
    if too_much or isinstance(error, TooMuchPrintedError):
        return _said("crash", "this cell was stopped: it printed too much, or without end")
    if item.parent.timed_out:
        limit = item.config.option.nbval_cell_timeout
        return _said("timeout", f"stopped after {limit:g} s: is there a loop that never ends?")
    if not error:
        return _said("pass")
    raised = [output for output in item.test_outputs or [] if output.output_type == "error"]
    if raised:
        return _from_error(raised[-1], item.cell.source)
    if isinstance(error, nbval.plugin.NbCellError):
        return _said("fail", "the check did not print its line, and nothing else")
    if call.when == "setup":
        return _said("not run", "the notebook's Python process did not start")
    return _said("not run", "the Python process ended in an earlier cell")


def _from_error(output, source):
    if output.ename not in ("CheckFailed", "NotWritten"):
        words = ": ".join(filter(None, (output.ename, output.evalue)))
        if output.ename == "KeyboardInterrupt":
            words = "your code was interrupted, or raised KeyboardInterrupt"
        elif "incomplete input" in words:
            words = _what_is_incomplete(source) or words
        return _said("fail", re.sub(r"\(\d+\.py, line", "(line", words))
    # The lines of `CheckFailed.__str__`.
    lines = dict(line.partition(": ")[::2] for line in output.evalue.splitlines())
    message = lines.get("not yet", "").partition(": ")[2]
    status = "todo" if output.ename == "NotWritten" else "fail"
    return _said(status, message, lines.get("hint", ""), lines.get("mistake"))


def _what_is_incomplete(source):
    """Say it in the words of Python, which knows what was not closed; IPython does not."""
    try:
        compile(source, "", "exec", dont_inherit=True)
    except SyntaxError as error:
        # Not the words on a magic, which only IPython knows.
        return error.msg != "invalid syntax" and f"SyntaxError: {error.msg} (line {error.lineno})"
    except ValueError:  # a character that no source may have
        return None


def _said(status, message="", hint="", mistake=None):
    message = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    return {"status": status, "message": message[:300], "hint": hint, "mistake": mistake}
