"""The library's code as the book shows it: from the library itself, without its docstring."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "mha_lessons"


def module_path(name):
    """Return the file that a name such as `vectorized.attention` lives in."""
    return PACKAGE / f"{name.split('.')[0]}.py"


def code_of(name):
    """Return the source of a function or class without its docstring.

    Parameters
    ----------
    name : str
        Module and name within `mha_lessons`, such as ``vectorized.attention``.

    Raises
    ------
    ValueError
        When the library has no such name.
    """
    _, *parts = name.split(".")
    text = module_path(name).read_text(encoding="utf-8") if module_path(name).exists() else ""
    node = ast.parse(text)
    for part in parts:
        node = next((n for n in getattr(node, "body", ()) if getattr(n, "name", "") == part), None)
    if node is None or not parts or not text:
        raise ValueError(
            f"The library has no {name}. Name a module and what it defines: vectorized.attention."
        )
    lines = text.split("\n")
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    kept = lines[first - 1 : node.end_lineno]
    if ast.get_docstring(node) is not None:
        docstring = node.body[0]
        del kept[docstring.lineno - first : docstring.end_lineno - first + 1]
    indent = len(kept[0]) - len(kept[0].lstrip())
    return "\n".join(line[indent:] for line in kept)
