"""The zip of the site opens from disk. For its pages see test_every_page.py."""

from urllib.parse import quote

import offline
import pytest
from built_book import pages, site

pytestmark = pytest.mark.browser


def test_first_page_opens_from_the_index(open_site, unpacked):
    page = open_site((unpacked / "index.html").as_uri())
    page.wait_for_url(f"**/{quote(pages()[0])}.html")
    assert page.locator("h1").inner_text().startswith("Multi-Head Attention")


def test_same_site_packs_to_the_same_bytes(tmp_path):
    once, again = (offline.pack(site(), tmp_path / f"{name}.zip") for name in "ab")
    assert once.read_bytes() == again.read_bytes()


def test_nothing_of_the_builder_is_in_the_zip(unpacked):
    assert (unpacked / "searchindex.js").exists()
    assert not (unpacked / "objects.inv").exists()
