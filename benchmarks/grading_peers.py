"""What else grades one notebook, each by its own path: nbval, nbgrader and otter-grader.

All of them run the same solved exercise and call the same checks, so that the difference is theirs.
"""

import json
import os
import shutil
import sqlite3
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path

from mha_lessons.grade.notebook import reference
from mha_lessons.grade.splice import answers, checks

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 300


class Peer(ABC):
    """A grader that is called as a program.

    Parameters
    ----------
    python : path
        The Python that has it installed.
    folder : path
        A folder for its files.
    exercise : str
    """

    package: str
    module: str
    note = ""

    def __init__(self, python, folder, exercise):
        self.python, self.folder, self.exercise = Path(python), folder, exercise
        self.content = reference(exercise)
        self.total = len(list(checks(self.content)))
        folder.mkdir(parents=True)
        self.prepare()

    @classmethod
    def version(cls, python):
        """Return the version of the package, or None where it is not installed."""
        code = f"import importlib.metadata as m, {cls.module}; print(m.version({cls.package!r}))"
        done = subprocess.run([python, "-c", code], capture_output=True, encoding="utf-8")
        return done.stdout.strip() if done.returncode == 0 else None

    @abstractmethod
    def prepare(self):
        """Make what a teacher makes once."""

    @abstractmethod
    def hand_in(self, path):
        """Take what a student made."""

    @abstractmethod
    def grade(self):
        """Run the program: this is what is timed."""

    @abstractmethod
    def passed(self):
        """Return how many checks passed in the last run."""

    def call(self, *arguments, allowed=(0,)):
        """Run a module of the peer's in `folder`; return what it printed."""
        path = os.pathsep.join([str(self.python.parent), os.environ.get("PATH", "")])
        done = subprocess.run(
            [self.python, "-m", *map(str, arguments)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=LIMIT,
        )
        if done.returncode not in allowed:
            raise RuntimeError(f"{self.package} failed: {done.stdout[-2000:]}")
        return done.stdout


class Nbval(Peer):
    """``pytest --nbval`` on the notebook as it was handed in."""

    package, module = "nbval", "nbval"
    note = "compares with the outputs that are stored in the student's own file"

    def prepare(self):
        """Need nothing."""

    def hand_in(self, path):
        """Store the outputs of the reference, as a student's solved notebook has them."""
        handed_in = json.loads(path.read_text(encoding="utf-8"))
        stored = {cell["id"]: cell for cell in self.content["cells"]}
        for cell in handed_in["cells"]:
            if cell["cell_type"] == "code" and cell["id"] in stored:
                cell["outputs"] = stored[cell["id"]]["outputs"]
                cell["execution_count"] = 1
        (self.folder / "handed_in.ipynb").write_text(json.dumps(handed_in), encoding="utf-8")

    def grade(self):
        """Count the check cells that passed."""
        options = ["--nbval", "--nbval-current-env", "-pno:cacheprovider", "-rp", "--color=no"]
        said = self.call("pytest", *options, "handed_in.ipynb", allowed=(0, 1))
        handed_in = json.loads((self.folder / "handed_in.ipynb").read_text(encoding="utf-8"))
        code = [cell["id"] for cell in handed_in["cells"] if cell["cell_type"] == "code"]
        wanted = {identity for identity, _, _ in checks(self.content)}
        self.count = sum(
            f"PASSED handed_in.ipynb::Cell {number}\n" in said
            for number, identity in enumerate(code)
            if identity in wanted
        )

    def passed(self):
        """Return that count."""
        return self.count


class Nbgrader(Peer):
    """``nbgrader autograde`` of one student."""

    package, module = "nbgrader", "nbgrader"
    note = "all or nothing for a cell; no known mistakes, no limits on a process"

    def prepare(self):
        """Make the course and release the assignment."""
        (self.folder / "nbgrader_config.py").write_text(
            "c = get_config()\nc.CourseDirectory.course_id = 'mha'\n"
            f"c.CourseDirectory.root = {str(self.folder)!r}\n",
            encoding="utf-8",
        )
        graded = {identity: check for identity, check, _ in checks(self.content)}
        solved = dict(answers(self.content))
        for cell in self.content["cells"]:
            name = graded.get(cell["id"]) or solved.get(cell["id"])
            if name:
                grade = cell["id"] in graded
                cell["metadata"]["nbgrader"] = {
                    "grade": grade,
                    "grade_id": name,
                    "locked": grade,
                    "schema_version": 3,
                    "solution": not grade,
                    "task": False,
                } | ({"points": 1} if grade else {})
        self.content["metadata"]["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        source = self.folder / "source" / "ps1" / "handed_in.ipynb"
        source.parent.mkdir(parents=True)
        source.write_text(json.dumps(self.content), encoding="utf-8")
        self.call("nbgrader", "generate_assignment", "ps1")

    def hand_in(self, path):
        """Put the student's answers into the released notebook."""
        made = json.loads(path.read_text(encoding="utf-8"))
        sources = {cell["id"]: cell["source"] for cell in made["cells"]}
        released = self.folder / "release" / "ps1" / "handed_in.ipynb"
        content = json.loads(released.read_text(encoding="utf-8"))
        theirs = {identity for identity, _ in answers(self.content)}
        for cell in content["cells"]:
            if cell["id"] in theirs:
                cell["source"] = sources[cell["id"]]
        target = self.folder / "submitted" / "student" / "ps1" / "handed_in.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(content), encoding="utf-8")

    def grade(self):
        """Autograde; an earlier result is written over."""
        self.call("nbgrader", "autograde", "ps1", "--student=student", "--force")

    def passed(self):
        """Read the score from the gradebook."""
        with sqlite3.connect(self.folder / "gradebook.db") as book:
            return int(book.execute("select sum(auto_score) from grade").fetchone()[0])


class Otter(Peer):
    """``otter run`` with a test file for each check."""

    package, module = "otter-grader", "otter"
    note = "doctests; runs the whole notebook of the student, and stops at no time limit"

    def prepare(self):
        """Write the tests, and pack them."""
        tests = self.folder / "tests"
        tests.mkdir()
        for _, check, answer in checks(self.content):
            code = f">>> check.{check}({answer})\nok: {check}\n"
            suite = {"cases": [{"code": code, "hidden": False, "locked": False}]}
            suite |= {"scored": True, "setup": "", "teardown": "", "type": "doctest"}
            test = {"name": check, "points": 1, "suites": [suite]}
            source = f"OK_FORMAT = True\n\ntest = {test!r}\n"
            (tests / f"{check}.py").write_text(source, encoding="utf-8")
        self.call(
            "otter",
            "generate",
            "-t",
            "tests",
            "-o",
            "autograder.zip",
            "--no-requirements",
            "--no-environment",
        )

    def hand_in(self, path):
        """Take the notebook as it is."""
        shutil.copyfile(path, self.folder / "handed_in.ipynb")

    def grade(self):
        """Run the tests."""
        self.call("otter", "run", "-a", "autograder.zip", "--no-logo", "handed_in.ipynb")

    def passed(self):
        """Read the scores from the results."""
        results = json.loads((self.folder / "results.json").read_text(encoding="utf-8"))
        return int(sum(test.get("score", 0) for test in results["tests"]))


PEERS = {"pytest --nbval": Nbval, "nbgrader autograde": Nbgrader, "otter run": Otter}
