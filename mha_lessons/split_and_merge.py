"""Numbered features on their way through split and merge, by the right moves or a plain reshape.

The tens digit of a feature is its position and the ones digit its column, so each array of the way
says where its entries came from. `static/split_merge.js` computes the same; the tests hold the two
together.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Num

from mha_lessons import checks, masks, vectorized
from mha_lessons.projections import merge_heads, split_heads

PLAIN_RESHAPES = ("nowhere", "split", "merge", "both")

Heads = Num[np.ndarray, "h T d_k"]


class Stage(NamedTuple):
    """One array of the way: what made it, its axes by name, its entries."""

    name: str
    move: str
    axes: tuple[str, ...]
    array: Num[np.ndarray, "..."]


def numbered(T: int, d_model: int) -> Num[np.ndarray, "T d_model"]:
    """Number features by position and column: x[t, m] = 10 t + m.

    Parameters
    ----------
    T, d_model : int

    Returns
    -------
    (T, d_model)
    """
    return 10.0 * np.arange(T)[:, None] + np.arange(d_model)  # (T, d_model)


def journey(
    x: Num[np.ndarray, "T d_model"],
    num_heads: int,
    plain_reshape: str = "nowhere",
    read: Callable[[Heads], Heads] = lambda heads: heads,
) -> list[Stage]:
    """Lead x through split, heads and merge, and keep every array on the way.

    Parameters
    ----------
    x : (T, d_model)
    num_heads : int
    plain_reshape : "nowhere", "split", "merge" or "both"
        Where one reshape to the wanted shape stands instead of the two right moves.
    read : function from (num_heads, T, d_k) to (num_heads, T, d_k), optional
        What the heads do; they hand on what they got unless given.

    Returns
    -------
    list of Stage
        ``projected``, ``reshaped``, ``split``, ``read``, ``swapped`` and ``merged``; a plain
        reshape leaves out ``reshaped`` or ``swapped``.

    Raises
    ------
    ValueError
        When `num_heads` does not divide the width of `x`.

    References
    ----------
    Chapter 2.
    """
    T, d_model = x.shape
    d_k = checks.divides(num_heads, d_model)
    stages = [Stage("projected", "x", ("T", "d_model"), x)]

    if plain_reshape in ("split", "both"):
        heads = x.reshape(num_heads, T, d_k)  # (h, T, d_k) in shape only
        split_move = "reshape(h, T, d_k)"
    else:
        heads = split_heads(x, num_heads)  # (h, T, d_k)
        split_move = "swapaxes(0, 1)"
        rows = x.reshape(T, num_heads, d_k)  # (T, h, d_k)
        stages.append(Stage("reshaped", "reshape(T, h, d_k)", ("T", "h", "d_k"), rows))
    stages.append(Stage("split", split_move, ("h", "T", "d_k"), heads))

    heads = read(heads)  # (h, T, d_k)
    stages.append(Stage("read", "attention, head by head", ("h", "T", "d_k"), heads))

    if plain_reshape in ("merge", "both"):
        merged = heads.reshape(T, d_model)  # (T, h * d_k) in shape only
    else:
        merged = merge_heads(heads)  # (T, h * d_k)
        rows = heads.swapaxes(0, 1)  # (T, h, d_k)
        stages.append(Stage("swapped", "swapaxes(0, 1)", ("T", "h", "d_k"), rows))
    return [*stages, Stage("merged", "reshape(T, h * d_k)", ("T", "h * d_k"), merged)]


def misplaced(stages: list[Stage], right: list[Stage]) -> dict[str, Bool[np.ndarray, "..."]]:
    """Mark the entries that stand elsewhere on the right way, for each stage by its name.

    Parameters
    ----------
    stages, right : list of Stage
        Two results of `journey` for the same x.

    Returns
    -------
    dict from a stage's name to a boolean array of its shape
    """
    there = {stage.name: stage.array for stage in right}
    return {stage.name: stage.array != there[stage.name] for stage in stages}


def attend(mask: Bool[np.ndarray, "T T"] | None = None) -> Callable[[Heads], Heads]:
    """Make the heads read with attention, each with its entries as Q, K and V.

    Parameters
    ----------
    mask : boolean (T, T), optional
        True = may attend.

    Returns
    -------
    function from (num_heads, T, d_k) to (num_heads, T, d_k)
    """
    return lambda heads: vectorized.attention(heads, heads, heads, mask)


def position_before(T: int) -> Bool[np.ndarray, "T T"]:
    """Let each position read the one before it and no other; position 0 reads itself.

    Parameters
    ----------
    T : int

    Returns
    -------
    (T, T)
        One key per query, so its weight is exactly 1.
    """
    return np.arange(T) == np.maximum(np.arange(T)[:, None] - 1, 0)  # (T, T)


def passes(T: int, d_model: int, num_heads: int, plain_reshape: str) -> dict[str, bool]:
    """Run five tests that somebody could write for a layer, and say which of them pass.

    Parameters
    ----------
    T, d_model, num_heads : int
    plain_reshape : "nowhere", "split", "merge" or "both"

    Returns
    -------
    dict from a test's name to whether it passes
        ``shape`` looks at the shape of the result, ``one position`` compares with the right layer
        for T = 1, ``round trip`` merges what was split, ``causality`` changes the last position
        under a causal mask, ``loop`` compares with attention on each head's columns in turn.
    """
    x = numbered(T, d_model) / 10

    def layer(x, read, plain_reshape=plain_reshape):
        return journey(x, num_heads, plain_reshape, read)[-1].array

    causal = attend(masks.causal(T))
    changed = x.copy()
    changed[-1] += 1
    columns = np.split(x, num_heads, axis=1)  # h arrays (T, d_k)
    loop = np.concatenate([attend()(head[None])[0] for head in columns], axis=1)  # (T, h * d_k)
    one = x[-1:]  # (1, d_model)
    return {
        "shape": layer(x, attend()).shape == x.shape,
        "one position": np.allclose(layer(one, attend()), layer(one, attend(), "nowhere")),
        "round trip": np.array_equal(layer(x, lambda heads: heads), x),
        "causality": np.allclose(layer(x, causal)[:-1], layer(changed, causal)[:-1]),
        "loop": np.allclose(layer(x, attend()), loop),
    }
