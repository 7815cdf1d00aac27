"""The `kill-matrix` directive: every known wrong answer, and the checks that reject it."""

import hashlib
import json
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .downloads import build_folder

PACKAGE = Path(__file__).resolve().parents[3] / "mha_lessons"


class KillMatrix(SphinxDirective):
    """Show one section per answer, and in it one entry per wrong answer of the bank."""

    def run(self):
        """Return the sections."""
        for path in sources():
            self.env.note_dependency(str(path))
        found = outcomes(build_folder(self.env.app) / "kill_matrix.json")
        sections = [_total(found)]
        for answer, kills in groupby(found, key=lambda kill: kill["answer"]):
            sections += [_section(answer, list(kills))]
        return sections


def sources():
    """Return the files that the matrix depends on."""
    files = [p for p in (PACKAGE / "grade").rglob("*.*") if p.suffix in (".py", ".toml")]
    return sorted(files + list(PACKAGE.glob("*.py")))


def outcomes(kept):
    """Try the bank against the checks, once for each state of the grader; `kept` holds the last."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources())).hexdigest()
    if kept.exists():
        last = json.loads(kept.read_text(encoding="utf-8"))
        if last["digest"] == digest:
            return last["outcomes"]
    # Only a build that shows the matrix loads the grader and NumPy.
    from mha_lessons.grade import kill_matrix

    checks = kill_matrix.all_checks()
    answers = dict.fromkeys(check.answer for check in checks.values())
    found = [
        {
            "answer": answer,
            "id": kill.row.id,
            "says": kill.row.says,
            "check": kill.row.check,
            "rejects": kill.rejects,
            "names": kill.names,
        }
        for answer in answers
        for kill in kill_matrix.kills(answer, checks)
    ]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"digest": digest, "outcomes": found}), encoding="utf-8")
    return found


def _total(found):
    checks = {name for kill in found for name in kill["rejects"]}
    missed = sum(kill["check"] not in kill["names"] for kill in found)
    text = (
        f"{len(found)} wrong answers, {len(checks)} checks. "
        f"Wrong answers that their check does not reject and name: {missed}."
    )
    return nodes.paragraph("", text)


def _section(answer, kills):
    section = nodes.section(ids=[nodes.make_id(f"kills-{answer}")])
    title = nodes.title("", "", nodes.literal("", answer))
    only = {kill["rejects"][0] for kill in kills if len(kill["rejects"]) == 1}
    counts = nodes.paragraph("", f"{len(kills)} wrong answers. Alone in rejecting one of them: ")
    counts += _names(sorted(only))
    entries = nodes.definition_list(classes=["mha-kills"])
    for kill in kills:
        entries += _entry(kill)
    section += [title, counts, entries]
    return section


def _entry(kill):
    term = nodes.term("", "", nodes.literal("", kill["id"].split(".", 1)[1]))
    term += nodes.Text(f": {kill['says']}")
    others = [name for name in kill["rejects"] if name not in kill["names"]]
    said = nodes.paragraph("", "named by ")
    said += _names(kill["names"])
    if others:
        said += nodes.Text("; rejected also by ")
        said += _names(others)
    return nodes.definition_list_item("", term, nodes.definition("", said))


def _names(names):
    listed = []
    for name in names:
        listed += [nodes.Text(", "), nodes.literal("", name)]
    return listed[1:] or [nodes.Text("none")]


def setup(app):
    """Add the directive."""
    app.add_directive("kill-matrix", KillMatrix)
