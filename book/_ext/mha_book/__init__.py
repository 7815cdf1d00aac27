"""The book's Sphinx extension: `jupyter-book build .` alone gives the whole site.

A page asks nothing of another host, opens from a folder without a server, and stays the same
whichever command built it.
"""

import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from . import address, downloads, execution, library, links, pages, search, trap  # noqa: E402


def setup(app):
    """Connect the parts to Sphinx, which reads all pages again when one of them changed."""
    sources = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    app.add_config_value("mha_book", hashlib.sha256(sources).hexdigest(), "env", str)
    for part in (links, address, execution, library, trap, downloads, search, pages):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
