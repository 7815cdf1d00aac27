"""What the search may find: what a page says to everybody, not what it folds away."""

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx_design.dropdown import dropdown_main, dropdown_title

SUMMARY = "search_summary.js"


def is_kept_out(node):
    """Tell whether a node holds an answer, a hidden cell, or what nobody searches for."""
    if isinstance(node, dropdown_main):
        title = next(node.findall(dropdown_title), None)
        return title is not None and title.astext().strip().startswith("Answer")
    # TeX would be indexed as words, and so would the numbers of live figures.
    return isinstance(node, (HideCodeCellNode, nodes.math, nodes.math_block, nodes.raw))


def for_search(doctree):
    """Return a copy of a page without what `is_kept_out`."""
    copy = doctree.deepcopy()
    for node in list(copy.findall(is_kept_out)):
        node.parent.remove(node)
    return copy


def index_less(app):
    """Put `for_search` between the pages and the index."""
    if app.builder.format != "html":
        return
    index_page = app.builder.index_page

    def index_what_is_said(pagename, doctree, title):
        index_page(pagename, for_search(doctree), title)

    app.builder.index_page = index_what_is_said


def add_summary_script(app, pagename, templatename, context, doctree):
    """Keep answers out of the lines that the search page shows below a result."""
    if pagename == "search":
        app.add_js_file(SUMMARY)


def setup(app):
    """Connect before the first page is written."""
    app.connect("builder-inited", index_less)
    app.connect("html-page-context", add_summary_script)
