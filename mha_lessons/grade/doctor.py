"""Find the usual broken set-ups, and say the remedy: ``mha doctor``.

What is `installed` is looked at there; here, what surrounds it.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from . import installed, state
from .environment import PACKAGE_HOME
from .installed import Finding
from .notebook import NotGradableError, exercises, parse, reference
from .process import run
from .splice import splice

ROOM = 100e6  # bytes: a grading needs less than one of them


def findings():
    """Yield a `Finding` for each thing that can be wrong, as it is found."""
    yield installed.python()
    yield installed.package()
    yield from installed.packages()
    yield from installed.torch()
    yield installed.triton()
    yield installed.jupyter()
    yield _temporary_folder()
    yield _grading()
    yield _shadows(Path.cwd())
    yield _others(sys.path)
    yield _memory()


def _temporary_folder():
    remedy = "Make room, or set TMPDIR (on Windows: TEMP) to a folder that can be written."
    try:
        folder = tempfile.gettempdir()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x" * 100_000)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("fail", f"The temporary folder cannot be written: {error.strerror}", remedy)
    words = f"The temporary folder {folder} can be written; {free / 1e9:.1f} GB are free"
    return Finding("warn", words, remedy) if free < ROOM else Finding("ok", words)


def _grading():
    """Grade what is handed out: it takes a kernel that starts, nbval, and every check."""
    content = reference(exercises()[0])
    spliced, _, _ = splice(parse(content), content)
    words = "A notebook's Python process starts, and answers are checked in it"
    try:
        verdicts, log = run(spliced, 10, Path.cwd())
    except NotGradableError as error:
        return Finding("fail", "Grading does not work", str(error))
    if verdicts is None:
        return Finding(
            "fail",
            f"A notebook's Python process does not start: {log or 'it says nothing'}",
            f"Close other programs and try again. If it stays so: {installed.PIP} --force-reinstall"
            " ipykernel",
        )
    if not any(verdict["status"] == "todo" for verdict in verdicts.values()):
        return Finding(
            "fail",
            f"Checks do not run: {log or 'no verdict came'}",
            installed.AGAIN,
        )
    return Finding("ok", words)


def _shadows(folder):
    """Look for files that Jupyter would import in place of a module, since they lie here."""
    needed = {"numpy", "torch", "matplotlib", "jaxtyping", "IPython", "ipykernel", "traitlets"}
    needed |= {"ipywidgets", "anywidget", "triton", "mha_lessons"} | sys.stdlib_module_names
    try:
        found = sorted(
            path.name
            for path in folder.iterdir()
            if path.name.removesuffix(".py") in needed
            and (path.suffix == ".py" or (path / "__init__.py").is_file())
            and not installed.same(path, PACKAGE_HOME / "mha_lessons")
        )
    except OSError as error:
        return Finding("warn", f"{folder} cannot be read: {error.strerror}", "Use another folder.")
    if found:
        return Finding(
            "warn",
            f"In {folder}, {', '.join(found)} would take the place of a module of that name",
            "Rename it: a notebook in this folder imports it instead. `mha grade` is not misled.",
        )
    return Finding("ok", "No file in this folder takes the place of a module")


def _others(path):
    """Look for further copies of the package on the path."""
    ours = PACKAGE_HOME / "mha_lessons"
    homes = {os.path.realpath(Path(folder, "mha_lessons")) for folder in path}
    others = sorted(
        h for h in homes if Path(h, "__init__.py").is_file() and not installed.same(h, ours)
    )
    if others:
        return Finding(
            "warn",
            f"There is another mha_lessons in {', '.join(others)}; used is {ours}",
            f'Remove one of them: "{sys.executable}" -m pip uninstall {installed.DISTRIBUTION}',
        )
    return Finding("ok", "There is one mha_lessons on the path")


def _memory():
    path = state.file()
    if path is None:
        return Finding("warn", "There is no home folder for your progress", "Set MHA_STATE.")
    if state.update(lambda _: None):
        return Finding("ok", f"Your progress is remembered in {path}")
    return Finding(
        "warn",
        f"Your progress cannot be remembered: {path} cannot be written",
        "Set MHA_STATE to the path of a file that can be. Grading works without.",
    )
