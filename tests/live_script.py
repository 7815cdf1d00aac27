"""The scripts of the live figures, run by Node.js without a page."""

import json
import shutil
import subprocess

import pytest

from mha_lessons.widgets import STATIC

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")


def evaluate(figure, expression):
    """Load a figure's script after the one that all share, and return what an expression gives."""
    scripts = (json.dumps(str(STATIC / f"{name}.js")) for name in ("live_figure", figure))
    program = "".join(f"require({script});" for script in scripts)
    printed = subprocess.run(
        ["node", "-e", f"{program}console.log(JSON.stringify({expression}))"],
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout
    return json.loads(printed)
