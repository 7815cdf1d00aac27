"""The icons that the pages show, out of the two thousand that the theme ships.

They travel within the style, so they are there with the text, and on disk too: a browser may
refuse a page from disk a font in another folder.
"""

import base64
import io
import re
from importlib.util import find_spec
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

STYLE = "styles/pydata-sphinx-theme.css"
# Rules that name an icon, `.fa-bars:before,.fa-navicon:before{content:"\f0c9"}`, and the fonts.
RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"\\([0-9a-f]+)"\}')
FACE = re.compile(r'src:url\([^)]*/([\w-]+)\.woff2\) format\("woff2"\),url\([^)]*\)[^;}]*')
NAME = re.compile(r"\bfa-[\w-]+")
# A character of such a font as styles write it, in `content` or in a variable.
POINT = re.compile(r"""["']\\([ef][0-9a-f]{3})["']""")


def names_used(site):
    """Return the names of icons on the pages and in the scripts that the pages load."""
    texts = [*site.rglob("*.html"), *site.glob("_static/*.js"), *site.glob("_static/scripts/*.js")]
    return {
        name
        for path in texts
        if path.name != "fontawesome.js"
        for name in NAME.findall(path.read_text(encoding="utf-8"))
    }


def subset(name, points):
    """Return the glyphs of one of the theme's fonts, as a WOFF file."""
    (theme,) = find_spec("pydata_sphinx_theme").submodule_search_locations
    (path,) = Path(theme).rglob(f"{name}.ttf")
    font = TTFont(path)
    options = Options(flavor="woff", layout_features=[], notdef_outline=True)
    cut = Subsetter(options)
    cut.populate(unicodes=points)
    cut.subset(font)
    font.flavor = "woff"
    file = io.BytesIO()
    font.save(file, reorderTables=False)
    return file.getvalue()


def keep_icons_used(app, exception):
    """Cut the theme's style down, where Sphinx has put it there anew."""
    style = Path(app.outdir, "_static", STYLE)
    if exception or app.builder.format != "html":
        return
    css = style.read_text(encoding="utf-8")
    if not FACE.search(css):
        return
    used = names_used(Path(app.outdir))
    css = RULE.sub(lambda rule: rule[0] if used & set(NAME.findall(rule[1])) else "", css)
    others = [path for path in style.parents[1].rglob("*.css") if path != style]
    texts = [css, *(path.read_text(encoding="utf-8") for path in others)]
    points = {int(point, 16) for text in texts for point in POINT.findall(text)}
    points |= {ord(letter) for letter in css if "\ue000" <= letter <= "\uf8ff"}

    def within(face):
        font = base64.b64encode(subset(face[1], points)).decode()
        return f'src:url(data:font/woff;base64,{font}) format("woff")'

    style.write_text(FACE.sub(within, css), encoding="utf-8")


def setup(app):
    """Connect after the pages and the theme's files are written."""
    app.connect("build-finished", keep_icons_used)
