"""On paper a page shows what it folds away; the book prints into one PDF."""

import re
import subprocess
import sys
import unicodedata

import pypdf
import pytest
from built_book import ROOT, pages, site

pytestmark = pytest.mark.browser


def test_live_figures_print_as_tables_and_answers_unfolded(open_site):
    page = open_site(f"{site().as_uri()}/{pages()[1]}.html")
    page.wait_for_selector("mha-attention-lab:defined")
    answer = page.locator("details", has_text="Halve").locator("p").first
    paper = page.locator(".mha-on-paper table").first
    assert not answer.is_visible()
    assert not paper.is_visible()
    page.emulate_media(media="print")
    assert answer.is_visible()
    assert paper.is_visible()
    assert not page.locator("mha-attention-lab").is_visible()


@pytest.fixture(scope="module")
def book():
    """Print the book as `make pdf` does."""
    site()
    command = [sys.executable, "tools/pdf.py"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    return pypdf.PdfReader(ROOT / "_build" / "multi-head-attention.pdf")


def test_pdf_has_every_page_of_the_book_in_order_in_contents_and_outline(book):
    outline = [
        (entry.title, book.get_destination_page_number(entry))
        for entry in flat(book.outline)
        if entry.title
    ]
    contents = " ".join(map(said_on, book.pages[1 : outline[0][1]]))
    last = 0
    for name in pages():
        html = (site() / f"{name}.html").read_text(encoding="utf-8")
        title = re.sub(r"<.*?>", "", re.search(r"<h1>(.*?)<a ", html, re.DOTALL)[1])
        title = " ".join(title.replace("&#39;", "'").split())
        numbers = [number for said, number in outline if " ".join(said.split()) == title]
        assert numbers, f"{title} is not in the outline"
        assert numbers[-1] >= last
        last = numbers[-1]
        assert title in said_on(book.pages[last]), f"page {last + 1} does not begin {title}"
        # A section may have the title of a page, as the exercises of each chapter.
        listed = re.findall(re.escape(title) + r"\s*(\d+)", contents)
        assert str(last + 1) in listed, f"the contents have {title} on {listed}"


def said_on(page):
    """Return a page's text, the ligatures of its font taken apart."""
    return " ".join(unicodedata.normalize("NFKC", page.extract_text()).split())


def flat(outline):
    """Yield the entries of a nested outline."""
    for entry in outline:
        if isinstance(entry, list):
            yield from flat(entry)
        else:
            yield entry


def test_pdf_links_lead_within_the_book_or_out_but_never_to_a_file(book):
    links = [a.get_object() for page in book.pages for a in page.get("/Annots", ())]
    inside = [link for link in links if "/Dest" in link]
    outside = [link["/A"]["/URI"] for link in links if "/A" in link and "/URI" in link["/A"]]
    names = book.named_destinations
    assert len(inside) > 100
    assert [link["/Dest"] for link in inside if str(link["/Dest"]) not in names] == []
    assert [address for address in outside if not address.startswith("http")] == []
