"""The command line ``mha``: `start` writes the exercises, `grade` grades them."""

import argparse
import math
import os
import shutil
import sys
from pathlib import Path

import mha_lessons

from . import report
from .notebook import NotGradableError, exercises
from .run import grade
from .start import write_exercises

PASSED, NOT_PASSED, WRONG_CALL, INTERRUPTED = 0, 1, 2, 130
REPORTS = {"json": report.as_json, "junit": report.as_junit, "csv": report.as_csv}


class WrongCallError(Exception):
    """The call itself was wrong; the message is one sentence for the user."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise WrongCallError(
            f"{message[0].upper()}{message[1:]}. Run `{self.prog} --help` to see how."
        )


def main(argv=None):
    """Run ``mha`` with the arguments `argv`; return its exit status.

    Returns
    -------
    int
        0 when every check passed, 1 when some did not, 2 when the call was wrong.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # an old console may lack a character of a message
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(argv)
        return options.verb(options)
    except (WrongCallError, NotGradableError) as error:
        print(f"mha: {error}", file=sys.stderr)
        return WRONG_CALL
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # who reads our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED


def _parser():
    parser = _Parser(prog="mha", description="Exercises on multi-head attention.")
    parser.add_argument("--version", action="version", version=f"mha {mha_lessons.__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB", title="verbs")

    verb = verbs.add_parser("start", help="write the exercises into a folder")
    verb.add_argument("folder", nargs="?", type=Path, default=Path("mha-exercises"))
    verb.set_defaults(verb=_start)

    verb = verbs.add_parser(
        "grade",
        help="grade notebooks, or all notebooks in a folder",
        epilog="Exit status: 0 every check passed, 1 some did not, 2 the call was wrong.",
    )
    verb.add_argument("paths", nargs="*", type=Path, default=[Path()], metavar="FILE|FOLDER")
    for name in REPORTS:
        dash = " (- for standard output)" if name == "json" else ""
        verb.add_argument(f"--{name}", metavar="F", help=f"write a report as {name}{dash}")
    verb.add_argument("--timeout", type=_seconds, default=10, metavar="S", help="seconds per check")
    verb.set_defaults(verb=_grade)
    return parser


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"it must be more than 0 and at most 3600: got {text}")
    return seconds


def _start(options):
    folder = options.folder
    try:
        written = write_exercises(folder)
    except OSError as error:
        raise WrongCallError(
            f"The exercises need a folder that can be written: {folder} cannot "
            f"({error.strerror}). Name another one."
        ) from None
    for path, is_new in written.items():
        print(f"wrote  {path}" if is_new else f"kept   {path} (it was there already)")
    print(f"\nOpen a notebook in {folder}, write an answer, then run: mha grade {folder}")
    return PASSED


def _grade(options):
    reports = {name: getattr(options, name) for name in REPORTS if getattr(options, name)}
    _check_targets(reports)
    files = _files(options.paths)
    alone = options.paths == files and len(files) == 1
    silent = reports.get("json") == "-"
    submissions = []
    for file in files:
        try:
            submissions.append(grade(file, options.timeout))
        except NotGradableError as error:
            if alone:
                raise
            submissions.append(report.Submission.unreadable(file, str(error)))
        if not silent:
            print(_table(submissions[-1], brief=len(files) > 1), flush=True)
    for name, target in reports.items():
        _write_report(target, REPORTS[name](submissions))
    if not silent:
        print(_next(submissions), flush=True)
    return PASSED if all(s.complete for s in submissions) else NOT_PASSED


def _check_targets(reports):
    for name, target in reports.items():
        path = Path(target)
        if list(reports.values()).count(target) > 1:
            raise WrongCallError(
                f"Each report needs a file of its own: got {target} twice. Use two names."
            )
        if target == "-" and name == "json":
            continue
        if target == "-":
            raise WrongCallError(
                f"Only --json can go to standard output: got --{name} -. Name a file."
            )
        if path.suffix == ".ipynb":
            raise WrongCallError(
                f"A report must not replace a notebook: got {target}. Use another name."
            )
        if path.is_dir() or not path.parent.is_dir():
            raise WrongCallError(
                f"A report must be a file in a folder that exists: got {target}. "
                "Make the folder first, or use another name."
            )


def _write_report(target, text):
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise WrongCallError(
            f"The report {target} cannot be written ({error.strerror}). Use another name."
        ) from None


def _files(paths):
    files = []
    for path in paths:
        if path.is_dir():
            found = [file for file in sorted(path.rglob("*.ipynb")) if _is_submission(file, path)]
            if not found:
                raise WrongCallError(
                    f"A folder to grade must hold notebooks: {path} has none. "
                    "Name another folder, or write the exercises with `mha start`."
                )
            files += found
        elif path.exists():
            files.append(path)
        else:
            raise WrongCallError(
                f"There is no file {path}. Check the name, or run `mha start` first."
            )
    return list(dict.fromkeys(files))


def _is_submission(file, folder):
    # Not the copies that Jupyter keeps in .ipynb_checkpoints, nor in any other hidden folder.
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return file.is_file() and not hidden


def _table(submission, brief):
    terminal = sys.stdout.isatty()
    width = min(shutil.get_terminal_size().columns, 100) if terminal else 100
    colour = terminal and not os.environ.get("NO_COLOR")
    return report.as_text(submission, width, colour, brief)


def _next(submissions):
    """Say what to do next: repair what is wrong, then write what is missing."""
    open_rows = [(s, row) for s in submissions for row in s.rows if row.status != "pass"]
    if open_rows:
        s, row = min(open_rows, key=lambda found: found[1].status == "todo")
        where = s.file if row.check == "notebook" else f"{row.check} in {s.file}"
        return f"Next: {where}. Save the notebook, then grade it again."
    names = exercises()
    done = max(names.index(s.exercise) for s in submissions)
    following = f" Next: {names[done + 1]}." if done + 1 < len(names) else ""
    return f"All checks passed.{following}"
