"""Every page of the site, as a browser shows it: from disk and from a server."""

import pytest
from built_book import pages

pytestmark = pytest.mark.browser

# The last two are Sphinx's own.
PAGES = [*pages(), "search", "genindex"]


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
MOST = 1_200_000, 3_500_000


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize(("base", "dark"), [("file", True), ("http", False)])
def test_page_is_quiet_whole_and_fits(bases, open_site, base, dark, width, name):
    page = open_site(f"{bases[base]}/{name}.html", width=width, dark=dark, before=SHIFTS)
    equations = page.locator(".math").count()
    if equations:
        page.wait_for_function(
            "n => document.querySelectorAll('mjx-container svg').length >= n", arg=equations
        )
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
    page.wait_for_function("!document.documentElement.matches('.mha-typesetting')")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.shifts") == []
    assert page.evaluate(LOADED) < MOST[equations > 0]
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")


@pytest.mark.parametrize("name", [name for name in pages() if name.startswith("book/0")])
def test_figures_keep_their_shape_on_a_phone(bases, open_site, name):
    page = open_site(f"{bases['file']}/{name}.html", width=390)
    shapes = page.evaluate(
        """() => [...document.querySelectorAll('.bd-article img')].map(
          img => (img.clientWidth / img.clientHeight) / (img.naturalWidth / img.naturalHeight))"""
    )
    assert shapes == pytest.approx([1] * len(shapes), abs=0.02)


def test_skip_link_leads_to_the_text(bases, open_site):
    page = open_site(f"{bases['file']}/{pages()[1]}.html")
    page.keyboard.press("Tab")
    link = page.locator(":focus")
    assert "Skip to main content" in link.inner_text()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main-content"


def test_pages_carry_the_palette(bases, open_site):
    page = open_site(f"{bases['file']}/{pages()[1]}.html")
    page.wait_for_selector("mjx-container svg .mha-query")
    colour = "getComputedStyle(document.querySelector('mjx-container .mha-query')).color"
    assert page.evaluate(colour) == "rgb(0, 97, 156)"


CONTRAST = """() => {
  const parse = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll(".bd-article a:not(.headerlink)")]
    .filter(a => a.textContent.trim() && a.offsetParent && !a.querySelector("img"))
    .map(a => {
      const pair = [light(parse(getComputedStyle(a).color)), light(ground(a))];
      return [a.textContent.trim(), (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05)];
    });
}"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", pages())
def test_links_stand_out_from_their_ground(bases, open_site, name, dark):
    page = open_site(f"{bases['file']}/{name}.html", dark=dark)
    assert [(text, ratio) for text, ratio in page.evaluate(CONTRAST) if ratio < 4.5] == []


def test_the_download_menu_offers_files(bases, open_site):
    page = open_site(f"{bases['http']}/{pages()[1]}.html")
    for name in (f"{pages()[1].split('/')[1]}.ipynb", ".whl"):
        page.get_by_label("Download this page").click()
        with page.expect_download() as download:
            page.locator(f".dropdown-menu a[href$='{name}']").click()
        assert download.value.suggested_filename.endswith(name)
