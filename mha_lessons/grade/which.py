"""Which exercise is meant, and which file: 02, 02_split_heads, split_heads, or a path."""

from pathlib import Path

from . import state
from .notebook import exercises
from .report_files import WrongCallError
from .start import DEFAULT_FOLDER


def exercise_named(text):
    """Return the exercise that `text` names, or None: by its number, its name, or both."""
    given = str(text).removesuffix(".ipynb").strip().lower().replace("-", "_")
    for name in exercises():
        number, title = name.split("_", 1)
        if given in (name, title, number) or (given.isdecimal() and int(given) == int(number)):
            return name
    return None


def exercise_meant(text):
    """Return the exercise that `text` names, also as the name of a file.

    Raises
    ------
    WrongCallError
        When there is none.
    """
    exercise = exercise_named(text) or exercise_named(Path(text).name)
    if exercise is None:
        raise WrongCallError(
            f"There is no exercise {text}. The exercises are {', '.join(exercises())}; "
            "the number is enough."
        )
    return exercise


def file_of(exercise, folder=None):
    """Return the learner's notebook of `exercise`.

    Without a folder it is looked for here, in the folder that `mha start` takes by itself, and in
    the one where it wrote last.

    Raises
    ------
    WrongCallError
        When it is not there.
    """
    name = f"{exercise}.ipynb"
    folders = [Path(folder)] if folder else _usual_folders()
    for each in folders:
        if (each / name).is_file():
            return each / name
    where = " or ".join(str(each) for each in folders)
    raise WrongCallError(
        f"There is no {name} in {where}. Give the path of the file, or run `mha start` first."
    )


def file_meant(path):
    """Return the path, or that of the learner's notebook when it names an exercise.

    Raises
    ------
    WrongCallError
        When there is neither.
    """
    path = Path(path)
    if path.exists():
        return path
    exercise = exercise_named(path)
    if exercise and path.suffix != ".ipynb":
        return file_of(exercise)
    raise WrongCallError(f"There is no file {path}. Check the name, or run `mha start` first.")


def _usual_folders():
    folders = [Path(), DEFAULT_FOLDER]
    started = state.read().folder
    return folders + ([Path(started)] if started else [])
