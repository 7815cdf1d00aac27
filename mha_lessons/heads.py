"""Heads one at a time: silence them, cut them out, reorder them, and see what each contributes.

All of it rests on one identity: Concat(head_1, ..., head_h) W_O = sum_i head_i W_O^i, where W_O^i
is the row block of head i.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from mha_lessons import checks, vectorized
from mha_lessons.projections import Projections


def zero_heads(p: Projections, heads: Sequence[int]) -> Projections:
    """Silence heads: zero their row blocks of W_O.

    What b_V sends through a head goes with it; b_O stays.

    Parameters
    ----------
    p : Projections
    heads : distinct integers, each from 0 to num_heads - 1

    Returns
    -------
    Projections of the same sizes

    Raises
    ------
    TypeError
        When `heads` are not integers.
    ValueError
        When one is out of range or given twice.

    References
    ----------
    Michel et al. 2019, section 2.3.
    """
    blocks = _blocks(p).copy()
    blocks[_indices(p, heads)] = 0
    return replace(p, W_O=blocks.reshape(p.W_O.shape))


def prune_heads(p: Projections, heads: Sequence[int]) -> Projections:
    """Cut heads out: smaller matrices, and the same result as `zero_heads`.

    Parameters
    ----------
    p : Projections
    heads : distinct integers, each from 0 to num_heads - 1
        Where query heads share key and value heads, every group loses equally many, or all.

    Returns
    -------
    Projections with fewer heads

    Raises
    ------
    TypeError
        When `heads` are not integers.
    ValueError
        When one is out of range or given twice, no head is left, or groups become unequal.

    References
    ----------
    Voita et al. 2019. For shared key and value heads, Ainslie et al. 2023, section 2.2.
    """
    kept = np.delete(np.arange(p.num_heads), _indices(p, heads))
    if not kept.size:
        raise ValueError(
            f"One head at least must be left: got all {p.num_heads} to prune. Zero them instead."
        )
    served = kept // (p.num_heads // p.num_kv_heads)  # by which key and value head
    groups, sizes = np.unique(served, return_counts=True)
    if np.ptp(sizes):
        left = np.bincount(served, minlength=p.num_kv_heads).tolist()
        raise ValueError(
            f"Every key and value head that is left must serve as many query heads: got "
            f"{left} query heads for the {p.num_kv_heads} of them. Prune equally many heads of "
            f"each group, or all of a group."
        )
    return _take(p, kept, groups)


def permute_heads(p: Projections, order: Sequence[int]) -> Projections:
    """Reorder heads; the layer computes the same.

    Head i of the result is head ``order[i]`` of `p`, and W_O's row blocks move along.

    Parameters
    ----------
    p : Projections
    order : every integer from 0 to num_heads - 1, once
        Where query heads share key and value heads, a group stays together.

    Returns
    -------
    Projections of the same sizes

    Raises
    ------
    TypeError
        When `order` holds no integers.
    ValueError
        When a head is missing, out of range or given twice, or a group is torn apart.

    References
    ----------
    Chapter 3.
    """
    order = _indices(p, order)
    if len(order) != p.num_heads:
        raise ValueError(
            f"order must name each of the {p.num_heads} heads once: got {len(order)} of them. "
            f"To leave heads out, use prune_heads."
        )
    served = (order // (p.num_heads // p.num_kv_heads)).reshape(p.num_kv_heads, -1)
    if np.ptp(served, axis=-1).any():
        raise ValueError(
            f"Query heads that share a key and value head must stay together: got {order.tolist()} "
            f"for groups of {served.shape[-1]}. Move whole groups, or heads within one."
        )
    return _take(p, order, served[:, 0])


def contributions(
    x_q: Float[np.ndarray, "*batch T d_model"],
    x_kv: Float[np.ndarray, "*batch S d_model"],
    p: Projections,
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[np.ndarray, "*batch h T d_model"]:
    """Split a layer's result into what each head adds to it.

    contributions[i] = head_i W_O^i, and their sum is the result minus b_O

    Parameters
    ----------
    x_q : (..., T, d_model)
    x_kv : (..., S, d_model)
    p : Projections
    mask : boolean, broadcastable to (..., num_heads, T, S), optional
        True = may attend.

    Returns
    -------
    (..., num_heads, T, d_model)

    Raises
    ------
    TypeError, ValueError
        As `vectorized.multi_head_attention`.

    References
    ----------
    Chapter 3. To compare sizes, Kobayashi et al. 2020, section 3.
    """
    checks.layer_inputs(x_q, x_kv, p.d_model)
    served = np.arange(p.num_heads) // (p.num_heads // p.num_kv_heads)
    x_q, x_kv = x_q[..., None, :, :], x_kv[..., None, :, :]  # one axis for the heads
    Q = x_q @ p.W_Q + p.b_Q[:, None]  # (..., h, T, d_k)
    K = (x_kv @ p.W_K + p.b_K[:, None])[..., served, :, :]  # (..., h, S, d_k)
    V = (x_kv @ p.W_V + p.b_V[:, None])[..., served, :, :]  # (..., h, S, d_v)
    return vectorized.attention(Q, K, V, mask) @ _blocks(p)  # (..., h, T, d_model)


def _blocks(p):
    return p.W_O.reshape(p.num_heads, p.d_v, p.d_model)


def _take(p, heads, kv_heads):
    return Projections(
        p.W_Q[heads],
        p.W_K[kv_heads],
        p.W_V[kv_heads],
        _blocks(p)[heads].reshape(-1, p.d_model),
        p.b_Q[heads],
        p.b_K[kv_heads],
        p.b_V[kv_heads],
        p.b_O,
    )


def _indices(p, heads):
    heads = np.asarray(heads)
    if heads.size and heads.dtype.kind not in "iu":
        raise TypeError(
            f"Heads are named by integers: got {heads.dtype}. "
            f"Of a boolean array, np.flatnonzero gives the positions of True."
        )
    if heads.ndim != 1 or np.any((heads < 0) | (heads >= p.num_heads)):
        raise ValueError(
            f"Heads must be a list of integers from 0 to {p.num_heads - 1}: got {heads.tolist()}. "
            f"The last head is {p.num_heads - 1}; one head is a list of one."
        )
    if len(np.unique(heads)) < len(heads):
        raise ValueError(f"Heads must be distinct: got {heads.tolist()}. Name each one once.")
    return heads.astype(int)
