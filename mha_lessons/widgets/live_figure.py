"""What every live figure shares on the Python side: its hosts, its table, its rules."""

import json
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from html import escape
from math import inf
from numbers import Integral, Real
from pathlib import Path

import anywidget
import numpy as np
import traitlets

STATIC = Path(__file__).parents[1] / "static"
SHARED = "live_figure"

BOOK_DARK = 'html[data-theme="dark"]'
# JupyterLab, VS Code, Colab
NOTEBOOK_DARK = 'body[data-jp-theme-light="false"], body.vscode-dark, html[theme="dark"]'


def _read(name):
    return (STATIC / name).read_text(encoding="utf-8")


class State(traitlets.Any):
    """One part of a figure's state: its validator sees every value, None too."""

    allow_none = False


class LiveFigure(anywidget.AnyWidget):
    """Show numbers that the reader can change, in Jupyter and on a page without a kernel.

    A figure is three things of one name: a subclass here, ``static/<name>.js`` and
    ``static/<name>.css``. Its custom element is ``mha-<name>``, its script's global ``mha<Name>``:

        class AttentionLab(LiveFigure, figure="attention_lab"):

    In Jupyter the figure and this object share one state, the traits named in `STATE`. On a static
    page the figure computes for itself, and without JavaScript `_tables` stays.
    """

    STATE: tuple[str, ...] = ()

    def __init_subclass__(cls, *, figure=None, **kwargs):
        if figure is not None:  # traitlets makes subclasses of its own
            cls._tag = f"mha-{figure.replace('_', '-')}"
            cls._esm = (
                f"{_read(f'{SHARED}.js')}\n{_read(f'{figure}.js')}\n"
                f"export default {{ render: globalThis.mha{cls.__name__}.render }};\n"
            )
            # The dark colours answer to notebook programs' dark themes too.
            palette = _read("palette.css").replace(BOOK_DARK, f"{BOOK_DARK}, {NOTEBOOK_DARK}")
            cls._css = palette + _read(f"{SHARED}.css") + _read(f"{figure}.css")
        super().__init_subclass__(**kwargs)

    def static_html(self) -> str:
        """Write the figure for a page without a kernel: a custom element around plain tables.

        The figure's script replaces the tables by the live figure.
        """
        traits = self.traits()
        state = {
            name: traits[name].metadata.get("to_json", lambda x, _: x)(getattr(self, name), self)
            for name in self.STATE
        }
        config = escape(json.dumps(state, ensure_ascii=False))
        data = "".join(f' data-{name}="{value}"' for name, value in self._data().items())
        style = "".join(f"--mha-{name}:{value};" for name, value in self._data().items())
        return (
            f'<{self._tag} class="mha-figure" config="{config}"{data} style="{style}">'
            # A table that is wider than a phone is scrolled in here, by keyboard too.
            f'<div role="group" aria-label="The numbers of this figure" tabindex="0">'
            f"{''.join(self._tables())}</div></{self._tag}>"
        )

    def _tables(self) -> Iterable[str]:
        """Write what a reader without JavaScript sees, with `table`."""
        raise NotImplementedError

    def _data(self) -> dict[str, object]:
        """Name what the style sheet must know to keep room: data-<name> and --mha-<name>."""
        return {}

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/html": self.static_html()}, metadata

    def __repr__(self):
        def text(value):
            return repr(value.tolist() if isinstance(value, np.ndarray) else value)

        state = ", ".join(f"{name}={text(getattr(self, name))}" for name in self.STATE)
        return f"{type(self).__name__}({state})"


def is_number(value) -> bool:
    """Tell whether `value` is a finite number, and no boolean."""
    return isinstance(value, Real) and not isinstance(value, bool) and -inf < value < inf


def is_index(value, size: int) -> bool:
    """Tell whether `value` is an integer from 0 to size - 1, and no boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= value < size


def switch(proposal, advice: str) -> bool:
    """Return the proposed value of a trait that is True or False, or say that it must be."""
    if not isinstance(proposal.value, bool | np.bool_):
        raise traitlets.TraitError(
            f"{proposal.trait.name} must be True or False: got {proposal.value!r}. {advice}"
        )
    return bool(proposal.value)


def one_of(name: str, value, words: Iterable[str]) -> str:
    """Return the value of a trait that is one of some words, or say which they are."""
    if not isinstance(value, str) or value not in words:
        raise traitlets.TraitError(
            f"{name} must be one of {', '.join(map(repr, words))}: got {value!r}. Use one of these."
        )
    return value


def fixed(x: float, digits: int = 2) -> str:
    """Round as JavaScript's toFixed does (ties away from zero), with a true minus sign."""
    if x == -np.inf:
        return "−∞"
    rounded = Decimal(float(x)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return str(abs(rounded) if rounded == 0 else rounded).replace("-", "−")


def table(caption: str, columns: Iterable[str], rows: Iterable[tuple[str, Iterable]]) -> str:
    """Write a table: `rows` are pairs of a heading and its cells, numbers or texts."""

    def text(cell):
        return escape(cell) if isinstance(cell, str) else fixed(cell)

    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row)}</th>'
        + "".join(f"<td>{text(cell)}</td>" for cell in cells)
        + "</tr>"
        for row, cells in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )
