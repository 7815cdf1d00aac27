"""Write book/*.ipynb from book/*.md: plain Markdown, its cells executed, its bytes repeatable.

    python tools/notebooks.py [SOURCE ...]    write the notebooks of all pages, or of these
    python tools/notebooks.py --check         name the stale ones and exit 1; runs nothing

Text outputs are stored, and `pytest --nbval book/` compares them. A cell tagged `figure` or
`varies` stores none and is not compared.
"""

import argparse
import asyncio
import base64
import copy
import hashlib
import mimetypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import myst_pages
import nbformat
import plain_markdown
import repository
from nbclient import NotebookClient

BOOK = repository.ROOT / "book"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
NOT_COMPARED = {"figure", "varies"}
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def chapters():
    """Return the pages with cells, in the order of their names."""
    return [path for path in sorted(BOOK.glob("*.md")) if myst_pages.is_notebook(path)]


def markdown_cell(source, images=()):
    """Make a text cell that carries its images inside."""
    cell = nbformat.v4.new_markdown_cell(source)
    for name, path in images:
        kind, _ = mimetypes.guess_type(name)
        data = base64.b64encode(path.read_bytes()).decode()
        cell.setdefault("attachments", {})[name] = {kind: data}
    return cell


def code_cell(cell):
    """Make a code cell with the tags that Jupyter and nbval act upon."""
    tags = set(cell.metadata.get("tags", ()))
    metadata = {}
    if tags & FOLDED:
        metadata["jupyter"] = {"source_hidden": True}
    if tags & NOT_COMPARED:
        tags.add("nbval-ignore-output")
    if tags:
        metadata["tags"] = sorted(tags)
    return nbformat.v4.new_code_cell(cell.source, metadata=metadata)


def build(source, labels, bibliography):
    """Return the notebook of a chapter, not yet executed."""
    converter = plain_markdown.Converter(source, labels, bibliography)
    cells = []
    for cell in myst_pages.read_cells(source):
        if cell.cell_type == "markdown":
            converter.images.clear()
            text = converter.convert(cell.source)
            if text:
                cells.append(markdown_cell(text, converter.images.items()))
            continue
        cells.append(code_cell(cell))
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if "caption" in figure:
            text = converter.caption("Fig. %s", figure.get("name"), figure["caption"])
            cells.append(markdown_cell(text))
    first = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
    setup = repository.setup_cell(repository.repository_url())
    cells.insert(first, nbformat.v4.new_code_cell(setup, metadata={"tags": ["setup"]}))
    name_cells(cells)
    return nbformat.v4.new_notebook(cells=cells, metadata=copy.deepcopy(METADATA))


def name_cells(cells):
    """Give each cell an id that follows from its text, so that an edit changes one id."""
    seen = set()
    for cell in cells:
        if "setup" in cell.metadata.get("tags", ()):
            cell.id = "setup"
            continue
        name = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        while name in seen:
            name = hashlib.sha256(name.encode()).hexdigest()[:8]
        seen.add(name)
        cell.id = name


def execute(source, notebook):
    """Run a notebook from its top, and keep the outputs that can be compared."""
    where = {"metadata": {"path": str(source.parent)}}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where)
    asyncio.run(client.async_execute(stderr=subprocess.DEVNULL))  # the kernel's own log
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            ignored = "nbval-ignore-output" in cell.metadata.get("tags", ())
            cell.outputs = [] if ignored else list(comparable(cell.outputs, source))


def comparable(outputs, source):
    """Yield the outputs whose text is the same on every machine."""
    stream = None
    for output in outputs:
        if output.output_type == "stream" and output.name == "stdout":
            # How a kernel cuts its prints into pieces is a matter of timing.
            if stream is None:
                stream = output
                yield output
            else:
                stream.text += output.text
            continue
        stream = None
        if output.output_type == "error":
            output.traceback = [f"{output.ename}: {output.evalue}"]
        elif output.output_type == "stream" or not is_stored(output.data):
            kind = output.get("name") or ", ".join(sorted(set(output.data) - {"text/plain"}))
            raise SystemExit(
                f"{source.name}: a stored output is text, and a cell gave {kind}. Tag a cell that"
                " draws `figure`, and one whose output differs from run to run `varies`."
            )
        yield output


def is_stored(data):
    """Tell whether an output is text, or a quiz: its list reads the same on every machine."""
    html = data.get("text/html", "<mha-quiz")
    return set(data) <= {"text/plain", "text/html"} and html.startswith("<mha-quiz")


def without_results(notebook):
    """Return a copy that holds what the source alone decides."""
    bare = copy.deepcopy(notebook)
    for cell in bare.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return bare


def is_current(path, wanted):
    """Tell whether the stored notebook has the wanted cells, each of them executed."""
    if not path.exists():
        return False
    text = path.read_text(encoding="utf-8")
    stored = nbformat.reads(text, as_version=4)
    executed = all(c.execution_count for c in stored.cells if c.cell_type == "code")
    return (
        executed
        and text == nbformat.writes(stored) + "\n"
        and nbformat.writes(without_results(stored)) == nbformat.writes(wanted)
    )


def stale(sources):
    """Return the notebooks that are not what their source says, or that have none."""
    labels = myst_pages.Labels.collect(repository.ROOT)
    bibliography = plain_markdown.read_bibliography(BOOK / "references.bib")
    wanted = {s.with_suffix(".ipynb"): build(s, labels, bibliography) for s in sources}
    orphans = sorted(set(BOOK.glob("*.ipynb")) - set(wanted))
    return [path for path, notebook in wanted.items() if not is_current(path, notebook)] + orphans


def write(sources):
    """Execute the chapters side by side and write their notebooks."""
    labels = myst_pages.Labels.collect(repository.ROOT)
    bibliography = plain_markdown.read_bibliography(BOOK / "references.bib")
    notebooks = [build(source, labels, bibliography) for source in sources]
    # Kernels side by side, each with a thread per core, wait for one another more than they work.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(execute, sources, notebooks))
    for source, notebook in zip(sources, notebooks, strict=True):
        path = source.with_suffix(".ipynb")
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")
        print(f"wrote {path.relative_to(repository.ROOT)}")


def main(arguments=None):
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources", nargs="*", type=Path, help="chapters, all by default")
    parser.add_argument("--check", action="store_true", help="name the stale ones, run nothing")
    options = parser.parse_args(arguments)
    if options.check:
        late = stale(chapters())
        for path in late:
            print(
                f"stale: {path.relative_to(repository.ROOT)}. Write it again with: make notebooks"
            )
        return int(bool(late))
    write([path.resolve() for path in options.sources] or chapters())
    return 0


if __name__ == "__main__":
    sys.exit(main())
