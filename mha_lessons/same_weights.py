"""Two heads whose weights stay while their values change.

The numbers are made up; the arithmetic is real. `static/same_weights.js` computes the same; the
tests hold the two together.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from mha_lessons import vectorized

# Both heads have these queries and keys, so they have the same weights.
Q = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])  # (T, d_k)
K = np.array([[2.0, 0.0], [0.0, 1.0], [-1.0, 2.0]])  # (S, d_k)
W_O = np.array([[2.0], [-1.0]])  # (h * d_v, 1): the map 2a - b


class Example(NamedTuple):
    """Words, two maps of weights, and the values to begin with (one number per key and head)."""

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: Float[np.ndarray, "h T S"]
    values: Float[np.ndarray, "h S"]


def _twice(weights):
    return np.stack([weights, weights])  # (h, T, S)


_WORDS = ("the", "cat", "sat")

EXAMPLES = {
    "same": Example(
        _WORDS,
        _WORDS,
        _twice(vectorized.attention_weights(Q, K)),
        np.array([[2.0, 6.0, -2.0], [-4.0, 1.0, 8.0]]),
    ),
    "uniform": Example(
        _WORDS,
        _WORDS,
        _twice(vectorized.attention_weights(0 * Q, K)),  # a query of zeros scores every key 0
        np.array([[2.0, 6.0, -2.0], [-2.0, 2.0, 6.0]]),
    ),
    "on paper": Example(
        ("query",),
        ("token 1", "token 2"),
        np.array([[[0.8, 0.2]], [[0.25, 0.75]]]),
        np.array([[2.0, 6.0], [10.0, -2.0]]),
    ),
}


class Result(NamedTuple):
    """What two heads make of their values, and what is equal between them."""

    weights: Float[np.ndarray, "h T S"]
    heads: Float[np.ndarray, "h T"]
    concat: Float[np.ndarray, "T h"]
    output: Float[np.ndarray, " T"]
    equal_weights: bool
    equal_values: bool
    equal_heads: bool


def compute(example: str, values: Float[np.ndarray, "h S"]) -> Result:
    """Let both heads read their values with the weights of an example.

    head_i = weights_i values_i, output = Concat(head_1, head_2) W_O = 2 head_1 - head_2

    Parameters
    ----------
    example : "same", "uniform" or "on paper"
        Where the weights come from: from one Q and one K for both heads, from queries of zeros, or
        the two rows that chapter 3 works out on paper.
    values : (2, S)

    Returns
    -------
    Result
        Heads within 1e-9 of each other count as equal: another order of a sum may change its last
        digit.

    References
    ----------
    Chapter 3.
    """
    weights = EXAMPLES[example].weights  # (h, T, S)
    values = np.asarray(values, dtype=float)  # (h, S)
    heads = np.einsum("hts,hs->ht", weights, values)  # (h, T)
    concat = heads.T  # (T, h * d_v)
    return Result(
        weights,
        heads,
        concat,
        (concat @ W_O)[:, 0],
        np.array_equal(weights[0], weights[1]),
        np.array_equal(values[0], values[1]),
        np.allclose(heads[0], heads[1], rtol=0, atol=1e-9),
    )
