"""Every chapter has the parts that a reader learns to expect, in the same order."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PARTS = ["Check", "Traps", "Quiz", "Summary", "Exercises", "In practice", "Sources"]


def chapters():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    (numbered,) = [part for part in toc["parts"] if part.get("numbered")]
    return [ROOT / f"{chapter['file']}.md" for chapter in numbered["chapters"]]


def cells(text):
    """Return the code of every cell, without the options above it."""
    options = r"(?:---\n.*?^---\n|:[^\n]*\n)*\n*"
    return re.findall(
        rf"^```\{{code-cell\}}.*?\n{options}(.*?)^```$", text, re.DOTALL | re.MULTILINE
    )


every_chapter = pytest.mark.parametrize("chapter", chapters(), ids=lambda path: path.stem)


@every_chapter
def test_a_chapter_ends_with_its_seven_parts(chapter):
    headings = re.findall(r"^## (.+)$", chapter.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[-7:] == PARTS


@every_chapter
def test_a_chapter_opens_with_what_you_will_need_and_meet(chapter):
    text = chapter.read_text(encoding="utf-8")
    opening = text.split("\n:::\n")[0]
    assert all(f"\n{head}\n: " in opening for head in ("You will", "You need", "New symbols"))


@every_chapter
def test_the_check_cell_asserts_something(chapter):
    text = chapter.read_text(encoding="utf-8")
    check = cells(text.split("\n## Check\n")[1].split("\n## ")[0])
    assert len(check) == 1
    assert check[0].count("assert ") >= 5


@every_chapter
def test_the_summary_has_three_points(chapter):
    text = chapter.read_text(encoding="utf-8")
    summary = text.split("\n## Summary\n")[1].split("\n## ")[0]
    assert len(re.findall(r"^- ", summary, re.MULTILINE)) == 3


@every_chapter
def test_cells_stay_short(chapter):
    long = [cell for cell in cells(chapter.read_text(encoding="utf-8")) if cell.count("\n") > 20]
    assert long == []


@every_chapter
def test_every_exercise_has_its_answer_folded_away(chapter):
    text = chapter.read_text(encoding="utf-8")
    exercises = text.split("\n## Exercises\n")[1].split("\n## ")[0]
    asked = re.findall(r"^\d\. ", exercises, re.MULTILINE)
    assert len(asked) == exercises.count(":::{dropdown} Answer") >= 3
