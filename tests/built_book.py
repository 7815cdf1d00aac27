"""The built site, for the tests that look at it."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = "https://github.com/ada/attention-course"
SITE = ROOT / "_build" / "html"
JUPYTER_BOOK = "from jupyter_book.cli.main import main; main()"


def build(root):
    """Build the book in `root` as `make book` does, and return the finished process."""
    return subprocess.run(
        [sys.executable, "-c", JUPYTER_BOOK, "build", ".", "-W", "--keep-going"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@functools.cache
def built():
    """Bring `_build/html` up to date, once for all tests: seconds where nothing has changed."""
    return build(ROOT)


def site():
    """Return the folder of the built site."""
    assert built().returncode == 0, f"The strict build failed:\n{built().stdout[-4000:]}"
    return SITE


def pages(root=ROOT):
    """Name the pages of the table of contents, as `book/01_single_head`."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(e["file"] for part in toc["parts"] for e in part["chapters"])]


def copy_of_project(folder):
    """Copy what a clone would hold, and the outputs of chapters that have already run."""
    unwanted = shutil.ignore_patterns(".venv", ".git", "_build", "__pycache__", ".*_cache", "*.whl")
    shutil.copytree(ROOT, folder, ignore=unwanted, symlinks=True)
    cache = ROOT / "_build" / ".jupyter_cache"
    if cache.exists():
        shutil.copytree(cache, folder / "_build" / ".jupyter_cache")
    return folder


def publish(folder):
    """Copy the project, set an address in it, and build its book."""
    site()  # its executed chapters spare the copy the time
    root = copy_of_project(folder)
    set_address = [sys.executable, "tools/repository.py", "--set", ADDRESS]
    subprocess.run(set_address, cwd=root, check=True, stdout=subprocess.DEVNULL)
    run = build(root)
    assert run.returncode == 0, run.stdout[-4000:]
    assert "address is not set" not in run.stdout
    return root
