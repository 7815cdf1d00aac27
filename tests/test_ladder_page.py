"""The ladder's page shows every function of every rung, and names proofs that exist."""

import re
from pathlib import Path

import pytest
from test_structure import FUNCTIONS

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "book" / "ladder.md").read_text(encoding="utf-8")
SHOWN = {
    **{f: [f"{rung}.{f}" for rung in ("equation", "vectorized", "module")] for f in FUNCTIONS},
    "attention": [
        *(f"{rung}.attention" for rung in ("equation", "vectorized", "module", "tiled")),
        "kernel._forward",
    ],
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_stands_side_by_side_on_all_its_rungs(function):
    (tabs,) = [
        tabs
        for tabs in re.findall(r"^::::\{tab-set\}\n(.+?)^::::$", TEXT, re.DOTALL | re.MULTILINE)
        if f"{{library}} equation.{function}\n" in tabs
    ]
    items = re.findall(r"^:::\{tab-item\} (\w+)$", tabs, re.MULTILINE)
    shown = re.findall(r"\{library\} ([\w.]+)$", tabs, re.MULTILINE)
    assert items == [name.split(".")[0] for name in SHOWN[function]]
    assert [name for name in SHOWN[function] if name not in shown] == []


def test_the_proofs_that_the_page_names_exist():
    named = re.findall(r"`(tests/[\w/.]+)`", TEXT)
    assert len(named) >= 7
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_rung_has_its_purpose_its_cost_and_its_proof():
    for rung in ("equation", "vectorized", "module", "tiled", "kernel"):
        assert len(re.findall(rf"^`{rung}`\n: ", TEXT, re.MULTILINE)) == 2
        assert len(re.findall(rf"^\| `{rung}` \|", TEXT, re.MULTILINE)) == 1
