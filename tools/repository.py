"""Where this project is published, read from `_config.yml`, and all that follows from it.

    python tools/repository.py                     print the address
    python tools/repository.py --require           fail while it is the placeholder
    python tools/repository.py --set URL           set it and rewrite what follows from it
"""

import argparse
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import yaml

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "_config.yml"

# The top-level name .invalid is reserved (RFC 2606): it can belong to nobody.
PLACEHOLDER = "https://not-yet-published.invalid/owner/mha-lessons"
HOW_TO_SET = "make repository URL=https://github.com/<owner>/<name>"


def repository_url(config=CONFIG):
    """Return the address that `_config.yml` names under ``repository.url``."""
    return yaml.safe_load(config.read_text(encoding="utf-8"))["repository"]["url"].rstrip("/")


def is_placeholder(url):
    """Tell whether `url` stands for an address that nobody has set yet."""
    return (urlsplit(url).hostname or "").endswith(".invalid")


def site_url(url):
    """Return the GitHub Pages address that belongs to `url`, or None where there is none."""
    owner, _, name = urlsplit(url).path.strip("/").partition("/")
    if is_placeholder(url) or urlsplit(url).hostname != "github.com":
        return None
    return f"https://{owner.lower()}.github.io/{name}/"


def setup_cell(url):
    """Write the first code cell of every notebook: it installs the package where it is missing.

    A wheel beside the notebook comes first, then the published address. No torch is ever asked
    for: the package leaves it to the machine.
    """
    source = "" if is_placeholder(url) else f"mha-lessons @ git+{url}"
    return f'''\
# Setup: installs the course's package where it is missing, and does nothing elsewhere.
import glob, importlib.util, subprocess, sys

if importlib.util.find_spec("mha_lessons") is None:
    source = max(glob.glob("mha_lessons-*.whl"), default="{source}")
    if not source:
        raise ModuleNotFoundError(
            "This notebook needs the file mha_lessons-*.whl, which the book offers beside its download.\\n"
            "Upload that file to the folder of this notebook, then run this cell again."
        )
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", source], check=True)'''
