"""What of Python and its packages is installed, and whether it works."""

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import mha_lessons

from .environment import PACKAGE_HOME

DISTRIBUTION = "mha-lessons"
AGAIN = "Install the package again, as you did the first time."
PIP = f'"{sys.executable}" -m pip install'
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


def _requirements():
    """Return what our distribution asks for, as pairs (Requirement, extra or None)."""
    from packaging.requirements import Requirement

    found = []
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        marker = str(requirement.marker or "")
        found.append((requirement, "extra" in marker))
    return found


def python():
    """Say whether this Python is supported."""
    try:
        from packaging.specifiers import SpecifierSet

        wanted = metadata.metadata(DISTRIBUTION)["Requires-Python"]
        right = platform.python_version() in SpecifierSet(wanted, prereleases=True)
    except (metadata.PackageNotFoundError, ImportError):
        wanted, right = "unknown", True
    words = f"Python {platform.python_version()} ({sys.executable}); supported: {wanted}"
    return Finding("ok", words) if right else Finding("fail", words, "Install a supported Python.")


def package():
    """Say which mha_lessons this is, and whether it is what was installed."""
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


def packages():
    """Say of each package that we need whether it is there, in a supported version."""
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


def torch():
    """Say whether torch works, and whether it finds a GPU."""
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
    done, said = python_runs(TORCH)
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


def triton():
    """Say whether Triton's interpreter runs with this NumPy."""
    try:
        version = metadata.version("triton")
        metadata.version("torch")
    except metadata.PackageNotFoundError:
        return Finding("ok", "Triton is not installed; only mha_lessons.kernel needs it")
    done, said = python_runs(TRITON, TRITON_INTERPRET="1")
    if done:
        return Finding("ok", f"Triton {version}; its interpreter runs")
    numpy = metadata.version("numpy")
    return Finding(
        "warn",
        f"Triton {version}: its interpreter fails with NumPy {numpy}: {said}",
        f"Only mha_lessons.kernel needs it, on a machine without a GPU. Run: {PIP} -U triton",
    )


def jupyter():
    """Say which Python Jupyter starts for a notebook."""
    done, said = python_runs(KERNEL)
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
    if not same(Path(started).parent, Path(sys.executable).parent):
        return Finding(
            "warn", f"{words}, and `mha` runs in {sys.executable}: another Python", remedy
        )
    return Finding("ok", words)


def same(one, other):
    """Tell whether two paths lead to the same file or folder."""
    return os.path.realpath(one) == os.path.realpath(other)


def python_runs(code, **settings):
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
