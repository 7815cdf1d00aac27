"""Wrong answers to ``softmax(scores)``."""

from functools import partial

import numpy as np

from ..mistakes import mistake

wrong = partial(mistake, "softmax")
VALUES, BATCH, LARGE = "softmax_values", "softmax_batch", "softmax_large"
INFINITE, INPUT = "softmax_infinite", "softmax_keeps_its_input"


def right(scores, axis=-1):
    """Compute what should come; several mistakes are this and a slip."""
    exps = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exps / exps.sum(axis=axis, keepdims=True)


@wrong(
    VALUES,
    "each column sums to 1, and each row should",
    "A row belongs to one query, and is shared out over the keys: axis=-1.",
)
def columns(scores):
    return right(scores, axis=-2)


@wrong(
    VALUES,
    "all scores together sum to 1, and each row should",
    "Sum over the last axis only: axis=-1, keepdims=True.",
)
def everything(scores):
    return right(scores, axis=None)


@wrong(
    VALUES,
    "each row is divided by the sum of another row",
    "Keep the axis of the sum: exps.sum(axis=-1, keepdims=True).",
)
def sum_without_keepdims(scores):
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1)


@wrong(
    VALUES,
    "the largest score of another row is subtracted",
    "Keep the axis of the maximum: scores.max(axis=-1, keepdims=True).",
)
def max_without_keepdims(scores):
    exps = np.exp(scores - scores.max(axis=-1))
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    VALUES,
    "the exponential is missing: scores are divided by their sum",
    "First np.exp, which makes every number positive; then divide by the sum.",
)
def no_exponential(scores):
    return scores / scores.sum(axis=-1, keepdims=True)


@wrong(
    VALUES,
    "the exponentials are not divided by their sum",
    "Divide each row by its sum, so that it sums to 1.",
)
def not_divided(scores):
    return np.exp(scores)


@wrong(
    VALUES,
    "the exponentials are not divided by their sum, only shifted to a largest value of 1",
    "Subtracting the largest score is for safety; then divide each row by its sum.",
)
def shifted_only(scores):
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


@wrong(
    VALUES,
    "each row is divided by its length as a vector, not by its sum",
    "Weights are shares: divide by exps.sum(axis=-1, keepdims=True).",
)
def unit_vectors(scores):
    exps = np.exp(scores)
    return exps / np.linalg.norm(exps, axis=-1, keepdims=True)


@wrong(
    VALUES,
    "each row is divided by its mean, so that it sums to the number of keys",
    "Divide by the sum, not by the mean.",
)
def mean_for_sum(scores):
    exps = np.exp(scores)
    return exps / exps.mean(axis=-1, keepdims=True)


@wrong(
    VALUES,
    "the logarithm of the softmax is returned",
    "Return the weights themselves: no logarithm at the end.",
)
def logarithm(scores):
    return np.log(right(scores))


@wrong(
    VALUES,
    "the base of the power is 2, and should be e",
    "Use np.exp.",
)
def base_two(scores):
    exps = np.exp2(scores)
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    VALUES,
    "the smallest score gets the largest weight: the sign is wrong",
    "np.exp(scores - largest): no minus in front of the scores.",
)
def sign_reversed(scores):
    return right(-scores)


@wrong(
    VALUES,
    "each score is squashed by itself (a sigmoid), and the scores of a row do not compete",
    "Divide np.exp of a score by the sum over its row.",
)
def sigmoid(scores):
    return 1 / (1 + np.exp(-scores))


@wrong(
    VALUES,
    "the largest score takes everything",
    "The softmax gives every key a share: np.exp, not argmax.",
)
def one_hot(scores):
    return np.eye(scores.shape[-1])[scores.argmax(axis=-1)]


@wrong(
    VALUES,
    "the sizes of the scores count, and their signs do not",
    "np.exp of the score itself: no abs and no square.",
)
def absolute(scores):
    return right(np.abs(scores))


@wrong(
    VALUES,
    "the weights are rounded",
    "Return all digits; round only what you print.",
)
def rounded(scores):
    return right(scores).round(3)


@wrong(
    VALUES,
    "the softmax is applied twice",
    "One np.exp and one division are enough.",
)
def twice(scores):
    return right(right(scores))


@wrong(
    VALUES,
    "the scores are divided once more in here",
    "The division by sqrt(d_k) belongs to the scores, before they come here.",
)
def scaled_in_here(scores):
    return right(scores / np.sqrt(scores.shape[-1]))


@wrong(
    VALUES,
    "an axis of length 1 is lost",
    "Do not squeeze: a row of one score keeps its axis.",
)
def squeezed(scores):
    return np.squeeze(right(scores))


@wrong(
    BATCH,
    "the axis is counted from the front, so batch axes are taken for keys",
    "Count from the end: axis=-1.",
)
def axis_1(scores):
    return right(scores, axis=1)


@wrong(
    BATCH,
    "leading batch axes are not accepted",
    "Let all leading axes be: axis=-1, keepdims=True needs no loop over rows.",
)
def two_axes_only(scores):
    _, S = scores.shape
    exps = np.exp(scores - scores.max(axis=1).reshape(-1, 1))
    return exps / (exps @ np.ones((S, 1)))


@wrong(
    BATCH,
    "the matrices of a batch are softened together, and each row should be by itself",
    "Sum over the last axis only: axis=-1.",
)
def batch_flattened(scores):
    if scores.ndim == 2:
        return right(scores)
    return right(scores.reshape(len(scores), -1)).reshape(scores.shape)


@wrong(
    LARGE,
    "one largest score is subtracted from all rows, and a row far below it becomes 0 / 0",
    "Subtract from each row its own largest score: max(axis=-1, keepdims=True).",
)
def largest_of_all(scores):
    exps = np.exp(scores - scores.max())
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    LARGE,
    "the mean of the row is subtracted, and a score far above it still overflows",
    "Subtract the largest score: then no exponent is above 0.",
)
def mean_subtracted(scores):
    exps = np.exp(scores - np.where(np.isfinite(scores), scores, 0).mean(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    LARGE,
    "the smallest score of the row is subtracted, and the others still overflow",
    "Subtract the largest: the smallest leaves every exponent at 0 or above.",
)
def smallest_subtracted(scores):
    finite = np.where(np.isfinite(scores), scores, np.inf)
    exps = np.exp(scores - finite.min(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    LARGE,
    "np.exp overflows, and infinity divided by infinity is nan",
    "Subtract each row's largest score before np.exp: the weights stay the same.",
)
def overflow(scores):
    exps = np.exp(scores)
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    LARGE,
    "large scores are cut off, so different ones get the same weight",
    "Subtract each row's largest score; that changes no weight, and cutting does.",
)
def cut_off(scores):
    exps = np.exp(np.clip(scores, -500, 500))
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    LARGE,
    "the scores are divided by their largest value, and that changes the weights",
    "Subtract the largest score. To divide by it is another function.",
)
def divided_when_large(scores):
    largest = np.abs(scores).max(axis=-1, keepdims=True)
    return right(np.where((largest > 100) & (largest < np.inf), scores / largest, scores))


@wrong(
    INFINITE,
    "-inf is refused, and it means a hidden key",
    "Let -inf come in: np.exp(-np.inf) is 0.",
)
def infinity_refused(scores):
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    return right(scores)


@wrong(
    INFINITE,
    "-inf is replaced by 0, and np.exp(0) is 1",
    "Leave -inf as it is: np.exp(-np.inf) is 0.",
)
def infinity_replaced(scores):
    return right(np.where(np.isfinite(scores), scores, 0))


@wrong(
    INPUT,
    "the largest score is subtracted from the caller's array",
    "scores = scores - largest makes a new array, and scores -= largest does not.",
)
def subtracted_in_place(scores):
    scores -= scores.max(axis=-1, keepdims=True)
    exps = np.exp(scores)
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    INPUT,
    "the weights are written over the caller's scores",
    "Return a new array: the caller may need the scores again.",
)
def written_over(scores):
    scores[...] = right(scores)
    return scores
