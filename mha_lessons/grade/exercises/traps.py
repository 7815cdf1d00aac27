"""The checks of exercise 06: two constructions, and one item per trap."""

import numpy as np

from mha_lessons.vectorized import attention_weights

from ..checks import CheckFailed, NotWritten, check
from ..compare import kind
from ..quiz import TRAPS, group_of

# (T, d), all different: sizes that are equal hide swapped axes.
SIZES = [(5, 3), (2, 7)]
TWINS = "same_weights_different_outputs"


def twins(answer, T, d):
    """Return both heads as ((Q1, K1, V1), (Q2, K2, V2)) in float64, and their tolerance."""
    arrays = answer.must_return(T, d)
    if not isinstance(arrays, (tuple, list)) or len(arrays) != 6:
        if isinstance(arrays, (tuple, list)) and len(arrays) == 3:
            answer.fail_as("one_head")
        raise CheckFailed(
            f"return the six arrays Q1, K1, V1, Q2, K2, V2: got {kind(arrays)}",
            "End with `return Q1, K1, V1, Q2, K2, V2`.",
        )
    arrays = [answer.array(array) for array in arrays]
    if not all(array.size for array in arrays):
        raise CheckFailed("an array is empty", f"Make arrays of shape ({T}, {d}).")
    if not all(np.isfinite(array).all() for array in arrays):
        answer.fail_as("infinite_values")
    # Equal Q and K give equal weights in any type; float32 leaves room for another way there.
    tolerance = 1e-5 if any(arrays[i].dtype == np.float32 for i in (0, 1, 3, 4)) else 1e-9
    Q1, K1, V1, Q2, K2, V2 = (array.astype(float) for array in arrays)
    return (Q1, K1, V1), (Q2, K2, V2), tolerance


@check(TWINS)
def twins_shapes(answer):
    """Six finite arrays of shape (T, d)."""
    shapes = []
    for T, d in SIZES:
        first, second, _ = twins(answer, T, d)
        shapes.append({array.shape for array in first + second})
    if shapes[0] == shapes[1]:
        answer.fail_as("sizes_fixed")
    for (T, d), found in zip(SIZES, shapes, strict=True):
        if found == {(d, T)}:
            answer.fail_as("transposed")
        if found != {(T, d)}:
            raise CheckFailed(
                f"with T={T} and d={d}, the shapes are {sorted(found)}, and should all be {(T, d)}",
                "Each array has T rows, one per token, and d columns.",
            )


def weights_of(first, second):
    """Return the attention weights of two heads; fail where Q and K do not fit together."""
    try:
        return attention_weights(*first[:2]), attention_weights(*second[:2])
    except ValueError as error:
        raise CheckFailed(str(error), "Each array is (T, d).") from None


@check(TWINS)
def twins_same_weights(answer):
    """Both heads have the same attention weights."""
    for T, d in SIZES:
        first, second, tolerance = twins(answer, T, d)
        weights = weights_of(first, second)
        if weights[0].shape != weights[1].shape:
            raise CheckFailed("the attention weights of the two heads have different shapes")
        apart = np.abs(weights[0] - weights[1]).max()
        if not apart < 1e-2:
            answer.fail_as("everything_new")
        if apart > tolerance:
            answer.fail_as("weights_only_close")


@check(TWINS)
def twins_different_outputs(answer):
    """The outputs of the two heads differ by more than 0.01."""
    for T, d in SIZES:
        first, second, _ = twins(answer, T, d)
        weights = weights_of(first, second)
        try:
            apart = np.abs(weights[0] @ first[2] - weights[1] @ second[2]).max()
        except ValueError:
            raise CheckFailed("V does not fit Q and K", "Each array is (T, d).") from None
        if apart > 0.01:
            continue
        if np.array_equal(first[2], second[2]):
            answer.fail_as("nothing_changed")
        if np.ptp(weights, axis=-1).max() < 1e-9 and np.abs(first[2] - second[2]).max() > 0.01:
            answer.fail_as("reordered_under_uniform_weights")
        answer.fail_as("rounding_only")


def layer(num_heads=5, T=7, d_v=3, d_model=11):
    """Make heads (num_heads, T, d_v) and W_O (num_heads * d_v, d_model), all of them in use."""
    rng = np.random.default_rng(seed=2)
    return rng.standard_normal((num_heads, T, d_v)), rng.standard_normal((num_heads * d_v, d_model))


def must_report(answer, heads, W_O, removable, hint):
    """Fail unless the report names exactly the heads in `removable`."""
    expected = np.isin(np.arange(len(heads)), removable)
    answer.must_equal(expected, heads, W_O, hint=hint)


@check("head_report")
def head_report_zeros(answer):
    """A head that is zero, or whose rows of W_O are, adds nothing."""
    heads, W_O = layer(num_heads=7, T=5)
    heads[[0, 4]] = 0
    heads[2, :-1], heads[3, 1:] = 0, 0  # the last token counts, and so does the first
    W_O[1 * 3 : 2 * 3] = 0
    W_O[5::7] = 0  # these rows belong to three heads
    hint = "The output is the sum of head_i @ W_O[i*d_v : (i+1)*d_v]. Which terms are zero?"
    must_report(answer, heads, W_O, [0, 1, 4], hint)


@check("head_report")
def head_report_cancelled_by_W_O(answer):
    """A head whose product with its rows of W_O is zero adds nothing, though neither is zero."""
    heads, W_O = layer()
    heads[1], W_O[3 * 3 : 4 * 3] = 0, 0
    # Rows along (1, 1, 1), and a block of W_O that sends this direction to zero,
    heads[4] = heads[4, :, :1]
    W_O[4 * 3 :] -= W_O[4 * 3 :].mean(axis=0)  # but for rounding,
    heads[0] = 1
    W_O[:3] = np.array([[1], [2], [-3]])  # and exactly.
    hint = "Multiply: head_i W_O^i can be zero up to rounding although neither factor is."
    must_report(answer, heads, W_O, [0, 1, 3, 4], hint)


@check("head_report")
def head_report_one_at_a_time(answer):
    """Two heads that cancel, or are equal, are both needed: without one, the output changes."""
    heads, W_O = layer()
    heads[0], W_O[:3] = -heads[2], W_O[2 * 3 : 3 * 3]
    must_report(answer, heads, W_O, [], "Remove one head at a time, and put it back.")
    heads[0] = heads[2]
    must_report(answer, heads, W_O, [], "Two equal heads both add to the output.")
    heads, W_O = layer()
    heads[1] -= heads[1].mean(axis=0)  # the sum over the tokens is zero
    must_report(answer, heads, W_O, [], "Look at every token and every feature, not at a sum.")
    heads, W_O = layer()
    heads[2] = heads[2, :1]  # the same for every token
    heads[3], W_O[3 * 3 : 4 * 3] = np.abs(heads[3]), -np.abs(W_O[3 * 3 : 4 * 3])  # all negative
    must_report(answer, heads, W_O, [], "A term counts when one of its numbers is not zero.")


@check("head_report")
def head_report_small_is_not_zero(answer):
    """A head that adds little adds something."""
    hint = "Use a tolerance for rounding only, such as 1e-9."
    heads, W_O = layer()
    heads[1] = 0
    must_report(answer, heads * 1e-4, W_O, [1], hint)
    heads[2] *= 1e-3
    must_report(answer, heads * 100, W_O, [1], hint)
    heads, W_O = layer()
    heads[1] = 0
    heads[[2, 4]] *= 3e-8  # the output is far larger, but for its first feature:
    W_O[: 4 * 3, 0] = 0
    heads[3] *= 8e-9 / np.abs(heads[3] @ W_O[3 * 3 : 4 * 3]).max()  # the largest number: 8e-9
    must_report(answer, heads, W_O, [1], hint)


@check("head_report")
def head_report_keeps_its_input(answer):
    """The caller's heads and W_O stay as they were."""
    hint = "Removing a head must not overwrite it: work on a copy."
    answer.must_keep_its_arguments(*layer(), hint=hint)


def _fail_on_other_keys(choices, trap):
    others = [key for key in dict.keys(choices) if type(key) is not str or key not in TRAPS]
    if others:
        found = ", ".join(f'"{key}"' if type(key) is str else kind(key) for key in others[:3])
        raise CheckFailed(
            f'there is no key "{trap.id}": found {found}{", ..." * (len(others) > 3)}',
            f'Keep the keys as they were: "{trap.id}": "a".',
        )


def _check_of(trap):
    def item(answer):
        choices = answer.given
        if not isinstance(choices, dict):
            raise CheckFailed(
                f"{answer.name} must be a dictionary: got {kind(choices)}",
                f'Write {answer.name} = {{"{trap.id}": "a", ...}}.',
            )
        choice = dict.get(choices, trap.id)
        if choice is None:
            _fail_on_other_keys(choices, trap)
            raise NotWritten("not answered yet")
        # A real str: the == of another type may say anything.
        letter = choice.strip().lower() if type(choice) is str else None
        if letter == trap.right:
            return
        if letter not in trap.explanations:
            raise CheckFailed(
                f"the answer must be one of {', '.join(trap.choices)}: got {kind(choice)}",
                f'Write one letter, such as "{trap.id}": "a".',
            )
        answer.fail_as(f"{trap.id}_{letter}")

    item.__name__ = trap.id
    item.__doc__ = trap.statement
    return check(group_of(trap.id))(item)


# check.T1 to check.T20, one per item of the quiz.
globals().update({trap.id: _check_of(trap) for trap in TRAPS.values()})
