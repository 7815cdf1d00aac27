"""One attention head small enough to read: integers in, every step visible.

The numbers are made up. Embeddings are pseudo-random (taken from a hash of each word) and the
projections are arbitrary small integers: nothing here was trained, and who reads whom means
nothing. The arithmetic is real, and it can be checked by head: every entry of Q, K and V is an
integer from -2 to 2. `static/live_figure.js` computes the same; the tests hold the two together.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mha_lessons import masks, vectorized

D_MODEL, D_K, D_V = 6, 4, 3

# Every column adds or subtracts two features of the embedding.
W_Q = np.array(
    [
        [0, 0, 0, -1],
        [1, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 0],
        [-1, 1, 0, 0],
        [0, 0, 1, 1],
    ],
    dtype=float,
)  # (d_model, d_k)
W_K = np.array(
    [
        [0, -1, 0, 1],
        [0, 0, 1, 1],
        [0, 0, 0, 0],
        [0, -1, 0, 0],
        [-1, 0, 1, 0],
        [-1, 0, 0, 0],
    ],
    dtype=float,
)  # (d_model, d_k)
W_V = np.array(
    [
        [-1, 0, 0],
        [0, 0, 0],
        [0, -1, 1],
        [0, 0, 0],
        [0, 0, 1],
        [1, -1, 0],
    ],
    dtype=float,
)  # (d_model, d_v)


class Head(NamedTuple):
    """What one head computes on the way from tokens to output; row t belongs to query t."""

    Q: Float[np.ndarray, "T d_k"]
    K: Float[np.ndarray, "T d_k"]
    V: Float[np.ndarray, "T d_v"]
    scores: Float[np.ndarray, "T T"]
    weights: Float[np.ndarray, "T T"]
    output: Float[np.ndarray, "T d_v"]


def embed(tokens: list[str]) -> Float[np.ndarray, "T d_model"]:
    """Turn each word into features from {-1, 0, 1}, by its letters alone.

    x[t, m] = (m-th base-3 digit of FNV-1a(word t)) - 1

    Parameters
    ----------
    tokens : list of T words

    Returns
    -------
    (T, d_model)
        Equal words get equal rows, wherever they stand: there are no positions here.

    References
    ----------
    Fowler, Noll, Vo: the 32-bit FNV-1a hash. Chapter 1.
    """
    hashes = np.array([_fnv1a(word) for word in tokens], dtype=np.int64)  # (T,)
    digits = hashes[:, None] // 3 ** np.arange(D_MODEL) % 3  # (T, d_model)
    return digits - 1.0  # (T, d_model)


def attend(
    tokens: list[str],
    temperature: float = 1.0,
    causal: bool = False,
    edits: dict[tuple[int, int], float] | None = None,
) -> Head:
    """Let every word read every word, through one head.

    scores = Q K^T / sqrt(d_k) / temperature + edits
    weights = softmax(scores), over the keys
    output = weights V

    Parameters
    ----------
    tokens : list of T words
    temperature : float, optional
        Divides the scores: below 1 sharpens the weights, above 1 levels them.
    causal : bool, optional
        Let each query read itself and earlier words only; the other scores are -inf.
    edits : dict from (query, key) to a number, optional
        What to add to single scores.

    Returns
    -------
    Head

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, equation 1. Chapter 1.
    """
    x = embed(tokens)  # (T, d_model)
    Q, K, V = x @ W_Q, x @ W_K, x @ W_V  # (T, d_k), (T, d_k), (T, d_v)
    scores = Q @ K.T / sqrt(D_K) / temperature  # (T, T)
    for (query, key), amount in (edits or {}).items():
        scores[query, key] += amount
    if causal:
        scores = np.where(masks.causal(len(tokens)), scores, -np.inf)  # (T, T)
    weights = vectorized.softmax(scores)  # (T, T)
    return Head(Q, K, V, scores, weights, weights @ V)


def _fnv1a(word):
    value = 0x811C9DC5
    for byte in word.encode():
        value = (value ^ byte) * 0x01000193 % 2**32
    return value
