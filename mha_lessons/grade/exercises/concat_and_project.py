"""The checks of exercise 03: merge the heads, the whole layer, and two heads by hand."""

import numpy as np

from .. import attending
from ..call import Outcome
from ..checks import CheckFailed, check
from ..compare import close, tolerance_of
from .split_heads import SIZES, numbers

MERGE_HINT = (
    "Every number arrives once, unchanged: swap the axes of num_heads and T, then reshape to "
    "(..., T, num_heads * d_v)."
)
LAYER_HINT = (
    "Project, split each projection into heads, attend, merge, and multiply with W_O: "
    "merge(attention(Q, K, V)) @ W_O."
)
BY_HAND = {"head_1": 2.8, "head_2": 1.0, "output": 4.6}


# merge_heads(heads)


def by_concatenation(heads):
    """Merge the heads by the definition: side by side, in their order."""
    return np.concatenate(list(np.moveaxis(heads, -3, 0)), axis=-1)


@check("merge_heads")
def merge_heads_values(answer):
    """The columns i*d_v to (i+1)*d_v of every token are those of head i."""
    for T, num_heads, d_v in [*SIZES, (1, 3, 2)]:
        heads = numbers(num_heads, T, d_v)
        answer.must_equal(by_concatenation(heads), heads, hint=MERGE_HINT, tolerance=0)


@check("merge_heads")
def merge_heads_batch(answer):
    """Leading axes, any number of them, stay in front."""
    hint = "All leading axes stay. Count from the end: the heads are axis -3, the tokens axis -2."
    for batch in [(2,), (2, 13)]:
        heads = numbers(*batch, 3, 5, 7)
        answer.must_equal(by_concatenation(heads), heads, hint=hint, tolerance=0)


# multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None)


@check("multi_head_attention")
def multi_head_attention_values(answer):
    """A layer that reads what asks, with several heads and with one."""
    value = answer.must_return(*attending.layer(5))
    if isinstance(value, (tuple, list)) and len(value) == 2:
        answer.fail_as("weights_too")
    for T, num_heads, d_k in [(5, 3, 7), (7, 2, 5), (3, 1, 11)]:
        given = attending.layer(T, None, num_heads, d_k)
        attending.must_attend(answer, *given, hint=LAYER_HINT)


@check("multi_head_attention")
def multi_head_attention_cross(answer):
    """A layer that reads another sequence, of another length or of the same."""
    hint = "Queries come from x_q. Keys and values come from x_kv, which has a length of its own."
    for T, S in [(5, 5), (3, 7), (7, 2), (1, 5)]:
        attending.must_attend(answer, *attending.layer(T, S), hint=hint)


@check("multi_head_attention")
def multi_head_attention_batch(answer):
    """Leading axes, any number of them, stay in front."""
    hint = "All leading axes stay: swapaxes(-2, -3), and reshape to (*x.shape[:-1], ...)."
    for batch in [(2,), (2, 11)]:
        attending.must_attend(answer, *attending.layer(5, batch=batch), hint=hint)


@check("multi_head_attention")
def multi_head_attention_mask(answer):
    """A mask of queries and keys holds for every head, whatever the scores are."""
    for T, S in [(5, None), (5, 7)]:
        mask = attending.some_keys(T, S or T)
        given = attending.layer(T, S)
        attending.must_attend(answer, *given, hint=attending.MASK_HINT, mask=mask)
    # A finite score that is to hide a key is now the best one, and np.exp does not overflow yet.
    far = attending.layer_moved(400, 5, 7)
    rounding = attending.ROUNDING_OF_LARGE
    attending.must_attend(answer, *far, hint=attending.MASK_HINT, at_least=rounding, mask=mask)


@check("multi_head_attention")
def multi_head_attention_mask_by_head(answer):
    """A mask may have an axis of heads, and one of the batch, also of length 1."""
    hint = "The mask fits scores of shape (..., num_heads, T, S): let NumPy stretch it to them."
    for shape in [(3, 5, 7), (3, 1, 7), (1, 5, 7)]:
        mask = attending.some_keys(*shape)
        attending.must_attend(answer, *attending.layer(5, 7), hint=hint, mask=mask)
    for shape in [(2, 1, 1, 7), (2, 3, 5, 7)]:
        given, mask = attending.layer(5, 7, batch=(2,)), attending.some_keys(*shape)
        attending.must_attend(answer, *given, hint=hint, mask=mask)


@check("multi_head_attention")
def multi_head_attention_blank_row(answer):
    """A query that may attend to nothing gets zeros, also when it is so in one head only."""
    for batch, mask in [((), (5, 7)), ((2,), (2, 1, 1, 7))]:
        given = attending.layer(5, 7, batch=batch)
        attending.must_blank(answer, *given, mask=attending.no_keys(*mask))
    mask = attending.some_keys(2, 3, 1, 7)
    mask[1, 2] = False
    given = attending.layer(5, 7, batch=(2,))
    attending.must_attend(answer, *given, hint=attending.BLANK_HINT, mask=mask)


@check("multi_head_attention")
def multi_head_attention_large(answer):
    """Scores far from zero do not overflow."""
    given, rounding = attending.layer_moved(1500, 5, 7), attending.ROUNDING_OF_LARGE
    attending.must_attend(answer, *given, hint=attending.LARGE_HINT, at_least=rounding)


@check("multi_head_attention")
def multi_head_attention_refuses_uneven(answer):
    """A width that the heads cannot share is a mistake of the caller."""
    for d_k, num_heads in [(23, 3), (3, 5), (21, 0), (21, -7)]:
        *given, _ = attending.layer(5, num_heads=1, d_k=d_k)
        hint = f"{num_heads} heads cannot share {d_k} features: raise ValueError."
        answer.must_refuse(*given, num_heads, hint=hint)


@check("multi_head_attention")
def multi_head_attention_keeps_its_input(answer):
    """The caller's inputs, projections and mask stay as they were."""
    mask = attending.some_keys(5, 7)
    hint = "x_q @ W_Q makes a new array; x_q @= W_Q and x_q += out change the caller's."
    answer.must_keep_its_arguments(*attending.layer(5, 7), hint=hint, mask=mask)


# two_heads_by_hand()


def must_be_right(answer, names, hint):
    """Fail unless the results that are called `names` are right, in whatever shape they come."""
    results = three_results(answer)
    for name in names:
        if results[name].size == 2:
            answer.fail_as("W_O_left_out" if name == "output" else "not_added_up")
        if results[name].size != 1:
            shape = results[name].shape
            raise CheckFailed(f"{name} must be one number: it has the shape {shape}", hint)
    numbers = {name: part.ravel()[0] for name, part in results.items() if part.size}
    for name in names:
        within = max(attending.ROUNDING, tolerance_of(results[name]))
        if not close(numbers[name], BY_HAND[name], within):
            outcome = Outcome(list(numbers.values()), None, ())
            answer.fail_if_known(outcome, within=attending.ROUNDING)
            said = f"{name} is {numbers[name]:.6g}, and should be {BY_HAND[name]}"
            raise CheckFailed(said, hint)


def three_results(answer):
    """Return what the answer returns, three arrays by their names; fail if it is not three."""
    value = answer.must_return()
    if not isinstance(value, (list, tuple)):
        value = answer.array(value, wanted="three numbers").ravel()
    if len(value) != 3:
        raise CheckFailed(
            f"return three results, (head_1, head_2, output): got {len(value)}",
            "End with `return head_1, head_2, output`.",
        )
    return dict(zip(BY_HAND, map(answer.array, value), strict=True))


@check("two_heads_by_hand")
def two_heads_by_hand_heads(answer):
    """Each head is the average of its own values with its own weights."""
    hint = "head 1 is 0.8 of its first value and 0.2 of its second one; head 2 likewise."
    must_be_right(answer, ["head_1", "head_2"], hint)


@check("two_heads_by_hand")
def two_heads_by_hand_output(answer):
    """W_O makes one number of the two: 2 a - b."""
    must_be_right(answer, ["output"], "The output is (head_1, head_2) @ W_O: 2 head_1 - head_2.")
