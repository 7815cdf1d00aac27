"""Rung 4: attention tile by tile, so that the (T, S) array of scores never exists.

The softmax needs the sum of a whole row, yet one pass over the keys is enough: keep the largest
score so far and the sums relative to it, and shrink what is already summed whenever a larger score
turns up. This rung offers `attention` only; never forming the weights is its point.
"""

from math import sqrt

import numpy as np
from jaxtyping import Bool, Float

from mha_lessons import checks, masks


def attention(
    Q: Float[np.ndarray, "*batch T d_k"],
    K: Float[np.ndarray, "*batch S d_k"],
    V: Float[np.ndarray, "*batch S d_v"],
    mask: Bool[np.ndarray, "..."] | None = None,
    *,
    causal: bool = False,
    tile: int = 512,
) -> Float[np.ndarray, "*batch T d_v"]:
    """Average the values, weighted by how well each key answers the query.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    For each tile of queries, over the tiles of keys, with m the largest score so far:

        m'   = max(m, max over the tile of scores)
        sums = exp(m - m') sums + sum over the tile of exp(scores - m')
        out  = exp(m - m') out  + exp(scores - m') V[tile]

    and at the end out / sums.

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
    V : (..., S, d_v)
    mask : boolean, broadcastable to (..., T, S), optional
        True = may attend. It is read tile by tile and never broadcast in memory.
    causal : bool
        Let each query read itself and what came before it, with the last query aligned to the
        last key: `masks.causal` without its array. Tiles that are all hidden are skipped.
    tile : int
        Queries and keys in a tile. Extra memory is a few arrays of (..., tile, tile).

    Returns
    -------
    (..., T, d_v)
        Zeros where a query may attend to nothing.

    Raises
    ------
    TypeError
        When an input is not floating point, or the mask not boolean.
    ValueError
        When shapes do not fit, or `tile` is not positive.

    References
    ----------
    Milakov and Gimelshein 2018, algorithm 3 (one pass over the row); Dao et al. 2022, section 3.1
    (in tiles, with the values).
    """
    checks.attention_inputs(Q, K, V)
    if tile < 1:
        raise ValueError(f"tile must be positive: got {tile}. Try 512 queries and keys at a time.")
    *batch, T, d_k = Q.shape
    S, d_v = V.shape[-2:]
    if mask is not None:
        mask = masks.fit(mask, (*batch, T, S))
    out = np.zeros((*batch, T, d_v), dtype=np.result_type(Q, K, V))
    for t in _tiles(T, tile):
        largest = np.full((*batch, t.stop - t.start, 1), -np.inf, dtype=out.dtype)  # m
        sums = np.zeros_like(largest)
        for s in _tiles(S, tile):
            visible = _visible(t, s, T, S, mask, causal)  # (..., tile, tile), or None for all
            K_tile, V_tile = K[..., s, :], V[..., s, :]
            if visible is not None:
                if not visible.any():
                    continue
                visible = np.broadcast_to(visible, (*batch, *visible.shape[-2:]))
                K_tile = masks.blank_unread(K_tile, visible)
                V_tile = masks.blank_unread(V_tile, visible)
            scores = Q[..., t, :] @ K_tile.swapaxes(-2, -1) / sqrt(d_k)
            if visible is not None:
                scores = np.where(visible, scores, -np.inf)
            new = np.maximum(largest, scores.max(axis=-1, keepdims=True))  # m'
            finite = np.where(new == -np.inf, 0, new)
            shrink, exps = np.exp(largest - finite), np.exp(scores - finite)
            sums = shrink * sums + exps.sum(axis=-1, keepdims=True)
            out[..., t, :] = shrink * out[..., t, :] + exps @ V_tile
            largest = new
        out[..., t, :] /= np.where(sums == 0, 1, sums)
    return out


def _tiles(length, tile):
    return [slice(start, min(start + tile, length)) for start in range(0, length, tile)]


def _visible(t, s, T, S, mask, causal):
    visible = None if mask is None else mask[..., t, s]
    if causal and s.stop - 1 > t.start + S - T:  # some pair of this tile is in the future
        past = np.arange(s.start, s.stop) <= np.arange(t.start, t.stop)[:, None] + S - T
        visible = past if visible is None else visible & past
    return visible
