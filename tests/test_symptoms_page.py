"""Each symptom has causes, a cell that reproduces it, a remedy, and links that lead somewhere."""

import re
from pathlib import Path

import myst_pages
import pytest
from executed import outputs_below

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "book" / "symptoms.md"
TEXT = PAGE.read_text(encoding="utf-8")
LABELS = myst_pages.Labels.collect(ROOT)
SECTIONS = dict(
    re.findall(
        r"^\((symptom-[\w-]+)\)=\n(### .+?)(?=^\(symptom-|^## |\Z)", TEXT, re.DOTALL | re.MULTILINE
    )
)

every_symptom = pytest.mark.parametrize("label", SECTIONS)


def test_every_heading_of_a_symptom_can_be_linked():
    assert len(SECTIONS) == len(re.findall(r"^### ", TEXT, re.MULTILINE)) >= 12


@every_symptom
def test_a_symptom_has_causes_a_remedy_and_related_pages(label):
    text = SECTIONS[label]
    assert text.count("\n1. ") == 1
    assert text.count("\nRemedy\n: ") == 1
    assert re.findall(r"^Related: .*(?:\]\(#|\{doc\}`)", text, re.MULTILINE)


@every_symptom
def test_a_symptom_is_listed_at_the_top(label):
    assert f"](#{label})" in TEXT.split("```{code-cell}")[0]


@every_symptom
def test_the_notebook_reproduces_the_symptom(label):
    assert outputs_below(PAGE, SECTIONS[label].split("\n")[0])


def test_every_label_that_the_page_names_is_defined():
    named = re.findall(r"\]\(#([\w-]+)\)", TEXT)
    assert len(named) > 40
    assert [label for label in named if label not in LABELS.texts] == []
