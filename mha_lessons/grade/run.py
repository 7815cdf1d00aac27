"""Run a spliced notebook with nbval, in a fresh folder and process, and collect the verdicts."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from .notebook import NotGradableError, read, recognise, reference
from .report import Row, Submission
from .splice import answers, checks, splice

PACKAGE_HOME = Path(__file__).resolve().parent.parent.parent


def grade(path, timeout):
    """Grade the notebook at `path`, with at most `timeout` seconds per cell.

    Raises
    ------
    NotGradableError
        When it cannot be read, or is no exercise of this course.
    """
    notebook = read(path)
    exercise = recognise(notebook)
    if exercise is None:
        raise NotGradableError(
            f"{Path(path).name} is no exercise of this course: it has no `# ANSWER:` cell that "
            "we know. Write the exercises with `mha start`, and answer in those."
        )
    content = reference(exercise)
    spliced, missing, notes = splice(notebook, content)
    verdicts, log = run(spliced, timeout, beside=Path(path).resolve().parent)
    rows = judge(content, missing, verdicts)
    notes += _of_cells(content, verdicts, rows)
    if not verdicts:
        notes.append(f"nbval did not run: {log}")
    return Submission(str(path), exercise, rows, notes)


def judge(content, missing, verdicts):
    """Make one row for each check of the reference: what has no verdict is not passed."""
    why = missing | _stopped(content, verdicts)
    rows = []
    for identity, check, answer in checks(content):
        row = Row(check, **verdicts.get(identity, {}))
        undefined = f"NameError: name '{answer}' is not defined"
        if row.message.startswith(undefined) or (row.status == "not run" and answer in why):
            row.status = "blocked"
            row.message = why.get(answer, f"its answer cell does not define {answer}")
        rows.append(row)
    return rows


def _stopped(content, verdicts):
    """Say for each answer whose cell did not come to its end, why."""
    cells = {name: verdicts.get(identity, {}) for identity, name in answers(content)}
    return {
        name: f"its answer cell stopped: {verdict['message']}"
        for name, verdict in cells.items()
        if verdict.get("status") in ("fail", "timeout", "crash")
    }


def _of_cells(content, verdicts, rows):
    blocked = {row.message for row in rows if row.status == "blocked"}
    stopped = _stopped(content, verdicts)
    return [f"{name}: {why}" for name, why in stopped.items() if why not in blocked]


def run(content, timeout, beside):
    """Run the notebook `content` with nbval.

    `beside` is the learner's folder, which must not be on the path: a file named numpy.py there
    would take NumPy's place.

    Returns
    -------
    verdicts : dict
        Cell id to the verdict on that cell.
    log : str
        The last line that the run itself wrote.
    """
    with tempfile.TemporaryDirectory(prefix="mha-", ignore_cleanup_errors=True) as folder:
        folder = Path(folder)
        (folder / "graded.ipynb").write_text(json.dumps(content), encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(
                _command(timeout),
                cwd=folder,
                env=_environment(folder, beside),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            # Far beyond what the limits per cell can add up to; the plugin stops earlier.
            process.wait(60 + 3 * timeout + 3 * len(content["cells"]))
        except subprocess.TimeoutExpired:
            pass
        finally:
            lines = _lines(folder / "verdicts.jsonl")
            _end(process, [line["kernel"] for line in lines if "kernel" in line])
        words = (folder / "log").read_text(encoding="utf-8", errors="replace").split("\n")
    last = [line.strip() for line in words if line.strip()][-1:]
    return {line.pop("cell"): line for line in lines if "cell" in line}, "".join(last)


def _command(timeout):
    plugins = [f"-p{name}" for name in ("nbval.plugin", "mha_lessons.grade.nbval_plugin")]
    options = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={timeout}", "--color=no"]
    files = ["--mha-verdicts=verdicts.jsonl", "graded.ipynb"]
    return [sys.executable, "-m", "pytest", "-pno:cacheprovider", *plugins, *options, *files]


def _environment(folder, beside):
    left_out = ("PYTHONSTARTUP", "PYTHONWARNINGS", "PYTEST", "JUPYTER", "IPYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    path = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
    path = [p for p in path if Path(p).resolve() != beside]
    if PACKAGE_HOME.name not in ("site-packages", "dist-packages"):
        path.append(str(PACKAGE_HOME))
    return kept | {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONUTF8": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_CONFIG_DIR": str(folder / "jupyter"),
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",  # the arrays are small, and a class may be graded in parallel
    }


def _lines(path):
    lines = []
    with contextlib.suppress(OSError, ValueError):  # none yet, or the last one half written
        for line in path.read_text(encoding="utf-8").splitlines():
            lines.append(json.loads(line))
    return lines


def _end(process, kernels):
    # Also after a good end: an answer may have started processes that are still there.
    for group in [process.pid, *kernels]:
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
    process.kill()
    process.wait()
