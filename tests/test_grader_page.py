"""The page about a class shows what was counted, and lets nothing in it run."""

import re
from html.parser import HTMLParser

from graded_class import CLASS, HOSTILE, submission

from mha_lessons.grade import class_page
from mha_lessons.grade.report import Row, Submission


class Read(HTMLParser):
    """Elements, attributes and text of a page; an error where elements are not nested."""

    VOID = ("meta", "br")

    def __init__(self, page):
        super().__init__()
        self.open, self.elements, self.attributes, self.text = [], [], [], ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_hostile_names_and_messages_are_text_on_the_page():
    hostile = submission(
        HOSTILE, Row(HOSTILE, "fail", HOSTILE, HOSTILE, HOSTILE), exercise=HOSTILE, notes=[HOSTILE]
    )
    page = class_page.as_html([hostile, Submission.unreadable(HOSTILE, HOSTILE)])
    read = Read(page)
    harmless = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "section",
    }
    harmless |= {"div", "table", "thead", "tbody", "tr", "th", "td", "a", "ul", "li", "br", "span"}
    assert set(read.elements) <= harmless
    assert not any(
        name.startswith("on") or name in ("src", "action") for name, _ in read.attributes
    )
    assert all(value.startswith("#") for name, value in read.attributes if name == "href")
    assert read.text.count('<script>alert(1)</script><img src=x onerror=alert(1)> & "quoted" ') >= 8
    assert "\u202e" not in page  # it would turn the rest of the line around


def test_the_page_needs_nothing_else_and_allows_nothing():
    page = class_page.as_html(CLASS)
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"https?:|url\(|@import|<script|<link", page)
    assert "prefers-color-scheme: dark" in page
    assert "--mha-accent: #6cb8f0" in page[page.index("prefers-color-scheme: dark") :]
    assert "data-theme" not in page


def test_the_page_shows_the_numbers_that_were_counted():
    text = " ".join(Read(class_page.as_html(CLASS)).text.split())
    assert "6 notebooks, 1 complete" in text
    assert re.search("rows are mixed ?02_split_heads, x.mixed ?2", text)
    assert re.search("the process ended ?02_split_heads, two: no mistake that we know ?1", text)
    assert re.search(r"one ?2 of 5 ?40% ?2 fail, 1 todo", text)
    assert "1 of the files got no verdict" in text
    for s in CLASS:
        assert s.file in text


def test_the_page_can_be_read_with_a_keyboard_and_a_screen_reader():
    page = class_page.as_html(CLASS)
    read = Read(page)
    ids = [value for name, value in read.attributes if name == "id"]
    labels = {value for name, value in read.attributes if name == "aria-labelledby"}
    assert len(ids) == len(set(ids))
    assert labels <= set(ids)
    assert ("lang", "en") in read.attributes
    assert page.count("<table>") == page.count('tabindex="0"') == page.count('role="region"')
    assert all("scope=" in head for head in re.findall(r"<th\b[^>]*>", page))
    assert all(
        'aria-hidden="true"' in bar for bar in re.findall(r'<td class="bars"[^>]*>(?=<div)', page)
    )


def test_a_page_of_nothing_or_of_one_broken_file_is_whole():
    for found in ([Submission.unreadable("f", "broken")], [CLASS[4]]):
        Read(class_page.as_html(found))
