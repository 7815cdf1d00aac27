"""The book's Sphinx extension: `jupyter-book build .` alone gives the whole site.

A page asks nothing of another host, opens from a folder without a server, and stays the same
whichever command built it.
"""

import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from . import (  # noqa: E402
    address,
    downloads,
    execution,
    icons,
    kill_matrix,
    library,
    links,
    pages,
    progress,
    search,
    trap,
)


def digest(paths):
    """Hash the contents of files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()


def setup(app):
    """Connect the parts to Sphinx, which reads all pages again when one of them changed."""
    app.add_config_value("mha_book", digest(Path(__file__).parent.glob("*.py")), "env", str)
    # Each page names its styles and scripts by their contents, so all are written again.
    static = [*ROOT.glob("book/_static/*"), *ROOT.glob("mha_lessons/static/*")]
    app.add_config_value("mha_static", digest(static), "html", str)
    parts = (links, address, execution, library, kill_matrix, trap, downloads, search, progress)
    for part in (*parts, pages, icons):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
