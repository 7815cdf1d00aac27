"""axe-core finds nothing in the menus and dialogs that every page has, however it is shown.

For the pages themselves see test_every_page.py.
"""

import axe
import pytest
from built_book import pages, publish, site

pytestmark = pytest.mark.browser

MENUS = ".article-header-buttons .dropdown-toggle"
SEARCH = "#pst-search-dialog"
SIDEBARS = {
    ".primary-toggle": "#pst-primary-sidebar-modal",
    ".secondary-toggle": "#pst-secondary-sidebar-modal",
}
STATES = [(1200, "light"), (1200, "dark"), (390, "dark"), (390, "light")]


@pytest.fixture(scope="module")
def published_site(tmp_path_factory):
    """The site as it is once the project has an address: with a menu that launches notebooks."""
    return publish(tmp_path_factory.mktemp("published") / "course") / "_build" / "html"


def look(page, part):
    """Return what axe-core finds in a part of the page, contrast included."""
    return axe.faults(page, part) + axe.faint(page, part)


def menus(page):
    """Open each menu of the page's head in turn, and yield what axe-core finds in it."""
    buttons = page.locator(f"{MENUS}:visible")
    for number in range(buttons.count()):
        buttons.nth(number).click()
        page.mouse.move(0, 0)
        page.locator(".dropdown-menu.show").wait_for()
        yield look(page, ".bd-header-article")
        page.keyboard.press("Escape")


def dialogs(page):
    """Open the search, and on a narrow page both sidebars, and yield what axe-core finds."""
    page.keyboard.press("Control+k")
    page.locator(f"{SEARCH}[open]").wait_for()
    yield axe.faults(page, SEARCH)  # a field and no text, so nothing to stand out
    page.keyboard.press("Escape")
    if page.viewport_size["width"] < 500:
        for button, dialog in SIDEBARS.items():
            page.locator(button).click()
            page.locator(f"{dialog}[open]").wait_for()
            yield look(page, dialog)
            page.keyboard.press("Escape")


def dress(page, width, theme):
    """Give the page another width and theme."""
    if page.viewport_size["width"] != width:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(600)  # the theme waits as long before it looks for what scrolls
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)


def test_axe_finds_nothing_in_dialogs(open_site):
    page = open_site(f"{site().as_uri()}/{pages()[1]}.html")
    axe.bring(page)
    for width, theme in STATES:
        dress(page, width, theme)
        assert list(dialogs(page)) == [[]] * (1 if width > 500 else 3), (width, theme)


def test_axe_finds_nothing_in_menus(open_site, published_site):
    page = open_site(f"{published_site.as_uri()}/{pages()[1]}.html")
    axe.bring(page)
    for width, theme in STATES:
        dress(page, width, theme)
        assert list(menus(page)) == [[], [], []], (width, theme)


FAULTS = {
    '<img src="../_static/logo.svg">': "image-alt",
    '<button><i class="fas fa-bars"></i></button>': "button-name",
    '<div tabindex="5">first</div>': "tabindex",
}


@pytest.mark.parametrize("html", FAULTS)
def test_axe_finds_what_is_wrong(open_site, html):
    page = open_site(f"{site().as_uri()}/{pages()[0]}.html")
    page.locator(".bd-article h1").evaluate(
        "(e, html) => e.insertAdjacentHTML('afterend', html)", html
    )
    assert any(line.startswith(FAULTS[html]) for line in axe.faults(page))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_a_faint_text_a_faint_link_and_nothing_else(open_site, theme):
    page = open_site(f"{site().as_uri()}/{pages()[1]}.html")
    dress(page, 1200, theme)
    style = "color: #777; background: #888"
    html = f'<p style="{style}">pale</p><p>see <a href="#" style="{style}">there</a></p>'
    page.locator(".bd-article h2").last.evaluate(
        "(e, html) => e.insertAdjacentHTML('afterend', html)", html
    )
    found = axe.faint(page)
    assert {line.split(":")[0] for line in found} == {"color-contrast"}
    assert [word for word in ("pale", "there") if not any(f">{word}<" in f for f in found)] == []
    assert len(found) == 2
