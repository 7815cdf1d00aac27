"""What each page loads and lacks: local MathJax, figures with a text, the theme's gaps closed."""

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

log = logging.getLogger(__name__)

STATIC = Path(__file__).resolve().parents[3] / "mha_lessons" / "static"
SHARED = "live_figure"
LIVE_TAG = re.compile(r"<mha-([a-z-]+)")
# A quiz says itself how it prints, and progress does not print.
LIVE = re.compile(r"<(mha-(?!quiz|progress)[\w-]+)\b[^>]*>(.*?)</\1>", re.DOTALL)

# (pattern, replacement): what no option of the theme changes.
GAPS = [
    # 1.5 MB of script for icons that the theme's own web font draws as well.
    (r'\s*<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>', ""),
    # The accessible name contains the visible text (WCAG 2.5.3).
    (r'(<button class="btn search-button-field[^>]*?) aria-label="Search"', r"\1"),
    (
        r'<i class="((?:theme-switch )?fa[^"]*)"(?! aria-hidden)',
        r'<i class="\1" aria-hidden="true"',
    ),
    # What the sidebar holds belongs to a landmark.
    (
        r'<div id="pst-primary-sidebar"(?! role)',
        '<div id="pst-primary-sidebar" role="navigation" aria-label="Book"',
    ),
    # A browser would show a notebook that is opened from disk as text.
    (r'(<a href="[^"]*\bnotebooks/[^"/]+") target="_blank"', r"\1 download"),
    # On a phone a figure becomes narrower: then it must become lower too.
    (r'style="width: (\d+)px; height: (\d+)px;"', r'style="width: \1px; aspect-ratio: \1 / \2;"'),
    # A second heading and list of contents, for print only: mha.css prints the first.
    (
        r'(?s)<div id="jb-print-docs-body" class="onlyprint">.*?(?=<div id="searchbox">|<article)',
        "",
    ),
    # The corner of a table heads nothing.
    (r'<th class="head[^"]*">(?:<p>)?\s*(?:</p>)?</th>', "<td></td>"),
    # ARIA has given up the role of a reference, and a list may hold nothing else.
    (r' role="doc-biblioentry"', ""),
    (r'<div role="list" class="citation-list">', '<div class="citation-list">'),
    # A summary holds no paragraphs, and its name is its text.
    (
        r'<summary aria-label="Toggle hidden content">\s*<p class="collapsed[^>]*>(.*?)</p>\s*'
        r'<p class="expanded[^>]*>(.*?)</p>\s*</summary>',
        r'<summary><span class="mha-show">\1</span><span class="mha-hide">\2</span></summary>',
    ),
    # No page searches while one types: the search page alone needs the index.
    (
        r'(<meta name="docsearch:version"[^>]*>)\s*<script src="[^"]*searchtools\.js"></script>\s*'
        r'<script src="[^"]*language_data\.js"></script>\s*'
        r'<script src="[^"]*searchindex\.js"></script>',
        r"\1",
    ),
    # One logo serves both themes; of two, both would show until a script has chosen the theme.
    (
        r'<img ([^>]*)class="logo__image only-light"([^>]*)>\s*<img [^>]*only-dark[^>]*>',
        r'<img \1class="logo__image"\2>',
    ),
    # Where no script runs, no colours would be known.
    (r'(<html\b[^>]*) data-theme="auto"', r'\1 data-theme="light"'),
    # Not an attribute of HTML.
    (r' autocorrect="off"', ""),
]


def mathjax():
    """Return MathJax as one file that draws with SVG: without fonts it works from disk too."""
    package = find_spec("sphinx-mathjax-offline").submodule_search_locations[0]
    return Path(package, "static", "mathjax", "tex-svg-full.js")


def copy_mathjax(app, exception):
    """Put MathJax where `mathjax_path` says."""
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir, "_static", app.config.mathjax_path)
    source = mathjax()
    if not target.exists() or target.stat().st_size != source.stat().st_size:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def add_live_figures(app, pagename, templatename, context, doctree):
    """Load each live figure's files on the pages that show it, after those that all share.

    The element <mha-attention-lab> is drawn by attention_lab.js.
    """
    names = {tag.replace("-", "_") for tag in LIVE_TAG.findall(context.get("body", ""))}
    for name in sorted(names):
        if not (STATIC / f"{name}.js").exists():
            log.warning(
                "%s shows <mha-%s>, but %s.js is not in mha_lessons/static.",
                pagename,
                name.replace("_", "-"),
                name,
            )
    for name in [SHARED, *sorted(names)] if names else []:
        app.add_js_file(f"{name}.js", loading_method="defer")
        app.add_css_file(f"{name}.css")


def drop_idle_scripts(app, pagename, templatename, context, doctree):
    """Leave out inline scripts that repeat, and the state of widgets that nothing will read."""
    seen = set()

    def is_wanted(script):
        attributes = getattr(script, "attributes", {})
        if attributes.get("type") == "application/vnd.jupyter.widget-state+json":
            return False
        body = attributes.get("body")
        repeats = body is not None and body in seen
        seen.add(body)
        return not repeats

    context["script_files"] = [s for s in context.get("script_files", ()) if is_wanted(s)]


def require_alternative_texts(app, doctree):
    """Warn of each image that says nothing to a reader who cannot see it."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            log.warning(
                "An image needs an alternative text: give a figure `:alt:`, and a cell that draws"
                " the metadata `mystnb: {image: {alt: ...}}`.",
                location=image if image.line else app.env.docname,
            )


def require_captions(app, doctree):
    """Warn of each drawn figure that leaves a reader to guess what to see in it."""
    for output in doctree.findall(nodes.container):
        if output.get("nb_element") != "cell_code_output":
            continue
        captions = [c for f in output.findall(nodes.figure) for c in f.findall(nodes.caption)]
        if len(captions) < len(list(output.findall(nodes.image))):
            log.warning(
                "A drawn figure needs a caption: give its cell the metadata"
                " `mystnb: {figure: {caption: ..., name: ...}}`.",
                location=output if output.line else app.env.docname,
            )


def leave_out_setup(app, docname, source):
    """Leave out the cell that installs the package: it serves those who run a notebook."""
    if app.env.doc2path(docname).endswith(".ipynb"):
        notebook = json.loads(source[0])
        notebook["cells"] = [cell for cell in notebook["cells"] if cell.get("id") != "setup"]
        source[0] = json.dumps(notebook)


def close_gaps(app):
    """Pass each page through `GAPS` on its way to the disk."""
    if app.builder.format != "html":
        return
    render = app.builder.templates.render

    def render_and_close(template, context):
        # A traceback on a page names files as a reader knows them, not where they were built.
        html = render(template, context).replace(f"{app.srcdir}/", "")
        for pattern, replacement in GAPS:
            html = re.sub(pattern, replacement, html)
        return LIVE.sub(with_paper, html)

    app.builder.templates.render = render_and_close


def with_paper(live):
    """Lay what a live figure says without its script beside it, for print."""
    said = re.sub(r'\s(?:id|for|name|aria-labelledby|aria-describedby)="[^"]*"', "", live[2])
    return (
        f'<div class="mha-on-screen">{live[0]}</div>'
        f'<div class="mha-on-paper" aria-hidden="true">{said}</div>'
    )


def stay_honest(app, exception):
    """Forget the pages that were read when one warned.

    Warnings are given while reading: an unchanged second strict build would find nothing to read,
    and pass.
    """
    if app._warncount:
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)


def setup(app):
    """Connect early for assets, late for what others must have added."""
    app.add_js_file("theme.js", priority=100)
    app.add_js_file("typeset.js", priority=100)
    app.connect("builder-inited", close_gaps)
    app.connect("source-read", leave_out_setup)
    app.connect("doctree-read", require_alternative_texts)
    app.connect("doctree-read", require_captions)
    app.connect("html-page-context", add_live_figures)
    app.connect("html-page-context", drop_idle_scripts, priority=900)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", stay_honest, priority=999)
