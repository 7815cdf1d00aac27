"""A class of any size, made of the answers that we know: its right verdicts stand beforehand.

Each notebook is one exercise. Each of its answers is a right one in some style, or a row of the
bank of mistakes, as a learner's own cell would hold it.
"""

import ast
import importlib
import inspect
import json
import random
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from mha_lessons.grade.bank import BANK
from mha_lessons.grade.splice import answers, checks

ROOT = Path(__file__).resolve().parent.parent
SHARE_OF_WRONG = 0.4
FORBIDDEN = ("torch", "time")  # a class that needs neither, so that its time is the grader's


class NotAlone(Exception):  # noqa: N818
    """A function needs more than its own module; it can't stand in a learner's cell."""


@dataclass
class Expected:
    """What the verdicts on one notebook must say.

    Attributes
    ----------
    passing : set of str
        Checks that must pass.
    mistakes : dict
        Check to the id of the mistake that it must name.
    """

    exercise: str
    passing: set = field(default_factory=set)
    mistakes: dict = field(default_factory=dict)

    def wrong(self, submission):
        """Return what is wrong with a `Submission`, as sentences."""
        rows = {row.check: row for row in submission.rows}
        found = [
            f"{check} must pass: {getattr(rows.get(check), 'message', 'it is missing')}"
            for check in sorted(self.passing)
            if check not in rows or rows[check].status != "pass"
        ]
        for check, mistake in self.mistakes.items():
            got = rows[check].mistake if check in rows else None
            if got != mistake:
                found.append(f"{check} must name {mistake}: got {got}")
        return [f"{submission.file}: {words}" for words in found]


def source_of(function):
    """Return the source of a function, after what it needs of its own module.

    Raises
    ------
    NotAlone
        When it needs another module of this project, or is no function with a name.
    """
    if not inspect.isfunction(function) or not function.__name__.isidentifier():
        raise NotAlone
    defined = _defined(inspect.getmodule(function))
    if function.__name__ not in defined:
        raise NotAlone
    needed, open_names = {}, [function.__name__]
    while open_names:
        node = defined[open_names.pop()]
        if id(node) in needed:
            continue
        needed[id(node)] = node
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.decorator_list = []
        if isinstance(node, ast.ImportFrom) and (node.level or node.module.startswith("right_")):
            raise NotAlone
        open_names += [n.id for n in ast.walk(node) if getattr(n, "id", None) in defined]
    source = "\n".join(map(ast.unparse, sorted(needed.values(), key=lambda node: node.lineno)))
    if "mha_lessons" in source or any(f"import {name}" in source for name in FORBIDDEN):
        raise NotAlone
    return source


@cache
def _defined(module):
    defined = {}
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                defined[node.name] = node
            case ast.Assign(targets=[ast.Name(id=name)]):
                defined[name] = node
            case ast.Import() | ast.ImportFrom():
                defined |= {(a.asname or a.name).split(".")[0]: node for a in node.names}
    return defined


def cell_of(answer, function):
    """Return the source of an answer cell that defines `answer` as `function`."""
    body = source_of(function).replace("\n", "\n    ")
    made = f"make_{answer}"
    return (
        f"# ANSWER: {answer}\ndef {made}():\n    {body}\n    return {function.__name__}\n\n"
        f"{answer} = {made}()\n"
    )


@cache
def _choices():
    """Return answer to [(id or None, source of a cell)]: first right ones, then wrong ones."""
    sys.path.append(str(ROOT / "tests"))  # where the right answers in other styles are
    for path in sorted((ROOT / "tests").glob("right_answers*.py")):
        right_answers = importlib.import_module(path.stem)
    right, wrong = {}, {}
    for answer, function in right_answers.RIGHT.values():
        _add(right, answer, None, function)
    for row in BANK.values():
        _add(wrong, row.answer, row.id, row.wrong)
    return right, wrong


def _add(choices, answer, identity, function):
    try:
        choices.setdefault(answer, []).append((identity, cell_of(answer, function)))
    except NotAlone:
        pass


def make(number, folder, exercises=None, seed=0):
    """Write `number` notebooks into `folder`.

    Parameters
    ----------
    number : int
    folder : path
    exercises : list of str, optional
        The exercises, in turn; all of them by default.
    seed : int

    Returns
    -------
    dict
        Path to the `Expected` verdicts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    right, wrong = _choices()
    draw = random.Random(seed)
    sources = sorted((ROOT / "solutions").glob("*.ipynb"))
    sources = [path for path in sources if exercises is None or path.stem in exercises]
    made = {}
    for index in range(number):
        source = sources[index % len(sources)]
        content = json.loads(source.read_text(encoding="utf-8"))
        expected, solved = Expected(source.stem), set()
        for identity, answer in list(answers(content)):
            kind = wrong if wrong.get(answer) and draw.random() < SHARE_OF_WRONG else right
            mistake, cell = draw.choice(kind.get(answer) or [(None, None)])
            mine = [check for _, check, of in checks(content) if of == answer]
            if mistake:
                expected.mistakes[BANK[mistake].check] = mistake
            elif cell:
                expected.passing |= set(mine)
            else:
                solved |= set(mine)
            if cell:
                _put(content, identity, cell)
        if not expected.mistakes:  # the solution's own cell may call the answers before it
            expected.passing |= solved
        path = folder / f"student-{index:03}.ipynb"
        path.write_text(json.dumps(content), encoding="utf-8")
        made[path] = expected
    return made


def _put(content, identity, source):
    cell = next(cell for cell in content["cells"] if cell.get("id") == identity)
    cell["source"] = source
