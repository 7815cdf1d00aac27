"""Read the book's MyST: the cells of a page, its directives, and what it calls by name."""

import re
from dataclasses import dataclass, field

import jupytext
import nbformat
import yaml
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

EXTENSIONS = {"amsmath", "colon_fence", "deflist", "dollarmath"}
BOXES = {
    "admonition": "",
    "attention": "Attention",
    "caution": "Caution",
    "danger": "Danger",
    "hint": "Hint",
    "important": "Important",
    "margin": "",
    "note": "Note",
    "seealso": "See also",
    "sidebar": "",
    "tab-item": "",
    "tip": "Tip",
    "warning": "Warning",
}
TRANSPARENT = {"div", "tab-set"}


def is_notebook(source):
    """Tell whether a page of the book has cells to run."""
    return bool(re.match(r"---\n.*?\nkernelspec:.*?\n---\n", source.read_text("utf-8"), re.DOTALL))


def read_cells(source):
    """Return the cells of a page; one without cells to run is a single cell of text."""
    if is_notebook(source):
        return jupytext.read(source, fmt="md:myst").cells
    return [nbformat.v4.new_markdown_cell(source.read_text(encoding="utf-8"))]


def blocks(text):
    """Parse `text` into markdown-it's tokens."""
    return create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML).parse(text)


@dataclass
class Directive:
    """A fenced directive taken apart."""

    name: str
    argument: str
    options: dict
    body: str

    @classmethod
    def read(cls, token):
        """Return the directive that a fence holds, or None for a plain block of code."""
        head = re.match(r"\{([\w:.-]+)\}\s*(.*)", token.info)
        if not head:
            return None
        lines, options = token.content.split("\n"), {}
        if lines[0] == "---":
            end = lines.index("---", 1)
            options, lines = yaml.safe_load("\n".join(lines[1:end])), lines[end + 1 :]
        while lines and (option := re.match(r":([\w-]+):\s*(.*)$", lines[0])):
            options[option[1]] = option[2]
            lines = lines[1:]
        return cls(head[1], head[2].strip(), options, "\n".join(lines).strip("\n"))


@dataclass
class Labels:
    """What the pages call by name: `label -> (page, text)`, numbered as the site numbers them."""

    pages: dict = field(default_factory=dict)
    texts: dict = field(default_factory=dict)
    titles: dict = field(default_factory=dict)

    @classmethod
    def collect(cls, root):
        """Read every page of the table of contents."""
        toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
        labels, chapter = cls(), 0
        labels.read_page(root / f"{toc['root']}.md", 0)
        for part in toc["parts"]:
            for entry in part["chapters"]:
                page = root / f"{entry['file']}.md"
                if part.get("numbered"):
                    chapter += 1
                if page.exists():
                    labels.read_page(page, chapter if part.get("numbered") else 0)
        return labels

    def read_page(self, page, chapter):
        """Note the labels of one page, in order, since their numbers count."""
        counts = {"(%s)": 0, "Fig. %s": 0, "Table %s": 0}

        def number(label, style):
            counts[style] += 1
            text = style % (f"{chapter}.{counts[style]}" if chapter else counts[style])
            self.note(label or f"{page.stem} {text}", page, text)

        for cell in read_cells(page):
            figure = cell.metadata.get("mystnb", {}).get("figure", {})
            if "caption" in figure:
                number(figure.get("name"), "Fig. %s")
            if cell.cell_type == "markdown":
                self.read_text(cell.source, page, number)

    def read_text(self, text, page, number):
        """Note the labels of a piece of a page, and of what is nested in it."""
        pending, tokens = [], blocks(text)
        for token, following in zip(tokens, [*tokens[1:], None], strict=True):
            if token.type == "myst_target":
                pending.append(token.content)
            elif token.type == "heading_open":
                title = following.content
                if token.tag == "h1":
                    self.titles.setdefault(page.resolve(), title)
                for label in pending:
                    self.note(label, page, title)
                pending = []
            elif token.type == "math_block_label":
                number(token.info, "(%s)")
            elif token.type in ("fence", "colon_fence") and (directive := Directive.read(token)):
                name = directive.options.get("label") or directive.options.get("name")
                if directive.name == "math" and name:
                    number(name, "(%s)")
                elif directive.name == "figure" and directive.body:
                    number(name, "Fig. %s")
                elif directive.name in ("table", "list-table") and directive.argument:
                    number(name, "Table %s")
                elif directive.name in BOXES or directive.name in {*TRANSPARENT, "dropdown"}:
                    self.read_text(directive.body, page, number)

    def note(self, label, page, text):
        """Remember where `label` is and how it is called in running text."""
        if label in self.texts:
            raise SystemExit(f"A label names one thing: `{label}` stands again in {page.name}.")
        self.pages[label], self.texts[label] = page.resolve(), text

    def text(self, label, page):
        """Return how running text calls `label`."""
        if label not in self.texts:
            raise SystemExit(f"{page.name} refers to `{label}`, which no page of _toc.yml defines.")
        return self.texts[label]
