"""A pytest plugin on top of nbval: a verdict per cell, written down as soon as it is known.

nbval waits its full timeout for a kernel that is dead, lets an endless print fill the memory, takes
orders from comments in the cells, and reports to a human. Here each cell becomes one line of JSON.
`worker` starts pytest with this plugin.
"""

import contextlib
import time
from collections import deque
from queue import Empty

import nbval.plugin
import pytest
from nbval.kernel import RunningKernel

from .confine import limit_resources
from .splice import ANSWER
from .verdicts import AFTER_A_TIMEOUT, DIED, FLOOD, PRINTED_AT_MOST, late, raised, said

BEGINS = 10.0  # seconds in which a cell begins, on a machine however busy
AGAIN = 2.0  # seconds from one interrupt to the next

verdicts = None  # where to write, from the worker


class KernelDiedError(Exception):
    """The process of the learner's code has ended."""


class TooMuchPrintedError(Exception):
    """A cell printed more than anybody reads."""


class Kernel(RunningKernel):
    """nbval's kernel, watched while a cell runs."""

    def __init__(self, *arguments, **options):
        self.received, self.printed, self.interrupted = deque(), 0, False
        super().__init__(*arguments, **options)

    def execute_cell_input(self, *arguments, **options):
        """Send a cell to the kernel, and count its prints from zero."""
        self.received.clear()
        self.printed, self.interrupted = 0, False
        return super().execute_cell_input(*arguments, **options)

    def await_reply(self, msg_id, timeout=None):
        """Wait for the reply to a message; notice a dead kernel and a flood of prints.

        The time of a cell counts from when the kernel says that it begins. An interrupt before
        that would be lost, and the cell would run on.
        """
        timeout, has_begun = timeout or 60, False
        end = time.monotonic() + max(timeout, BEGINS)
        while True:
            message = None
            with contextlib.suppress(Empty):
                message = self._from_kernel(timeout=0.02)
                self.received.append(message)
                if not has_begun and _begins(message, msg_id):  # it may say so again, to win time
                    has_begun, end = True, time.monotonic() + timeout
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
        while self.interrupted and timeout > AGAIN:
            with contextlib.suppress(Empty):
                return self._from_kernel(AGAIN)
            self.interrupt()
            timeout -= AGAIN
        return self._from_kernel(timeout)

    def interrupt(self):
        """Interrupt the cell. It may miss one, so `get_message` does it again."""
        self.interrupted = True
        super().interrupt()

    def _from_kernel(self, timeout):
        message = super().get_message("iopub", timeout)
        self.printed += len(message["content"].get("text", ""))
        return message


def _begins(message, msg_id):
    parent = message["parent_header"].get("msg_id")
    return message["msg_type"] == "execute_input" and parent == msg_id


def pytest_configure():
    """Set the limits of this process and of the kernel, and watch the kernel."""
    limit_resources()
    nbval.plugin.RunningKernel = Kernel


def pytest_collection_modifyitems(items):
    """Forget what the learner's comments asked nbval to do."""
    for item in items:
        item.options.clear()
        item.options["check"] = True


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
        verdicts.write(kernel=item.parent.kernel.km.provisioner.pid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Write the verdict on a cell."""
    report = yield
    if call.when == "call" or (call.when == "setup" and call.excinfo):
        verdict = _verdict(item, call)
        verdicts.write(cell=item.cell["id"], seconds=round(call.duration, 3), **verdict)
    return report


def _verdict(item, call):
    error = call.excinfo and call.excinfo.value
    if isinstance(error, KernelDiedError):
        return said("crash", DIED)
    too_much = item.parent.timed_out and item.parent.kernel.printed > PRINTED_AT_MOST
    if too_much or isinstance(error, TooMuchPrintedError):
        return said("crash", FLOOD)
    if item.parent.timed_out:
        return late(item.config.option.nbval_cell_timeout)
    if not error:
        return said("pass")
    outputs = [output for output in item.test_outputs or [] if output.output_type == "error"]
    if outputs:
        return _from_error(outputs[-1], item.cell.source)
    if isinstance(error, nbval.plugin.NbCellError):
        return said("fail", "the check did not print its line, and nothing else")
    if call.when == "setup":
        return said("not run", "the notebook's Python process did not start")
    return said("not run", "the Python process ended in an earlier cell")


def _from_error(output, source):
    if output.ename not in ("CheckFailed", "NotWritten"):
        return raised(output.ename, output.evalue, source)
    # The lines of `CheckFailed.__str__`.
    lines = dict(line.partition(": ")[::2] for line in output.evalue.splitlines())
    message = lines.get("not yet", "").partition(": ")[2]
    status = "todo" if output.ename == "NotWritten" else "fail"
    return said(status, message, lines.get("hint", ""), lines.get("mistake"))
