"""Live figures: the numbers of the course under the reader's hands."""

import json
from decimal import ROUND_HALF_UP, Decimal
from html import escape
from math import isfinite
from numbers import Integral, Real
from pathlib import Path

import anywidget
import numpy as np
import traitlets
from jaxtyping import Float

from mha_lessons import toy

STATIC = Path(__file__).parent / "static"
MOST_TOKENS, MOST_EDIT = 8, 10
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.1, 10

BOOK_DARK = 'html[data-theme="dark"]'
# JupyterLab, VS Code, Colab
NOTEBOOK_DARK = 'body[data-jp-theme-light="false"], body.vscode-dark, html[theme="dark"]'


def _read(name):
    return (STATIC / name).read_text(encoding="utf-8")


def _styles():
    """Join both style sheets, and let the dark colours answer to notebook programs' dark themes."""
    palette = _read("palette.css").replace(BOOK_DARK, f"{BOOK_DARK}, {NOTEBOOK_DARK}")
    return palette + _read("attention_lab.css")


class AttentionLab(anywidget.AnyWidget):
    """Let one attention head run under the reader's hands.

    weights = softmax(Q K^T / sqrt(d_k) / temperature + edits), output = weights V

    In Jupyter the figure and this object share one state: what the reader changes by hand is what
    `scores`, `weights` and `output` then hold, and what is set here shows in the figure. On a
    static page the figure computes for itself, and without JavaScript a table of numbers stays.
    The numbers are made up (see `mha_lessons.toy`): an illustration, not a trained model.

    Parameters
    ----------
    tokens : list of 1 to 8 words, or one string of them
    temperature : float, 0.1 to 10
        Divides the scores.
    causal : bool
        Let each query read itself and earlier words only.
    edits : dict from (query, key) to a number from -10 to 10
        What to add to single scores. An edit stays while its cell exists.
    query, key : int
        The selected score.

    Raises
    ------
    traitlets.TraitError
        When a value breaks one of these rules; the message says what to do.

    References
    ----------
    Chapter 1.

    Examples
    --------
    >>> from mha_lessons.widgets import AttentionLab
    >>> lab = AttentionLab(tokens="the cat sat down", edits={(1, 2): 2.0})
    >>> lab.weights[1].round(2)
    array([0.07, 0.03, 0.9 , 0.  ])
    """

    _esm = (
        _read("attention_lab.js")
        + "\nexport default { render: globalThis.mhaAttentionLab.render };\n"
    )
    _css = _styles()

    tokens = traitlets.Any(("the", "cat", "sat", "down")).tag(sync=True)
    temperature = traitlets.Any(1.0).tag(sync=True)
    causal = traitlets.Any(False).tag(sync=True)
    edits = traitlets.Any().tag(
        sync=True,
        to_json=lambda edits, _: [[*cell, amount] for cell, amount in edits.items()],
        from_json=lambda triples, _: {(i, j): amount for i, j, amount in triples},
    )
    query = traitlets.Any(1).tag(sync=True)
    key = traitlets.Any(2).tag(sync=True)

    @property
    def scores(self) -> Float[np.ndarray, "T T"]:
        """What softmax gets: (T, T), -inf where the causal mask hides a key."""
        return self._head().scores

    @property
    def weights(self) -> Float[np.ndarray, "T T"]:
        """What softmax makes of it: (T, T), rows are queries and sum to 1."""
        return self._head().weights

    @property
    def output(self) -> Float[np.ndarray, "T d_v"]:
        """One weighted sum of values per query: (T, d_v)."""
        return self._head().output

    def static_html(self) -> str:
        """Write the figure for a page without a kernel: a custom element around plain tables.

        The script attention_lab.js replaces the tables by the live figure.
        """
        traits = self.traits()
        config = {
            name: traits[name].metadata.get("to_json", lambda x, _: x)(getattr(self, name), self)
            for name in STATE
        }
        attribute = escape(json.dumps(config, ensure_ascii=False))
        words = [escape(word) for word in self.tokens]
        keys = "".join(f'<th scope="col">{word}</th>' for word in words)
        head = self._head()
        scores = _table(
            "Scores of one attention head before softmax. "
            "Rows: query (reads), columns: key (is read).",
            keys,
            zip(words, head.scores, strict=True),
        )
        weights = _table(
            "Weights after softmax, their sum, and the output, a weighted sum of values "
            f"with {toy.D_V} features. Made-up numbers, no trained model.",
            f'{keys}<th scope="col">sum</th>'
            + "".join(f'<th scope="col">output {v + 1}</th>' for v in range(toy.D_V)),
            zip(
                words,
                np.column_stack([head.weights, head.weights.sum(-1), head.output]),
                strict=True,
            ),
        )
        return (
            f'<mha-attention-lab config="{attribute}" data-tokens="{len(words)}">'
            f"<div>{scores}{weights}</div></mha-attention-lab>"
        )

    def _head(self):
        return toy.attend(self.tokens, self.temperature, self.causal, self.edits)

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/html": self.static_html()}, metadata

    def __repr__(self):
        state = ", ".join(f"{name}={getattr(self, name)!r}" for name in STATE)
        return f"AttentionLab({state})"

    @traitlets.default("edits")
    def _no_edits(self):
        return {}

    @traitlets.validate("tokens")
    def _check_tokens(self, proposal):
        return _words(proposal.value)

    @traitlets.validate("temperature")
    def _check_temperature(self, proposal):
        value = proposal.value
        if not _is_number(value) or not LOWEST_TEMPERATURE <= value <= HIGHEST_TEMPERATURE:
            raise traitlets.TraitError(
                f"temperature divides the scores and must be a number from {LOWEST_TEMPERATURE} to "
                f"{HIGHEST_TEMPERATURE}: got {value!r}. Use 1 to leave the scores as they are."
            )
        return float(value)

    @traitlets.validate("causal")
    def _check_causal(self, proposal):
        if not isinstance(proposal.value, bool | np.bool_):
            raise traitlets.TraitError(
                f"causal must be True or False: got {proposal.value!r}. "
                f"Use True to hide later words from each query."
            )
        return bool(proposal.value)

    @traitlets.validate("edits")
    def _check_edits(self, proposal):
        edits, T = proposal.value, len(_words(self.tokens))
        if not isinstance(edits, dict):
            raise traitlets.TraitError(
                f"edits must be a dict from (query, key) to a number: got {edits!r}. "
                f"Write {{(1, 2): 0.5}} to add 0.5 to the score of query 1 and key 2."
            )
        for cell, amount in edits.items():
            if not (
                isinstance(cell, tuple) and len(cell) == 2 and all(_is_index(i, T) for i in cell)
            ):
                raise traitlets.TraitError(
                    f"edits must name cells (query, key), both from 0 to {T - 1} for {T} tokens: "
                    f"got {cell!r}. Count words from 0."
                )
            if not _is_number(amount) or abs(amount) > MOST_EDIT:
                raise traitlets.TraitError(
                    f"edits must add a number from -{MOST_EDIT} to {MOST_EDIT} to a score: "
                    f"got {amount!r} for {cell}. Use a smaller number: 5 is a factor of e^5 = 148."
                )
        return {(int(i), int(j)): float(amount) for (i, j), amount in edits.items() if amount}

    @traitlets.validate("query", "key")
    def _check_selection(self, proposal):
        T = len(_words(self.tokens))
        if not _is_index(proposal.value, T):
            raise traitlets.TraitError(
                f"{proposal.trait.name} must be the number of a word, from 0 to {T - 1} for "
                f"{T} tokens: got {proposal.value!r}. Count words from 0."
            )
        return int(proposal.value)

    @traitlets.observe("tokens")
    def _keep_inside(self, change):
        """Drop edits and selections whose cells have gone with the tokens."""
        T = len(self.tokens)
        self.edits = {cell: amount for cell, amount in self.edits.items() if max(cell) < T}
        self.query, self.key = min(self.query, T - 1), min(self.key, T - 1)


STATE = ("tokens", "temperature", "causal", "edits", "query", "key")


def _words(tokens):
    words = tuple(tokens.split()) if isinstance(tokens, str) else tokens
    if not isinstance(words, list | tuple) or not 1 <= len(words) <= MOST_TOKENS:
        raise traitlets.TraitError(
            f"tokens must be 1 to {MOST_TOKENS} words: got {tokens!r}. "
            f"Pass a list such as ['the', 'cat'] or one string."
        )
    for word in words:
        if not isinstance(word, str) or word.split() != [word]:
            raise traitlets.TraitError(
                f"Every token must be one word without spaces: got {word!r}. "
                f"Split it, or join its parts with a hyphen."
            )
    return tuple(words)


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _is_index(value, T):
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= value < T


def _fixed(x, digits=2):
    """Round as JavaScript's toFixed does (ties away from zero), with a true minus sign."""
    if x == -np.inf:
        return "−∞"
    rounded = Decimal(float(x)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return str(abs(rounded) if rounded == 0 else rounded).replace("-", "−")


def _table(caption, heads, rows):
    body = "".join(
        f'<tr><th scope="row">{word}</th>{"".join(f"<td>{_fixed(x)}</td>" for x in row)}</tr>'
        for word, row in rows
    )
    return (
        f"<table><caption>{caption}</caption>"
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )
