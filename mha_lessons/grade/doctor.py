"""Find the usual broken set-ups, and say the remedy: ``mha doctor``."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import mha_lessons

from . import state
from .environment import PACKAGE_HOME
from .notebook import NotGradableError, exercises, parse, reference
from .process import run
from .splice import splice

DISTRIBUTION = "mha-lessons"
AGAIN = "Install the package again, as you did the first time."
PIP = f'"{sys.executable}" -m pip install'
ROOM = 100e6  # bytes: a grading needs less than one of them
PATIENCE = 120  # seconds: the first import of torch reads gigabytes

TORCH = """\
import json, torch
torch.zeros(1).numpy()
gpu = torch.cuda.is_available()
print(json.dumps([gpu and torch.cuda.get_device_name(), bool(torch.version.cuda)]))
"""
# Importing the library's kernel is not enough: the interpreter reads NumPy when a kernel runs.
TRITON = """\
import torch
from mha_lessons import kernel, vectorized
Q, K, V = torch.arange(3 * 16 * 16.0).reshape(3, 1, 1, 16, 16) / 768
out = kernel.attention(Q, K, V)
assert abs(out.numpy() - vectorized.attention(Q.numpy(), K.numpy(), V.numpy())).max() < 1e-3
"""
KERNEL = """\
import json
from jupyter_client.kernelspec import KernelSpecManager
print(json.dumps(KernelSpecManager().get_kernel_spec("python3").argv[0]))
"""


@dataclass
class Finding:
    """What was looked at: ok, warn (works, but look) or fail; a remedy unless it is ok."""

    status: str
    words: str
    remedy: str = ""


def findings():
    """Yield a `Finding` for each thing that can be wrong, as it is found."""
    yield _python()
    yield _package()
    yield from _packages()
    yield from _torch()
    yield _triton()
    yield _jupyter()
    yield _temporary_folder()
    yield _grading()
    yield _shadows(Path.cwd())
    yield _others(sys.path)
    yield _memory()


def _requirements():
    """Return what our distribution asks for, as pairs (Requirement, extra or None)."""
    from packaging.requirements import Requirement

    found = []
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        marker = str(requirement.marker or "")
        found.append((requirement, "extra" in marker))
    return found


def _python():
    try:
        from packaging.specifiers import SpecifierSet

        wanted = metadata.metadata(DISTRIBUTION)["Requires-Python"]
        right = platform.python_version() in SpecifierSet(wanted, prereleases=True)
    except (metadata.PackageNotFoundError, ImportError):
        wanted, right = "unknown", True
    words = f"Python {platform.python_version()} ({sys.executable}); supported: {wanted}"
    return Finding("ok", words) if right else Finding("fail", words, "Install a supported Python.")


def _package():
    home = Path(mha_lessons.__file__).parent
    words = f"mha_lessons {mha_lessons.__version__} in {home}"
    try:
        installed = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return Finding(
            "warn",
            f"{words}, not installed",
            f"So the supported versions are unknown. {AGAIN}",
        )
    if installed != mha_lessons.__version__:
        return Finding(
            "warn",
            f"{words}, and installed is {installed}",
            f"Two versions are mixed. {AGAIN}",
        )
    return Finding("ok", words)


def _packages():
    try:
        requirements = [r for r, is_extra in _requirements() if not is_extra]
    except (metadata.PackageNotFoundError, ImportError):
        requirements = []
    for requirement in requirements:
        yield _version(requirement.name, requirement.specifier)
    if not any(requirement.name == "ipykernel" for requirement in requirements):
        yield _version("ipykernel")


def _version(name, specifier="", missing="fail"):
    wanted = f"; supported: {specifier}" if str(specifier) else ""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(missing, f"{name} is missing{wanted}", f'Run: {PIP} "{name}{specifier}"')
    words = f"{name} {version}{wanted}"
    if specifier and not specifier.contains(version, prereleases=True):
        return Finding("fail", words, f'Run: {PIP} "{name}{specifier}"')
    return Finding("ok", words)


def _torch():
    try:
        metadata.version("torch")
    except metadata.PackageNotFoundError:
        yield Finding("ok", "torch is not installed; no exercise needs it")
        return
    specifiers = []
    try:
        specifiers = [r.specifier for r, _ in _requirements() if r.name == "torch"]
    except (metadata.PackageNotFoundError, ImportError):
        pass
    yield _version("torch", *specifiers[:1])
    done, said = _python_runs(TORCH)
    if not done:
        yield Finding(
            "fail",
            f"torch cannot be used: {said}",
            f"Install it again, in a version for this NumPy: {PIP} --force-reinstall torch",
        )
        return
    gpu, with_cuda = json.loads(said)
    if gpu:
        yield Finding("ok", f"GPU: {gpu}")
    elif shutil.which("nvidia-smi"):
        reason = "the driver is too old for it" if with_cuda else "it was built without CUDA"
        yield Finding(
            "warn",
            f"GPU: there is a driver, but torch finds no device: perhaps {reason}",
            "Choose a build for your driver at https://pytorch.org/get-started/locally/",
        )
    else:
        yield Finding("ok", "GPU: none; everything in the course runs without")


def _triton():
    try:
        version = metadata.version("triton")
        metadata.version("torch")
    except metadata.PackageNotFoundError:
        return Finding("ok", "Triton is not installed; only mha_lessons.kernel needs it")
    done, said = _python_runs(TRITON, TRITON_INTERPRET="1")
    if done:
        return Finding("ok", f"Triton {version}; its interpreter runs")
    numpy = metadata.version("numpy")
    return Finding(
        "warn",
        f"Triton {version}: its interpreter fails with NumPy {numpy}: {said}",
        f"Only mha_lessons.kernel needs it, on a machine without a GPU. Run: {PIP} -U triton",
    )


def _jupyter():
    done, said = _python_runs(KERNEL)
    if not done:
        return Finding("fail", f"Jupyter's kernel python3: {said}", f"Run: {PIP} ipykernel")
    started = json.loads(said)
    words = f"Jupyter's kernel python3 starts {started}"
    remedy = f'Run: "{sys.executable}" -m ipykernel install --sys-prefix'
    if not os.path.isabs(started):  # Jupyter puts its own Python there
        return Finding("ok", words)
    if not os.path.exists(started):
        return Finding("warn", f"{words}, which is not there", remedy)
    # Not resolved: each virtual environment links to the same Python.
    if not _same(Path(started).parent, Path(sys.executable).parent):
        return Finding(
            "warn", f"{words}, and `mha` runs in {sys.executable}: another Python", remedy
        )
    return Finding("ok", words)


def _same(one, other):
    return os.path.realpath(one) == os.path.realpath(other)


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
            f"Close other programs and try again. If it stays so: {PIP} --force-reinstall"
            " ipykernel",
        )
    if not any(verdict["status"] == "todo" for verdict in verdicts.values()):
        return Finding(
            "fail",
            f"Checks do not run: {log or 'no verdict came'}",
            AGAIN,
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
            and not _same(path, PACKAGE_HOME / "mha_lessons")
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
    others = sorted(h for h in homes if Path(h, "__init__.py").is_file() and not _same(h, ours))
    if others:
        return Finding(
            "warn",
            f"There is another mha_lessons in {', '.join(others)}; used is {ours}",
            f"Remove one of them: {PIP.replace('install', 'uninstall')} {DISTRIBUTION}",
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


def _python_runs(code, **settings):
    """Run `code` in a Python of its own; return whether it ended well, and its last line."""
    environment = os.environ | {"PYTHONPATH": _path(), "PYTHONUTF8": "1"} | settings
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", "-c", code],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return False, f"it did not end within {PATIENCE} s"
    except OSError as error:
        return False, f"Python does not start: {error.strerror}"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    if done.returncode < 0:
        return False, f"it was ended by signal {-done.returncode}"
    return done.returncode == 0, "".join(lines[-1:])


def _path():
    return os.pathsep.join([str(PACKAGE_HOME), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
