"""Wrong answers to ``split_heads(x, num_heads)``."""

from functools import partial

import numpy as np

from ..mistakes import mistake

wrong = partial(mistake, "split_heads")
VALUES, BATCH = "split_heads_values", "split_heads_batch"
UNEVEN, NO_HEADS = "split_heads_refuses_uneven", "split_heads_refuses_no_heads"


def refuse(x, num_heads):
    """Refuse what must be refused; most mistakes are in what follows."""
    if num_heads < 1 or x.shape[-1] % num_heads:
        raise ValueError("num_heads must divide d_model")


def right(x, num_heads):
    """Split as it should be; several mistakes are this and a slip."""
    refuse(x, num_heads)
    return x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).swapaxes(-2, -3)


@wrong(
    VALUES,
    "numbers of different tokens are mixed in one row",
    "Reshape to (..., T, num_heads, d_k) first. Then swap the axes of T and num_heads.",
)
def tokens_mixed(x, num_heads):
    *batch, T, d_model = x.shape
    return x.reshape(*batch, num_heads, T, d_model // num_heads)


@wrong(
    VALUES,
    "the axis of tokens is still in front of the axis of heads",
    "The result is (..., num_heads, T, d_k): swap the axes -2 and -3 after the reshape.",
)
def heads_not_moved(x, num_heads):
    return right(x, num_heads).swapaxes(-2, -3)


@wrong(
    VALUES,
    "the axes of heads and features are swapped, not those of tokens and heads",
    "Swap the axes -2 and -3; the features d_k stay last.",
)
def features_moved(x, num_heads):
    return right(x, num_heads).swapaxes(-2, -3).swapaxes(-1, -2)


@wrong(
    VALUES,
    "num_heads and d_k are mixed up",
    "num_heads is the number of heads; each has d_k = d_model // num_heads features.",
)
def width_for_number(x, num_heads):
    return right(x, x.shape[-1] // num_heads)


@wrong(
    VALUES,
    "the columns are dealt out to the heads in turn, as cards are",
    "Head i owns neighbours: the columns i*d_k to (i+1)*d_k.",
)
def columns_dealt(x, num_heads):
    *batch, T, d_model = x.shape
    heads = x.reshape(*batch, T, d_model // num_heads, num_heads)
    return np.moveaxis(heads, -1, -3)


@wrong(
    VALUES,
    "each head is as wide as the whole model",
    "A head gets its own d_k = d_model // num_heads columns, not all of them.",
)
def full_copies(x, num_heads):
    return np.stack([x] * num_heads, axis=-3)


@wrong(
    VALUES,
    "every head is a copy of the first",
    "Head i starts at column i*d_k: use i in the slice.",
)
def first_head_everywhere(x, num_heads):
    return np.stack([x[..., : x.shape[-1] // num_heads]] * num_heads, axis=-3)


@wrong(
    VALUES,
    "the heads are in the reverse order",
    "Head 0 owns the first d_k columns.",
)
def reversed_order(x, num_heads):
    return right(x, num_heads)[..., ::-1, :, :]


@wrong(
    VALUES,
    "the number of heads is fixed, and does not follow num_heads",
    "Use the argument num_heads wherever you wrote a number.",
)
def always_three(x, num_heads):
    return right(x, 3)


@wrong(
    VALUES,
    "sizes that fit are refused",
    "Refuse where d_model % num_heads is not 0: 3 heads can share 21 columns, and also 3.",
)
def fitting_sizes_refused(x, num_heads):
    raise ValueError("num_heads must divide d_model")


@wrong(
    VALUES,
    "the numbers are rounded to 16 bits",
    "Keep the type of x: move its numbers, and compute nothing.",
)
def rounded(x, num_heads):
    return right(x.astype("float16").astype(float), num_heads)


@wrong(
    VALUES,
    "the numbers are cut to whole ones",
    "Keep the type of x: move its numbers, and compute nothing.",
)
def cut(x, num_heads):
    return right(x.astype(int), num_heads)


@wrong(
    VALUES,
    "an axis is lost when there is only one head",
    "Do not squeeze: with num_heads = 1 the result is (..., 1, T, d_model).",
)
def one_head_squeezed(x, num_heads):
    heads = right(x, num_heads)
    return heads[..., 0, :, :] if num_heads == 1 else heads


@wrong(
    BATCH,
    "leading batch axes are not accepted",
    "Count axes from the end: d_model is x.shape[-1], and T is x.shape[-2].",
)
def two_axes_only(x, num_heads):
    refuse(x, num_heads)
    T, d_model = x.shape
    return x.reshape(T, num_heads, d_model // num_heads).transpose(1, 0, 2)


@wrong(
    BATCH,
    "the axes are counted from the front, so batch axes are taken for tokens",
    "Count axes from the end: swapaxes(-2, -3), not swapaxes(0, 1).",
)
def swapped_from_the_front(x, num_heads):
    return right(x, num_heads).swapaxes(-2, -3).swapaxes(0, 1)


@wrong(
    BATCH,
    "the batch axes are merged with the tokens",
    "Keep the leading axes: reshape to (*x.shape[:-1], num_heads, d_k).",
)
def batch_merged(x, num_heads):
    return right(x.reshape(-1, x.shape[-1]), num_heads)


@wrong(
    BATCH,
    "exactly one batch axis is expected",
    "Keep all leading axes, also none or two: *batch, T, d_model = x.shape.",
)
def one_batch_axis_at_most(x, num_heads):
    refuse(x, num_heads)
    if x.ndim == 2:
        return right(x, num_heads)
    B, T, d_model = x.shape
    return x.reshape(B, T, num_heads, d_model // num_heads).transpose(0, 2, 1, 3)


@wrong(
    UNEVEN,
    "the input is padded in silence until num_heads divides its width",
    "Raise ValueError when d_model % num_heads is not 0.",
)
def padded(x, num_heads):
    missing = -x.shape[-1] % num_heads if num_heads > 0 else 0
    return right(np.concatenate([x, np.zeros((*x.shape[:-1], missing))], axis=-1), num_heads)


@wrong(
    UNEVEN,
    "the last columns are dropped in silence",
    "Raise ValueError when d_model % num_heads is not 0.",
)
def columns_dropped(x, num_heads):
    if num_heads < 1:
        raise ValueError("there must be a head")
    d_k = x.shape[-1] // num_heads
    return np.stack([x[..., i * d_k : (i + 1) * d_k] for i in range(num_heads)], axis=-3)


@wrong(
    UNEVEN,
    "None is returned where num_heads does not divide d_model",
    "Raise ValueError: then the mistake is seen where it is made.",
)
def none_for_uneven(x, num_heads):
    if num_heads > 0 and x.shape[-1] % num_heads:
        return None
    return right(x, num_heads)


@wrong(
    UNEVEN,
    "the error is of the wrong type: the types are right, and the value is not",
    "Raise ValueError.",
)
def type_error_for_uneven(x, num_heads):
    if num_heads > 0 and x.shape[-1] % num_heads:
        raise TypeError("num_heads must divide d_model")
    return right(x, num_heads)


@wrong(
    NO_HEADS,
    "num_heads = 0 is not tested: the division by it fails",
    "Test num_heads < 1 before you divide, and raise ValueError.",
)
def zero_not_tested(x, num_heads):
    return x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads).swapaxes(-2, -3)


@wrong(
    NO_HEADS,
    "the sign of num_heads is ignored",
    "Raise ValueError when num_heads < 1.",
)
def sign_ignored(x, num_heads):
    if num_heads == 0:
        raise ValueError("num_heads must be positive")
    return right(x, abs(num_heads))


@wrong(
    NO_HEADS,
    "no heads at all are accepted",
    "Raise ValueError when num_heads < 1.",
)
def empty_for_none(x, num_heads):
    if num_heads < 1:
        return np.zeros((*x.shape[:-2], 0, x.shape[-2], 0))
    return right(x, num_heads)


@wrong(
    "split_heads_keeps_its_input",
    "the shape of the caller's array is changed",
    "Use x.reshape(...), which leaves x as it is, not x.shape = ... or x.resize(...).",
)
def shape_assigned(x, num_heads):
    refuse(x, num_heads)
    x.shape = (*x.shape[:-1], num_heads, x.shape[-1] // num_heads)
    return x.swapaxes(-2, -3)


@wrong(
    "split_heads_keeps_its_input",
    "the caller's array is emptied",
    "Leave x as it is: the caller may need it again.",
)
def emptied(x, num_heads):
    heads = right(x, num_heads).copy()
    x[...] = 0
    return heads
