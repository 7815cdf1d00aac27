"""What the stored notebook of a page shows below a heading."""

import nbformat


def outputs_below(page, heading):
    """Return the outputs of the cells from a heading of `page` (its .md) to the next one."""
    cells = nbformat.read(page.with_suffix(".ipynb"), 4).cells
    first = next(i for i, c in enumerate(cells) if heading in c.source)
    results = []
    for cell in cells[first + 1 :]:
        if cell.cell_type == "markdown" and "###" in cell.source:
            break
        results += cell.get("outputs", [])
    return results
