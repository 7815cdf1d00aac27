"""Every icon that a page names is drawn by a font within the style, and little else is in there."""

import base64
import io
import re

from built_book import site
from fontTools.ttLib import TTFont

ICON = re.compile(r'<i class="[^"]*?\b(fa-(?!solid|lg)[\w-]+)')
SIZES = {"fa-lg"}


def style():
    """Return the theme's style as the site has it."""
    return (site() / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf-8")


def drawn():
    """Return the characters that the fonts in the style draw."""
    fonts = re.findall(r"data:font/woff;base64,([^)]+)\)", style())
    assert fonts
    return set().union(
        *(TTFont(io.BytesIO(base64.b64decode(f))).getBestCmap() or () for f in fonts)
    )


def named():
    """Return the icons that the pages name."""
    pages = [
        p.read_text(encoding="utf-8") for p in site().rglob("*.html") if "_static" not in p.parts
    ]
    return {name for page in pages for name in ICON.findall(page)} - SIZES


def test_every_icon_has_its_glyph():
    assert len(named()) >= 10
    for name in named():
        (point,) = re.findall(rf'\.{name}:before[^{{}}]*\{{content:"\\([0-9a-f]+)"', style())
        assert int(point, 16) in drawn(), name


def test_every_icon_that_a_style_writes_has_its_glyph():
    written = set()
    for path in site().glob("_static/**/*.css"):
        css = path.read_text(encoding="utf-8")
        written |= {int(point, 16) for point in re.findall(r"""["']\\([ef][0-9a-f]{3})["']""", css)}
        written |= {ord(letter) for letter in css if "\ue000" <= letter <= "\uf8ff"}
    assert len(written) > len(named())
    assert {hex(point) for point in written - drawn()} == set()


def test_the_style_loads_no_font_and_carries_no_icon_that_nobody_sees():
    assert "webfonts/" not in style()
    assert len(drawn()) < 100
    assert len(re.findall(r":before\{content:", style())) < 100
