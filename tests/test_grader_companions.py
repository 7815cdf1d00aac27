"""What an answer may need from other cells comes along, and nothing that has an effect."""

import pytest
from learners import SPLIT_HEADS, cell, code_cell, content, save

from mha_lessons.grade.companions import names_in, without_effects
from mha_lessons.grade.notebook import parse, reference
from mha_lessons.grade.run import grade, judge
from mha_lessons.grade.splice import splice

LEFT_OUT = """\
!rm -r x
%time
print(1)
B = open('x')
D: int
x[0] = 3
np.pi = 3
E = [print(1)]
F = C()
rng = np.random.default_rng(0)
for n in range(3): G = n
while True: H = 1
with open('x'): pass
del A
if open('x'): I = 1
if True:
    print(1)
try:
    open('x')
except OSError:
    print(1)
"""


def names_after(source):
    """Return what the sources that come along define when they run."""
    names = {}
    for part in without_effects(source):
        exec(part, names)
    return {name: value for name, value in names.items() if name != "__builtins__"}


def test_nothing_that_has_an_effect_comes_along():
    assert without_effects(LEFT_OUT) == []
    assert without_effects("def broken(:") == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import os as o", "o"),
        ("from math import pi", "pi"),
        ("A = [1, -2.5]", "A"),
        ("A: int = 3", "A"),
        ("A, (B, C) = 1, (2, 3)", "C"),
        ("A = 3 - 2", "A"),
        ("A = 3\nB = A if A > 2 else -A", "B"),
        ("f = lambda x: print(x)", "f"),
        ("def f(): return 1\ng = f", "g"),
        ("import math\nf = math.floor", "f"),
        ("from functools import partial\nf = partial(print, 3, end='')", "f"),
        ("import functools\nf = functools.partial(max, key=lambda x: -x)", "f"),
        ("class K: pass", "K"),
        ("if True:\n    def f(): pass", "f"),
        ("if False:\n    print(1)\nelse:\n    A = 1", "A"),
        ("try:\n    import no_such\nexcept ImportError:\n    no_such = None", "no_such"),
        ("try:\n    import math\nexcept ImportError:\n    print('no')", "math"),
        ("%time\nprint(1)\nA = 1", "A"),
    ],
)
def test_what_is_harmless_comes_along(source, name):
    assert name in names_after(source)


def test_a_name_that_is_missing_takes_nothing_along():
    assert set(names_after("A = 1\nx = rng\ndef f(y=rng): pass\nB = 2")) == {"A", "B"}


def test_an_import_that_fails_takes_nothing_along():
    parts = without_effects("A = 1\nimport no_such\nB = 2")
    assert parts[1] == "import no_such"
    assert len(parts) == 3


def test_every_name_that_a_cell_defines_is_known():
    source = LEFT_OUT + "import a.b\nfrom c import d as e\ndef f(): pass\nclass K: pass"
    assert names_in(source) >= {*"BDEFGHI", "rng", "n", "a", "e", "f", "K"}
    assert names_in("def broken(:\nX = 3\nif Y == 3:") == {"broken", "X"}


@pytest.mark.parametrize(
    "message", ["your code raised NameError: {}", "this call must raise ValueError, and: {}"]
)
def test_a_name_of_another_cell_is_told_so(message):
    made = reference("02_split_heads")
    found = next(c["id"] for c in made["cells"] if c["id"].startswith("02-check"))
    said = message.format("NameError: name 'rng' is not defined")
    fields = {"status": "fail", "message": said, "hint": "Reshape."}
    (row, *_) = judge(made, {}, {found: fields}, {"rng"})
    assert row.hint == (
        "`rng` is defined in another cell, which is not run here: move it into the answer cell."
    )
    (row, *_) = judge(made, {}, {found: fields}, {"other"})
    assert row.hint == "Reshape."


def test_a_learner_is_told_of_the_cell_that_was_not_run_and_of_the_import_that_failed(tmp_path):
    made = content(
        split_heads="# ANSWER: split_heads\ndef split_heads(x, num_heads):\n    return x[rng]"
    )
    position = made["cells"].index(cell(made, SPLIT_HEADS))
    own = "import no_such_library\nrng = np.random.default_rng(0)"
    made["cells"].insert(position, code_cell(own))
    submission = grade(save(made, tmp_path / "a.ipynb"), timeout=4)
    row = submission.rows[0]
    assert row.message == (
        "your code raised NameError: name 'rng' is not defined (at your line `return x[rng]`)"
    )
    assert row.hint.startswith("`rng` is defined in another cell")
    assert submission.notes == [
        "a cell of your own stopped: ModuleNotFoundError: No module named 'no_such_library'"
    ]


def test_companions_stand_before_the_first_answer():
    made = content()
    made["cells"].append(code_cell("A = 1"))
    spliced, _, _ = splice(parse(made), reference("02_split_heads"))
    ids = [cell["id"] for cell in spliced["cells"]]
    own = [identity for identity in ids if identity.startswith("companion")]
    assert own
    assert ids.index(own[-1]) == ids.index(SPLIT_HEADS) - 1
