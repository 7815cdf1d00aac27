"""What every answer that attends is asked, on the same queries, keys, values and masks."""

import numpy as np

from mha_lessons import masks, vectorized

from .compare import TOLERANCE, close

# An answer may compute in float32, and far from zero float32 keeps fewer digits.
ROUNDING, ROUNDING_OF_LARGE = 1e-5, 1e-3

BATCH_HINT = "Count axes from the end: K.swapaxes(-1, -2), axis=-1. All leading axes stay."
LARGE_HINT = "Subtract from each row its largest score before np.exp."
MASK_HINT = "True = may attend: set the scores to -inf where the mask is False, before the softmax."
BROADCAST_HINT = "Let NumPy stretch the mask to the scores, as np.where(mask, scores, ...) does."
BLANK_HINT = "Where mask.any(axis=-1) is False there is nothing to average: that row is zeros."
TYPES_HINT = "Do not ask for one type: float16, float32 and float64 all come."
INPUT_HINT = "Work on a copy: Q = Q / 2 makes a new array, and Q /= 2 changes the caller's."


def heads(T, S, d_k, d_v=None, batch=()):
    """Make Q, K and V, the same on every call; without `d_v`, values are as wide as keys."""
    rng = np.random.default_rng(seed=T + 10 * S + 100 * d_k)
    shapes = (T, d_k), (S, d_k), (S, d_v or d_k)
    return [rng.standard_normal((*batch, *shape)) for shape in shapes]


def moved(Q, K, V, *by):
    """Add to the scores of each query as much as `by` says, in turn, and change no weight."""
    shift = np.resize(by, len(Q)) * np.sqrt(Q.shape[-1] + 1)
    return np.column_stack([Q, shift]), np.column_stack([K, np.ones(len(K))]), V


def some_keys(*shape):
    """Make a mask with which every query may read some keys, and not all."""
    mask = np.random.default_rng(seed=len(shape)).random(shape) < 0.5
    mask[..., 1], mask[..., -1] = True, False
    return mask


def no_keys(*shape):
    """Make a mask that hides every key from one query, or from one sequence of a batch."""
    mask = some_keys(*shape)
    mask[1] = False
    return mask


def causal_attention(Q, K, V):
    """Attend to the keys that are not later than the query."""
    return vectorized.attention(Q, K, V, masks.causal(Q.shape[-2], K.shape[-2]))


RIGHT = {
    "attention_weights": lambda Q, K, V, mask=None: vectorized.attention_weights(Q, K, mask),
    "attention": vectorized.attention,
    "causal_attention": causal_attention,
}


def arguments(answer, Q, K, V):
    """Leave out what the answer does not take."""
    return (Q, K) if answer.name == "attention_weights" else (Q, K, V)


def must_attend(answer, Q, K, V, hint, at_least=ROUNDING, **named):
    """Fail unless the answer gives what it should; what is `named` is passed by keyword."""
    expected = RIGHT[answer.name](Q, K, V, **named)
    given = arguments(answer, Q, K, V)
    answer.must_equal(expected, *given, hint=hint, at_least=at_least, **named)


def must_blank(answer, Q, K, V, mask):
    """Fail unless a query that may attend to nothing gets zeros, and no other does.

    A causal answer makes the `mask` itself; others are given it.
    """
    makes_it = answer.name == "causal_attention"
    right, named = (RIGHT["attention"], {}) if makes_it else (RIGHT[answer.name], {"mask": mask})
    given = arguments(answer, Q, K, V)
    expected = right(Q, K, V, mask)
    blank = np.all(expected == 0, axis=-1)
    got = answer.array(answer.must_return(*given, **named))
    if got.shape == expected.shape and close(got[~blank], expected[~blank], ROUNDING):
        for mistake, looks in [
            ("nan_for_nothing", np.full_like(expected, np.nan)),
            ("average_for_nothing", right(0 * Q, K, V)),
            ("mask_dropped_for_nothing", right(Q, K, V)),
        ]:
            if close(got[blank], looks[blank], 1e-4):
                answer.fail_as(mistake)
    answer.must_equal(expected, *given, hint=BLANK_HINT, at_least=ROUNDING, **named)


def right_values(answer, hint):
    """As many keys as queries, no mask."""
    for T, d_k in [(5, 11), (7, 2)]:
        must_attend(answer, *heads(T, T, d_k), hint)


def any_sizes(answer, hint):
    """More keys than queries, or fewer, or one; values of another width than keys."""
    for T, S, d_k, d_v in [(5, 2, 11, 7), (2, 7, 5, 3), (1, 5, 2, 3), (3, 1, 2, 5), (3, 5, 2, 1)]:
        must_attend(answer, *heads(T, S, d_k, d_v), hint.format(T=T, S=S, d_v=d_v))


def leading_axes(answer, S=7):
    """Batch axes in front."""
    for batch in [(2,), (2, 3)]:
        must_attend(answer, *heads(5, S, 11, 13, batch=batch), BATCH_HINT)


def large_scores(answer, S=7):
    """Scores with which np.exp overflows, or gives a row of zeros."""
    apart = moved(*heads(5, S, 11), 2000, -2000, 0)
    must_attend(answer, *apart, LARGE_HINT, ROUNDING_OF_LARGE)


def keys_hidden(answer):
    """A mask with an axis of queries and one of keys."""
    for T, S in [(5, 5), (3, 7)]:
        must_attend(answer, *heads(T, S, 11), MASK_HINT, mask=some_keys(T, S))
    # A finite score that is to hide a key is now the best one, and np.exp is not yet 0.
    low = moved(*heads(5, 7, 11), -150)
    must_attend(answer, *low, MASK_HINT, ROUNDING_OF_LARGE, mask=some_keys(5, 7))


def stretched_masks(answer):
    """Masks that lack axes of the scores, or have them with the length 1."""
    Q, K, V = heads(5, 7, 11, batch=(2, 3))
    for shape in [(5, 7), (7,), (1, 7), (2, 1, 1, 7), (3, 1, 7), (2, 3, 5, 7)]:
        must_attend(answer, Q, K, V, BROADCAST_HINT, mask=some_keys(*shape))


def blank_rows(answer):
    """Masks that hide every key from a query."""
    for batch, mask in [((), no_keys(5, 7)), ((2, 3), no_keys(2, 1, 1, 7))]:
        must_blank(answer, *heads(5, 7, 11, batch=batch), mask)


def narrow_types(answer):
    """Inputs in float32 and float16."""
    for dtype, rounding in TOLERANCE.items():
        narrow = [array.astype(dtype) for array in heads(5, 7, 11)]
        expected = RIGHT[answer.name](*(array.astype(float) for array in narrow))
        given = arguments(answer, *narrow)
        answer.must_equal(expected, *given, hint=TYPES_HINT, at_least=rounding)


def inputs_kept(answer, **named):
    """Arrays are the same after the call."""
    given = arguments(answer, *heads(5, 7, 11))
    answer.must_keep_its_arguments(*given, hint=INPUT_HINT, **named)
