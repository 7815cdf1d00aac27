"""A number in the book's prose is small, or computed on its page, or has a named source."""

import re
import tomllib

import nbformat
import pytest
from built_book import ROOT
from prose import paragraphs

LISTED = tomllib.loads((ROOT / "tests/data/numbers_in_prose.toml").read_text(encoding="utf-8"))
PAGES = sorted(ROOT.glob("book/*.md"))

# Numbers up to twelve count steps, heads and axes; a longer claim is never that small alone.
SMALL = {str(n) for n in range(13)}
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,\u202f]\d+)*(?![\w])")
# Where something stands, and when: no claims.
PLACES = re.compile(
    r"(?i)\b(?:sections?|chapters?|tables?|figures?|fig\.|equations?|appendix|pages?|rows?|versions?"
    r"|algorithms?|theorems?|exercises?|parts?|steps?|opset|python|torch|jupyter book"
    r"|transformers|jax|flax|keras|flash-attn)\s+"
    r"[A-Z]?\d[\d.]*(?:\(\w\))?(?:(?:,| and| to|–| or)+\s*[A-Z]?\d[\d.]*)*"
)
YEARS = re.compile(r"\b(?:199[7-9]|20[0-2]\d)\b")


def claims(text):
    """Return the numbers of a text that need a source."""
    text = re.sub(r"`[^`]*`", " ", text).replace("\\,", "\u202f")
    for pattern in (PLACES, YEARS):
        text = pattern.sub(" ", text)
    return [n for n in map(plain, NUMBER.findall(text)) if n not in SMALL]


def plain(number):
    """Return a number as a cell would print it."""
    return re.sub(r"[,\u202f](?=\d{3}\b)", "", number)


def computed(page):
    """Return the numbers that the page's cells hold: what they set, and what they printed."""
    notebook = page.with_suffix(".ipynb")
    if not notebook.exists():
        return set()
    shown = []
    for cell in nbformat.read(notebook, 4).cells:
        if cell.cell_type == "code":
            shown.append(cell.source)
            shown += [out.get("text") or out.data.get("text/plain", "") for out in cell.outputs]
    numbers = re.findall(r"(?<![\w.])\d[\d_,]*(?:\.\d+)?", "\n".join(shown))
    # An integer is written 65_536 in code, and 65,536 where it is printed.
    return {re.sub(r"_|,(?=\d{3}\b)", "", number).rstrip(",") for number in numbers}


def unsourced(page):
    """Return the paragraphs of a page that hold a number from nowhere, with the numbers."""
    listed = [entry["says"] for entry in LISTED.get(page.stem, [])]
    known = computed(page)
    found = []
    for paragraph in paragraphs(page):
        text = " ".join(paragraph.text.split())
        for says in listed:
            text = text.replace(says, " ")
        numbers = [n for n in claims(text) if n not in known]
        if numbers:
            found.append(f"{', '.join(numbers)} in: {text[:160]}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_number_in_prose_is_computed_or_has_a_source(page):
    found = unsourced(page)
    assert not found, (
        "Print the number in a cell of this page, or list its words and its source in"
        " tests/data/numbers_in_prose.toml:\n" + "\n".join(found)
    )


def test_every_listed_number_stands_on_its_page_and_has_a_source():
    for stem, entries in LISTED.items():
        page = ROOT / "book" / f"{stem}.md"
        text = "\n".join(" ".join(p.text.split()) for p in paragraphs(page))
        known = computed(page)
        for entry in entries:
            assert entry["says"] in text, f"{stem} no longer says: {entry['says']}"
            assert [n for n in claims(entry["says"]) if n not in known], f"no need: {entry}"
            assert entry["source"].strip()


def test_a_number_from_nowhere_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A page\n\nIt takes 37.5 % of the time, $1{,}024$ bytes, and 3 steps.\n")
    assert claims("It takes 37.5 % and 1,024 bytes in section 3.2, says the paper of 2017.") == [
        "37.5",
        "1024",
    ]
    assert len(unsourced(page)) == 1
