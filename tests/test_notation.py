"""One name for one thing: the page of notation, the library and the chapters agree."""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import jupytext
import numpy as np
import pytest
import torch
import yaml

from mha_lessons import figures

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "mha_lessons"
TEXT = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
OURS, THEIRS = TEXT.split("\n## Other libraries' names\n")
# What a reader of the chapters calls: its arguments are the page's.
CALLED = "equation vectorized module tiled kernel fused masks projections cache cost heads".split()
# Arguments that say nothing about attention, or whose whole meaning is in one function.
ELSEWHERE = {
    *("self", "cls", "device", "dtype", "options"),  # Python's and torch's
    *("x", "masks", "scores_shape"),  # any array; several masks; a shape
    *("order", "layers", "bytes_per_element", "skips_future"),  # said where they stand
}
# Names of other libraries and older texts for what the page calls otherwise.
FOREIGN = [
    *("n_heads", "n_head", "nhead", "nheads", "num_attention_heads", "embed_dim", "hidden_size"),
    *("head_dim", "d_head", "head_size", "seq_len", "seqlen", "n_embd", "key_dim"),
    *("weight matrix", "weight matrices", "learned weights", "attention matrix"),
]


def tables(text, first="in code"):
    """Yield the rows of the tables that have a column of this name, as dictionaries."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = (
            [c.strip() for c in re.split(r"(?<!\\)\|", r[1:-1])] for r in block.splitlines()
        )
        if first in head:
            yield from (dict(zip(head, row, strict=True)) for row in rows)


def code_names(text=OURS):
    """Return the identifiers of the column `in code`."""
    spans = [s for row in tables(text) for s in re.findall(r"`([^`]+)`", row["in code"])]
    return {node.id for s in spans for node in ast.walk(ast.parse(s)) if isinstance(node, ast.Name)}


def identifiers():
    """Return what the library's modules name: parameters, attributes, variables, functions."""
    found = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.arg(arg=name) | ast.Attribute(attr=name):
                    found.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name):
                    found.add(name)
    return found


def parameters():
    """Yield (module.function, parameter) for what a reader calls."""
    for name in CALLED:
        module = importlib.import_module(f"mha_lessons.{name}")
        for thing in vars(module).values():
            if getattr(thing, "__module__", "") != module.__name__ or thing.__name__[0] == "_":
                continue
            methods = vars(thing).items() if inspect.isclass(thing) else [("", thing)]
            for method, f in methods:
                f = getattr(f, "__func__", f)
                if inspect.isfunction(f) and (method == "__init__" or not method.startswith("_")):
                    for parameter in inspect.signature(f).parameters:
                        yield f"{name}.{thing.__name__}.{method}".rstrip("."), parameter


def chapters():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    (numbered,) = [part for part in toc["parts"] if part.get("numbered")]
    return [ROOT / f"{chapter['file']}.md" for chapter in numbered["chapters"]]


def plain(symbol):
    """Return a symbol without its colour and its spaces."""
    return re.sub(r"\\(?:query|key|val|out)\{(.*?)\}|\s", r"\1", symbol)


every_chapter = pytest.mark.parametrize("chapter", chapters(), ids=lambda path: path.stem)


@pytest.mark.parametrize("name", sorted(code_names()))
def test_every_name_in_code_is_a_name_of_the_library(name):
    if name != "i":  # a subscript
        assert name in identifiers()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel needs Triton, which is for Linux")
def test_public_signatures_have_the_names_of_the_page():
    pytest.importorskip("triton")
    known = code_names() | ELSEWHERE
    assert [f"{where}({name})" for where, name in parameters() if name not in known] == []


def test_no_exception_is_idle():
    used = {name for _, name in parameters()} if importlib.util.find_spec("triton") else ELSEWHERE
    assert ELSEWHERE <= used
    assert not ELSEWHERE & code_names()


@every_chapter
def test_every_new_symbol_stands_on_the_page(chapter):
    text = chapter.read_text(encoding="utf-8")
    (line,) = re.findall(r"^New symbols\n: (.+)$", text, re.MULTILINE)
    known = set(map(plain, re.findall(r"\$(.+?)\$", OURS)))
    assert [s for s in re.findall(r"\$(.+?)\$", line) if plain(s) not in known] == []


def outside_of_other_libraries(chapter):
    """Return a chapter without its section on what other libraries do."""
    text = chapter.read_text(encoding="utf-8")
    return re.sub(r"^## In practice\n.*?(?=^## )", "", text, flags=re.DOTALL | re.MULTILINE)


@every_chapter
def test_chapters_use_no_other_name_for_what_the_page_names(chapter):
    text = outside_of_other_libraries(chapter)
    found = [name for name in FOREIGN if re.search(rf"(?<!\w){name}(?!\w)", text)]
    assert found == []


@every_chapter
def test_einsums_of_the_chapters_use_the_letters_of_the_page(chapter):
    letters = {m for row in tables(OURS) for m in re.findall(r"`(\w)`", str(row.get(LETTER, "")))}
    assert letters == set("btsmhkv")
    cells = [c.source for c in jupytext.read(chapter, fmt="md:myst").cells if c.cell_type == "code"]
    used = re.findall(r"einsum\(\s*\"([^\"]+)\"", "\n".join(cells))
    assert [e for e in used if not set(re.sub(r"[^a-z]", "", e)) <= letters] == []


LETTER = "letter in {term}`einsum`"


def test_maps_say_who_reads_and_who_is_read():
    panels = figures.weight_maps(np.full((3, 2, 2), 0.5), ["a", "b"]).axes[:3]
    assert panels[0].get_ylabel() == "query (reads)"
    assert {panel.get_xlabel() for panel in panels} == {"key (is read)"}


def test_no_page_draws_a_map_by_other_means():
    by_hand = re.compile(r"\b(?:imshow|matshow|pcolormesh|heatmap)\(")
    assert [p.name for p in (ROOT / "book").glob("*.md") if by_hand.search(p.read_text())] == []


def column(title):
    """Return the code spans of a column among other libraries' names."""
    rows = [row[title] for row in tables(THEIRS, title)]
    assert rows
    return {word for cell in rows for word in re.findall(r"`([\w.]+)`", cell)}


def test_torch_has_the_names_that_the_page_gives_it():
    layer = torch.nn.MultiheadAttention(4, 2)
    known = {
        *inspect.signature(torch.nn.MultiheadAttention.__init__).parameters,
        *inspect.signature(torch.nn.MultiheadAttention.forward).parameters,
        *layer.state_dict(),
    }
    named = {n for n in column("`torch.nn.MultiheadAttention`") if n not in ("L", "S")}
    assert named - known - {"True"} == set()
    assert len(named) >= 10
    said = torch.nn.functional.scaled_dot_product_attention.__doc__
    named = {n for n in column("`scaled_dot_product_attention`") if n not in ("L", "S")}
    assert [n for n in named if not re.search(rf"\b{n}\b", said)] == []


@pytest.mark.parametrize("title", ["BERT", "GPT-2", "Llama"])
def test_transformers_has_the_names_that_the_page_gives_it(title):
    transformers = pytest.importorskip("transformers")
    name = {"BERT": "Bert", "GPT-2": "GPT2", "Llama": "Llama"}[title]
    config = getattr(transformers, f"{name}Config")()
    module = importlib.import_module(f"transformers.models.{name.lower()}.modeling_{name.lower()}")
    source = inspect.getsource(module)
    for word in column(title):
        assert hasattr(config, word) or f"self.{word.split('.')[-1]} = " in source, word
