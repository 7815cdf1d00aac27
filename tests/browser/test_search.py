"""The search finds what the glossary explains, and works from disk."""

import re

import pytest
from built_book import ROOT, site

pytestmark = pytest.mark.browser


DONE = "/found|match/.test(document.querySelector('.search-summary')?.innerText ?? '')"


def terms():
    """Return the glossary's terms."""
    text = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    body = re.search(r"```\{glossary\}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[1]
    return [line for line in body.splitlines() if re.match(r"[^\s:]", line)]


def results(page, base, query):
    """Return the addresses that the search page lists, in its order."""
    page.goto(f"{base}/search.html?q={query.replace(' ', '+')}")
    page.wait_for_function(DONE)
    links = page.locator("ul.search a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    return list(dict.fromkeys(link.split("?")[0] for link in links))


def test_every_term_of_the_glossary_is_found(open_site):
    page = open_site(f"{site().as_uri()}/search.html")
    assert len(terms()) >= 20
    for term in terms():
        found = results(page, site().as_uri(), term)
        assert any(re.match(r"book/(glossary|\d\d_)", link) for link in found), term


def test_a_result_shows_lines_of_its_page_and_nothing_folded(open_site, bases):
    base = bases["http"]
    page = open_site(f"{base}/search.html")
    assert results(page, base, "softmax")
    page.locator("ul.search .context").first.wait_for()
    shown = (
        """Search.htmlToText('<main role="main"><p>said</p><details>kept</details></main>', "")"""
    )
    assert page.evaluate(shown).split() == ["said"]


def test_no_solved_exercise_is_on_the_site():
    solutions = {p.stem for p in ROOT.glob("solutions/*.py")}
    assert solutions
    assert [p for p in site().rglob("*.html") if "solutions" in p.parts] == []
    for code in ROOT.glob("solutions/*.py"):
        for secret in re.findall(r"### BEGIN SOLUTION\n(.*?)### END", code.read_text(), re.S):
            line = max((s.strip() for s in secret.splitlines()), key=len)
            for page in [*site().glob("exercises/*.html"), *site().glob("notebooks/*.ipynb")]:
                assert line not in page.read_text(encoding="utf-8"), (code.name, page.name)
