"""Take the learner's answers over into a pristine reference notebook.

Nothing else of the learner's is run: not the checks, which may be missing or changed, and not the
stored outputs, tags or kernel. What answers may need from other cells, `companions` finds.
"""

import re

from .companions import names_in, without_effects
from .notebook import parse

ANSWER = "mha_answer"  # in the metadata of a spliced notebook
COMPANION = "companion"  # begins the ids of the cells that come along
CHECK = re.compile(r"check\.(\w+)\((\w+)\)")
SPLICED = re.compile(
    r"import (mha_lessons\.grade\.exercises\.\w+) as _mha_check\n_mha_check\.(\w+)\((\w+)\)"
)
IMPORT = re.compile(r"^from (mha_lessons\.grade\.exercises) import (\w+) as check$", re.M)


def answers(content):
    """Return (cell id, name) for each answer of a reference, in their order."""
    return [(cell.id, cell.answer) for cell in parse(content).code if cell.answer]


def checks(content):
    """Return (cell id, check, answer) for each check of a reference, in their order."""
    found = [(cell.id, CHECK.fullmatch(cell.source)) for cell in parse(content).code]
    return [(identity, match[1], match[2]) for identity, match in found if match]


def module_of_checks(content):
    """Return the name of the module that holds the checks of a reference."""
    match = IMPORT.search("\n".join(cell.source for cell in parse(content).code))
    return f"{match[1]}.{match[2]}"


def check_in(source):
    """Return (module, check, answer) for a spliced cell that checks an answer, or None."""
    match = SPLICED.fullmatch(source)
    return match and match.groups()


def splice(notebook, content):
    """Put the answers of `notebook` into the reference `content`.

    Returns
    -------
    content : dict
        The notebook to run: code cells only, with the reference's checks and stored outputs.
    missing : dict
        Answer to one sentence on why it was not found.
    notes : list of str
        What the learner should know, and that changes no verdict.
    """
    found, missing, notes = _find(notebook, content)
    names = dict(answers(content))
    calls = {identity: f"{check}({answer})" for identity, check, answer in checks(content)}
    module = module_of_checks(content)
    cells = []
    for cell in content["cells"]:
        if cell["cell_type"] != "code":
            continue
        identity = cell["id"]
        if identity in names:
            if not any(cell["id"] in names for cell in cells):
                cells += _companions(notebook, content, found)
            name = names[identity]
            cell = {**cell, "source": found.get(name, ""), "metadata": {ANSWER: name}}
        elif identity in calls:
            # By its full name: the learner may have another use for the word `check`.
            alias = f"import {module} as _mha_check"
            cell = {**cell, "source": f"{alias}\n_mha_check.{calls[identity]}"}
        cells.append(cell)
    return {**content, "cells": cells}, missing, notes


def _find(notebook, content):
    # By the mark first: it survives Colab, copying and splitting; ids and definitions may not.
    found, missing, notes = {}, {}, []
    for stub in parse(content).code:
        name = stub.answer
        if not name:
            continue
        defines = re.compile(rf"^(def|class)\s+{name}\b|^{name}\s*=", re.M)
        cells = (
            [cell for cell in notebook.code if cell.answer == name]
            or [cell for cell in notebook.code if cell.id == stub.id and not cell.answer]
            or [cell for cell in notebook.code if defines.search(cell.source)]
        )
        written = [cell.source for cell in cells if cell.source.strip() not in ("", stub.source)]
        if len(set(written)) > 1:
            notes.append(f"{name} has {len(written)} answer cells; the last one was graded.")
        if cells:
            found[name] = (written or [cells[-1].source])[-1]
        elif any(cell.answer == name for cell in notebook.cells):
            missing[name] = f"the answer cell of {name} is a text cell; change its type to code"
        else:
            missing[name] = (
                f"there is no answer cell for {name}; its first line must be `# ANSWER: {name}`"
            )
    return found, missing, notes


def names_elsewhere(notebook, content):
    """Return the names that the learner's own cells define; not all of them come along."""
    found, _, _ = _find(notebook, content)
    return {name for cell in _own(notebook, content, found) for name in names_in(cell.source)}


def _own(notebook, content, found):
    """Return the learner's own cells: neither the exercise's cells nor answers."""
    known = {cell.source.strip() for cell in parse(content).code}
    known |= {source.strip() for source in found.values()}
    return [cell for cell in notebook.code if cell.source.strip() not in known and not cell.answer]


def _companions(notebook, content, found):
    """Make cells of what comes along from the learner's own cells."""
    sources = [
        source for cell in _own(notebook, content, found) for source in without_effects(cell.source)
    ]
    return [
        {
            "cell_type": "code",
            "id": f"{COMPANION}-{number}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": source,
        }
        for number, source in enumerate(sources)
    ]
