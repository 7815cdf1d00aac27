"""One command sets the repository's address, and everything that names it follows."""

import re
import shutil
import subprocess
import sys
from urllib.parse import unquote

import nbformat
import pytest
import repository
from built_book import ADDRESS, ROOT, build, built, copy_of_project, pages, publish, site
from PIL import Image

MADE = {".venv", "_build", ".git", ".pytest_cache", ".ruff_cache", ".hypothesis"}
NOTEBOOKS = [name for name in pages() if re.search(r"/\d\d_", name)]


def files(root):
    """Return the bytes of every file that a clone would hold."""
    kept = [path for path in root.iterdir() if path.name not in MADE]
    found = [path for top in kept for path in (top.rglob("*") if top.is_dir() else [top])]
    return {p: p.read_bytes() for p in found if p.is_file() and p.suffix != ".pyc"}


def tool(root, *arguments):
    return subprocess.run(
        [sys.executable, "tools/repository.py", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("published") / "a course")


def html(root, name):
    return unquote((root / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_page_opens_its_notebook_in_colab_and_binder(published, name):
    page = html(published, name)
    path = f"{name}.ipynb"
    assert (published / path).exists()
    colab = f"https://colab.research.google.com/github/ada/attention-course/blob/main/{path}"
    binder = f"https://mybinder.org/v2/gh/ada/attention-course/main?urlpath=lab/tree/{path}"
    assert re.findall(r'href="(https://colab[^"]*)"', page) == [colab]
    assert re.findall(r'href="(https://mybinder[^"]*)"', page) == [binder]


@pytest.mark.parametrize("name", pages())
def test_every_page_links_to_its_source_and_the_issues(published, name):
    page = html(published, name)
    suffix = "md" if (published / f"{name}.md").exists() else "ipynb"
    assert f'href="{ADDRESS}"' in page
    assert f'href="{ADDRESS}/blob/main/{name}.{suffix}?plain=1"' in page
    assert f'href="{ADDRESS}/issues/new?' in page


def test_every_setup_cell_names_the_address(published):
    found = [
        p for folder in ("book", "exercises", "solutions") for p in folder_of(published, folder)
    ]
    assert found
    for path in found:
        first = next(c for c in nbformat.read(path, 4).cells if c.cell_type == "code")
        assert first.source == repository.setup_cell(ADDRESS), path
        assert f"mha-lessons @ git+{ADDRESS}" in first.source


def folder_of(root, folder):
    return sorted((root / folder).glob("*.ipynb"))


def test_readme_says_where_the_course_is(published):
    readme = (published / "README.md").read_text(encoding="utf-8")
    assert f"`git clone {ADDRESS}`" in readme
    assert "<https://ada.github.io/attention-course/>" in readme
    colab = r"https://colab\.research\.google\.com/github/ada/attention-course/blob/main/(\S+?)\)"
    (notebook,) = re.findall(colab, readme)
    assert (published / notebook).exists()


def test_setting_again_changes_nothing_and_setting_back_restores_every_byte(tmp_path):
    root = copy_of_project(tmp_path / "course")
    shipped = files(root)
    assert "wrote README.md" in tool(root, "--set", ADDRESS).stdout
    once = files(root)
    assert once != shipped
    assert tool(root, "--set", f"{ADDRESS}.git/").stdout == ""
    assert files(root) == once
    assert tool(root, "--set", repository.PLACEHOLDER).returncode == 0
    assert files(root) == shipped


def test_shipped_readme_is_as_the_tool_writes_it():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert repository.fill_readme(readme, repository.repository_url()) == readme


def test_config_keeps_its_comment_and_every_other_line(tmp_path):
    root = copy_of_project(tmp_path / "course")
    before = (root / "_config.yml").read_text().splitlines()
    tool(root, "--set", ADDRESS)
    after = (root / "_config.yml").read_text().splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [(f"  url: {repository.PLACEHOLDER}", f"  url: {ADDRESS}")]


@pytest.mark.parametrize(
    "url",
    [
        "github.com/ada/course",
        "http://github.com/ada/course",
        "https://github.com/ada",
        "https://github.com/ada/course/tree/main",
        "https://github.com/ada/course?tab=readme",
        "https://github.com/<owner>/<name>",
        "git@github.com:ada/course.git",
        "",
    ],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValueError, match="has the form https://<host>/<owner>/<name>: got"):
        repository.check_address(url)


def test_address_that_is_required_and_missing_stops_with_the_command(tmp_path):
    root = copy_of_project(tmp_path / "course")
    tool(root, "--set", repository.PLACEHOLDER)
    stopped = tool(root, "--require")
    assert stopped.returncode == 1
    assert repository.HOW_TO_SET in stopped.stderr
    tool(root, "--set", ADDRESS)
    assert tool(root, "--require").stdout == f"{ADDRESS}\n"


SITE_ADDRESS = "https://ada.github.io/attention-course/"


def meta(page, name):
    (content,) = re.findall(f'<meta property="{name}" content="([^"]*)" />', page)
    return content


@pytest.mark.parametrize("name", pages())
def test_every_page_names_its_address_and_a_card_that_is_there(published, name):
    page = html(published, name)
    address = f"{SITE_ADDRESS}{name}.html"
    assert re.findall('<link rel="canonical" href="([^"]*)" />', page) == [address]
    assert meta(page, "og:url") == address
    card = meta(page, "og:image")
    assert card.startswith(f"{SITE_ADDRESS}_cards/")
    file = published / "_build" / "html" / card.removeprefix(SITE_ADDRESS)
    with Image.open(file) as image:
        assert image.size == (1200, 630)
    assert file.stat().st_size < 100_000
    assert meta(page, "og:image:alt")


def test_site_map_lists_every_page_and_the_robots_find_it(published):
    out = published / "_build" / "html"
    listed = re.findall("<loc>(.*?)</loc>", (out / "sitemap.xml").read_text())
    assert sorted(listed) == sorted(f"{SITE_ADDRESS}{name}.html" for name in pages())
    assert f"Sitemap: {SITE_ADDRESS}sitemap.xml" in (out / "robots.txt").read_text()


def test_another_host_builds_without_colab(published, tmp_path):
    root = tmp_path / "course"
    shutil.copytree(published, root)
    address = "https://git.example.org/ada/course"
    tool(root, "--set", address)
    run = build(root)
    assert run.returncode == 0, run.stdout[-4000:]
    page = html(root, NOTEBOOKS[0])
    assert f'href="{address}"' in page
    assert "colab.research" not in page
    assert "https://mybinder.org/v2/" in page


# As shipped


needs_placeholder = pytest.mark.skipif(
    not repository.is_placeholder(repository.repository_url()), reason="an address is set"
)


@needs_placeholder
def test_unset_address_leaves_no_button_and_is_said_once():
    for name in pages():
        page = (site() / f"{name}.html").read_text(encoding="utf-8")
        for tag in ('rel="canonical"', "og:url", "og:image"):
            assert tag not in page, name
        for host in ("colab.research", "mybinder", "not-yet-published", "github.com/owner"):
            assert host not in page, name
    said = [line for line in built().stdout.splitlines() if repository.HOW_TO_SET in line]
    assert len(said) == 1
    assert [n for n in ("sitemap.xml", "robots.txt", "_cards") if (site() / n).exists()] == []


@needs_placeholder
def test_nothing_but_the_config_and_the_tool_names_the_placeholder():
    host = b"not-yet-published"
    naming = {str(p.relative_to(ROOT)) for p, content in files(ROOT).items() if host in content}
    assert naming <= {"_config.yml", "tools/repository.py", "tests/test_repository_address.py"}


# The setup cell, in an interpreter that lacks the package

FRESH = """
import importlib.util, runpy, subprocess, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "mha_lessons" else find(name, *rest)
subprocess.run = lambda command, **options: print(*command[1:])
runpy.run_path("cell.py")
"""


def run_setup(folder, url):
    (folder / "cell.py").write_text(repository.setup_cell(url))
    return subprocess.run(
        [sys.executable, "-c", FRESH], cwd=folder, capture_output=True, text=True, check=False
    )


def test_setup_cell_installs_the_wheel_that_lies_beside_it(tmp_path):
    (tmp_path / "mha_lessons-0.1.0-py3-none-any.whl").touch()
    for url in (repository.PLACEHOLDER, ADDRESS):
        said = run_setup(tmp_path, url).stdout
        assert said == "-m pip install -q mha_lessons-0.1.0-py3-none-any.whl\n"


def test_setup_cell_installs_from_the_address_where_no_wheel_lies(tmp_path):
    said = run_setup(tmp_path, ADDRESS).stdout
    assert said == f"-m pip install -q mha-lessons @ git+{ADDRESS}\n"


def test_setup_cell_without_wheel_and_address_says_what_to_do(tmp_path):
    stopped = run_setup(tmp_path, repository.PLACEHOLDER)
    assert stopped.returncode == 1
    assert stopped.stderr.splitlines()[-2:] == [
        "ModuleNotFoundError: This notebook needs the file mha_lessons-*.whl, which the book"
        " offers beside it.",
        "Upload that file to the folder of this notebook, then run this cell again.",
    ]


def test_setup_cell_does_nothing_where_the_package_is(tmp_path):
    (tmp_path / "cell.py").write_text(repository.setup_cell(ADDRESS))
    (tmp_path / "mha_lessons.py").touch()
    fresh = "import subprocess; subprocess.run = None; exec(open('cell.py').read())"
    subprocess.run([sys.executable, "-c", fresh], cwd=tmp_path, check=True)


def test_setup_cell_leaves_torch_to_the_machine():
    assert "torch" not in repository.setup_cell(ADDRESS) + repository.setup_cell(
        repository.PLACEHOLDER
    )
