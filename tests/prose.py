"""The prose of the project, paragraph by paragraph, without code and without markup."""

import re
from dataclasses import dataclass
from pathlib import Path

import jupytext
from built_book import ROOT
from myst_pages import Directive, blocks, read_cells

CODE_DIRECTIVES = {"code", "code-block", "code-cell", "library", "math", "bibliography"}


@dataclass
class Paragraph:
    """A paragraph, heading, table cell, caption or alternative text.

    Code stands in it as `code`, mathematics as $mathematics$; both are left out of `words`.
    """

    path: Path
    text: str

    @property
    def words(self):
        """Return the text as a reader would say it."""
        return re.sub(r"`[^`]*`|\$[^$]*\$", " ", self.text)


def sources():
    """Name the files that hold prose."""
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted(ROOT.glob("book/*.md")),
        *sorted(ROOT.glob("solutions/*.py")),
    ]


def paragraphs(path):
    """Yield the paragraphs of a file: a page of the book, an exercise's source, plain Markdown."""
    if path.suffix == ".py":
        cells = jupytext.read(path, fmt="py:percent").cells
    else:
        cells = read_cells(path)
    for cell in cells:
        if cell.cell_type == "markdown":
            for text in texts(cell.source):
                yield Paragraph(path, text)
        shown = cell.metadata.get("mystnb", {})
        for text in (shown.get("figure", {}).get("caption"), shown.get("image", {}).get("alt")):
            if text:
                yield from (Paragraph(path, said) for said in texts(text))


def texts(markdown):
    """Yield the paragraphs of a piece of Markdown, those inside directives too."""
    for token in blocks(markdown):
        if token.type == "inline":
            yield "".join(map(text_of, token.children)).strip()
        elif token.type in ("fence", "colon_fence") and (directive := Directive.read(token)):
            if directive.name not in CODE_DIRECTIVES:
                yield from texts(directive.argument if directive.name != "figure" else "")
                yield from texts(directive.options.get("alt", ""))
                # A glossary indents its definitions, which Markdown would take for code.
                yield from texts(re.sub(r"(?m)^  +(?=\S)", "", directive.body))


def text_of(token):
    """Return what an inline token says."""
    if token.type == "text":
        return token.content
    if token.type == "code_inline":
        return f"`{token.content}`"
    if token.type in ("math_inline", "math_inline_double"):
        return f"${token.content}$"
    if token.type == "myst_role":
        shown = re.match(r"(.*?)\s*<[^>]*>$", token.content)
        return shown[1] if shown and "cite" not in token.meta["name"] else " ` ` "
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return " ".join(map(text_of, token.children))
    return ""
