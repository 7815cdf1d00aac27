"""``%grade`` in a notebook: the same verdicts as on the command line, as a table.

``%load_ext mha_lessons`` brings it. It grades the saved file, in a process of its own, and says
when that is older than what was run. In Colab the file is not on this disk: there the front end is
asked for it.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from . import state
from .notebook import MARK, NotGradableError, read
from .report import Submission, as_text
from .report_files import WrongCallError
from .report_html import as_html
from .run import grade
from .which import file_meant

COLAB_PATIENCE = 30  # seconds
NOT_FOUND = (
    "This editor does not say which notebook runs here. Save it, and name it: %grade NAME.ipynb"
)
OLDER = "The saved file is older than what you ran ({}). Save the notebook, then run %grade again."


class Result:
    """The verdicts on a notebook: a table in Jupyter, and the command line's text elsewhere."""

    def __init__(self, submission):
        self.submission = submission

    def __repr__(self):
        return as_text(self.submission).rstrip("\n")

    def _repr_html_(self):
        return as_html(self.submission)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class Runs:
    """Which answers a shell ran, each as it was run last, and when."""

    def __init__(self, shell):
        self.last = {}
        for source in shell.history_manager.input_hist_raw:  # this long ago, or longer
            self.note(source)
        shell.events.register("pre_run_cell", lambda info: self.note(info.raw_cell))

    def note(self, source):
        """Take in that a cell is run."""
        mark = MARK.search(source or "")
        if mark:
            self.last[mark[1]] = source.strip(), time.time()

    def newer_than(self, path):
        """Return the answers that the file at `path` holds in an older form."""
        saved = {}
        with contextlib.suppress(NotGradableError):
            for cell in read(path).code:
                saved.setdefault(cell.answer, set()).add(cell.source.strip())
        saved_at = path.stat().st_mtime
        return [
            name
            for name, (source, run_at) in self.last.items()
            if name in saved and source not in saved[name] and saved_at < run_at
        ]


def load(shell):
    """Register the magic in an IPython shell."""
    runs = Runs(shell)

    def magic(line=""):
        """Grade this notebook: %grade, or %grade PATH, or %grade EXERCISE."""
        from IPython.core.error import UsageError

        try:
            return Result(grade_here(shell, runs, line.strip().strip("'\"")))
        except (NotGradableError, WrongCallError) as error:
            raise UsageError(str(error)) from None  # shown as one sentence, without a traceback

    shell.register_magic_function(magic, magic_name="grade")


def grade_here(shell, runs, named=""):
    """Grade the notebook that `named` names, or else the one that `shell` runs.

    `runs` are those of the shell.

    Raises
    ------
    WrongCallError
        When it cannot be found.
    NotGradableError
        When it is no exercise.
    """
    if not named and "google.colab" in sys.modules:
        submission = _grade_content(front_end_notebook())
    else:
        path = file_meant(os.path.expanduser(named)) if named else notebook_file(shell)
        newer = runs.newer_than(path)  # before the grading: it takes a while
        submission = grade(path)
        if newer:
            submission.notes.insert(0, OLDER.format(", ".join(newer)))
    state.record([submission])
    return submission


def front_end_notebook():
    """Return the JSON content of the notebook that is open in Colab.

    Raises
    ------
    WrongCallError
        When the front end does not answer.
    """
    from google.colab import _message

    content = None
    with contextlib.suppress(Exception):  # its own kinds, when the page does not answer
        answer = _message.blocking_request("get_ipynb", request="", timeout_sec=COLAB_PATIENCE)
        content = answer["ipynb"]
    if content is None:
        raise WrongCallError(
            "Colab did not hand over this notebook. Load the page again, then run %grade once more."
        )
    return content


def _grade_content(content):
    with tempfile.TemporaryDirectory(prefix="mha-") as folder:
        path = Path(folder, "notebook.ipynb")
        path.write_text(json.dumps(content), encoding="utf-8")
        submission = grade(path)
    return Submission("this notebook", submission.exercise, submission.rows, submission.notes)


def notebook_file(shell):
    """Return the path of the notebook that `shell` runs, by what its editor says of it.

    Raises
    ------
    WrongCallError
        When it says nothing, or what is not there.
    """
    said = shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME")
    if not said:
        raise WrongCallError(NOT_FOUND)
    # Some servers name it below their own root; a kernel runs in the notebook's folder.
    for path in (Path(said), Path(Path(said).name)):
        if path.is_file():
            return path
    raise WrongCallError(
        f"There is no file {said}. Was the notebook renamed? Then name it: %grade NAME.ipynb"
    )
