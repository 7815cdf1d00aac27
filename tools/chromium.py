"""Chromium for the tools that look at the built site."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium():
    """Start Chromium, or say what is missing."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not (SITE / "index.html").exists():
        raise SystemExit("There is no built site. Run first: make book")
    if not found:
        raise SystemExit(
            "No Chromium here. Install it (on Debian: apt-get install chromium) or name one:"
            " CHROMIUM=/path/to/chromium"
        )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SystemExit("Playwright is missing. Get it with: make peers") from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
