"""Turn the book's MyST into the Markdown that Jupyter and Colab read.

What MyST numbers, links and boxes is numbered, linked and boxed with plain means. A directive or
role that is not listed here is refused, so that no notebook shows its raw text.
"""

import re
from pathlib import Path

import library_code
import quiz_items
from myst_pages import BOXES, TRANSPARENT, Directive, blocks, is_notebook
from pybtex.database import parse_file

DROPPED = {"bibliography", "contents", "tableofcontents"}

INLINE = re.compile(
    r"(?P<math>\$\$.+?\$\$|\$[^$\n](?:[^$]*[^$\n])?\$)"
    r"|(?:\{(?P<role>[\w:.+-]+)\})?(?P<ticks>`+)(?P<content>(?:(?!\n\n).)+?)(?<!`)(?P=ticks)(?!`)"
    r"|(?P<image>!)?\[(?P<shown>[^\]]*)\]\((?P<target>[^)\s]+)\)",
    re.DOTALL,
)
# _config.yml colours equations with these; Jupyter does not know them.
COLOUR = re.compile(r"\\(?:query|key|val|out)(?=\{)")


class Converter:
    """Convert the cells of one page.

    Parameters
    ----------
    page : Path
        The MyST source.
    labels : Labels
        All labels of the book.
    bibliography : dict
        The entries of book/references.bib by key.
    """

    def __init__(self, page, labels, bibliography):
        self.page, self.labels, self.bibliography = page, labels, bibliography
        self.images = {}
        self.unnamed = {"(%s)": 0, "Fig. %s": 0, "Table %s": 0}

    def convert(self, text):
        """Return `text` in plain Markdown."""
        lines = text.split("\n")
        edits = []
        for token in blocks(text):
            new = self.block(token, lines)
            if new is not None and (not edits or token.map[0] >= edits[-1][1]):
                edits.append((*token.map, new))
        out, position = [], 0
        for start, end, new in [*edits, (len(lines), len(lines), [])]:
            between = "\n".join(lines[position:start])
            out += [self.inline(between)] if start > position else []
            # A fence that is never followed by text may claim a last line that is not there.
            prefix = re.match(r"[\s>]*", lines[start])[0] if start < len(lines) else ""
            blank = [""] if end > start and not lines[min(end, len(lines)) - 1].strip() else []
            out += [(prefix + line).rstrip() if line else prefix.rstrip() for line in new] + blank
            position = end
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")

    def block(self, token, lines):
        """Return the lines that replace a block, or None where its inline text is all there is."""
        if token.type in ("fence", "colon_fence"):
            directive = Directive.read(token)
            if directive:
                return self.directive(directive)
            return [f"```{token.info}", *token.content.rstrip("\n").split("\n"), "```"]
        if token.type in ("code_block", "html_block"):
            return token.content.rstrip("\n").split("\n")
        if token.type == "math_block":
            return self.equation(token.content, None)
        if token.type == "math_block_label":
            return self.equation(token.content, token.info)
        if token.type == "amsmath":
            if not re.match(r"\\begin\{\w+\*\}", token.content):
                raise SystemExit(
                    f"{self.page.name}: the site would number an unstarred environment, a notebook"
                    " not. Write the starred one, or the directive math with a label."
                )
            token.map[1] += 1  # the parser leaves out the closing line
            return [COLOUR.sub("", line) for line in token.content.strip().split("\n")]
        if token.type in ("myst_target", "myst_line_comment"):
            return []
        if token.type == "dl_open":
            body = "\n".join(lines[slice(*token.map)])
            body = re.sub(r"(?m)^(?![:\s])(.+)$", r"**\1**  ", body)
            return self.convert(re.sub(r"(?m)^(:\s+|  )", "", body)).split("\n")
        if token.type == "footnote_block_open":
            raise SystemExit(f"{self.page.name}: Jupyter has no footnotes; write it in the text.")
        return None

    def equation(self, tex, label):
        """Return a display equation, numbered as on the site."""
        tex = COLOUR.sub("", tex.strip())
        if r"\\" in tex and r"\begin" not in tex:
            tex = f"\\begin{{split}}\n{tex}\n\\end{{split}}"
        tag = [rf"\tag{{{self.labels.text(label, self.page).strip('()')}}}"] if label else []
        return ["", "$$", *tex.split("\n"), *tag, "$$", ""]

    def caption(self, style, label, text):
        """Return a numbered caption."""
        if not label:
            # Labels.read_page names what the author left unnamed by its number.
            label = self.nameless(style)
        return f"**{self.labels.text(label, self.page)}** {self.inline(text.strip())}"

    def nameless(self, style):
        """Return the label of the next figure or table of this page that has no name."""
        stem = self.page.stem + " " + style.split("%")[0]
        candidates = [name for name in self.labels.texts if name.startswith(stem)]
        self.unnamed[style] += 1
        return candidates[self.unnamed[style] - 1]

    def directive(self, directive):
        """Return the plain lines of a directive."""
        name, options = directive.name, directive.options
        if name in DROPPED:
            return []
        if name == "math":
            return self.equation(directive.body, options.get("label"))
        if name in ("figure", "image"):
            picture = self.image(options.get("alt", ""), directive.argument)
            if not directive.body:
                return [picture]
            return [picture, "", self.caption("Fig. %s", options.get("name"), directive.body)]
        if name in ("code", "code-block"):
            return [f"```{directive.argument}", *directive.body.split("\n"), "```"]
        if name == "library":
            return self.library(directive.argument)
        if name == "trap":
            return self.trap(directive.argument)
        if name == "table":
            body = self.convert(directive.body).split("\n")
            if not directive.argument:
                return body
            return [self.caption("Table %s", options.get("name"), directive.argument), "", *body]
        body = self.convert(directive.body).split("\n")
        if name in TRANSPARENT:
            return body
        if name == "dropdown" or "dropdown" in options.get("class", ""):
            summary = self.inline(directive.argument) or BOXES.get(name) or "More"
            return [f"<details><summary>{summary}</summary>", "", *body, "", "</details>"]
        if name in BOXES:
            title = BOXES[name] or self.inline(directive.argument)
            if BOXES[name] and directive.argument:
                body = [self.inline(directive.argument), *body]
            head = [f"**{title}**", ""] if title else []
            return [f"> {line}".rstrip() for line in [*head, *body]]
        raise SystemExit(
            f"{self.page.name}: tools/plain_markdown.py has no plain form of the directive"
            f" {{{name}}}. Use another one, or teach it there."
        )

    def library(self, name):
        """Return a piece of the library as the site shows it."""
        try:
            code = library_code.code_of(name)
        except ValueError as wrong:
            raise SystemExit(f"{self.page.name}: {wrong}") from None
        file = library_code.module_path(name).name
        return [f"`mha_lessons/{file}`", "", "```python", *code.split("\n"), "```"]

    def trap(self, name):
        """Return a statement of the quiz and its right answer as the site shows them."""
        try:
            statement, verdict, reason = quiz_items.read(name)
        except ValueError as wrong:
            raise SystemExit(f"{self.page.name}: {wrong}") from None
        return ["> **True or false?**", ">", f"> {statement}", ">", f"> **{verdict}**{reason}"]

    def image(self, alt, target):
        """Return an image that travels inside the notebook."""
        path = self.page.parent / target
        self.images[path.name] = path
        return f"![{alt}](attachment:{path.name})"

    def inline(self, text):
        """Return running text with its roles and links made plain."""
        return INLINE.sub(self.span, text)

    def span(self, match):
        """Return the plain form of one piece of running text."""
        if match["math"]:
            return COLOUR.sub("", match["math"])
        if match["role"]:
            return self.role(match["role"], " ".join(match["content"].split()))
        if match["ticks"]:
            return match[0]
        if match["image"]:
            remote = "://" in match["target"]
            return match[0] if remote else self.image(match["shown"], match["target"])
        return self.link(self.inline(match["shown"]), match["target"])

    def role(self, role, content):
        """Return the plain form of a role."""
        named = re.fullmatch(r"(.*?)\s*<(.+)>", content)
        shown, target = named.groups() if named else ("", content)
        if role == "eq":
            return self.labels.text(target, self.page)
        if role == "numref":
            number = self.labels.text(target, self.page)
            return shown.replace("%s", number.split()[-1]) if shown else number
        if role == "ref":
            return self.link(shown, f"#{target}")
        if role == "doc":
            return self.link(shown, f"{target}.md")
        if role in ("term", "abbr", "dfn"):
            return f"*{shown or target}*" if role != "abbr" else shown or target
        if role in ("sub", "sup", "kbd"):
            return f"<{role}>{target}</{role}>"
        if role in ("code", "file", "samp"):
            return f"`{content}`"
        if role == "math":
            return "$" + COLOUR.sub("", content) + "$"
        if role.startswith("cite"):
            works = [self.work(key.strip(), role) for key in content.split(",")]
            return "; ".join(works) if role in ("cite:t", "cite") else f"({'; '.join(works)})"
        raise SystemExit(
            f"{self.page.name}: tools/plain_markdown.py has no plain form of the role {{{role}}}."
            " Use another one, or teach it there."
        )

    def work(self, key, role):
        """Return a work as `Vaswani et al., 2017`, linked where it can be read."""
        if key not in self.bibliography:
            raise SystemExit(f"{self.page.name} cites `{key}`, which book/references.bib lacks.")
        entry = self.bibliography[key]
        names = [" ".join([*p.prelast_names, *p.last_names]) for p in entry.persons["author"]]
        names = names[0] + " et al." if len(names) > 2 else " and ".join(names)
        names = names.replace("{", "").replace("}", "")
        year = entry.fields["year"]
        text = f"{names} ({year})" if role in ("cite:t", "cite") else f"{names}, {year}"
        doi = entry.fields.get("doi")
        url = entry.fields.get("url") or (f"https://doi.org/{doi}" if doi else None)
        return f"[{text}]({url})" if url else text

    def link(self, shown, target):
        """Return a link that leads from a notebook to the notebook or page that it means."""
        if re.match(r"[a-z]+:", target):
            return f"[{shown}]({target})"
        file, _, label = target.partition("#")
        if file and label:
            raise SystemExit(f"{self.page.name}: a label needs no file: write #{label} alone.")
        if label:
            text, page = self.labels.text(label, self.page), self.labels.pages[label]
        else:
            page = (self.page.parent / file).resolve()
            text = self.labels.titles.get(page, page.stem)
        text = shown or self.inline(text)
        if page == self.page.resolve():
            return text if shown else f"*{text}*"
        relative = Path(*page.parts[len(self.page.parent.resolve().parts) :])
        if page.parent != self.page.parent.resolve():
            relative = Path("..", *page.parts[len(self.page.parent.resolve().parts) - 1 :])
        source = page.with_suffix(".md")
        if not source.exists() or is_notebook(source):
            relative = relative.with_suffix(".ipynb")
        return f"[{text}]({relative.as_posix()})"


def read_bibliography(path):
    """Return the entries of a .bib file by key."""
    return dict(parse_file(str(path)).entries) if path.exists() else {}
