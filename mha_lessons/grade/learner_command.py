"""The learner's verbs beside `start`, `grade` and `watch`: hint, reset, progress, doctor."""

import os
import sys
from datetime import datetime
from pathlib import Path

from . import hint, state
from .notebook import NotGradableError, exercises, reference
from .report_files import WrongCallError
from .reset import reset
from .run import load
from .splice import checks
from .which import exercise_meant, exercise_named, file_of

NAMES = "02, 02_split_heads, split_heads, or the path of its notebook"
MARKS = {"ok": "32", "warn": "33", "fail": "31"}


def add_verbs(verbs):
    """Add the verbs to the parser of ``mha``."""
    verb = verbs.add_parser("hint", help="show a hint, one step further each time")
    verb.add_argument("exercise", metavar="EXERCISE", help=NAMES)
    verb.add_argument("name", nargs="?", metavar="CHECK|ANSWER", help="default: what is to do next")
    which = verb.add_mutually_exclusive_group()
    which.add_argument("--again", action="store_true", help="show the hints that were told already")
    which.add_argument("--from-start", action="store_true", help="begin with the first hint again")
    verb.set_defaults(verb=_hint)

    verb = verbs.add_parser("reset", help="write an exercise again, and keep a backup of yours")
    verb.add_argument("exercise", metavar="EXERCISE", help=NAMES)
    verb.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="where it is")
    verb.set_defaults(verb=_reset)

    verb = verbs.add_parser("progress", help="show how far you are")
    verb.set_defaults(verb=_progress)

    verb = verbs.add_parser(
        "doctor",
        help="find out what is wrong with the set-up",
        epilog="Exit status: 0 nothing fails, 1 something does.",
    )
    verb.set_defaults(verb=_doctor)


def _hint(options):
    target = hint.target(_exercise(options.exercise), options.name)
    if options.again:
        told = hint.told_so_far(target)
        for title, text in told:
            _show_hint(target, title, text)
        if not told:
            print(f"No hint for {target.name} was told yet. Without --again comes the first one.")
        return 0
    if options.from_start:
        hint.forget(target)
    found = hint.next_hint(target)
    if found:
        _show_hint(target, *found)
        print("Not enough? Run the same command again.")
        return 0
    print(f"There are no more hints for {target.name}; --again shows those that were told.")
    if target.exercise not in state.read().exercises:
        print("After `mha grade`, a check that did not pass may have one of its own.")
    print(f"The solution is in the project, explained: solutions/{target.exercise}.ipynb")
    return 0


def _show_hint(target, title, text):
    print(f"{target.exercise}, {target.name}. {title}\n\n{text}\n")


def _exercise(text):
    """Return the exercise that is named, or that the notebook at this path is."""
    path = Path(text)
    if exercise_named(text) or not path.is_file():
        return exercise_meant(text)
    try:
        return load(path)[1]
    except NotGradableError:
        if exercise_named(path.name):  # broken, and still called as it was
            return exercise_named(path.name)
        raise


def _reset(options):
    exercise, path = _exercise(options.exercise), Path(options.exercise)
    if not path.is_file() or options.folder:
        path = file_of(exercise, options.folder)
    try:
        backup = reset(path, exercise)
    except OSError as error:
        raise WrongCallError(
            f"{path} was not changed: the folder must have room for a backup, and {error.filename} "
            f"cannot be written ({error.strerror}). Make room, or copy the notebook elsewhere."
        ) from None
    if backup is None:
        print(f"{path} is as it was handed out. Nothing was changed.")
        return 0
    print(f"wrote  {path} as it was handed out")
    print(f"kept   {backup} (your work; to open it, give it a name that ends in .ipynb)")
    print("\nIs the notebook open in Jupyter? Load it from disk there, and do not save it before.")
    return 0


def _progress(options):
    found = state.read().exercises
    width = max(map(len, exercises()))
    for exercise in exercises():
        print(f"{exercise:<{width}}  {_line(exercise, found.get(exercise))}")
    path = state.file()
    print()
    if path is None or not path.exists():
        print("Nothing is remembered yet: `mha grade` and %grade do that.")
    else:
        print(f"Remembered in {path}. You may delete this file.")
    return 0


def _line(exercise, grading):
    names = {check for _, check, _ in checks(reference(exercise))}
    if grading is None:
        return f"{'-':>8}  not graded yet"
    passed = sum(row["status"] == "pass" and row["check"] in names for row in grading["rows"])
    return f"{passed:>2} of {len(names):>2}  {_local(grading['graded'])}"


def _local(time):
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OSError, OverflowError):
        return time


def _doctor(options):
    from . import doctor  # the other verbs need none of it

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    worst = 0
    for finding in doctor.findings():
        mark = f"{finding.status:<4}"
        if colour:
            mark = f"\x1b[{MARKS[finding.status]}m{mark}\x1b[0m"
        print(f"{mark}  {finding.words}", flush=True)
        if finding.remedy:
            print(f"      {finding.remedy}", flush=True)
        worst = max(worst, finding.status == "fail")
    print("\nSomething fails: do what its second line says." if worst else "\nNothing fails.")
    return int(worst)
