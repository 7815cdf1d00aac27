"""The reader's progress: a mark at the end of each page with quizzes, a table on the first page.

Both are written whole, so that nothing moves when `static/progress.js` fills them in.
"""

import re
from html import escape
from pathlib import PurePosixPath

from docutils import nodes

QUIZ = re.compile(r'<mha-quiz name="([^"]+)"')
TABLE = re.compile(r"<mha-progress>\s*</mha-progress>")
HOME = "your-progress"


def note_quizzes(app, doctree):
    """Remember the names of a page's quizzes."""
    found = [name for raw in doctree.findall(nodes.raw) for name in QUIZ.findall(raw.astext())]
    if found:
        app.env.metadata[app.env.docname]["quizzes"] = " ".join(found)


def pages(env):
    """Return the pages that have quizzes: `docname -> names`, in the order of the book."""
    found = {name: env.metadata[name].get("quizzes") for name in sorted(env.found_docs)}
    return {name: quizzes for name, quizzes in found.items() if quizzes}


def update_table(app, env):
    """Have the first page written again when the table on it has changed."""
    now = [(name, quizzes, title_of(env, name)) for name, quizzes in pages(env).items()]
    before, env.mha_progress = getattr(env, "mha_progress", None), now
    return [env.config.root_doc] if now != before else []


def title_of(env, name):
    """Return the title of a page as the contents show it, with its number."""
    number = ".".join(map(str, env.toc_secnumbers.get(name, {}).get("", ())))
    return f"{number}. {env.titles[name].astext()}" if number else env.titles[name].astext()


def key_of(name):
    """Return what the browser remembers a page by."""
    return PurePosixPath(name).name


def add_progress(app, pagename, templatename, context, doctree):
    """Fill in the table, and put the mark below the text."""
    if doctree is None:
        return
    found = pages(app.env)
    if TABLE.search(context["body"]):
        rows = "".join(
            row(key_of(name), quizzes, title_of(app.env, name), context["pathto"](name))
            for name, quizzes in found.items()
        )
        context["body"] = TABLE.sub(lambda _: table(rows), context["body"])
    if pagename in found:
        home = f"{context['pathto'](app.config.root_doc)}#{HOME}"
        context["body"] += mark(key_of(pagename), found[pagename], home)


def mark(page, quizzes, home):
    """Write what stands at the end of a page."""
    return (
        f'<mha-progress page="{page}" data-quizzes="{quizzes}"><div class="mha-live">'
        '<label class="mha-check"><input type="checkbox"> I have read this page</label>'
        f'<span>Quizzes passed: <span class="mha-count">0 of {len(quizzes.split())}</span></span>'
        f'<a href="{home}">Your progress</a></div></mha-progress>'
    )


def row(page, quizzes, title, address):
    """Write a line of the table."""
    return (
        f'<tr data-page="{page}" data-quizzes="{quizzes}">'
        f'<th scope="row"><a href="{address}">{escape(title)}</a></th>'
        f"<td>not yet</td><td>0 of {len(quizzes.split())}</td></tr>"
    )


def table(rows):
    """Write the table with its buttons."""
    return (
        '<mha-progress><table class="table mha-chapters"><thead><tr><th scope="col">chapter</th>'
        '<th scope="col">read</th><th scope="col">quizzes passed</th></tr></thead>'
        f'<tbody>{rows}</tbody></table><div class="mha-live"><div class="mha-buttons">'
        '<button type="button" name="save">Export</button>'
        '<button type="button" name="open">Import</button>'
        '<button type="button" name="erase">Erase</button>'
        '<input type="file" accept=".json,application/json" aria-label="A progress file" hidden>'
        '</div><p class="mha-kept">Kept in this browser only. This page sends nothing to '
        'anybody.</p><p role="status"></p></div></mha-progress>'
    )


def setup(app):
    """Connect before the scripts that a page needs are looked up."""
    app.connect("doctree-read", note_quizzes)
    app.connect("env-updated", update_table)
    app.connect("html-page-context", add_progress, priority=400)
