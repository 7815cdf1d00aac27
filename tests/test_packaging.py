"""The package installs small, holds what the grader needs, and costs nothing to import."""

import subprocess
import sys
import tomllib
import zipfile
from contextlib import chdir

import pytest
from built_book import ROOT
from hatchling.build import build_wheel
from packaging.requirements import Requirement

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins():
    """Return the versions that requirements.txt fixes."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    with chdir(ROOT):
        return folder / build_wheel(str(folder))


def test_wheel_holds_the_whole_package_and_nothing_else(wheel):
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = ROOT / "mha_lessons"
    files = {p for p in package.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert held == {path.relative_to(ROOT).as_posix() for path in files}
    assert {"mha_lessons/static/attention_lab.js", "mha_lessons/static/palette.css"} <= held
    assert any(name.startswith("mha_lessons/grade/reference/") for name in held)


def test_wheel_runs_on_any_python_and_machine(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")


def test_torch_is_asked_for_only_by_name():
    assert not any(Requirement(text).name == "torch" for text in PROJECT["dependencies"])
    assert [Requirement(t).name for t in PROJECT["optional-dependencies"]["torch"]] == ["torch"]


def test_each_range_holds_its_pinned_version():
    extras = PROJECT["optional-dependencies"]
    ranges = [Requirement(text) for text in [*PROJECT["dependencies"], *extras["torch"]]]
    missing = [r.name for r in ranges if r.name not in pins()]
    assert missing == []
    assert [str(r) for r in ranges if pins()[r.name] not in r.specifier] == []


def test_pins_are_exact_and_stand_once():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    names = [line.split("==")[0].lower() for line in lines if line and not line.startswith("#")]
    assert len(names) == len(set(names)) == len(pins())


def test_import_costs_nothing_heavy():
    code = (
        "import sys, mha_lessons;"
        "print(sorted({'torch', 'matplotlib', 'IPython', 'numpy', 'triton'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"
