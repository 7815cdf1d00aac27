"""The page of traps has all twenty: the statement of the quiz, the belief, a cell, a way on."""

import html
import re
from pathlib import Path

import myst_pages
import plain_markdown
import pytest
import quiz_items
from executed import outputs_below
from markdown_it import MarkdownIt

from mha_lessons.grade.quiz import TRAPS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "book" / "traps.md"
TEXT = PAGE.read_text(encoding="utf-8")
LABELS = myst_pages.Labels.collect(ROOT)
BEGIN = re.compile(r"^\(trap-t(\d+)\)=\n### T\1: ", re.MULTILINE)

every_trap = pytest.mark.parametrize("name", TRAPS)


def section(name):
    """Return what the page says of a trap, up to the next heading."""
    found = re.search(
        rf"^\(trap-{name.lower()}\)=\n### {name}: .+?(?=^\(trap-|^## |\Z)",
        TEXT,
        re.DOTALL | re.MULTILINE,
    )
    assert found, f"{name} has no section with its label"
    return found[0]


def test_all_twenty_stand_there_once():
    assert sorted(map(int, BEGIN.findall(TEXT))) == list(range(1, 21))
    assert set(TRAPS) == {f"T{n}" for n in range(1, 21)}


@every_trap
def test_a_trap_states_what_the_quiz_states_and_shows_it_in_a_cell(name):
    text = section(name)
    assert f"```{{trap}} {name}\n```" in text
    assert "\nPeople think\n: " in text
    assert "\nWhy it's tempting\n: " in text
    assert "```{code-cell}" in text


@every_trap
def test_a_trap_leads_on_to_where_it_is_treated(name):
    (line,) = re.findall(r"^Read on: (.+)$", section(name), re.MULTILINE)
    labels = re.findall(r"\]\(#([\w-]+)\)", line)
    pages = re.findall(r"\{doc\}`(\w+)`", line)
    assert labels or pages
    assert [label for label in labels if label not in LABELS.texts] == []
    assert [page for page in pages if not (PAGE.parent / f"{page}.md").exists()] == []


@every_trap
def test_a_trap_is_listed_at_the_top(name):
    assert f"[{name}](#trap-{name.lower()})" in TEXT.split("\n## ")[0]


@every_trap
def test_the_notebook_shows_a_result_for_each_trap(name):
    assert outputs_below(PAGE, f"### {name}: ")


@every_trap
def test_the_notebook_says_the_statement_as_the_quiz_does(name):
    converter = plain_markdown.Converter(PAGE, LABELS, {})
    shown = MarkdownIt().render(converter.convert(f"```{{trap}} {name}\n```"))
    shown = html.unescape(re.sub(r"<[^>]+>", "", shown))
    trap = TRAPS[name]
    assert trap.statement in shown
    assert trap.choices[trap.right] in shown


def test_a_trap_that_the_quiz_lacks_is_refused():
    with pytest.raises(ValueError, match=r"The quiz has no trap T21\. Name one of T1 to T20\."):
        quiz_items.read("T21")
    converter = plain_markdown.Converter(PAGE, LABELS, {})
    with pytest.raises(SystemExit, match=r"traps\.md: The quiz has no trap T0\."):
        converter.convert("```{trap} T0\n```")
