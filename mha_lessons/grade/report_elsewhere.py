"""Reports for the places where classes hand in: Gradescope and GitHub Classroom."""

import base64
import json

from .report import printable


def as_gradescope(submissions):
    """Write Gradescope's ``results.json``: a test per check, each one point.

    Its form is at https://gradescope-autograders.readthedocs.io/en/latest/specs/. When one
    exercise was handed in twice, the better copy counts.
    """
    counted, output = _best(submissions)
    tests = []
    for s in counted:
        for row in s.rows:
            test = {
                "name": f"{s.exercise}: {row.check}" if s.exercise else printable(s.file),
                "name_format": "text",
                "score": int(row.status == "pass"),
                "max_score": 1,
                "status": "passed" if row.status == "pass" else "failed",
                "output": _words(row),
                "output_format": "text",
                "visibility": "visible",
            }
            if row.mistake:
                test["tags"] = [row.mistake]
            tests.append(test)
    result = {
        "output": "\n".join(output),
        "output_format": "text",
        "stdout_visibility": "hidden",
        "execution_time": round(sum(row.seconds for s in submissions for row in s.rows)),
        "tests": tests,
    }
    if not tests:
        result["score"] = 0
    return json.dumps(result, indent=1) + "\n"


def as_classroom(submissions):
    """Write the result that GitHub Classroom's reporter reads: JSON in base64, on one line.

    The action ``autograding-grading-reporter`` reads it from a step's output named ``result``, as
    it reads those of its own graders. Each check is worth one point.
    """
    counted, _ = _best(submissions)
    tests = [
        {
            "name": f"{s.exercise}: {row.check}" if s.exercise else printable(s.file),
            "status": "pass" if row.status == "pass" else "fail",
            "score": int(row.status == "pass"),
            "message": _words(row),
            "test_code": "",
            "filename": printable(s.file),
            "line_no": 0,
            "duration": row.seconds,
        }
        for s in counted
        for row in s.rows
    ]
    passed = bool(tests) and all(test["status"] == "pass" for test in tests)
    result = {
        "version": 1,
        "status": "pass" if passed else "fail",
        "max_score": len(tests),
        "tests": tests,
    }
    return base64.b64encode(json.dumps(result).encode()).decode() + "\n"


def _words(row):
    if row.status == "pass":
        return ""
    lines = [f"{row.status}: {row.message}", f"hint: {row.hint}" if row.hint else ""]
    return printable("\n".join(filter(None, lines)))


def _best(submissions):
    """Return the submissions that count, and words on the others."""
    best, output = {}, []
    for s in submissions:
        known = best.get(s.exercise or s.file)
        if known is None or s.passed > known.passed:
            best[s.exercise or s.file] = s
    for s in submissions:
        counts = best[s.exercise or s.file]
        if counts is not s:
            output.append(
                f"{printable(s.file)} does not count: {printable(counts.file)} is the same "
                "exercise, and passes as many checks or more."
            )
        output += [f"{printable(s.file)}: {printable(note)}" for note in s.notes]
    return [s for s in submissions if best[s.exercise or s.file] is s], output
