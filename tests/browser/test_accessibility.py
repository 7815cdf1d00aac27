"""axe-core finds nothing, on any page, in any state that a reader can bring a page to."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from built_book import pages, publish, site

pytestmark = pytest.mark.browser

PAGES = [*pages(), "search", "genindex"]
# Every rule of axe-core runs, best practice included. The strokes of an equation are left out:
# nothing in there has a name, a role or a text of its own.
RUN = """
async ([part, colours]) => {
    const results = await axe.run(
        {include: [[part]], exclude: [["mjx-container svg > *"]]},
        {
            resultTypes: ["violations"],
            preload: false,
            rules: {"color-contrast": {enabled: colours}},
        },
    );
    return results.violations.flatMap(v => v.nodes.map(n =>
        `${v.id}: ${n.target.join(" ")}: ${n.failureSummary.replace(/\\s+/g, " ")}`));
}
"""
UNFOLD = "document.querySelectorAll('details').forEach(d => { d.open = true; })"
STILL = "*, *::before, *::after { transition: none !important; animation: none !important }"
MENUS = ".article-header-buttons .dropdown-toggle"
# Width, theme, and whether contrast is measured on the whole page. It takes ten times as long as
# all other rules: each theme and each width has it once, and the smaller parts always.
STATES = [
    (1200, "light", True),
    (1200, "dark", False),
    (390, "dark", True),
    (390, "light", False),
]


@pytest.fixture(scope="module")
def published_site(tmp_path_factory):
    """The site as it is once the project has an address: with a menu that launches notebooks."""
    return publish(tmp_path_factory.mktemp("published") / "course") / "_build" / "html"


def axe_core():
    """Return the source of axe-core, from the package that carries it."""
    (folder,) = find_spec("axe_playwright_python").submodule_search_locations
    return Path(folder, "axe.min.js").read_text(encoding="utf-8")


def look(page, found, state, part="html", *, colours=True):
    """Run axe-core on a part of the page."""
    found += [f"{state}: {line}" for line in page.evaluate(RUN, [part, colours])]


def look_at_menus(page, found, state):
    """Open each menu of the page's head in turn."""
    menus = page.locator(f"{MENUS}:visible")
    for number in range(menus.count()):
        menu = menus.nth(number)
        menu.click()
        page.mouse.move(0, 0)
        page.locator(".dropdown-menu.show").wait_for()
        look(page, found, f"{state}, menu {number}", ".bd-header-article")
        page.keyboard.press("Escape")
    return menus.count()


def look_at_dialogs(page, found, state):
    """Open the search, and on a narrow page both sidebars."""
    page.keyboard.press("Control+k")
    look(page, found, f"{state}, search", "#pst-search-dialog")
    page.keyboard.press("Escape")
    for button, dialog in [
        (".primary-toggle", "#pst-primary-sidebar-modal"),
        (".secondary-toggle", "#pst-secondary-sidebar-modal"),
    ]:
        if page.locator(f"{button}:visible").count() and page.viewport_size["width"] < 500:
            page.locator(button).click()
            page.locator(f"{dialog}[open]").wait_for()
            look(page, found, f"{state}, {dialog}", dialog)
            page.keyboard.press("Escape")


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_in_any_state_of_a_page(open_site, name):
    page = ready(open_site(f"{site().as_uri()}/{name}.html"))
    found = []
    look(page, found, "as it comes", colours=False)
    page.evaluate(UNFOLD)
    for width, theme, colours in STATES:
        state = dress(page, width, theme)
        look(page, found, f"{state}, unfolded", colours=colours)
        look_at_dialogs(page, found, state)
        assert look_at_menus(page, found, state) == (name in pages())
    assert not found, "\n".join(found)


def test_axe_finds_nothing_in_the_menu_that_launches_a_notebook(open_site, published_site):
    page = ready(open_site(f"{published_site.as_uri()}/{pages()[1]}.html"))
    found = []
    for width, theme, _ in STATES:
        state = dress(page, width, theme)
        assert look_at_menus(page, found, state) == 3
    assert not found, "\n".join(found)


def ready(page):
    """Wait for the equations, stop what moves, and bring axe-core into the page."""
    page.evaluate("window.MathJax?.startup?.promise ?? null")
    page.add_style_tag(content=STILL)
    page.evaluate(axe_core())
    return page


def dress(page, width, theme):
    """Give the page another width and theme, and return a name for both."""
    if page.viewport_size["width"] != width:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(600)  # the theme waits as long before it looks for what scrolls
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    return f"{width} px, {theme}"
