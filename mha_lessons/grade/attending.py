"""What every answer that attends is asked, on the same queries, keys, values and masks."""

import contextlib

import numpy as np

from mha_lessons import masks, vectorized
from mha_lessons.projections import Projections, split_heads

from .checks import CheckFailed, one_line
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


def layer(T, S=None, num_heads=3, d_k=7, batch=()):
    """Make x_q, x_kv, W_Q, W_K, W_V, W_O and num_heads, the same on every call.

    Without `S`, the layer reads what asks: x_kv is x_q.
    """
    d_model = num_heads * d_k
    rng = np.random.default_rng(seed=T + 10 * (S or 0) + 100 * d_model)
    x_q = rng.standard_normal((*batch, T, d_model))
    x_kv = x_q if S is None else rng.standard_normal((*batch, S, d_model))
    return x_q, x_kv, *rng.standard_normal((4, d_model, d_model)) / np.sqrt(d_model), num_heads


def layer_moved(by, *sizes):
    """Make a layer as `layer` does, in which all scores of a query are far from zero.

    They are moved together, for each query and head by another multiple of `by`, and no weight
    changes.
    """
    x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads = layer(*sizes)
    d_k = len(W_Q) // num_heads
    x_kv[..., -1] = 1
    W_K[-1, ::d_k] += by  # every key of a head begins with `by`, and queries begin as they like
    return x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads


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


def multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    """Let head i attend with the columns i*d_k to (i+1)*d_k of each projection."""
    by_head = (split_heads(W, num_heads) for W in (W_Q, W_K, W_V))  # (h, d_model, d_k)
    return vectorized.multi_head_attention(x_q, x_kv, Projections(*by_head, W_O), mask)


RIGHT = {
    "softmax": vectorized.softmax,
    "attention_weights": vectorized.attention_weights,
    "attention": vectorized.attention,
    "causal_attention": causal_attention,
    "multi_head_attention": multi_head_attention,
}


def arguments(answer, *given):
    """Leave out what the answer does not take."""
    return given[: {"softmax": 1, "attention_weights": 2}.get(answer.name)]


def must_attend(answer, *given, hint, at_least=ROUNDING, **named):
    """Fail unless the answer gives what it should; what is `named` is passed by keyword."""
    given = arguments(answer, *given)
    expected = RIGHT[answer.name](*given, **named)
    with first_things_first(answer, hint):
        answer.must_equal(expected, *given, hint=hint, at_least=at_least, **named)


@contextlib.contextmanager
def first_things_first(answer, hint):
    """Leave out the hint at what is special about an input where a plain input fails too."""
    try:
        yield
    except CheckFailed as failed:
        first = f"{answer.name}_values"
        general = failed.mistake or failed.hint != one_line(hint)
        if not general and answer.check != first and not right_on_plain_inputs(answer):
            failed.hint = f"A plain input gives wrong numbers too: begin with {first}."
        raise


def right_on_plain_inputs(answer):
    """Tell whether the answer is right on the first input of its first check."""
    plain = layer(5) if answer.name == "multi_head_attention" else heads(5, 5, 11)
    given = arguments(answer, *plain)
    try:
        answer.must_equal(RIGHT[answer.name](*given), *given, at_least=ROUNDING)
    except CheckFailed:
        return False
    return True


def must_blank(answer, *given, mask):
    """Fail unless a query that may attend to nothing gets zeros, and no other does.

    A causal answer makes the `mask` itself; others are given it.
    """
    makes_it = answer.name == "causal_attention"
    right, named = (RIGHT["attention"], {}) if makes_it else (RIGHT[answer.name], {"mask": mask})
    given = arguments(answer, *given)
    expected = right(*given, mask=mask)
    blank = np.all(expected == 0, axis=-1)
    value = answer.must_return(*given, **named)
    answer.fail_if_several(value, expected.shape)
    got = answer.array(value)
    if got.shape == expected.shape and close(got[~blank], expected[~blank], ROUNDING):
        for mistake, looks in [
            ("nan_for_nothing", np.full_like(expected, np.nan)),
            ("average_for_nothing", right(0 * given[0], *given[1:])),
            ("mask_dropped_for_nothing", right(*given)),
        ]:
            if close(got[blank], looks[blank], 1e-4):
                answer.fail_as(mistake)
    with first_things_first(answer, BLANK_HINT):
        answer.must_equal(expected, *given, hint=BLANK_HINT, at_least=ROUNDING, **named)


def right_values(answer, hint):
    """As many keys as queries, no mask."""
    for T, d_k in [(5, 11), (7, 2)]:
        must_attend(answer, *heads(T, T, d_k), hint=hint)


def any_sizes(answer, hint):
    """More keys than queries, or fewer, or one; values of another width than keys."""
    for T, S, d_k, d_v in [(5, 2, 11, 7), (2, 7, 5, 3), (1, 5, 2, 3), (3, 1, 2, 5), (3, 5, 2, 1)]:
        said = hint.format(T=T, S=S, d_v=d_v)
        must_attend(answer, *heads(T, S, d_k, d_v), hint=said)


def leading_axes(answer, S=7):
    """Batch axes in front."""
    for batch in [(2,), (2, 3)]:
        must_attend(answer, *heads(5, S, 11, 13, batch=batch), hint=BATCH_HINT)


def large_scores(answer, S=7):
    """Scores with which np.exp overflows, or gives a row of zeros."""
    apart = moved(*heads(5, S, 11), 2000, -2000, 0)
    must_attend(answer, *apart, hint=LARGE_HINT, at_least=ROUNDING_OF_LARGE)


def keys_hidden(answer):
    """A mask with an axis of queries and one of keys."""
    for T, S in [(5, 5), (3, 7)]:
        must_attend(answer, *heads(T, S, 11), hint=MASK_HINT, mask=some_keys(T, S))
    # A finite score that is to hide a key is now the best one, and np.exp is not yet 0.
    low = moved(*heads(5, 7, 11), -150)
    rounding, mask = ROUNDING_OF_LARGE, some_keys(5, 7)
    must_attend(answer, *low, hint=MASK_HINT, at_least=rounding, mask=mask)


def stretched_masks(answer):
    """Masks that lack axes of the scores, or have them with the length 1."""
    Q, K, V = heads(5, 7, 11, batch=(2, 3))
    for shape in [(5, 7), (7,), (1, 7), (2, 1, 1, 7), (3, 1, 7), (2, 3, 5, 7)]:
        must_attend(answer, Q, K, V, hint=BROADCAST_HINT, mask=some_keys(*shape))


def blank_rows(answer):
    """Masks that hide every key from a query."""
    for batch, mask in [((), no_keys(5, 7)), ((2, 3), no_keys(2, 1, 1, 7))]:
        must_blank(answer, *heads(5, 7, 11, batch=batch), mask=mask)


def narrow_types(answer):
    """Inputs in float32 and float16."""
    for dtype, rounding in TOLERANCE.items():
        narrow = [array.astype(dtype) for array in heads(5, 7, 11)]
        given = arguments(answer, *narrow)
        expected = RIGHT[answer.name](*(array.astype(float) for array in given))
        with first_things_first(answer, TYPES_HINT):
            answer.must_equal(expected, *given, hint=TYPES_HINT, at_least=rounding)


def inputs_kept(answer, **named):
    """Arrays are the same after the call."""
    given = arguments(answer, *heads(5, 7, 11))
    answer.must_keep_its_arguments(*given, hint=INPUT_HINT, **named)
