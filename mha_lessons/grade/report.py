"""What grading found, and how it is written: text, JSON, CSV, JUnit."""

import csv
import io
import json
import math
import textwrap
from dataclasses import asdict, dataclass, field, fields
from xml.etree import ElementTree

STATUSES = ("pass", "fail", "todo", "blocked", "timeout", "crash", "not run")
COLOURS = {"pass": "32", "fail": "31", "todo": "33"}


@dataclass
class Row:
    """The verdict of one check.

    Attributes
    ----------
    check : str
    status : str
        One of `STATUSES`.
    message, hint : str
    mistake : str or None
        The id of the known mistake.
    seconds : float
    """

    check: str
    status: str = "not run"
    message: str = "grading was stopped before this check"
    hint: str = ""
    mistake: str | None = None
    seconds: float = 0.0

    def __post_init__(self):
        if self.status == "pass":
            self.message = ""


@dataclass
class Submission:
    """The verdicts of one notebook."""

    file: str
    exercise: str | None
    rows: list
    notes: list = field(default_factory=list)

    @classmethod
    def unreadable(cls, file, reason, status="blocked"):
        """Stand for a file that was not graded: one row says why, and none passes."""
        return cls(str(file), None, [Row("notebook", status, reason)])

    @classmethod
    def from_plain(cls, plain):
        """Make one of what `as_plain` made; raise ValueError when it did not make that."""
        try:
            rows = [Row(**row) for row in plain["rows"]]
            made = cls(plain["file"], plain["exercise"], rows, plain["notes"])
            texts = [made.file, made.exercise or "", *made.notes]
            for row in rows:
                texts += [row.check, row.message, row.hint, row.mistake or ""]
            right = all(isinstance(text, str) for text in texts) and as_plain(made) == plain
            right = right and all(
                row.status in STATUSES and 0 <= row.seconds < math.inf for row in rows
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no submission: {error}") from None
        if not right:
            raise ValueError("no submission: its parts do not fit together")
        return made

    @property
    def passed(self):
        """How many checks passed."""
        return sum(row.status == "pass" for row in self.rows)

    @property
    def complete(self):
        """Whether there are checks and all of them passed."""
        return 0 < len(self.rows) == self.passed


def as_plain(submission):
    """Return a submission as dictionaries, lists, texts and numbers."""
    s = submission
    return {
        "file": s.file,
        "exercise": s.exercise,
        "passed": s.passed,
        "total": len(s.rows),
        "rows": [asdict(row) for row in s.rows],
        "notes": s.notes,
    }


def as_json(submissions):
    """Write the submissions as one JSON object, in ASCII."""
    return json.dumps({"submissions": [as_plain(s) for s in submissions]}, indent=1) + "\n"


def as_csv(submissions):
    """Write one line per check; a text that a spreadsheet would compute gets an apostrophe."""
    columns = [column.name for column in fields(Row)]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["file", "exercise", *columns])
    for s in submissions:
        for row in s.rows:
            values = [s.file, s.exercise, *asdict(row).values()]
            table.writerow([_no_formula(value) for value in values])
    return text.getvalue()


def _no_formula(value):
    return f"'{value}" if isinstance(value, str) and value.startswith(tuple("=+-@\t\r")) else value


def as_junit(submissions):
    """Write one test suite per file: a wrong answer is a failure, everything else an error."""
    root = ElementTree.Element("testsuites")
    for s in submissions:
        suite = ElementTree.SubElement(root, "testsuite", name=printable(s.file))
        failures = errors = 0
        for row in s.rows:
            case = ElementTree.SubElement(
                suite, "testcase", classname=s.exercise or "", name=row.check
            )
            case.set("time", str(row.seconds))
            if row.status == "pass":
                continue
            wrong = row.status in ("fail", "todo")
            failures, errors = failures + wrong, errors + (not wrong)
            verdict = ElementTree.SubElement(case, "failure" if wrong else "error")
            verdict.set("type", row.status)
            verdict.set("message", printable(row.message))
            verdict.text = printable(row.hint)
        counts = {"tests": len(s.rows), "failures": failures, "errors": errors}
        suite.attrib.update({name: str(count) for name, count in counts.items()})
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def printable(text):
    """Replace the characters that a page or XML may not hold, or that would reorder a line."""
    return "".join(c if c.isprintable() or c in "\t\n" else "?" for c in text)


def as_text(submission, width=80, colour=False, brief=False):
    """Write the table of one submission; `brief` leaves out the checks that passed.

    What is still to do comes last, on one line: it has nothing to say.
    """
    s = submission
    lines = [f"{s.exercise or 'not graded'}: {s.passed} of {len(s.rows)} checks passed ({s.file})"]
    longest = max((len(row.check) for row in s.rows), default=0)
    for checks, row in together(s.rows):
        if row.status == "todo" or (brief and row.status == "pass"):
            continue
        status = _status(row.status, colour)
        lines.append(f"  {status} {row.check:<{longest}}  {row.message}".rstrip())
        # A long message goes under the check's name, whole.
        if len(checks) > 1 or len(row.message) > max(20, width - longest - 13):
            first, *more = _wrapped(", ".join(checks), width)
            lines[-1:] = [f"  {status} {first.strip()}", *more, *_wrapped(row.message, width)]
        if row.hint:
            lines += _wrapped(f"hint: {row.hint}", width)
    todo = ", ".join(row.check for row in s.rows if row.status == "todo")
    if todo:
        first, *more = _wrapped(todo, width)
        lines += [f"  {_status('todo', colour)} {first.strip()}", *more]
    lines += [line for note in s.notes for line in _wrapped(f"note: {note}", width, " " * 2)]
    return "\n".join(lines) + "\n"


def together(rows):
    """Return (names of checks, row), one for neighbours with the same words."""
    found = []
    for row in rows:
        if found and row.message and _words(found[-1][1]) == _words(row):
            found[-1][0].append(row.check)
        else:
            found.append(([row.check], row))
    return found


def _words(row):
    return row.status, row.message, row.hint


def _status(status, colour):
    word = f"{status:<8}"
    return f"\x1b[{COLOURS.get(status, '35')}m{word}\x1b[0m" if colour else word


def _wrapped(text, width, indent=" " * 11):
    return textwrap.wrap(
        text, max(width, 40), initial_indent=indent, subsequent_indent=indent + "  "
    )
