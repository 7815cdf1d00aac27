"""Start the worker in a fresh folder, read its verdicts, and end everything that it started.

The answers are somebody else's code, with the rights of this user. They cannot write verdicts,
which are signed with a key that only the worker has. Without `isolated` they can patch the checks
in their own process; and with it, they still are programs of the same user. A real border is
another user or a container.
"""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import signed
from .confine import end_all_of
from .environment import environment_of
from .notebook import NotGradableError
from .report import STATUSES

TEXT = {"status", "message", "hint"}


def run(content, timeout, beside, isolate=False, stop=None, warm=None):
    """Run the notebook `content` with nbval, or with the answers in a process of their own.

    `beside` is the learner's folder, which must not be on the path: a file named numpy.py there
    would take NumPy's place. The event `stop` ends the run. `warm` makes a run fast that is not
    isolated.

    Returns
    -------
    verdicts : dict or None
        Cell id to the verdict on that cell; None when the notebook's process did not start.
    log : str
        The last line that the run itself wrote.
    """
    # Far beyond what the limits per cell can add up to; the plugin stops earlier.
    limit = 60 + 3 * timeout + 3 * len(content["cells"])
    with contextlib.ExitStack() as stack:
        folder = _fresh_folder(content, stack)
        with open(folder / "log", "wb") as log:
            environment = environment_of(folder, beside)
            if isolate:
                process = _start(_isolated(timeout), folder, environment, log)
            else:
                how = folder, environment, log
                process = warm and warm.start(content, _arguments(timeout), *how)
                process = process or _start(_command(timeout), *how)
        key, written = secrets.token_bytes(32), b""
        try:
            written = _output(process, key, limit, stop)
        finally:
            kernel, verdicts = read(written, {cell["id"] for cell in content["cells"]}, key)
            _end(process, kernel, folder)
        words = (folder / "log").read_text(encoding="utf-8", errors="replace").split("\n")
    last = [line.strip() for line in words if line.strip()][-1:]
    return (verdicts if kernel else None), "".join(last)


def _fresh_folder(content, stack):
    try:
        made = tempfile.TemporaryDirectory(prefix="mha-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(made)).resolve()
        (folder / "tmp").mkdir()
        (folder / "graded.ipynb").write_text(json.dumps(content), encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    except OSError as error:
        raise NotGradableError(
            f"The temporary folder cannot be written ({error.strerror}), so nothing was graded. "
            "Make room there, or set TMPDIR to another folder."
        ) from None
    return folder


def _start(command, folder, environment, log):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
    return subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes)


def _output(process, key, limit, stop):
    """Give the process its key; return what it writes until its end, or until it has to end."""
    end = time.monotonic() + limit
    while True:
        try:
            return process.communicate(key, timeout=min(limit, 0.1) if stop else limit)[0]
        except subprocess.TimeoutExpired as error:
            key = None  # it has it
            if (stop and stop.is_set()) or time.monotonic() > end:
                return error.output or b""


def read(written, cells, key):
    """Read what the worker wrote: the kernel's process, then a verdict on each cell.

    What is not exactly that is left out, and the first verdict on a cell counts.

    Returns
    -------
    kernel : int or None
    verdicts : dict
        Id of one of `cells` to the fields of its row.
    """
    kernel, verdicts = None, {}
    for number, line in enumerate(signed.read(written, key)):
        if number == 0:  # before any answer ran
            kernel = _kernel(line)
        elif _is_verdict(line) and line["cell"] in cells:
            verdicts.setdefault(line.pop("cell"), line)
    return kernel, verdicts


def _kernel(line):
    found = line.get("kernel") if isinstance(line, dict) else None
    return found if type(found) is int and found > 1 else None


def _is_verdict(line):
    return (
        isinstance(line, dict)
        and set(line) == {"cell", "seconds", "mistake", *TEXT}
        and all(isinstance(line[name], str) for name in ("cell", *TEXT))
        and line["status"] in STATUSES
        and isinstance(line["mistake"], str | None)
        and type(line["seconds"]) in (int, float)
        and 0 <= line["seconds"] < 1e6
    )


def _isolated(timeout):
    return [sys.executable, "-P", "-m", "mha_lessons.grade.isolated", str(timeout)]


def _command(timeout):
    # -P: the answers can write into this folder, and must not be imported from there.
    return [sys.executable, "-P", "-m", "mha_lessons.grade.worker", *_arguments(timeout)]


def _arguments(timeout):
    options = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={timeout}", "--color=no"]
    plugins = ["-pno:cacheprovider", "-pnbval.plugin"]
    return ["--capture=no", *plugins, *options, "graded.ipynb"]


def _end(process, kernel, folder):
    """End the worker, and whatever the answers started that is still there."""
    process.kill()
    process.wait()
    process.stdout.close()
    if not end_all_of(folder) and kernel and hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            if os.getpgid(kernel) == kernel:
                os.killpg(kernel, signal.SIGKILL)
