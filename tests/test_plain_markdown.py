"""MyST becomes Markdown that Jupyter reads, numbered and linked as on the site."""

import myst_pages
import plain_markdown
import pytest

HEADER = """\
---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""
FIRST = (
    HEADER
    + """
(first)=
# First chapter

$$ a = b $$ (eq-first)

```{figure} drawing.svg
:name: fig-first
:alt: A drawing.

What the drawing shows.
```

```{code-cell} python3
---
mystnb:
  figure:
    caption: Drawn.
    name: fig-drawn
---
1
```
"""
)
SECOND = (
    HEADER
    + """
(second)=
# Second chapter

$$ c = d $$ (eq-second)
"""
)
BIBLIOGRAPHY = """\
@inproceedings{vaswani2017,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki},
  booktitle = {NIPS}, year = {2017}, url = {https://example.org/attention}
}
"""


@pytest.fixture
def convert(tmp_path):
    """Return a function that converts text as if it stood in the second of two chapters."""
    (tmp_path / "book").mkdir()
    (tmp_path / "_toc.yml").write_text(
        "root: book/index\nparts:\n- numbered: true\n  chapters:\n"
        "  - file: book/01_first\n  - file: book/02_second\n"
        "- chapters:\n  - file: book/notation\n"
    )
    pages = {"index": "# Start\n", "01_first": FIRST, "02_second": SECOND, "notation": "# Names\n"}
    for name, text in pages.items():
        (tmp_path / "book" / f"{name}.md").write_text(text)
    (tmp_path / "refs.bib").write_text(BIBLIOGRAPHY)
    labels = myst_pages.Labels.collect(tmp_path)
    works = plain_markdown.read_bibliography(tmp_path / "refs.bib")
    page = tmp_path / "book" / "02_second.md"
    return plain_markdown.Converter(page, labels, works).convert


@pytest.mark.parametrize(
    ("myst", "plain"),
    [
        ("See {eq}`eq-first` and {eq}`eq-second`.", "See (1.1) and (2.1)."),
        ("{numref}`fig-first`, {numref}`fig-drawn`", "Fig. 1.1, Fig. 1.2"),
        ("{numref}`picture %s <fig-drawn>`", "picture 1.2"),
        ("{ref}`first`", "[First chapter](01_first.ipynb)"),
        ("{ref}`the\nstart <first>`", "[the start](01_first.ipynb)"),
        ("{ref}`second`", "*Second chapter*"),
        ("[](#first), [there](#first)", "[First chapter](01_first.ipynb), [there](01_first.ipynb)"),
        ("{doc}`01_first`", "[First chapter](01_first.ipynb)"),
        ("{doc}`notation`", "[Names](notation.md)"),
        ("[symbols](notation.md)", "[symbols](notation.md)"),
        ("[out](https://example.org)", "[out](https://example.org)"),
        ("{term}`weights <weight>`, {term}`head`", "*weights*, *head*"),
        ("{cite:p}`vaswani2017`", "([Vaswani et al., 2017](https://example.org/attention))"),
        ("{cite:t}`vaswani2017`", "[Vaswani et al. (2017)](https://example.org/attention)"),
        (r"$\query{Q}\key{K}^\top$", r"${Q}{K}^\top$"),
        (r"$\out{\mathrm{f}}(x)[a](b)$", r"${\mathrm{f}}(x)[a](b)$"),
        ("`{ref}` and ``{eq}`x` ``", "`{ref}` and ``{eq}`x` ``"),
        ("$$ x $$ (eq-second)", "$$\nx\n\\tag{2.1}\n$$"),
        ("```{math}\n:label: eq-second\nx \\\\ y\n```",
         "$$\n\\begin{split}\nx \\\\ y\n\\end{split}\n\\tag{2.1}\n$$"),
        (":::{note}\nBeware, {eq}`eq-first`.\n\n- a\n:::",
         "> **Note**\n>\n> Beware, (1.1).\n>\n> - a"),
        (":::{admonition} You *will*\nx\n:::", "> **You *will***\n>\n> x"),
        (":::{dropdown} Answer\n$4$\n:::",
         "<details><summary>Answer</summary>\n\n$4$\n\n</details>"),
        (":::{admonition} Hint\n:class: dropdown\nx\n:::",
         "<details><summary>Hint</summary>\n\nx\n\n</details>"),
        ("Term\n: What it\n  is.\n\nOther\n: {eq}`eq-first`",
         "**Term**\nWhat it\nis.\n\n**Other**\n(1.1)"),
        ("(label)=\n## Title\n\n% note to self\n\nText", "## Title\n\nText"),
        ("```python\n{eq}`eq-first`\n```", "```python\n{eq}`eq-first`\n```"),
        ("1. one\n\n   $$\n   \\val{x}\n   $$\n2. two", "1. one\n\n   $$\n   {x}\n   $$\n\n2. two"),
        ("```{bibliography}\n```", ""),
    ],
)  # fmt: skip
def test_myst_has_a_plain_form(convert, myst, plain):
    assert convert(myst) == plain


@pytest.mark.parametrize(
    ("myst", "words"),
    [
        ("```{unheard-of}\n```", r"no plain form of the directive \{unheard-of\}"),
        ("{unheard-of}`x`", r"no plain form of the role \{unheard-of\}"),
        ("{eq}`eq-nowhere`", "refers to `eq-nowhere`, which no page"),
        ("{cite:p}`nobody1999`", "cites `nobody1999`, which book/references.bib lacks"),
        ("[x](01_first.md#first)", "write #first alone"),
        ("\\begin{align}\na &= b\n\\end{align}", "Write the starred one"),
        ("```{library} vectorized.nothing\n```", r"The library has no vectorized\.nothing"),
    ],
)
def test_what_has_no_plain_form_is_refused(convert, myst, words):
    with pytest.raises(SystemExit, match=words):
        convert(myst)


def test_label_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "_toc.yml").write_text("root: index\nparts: []\n")
    (tmp_path / "index.md").write_text("(a)=\n# One\n\n(a)=\n## Two\n")
    with pytest.raises(SystemExit, match=r"`a` stands again in index\.md"):
        myst_pages.Labels.collect(tmp_path)


def test_library_code_is_the_librarys_without_its_docstring(convert):
    plain = convert("```{library} vectorized.softmax\n```")
    assert plain.startswith("`mha_lessons/vectorized.py`\n\n```python\ndef softmax(")
    assert plain.endswith("\n```")
    assert '"""' not in plain
    assert "largest" in plain
