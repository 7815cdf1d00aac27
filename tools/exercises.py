"""Write the notebooks of every exercise from its one source, `solutions/NN_name.py`.

    python tools/exercises.py            write exercises/, solutions/ and the packaged references
    python tools/exercises.py --check    fail when a committed notebook differs from its source

A source is a jupytext percent script that holds the answers. From it come the learner's notebook,
with stubs and no outputs, the solved and executed one, and the reference that the grader runs.
"""

import argparse
import copy
import os
import re
import subprocess
import sys

import jupytext
import nbformat
import repository
from nbclient import NotebookClient

from mha_lessons.grade import notebook, splice
from mha_lessons.grade.quiz import TRAPS

ROOT = repository.ROOT
EXERCISES, SOLUTIONS, REFERENCES = (
    ROOT / folder for folder in ("exercises", "solutions", "mha_lessons/grade/reference")
)
SOLVED_LINES = re.compile(r"^( *)### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n?", re.S | re.M)
CHOICE = re.compile(r'^( +"T\d+": )"[a-z]"', re.M)
QUIZ = re.compile(r"\{\{ quiz (.*?) \}\}")


def notebooks(source, url):
    """Make the notebooks of one source.

    Parameters
    ----------
    source : Path
    url : str
        The repository's address, for the setup cell.

    Returns
    -------
    dict
        Path to the notebook's text.
    """
    base = read(source)
    solved = execute(with_answers(base), url)
    reference = as_reference(base, solved)
    learner = notebook.for_learners(copy.deepcopy(reference))
    name = f"{source.stem}.ipynb"
    return {
        EXERCISES / name: text_of(with_setup(learner, url)),
        SOLUTIONS / name: text_of(solved),
        REFERENCES / name: text_of(reference),
    }


def read(source):
    """Read a source, and give every cell a stable id; jupytext would invent new ones."""
    content = jupytext.reads(source.read_text(encoding="utf-8"), "py:percent")
    number = source.stem.split("_")[0]
    texts = 0
    for cell in content.cells:
        if cell.cell_type == "markdown":
            cell.source = QUIZ.sub(lambda match: quiz(match[1].split()), cell.source)
            texts += 1
            name = f"text-{texts}"
        else:
            name = name_of(cell.source)
        cell.id = f"{number}-{name}"
        cell.metadata = {}
    content.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "mha": {"exercise": source.stem},
    }
    content.nbformat, content.nbformat_minor = 4, 5
    return content


def name_of(code):
    """Name a code cell by what it is: an answer, a check, or the imports."""
    if mark := notebook.MARK.search(code):
        return f"answer-{mark[1]}"
    if call := splice.CHECK.fullmatch(code):
        return f"check-{call[1]}"
    return "imports"


def quiz(traps):
    """Write the statements of the quiz with their choices."""
    items = []
    for trap in map(TRAPS.get, traps):
        choices = "\n".join(f"- **{letter}** {text}" for letter, text in trap.choices.items())
        items.append(f"**{trap.id}.** {trap.statement}\n\n{choices}")
    return "\n\n".join(items)


def with_answers(base):
    """Leave the answers, and take the markers away."""
    solved = copy.deepcopy(base)
    for cell in solved.cells:
        cell.source = SOLVED_LINES.sub(lambda match: match[2], cell.source + "\n").rstrip("\n")
    return solved


def stub(cell):
    """Take the answer away.

    Raises
    ------
    ValueError
        When there is none: the learner would be handed the answer.
    """
    name = notebook.MARK.search(cell.source)[1]
    code = f'raise NotImplementedError("{name} is not written yet")'
    blank = SOLVED_LINES.sub(lambda match: f"{match[1]}{code}\n", cell.source + "\n")
    blank = CHOICE.sub(r"\1None", blank).rstrip("\n")
    if blank == cell.source:
        raise ValueError(
            f"An answer must stand between ### BEGIN SOLUTION and ### END SOLUTION: {name} has "
            "neither. Add both lines to its source."
        )
    return blank


def execute(solved, url):
    """Run the solved notebook, setup cell and all, and keep what it printed."""
    content = with_setup(solved, url)
    os.environ["PYTHONPATH"] = str(ROOT)  # so that the kernel finds the package, installed or not
    client = NotebookClient(content, kernel_name="python3", timeout=120)
    client.execute(stderr=subprocess.DEVNULL)  # the kernel's own log
    for cell in content.cells:
        cell.metadata.pop("execution", None)  # times of day
    content.metadata = copy.deepcopy(solved.metadata)  # not the version of this Python
    return content


def as_reference(base, solved):
    """Join the stubs with what the checks print when the answers are right."""
    reference = copy.deepcopy(base)
    printed = {cell.id: cell for cell in solved.cells}
    for cell in reference.cells:
        if cell.cell_type != "code":
            continue
        if notebook.MARK.search(cell.source):
            cell.source = stub(cell)
            continue
        done = printed[cell.id]
        cell.outputs, cell.execution_count = done.outputs, done.execution_count
        if call := splice.CHECK.fullmatch(cell.source):
            # nbval compares nothing where nothing is stored.
            assert [output.text for output in cell.outputs] == [f"ok: {call[1]}\n"], cell
    return reference


def with_setup(content, url):
    """Add the setup cell before the first code cell."""
    cell = nbformat.v4.new_code_cell(repository.setup_cell(url), id="setup")
    first = [cell.cell_type for cell in content.cells].index("code")
    content = copy.deepcopy(content)
    content.cells.insert(first, cell)
    return content


def text_of(content):
    """Return a notebook's text, and make sure that it is valid."""
    nbformat.validate(content)
    return nbformat.writes(content) + "\n"


def main(argv=None):
    """Write the notebooks, or with ``--check`` compare them; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    options = parser.parse_args(argv)

    made = {}
    for source in sorted(SOLUTIONS.glob("*.py")):
        made |= notebooks(source, repository.repository_url())
    differ = [path for path, text in made.items() if not _holds(path, text)]
    folders = (EXERCISES, SOLUTIONS, REFERENCES)
    orphans = [p for folder in folders for p in sorted(folder.glob("*.ipynb")) if p not in made]
    if not options.check:
        for path in differ:
            path.write_text(made[path], encoding="utf-8", newline="\n")
            print(f"wrote {path.relative_to(ROOT)}")
        differ = []
    for path in differ:
        print(f"{path.relative_to(ROOT)} differs from its source: run python tools/exercises.py")
    for path in orphans:
        print(f"{path.relative_to(ROOT)} has no source in solutions/: remove it, or add the source")
    return 1 if differ or orphans else 0


def _holds(path, text):
    return path.exists() and path.read_bytes() == text.encode()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
