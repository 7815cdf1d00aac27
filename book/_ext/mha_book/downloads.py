"""What a reader takes away: the page's notebook, and the package that the notebook needs."""

import contextlib
import hashlib
import shutil
from pathlib import Path

from hatchling.build import build_wheel
from sphinx.util import logging

log = logging.getLogger(__name__)

FOLDER = "notebooks"


def package_wheel(root, folder):
    """Return the path of the package's wheel, built again only when its contents have changed."""
    digest = hashlib.sha256()
    contents = [path for path in root.glob("mha_lessons/**/*") if path.suffix != ".pyc"]
    for path in sorted([*contents, *root.glob("*.md"), root / "LICENSE", root / "pyproject.toml"]):
        if path.is_file():
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    home = folder / digest.hexdigest()[:12]
    if not any(home.glob("*.whl")):
        shutil.rmtree(folder, ignore_errors=True)
        home.mkdir(parents=True)
        # The backend knows no other way to be told where the project is.
        with contextlib.chdir(root):
            build_wheel(str(home))
    return next(home.glob("*.whl"))


def build_folder(app):
    """Return the folder that holds all the book's products."""
    return Path(app.outdir).parent


def name_wheel(app, config):
    """Build the wheel, and have each page written again when its name changes."""
    wheel = package_wheel(Path(app.srcdir).resolve(), build_folder(app).resolve() / "wheel")
    config.mha_wheel = wheel.name


def notebook_of(app, docname):
    """Return the path of the notebook that belongs to a page, or None for a page of text."""
    path = Path(app.env.doc2path(docname))
    if path.suffix == ".ipynb" or "kernelspec" in app.env.metadata[docname]:
        return path.with_suffix(".ipynb")
    return None


def offered_name(notebook):
    """Name a download: a chapter and its exercise may have the same name in their folders."""
    return f"exercise_{notebook.name}" if notebook.parent.name == "exercises" else notebook.name


def offer_downloads(app, pagename, templatename, context, doctree):
    """Replace the theme's downloads: its .ipynb holds MyST, which Jupyter does not read."""
    for group in context.get("header_buttons", ()):
        if group.get("label") != "download-buttons":
            continue
        group["buttons"] = [b for b in group["buttons"] if b["type"] == "javascript"]
        notebook = notebook_of(app, pagename) if doctree else None
        if notebook:
            name = offered_name(notebook)
            group["buttons"] = [
                download(context, name, "Download this page as a notebook", "fa-code"),
                download(
                    context, app.config.mha_wheel, "Download the package it needs", "fa-box-archive"
                ),
                *group["buttons"],
            ]


def download(context, name, tooltip, icon):
    """Describe a download button as the theme does."""
    url = context["pathto"](f"{FOLDER}/{name}", 1)
    return {
        "type": "link",
        "url": url,
        "text": Path(name).suffix,
        "tooltip": tooltip,
        "icon": f"fas {icon}",
    }


def copy_downloads(app, exception):
    """Write the offered files, and nothing older, into the site."""
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir) / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    shutil.copy(next((build_folder(app) / "wheel").glob("*/*.whl")), target)
    for docname in sorted(app.env.found_docs):
        notebook = notebook_of(app, docname)
        if notebook is None:
            continue
        if notebook.exists():
            shutil.copy(notebook, target / offered_name(notebook))
        else:
            name = notebook.relative_to(app.srcdir)
            log.warning(
                f"{name} is offered for download but missing. Write it with: make notebooks"
            )


def setup(app):
    """Connect after the theme has put its own downloads in place."""
    app.add_config_value("mha_wheel", "", "html", str)
    app.connect("config-inited", name_wheel)
    app.connect("html-page-context", offer_downloads, priority=600)
    app.connect("build-finished", copy_downloads)
