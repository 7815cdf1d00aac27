"""The ladder's rungs stand side by side: none imports another, and nothing heavy loads unasked."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import mha_lessons
from mha_lessons import equation, module, vectorized

PACKAGE = Path(mha_lessons.__file__).parent
RUNGS = {"equation": equation, "vectorized": vectorized, "module": module}
FUNCTIONS = ["softmax", "attention_weights", "attention", "multi_head_attention"]

# Who may import whom within the package.
ALLOWED = {
    "checks": set(),
    "masks": {"checks"},
    "projections": {"checks"},
    "equation": {"checks", "masks", "projections"},
    "vectorized": {"checks", "masks", "projections"},
    "module": {"cache", "checks", "fused", "kernel", "projections", "torch_masks"},
    "tiled": {"checks", "masks"},
    "kernel": {"checks", "torch_masks"},
    "fused": {"checks", "torch_masks"},
    "cache": {"torch_masks"},
    "torch_masks": {"checks"},
    "cost": {"checks"},
    "layouts": {"checks", "projections"},
    "heads": {"checks", "projections", "vectorized"},
    "figures": set(),
    "split_and_merge": {"checks", "masks", "projections", "vectorized"},
    "same_weights": {"vectorized"},
    "quiz": set(),
}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("name", ALLOWED)
def test_a_module_imports_only_what_stands_below_it(name):
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    ours = {
        part.split(".")[1]
        for part in imported(PACKAGE / f"{name}.py")
        if part.startswith("mha_lessons.")
    }
    assert ours & modules <= ALLOWED[name]


@pytest.mark.parametrize("rung", RUNGS)
def test_a_rung_offers_the_same_functions_in_the_same_order(rung):
    defined = [
        name
        for name, f in vars(RUNGS[rung]).items()
        if inspect.isfunction(f) and f.__module__ == RUNGS[rung].__name__ and name in FUNCTIONS
    ]
    assert defined == FUNCTIONS


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arguments_have_the_same_names_on_every_rung(function):
    positional = {
        tuple(
            p.name
            for p in inspect.signature(getattr(rung, function)).parameters.values()
            if p.kind is not p.KEYWORD_ONLY
        )
        for rung in RUNGS.values()
    }
    assert len(positional) == 1


@pytest.mark.parametrize("name", ["mha_lessons", "mha_lessons.vectorized", "mha_lessons.equation"])
def test_importing_the_numpy_rungs_loads_nothing_heavy(name):
    code = f"import {name}, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert name in loaded
    assert not {"torch", "matplotlib", "IPython", "ipywidgets", "pytest"} & set(loaded)


def documented():
    for rung in RUNGS.values():
        for name, f in vars(rung).items():
            if callable(f) and getattr(f, "__module__", "") == rung.__name__ and name[0] != "_":
                yield pytest.param(f, id=f"{rung.__name__}.{name}")


@pytest.mark.parametrize("f", list(documented()))
def test_every_public_name_says_its_parameters_and_its_errors(f):
    assert "Parameters\n" in f.__doc__
    assert "Raises\n" in f.__doc__
