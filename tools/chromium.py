"""Chromium: for the tools that look at the built site, and for the browser tests."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]


class MissingError(Exception):
    """There is no browser to start; the message says what to do."""


@contextmanager
def start():
    """Start Chromium, the one that CHROMIUM names if it does.

    Raises
    ------
    MissingError
        When Chromium or playwright is not installed.
    """
    named = os.environ.get("CHROMIUM")
    found = next(filter(None, map(shutil.which, [named] if named else NAMES)), None)
    if not found:
        raise MissingError(
            f"No Chromium found as {named or ' or '.join(NAMES)}. Install it (on Debian: apt-get"
            " install chromium) or name one: CHROMIUM=/path/to/chromium"
        )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingError("Playwright is missing. Get it with: make peers") from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def chromium():
    """Start Chromium for a tool that needs the built site, or say what is missing."""
    if not (SITE / "index.html").exists():
        raise SystemExit("There is no built site. Run first: make book")
    try:
        with start() as browser:
            yield browser
    except MissingError as error:
        raise SystemExit(str(error)) from None
