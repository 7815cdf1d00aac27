"""The checks of exercise 04: two masks, and causal attention."""

import numpy as np

from mha_lessons import masks

from .. import attending
from ..checks import CheckFailed, check

CAUSAL_HINT = "mask[t, s] = (s <= t + S - T): the last query may read every key."
PADDING_HINT = "mask[b, 0, 0, s] = (s < lengths[b]): the first lengths[b] keys are real."
ATTENTION_HINT = "Query t averages the values of the keys s <= t + S - T, and of no others."
# A value that is heard through a weight of 1e-34.
LOUD = 1e30


def must_be_boolean(answer, *arguments):
    """Fail unless the call returns truth values."""
    mask = answer.array(answer.must_return(*arguments))
    if mask.dtype == bool:
        return
    if mask.dtype.kind in "iu":
        answer.fail_as("integers")
    if np.isin(mask, (0, 1)).all():
        answer.fail_as("floats")
    raise CheckFailed(
        f"a mask is boolean, and this one has the type {mask.dtype}",
        "True = may attend, False = may not.",
    )


@check("causal_mask")
def causal_mask_square(answer):
    """As many keys as queries: each query reads itself and what came before."""
    for arguments in [(5,), (7, 7), (1,)]:
        answer.must_equal(masks.causal(*arguments), *arguments, hint=CAUSAL_HINT)


@check("causal_mask")
def causal_mask_cache(answer):
    """More keys than queries: the last query stands at the last key."""
    for T, S in [(3, 7), (1, 5), (5, 6)]:
        answer.must_equal(masks.causal(T, S), T, S, hint=CAUSAL_HINT)


@check("causal_mask")
def causal_mask_short(answer):
    """Fewer keys than queries: the first queries stand before every key."""
    for T, S in [(7, 5), (7, 3), (5, 1)]:
        hint = f"The same rule: s <= t + {S} - {T}. The first {T - S} queries may read nothing."
        answer.must_equal(masks.causal(T, S), T, S, hint=hint)


@check("causal_mask")
def causal_mask_boolean(answer):
    """The mask holds truth values: 0 and 1 do not say which of them hides."""
    must_be_boolean(answer, 3, 7)


@check("padding_mask")
def padding_mask_values(answer):
    """The first lengths[b] keys of sequence b may be read, by every head and query."""
    for lengths, S in [([3, 1, 5], 7), ([2], 3), ([4, 4], 5)]:
        lengths = np.array(lengths)
        answer.must_equal(masks.padding(lengths, S), lengths, S, hint=PADDING_HINT)


@check("padding_mask")
def padding_mask_ends(answer):
    """A sequence may be empty, or have no padding."""
    lengths = np.array([5, 0, 3])
    hint = "With length 0 no key may be read, and with length S all of them."
    answer.must_equal(masks.padding(lengths, 5), lengths, 5, hint=hint)


@check("padding_mask")
def padding_mask_boolean(answer):
    """The mask holds truth values."""
    must_be_boolean(answer, np.array([3, 1, 5]), 7)


@check("causal_attention")
def causal_attention_values(answer):
    """Each query averages the values up to its own position."""
    for T, d_k, d_v in [(5, 11, 11), (7, 2, 5), (1, 3, 2)]:
        attending.must_attend(answer, *attending.heads(T, T, d_k, d_v), hint=ATTENTION_HINT)


@check("causal_attention")
def causal_attention_no_leak(answer):
    """What stands at a later position reaches no output, not even a little of it."""
    Q, K, V = attending.heads(7, 7, 11)
    K[4:] += 3
    V[4:] *= LOUD
    hint = "The weight of a later key is exactly 0. Use -inf: np.exp(-20) is small, and not zero."
    attending.must_attend(answer, Q, K, V, hint=hint)


@check("causal_attention")
def causal_attention_cache(answer):
    """More keys than queries: the last query stands at the last key."""
    for T, S in [(3, 7), (2, 5)]:
        hint = "Align the mask to the last query: query t reads the keys s <= t + S - T."
        attending.must_attend(answer, *attending.heads(T, S, 11, 3), hint=hint)


@check("causal_attention")
def causal_attention_blank_row(answer):
    """A query that stands before every key gets zeros."""
    attending.must_blank(answer, *attending.heads(5, 2, 11), mask=masks.causal(5, 2))


@check("causal_attention")
def causal_attention_batch(answer):
    """Leading axes, such as batch and heads, stay in front."""
    attending.leading_axes(answer, S=5)


@check("causal_attention")
def causal_attention_large(answer):
    """Scores far from zero do not overflow."""
    attending.large_scores(answer, S=5)


@check("causal_attention")
def causal_attention_keeps_its_input(answer):
    """The caller's queries, keys and values stay as they were."""
    attending.inputs_kept(answer)
