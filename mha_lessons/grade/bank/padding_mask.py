"""Wrong answers to ``padding_mask(lengths, S)``."""

from functools import partial

import numpy as np

from ..mistakes import mistake

wrong = partial(mistake, "padding_mask")
VALUES, ENDS, BOOLEAN = "padding_mask_values", "padding_mask_ends", "padding_mask_boolean"


def right(lengths, S):
    """Make the mask as it should be; most mistakes are this and a slip."""
    return (np.arange(S) < lengths[:, None])[:, None, None, :]


@wrong(
    VALUES,
    "the mask is inverted: True marks the padding",
    "True = may attend: the real keys, s < lengths[b].",
)
def inverted(lengths, S):
    return ~right(lengths, S)


@wrong(
    VALUES,
    "one key of the padding may be read",
    "Keys are counted from 0, so the last real one is lengths[b] - 1: s < lengths[b], not <=.",
)
def one_too_many(lengths, S):
    return right(lengths + 1, S)


@wrong(
    VALUES,
    "the last real key is hidden",
    "Keys are counted from 0, so lengths[b] of them are s < lengths[b].",
)
def one_too_few(lengths, S):
    return right(lengths - 1, S)


@wrong(
    VALUES,
    "the mask is (B, S): against scores (B, h, T, S) its rows are taken for queries",
    "Add an axis for the heads and one for the queries: mask[:, None, None, :].",
)
def two_axes(lengths, S):
    return right(lengths, S)[:, 0, 0]


@wrong(
    VALUES,
    "the mask is (B, 1, S): against scores (B, h, T, S) its batch is taken for heads",
    "Add two axes: one for the heads and one for the queries, (B, 1, 1, S).",
)
def three_axes(lengths, S):
    return right(lengths, S)[:, 0]


@wrong(
    VALUES,
    "the batch stands at the axis of the queries",
    "The batch is the first axis: mask[:, None, None, :].",
)
def batch_at_the_queries(lengths, S):
    return right(lengths, S).transpose(1, 2, 0, 3)


@wrong(
    VALUES,
    "the batch stands at the axis of the heads",
    "The batch is the first axis, and the heads are the second: (B, 1, 1, S).",
)
def batch_at_the_heads(lengths, S):
    return right(lengths, S).swapaxes(0, 1)


@wrong(
    VALUES,
    "queries are hidden, and keys should be",
    "Padding must not be read: hide it on the last axis, that of the keys.",
)
def queries_hidden(lengths, S):
    return right(lengths, S).swapaxes(-1, -2)


@wrong(
    VALUES,
    "queries are hidden too: there is a row for each of them",
    "Padded queries are computed and ignored; return (B, 1, 1, S).",
)
def keys_and_queries_hidden(lengths, S):
    keys = right(lengths, S)
    return keys & keys.swapaxes(-1, -2)


@wrong(
    VALUES,
    "the mask is copied for every query",
    "Return (B, 1, 1, S): an axis of length 1 is stretched by itself.",
)
def copied_for_queries(lengths, S):
    return np.repeat(right(lengths, S), S, axis=-2)


@wrong(
    VALUES,
    "the padding is taken to stand in front",
    "The padding stands at the end: the first lengths[b] keys are real.",
)
def padding_in_front(lengths, S):
    return right(lengths, S)[..., ::-1]


@wrong(
    VALUES,
    "all sequences get the length of the longest",
    "Each sequence has a length of its own: compare with lengths[:, None].",
)
def longest_for_all(lengths, S):
    return right(np.full_like(lengths, lengths.max()), S)


@wrong(
    VALUES,
    "all sequences get the length of the first",
    "Use every entry of lengths, not lengths[0].",
)
def first_for_all(lengths, S):
    return right(np.full_like(lengths, lengths[0]), S)


@wrong(
    VALUES,
    "only one key of each sequence may be read",
    "All keys before the end are real: s < lengths[b], not s == lengths[b] - 1.",
)
def last_key_only(lengths, S):
    return right(lengths, S) & ~right(lengths - 1, S)


@wrong(
    VALUES,
    "the mask is as long as the longest sequence, and S is not used",
    "The last axis has S keys, those of the padding too.",
)
def cut_to_the_longest(lengths, S):
    return right(lengths, lengths.max())


@wrong(
    VALUES,
    "the mask holds 0 and -inf, for adding to the scores",
    "Return truth values: True = may attend.",
)
def for_adding(lengths, S):
    return np.where(right(lengths, S), 0, -np.inf)


@wrong(
    VALUES,
    "lengths of shape (B,) and positions of shape (S,) do not fit together",
    "Give the lengths an axis: np.arange(S) < lengths[:, None].",
)
def no_axis_for_lengths(lengths, S):
    return (np.arange(S) < lengths)[:, None, None, :]


@wrong(
    VALUES,
    "the sequences are sorted by length",
    "Keep their order: entry b belongs to lengths[b].",
)
def sorted_by_length(lengths, S):
    return right(np.sort(lengths), S)


@wrong(
    ENDS,
    "a sequence without padding is hidden as a whole: the slice [-0:] is everything",
    "Hide from the front: mask[b, lengths[b]:] = False.",
)
def minus_zero(lengths, S):
    mask = np.ones((len(lengths), 1, 1, S), dtype=bool)
    for b, length in enumerate(lengths):
        mask[b, ..., -(S - length) :] = False
    return mask


@wrong(
    ENDS,
    "length 0 is taken for no length given, so everything may be read",
    "0 is a length: test for it in no other way than s < lengths[b].",
)
def zero_for_unknown(lengths, S):
    return right(np.where(lengths == 0, S, lengths), S)


@wrong(
    ENDS,
    "an empty sequence keeps its first key",
    "With length 0 no key is real, and its queries get zeros.",
)
def one_key_at_least(lengths, S):
    return right(np.maximum(lengths, 1), S)


@wrong(
    ENDS,
    "the last key of a full sequence is hidden",
    "Without padding, lengths[b] is S and all keys may be read.",
)
def last_key_always_hidden(lengths, S):
    return right(np.minimum(lengths, S - 1), S)


@wrong(
    ENDS,
    "an empty sequence is refused",
    "Length 0 may come: then no key may be read.",
)
def empty_refused(lengths, S):
    if (lengths < 1).any():
        raise ValueError("every sequence needs a token")
    return right(lengths, S)


@wrong(
    ENDS,
    "the end of the sequence is used as an index, and a full sequence has none",
    "Compare instead: np.arange(S) < lengths[:, None].",
)
def end_as_index(lengths, S):
    ended = np.zeros((len(lengths), S), dtype=bool)
    ended[np.arange(len(lengths)), lengths] = True
    return ~np.logical_or.accumulate(ended, axis=-1)[:, None, None, :]


@wrong(
    BOOLEAN,
    "the mask holds integers: 0 and 1 do not say which of them hides",
    "Return truth values: a comparison gives them, and so does dtype=bool or .astype(bool).",
)
def integers(lengths, S):
    return right(lengths, S).astype(int)


@wrong(
    BOOLEAN,
    "the mask holds the numbers 0.0 and 1.0, which np.zeros and np.ones make",
    "Ask for truth values: np.zeros(..., dtype=bool), or .astype(bool).",
)
def floats(lengths, S):
    return right(lengths, S).astype(float)
