"""Each page, as a browser shows it: on a desk from a server, and on a phone from the unpacked zip.

A page is loaded once for all its tests; they stand in the order in which they change it.
"""

import re

import axe
import live_page
import pytest
from built_book import pages
from watched import watched

pytestmark = pytest.mark.browser

# The last two are Sphinx's own.
PAGES = [*pages(), "search", "genindex"]
DESK = [(name, "desk") for name in PAGES]
PHONE = [(name, "phone") for name in PAGES]

# What moves after it was seen, and what a page loads, in bytes as they are on disk.
SHIFTS = """
    window.shifts = [];
    new PerformanceObserver(list => {
        for (const shift of list.getEntries()) {
            const moved = shift.sources.map(s => s.node?.outerHTML ?? s.node?.textContent ?? "?");
            window.shifts.push([shift.value, ...moved.map(text => text.slice(0, 80))]);
        }
    }).observe({type: "layout-shift", buffered: true});
"""
LOADED = """
    ["navigation", "resource"].flatMap(type => performance.getEntriesByType(type))
        .map(entry => entry.decodedBodySize).reduce((a, b) => a + b, 0)
"""
# The second is for pages with equations: MathJax alone is 2.2 MB.
MOST = 1_000_000, 3_500_000
SHIFT_AT_MOST = 0.005  # a page is called stable below 0.1; a logo may come a frame late
SHAPES = """
    [...document.querySelectorAll(".bd-article img")].map(
        img => (img.clientWidth / img.clientHeight) / (img.naturalWidth / img.naturalHeight))
"""
BROKEN = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
DEAD = "[...document.querySelectorAll(':not(:defined)')].map(e => e.localName)"
UNFOLD = "document.querySelectorAll('details').forEach(d => { d.open = true; })"
THEME = "theme => { document.documentElement.dataset.theme = theme; }"

# On paper
CONTROLS = (
    "button, dialog, input, select, .headerlink, .bd-sidebar-primary, .bd-sidebar-secondary,"
    " .prev-next-footer, .bd-header-article"
)
SEEN = "all => all.filter(e => e.checkVisibility({visibilityProperty: true})).map(e => e.outerHTML)"
# The colours of what is printed, each with its ground.
COLOURS = """
() => {
    const ground = e => {
        for (; e; e = e.parentElement) {
            const colour = getComputedStyle(e).backgroundColor;
            if (!colour.endsWith(", 0)")) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const said = [...document.querySelectorAll(".bd-article :is(p, li, pre, td, th, h1, h2, dt)")]
        .filter(e => e.checkVisibility() && e.innerText.trim());
    return [...new Set(said.map(e => `${getComputedStyle(e).color} on ${ground(e)}`))];
}
"""
# What is wider than the paper, with its width.
WIDE = """
() => [...document.querySelectorAll(".bd-article *")]
    .filter(e => e.checkVisibility() && !e.closest("svg, mjx-container"))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 120))
"""


@pytest.fixture(scope="module")
def page(browser, bases, request):
    """Open a page, and wait until it is set. Here `request.param` is its name and its place."""
    name, place = request.param
    with watched(browser) as open_page:
        if place == "desk":
            page = open_page(f"{bases['http']}/{name}.html", before=SHIFTS, logs=True)
        else:
            url = f"{bases['file']}/{name}.html"
            page = open_page(url, width=390, dark=True, before=SHIFTS, logs=True)
        live_page.wait_for_equations(page)
        twice = "requestAnimationFrame(() => requestAnimationFrame(done))"
        page.evaluate(f"new Promise(done => {twice})")
        yield page


def of_each(places):
    return pytest.mark.parametrize("page", places, indirect=True, ids="-".join)


@of_each(DESK + PHONE)
def test_nothing_moves_once_it_is_seen(page):
    shifts = page.evaluate("window.shifts")
    assert sum(value for value, *_ in shifts) < SHIFT_AT_MOST, shifts


@of_each(DESK)
def test_a_page_loads_little(page):
    assert 0 < page.evaluate(LOADED) < MOST[page.locator(".math").count() > 0]


@of_each(DESK + PHONE)
def test_equations_figures_and_pictures_are_there(page):
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
    assert page.locator(".math:not(:has(mjx-container svg))").count() == 0
    assert page.locator("mjx-container:not(:has(mjx-assistive-mml > math))").count() == 0
    assert page.evaluate(BROKEN) == []
    assert [name for name in page.evaluate(DEAD) if name.startswith("mha-")] == []


@of_each(DESK + PHONE)
def test_a_page_fits_the_screen_and_pictures_keep_their_shape(page):
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shapes = page.evaluate(SHAPES)
    assert shapes == pytest.approx([1] * len(shapes), abs=0.02)


@of_each(DESK + PHONE)
def test_a_page_follows_the_theme(page):
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    assert page.locator(".bd-header-article .theme-switch:visible").count() == 1


@of_each(DESK + PHONE)
def test_axe_finds_nothing(page):
    page.evaluate(UNFOLD)
    found = axe.faults(page)
    assert not found, "\n".join(found)


@of_each(DESK)
def test_every_text_stands_out_in_both_themes(page):
    for theme in ("light", "dark"):
        page.evaluate(THEME, theme)
        found = axe.faint(page)
        assert not found, "\n".join([theme, *found])


def brightness(colour):
    """Return how bright a CSS colour is, from 0 to 255."""
    red, green, blue = map(float, re.findall(r"[\d.]+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@of_each(DESK[:-2])
def test_a_page_prints_black_on_white_without_controls_and_fits_the_paper(page):
    page.evaluate(THEME, "dark")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 660, "height": 930})  # A4 within its margins
    assert page.locator(CONTROLS).evaluate_all(SEEN) == []
    assert page.locator("h1").evaluate_all(SEEN) != []
    tabs = page.locator(".sd-tab-content")
    assert len(tabs.evaluate_all(SEEN)) == tabs.count()
    for pair in page.evaluate(COLOURS):
        text, ground = pair.split(" on ")
        assert brightness(text) < 120, pair
        assert brightness(ground) > 220, pair
    assert page.evaluate(WIDE) == []
