"""Rung 1: the paper's formula, term by term, in Python loops. The oracle of every other rung.

Slow on purpose. A hidden pair of query and key is never touched, so nothing stored there can
reach a result.
"""

from math import exp, inf, sqrt

import numpy as np
from jaxtyping import Bool, Float

from mha_lessons import checks, masks
from mha_lessons.projections import Projections


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
    Chapter 1. Subtracting the largest score changes nothing but keeps exp from overflowing.
    """
    checks.floating(scores=scores)
    weights = np.zeros_like(scores)
    for row in np.ndindex(scores.shape[:-1]):
        largest = max(scores[row], default=-inf)
        if largest == -inf:
            continue
        exps = [exp(score - largest) for score in scores[row]]
        weights[row] = [e / sum(exps) for e in exps]
    return weights


def attention_weights(
    Q: Float[np.ndarray, "*batch T d_k"],
    K: Float[np.ndarray, "*batch S d_k"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[np.ndarray, "*batch T S"]:
    """Weigh every key for every query.

    weights[t, :] = softmax over s of (Q[t] . K[s] / sqrt(d_k))

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
    S = K.shape[-2]
    mask = masks.fit(True if mask is None else mask, (*batch, T, S))
    weights = np.zeros((*batch, T, S), dtype=np.result_type(Q, K))
    for *b, t in np.ndindex(*batch, T):
        read = [s for s in range(S) if mask[*b, t, s]]
        scores = [sum(Q[*b, t, k] * K[*b, s, k] for k in range(d_k)) / sqrt(d_k) for s in read]
        weights[*b, t, read] = softmax(np.array(scores, dtype=weights.dtype))
    return weights


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
    *batch, T, _ = Q.shape
    S, d_v = V.shape[-2:]
    weights = attention_weights(Q, K, mask)
    mask = masks.fit(True if mask is None else mask, weights.shape)
    out = np.zeros((*batch, T, d_v), dtype=np.result_type(weights, V))
    for *b, t, v in np.ndindex(*batch, T, d_v):
        out[*b, t, v] = sum(weights[*b, t, s] * V[*b, s, v] for s in range(S) if mask[*b, t, s])
    return out


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
    *batch, T, _ = x_q.shape
    S = x_kv.shape[-2]
    mask = masks.fit(True if mask is None else mask, (*batch, p.num_heads, T, S))
    group = p.num_heads // p.num_kv_heads  # 1 in the paper
    heads = []
    for i in range(p.num_heads):
        Q = x_q @ p.W_Q[i] + p.b_Q[i]
        K = x_kv @ p.W_K[i // group] + p.b_K[i // group]
        V = x_kv @ p.W_V[i // group] + p.b_V[i // group]
        heads.append(attention(Q, K, V, mask[..., i, :, :]))
    return np.concatenate(heads, axis=-1) @ p.W_O + p.b_O
