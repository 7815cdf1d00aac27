"""Wrong answers to ``merge_heads(heads)``."""

from functools import partial

import numpy as np

from ..mistakes import mistake

wrong = partial(mistake, "merge_heads")
VALUES, BATCH = "merge_heads_values", "merge_heads_batch"


def right(heads):
    """Merge as it should be; other answers' mistakes use it too."""
    heads = heads.swapaxes(-3, -2)
    return heads.reshape(*heads.shape[:-2], heads.shape[-2] * heads.shape[-1])


@wrong(
    VALUES,
    "numbers of different tokens are mixed in one row: the axes are not swapped before the reshape",
    "Swap the axes of heads and tokens first, swapaxes(-3, -2). Then reshape.",
)
def tokens_mixed(heads):
    *batch, num_heads, T, d_v = heads.shape
    return heads.reshape(*batch, T, num_heads * d_v)


@wrong(
    VALUES,
    "the heads are stacked below one another, along the tokens",
    "Lay them side by side: the result has T rows, as each head has.",
)
def stacked_along_tokens(heads):
    *batch, num_heads, T, d_v = heads.shape
    return heads.reshape(*batch, num_heads * T, d_v)


@wrong(
    VALUES,
    "the heads are added up",
    "Concat keeps them apart, side by side. W_O is what adds, with factors that it learns.",
)
def added_up(heads):
    return heads.sum(axis=-3)


@wrong(
    VALUES,
    "the heads are averaged",
    "Concat keeps them apart, side by side: num_heads * d_v columns, not d_v.",
)
def averaged(heads):
    return heads.mean(axis=-3)


@wrong(
    VALUES,
    "the columns of the heads take turns, as cards do in a shuffle",
    "All d_v columns of head 0 come first, then all of head 1: the features stay the last axis.",
)
def columns_take_turns(heads):
    heads = np.moveaxis(heads, -3, -1)
    return heads.reshape(*heads.shape[:-2], heads.shape[-2] * heads.shape[-1])


@wrong(
    VALUES,
    "the heads are in the reverse order",
    "Head 0 gives the first d_v columns.",
)
def reversed_order(heads):
    return right(heads[..., ::-1, :, :])


@wrong(
    VALUES,
    "tokens and heads are swapped, and the heads are not yet joined",
    "A reshape is left: (..., T, num_heads, d_v) becomes (..., T, num_heads * d_v).",
)
def not_joined(heads):
    return heads.swapaxes(-3, -2)


@wrong(
    VALUES,
    "the axes of tokens and features are swapped, not those of heads and tokens",
    "Swap the axes -3 and -2; the features d_v stay last.",
)
def features_moved(heads):
    *batch, num_heads, T, d_v = heads.shape
    return heads.swapaxes(-1, -2).reshape(*batch, T, num_heads * d_v)


@wrong(
    VALUES,
    "the heads come back as they were",
    "Two steps: swap the axes of heads and tokens, then join the last two axes.",
)
def unchanged(heads):
    return heads


@wrong(
    VALUES,
    "only one head is returned",
    "All of them are needed, side by side.",
)
def first_head_only(heads):
    return heads[..., 0, :, :]


@wrong(
    VALUES,
    "the result is transposed: a column for each token",
    "Tokens are rows: (..., T, num_heads * d_v).",
)
def tokens_as_columns(heads):
    return right(heads).swapaxes(-1, -2)


@wrong(
    VALUES,
    "the axis of tokens is lost when there is only one token",
    "Do not squeeze: with T = 1 the result is (..., 1, num_heads * d_v).",
)
def one_token_squeezed(heads):
    return np.squeeze(right(heads))


@wrong(
    VALUES,
    "the tokens are laid side by side too, in one long row",
    "Join the axes of heads and features only; each token keeps a row of its own.",
)
def one_long_row(heads):
    merged = right(heads)
    return merged.reshape(*merged.shape[:-2], merged.shape[-2] * merged.shape[-1])


@wrong(
    BATCH,
    "np.concatenate goes through the first axis, and that is the batch",
    "Go through the axis of heads: np.concatenate(list(np.moveaxis(heads, -3, 0)), axis=-1).",
)
def batch_concatenated(heads):
    return np.concatenate(heads, axis=-1)


@wrong(
    BATCH,
    "leading batch axes are not accepted",
    "Count axes from the end: *batch, num_heads, T, d_v = heads.shape.",
)
def three_axes_only(heads):
    num_heads, T, d_v = heads.shape
    return heads.transpose(1, 0, 2).reshape(T, num_heads * d_v)


@wrong(
    BATCH,
    "exactly one batch axis is expected",
    "Keep all leading axes, also none or two: *batch, num_heads, T, d_v = heads.shape.",
)
def one_batch_axis_at_most(heads):
    if heads.ndim == 3:
        return right(heads)
    B, num_heads, T, d_v = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(B, T, num_heads * d_v)


@wrong(
    BATCH,
    "the batch axes are merged with the tokens",
    "Reshape to (*batch, T, num_heads * d_v), with all leading axes.",
)
def batch_merged(heads):
    return right(heads).reshape(-1, heads.shape[-3] * heads.shape[-1])
