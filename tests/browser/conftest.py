"""Chromium for the browser tests.

    browser      one Chromium for the tests of a module
    open_page    open_page(url, *, width=1200, dark=False, **more) -> a playwright page
    write_page   write_page(*figures, script=True) -> the address of a page with live figures
    open_site    the same for pages of the book, whose theme logs what it does
    bases        where the site is: on disk, as unpacked from its zip, and on a server

The network is blocked: only file:, data:, blob: and this machine are served. A test fails at its
end when a page asked for anything else, or said anything on the console.
"""

import functools
import http.server
import os
import threading
import zipfile

import chromium
import live_page
import offline
import pytest
from built_book import site
from watched import watched


@pytest.fixture(scope="module")
def browser():
    """Chromium. Per module: while it runs, no other test may start an asyncio loop."""
    try:
        with chromium.start() as started:
            yield started
    except chromium.MissingError as error:
        _cannot_run(str(error))


def _cannot_run(reason):
    if os.environ.get("MHA_REQUIRE_BROWSER") == "1":
        pytest.fail(f"MHA_REQUIRE_BROWSER=1. {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def open_page(browser):
    """A factory of pages, watched until the test ends."""
    with watched(browser) as open_page:
        yield open_page


@pytest.fixture
def write_page(tmp_path):
    """A factory of pages with live figures: write_page(*figures, script=True) -> address."""
    return lambda *figures, script=True: live_page.write(tmp_path / "page.html", figures, script)


@pytest.fixture
def open_site(open_page):
    """A factory of pages of the book, on which warnings and errors count, and no reports."""
    return functools.partial(open_page, logs=True)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory):
    """Unpack the zip into a folder whose name has a space and a letter that is not ASCII."""
    folder = tmp_path_factory.mktemp("offline") / "my bücher"
    with zipfile.ZipFile(offline.pack(site(), folder.with_suffix(".zip"))) as packed:
        packed.extractall(folder)
    (root,) = folder.iterdir()
    return root


@pytest.fixture(scope="module")
def bases(unpacked):
    """Serve the site, and return where it is on disk and on the server."""
    handler = functools.partial(Quiet, directory=site())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"file": unpacked.as_uri(), "http": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()
