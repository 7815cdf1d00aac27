"""The zip of the site works from disk, wherever it is unpacked."""

import zipfile
from urllib.parse import quote

import offline
import pytest
from built_book import pages, site

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """Unpack the zip into a folder whose name has a space and a letter that is not ASCII."""
    folder = tmp_path_factory.mktemp("offline") / "my bücher"
    with zipfile.ZipFile(offline.pack(site(), folder.with_suffix(".zip"))) as packed:
        packed.extractall(folder)
    (root,) = folder.iterdir()
    return root


def test_first_page_opens_from_the_index(open_site, unpacked):
    page = open_site((unpacked / "index.html").as_uri())
    page.wait_for_url(f"**/{quote(pages()[0])}.html")
    assert page.locator("h1").inner_text().startswith("Multi-Head Attention")


@pytest.mark.parametrize("name", pages())
def test_every_page_is_whole(open_site, unpacked, name):
    page = open_site((unpacked / f"{name}.html").as_uri())
    page.wait_for_function("!document.documentElement.matches('.mha-typesetting')")
    broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    assert page.evaluate(broken) == []
    assert page.locator("mjx-merror").count() == 0
    assert page.evaluate("document.querySelectorAll('.math:not(:has(mjx-container))').length") == 0
    dead = "[...document.querySelectorAll(':not(:defined)')].map(e => e.localName)"
    assert [name for name in page.evaluate(dead) if name.startswith("mha-")] == []


def test_same_site_packs_to_the_same_bytes(tmp_path):
    once, again = (offline.pack(site(), tmp_path / f"{name}.zip") for name in "ab")
    assert once.read_bytes() == again.read_bytes()


def test_nothing_of_the_builder_is_in_the_zip(unpacked):
    assert (unpacked / "searchindex.js").exists()
    assert not (unpacked / "objects.inv").exists()
