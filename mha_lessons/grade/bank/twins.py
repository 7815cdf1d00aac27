"""Wrong answers to ``same_weights_different_outputs(T, d)``."""

from functools import partial

import numpy as np

from ..mistakes import mistake

wrong = partial(mistake, "same_weights_different_outputs")
SHAPES, WEIGHTS, OUTPUTS = "twins_shapes", "twins_same_weights", "twins_different_outputs"


def _random(T, d, n=6):
    rng = np.random.default_rng(seed=5)
    return [rng.standard_normal((T, d)) for _ in range(n)]


@wrong(
    SHAPES,
    "one head is returned, and two are asked for",
    "Return six arrays: Q1, K1, V1, Q2, K2, V2.",
)
def one_head(T, d):
    return tuple(_random(T, d, 3))


@wrong(
    SHAPES,
    "tokens and features are swapped",
    "Each array has T rows, one per token, and d columns.",
)
def transposed(T, d):
    Q, K, V, V2 = _random(d, T, 4)
    return Q, K, V, Q, K, V2


@wrong(
    SHAPES,
    "the sizes are fixed, and do not follow T and d",
    "Make arrays of shape (T, d) from the arguments.",
)
def sizes_fixed(T, d):
    Q, K, V, V2 = _random(3, 2, 4)
    return Q, K, V, Q, K, V2


@wrong(
    SHAPES,
    "some numbers are nan or infinite",
    "Use finite numbers: a difference from infinity tells nothing.",
)
def infinite_values(T, d):
    Q, K, V = _random(T, d, 3)
    return Q, K, V, Q, K, V * np.inf


@wrong(
    WEIGHTS,
    "the attention weights are close, and not the same",
    "Use exactly the same Q and K in both heads.",
)
def weights_only_close(T, d):
    Q, K, V, V2 = _random(T, d, 4)
    return Q, K, V, Q + 1e-4, K, V2


@wrong(
    WEIGHTS,
    "the attention weights differ",
    "The weights depend on Q and K only: use the same Q and K in both heads.",
)
def everything_new(T, d):
    return tuple(_random(T, d))


@wrong(
    OUTPUTS,
    "the outputs are the same, because all three inputs are",
    "Keep Q and K, and give the second head other values.",
)
def nothing_changed(T, d):
    Q, K, V = _random(T, d, 3)
    return Q, K, V, Q, K, V


@wrong(
    OUTPUTS,
    "the outputs differ by less than 0.01",
    "Make a difference that can be seen: other values, not the same ones with a little noise.",
)
def rounding_only(T, d):
    Q, K, V = _random(T, d, 3)
    return Q, K, V, Q, K, V + 1e-6


@wrong(
    OUTPUTS,
    "the weights are uniform, so the order of the values does not matter",
    "Change the values themselves, not their order.",
)
def reordered_under_uniform_weights(T, d):
    Q = np.zeros((T, d))
    V = _random(T, d, 1)[0]
    return Q, Q, V, Q, Q, V[::-1]
