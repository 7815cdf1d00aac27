"""Cells that bring the bank and the right answers into the process that holds answers.

The grader cannot be imported there, so it goes under another name.
"""

import base64
import io
import zipfile

from learners import ROOT

ANSWERS = sorted((ROOT / "tests").glob("right_answers*.py"))
SOURCES = [*sorted((ROOT / "mha_lessons").rglob("*.py")), *ANSWERS]
DATA = sorted((ROOT / "mha_lessons" / "grade").glob("*.toml"))
UNPACK = """\
import base64, io, os, sys, zipfile
zipfile.ZipFile(io.BytesIO(base64.b64decode({packed!r}))).extractall()
sys.path.insert(0, os.getcwd())
from lessons_copy.grade.bank import BANK
import {modules}
from right_answers import RIGHT
"""


def cell():
    """Return the source of a cell after which there are BANK and RIGHT."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in SOURCES + DATA:
            name = str(path.relative_to(ROOT)).removeprefix("tests/")
            text = path.read_text(encoding="utf-8").replace("mha_lessons", "lessons_copy")
            archive.writestr(name.replace("mha_lessons", "lessons_copy"), text)
    modules = ", ".join(path.stem for path in ANSWERS)
    return UNPACK.format(packed=base64.b64encode(packed.getvalue()).decode(), modules=modules)
