"""Take the README's picture: the live figure of chapter 1, as the built page shows it.

make book && python tools/picture.py
"""

from chromium import ROOT, SITE, chromium

PAGE = SITE / "book" / "01_single_head.html"
PICTURE = ROOT / "book" / "_static" / "readme.png"


def main():
    """Write the picture."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1100, "height": 900}, device_scale_factor=1.5)
        page.goto(PAGE.as_uri())
        page.locator("mha-attention-lab").screenshot(path=PICTURE)
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
