"""Read a notebook however it was saved, and tell which exercise it is.

Plain JSON and no nbformat: that would cost the command line a tenth of a second, and it refuses
files that can still be graded.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

REFERENCES = Path(__file__).with_name("reference")
MARK = re.compile(r"^#\s*ANSWER:\s*(\w+)", re.M)
MERGE_MARKER = re.compile(r"^(<{7} |={7}$|>{7} )", re.M)


class NotGradableError(Exception):
    """A file that cannot be graded; its message is one sentence for the user."""


@dataclass
class Cell:
    """What the grader looks at in a cell."""

    kind: str
    source: str
    id: str

    @property
    def answer(self):
        """The name behind ``# ANSWER:``, or None."""
        mark = MARK.search(self.source)
        return mark and mark[1]


@dataclass
class Notebook:
    """A notebook's cells, and the exercise that its metadata names."""

    cells: list
    exercise: str | None

    @property
    def code(self):
        """The code cells."""
        return [cell for cell in self.cells if cell.kind == "code"]


def read(path):
    """Read the notebook at `path`.

    Tolerates a byte order mark, CRLF, formats 3 and 4, and missing or repeated cell ids.

    Raises
    ------
    NotGradableError
        When the file cannot be read, is not JSON, or not a notebook.
    """
    name = Path(path).name
    try:
        if not os.path.isfile(path) and os.path.exists(path):  # a FIFO has no end
            raise NotGradableError(
                f"{name} cannot be read: it is a folder or a device. Check the path."
            )
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise NotGradableError(f"{name} cannot be read: {reason}. Check the path.") from None
    except UnicodeDecodeError:
        raise _other_file(name) or NotGradableError(
            f"A notebook must be UTF-8 text, and {name} is not. Save it again in Jupyter."
        ) from None
    try:
        return parse(json.loads(text))
    except (ValueError, RecursionError) as error:
        if MERGE_MARKER.search(text):
            raise NotGradableError(
                f"{name} has merge markers (<<<<<<<) in it. Keep one version of each part, "
                "or take your copy back from git."
            ) from None
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise _other_file(name) or NotGradableError(
            f"A notebook must be JSON, and {name} is broken{line}. Open it in Jupyter and save it "
            "again, or take back an earlier copy."
        ) from None
    except TypeError:
        raise _other_file(name) or NotGradableError(
            f"{name} is JSON, but not a notebook: it has no list of cells. "
            "Give a file that Jupyter saved."
        ) from None


def _other_file(name):
    if name.endswith(".ipynb"):
        return None
    return NotGradableError(f"{name} is no notebook. Give a file whose name ends in .ipynb.")


def parse(content):
    """Turn a notebook's JSON content into a `Notebook`; raise TypeError where it is none."""
    if not isinstance(content, dict):
        raise TypeError
    cells, sheets = content.get("cells"), content.get("worksheets")
    if isinstance(sheets, list):  # format 3
        cells = [cell for sheet in sheets for cell in _dict(sheet).get("cells", [None])]
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise TypeError
    exercise = _dict(_dict(content.get("metadata")).get("mha")).get("exercise")
    return Notebook([_cell(cell) for cell in cells], exercise if _is_text(exercise) else None)


def _cell(cell):
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(filter(_is_text, source))
    source = source.replace("\r\n", "\n") if _is_text(source) else ""
    # Colab keeps its ids in the metadata.
    identity = cell.get("id") or _dict(cell.get("metadata")).get("id")
    return Cell(str(cell.get("cell_type")), source, identity if _is_text(identity) else "")


def _dict(value):
    return value if isinstance(value, dict) else {}


def _is_text(value):
    return isinstance(value, str)


def exercises():
    """Return the names of all exercises, in the order of the course."""
    return sorted(path.stem for path in REFERENCES.glob("*.ipynb"))


def reference(exercise):
    """Return the JSON content of the packaged reference of `exercise`."""
    return json.loads((REFERENCES / f"{exercise}.ipynb").read_text(encoding="utf-8"))


def for_learners(content):
    """Turn the content of a reference into the learner's notebook: without stored outputs."""
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return content


def recognise(notebook):
    """Return the name of the exercise that `notebook` is, or None.

    Its metadata say so; where they are lost, its answers' marks and its cells' ids do.
    """
    known = exercises()
    if notebook.exercise in known:
        return notebook.exercise
    traces = _traces(notebook.cells)
    shared = {name: len(traces & _traces(parse(reference(name)).cells)) for name in known}
    best = max(known, key=shared.get)
    return best if shared[best] else None


def _traces(cells):
    ids = {f"id {cell.id}" for cell in cells if cell.id}
    return ids | {f"answer {cell.answer}" for cell in cells if cell.answer}
