"""What the head, the links and the colours of a page do."""

import pytest
from built_book import pages

pytestmark = pytest.mark.browser


def test_skip_link_leads_to_the_text(bases, open_site):
    page = open_site(f"{bases['file']}/{pages()[1]}.html")
    page.keyboard.press("Tab")
    link = page.locator(":focus")
    assert "Skip to main content" in link.inner_text()
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main-content"


THEME = "() => [document.documentElement.dataset.theme, getComputedStyle(document.body).color]"
COLOURS = {"light": "rgb(34, 40, 50)", "dark": "rgb(206, 214, 221)"}


@pytest.mark.parametrize("theme", COLOURS)
def test_the_theme_is_known_before_its_scripts_run(bases, open_site, theme):
    page = open_site("about:blank", dark=theme == "dark")
    page.route("**/pydata-sphinx-theme.js*", lambda route: route.fulfill(body=""))
    page.goto(f"{bases['file']}/{pages()[1]}.html")
    assert page.evaluate(THEME) == [theme, COLOURS[theme]]


def test_a_theme_that_was_chosen_is_known_too(bases, open_site):
    page = open_site(f"{bases['file']}/{pages()[1]}.html", dark=True)
    page.evaluate("localStorage.mode = localStorage.theme = 'light'")
    page.route("**/pydata-sphinx-theme.js*", lambda route: route.fulfill(body=""))
    page.reload()
    assert page.evaluate(THEME) == ["light", COLOURS["light"]]


def test_a_page_without_scripts_has_colours(bases, open_site):
    page = open_site(f"{bases['file']}/{pages()[1]}.html", java_script_enabled=False)
    assert page.locator("html").get_attribute("data-theme") == "light"
    border = page.locator("code.literal").first.evaluate("e => getComputedStyle(e).borderTopWidth")
    assert border == "1px"


def test_pages_carry_the_palette(bases, open_site):
    page = open_site(f"{bases['file']}/{pages()[1]}.html")
    page.wait_for_selector("mjx-container svg .mha-query")
    colour = "getComputedStyle(document.querySelector('mjx-container .mha-query')).color"
    assert page.evaluate(colour) == "rgb(0, 97, 156)"


def test_the_download_menu_offers_files(bases, open_site):
    page = open_site(f"{bases['http']}/{pages()[1]}.html")
    for name in (f"{pages()[1].split('/')[1]}.ipynb", ".whl"):
        page.get_by_label("Download this page").click()
        with page.expect_download() as download:
            page.locator(f".dropdown-menu a[href$='{name}']").click()
        assert download.value.suggested_filename.endswith(name)
