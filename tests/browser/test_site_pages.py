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
