"""A class as it looks after grading, for tests of what is made of it."""

from mha_lessons.grade.report import Row, Submission

WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x\n"
HOSTILE = '</td><script>alert(1)</script><img src=x onerror=alert(1)> & "quoted" \u202egnp.exe'


def submission(file, *rows, exercise="02_split_heads", notes=()):
    return Submission(str(file), exercise, list(rows), list(notes))


CLASS = [
    submission("a", Row("one", "fail", "rows are mixed", "", "x.mixed"), Row("two", "pass")),
    submission(
        "b",
        Row("one", "fail", "rows are mixed", "", "x.mixed"),
        Row("two", "fail", "rows are mixed", "", "x.mixed"),
    ),
    submission("c", Row("one", "pass"), Row("two", "crash", "the process ended")),
    submission("d", Row("one", "todo"), Row("two", "todo")),
    submission("e", Row("one", "pass"), Row("two", "pass")),
    Submission.unreadable("f", "broken"),
]
