"""Write the learner's notebooks into a folder, and never over a file."""

import json
from pathlib import Path

from .notebook import exercises, for_learners, reference

DEFAULT_FOLDER = Path("mha-exercises")


def write_exercises(folder):
    """Write every exercise that `folder` does not hold yet.

    Returns
    -------
    dict
        Path to whether it was written; False where a file was there already.

    Raises
    ------
    OSError
        When the folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.ipynb" for name in exercises()}
    return {path: _write_new(path, for_learners(reference(name))) for name, path in paths.items()}


def _write_new(path, content):
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text_of(content))
    except FileExistsError:
        return False
    return True


def text_of(content):
    """Return a notebook's text as Jupyter writes it."""
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
