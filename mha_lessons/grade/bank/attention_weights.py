"""Wrong answers to ``attention_weights(Q, K, mask=None)``."""

from functools import partial
from math import sqrt

import numpy as np

from ..mistakes import mistake
from .softmax import right as softmax

wrong = partial(mistake, "attention_weights")
VALUES, SIZES, BATCH, LARGE, MASK, BROADCAST, BLANK, TYPES, INPUT = (
    f"attention_weights_{name}"
    for name in (
        *("values", "sizes", "batch", "large", "mask", "mask_broadcast"),
        *("blank_row", "types", "keeps_its_input"),
    )
)


def weigh(scores, mask=None):
    """Turn scores into weights as it should be; most mistakes are in what comes before."""
    if mask is None:
        return softmax(scores)
    blank = ~np.any(mask, axis=-1, keepdims=True)
    weights = softmax(np.where(mask | blank, scores, -np.inf))
    return np.where(blank, 0, weights)


def weigh_unshifted(scores, mask):
    """Take the exponentials of the scores as they are."""
    exps = np.exp(scores) if mask is None else np.where(mask, np.exp(scores), 0)
    blank = mask is not None and ~np.any(mask, axis=-1, keepdims=True)
    return exps / np.where(blank, 1, exps.sum(axis=-1, keepdims=True))


def scores_of(Q, K):
    """Compare every query with every key."""
    return Q @ K.swapaxes(-1, -2) / sqrt(Q.shape[-1])


def right(Q, K, mask=None):
    """Compute what should come; several mistakes are this and a slip."""
    return weigh(scores_of(Q, K), mask)


@wrong(
    VALUES,
    "the scores are not divided",
    "Divide Q @ K^T by sqrt(d_k), with d_k = Q.shape[-1].",
)
def unscaled(Q, K, mask=None):
    return weigh(Q @ K.swapaxes(-1, -2), mask)


@wrong(
    VALUES,
    "the scores are multiplied by sqrt(d_k)",
    "Divide by it: wide heads have large products, and the division brings them back.",
)
def multiplied(Q, K, mask=None):
    return weigh(Q @ K.swapaxes(-1, -2) * sqrt(Q.shape[-1]), mask)


@wrong(
    VALUES,
    "the scores are divided by d_k: the root is missing, or taken out twice",
    "Divide once by sqrt(d_k).",
)
def root_missing(Q, K, mask=None):
    return weigh(Q @ K.swapaxes(-1, -2) / Q.shape[-1], mask)


@wrong(
    VALUES,
    "the scores are divided by the square root of the number of tokens",
    "d_k is the number of features of a query: Q.shape[-1].",
)
def scaled_by_tokens(Q, K, mask=None):
    return weigh(Q @ K.swapaxes(-1, -2) / sqrt(K.shape[-2]), mask)


@wrong(
    VALUES,
    "the square root of d_k is cut to a whole number",
    "Divide by the root as it is: / np.sqrt(d_k), without int and without //.",
)
def root_cut(Q, K, mask=None):
    return weigh(Q @ K.swapaxes(-1, -2) / int(sqrt(Q.shape[-1])), mask)


@wrong(
    VALUES,
    "the scores are divided by 8, and that is right for d_k = 64 only",
    "Compute the divisor: np.sqrt(Q.shape[-1]).",
)
def divisor_of_the_paper(Q, K, mask=None):
    return weigh(Q @ K.swapaxes(-1, -2) / 8, mask)


@wrong(
    VALUES,
    "queries and keys are swapped",
    "Rows are queries: Q @ K^T, not K @ Q^T.",
)
def swapped(Q, K, mask=None):
    return weigh(scores_of(K, Q), mask)


@wrong(
    VALUES,
    "the queries are compared with themselves, and K is not used",
    "Rows are queries and columns are keys: Q @ K^T.",
)
def queries_only(Q, K, mask=None):
    return weigh(scores_of(Q, Q), mask)


@wrong(
    VALUES,
    "each column sums to 1, and each row should",
    "A query spreads its attention over the keys: the softmax runs over the last axis.",
)
def columns(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf), axis=-2)


@wrong(
    VALUES,
    "the softmax runs over all scores at once",
    "Each query has a softmax of its own: each row sums to 1.",
)
def everything(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf), axis=None)


@wrong(
    VALUES,
    "rows are divided by another row's sum",
    "Keep the axis of the sum: sum(axis=-1, keepdims=True).",
)
def another_rows_sum(Q, K, mask=None):
    scores = scores_of(Q, K)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    exps = exps if mask is None else np.where(mask, exps, 0)
    return exps / exps.sum(axis=-1)


@wrong(
    VALUES,
    "the weights are transposed: a column belongs to a query",
    "Row t holds the weights of query t: no transpose at the end.",
)
def transposed(Q, K, mask=None):
    return right(Q, K, mask).swapaxes(-1, -2)


@wrong(
    VALUES,
    "only the best key gets a weight",
    "Every key gets a share: softmax, not argmax.",
)
def best_key_only(Q, K, mask=None):
    weights = right(Q, K, mask)
    return (weights == weights.max(axis=-1, keepdims=True)).astype(float)


@wrong(
    VALUES,
    "the scores are returned, and the softmax is missing",
    "Turn each row of scores into shares: softmax(scores).",
)
def scores_returned(Q, K, mask=None):
    scores = scores_of(Q, K)
    return scores if mask is None else np.where(mask, scores, -np.inf)


@wrong(
    VALUES,
    "the softmax comes before the division, so rows do not sum to 1",
    "Divide the scores first. Then the softmax.",
)
def divided_after(Q, K, mask=None):
    return unscaled(Q, K, mask) / sqrt(Q.shape[-1])


@wrong(
    VALUES,
    "the length of queries and keys is taken out: these are cosines",
    "Use the dot products as they are, and divide by sqrt(d_k) only.",
)
def cosines(Q, K, mask=None):
    Q, K = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (Q, K))
    return weigh(Q @ K.swapaxes(-1, -2), mask)


@wrong(
    VALUES,
    "cosines are compared, and then divided by sqrt(d_k) too",
    "Do not normalise Q and K: their lengths count. Divide Q @ K^T by sqrt(d_k).",
)
def cosines_scaled(Q, K, mask=None):
    return right(*(x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (Q, K)), mask)


@wrong(
    VALUES,
    "distances are compared, and dot products should be",
    "The score of a query and a key is their dot product: Q @ K^T.",
)
def distances(Q, K, mask=None):
    apart = np.linalg.norm(Q[..., :, None, :] - K[..., None, :, :], axis=-1)
    return weigh(-apart / sqrt(Q.shape[-1]), mask)


@wrong(
    VALUES,
    "the softmax is taken of Q and K, before they are compared",
    "First the scores of all pairs, Q @ K^T / sqrt(d_k); then one softmax over the keys.",
)
def softmax_too_early(Q, K, mask=None):
    weights = softmax(Q) @ softmax(K, axis=-2).swapaxes(-1, -2)
    return weights if mask is None else np.where(mask, weights, 0)


@wrong(
    VALUES,
    "K is reshaped, and that is not a transpose",
    "K.swapaxes(-1, -2) swaps rows and columns; reshape reads the numbers in another order.",
)
def reshaped(Q, K, mask=None):
    return weigh(Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2]) / sqrt(Q.shape[-1]), mask)


@wrong(
    VALUES,
    "the exponential is missing: scores are divided by their sum",
    "The softmax takes np.exp first, so that all weights are positive.",
)
def no_exponential(Q, K, mask=None):
    scores = scores_of(Q, K)
    scores = scores if mask is None else np.where(mask, scores, 0)
    return scores / scores.sum(axis=-1, keepdims=True)


@wrong(
    VALUES,
    "the exponentials are not divided by their sum",
    "Each row of weights sums to 1.",
)
def not_divided(Q, K, mask=None):
    exps = np.exp(scores_of(Q, K))
    return exps if mask is None else np.where(mask, exps, 0)


@wrong(
    VALUES,
    "each score is squashed by itself (a sigmoid), and the keys do not compete",
    "Use the softmax: each row of weights sums to 1.",
)
def sigmoid(Q, K, mask=None):
    weights = 1 / (1 + np.exp(-scores_of(Q, K)))
    return weights if mask is None else np.where(mask, weights, 0)


@wrong(
    VALUES,
    "the logarithm of the weights is returned",
    "Return the weights: softmax, not log-softmax.",
)
def logarithm(Q, K, mask=None):
    return np.log(right(Q, K, mask))


@wrong(
    VALUES,
    "weights are dropped out",
    "Dropout is for training a layer. Here the weights themselves are asked for.",
)
def dropped_out(Q, K, mask=None):
    weights = right(Q, K, mask)
    return weights * (np.random.default_rng(seed=0).random(weights.shape) > 0.1) / 0.9


@wrong(
    VALUES,
    "the weights are rounded",
    "Return all digits; round only what you print.",
)
def rounded(Q, K, mask=None):
    return right(Q, K, mask).round(3)


@wrong(
    VALUES,
    "later keys are hidden, and no mask was given",
    "Without a mask every query reads every key. The causal mask comes in exercise 4.",
)
def causal_when_square(Q, K, mask=None):
    T, S = Q.shape[-2], K.shape[-2]
    return right(Q, K, np.tri(T, dtype=bool) if mask is None and T == S else mask)


@wrong(
    SIZES,
    "as many keys as queries are expected",
    "The weights are (T, S): take T from Q.shape[-2] and S from K.shape[-2].",
)
def square_only(Q, K, mask=None):
    weights = np.zeros((*Q.shape[:-1], Q.shape[-2]))
    weights[...] = right(Q, K, mask)
    return weights


@wrong(
    SIZES,
    "an axis of length 1 is lost",
    "Do not squeeze: one query, or one key, keeps its axis.",
)
def squeezed(Q, K, mask=None):
    return np.squeeze(right(Q, K, mask))


@wrong(
    BATCH,
    "with batch axes, wrong axes meet in the product of queries and keys",
    "K.T reverses all axes, those of the batch too; K.swapaxes(-1, -2) swaps the last two only.",
)
def all_axes_reversed(Q, K, mask=None):
    return weigh(Q @ K.T / sqrt(Q.shape[-1]), mask)


@wrong(
    BATCH,
    "leading batch axes are not accepted",
    "Count axes from the end: Q.shape[-2], Q.shape[-1], K.swapaxes(-1, -2).",
)
def two_axes_only(Q, K, mask=None):
    _, d_k = Q.shape
    return weigh(Q @ K.T / sqrt(d_k), mask)


@wrong(
    BATCH,
    "exactly one batch axis is expected",
    "Swap from the end: K.swapaxes(-1, -2) serves any number of leading axes.",
)
def one_batch_axis_at_most(Q, K, mask=None):
    if Q.ndim == 2:
        return right(Q, K, mask)
    _, _, d_k = Q.shape
    return weigh(Q @ K.transpose(0, 2, 1) / sqrt(d_k), mask)


@wrong(
    BATCH,
    "two leading axes, batch and heads, are expected, or none",
    "One leading axis may come too: K.swapaxes(-1, -2) serves any number of them.",
)
def two_batch_axes_or_none(Q, K, mask=None):
    if Q.ndim == 2:
        return right(Q, K, mask)
    _, _, _, d_k = Q.shape
    return weigh(Q @ K.transpose(0, 1, 3, 2) / sqrt(d_k), mask)


@wrong(
    BATCH,
    "d_k is read from an axis that is counted from the front",
    "d_k is the last axis: Q.shape[-1].",
)
def width_from_the_front(Q, K, mask=None):
    return weigh(Q @ K.swapaxes(-1, -2) / sqrt(Q.shape[1]), mask)


@wrong(
    BATCH,
    "the softmax runs over an axis that is counted from the front",
    "The keys are the last axis: axis=-1.",
)
def softmax_from_the_front(Q, K, mask=None):
    if Q.ndim == 2:
        return right(Q, K, mask)
    return softmax(scores_of(Q, K), axis=1)


@wrong(
    BATCH,
    "np.dot compares each query with the keys of every sequence",
    "Use @ (np.matmul), which takes the matrices of a batch one by one.",
)
def np_dot(Q, K, mask=None):
    return weigh(np.dot(Q, K.swapaxes(-1, -2)) / sqrt(Q.shape[-1]), mask)


@wrong(
    LARGE,
    "np.exp overflows or becomes 0, and the division gives nan",
    "Subtract each row's largest score before np.exp: the weights stay the same.",
)
def overflow(Q, K, mask=None):
    return weigh_unshifted(scores_of(Q, K), mask)


@wrong(
    LARGE,
    "one largest score is subtracted from all rows, and a row far below it becomes 0 / 0",
    "Subtract from each row its own largest score: max(axis=-1, keepdims=True).",
)
def largest_of_all(Q, K, mask=None):
    scores = scores_of(Q, K)
    return weigh_unshifted(scores - scores.max(), mask)


@wrong(
    MASK,
    "the mask is ignored",
    "Set the scores to -inf where the mask is False, before the softmax.",
)
def mask_ignored(Q, K, mask=None):
    return right(Q, K)


@wrong(
    MASK,
    "the mask is inverted",
    "True = may attend: push down the scores where the mask is False, not where it is True.",
)
def inverted(Q, K, mask=None):
    return right(Q, K, None if mask is None else ~mask)


@wrong(
    MASK,
    "the mask comes after the softmax, so rows no longer sum to 1",
    "Hide the scores before the softmax: then the other keys share what is left.",
)
def masked_after(Q, K, mask=None):
    weights = right(Q, K)
    return weights if mask is None else weights * mask


@wrong(
    MASK,
    "hidden weights are set to -inf, after the softmax",
    "-inf is a score: put it in before the softmax, which makes a weight of 0 of it.",
)
def infinity_after(Q, K, mask=None):
    weights = right(Q, K)
    return weights if mask is None else np.where(mask, weights, -np.inf)


@wrong(
    MASK,
    "hidden keys get a fixed score, such as -100, and one that may be read can be lower",
    "Use -inf: no score is lower.",
)
def fill_of_minus_100(Q, K, mask=None):
    scores = scores_of(Q, K)
    if mask is None:
        return softmax(scores)
    weights = softmax(np.where(mask, scores, -100))
    return np.where(np.any(mask, axis=-1, keepdims=True), weights, 0)


@wrong(
    MASK,
    "hidden keys get a score of about 0, and np.exp(0) is 1",
    "Use -inf: 0, and -1e-9 too, is a score like any other.",
)
def score_of_zero(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else scores * mask)


@wrong(
    MASK,
    "hidden keys get a score that is only a little lower, and keep some weight",
    "Use -inf: np.exp(-10) is small, and not zero.",
)
def fill_of_minus_10(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else np.where(mask, scores, -10.0))


@wrong(
    MASK,
    "the mask is added to the scores as a number, 0 or 1",
    "A score changes by 1 only. Choose by the mask: np.where(mask, scores, -np.inf).",
)
def mask_added(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else scores + mask)


@wrong(
    MASK,
    "nan comes from 0 times infinity, or from infinity minus infinity",
    "Multiply nothing by -inf: np.where(mask, scores, -np.inf) chooses.",
)
def zero_times_infinity(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else scores + (1 - mask) * -np.inf)


@wrong(
    MASK,
    "the mask is read with queries and keys swapped",
    "A row of the mask belongs to a query: no transpose.",
)
def mask_transposed(Q, K, mask=None):
    return right(Q, K, None if mask is None else np.swapaxes(mask, -1, -2))


@wrong(
    MASK,
    "all queries use the mask of the first one",
    "The mask has a row for each query: use all of it.",
)
def first_row_for_all(Q, K, mask=None):
    return right(Q, K, mask if mask is None or mask.ndim < 2 else mask[..., :1, :])


@wrong(
    MASK,
    "a key is hidden from every query when the mask hides it from one",
    "Do not reduce the mask over its queries: each query has a row of its own.",
)
def hidden_from_all(Q, K, mask=None):
    if mask is None or mask.ndim < 2:
        return right(Q, K, mask)
    return right(Q, K, mask.all(axis=-2, keepdims=True))


@wrong(
    MASK,
    "hidden keys are set to zero, and a zero key still gets a score of 0",
    "Hide the score, not the key: np.where(mask, scores, -np.inf).",
)
def keys_zeroed(Q, K, mask=None):
    if mask is None:
        return right(Q, K)
    return right(Q, np.where(np.any(mask, axis=-2)[..., None], K, 0))


@wrong(
    BROADCAST,
    "the mask picks single scores, so it must have their full shape",
    "Use np.where(mask, scores, -np.inf), which stretches the mask; scores[~mask] does not.",
)
def picked_by_index(Q, K, mask=None):
    scores = scores_of(Q, K)
    if mask is None:
        return softmax(scores)
    scores[~mask] = -np.inf
    return np.nan_to_num(softmax(scores))


@wrong(
    BROADCAST,
    "a mask that has not the shape of the scores is refused",
    "A mask may lack leading axes, or have them with the length 1: let NumPy stretch it.",
)
def full_shape_only(Q, K, mask=None):
    if mask is not None and mask.shape != scores_of(Q, K).shape:
        raise ValueError("the mask must have the shape of the scores")
    return right(Q, K, mask)


@wrong(
    BROADCAST,
    "all sequences use the mask of the first",
    "A mask with a batch axis has an entry for each sequence: use all of it.",
)
def first_mask_for_all(Q, K, mask=None):
    return right(Q, K, mask if mask is None or mask.ndim < 3 else mask[:1])


@wrong(
    BROADCAST,
    "the axes of the mask are counted from the front",
    "The last axis of the mask is the keys, the one before it the queries, if it is there.",
)
def mask_from_the_front(Q, K, mask=None):
    scores = scores_of(Q, K)
    if mask is not None:
        mask = mask.reshape(mask.shape + (1,) * (scores.ndim - mask.ndim))
    return weigh(scores, mask)


@wrong(
    BROADCAST,
    "a mask without an axis of queries hides queries, and it should hide keys",
    "A mask of shape (S,) is stretched over the queries: do not add an axis at its end.",
)
def padding_hides_queries(Q, K, mask=None):
    if mask is not None and (mask.ndim == 1 or mask.shape[-2] == 1 < mask.shape[-1]):
        column = mask[..., None] if mask.ndim == 1 else mask.swapaxes(-1, -2)
        mask = np.resize(column, (*column.shape[:-2], Q.shape[-2], 1))
    return right(Q, K, mask)


@wrong(
    BLANK,
    "a query that may attend to nothing gets a plain average",
    "A finite fill, such as -1e9, makes all its scores equal. Set the weights of such a row to 0.",
)
def average_for_nothing(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else np.where(mask, scores, -1e9))


@wrong(
    BLANK,
    "a query that may attend to nothing gets nan",
    "Its scores are all -inf, and 0 / 0 is nan. Set the weights of such a row to 0.",
)
def nan_for_nothing(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf))


@wrong(
    BLANK,
    "a query that may attend to nothing reads everything, as if there were no mask",
    "Adding -1e9 to every score of a row changes no weight. Set the weights of such a row to 0.",
)
def mask_dropped_for_nothing(Q, K, mask=None):
    scores = scores_of(Q, K)
    return softmax(scores if mask is None else scores + np.where(mask, 0, -1e9))


@wrong(
    BLANK,
    "one query that may attend to nothing takes the zeros to all queries",
    "Each query has a row of its own: ~mask.any(axis=-1, keepdims=True) finds the blank ones.",
)
def zeros_for_all(Q, K, mask=None):
    if mask is None:
        return right(Q, K)
    blank = ~np.any(mask, axis=-1, keepdims=True)
    return np.where(blank.any(), 0, right(Q, K, mask))


@wrong(
    BLANK,
    "a query that may attend to nothing is refused",
    "Padding makes such queries: give them zeros.",
)
def nothing_refused(Q, K, mask=None):
    if mask is not None and not np.any(mask, axis=-1).all():
        raise ValueError("a query must attend to something")
    return right(Q, K, mask)


@wrong(
    BLANK,
    "a query that may attend to nothing reads the first key",
    "argmax of a row without True is 0. Set the weights of such a row to 0.",
)
def first_key_for_nothing(Q, K, mask=None):
    if mask is not None:
        mask = mask.copy()
        mask[..., 0] |= ~mask.any(axis=-1)
    return right(Q, K, mask)


@wrong(
    TYPES,
    "only float64 is accepted",
    "Do not test the type: the same lines serve float32 and float16.",
)
def float64_only(Q, K, mask=None):
    if Q.dtype != np.float64 or K.dtype != np.float64:
        raise TypeError("Q and K must be float64")
    return right(Q, K, mask)


@wrong(
    INPUT,
    "the caller's queries are divided in place",
    "Q = Q / sqrt(d_k) makes a new array, and Q /= sqrt(d_k) changes the caller's.",
)
def divided_in_place(Q, K, mask=None):
    Q /= sqrt(Q.shape[-1])
    return weigh(Q @ K.swapaxes(-1, -2), mask)


@wrong(
    INPUT,
    "the caller's mask is inverted in place",
    "Use ~mask, which makes a new array.",
)
def mask_inverted_in_place(Q, K, mask=None):
    weights = right(Q, K, mask)
    if mask is not None:
        np.logical_not(mask, out=mask)
    return weights
