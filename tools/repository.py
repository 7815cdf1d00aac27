"""Where this project is published, read from `_config.yml`, and all that follows from it.

python tools/repository.py                     print the address
python tools/repository.py --require           fail while it is the placeholder
python tools/repository.py --set URL           set it and rewrite what follows from it

Of other packages it needs PyYAML alone.
"""

import argparse
import json
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
COLAB = "https://colab.research.google.com/github"


def read_config(config=CONFIG):
    """Return what `_config.yml` says under ``repository``."""
    return yaml.safe_load(config.read_text(encoding="utf-8"))["repository"]


def repository_url(config=CONFIG):
    """Return the address that `_config.yml` names under ``repository.url``."""
    return read_config(config)["url"].rstrip("/")


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
            "This notebook needs the file mha_lessons-*.whl, which the book offers beside it.\\n"
            "Upload that file to the folder of this notebook, then run this cell again."
        )
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", source], check=True)'''


def check_address(url):
    """Return `url` as it is stored, or raise ValueError where it is no repository's address."""
    address = url.strip().rstrip("/").removesuffix(".git")
    parts = urlsplit(address)
    path = re.fullmatch(r"/[\w.-]+/[\w.-]+", parts.path)
    if parts.scheme != "https" or not parts.hostname or not path or parts.query or parts.fragment:
        raise ValueError(
            f"The address has the form https://<host>/<owner>/<name>: got {url!r}."
            f" Example: {HOW_TO_SET}"
        )
    return address


def set_address(url, root=ROOT):
    """Write the address in `_config.yml` and in everything that repeats it.

    Returns the paths of the files that changed.
    """
    config = root / "_config.yml"
    # The one line under `repository:`; the rest of the file, comments too, stays as it is.
    line = re.compile(r"(?m)^(repository:\n(?:[ ]+.*\n)*?[ ]+url:[ ]*).*$")
    new = {config: line.sub(lambda m: m[1] + url, config.read_text(encoding="utf-8"), count=1)}
    readme = root / "README.md"
    new[readme] = fill_readme(readme.read_text(encoding="utf-8"), url, root)
    for folder in ("book", "exercises", "solutions"):
        for path in sorted((root / folder).glob("*.ipynb")):
            new[path] = fill_notebook(path.read_text(encoding="utf-8"), url)
    changed = [path for path, text in new.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        path.write_text(new[path], encoding="utf-8", newline="\n")
    return changed


def fill_readme(text, url, root=ROOT):
    """Return a README whose marked block says where the course is published."""
    begin, end = "<!-- repository: begin -->\n", "<!-- repository: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"README.md holds one block between {begin.strip()} and {end}.")
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    return before + begin + readme_block(url, root) + end + after


def readme_block(url, root=ROOT):
    """Write what the README says of the address."""
    if is_placeholder(url):
        return f"Not published yet. Once it is, set its address with `{HOW_TO_SET}`.\n"
    lines = [f"Get it: `git clone {url}`"]
    if site_url(url):
        first = min((root / "book").glob("*.ipynb"), default=None)
        lines.append(f"Read it: <{site_url(url)}>")
        if first:
            branch = read_config(root / "_config.yml")["branch"]
            colab = f"{COLAB}{urlsplit(url).path}/blob/{branch}/book/{first.name}"
            lines.append(f"Run it: [the first chapter in Colab]({colab})")
    return "".join(f"- {line}\n" for line in lines)


def fill_notebook(text, url):
    """Return a notebook's text with the setup cell for `url`; all outputs stay."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell.get("id") == "setup":
            cell["source"] = setup_cell(url).splitlines(keepends=True)
    # As nbformat writes it.
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def main(arguments=None):
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Where this project is published.")
    parser.add_argument("--require", action="store_true", help="fail while it is the placeholder")
    parser.add_argument("--set", metavar="URL", help="set it and rewrite what follows from it")
    options = parser.parse_args(arguments)
    if options.set:
        try:
            changed = set_address(check_address(options.set))
        except ValueError as error:
            parser.exit(1, f"{error}\n")
        for path in changed:
            print(f"wrote {path.relative_to(ROOT)}")
        return 0
    url = repository_url()
    if options.require and is_placeholder(url):
        parser.exit(1, f"The repository's address is not set. Set it with: {HOW_TO_SET}\n")
    print(url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
