"""The cheat sheet is one sheet of A4, and nothing of it is cut off."""

import re

import pytest
from built_book import site

pytestmark = pytest.mark.browser

A4 = (595, 842)  # points


@pytest.fixture
def sheet(open_page):
    page = open_page(f"{(site() / 'book' / 'cheat_sheet.html').as_uri()}")
    page.wait_for_function("document.querySelectorAll('.math').length <= "
                           "document.querySelectorAll('mjx-container svg').length")  # fmt: skip
    yield page
    page.heard[:] = [message for message in page.heard if not message.startswith("log:")]


def test_it_prints_on_one_sheet(sheet):
    pdf = sheet.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
    (box,) = re.findall(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert tuple(round(float(side)) for side in box) == A4


def test_on_paper_nothing_reaches_over_the_margin(sheet):
    sheet.set_viewport_size({"width": 726, "height": 1055})  # A4 without its margins
    sheet.emulate_media(media="print")
    over = sheet.evaluate(
        "[...document.querySelectorAll('section#cheat-sheet *')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)"
    )
    assert over == []
    assert sheet.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_the_print_is_large_enough_to_read(sheet):
    sheet.emulate_media(media="print")
    sizes = sheet.evaluate(
        "[...document.querySelectorAll('section#cheat-sheet :is(p, td, th, pre span)')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 9  # CSS pixels: 6.75 points
