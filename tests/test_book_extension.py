"""The book's extension, on a book of one page."""

import json

import pytest
from built_book import build, copy_of_project

HEADER = """\
---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""
PAGE = (
    HEADER
    + """
# One page

```{code-cell} python3
import mha_lessons
print("version", mha_lessons.__version__)
```
"""
)


@pytest.fixture
def little_book(tmp_path):
    """Copy the project, in a folder whose name has a space, with one chapter."""
    root = copy_of_project(tmp_path / "a book")
    for page in [*root.glob("book/*.md"), *root.glob("book/*.ipynb")]:
        page.unlink()
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/index\n")
    (root / "book" / "index.md").write_text(PAGE)
    (root / "book" / "index.ipynb").write_text(
        json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    return root


def test_edited_library_reaches_the_page(little_book):
    page = little_book / "_build" / "html" / "book" / "index.html"
    first = build(little_book)
    assert first.returncode == 0, first.stdout
    assert "version 0.1.0" in page.read_text()
    init = little_book / "mha_lessons" / "__init__.py"
    init.write_text(init.read_text().replace('"0.1.0"', '"0.1.0+edited"'))
    second = build(little_book)
    assert second.returncode == 0, second.stdout
    assert "version 0.1.0+edited" in page.read_text()
    third = build(little_book)
    assert "no targets are out of date" in third.stdout


def test_image_without_text_fails_each_strict_build(little_book):
    page = little_book / "book" / "index.md"
    page.write_text(page.read_text() + "\n```{image} _static/logo.svg\n```\n")
    for _ in range(2):
        built = build(little_book)
        assert built.returncode != 0
        assert "An image needs an alternative text" in built.stdout


def test_drawn_figure_without_text_fails_the_strict_build(little_book):
    page = little_book / "book" / "index.md"
    cell = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    page.write_text(page.read_text() + f"\n```{{code-cell}} python3\n{cell}\n```\n")
    built = build(little_book)
    assert built.returncode != 0
    assert "An image needs an alternative text" in built.stdout


def test_live_figure_without_script_fails_the_strict_build(little_book):
    page = little_book / "book" / "index.md"
    page.write_text(page.read_text() + "\n```{raw} html\n<mha-no-such></mha-no-such>\n```\n")
    built = build(little_book)
    assert built.returncode != 0
    assert "book/index shows <mha-no-such>, but no_such.js is not in" in built.stdout


def test_drawn_figure_without_caption_fails_the_strict_build(little_book):
    page = little_book / "book" / "index.md"
    alt = "---\nmystnb: {image: {alt: A line that rises}}\n---"
    cell = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    page.write_text(page.read_text() + f"\n```{{code-cell}} python3\n{alt}\n{cell}\n```\n")
    built = build(little_book)
    assert built.returncode != 0
    assert "A drawn figure needs a caption" in built.stdout
    assert "alternative text" not in built.stdout


SECRETS = """
:::{dropdown} Answer
A zebrafish.
:::

:::{dropdown} More
A giraffe, and $\\hippopotamus$.
:::

```{code-cell} python3
:tags: [hide-input]
print("".join(["wal", "rus"]))  # pangolin
```

<div><mha-attention-lab>okapi</mha-attention-lab></div>
"""


def test_search_index_leaves_out_answers_hidden_cells_and_formulas(little_book):
    page = little_book / "book" / "index.md"
    page.write_text(page.read_text() + SECRETS)
    assert build(little_book).returncode == 0
    index = (little_book / "_build" / "html" / "searchindex.js").read_text()
    found = [
        a for a in ("giraff", "walru", "zebrafish", "pangolin", "okapi", "hippo") if a in index
    ]
    assert found == ["giraff", "walru"]


def test_missing_notebook_fails_the_strict_build_and_says_how_to_write_it(little_book):
    (little_book / "book" / "index.ipynb").unlink()
    built = build(little_book)
    assert built.returncode != 0
    assert "Write it with: make notebooks" in built.stdout


def test_new_quiz_reaches_the_table_of_progress(little_book):
    quiz = 'from mha_lessons.quiz import Quiz\ndisplay(Quiz.trap("T1"))'
    index, page = little_book / "book" / "index.md", little_book / "book" / "page.md"
    index.write_text("# A book\n\n(your-progress)=\n## Yours\n\n<mha-progress>\n</mha-progress>\n")
    page.write_text(f"{HEADER}\n# Its page\n\n```{{code-cell}} python3\n{quiz}\n```\n")
    page.with_suffix(".ipynb").write_bytes(index.with_suffix(".ipynb").read_bytes())
    (little_book / "_toc.yml").write_text(
        "format: jb-book\nroot: book/index\nchapters: [{file: book/page}]\n"
    )
    site = little_book / "_build" / "html" / "book"
    first = build(little_book)
    assert first.returncode == 0, first.stdout
    assert '<a href="page.html">Its page</a>' in (site / "index.html").read_text()
    assert "<td>0 of 1</td>" in (site / "index.html").read_text()
    assert '<mha-progress page="page" data-quizzes="T1">' in (site / "page.html").read_text()
    page.write_text(page.read_text().replace(")\n```", '); display(Quiz.trap("T2"))\n```'))
    second = build(little_book)
    assert second.returncode == 0, second.stdout
    assert "<td>0 of 2</td>" in (site / "index.html").read_text()
