"""Rung 2: the same equation on whole NumPy arrays, for any leading axes.

Every line does for all queries, keys and heads at once what `equation` does in a loop.
"""

from math import sqrt

import numpy as np
from jaxtyping import Bool, Float

from mha_lessons import checks, masks
from mha_lessons.projections import Projections, merge_heads


def softmax(scores: Float[np.ndarray, "*batch S"]) -> Float[np.ndarray, "*batch S"]:
    """Turn each row of scores into weights that are positive and sum to 1.

    softmax(s)_j = exp(s_j) / sum_l exp(s_l)

    Parameters
    ----------
    scores : (..., S)
        A score of -inf gets the weight 0; a row of nothing but -inf gets zeros.

    Returns
    -------
    (..., S)

    Raises
    ------
    TypeError
        When `scores` is not floating point.

    References
    ----------
    Chapter 1.
    """
    checks.floating(scores=scores)
    largest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    exps = np.exp(scores - np.where(largest == -np.inf, 0, largest))
    sums = exps.sum(axis=-1, keepdims=True)
    return exps / np.where(sums == 0, 1, sums)


def attention_weights(
    Q: Float[np.ndarray, "*batch T d_k"],
    K: Float[np.ndarray, "*batch S d_k"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[np.ndarray, "*batch T S"]:
    """Weigh every key for every query.

    weights = softmax(Q K^T / sqrt(d_k)), over the keys

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
    mask : boolean, broadcastable to (..., T, S), optional
        True = may attend.

    Returns
    -------
    (..., T, S)
        Each row sums to 1, or to 0 where the query may attend to nothing.

    Raises
    ------
    TypeError
        When Q or K is not floating point, or the mask not boolean.
    ValueError
        When shapes do not fit.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, equation 1. Chapter 1.
    """
    checks.attention_inputs(Q, K)
    *batch, T, d_k = Q.shape
    if mask is not None:
        mask = masks.fit(mask, (*batch, T, K.shape[-2]))
        K = masks.blank_unread(K, mask)
    scores = Q @ K.swapaxes(-2, -1) / sqrt(d_k)  # (..., T, S)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores)


def attention(
    Q: Float[np.ndarray, "*batch T d_k"],
    K: Float[np.ndarray, "*batch S d_k"],
    V: Float[np.ndarray, "*batch S d_v"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[np.ndarray, "*batch T d_v"]:
    """Average the values, weighted by how well each key answers the query.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
    V : (..., S, d_v)
    mask : boolean, broadcastable to (..., T, S), optional
        True = may attend.

    Returns
    -------
    (..., T, d_v)
        Zeros where a query may attend to nothing.

    Raises
    ------
    TypeError, ValueError
        As `attention_weights`; also when V does not fit K.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, equation 1. Chapter 1.
    """
    checks.attention_inputs(Q, K, V)
    weights = attention_weights(Q, K, mask)  # (..., T, S)
    if mask is not None:
        V = masks.blank_unread(V, masks.fit(mask, weights.shape))
    return weights @ V  # (..., T, d_v)


def multi_head_attention(
    x_q: Float[np.ndarray, "*batch T d_model"],
    x_kv: Float[np.ndarray, "*batch S d_model"],
    projections: Projections,
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[np.ndarray, "*batch T d_model"]:
    """Let every head attend with its own projections, then mix their outputs.

    MultiHead(x_q, x_kv) = Concat(head_1, ..., head_h) W_O
    head_i = Attention(x_q W_Q[i], x_kv W_K[i], x_kv W_V[i])

    Parameters
    ----------
    x_q : (..., T, d_model)
        What asks. The same array as `x_kv` for self-attention.
    x_kv : (..., S, d_model)
        What is read.
    projections : Projections
    mask : boolean, broadcastable to (..., num_heads, T, S), optional
        True = may attend.

    Returns
    -------
    (..., T, d_model)

    Raises
    ------
    TypeError
        When an input is not floating point, or the mask not boolean.
    ValueError
        When shapes do not fit.

    References
    ----------
    Vaswani et al. 2017, section 3.2.2. Chapters 2 and 3.
    """
    p = projections
    checks.layer_inputs(x_q, x_kv, p.d_model)
    x_q, x_kv = x_q[..., None, :, :], x_kv[..., None, :, :]  # one axis for the heads
    Q = x_q @ p.W_Q + p.b_Q[:, None]  # (..., h, T, d_k)
    K = x_kv @ p.W_K + p.b_K[:, None]  # (..., h_kv, S, d_k)
    V = x_kv @ p.W_V + p.b_V[:, None]  # (..., h_kv, S, d_v)
    if p.num_kv_heads < p.num_heads:  # consecutive query heads share a key and value head
        K, V = (np.repeat(x, p.num_heads // p.num_kv_heads, axis=-3) for x in (K, V))
    heads = attention(Q, K, V, mask)  # (..., h, T, d_v)
    return merge_heads(heads) @ p.W_O + p.b_O
