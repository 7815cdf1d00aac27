"""A mask, painted by hand, and what it does to the weights."""

from typing import NamedTuple

import numpy as np
import traitlets
from jaxtyping import Bool, Float

from mha_lessons import masks, toy, vectorized
from mha_lessons.widgets.attention_lab import words_of
from mha_lessons.widgets.live_figure import LiveFigure, State, fixed, is_index, table

FILL = -1e9
PRESETS = ("all", "causal", "padding", "both", "cache", "left padding")
# How many keys the presets hide as padding, or take from a cache.
ASIDE = 2


class Ways(NamedTuple):
    """Five ways to treat hidden scores, of which one is right."""

    unmasked: Float[np.ndarray, "T S"]
    weights: Float[np.ndarray, "T S"]
    bare: Float[np.ndarray, "T S"]
    filled: Float[np.ndarray, "T S"]
    zeroed: Float[np.ndarray, "T S"]


def ways(scores: Float[np.ndarray, "T S"], mask: Bool[np.ndarray, "T S"]) -> Ways:
    """Treat the hidden scores in five ways.

    unmasked  softmax(scores)
    weights   softmax(scores, -inf where hidden), and zeros for a query that may read nothing
    bare      the same formula without that case: 0 / 0
    filled    softmax(scores, -1e9 where hidden)
    zeroed    softmax(scores), 0 where hidden

    Parameters
    ----------
    scores : (T, S)
    mask : (T, S) boolean, True = may attend

    Returns
    -------
    Ways

    References
    ----------
    Chapter 4.
    """
    unmasked = vectorized.softmax(scores)  # (T, S)
    masked = np.where(mask, scores, -np.inf)  # (T, S)
    with np.errstate(invalid="ignore"):
        exps = np.exp(masked - masked.max(-1, keepdims=True))  # (T, S)
        bare = exps / exps.sum(-1, keepdims=True)  # (T, S)
    return Ways(
        unmasked,
        vectorized.softmax(masked),
        bare,
        vectorized.softmax(np.where(mask, scores, FILL)),
        np.where(mask, unmasked, 0),
    )


def preset(name: str, S: int) -> Bool[np.ndarray, "T S"]:
    """Make one of the painter's first masks for S keys; `PRESETS` names them."""
    aside = min(ASIDE, S - 1)
    right = masks.padding([S - aside], S)[0, 0]  # (1, S)
    return {
        "all": np.ones((S, S), dtype=bool),
        "causal": masks.causal(S),
        "padding": np.repeat(right, S, axis=0),
        "both": masks.combine(masks.causal(S), right),
        "cache": masks.causal(S - aside, S),
        "left padding": masks.combine(masks.causal(S), right[:, ::-1]),
    }[name]


class MaskPainter(LiveFigure, figure="mask_painter"):
    """Let a mask be painted, and show what it does to the weights.

    weights = softmax(Q K^T / sqrt(d_k), -inf where hidden); a query that may read nothing gets 0

    In Jupyter the figure and this object share one state: the mask that the reader paints is
    `mask`, and what is set here shows in the figure. The scores are made up (see
    `mha_lessons.toy`).

    Parameters
    ----------
    mask : boolean array (T, S), nested lists, or a name, optional
        True = may attend. The T queries are the last T of the S words. Leading axes of 1 are
        dropped, and a mask for every query, as `masks.padding` makes it, is repeated for each.
        The names are "all", "causal", "padding", "both", "cache" (causal, fewer queries than keys)
        and "left padding" (causal, with blank rows).
    tokens : list of 1 to 8 words, or one string of them
        The keys.
    query, key : int
        The selected cell.

    Raises
    ------
    traitlets.TraitError
        When a value breaks one of these rules; the message says what to do.

    References
    ----------
    Chapter 4.

    Examples
    --------
    >>> from mha_lessons.widgets import MaskPainter
    >>> painter = MaskPainter(mask="cache")
    >>> painter.mask.shape
    (3, 5)
    >>> painter.mask = [[True, False, False, False, False], [False] * 5]
    >>> painter.weights
    array([[1., 0., 0., 0., 0.],
           [0., 0., 0., 0., 0.]])
    """

    STATE = ("tokens", "mask", "query", "key")

    tokens = State(("the", "cat", "sat", "down", "today")).tag(sync=True)
    mask = State().tag(sync=True, to_json=lambda mask, _: mask.tolist())
    query = State(1).tag(sync=True)
    key = State(2).tag(sync=True)

    @property
    def scores(self) -> Float[np.ndarray, "T S"]:
        """The scores before the mask: (T, S)."""
        head = toy.attend(self.tokens)
        return head.scores[len(self.tokens) - len(self.mask) :]

    @property
    def weights(self) -> Float[np.ndarray, "T S"]:
        """What the project's rule makes of scores and mask: (T, S)."""
        return self.ways().weights

    def ways(self) -> Ways:
        """Treat the hidden scores in five ways: see `Ways`."""
        return ways(self.scores, self.mask)

    def _tables(self):
        keys, found = self.tokens, self.ways()
        queries = keys[len(keys) - len(self.mask) :]
        masked = np.where(self.mask, self.scores, -np.inf)
        yield table(
            "Scores of one attention head, −∞ where the mask hides the key. "
            "Rows: query (reads), columns: key (is read).",
            keys,
            zip(queries, masked, strict=True),
        )
        yield table(
            "Weights after softmax, and their sum. Made-up numbers, no trained model.",
            [*keys, "sum"],
            zip(
                queries,
                np.column_stack([found.weights, found.weights.sum(-1)]),
                strict=True,
            ),
        )
        names = {
            "no mask": found.unmasked,
            "−∞, zeros for a blank row (the rule)": found.weights,
            "−∞ in a bare softmax": found.bare,
            "−10⁹ in place of −∞": found.filled,
            "zeros after softmax": found.zeroed,
        }
        yield table(
            f"The weights of the query “{queries[self.query]}” in five ways.",
            [*keys, "sum"],
            (
                (name, [fixed(x) for x in (*rows[self.query], rows[self.query].sum())])
                for name, rows in names.items()
            ),
        )

    def _data(self):
        return {"tokens": len(self.tokens), "queries": len(self.mask)}

    @traitlets.default("mask")
    def _causal(self):
        return preset("causal", len(words_of(self.tokens)))

    @traitlets.validate("tokens")
    def _check_tokens(self, proposal):
        return words_of(proposal.value)

    @traitlets.validate("mask")
    def _check_mask(self, proposal):
        return _mask_of(proposal.value, len(words_of(self.tokens)))

    @traitlets.validate("query", "key")
    def _check_selection(self, proposal):
        S = len(words_of(self.tokens))
        name = proposal.trait.name
        T = len(_mask_of(self.mask, S))
        size, what = (T, "rows of the mask") if name == "query" else (S, "keys")
        if not is_index(proposal.value, size):
            raise traitlets.TraitError(
                f"{name} must be from 0 to {size - 1} for {size} {what}: "
                f"got {proposal.value!r}. Count from 0."
            )
        return int(proposal.value)

    @traitlets.observe("tokens", "mask")
    def _keep_inside(self, change):
        """Fit the mask to new words: the preset that it was, or else a causal one."""
        S = len(self.tokens)
        if self.mask.shape[1] != S:
            names = (n for n in PRESETS if np.array_equal(self.mask, preset(n, len(change.old))))
            self.mask = preset(next(names, "causal"), S)
        self.query = min(self.query, len(self.mask) - 1)
        self.key = min(self.key, S - 1)


def _mask_of(value, S):
    """Return a mask as a boolean (T, S) array that nothing can change unseen."""
    if isinstance(value, str):
        if value not in PRESETS:
            raise traitlets.TraitError(
                f"mask must be a boolean array or one of {', '.join(map(repr, PRESETS))}: "
                f"got {value!r}. Use one of these names."
            )
        return _mask_of(preset(value, S), S)
    try:
        mask = np.asarray(value).copy()
    except ValueError:
        raise traitlets.TraitError(
            f"mask must have rows of one length: got {value!r}. Give one column for each key."
        ) from None
    if mask.dtype != bool:
        raise traitlets.TraitError(
            f"mask must be boolean, True = may attend: got {mask.dtype}. "
            f"Convert it with mask == 1, or with mask == 0 if 1 meant hidden."
        )
    while mask.ndim > 2 and mask.shape[0] == 1:
        mask = np.repeat(mask[0], S, axis=-2) if mask.shape[-2] == 1 else mask[0]
    if mask.ndim != 2 or mask.shape[1] != S or not 1 <= mask.shape[0] <= S:
        raise traitlets.TraitError(
            f"mask must be (T, S) with S = {S}, the number of tokens, and T from 1 to {S}: got "
            f"shape {np.shape(value)}. Give one row for each query and one column for each key."
        )
    mask.flags.writeable = False
    return mask
