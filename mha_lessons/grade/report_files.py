"""Where the reports go: looked at before anything is graded, and written afterwards."""

import os
import sys
from pathlib import Path

from . import report
from .class_page import as_html
from .report_elsewhere import as_classroom, as_gradescope

REPORTS = {  # name to (how it is written, what it is)
    "json": (report.as_json, "all verdicts as JSON (- for standard output)"),
    "junit": (report.as_junit, "all verdicts as JUnit XML, one test per check"),
    "csv": (report.as_csv, "all verdicts as a table, one row per check"),
    "html": (as_html, "a page about the class: mistakes, rates, every notebook"),
    "gradescope": (as_gradescope, "the results.json that Gradescope reads"),
    "classroom": (as_classroom, "the result that GitHub Classroom's reporter reads"),
}


class WrongCallError(Exception):
    """The call itself was wrong; the message is one sentence for the user."""


def check_targets(reports):
    """Refuse, before anything is graded, what could not be written afterwards."""
    real = [os.path.realpath(target) for target in reports.values()]
    for name, target in reports.items():
        path = Path(target)
        if not target:
            raise WrongCallError(f"--{name} needs the name of a file: got nothing. Name one.")
        if real.count(os.path.realpath(target)) > 1:
            raise WrongCallError(
                f"Each report needs a file of its own: got {target} twice. Use two names."
            )
        if target == "-" and name == "json":
            continue
        if target == "-":
            raise WrongCallError(
                f"Only --json can go to standard output: got --{name} -. Name a file."
            )
        if os.path.realpath(path).endswith(".ipynb"):
            raise WrongCallError(
                f"A report must not replace a notebook: got {target}. Use another name."
            )
        if path.is_dir() or not path.parent.is_dir():
            raise WrongCallError(
                f"A report must be a file in a folder that exists: got {target}. "
                "Make the folder first, or use another name."
            )
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise WrongCallError(
                f"The report {target} cannot be written (no permission). Use another name."
            )


def write_reports(reports, submissions):
    """Write every report, also when one of them cannot be written."""
    failed = []
    for name, target in reports.items():
        try:
            write, _ = REPORTS[name]
            _write(target, write(submissions))
        except WrongCallError as error:
            failed.append(error)
    if failed:
        raise failed[0]


def _write(target, text):
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise WrongCallError(
            f"The report {target} cannot be written ({error.strerror}). Use another name."
        ) from None
