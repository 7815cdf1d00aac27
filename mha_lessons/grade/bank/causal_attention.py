"""Wrong answers to ``causal_attention(Q, K, V)``.

Many wrong answers to ``attention`` make one here too, with the same words.
"""

from functools import partial

import numpy as np

from ..mistakes import mistake
from . import attention
from .attention_weights import scores_of, softmax, weigh
from .causal_mask import right as causal

wrong = partial(mistake, "causal_attention")
VALUES, NO_LEAK = "causal_attention_values", "causal_attention_no_leak"
CACHE, BATCH = "causal_attention_cache", "causal_attention_batch"


def mask_of(Q, K, ahead=0):
    """Make the causal mask of the queries and keys."""
    return causal(Q.shape[-2], K.shape[-2], ahead)


@wrong(
    VALUES,
    "later keys are read",
    "Hide them: set the scores to -inf where the causal mask is False.",
)
def future_read(Q, K, V):
    return attention.right(Q, K, V)


@wrong(
    VALUES,
    "a query does not read its own position",
    "Query t reads the keys s <= t: its own, too.",
)
def itself_hidden(Q, K, V):
    return attention.right(Q, K, V, mask_of(Q, K, -1))


@wrong(
    VALUES,
    "a query reads one token ahead",
    "The last key that query t may read is key t.",
)
def one_ahead(Q, K, V):
    return attention.right(Q, K, V, mask_of(Q, K, 1))


@wrong(
    VALUES,
    "the future is read, and the past is hidden",
    "Query t may read the keys s <= t: the lower triangle.",
)
def past_hidden(Q, K, V):
    return attention.right(Q, K, V, ~mask_of(Q, K, -1))


@wrong(
    VALUES,
    "the mask is inverted",
    "True = may attend: hide the scores where the mask is False.",
)
def inverted(Q, K, V):
    return attention.right(Q, K, V, ~mask_of(Q, K))


@wrong(
    VALUES,
    "each query reads its own position only",
    "It reads what came before, too: s <= t.",
)
def itself_only(Q, K, V):
    return attention.right(Q, K, V, mask_of(Q, K) & ~mask_of(Q, K, -1))


@wrong(
    VALUES,
    "what came before is averaged, and the scores do not count",
    "Weigh the values: softmax of the scores, with -inf where the mask is False.",
)
def running_mean(Q, K, V):
    return weigh(0 * scores_of(Q, K), mask_of(Q, K)) @ V


@wrong(
    NO_LEAK,
    "a later key keeps a tiny weight, and a large value gets through it",
    "Use -inf: np.exp(-20) is small, and not zero.",
)
def fill_of_minus_20(Q, K, V):
    mask = mask_of(Q, K)
    weights = softmax(np.where(mask, scores_of(Q, K), -20.0))
    return np.where(mask.any(axis=-1, keepdims=True), weights, 0) @ V


@wrong(
    NO_LEAK,
    "a small number is added to every weight, those of later keys too",
    "Nothing is to be added: a weight of exactly 0 lets nothing through.",
)
def smoothed(Q, K, V):
    return (weigh(scores_of(Q, K), mask_of(Q, K)) + 1e-9) @ V


@wrong(
    CACHE,
    "the first query is aligned with the first key, and the last should be with the last",
    "The queries are the newest: make the mask (T, S), and let query t read s <= t + S - T.",
)
def aligned_to_the_first(Q, K, V):
    return attention.right(Q, K, V, np.tri(Q.shape[-2], K.shape[-2], dtype=bool))


@wrong(
    CACHE,
    "the mask is (T, T), and there are S keys",
    "Make the mask with T = Q.shape[-2] and S = K.shape[-2].",
)
def square_mask(Q, K, V):
    return attention.right(Q, K, V, causal(Q.shape[-2]))


@wrong(
    CACHE,
    "the cache is not used: only the last T keys are read",
    "The S - T keys before them may be read by every query.",
)
def last_keys_only(Q, K, V):
    T = Q.shape[-2]
    K, V = K[..., -T:, :], V[..., -T:, :]
    return attention.right(Q, K, V, mask_of(Q, K))


@wrong(
    BATCH,
    "the number of tokens is read from the first axis, which is the batch",
    "Count from the end: T = Q.shape[-2] and S = K.shape[-2].",
)
def tokens_from_the_front(Q, K, V):
    return attention.right(Q, K, V, causal(len(Q), len(K)))


def made_causal(attend):
    """Give a wrong way to attend the right mask."""
    return lambda Q, K, V: attend(Q, K, V, mask_of(Q, K))


TAKEN_OVER = {
    "values": (
        *("unscaled", "multiplied", "root_missing", "scaled_by_tokens", "swapped", "columns"),
        *("everything", "another_rows_sum", "best_key_only", "divided_after", "reshaped"),
        *("no_exponential", "not_divided", "transposed", "weights_returned", "keys_averaged"),
        *("keys_and_values_swapped", "queries_averaged", "residual_added", "masked_after"),
        *("score_of_zero", "fill_of_minus_10", "zero_times_infinity"),
        *("scaled_by_width_of_values", "shape_of_queries", "squeezed", "dropped_out", "rounded"),
    ),
    "large": ("overflow", "largest_of_all", "fill_of_minus_100"),
    "batch": (
        *("all_axes_reversed", "two_axes_only", "one_batch_axis_at_most", "np_dot"),
        *("width_from_the_front", "np_dot_with_values", "first_sequence_only"),
    ),
    "blank_row": (
        *("average_for_nothing", "nan_for_nothing", "mask_dropped_for_nothing"),
        *("nothing_refused", "first_key_for_nothing"),
    ),
    "keeps_its_input": ("divided_in_place", "values_overwritten"),
}

attention.take_over("causal_attention", TAKEN_OVER, made_causal)
