"""Chapters run side by side, and again whenever the code that they import has changed."""

import hashlib
import logging
import os
import shutil
from fnmatch import fnmatch
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from myst_nb.core.read import is_myst_markdown_notebook

IMPORTED = ("mha_lessons/**/*.py", "mha_lessons/**/*.js", "mha_lessons/**/*.css")


def code_digest(root):
    """Hash what a chapter's outputs depend on besides its own cells."""
    files = [path for pattern in IMPORTED for path in root.glob(pattern)]
    digest = hashlib.sha256()
    for path in sorted([*files, root / "requirements.txt"]):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def is_executed(app, docname):
    """Tell whether the build runs the cells of `docname`."""
    if any(fnmatch(docname, pattern) for pattern in app.config.nb_execution_excludepatterns):
        return False
    path = Path(app.env.doc2path(docname))
    return path.suffix == ".ipynb" or is_myst_markdown_notebook(path.read_text(encoding="utf-8"))


def forget_stale_outputs(app, env, added, changed, removed):
    """Drop the cache, and read the executed pages again, when the imported code has changed.

    The cache's own key is the text of a chapter's cells: an edited library would leave yesterday's
    numbers in today's book.
    """
    now = code_digest(Path(app.srcdir))
    cache = Path(env.mystnb_config.execution_cache_path)
    stamp = cache / "CODE_DIGEST"
    if not stamp.exists() or stamp.read_text() != now:
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True)
        stamp.write_text(now)
    if getattr(env, "mha_code_digest", None) == now:
        return []
    env.mha_code_digest = now
    return [name for name in env.found_docs if is_executed(app, name)]


def execute_in_parallel(app, env, docnames):
    """Fill the cache that myst-nb reads, one process per core."""
    # Kernels side by side, each with a thread per core, wait for one another more than they work.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    cache = get_cache(env.mystnb_config.execution_cache_path)
    paths = [env.doc2path(name) for name in docnames if is_executed(app, name)]
    for path in paths:
        name = "nbformat" if path.endswith(".ipynb") else "myst_nb_md"
        cache.add_nb_to_project(path, read_data={"name": name, "type": "plugin"})
    if len(cache.list_unexecuted(filter_uris=paths)) > 1:
        # A chapter that fails is not cached: myst-nb runs it again, and reports it in full.
        quiet = logging.getLogger(__name__)
        quiet.setLevel(logging.CRITICAL)
        load_executor("local-parallel", cache, quiet).run_and_cache(
            filter_uris=paths, timeout=app.config.nb_execution_timeout
        )


def setup(app):
    """Run between Sphinx's list of pages to read and the reading."""
    app.connect("env-get-outdated", forget_stale_outputs)
    app.connect("env-before-read-docs", execute_in_parallel)
