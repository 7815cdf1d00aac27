"""Take the README's picture: the live figure of chapter 1, as the built page shows it.

make book && python tools/picture.py
"""

import os
import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "_build" / "html" / "book" / "01_single_head.html"
PICTURE = ROOT / "book" / "_static" / "readme.png"


def main():
    """Write the picture."""
    chromium = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    if not PAGE.exists() or not chromium:
        raise SystemExit(
            "The picture needs the built book (make book) and Chromium (CHROMIUM=path)."
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1100, "height": 900}, device_scale_factor=1.5)
        page.goto(PAGE.as_uri())
        page.locator("mha-attention-lab").screenshot(path=PICTURE)
        browser.close()
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
