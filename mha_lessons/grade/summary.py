"""What a whole class found hard: mistakes, checks and exercises, counted over its submissions."""

import textwrap
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from .report import STATUSES

SHOWN = 8


@dataclass
class Stumble:
    """A known mistake, or a check that failed without one, and who made it.

    Attributes
    ----------
    exercise, check : str
    mistake : str or None
        The id of the known mistake.
    message : str
        The most frequent words.
    count : int
        In how many submissions; once each, whatever the number of checks.
    """

    exercise: str
    check: str
    mistake: str | None
    message: str
    count: int


@dataclass
class Exercise:
    """How the checks of one exercise came out.

    Attributes
    ----------
    name : str
    handed_in, complete : int
    checks : dict
        Name to a Counter of statuses, in the order of the exercise.
    """

    name: str
    handed_in: int = 0
    complete: int = 0
    checks: dict = field(default_factory=dict)


def is_class(submissions):
    """Tell whether these are several people's: some exercise is there more than once."""
    counts = Counter(s.exercise for s in submissions if s.exercise)
    return any(count > 1 for count in counts.values())


def exercises(submissions):
    """Count each exercise, in the order of the course."""
    found = {}
    for s in submissions:
        if s.exercise is None:
            continue
        exercise = found.setdefault(s.exercise, Exercise(s.exercise))
        exercise.handed_in += 1
        exercise.complete += s.complete
        for row in s.rows:
            exercise.checks.setdefault(row.check, Counter())[row.status] += 1
    return [found[name] for name in sorted(found)]


def stumbles(submissions):
    """Count what went wrong, the most frequent first; what is not written yet is no mistake."""
    makers, words, where = defaultdict(set), defaultdict(Counter), {}
    for number, s in enumerate(submissions):
        for row in s.rows:
            if s.exercise is None or row.status in ("pass", "todo", "not run"):
                continue
            what = (s.exercise, row.mistake or "", "" if row.mistake else row.check)
            makers[what].add(number)
            words[what][row.message] += 1
            where.setdefault(what, (s.exercise, row.check, row.mistake))
    found = [
        Stumble(*where[what], words[what].most_common(1)[0][0], len(makers[what]))
        for what in makers
    ]
    return sorted(found, key=lambda s: (-s.count, s.mistake is None, s.exercise, s.check))


def not_graded(submissions):
    """Return (file, reason) of each file that got no verdicts."""
    return [(s.file, s.rows[0].message) for s in submissions if s.exercise is None]


def statuses(counter):
    """Return the statuses in it that are no pass, as words: "3 fail, 1 todo"."""
    return ", ".join(f"{counter[name]} {name}" for name in STATUSES[1:] if counter[name])


def as_text(submissions, width=80):
    """Write what went well and what did not, in a few lines."""
    complete = sum(s.complete for s in submissions)
    lines = [f"{len(submissions)} notebooks, {complete} complete."]
    for exercise in exercises(submissions):
        lines.append(f"  {exercise.name}: {exercise.complete} of {exercise.handed_in} complete")
    most = stumbles(submissions)
    if most:
        lines += ["", "Most frequent mistakes, and in how many notebooks:"]
        digits = len(str(most[0].count))
        for s in most[:SHOWN]:
            name = s.mistake or f"{s.check}, no mistake that we know"
            words = f"  {s.count:{digits}}  {name}: {s.message}"
            lines += textwrap.wrap(words, width, subsequent_indent=" " * (digits + 6))
        if len(most) > SHOWN:
            lines.append(f"  {'':{digits}}  and {len(most) - SHOWN} more: see --html")
    left = not_graded(submissions)
    if left:
        lines += ["", f"Not graded: {len(left)}"]
        lines += [f"  {file}: {reason}" for file, reason in left]
    return "\n".join(lines) + "\n"
