"""Time the grader: one notebook, one check, a class; beside other graders of notebooks.

python -m benchmarks.grading
python -m benchmarks.grading --peers /path/to/a/venv/bin/python --rounds 7
python -m benchmarks.grading --only class
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

from benchmarks import classroom
from benchmarks.grading_peers import PEERS
from mha_lessons.grade.bank import BANK
from mha_lessons.grade.checks import CheckFailed
from mha_lessons.grade.notebook import exercises, reference
from mha_lessons.grade.report import Submission
from mha_lessons.grade.run import grade
from mha_lessons.grade.splice import IMPORT, answers, checks
from mha_lessons.grade.warm import Warm

ROOT = Path(__file__).resolve().parent.parent
EXERCISE = "02_split_heads"
WRONG = "# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x\n"
PASSED_WHEN_WRONG = 4  # one check of split_heads, and all three of parameter_count
TORCH = """# ANSWER: split_heads
import torch

def split_heads(x, num_heads):
    if num_heads < 1 or x.shape[-1] % num_heads:
        raise ValueError("num_heads must divide d_model")
    return torch.as_tensor(x).unflatten(-1, (num_heads, -1)).transpose(-2, -3)
"""
CLASS, JOBS = 200, 2
TARGETS = {  # seconds
    "mha grade, cold": 2,
    "mha grade, cold, with torch": 3,
    "mha grade, warm": 0.5,
    "slowest check cell": 0.03,
    f"{CLASS} notebooks, isolated, {JOBS} jobs": 240,
}


class UntrueError(Exception):
    """A path that gives wrong verdicts is not timed."""


def demand(name, got, wanted):
    """Refuse a path whose verdicts are wrong.

    Raises
    ------
    UntrueError
        When `got` is not `wanted`.
    """
    if got != wanted:
        raise UntrueError(
            f"Only right verdicts are timed: {name} says {got!s:.400}, and {wanted!s:.400} is "
            "right. Find out why first."
        )


class Cold:
    """``mha grade`` as a program of its own."""

    def __init__(self, folder, answer=None):
        self.report, self.answer = folder / "report.json", answer

    def hand_in(self, path):
        """Take a notebook, and put `answer` into it when there is one."""
        self.path = path
        if self.answer and "right" in path.name:
            self.path = save(self.answer, path.with_name(f"torch-{path.name}"))

    def grade(self):
        """Run it."""
        call = [sys.executable, "-m", "mha_lessons.grade", self.path, "--json", self.report]
        subprocess.run(call, stdout=subprocess.DEVNULL, timeout=120)

    def passed(self):
        """Read the report."""
        (found,) = json.loads(self.report.read_text(encoding="utf-8"))["submissions"]
        return found["passed"]


class InWarm:
    """The same through a preloaded process, as ``mha watch`` does it."""

    def __init__(self, warm):
        self.warm = warm

    def hand_in(self, path):
        """Take a notebook."""
        self.path = path

    def grade(self):
        """Grade it in a fork."""
        self.found = grade(self.path, warm=self.warm)

    def passed(self):
        """Count."""
        return self.found.passed


def save(answer, path):
    """Write the solved exercise, with another answer when one is given."""
    content = json.loads((ROOT / "solutions" / f"{EXERCISE}.ipynb").read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if answer and cell["id"] == "02-answer-split_heads":
            cell["source"] = answer
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def one_notebook(folder, peers, rounds):
    """Time each path over one notebook, in turn; return name to seconds."""
    right, wrong = save(None, folder / "right.ipynb"), save(WRONG, folder / "wrong.ipynb")
    total = len(list(checks(reference(EXERCISE))))
    taken = {}
    with Warm() as warm:
        paths = {
            "mha grade, cold": Cold(folder),
            "mha grade, cold, with torch": Cold(folder, TORCH),
            "mha grade, warm": InWarm(warm),
        }
        for name, kind in PEERS.items():
            found = kind.version(peers)
            if found is None:
                print(f"{name} is left out: {kind.package} is not installed for {peers}.")
            else:
                print(f"{name}: {kind.package} {found}. {kind.note[0].upper()}{kind.note[1:]}.")
                paths[name] = kind(peers, folder / kind.package, EXERCISE)
        for path, wanted in ((wrong, PASSED_WHEN_WRONG), (right, total)):
            for name, way in paths.items():
                way.hand_in(path)
                way.grade()  # and warm up
                demand(name, way.passed(), wanted)
        for _ in range(rounds):
            for name, way in paths.items():
                start = perf_counter()
                way.grade()
                taken.setdefault(name, []).append(perf_counter() - start)
                demand(name, way.passed(), total)
    return taken


def check_cells(rounds):
    """Time each check over a right answer, and over each mistake that it is there for."""
    right, wrong = {}, {}
    for exercise in exercises():
        path = ROOT / "solutions" / f"{exercise}.ipynb"
        if not path.exists():
            continue
        content = json.loads(path.read_text(encoding="utf-8"))
        sources = {cell["id"]: "".join(cell["source"]) for cell in content["cells"]}
        names = {}
        imports = next(source for source in sources.values() if IMPORT.search(source))
        exec(imports, names)
        for identity, _ in answers(reference(exercise)):
            exec(sources[identity], names)
        module = importlib.import_module(".".join(IMPORT.search(imports).groups()))
        for _, check, answer in checks(reference(exercise)):
            judge = getattr(module, check)
            right[check] = _times(check, judge, names[answer], None, rounds)
            for row in BANK.values():
                if row.check == check and callable(row.wrong):
                    wrong[row.id] = _times(check, judge, row.wrong, row.id, rounds)
    return right, wrong


def _times(name, judge, answer, mistake, rounds):
    taken = []
    for _ in range(rounds):
        got = None
        with contextlib.redirect_stdout(io.StringIO()):
            start = perf_counter()
            try:
                judge(answer)
            except CheckFailed as failed:
                got = failed.mistake or "no known mistake"
            taken.append(perf_counter() - start)
        demand(name, got, mistake)
    return taken


def a_class(folder, number=CLASS):
    """Grade a class in isolation once; return the seconds."""
    made = classroom.make(number, folder / "class")
    report = folder / "class.json"
    call = [sys.executable, "-m", "mha_lessons.grade", folder / "class", "--json", report]
    start = perf_counter()
    subprocess.run([*call, "--isolate", f"--jobs={JOBS}"], stdout=subprocess.DEVNULL)
    seconds = perf_counter() - start
    told = json.loads(report.read_text(encoding="utf-8"))["submissions"]
    demand("the class", [plain["file"] for plain in told], list(map(str, made)))
    wrong = []
    for plain, expected in zip(told, made.values(), strict=True):
        wrong += expected.wrong(Submission.from_plain(plain))
    demand("the class", wrong, [])
    return [seconds]


def line(name, taken):
    """Write one row of the table."""
    target = TARGETS.get(name)
    reached = "" if target is None else f"< {target:g} s"
    if target is not None:
        reached += ", reached" if min(taken) < target else ", NOT REACHED"
    return f"| {name} | {_seconds(min(taken))} | {_seconds(statistics.median(taken))} | {reached} |"


def _seconds(value):
    return f"{1000 * value:.1f} ms" if value < 0.1 else f"{value:.2f} s"


def main(arguments=None):
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", choices=("notebook", "check", "class"), nargs="+")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="which has them")
    parser.add_argument("--number", type=int, default=CLASS, metavar="N", help="class size")
    options = parser.parse_args(arguments)
    only = options.only or ("notebook", "check", "class")
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "nbval", "pytest"))
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"Python {platform.python_version()}, {versions}, {os.cpu_count()} cores{load}")
    rows = {}
    with tempfile.TemporaryDirectory(prefix="mha-benchmark-") as name:
        folder = Path(name).resolve()
        if "notebook" in only:
            rows |= one_notebook(folder, options.peers, options.rounds)
        if "check" in only:
            right, wrong = check_cells(options.rounds)
            rows["slowest check cell"] = max(right.values(), key=min)
            rows["median check cell"] = [statistics.median(map(min, right.values()))]
            rows["slowest check cell with a known mistake"] = max(wrong.values(), key=min)
        if "class" in only:
            title = f"{options.number} notebooks, isolated, {JOBS} jobs"
            rows[title] = a_class(folder, options.number)
    print("\n| | least | median | target |\n|---|---|---|---|")
    for title, taken in rows.items():
        print(line(title, taken))


if __name__ == "__main__":
    main()
