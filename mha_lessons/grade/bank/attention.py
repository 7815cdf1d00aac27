"""Wrong answers to ``attention(Q, K, V, mask=None)``.

Every wrong answer to ``attention_weights`` makes one here too, with the same words.
"""

from functools import partial

import numpy as np

from ..mistakes import BANK, add, mistake
from . import attention_weights
from .attention_weights import right as weights_of

wrong = partial(mistake, "attention")
VALUES, SIZES, BATCH = "attention_values", "attention_sizes", "attention_batch"
MASK, INPUT = "attention_mask", "attention_keeps_its_input"


def right(Q, K, V, mask=None):
    """Compute what should come; several mistakes are this and a slip."""
    return weights_of(Q, K, mask) @ V


@wrong(
    VALUES,
    "the keys are averaged, and the values should be",
    "Keys only decide the weights: out = weights @ V.",
)
def keys_averaged(Q, K, V, mask=None):
    return weights_of(Q, K, mask) @ K


@wrong(
    VALUES,
    "keys and values are swapped",
    "Queries are compared with K; V is averaged.",
)
def keys_and_values_swapped(Q, K, V, mask=None):
    return right(Q, V, K, mask)


@wrong(
    VALUES,
    "queries and values are swapped",
    "Q is compared with K; V is averaged.",
)
def queries_and_values_swapped(Q, K, V, mask=None):
    return right(V, K, Q, mask)


@wrong(
    VALUES,
    "the weights are returned, and the output is asked for",
    "One step is left: out = weights @ V.",
)
def weights_returned(Q, K, V, mask=None):
    return weights_of(Q, K, mask)


@wrong(
    VALUES,
    "two results are returned, and only the output is asked for",
    "End with `return weights @ V`.",
)
def weights_too(Q, K, V, mask=None):
    return right(Q, K, V, mask), weights_of(Q, K, mask)


@wrong(
    VALUES,
    "all values count the same",
    "Average with the weights: out = weights @ V, not the mean of V.",
)
def plain_mean(Q, K, V, mask=None):
    return np.broadcast_to(V.mean(axis=-2, keepdims=True), (*Q.shape[:-1], V.shape[-1])).copy()


@wrong(
    VALUES,
    "the outputs are averaged over the queries",
    "Each query has an output of its own: keep one row per query.",
)
def queries_averaged(Q, K, V, mask=None):
    return right(Q, K, V, mask).mean(axis=-2)


@wrong(
    VALUES,
    "the weighted values are not added up",
    "The output of a query is the sum of weight times value: out = weights @ V.",
)
def not_added_up(Q, K, V, mask=None):
    return weights_of(Q, K, mask)[..., None] * V[..., None, :, :]


@wrong(
    VALUES,
    "the queries are added to the output",
    "A residual connection belongs outside: return weights @ V.",
)
def residual_added(Q, K, V, mask=None):
    return right(Q, K, V, mask) + Q


@wrong(
    VALUES,
    "the output is divided by sqrt(d_k) too",
    "Only the scores are divided.",
)
def output_divided(Q, K, V, mask=None):
    return right(Q, K, V, mask) / np.sqrt(Q.shape[-1])


@wrong(
    VALUES,
    "the softmax comes after the product with V",
    "softmax(Q @ K^T / sqrt(d_k)) @ V: the softmax takes the scores.",
)
def softmax_last(Q, K, V, mask=None):
    scores = attention_weights.scores_of(Q, K)
    scores = scores if mask is None else np.where(mask, scores, 0)
    return attention_weights.softmax(scores @ V)


@wrong(
    VALUES,
    "the weights multiply V element by element",
    "Use the matrix product: weights @ V, not weights * V.",
)
def element_by_element(Q, K, V, mask=None):
    return weights_of(Q, K, mask) * V


@wrong(
    SIZES,
    "the scores are divided by the width of the values",
    "d_k is the width of queries and keys: Q.shape[-1].",
)
def scaled_by_width_of_values(Q, K, V, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(V.shape[-1])
    return attention_weights.weigh(scores, mask) @ V


@wrong(
    SIZES,
    "the output has the shape of Q",
    "Its width is that of the values: np.zeros((T, d_v)), not np.zeros_like(Q).",
)
def shape_of_queries(Q, K, V, mask=None):
    out = np.zeros_like(Q)
    out[...] = right(Q, K, V, mask)
    return out


@wrong(
    BATCH,
    "np.dot multiplies the weights of each sequence with the values of all",
    "weights @ V takes the matrices of a batch one by one, and np.dot does not.",
)
def np_dot_with_values(Q, K, V, mask=None):
    return np.dot(weights_of(Q, K, mask), V)


@wrong(
    BATCH,
    "the first sequence stands for all of the batch",
    "Keep all leading axes: no [0].",
)
def first_sequence_only(Q, K, V, mask=None):
    out = right(Q, K, V, mask)
    return out if out.ndim == 2 else np.zeros_like(out) + out[:1]


@wrong(
    MASK,
    "hidden values are set to zero, and keep their weight",
    "A value of zero still takes its share: hide the key's score with -inf, before the softmax.",
)
def values_zeroed(Q, K, V, mask=None):
    if mask is None:
        return right(Q, K, V)
    return weights_of(Q, K) @ np.where(np.any(mask, axis=-2)[..., None], V, 0)


@wrong(
    INPUT,
    "the caller's values are changed",
    "Work on a copy: the caller may need V again.",
)
def values_overwritten(Q, K, V, mask=None):
    out = right(Q, K, V, mask)
    V *= 0.5
    return out


def then_average(weights):
    """Average the values with what a wrong answer says of the weights."""
    return lambda Q, K, V, mask=None: weights(Q, K, mask) @ V


for row in [row for row in BANK.values() if row.answer == "attention_weights"]:
    name = row.id.removeprefix("attention_weights.")
    check = row.check.replace("attention_weights", "attention")
    add("attention", name, check, row.says, row.hint, then_average(row.wrong))


def take_over(answer, names, turn):
    """Know mistakes of `attention` as mistakes of `answer`, too.

    `names` lists them by the check that rejects them; `turn` makes an answer of a way to attend.
    """
    for check, some in names.items():
        for name in some:
            row = BANK[f"attention.{name}"]
            add(answer, name, f"{answer}_{check}", row.says, row.hint, turn(row.wrong))
