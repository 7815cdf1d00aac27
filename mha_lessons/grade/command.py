"""The command line ``mha``: `start` writes the exercises, `grade` and `watch` grade them.

The learner's other verbs are in `learner_command`.
"""

import argparse
import contextlib
import functools
import math
import os
import shutil
import sys
import time
from pathlib import Path

import mha_lessons

from . import cluster, report, state, summary
from .batch import grade_all, notebooks_in
from .confine import close_to_others, missing_walls
from .journal import Journal
from .learner_command import add_verbs
from .notebook import NotGradableError, exercises
from .progress import Progress
from .report import Submission
from .report_files import REPORTS, WrongCallError, check_targets, write_reports
from .run import grade, load
from .start import DEFAULT_FOLDER, write_exercises
from .warm import POSSIBLE, Warm
from .watch import watch
from .which import file_meant

PASSED, NOT_PASSED, WRONG_CALL, INTERRUPTED = 0, 1, 2, 130


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args=None, namespace=None):
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:  # here, the verb's own parser says how it is called
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

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
    verb.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER)
    verb.set_defaults(verb=_start)

    verb = verbs.add_parser(
        "grade",
        help="grade notebooks, or all notebooks in a folder",
        epilog="Exit status: 0 every check passed, 1 some did not, 2 the call was wrong.",
    )
    verb.add_argument(
        "paths",
        nargs="*",
        type=Path,
        default=[Path()],
        metavar="FILE|FOLDER|EXERCISE",
        help="a notebook, a folder of notebooks, or an exercise (default: the current folder)",
    )
    for name, (_, words) in REPORTS.items():
        verb.add_argument(f"--{name}", metavar="F", help=f"write {words}")
    verb.add_argument(
        "--resume",
        metavar="F",
        help="keep the verdicts in this journal, and grade only what is not in it yet",
    )
    _add_timeout(verb)
    verb.add_argument(
        "--jobs", type=_jobs, default=1, metavar="N", help="notebooks at a time (default: 1)"
    )
    verb.add_argument(
        "--isolate",
        action="store_true",
        help="run the answers in another process than the checks: for other people's notebooks",
    )
    verb.add_argument(
        "--scheduler", metavar="ADDRESS", help="grade on the Dask cluster there: tcp://host:8786"
    )
    verb.set_defaults(verb=_grade)

    verb = verbs.add_parser("watch", help="grade a notebook, or those in a folder, on each save")
    verb.add_argument("path", nargs="?", type=Path, default=Path(), metavar="FILE|FOLDER|EXERCISE")
    _add_timeout(verb)
    verb.set_defaults(verb=_watch)

    add_verbs(verbs)
    return parser


def _add_timeout(verb):
    verb.add_argument(
        "--timeout", type=_seconds, default=10, metavar="S", help="seconds per check (default: 10)"
    )


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"it must be more than 0 and at most 3600: got {text}")
    return seconds


def _jobs(text):
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"it must be a number from 1 to 256: got {text}")
    return int(text)


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
    state.update(lambda now: setattr(now, "folder", str(folder.resolve())))
    print(f"\nOpen a notebook in {folder}, write an answer, then run: mha grade {folder}")
    return PASSED


def _grade(options):
    reports = {name: getattr(options, name) for name in REPORTS}
    reports = {name: target for name, target in reports.items() if target is not None}
    check_targets(reports if options.resume is None else reports | {"resume": options.resume})
    if options.scheduler is not None and options.jobs != 1:
        raise WrongCallError(
            "--jobs is for this machine; with --scheduler the workers decide how many notebooks "
            "are graded at a time. Leave one of them out."
        )
    files = _files(options.paths)
    brief = len(files) > 1
    silent = reports.get("json") == "-"
    if not brief and len(options.paths) == 1 and not options.paths[0].is_dir():
        load(*files)  # one that is no exercise makes this call wrong
    if options.isolate:
        close_to_others()  # the reports are made here
        for words in missing_walls():
            print(f"mha: with less isolation. {words}", file=sys.stderr)
    submissions, progress = [], Progress(sys.stderr, len(files))
    try:
        progress.draw()
        # What runs is ended before the reports are written.
        with (
            _journal(options) as journal,
            contextlib.closing(_graded(options, files, journal)) as graded,
        ):
            for file, submission in zip(files, graded, strict=True):
                submissions.append(submission)
                progress.add(submission, known=journal is not None and file in journal.taken)
                progress.clear()
                if not silent:
                    print(_table(submission, brief), flush=True)
                progress.draw()
    finally:  # also when the user, or who reads our output, has enough
        progress.clear()
        left = files[len(submissions) :]
        if submissions:
            reason = "grading was stopped before this notebook"
            write_reports(
                reports, submissions + [Submission.unreadable(f, reason, "not run") for f in left]
            )
    if not options.isolate:  # it may be the user's own work
        state.record(submissions)
    if journal and journal.taken:
        words = f"{len(journal.taken)} of {len(files)} verdicts were in {options.resume} already."
        print(f"mha: {words}", file=sys.stderr)
    if not silent:
        print(_last_words(submissions), flush=True)
    return PASSED if all(s.complete for s in submissions) else NOT_PASSED


def _journal(options):
    if options.resume is None:
        return contextlib.nullcontext()
    return contextlib.closing(Journal(options.resume, options.timeout, options.isolate))


def _graded(options, files, journal):
    how = files, options.timeout, options.isolate
    if options.scheduler is not None:
        return cluster.grade_all(options.scheduler, *how, journal)
    return grade_all(*how, options.jobs, journal)


def _watch(options):
    path = file_meant(options.path)
    if not path.is_dir():
        load(path)
    print(f"Watching {path}. Save a notebook, and it is graded. Ctrl+C ends this.", flush=True)
    with (
        Warm() if POSSIBLE else contextlib.nullcontext() as warm,
        contextlib.suppress(KeyboardInterrupt),
    ):
        if warm:
            warm.load()
        first = [] if path.is_dir() else [path]
        how = functools.partial(grade, timeout=options.timeout, warm=warm)
        watch(path, lambda file, stop: how(file, stop=stop), _show_saved, _say, first)
    print("\nStopped.")
    return PASSED


def _show_saved(submission, seconds):
    print(f"\n{time.strftime('%H:%M:%S')}, after {seconds:.1f} s:")
    print(_table(submission, brief=False), flush=True)
    print(_next([submission], then="Save, and it is graded again."), flush=True)
    state.record([submission])


def _say(sentence):
    print(f"\n{time.strftime('%H:%M:%S')}: {sentence}", flush=True)


def _files(paths):
    files = []
    for path in map(file_meant, paths):
        if path.is_dir():
            found = notebooks_in(path)
            if not found:
                raise WrongCallError(
                    f"A folder to grade must hold notebooks: {path} has none. "
                    "Name another folder, or write the exercises with `mha start`."
                )
            files += found
        else:
            files.append(path)
    return list(dict.fromkeys(files))


def _width():
    return min(shutil.get_terminal_size().columns, 100) if sys.stdout.isatty() else 100


def _table(submission, brief):
    terminal, width = sys.stdout.isatty(), _width()
    colour = terminal and not os.environ.get("NO_COLOR")
    return report.as_text(submission, width, colour, brief)


def _last_words(submissions):
    """Sum a class up; tell one learner what to do next."""
    if summary.is_class(submissions):
        return summary.as_text(submissions, _width())
    return _next(submissions)


def _next(submissions, then="Save the notebook, then grade it again."):
    """Say what to do next: repair what is wrong, then write what is missing."""
    open_rows = [(s, row) for s in submissions for row in s.rows if row.status != "pass"]
    if open_rows:
        s, row = min(open_rows, key=lambda found: found[1].status == "todo")
        where = s.file if row.check == "notebook" else f"{row.check} in {s.file}"
        return f"Next: {where}. {then}{_stuck(row, submissions)}"
    names = exercises()
    done = max(names.index(s.exercise) for s in submissions)
    following = f" Next: {names[done + 1]}." if done + 1 < len(names) else ""
    return f"All checks passed.{following}"


def _stuck(row, submissions):
    """Offer a hint to one who works on one exercise."""
    exercise = submissions[0].exercise
    if len(submissions) > 1 or exercise is None:
        return ""
    return f" Stuck? Run: mha hint {exercise.split('_')[0]} {row.check}"
