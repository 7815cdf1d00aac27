"""The chapters' notebooks are what their sources say, and `--nbval` has something to compare."""

import re
import subprocess
import sys

import myst_pages
import nbformat
import notebooks
import pytest
import repository

CHAPTER = """\
---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A chapter

```{code-cell} python3
print("one")
print("two")
```

```{code-cell} python3
:tags: [figure]

import matplotlib.pyplot as plt
plt.plot([1, 2]);
```

```{code-cell} python3
:tags: [varies]

import time
time.time()
```

```{code-cell} python3
:tags: [raises-exception]

raise ValueError("a rule")
```

```{code-cell} python3
:tags: [hide-input]

1 / 4
```
"""
MYST = re.compile(
    r"""\{[\w:]+\}`        # a role
    | ^[`:]{3,}\{          # a directive
    | ^\([\w-]+\)=$        # a target
    | ^%\s                 # a comment
    | ^:\s                 # a definition
    | \\(query|key|val|out)\{
    | \]\(\#
    """,
    re.VERBOSE | re.MULTILINE,
)


def book_notebooks():
    return [source.with_suffix(".ipynb") for source in notebooks.chapters()]


def texts(notebook):
    """Yield the text cells without their blocks and spans of code."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"^```\w*\n.*?^```$", "", cell.source, flags=re.DOTALL | re.MULTILINE)
            yield re.sub(r"(?<!\})`[^`\n]+`", "", prose)


def lay_book(folder, patch):
    """Make the tool work on a book of one chapter, and return that chapter."""
    (folder / "book").mkdir()
    (folder / "_toc.yml").write_text("root: book/01_one\nparts: []\n")
    source = folder / "book" / "01_one.md"
    source.write_text(CHAPTER)
    patch.setattr(notebooks, "BOOK", folder / "book")
    patch.setattr(repository, "ROOT", folder)
    return source


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write the one notebook, and return its bytes."""
    with pytest.MonkeyPatch.context() as patch:
        source = lay_book(tmp_path_factory.mktemp("written"), patch)
        notebooks.write([source])
        return source.with_suffix(".ipynb").read_bytes()


@pytest.fixture
def book(tmp_path, monkeypatch, written):
    """Lay the one chapter with its notebook beside it."""
    source = lay_book(tmp_path, monkeypatch)
    source.with_suffix(".ipynb").write_bytes(written)
    return source


def test_stored_notebooks_are_what_their_sources_say():
    assert notebooks.stale(notebooks.chapters()) == []


@pytest.mark.parametrize("path", book_notebooks(), ids=lambda path: path.stem)
def test_no_myst_is_left_in_a_notebook(path):
    found = [match[0] for text in texts(nbformat.read(path, 4)) for match in MYST.finditer(text)]
    assert found == []


@pytest.mark.parametrize("path", book_notebooks(), ids=lambda path: path.stem)
def test_notebook_starts_its_code_with_the_setup_cell(path):
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert cells[0].id == "setup"
    assert cells[0].source == repository.setup_cell(repository.repository_url())


@pytest.mark.parametrize("path", book_notebooks(), ids=lambda path: path.stem)
def test_stored_outputs_are_text_that_holds_anywhere(path):
    for cell in nbformat.read(path, 4).cells:
        for output in cell.get("outputs", ()):
            assert notebooks.is_stored(output.get("data", {}))
            assert str(repository.ROOT) not in str(output)
            assert " at 0x" not in str(output)


def test_each_kind_of_cell_stores_what_can_be_compared(written):
    notebook = nbformat.reads(written.decode(), 4)
    setup, printed, figure, varies, raising, folded = (
        cell for cell in notebook.cells if cell.cell_type == "code"
    )
    assert setup.outputs == []
    assert [output.text for output in printed.outputs] == ["one\ntwo\n"]
    assert figure.outputs == varies.outputs == []
    assert "nbval-ignore-output" in figure.metadata.tags
    assert "nbval-ignore-output" in varies.metadata.tags
    assert raising.outputs[0].traceback == ["ValueError: a rule"]
    assert folded.metadata.jupyter == {"source_hidden": True}
    assert folded.outputs[0].data == {"text/plain": "0.25"}
    assert notebook.metadata == notebooks.METADATA


def test_writing_again_gives_the_same_bytes(book, written):
    notebooks.write([book])
    assert book.with_suffix(".ipynb").read_bytes() == written
    assert notebooks.stale([book]) == []


def test_nbval_compares_the_stored_outputs(book, written):
    path = book.with_suffix(".ipynb")
    path.with_name("00_wrong.ipynb").write_bytes(written.replace(b'"one\\n"', b'"uno\\n"'))
    command = [sys.executable, "-m", "pytest", "-q", "--nbval", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    assert re.findall(r"FAILED (\S+)", run.stdout) == ["00_wrong.ipynb::Cell"], run.stdout


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(("# A chapter", "# Another"), id="text"),
        pytest.param(("1 / 4", "1 / 8"), id="code"),
        pytest.param((":tags: [hide-input]", ":tags: [varies]"), id="tags"),
    ],
)
def test_edited_source_is_named_stale(book, edit, capsys):
    book.write_text(CHAPTER.replace(*edit))
    assert notebooks.main(["--check"]) == 1
    assert (
        "stale: book/01_one.ipynb. Write it again with: make notebooks" in capsys.readouterr().out
    )


def test_notebook_that_never_ran_is_stale(book):
    labels = myst_pages.Labels.collect(repository.ROOT)
    bare = notebooks.build(book, labels, {})
    book.with_suffix(".ipynb").write_text(nbformat.writes(bare) + "\n")
    assert notebooks.stale([book]) == [book.with_suffix(".ipynb")]


def test_notebook_without_a_source_is_stale(book):
    orphan = book.with_name("00_gone.ipynb")
    orphan.write_text("{}")
    assert notebooks.stale([book]) == [orphan]


def test_cell_that_draws_untagged_is_refused(book):
    book.write_text(CHAPTER.replace(":tags: [figure]\n\n", ""))
    with pytest.raises(SystemExit, match="Tag a cell that draws `figure`"):
        notebooks.write([book])
