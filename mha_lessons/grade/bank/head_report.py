"""Wrong answers to ``head_report(heads, W_O)``."""

from functools import partial

import numpy as np

from ..mistakes import mistake

wrong = partial(mistake, "head_report")
ZERO, CANCELLED = "head_report_zeros", "head_report_cancelled_by_W_O"
ALONE, SMALL = "head_report_one_at_a_time", "head_report_small_is_not_zero"


def contributions(heads, W_O):
    """Multiply each head by its own block of d_v rows of W_O."""
    num_heads, _, d_v = heads.shape
    return heads @ W_O.reshape(num_heads, d_v, -1)


def _zero(array, axis=(1, 2)):
    return np.all(np.abs(array) < 1e-9, axis=axis)


@wrong(
    ZERO,
    "True and False are swapped",
    "Return True for a head that can be removed.",
)
def inverted(heads, W_O):
    return ~_zero(contributions(heads, W_O))


@wrong(
    ZERO,
    "only the heads are looked at, and W_O is not",
    "A head reaches the output through its rows of W_O. If they are zero, it can be removed.",
)
def heads_only(heads, W_O):
    return _zero(heads)


@wrong(
    ZERO,
    "only W_O is looked at, and the heads are not",
    "A head that is zero for every token adds nothing, whatever its rows of W_O are.",
)
def output_projection_only(heads, W_O):
    return _zero(W_O.reshape(heads.shape[0], heads.shape[2], -1))


@wrong(
    ZERO,
    "the wrong rows of W_O are taken for a head",
    "Head i owns neighbours: the rows i*d_v to (i+1)*d_v.",
)
def rows_dealt(heads, W_O):
    blocks = np.stack([W_O[i :: len(heads)] for i in range(len(heads))])
    return _zero(heads @ blocks)


@wrong(
    ZERO,
    "the first token decides, and the others are not looked at",
    "A head can be removed only if it adds nothing for every token.",
)
def first_token_only(heads, W_O):
    return _zero(contributions(heads, W_O)[:, :1])


@wrong(
    ZERO,
    "the last token decides, and the others are not looked at",
    "A head can be removed only if it adds nothing for every token.",
)
def last_token_only(heads, W_O):
    return _zero(contributions(heads, W_O)[:, -1:])


@wrong(
    ZERO,
    "one zero is enough, and all numbers of the term must be zero",
    "Use all, not any.",
)
def one_zero_is_enough(heads, W_O):
    return np.any(np.abs(contributions(heads, W_O)) < 1e-9, axis=(1, 2))


@wrong(
    ZERO,
    "there is one value for each token of a head, and one for each head is asked for",
    "A head can be removed only if it adds nothing for every token: use all over the tokens too.",
)
def one_for_each_token(heads, W_O):
    return _zero(contributions(heads, W_O), axis=2)


@wrong(
    ZERO,
    "indices are returned, and one True or False per head is asked for",
    "Return num_heads values: True where the head can be removed.",
)
def indices(heads, W_O):
    return np.flatnonzero(_zero(contributions(heads, W_O)))


@wrong(
    ZERO,
    "one answer is given for all heads together",
    "Return num_heads values: True where the head can be removed.",
)
def one_for_all(heads, W_O):
    return bool(_zero(contributions(heads, W_O)).any())


@wrong(
    CANCELLED,
    "heads and W_O are looked at one by one, and their product is not",
    "Look at head_i W_O^i: it can be zero although neither factor is.",
)
def factors_only(heads, W_O):
    return heads_only(heads, W_O) | output_projection_only(heads, W_O)


@wrong(
    CANCELLED,
    "the product is compared with exactly zero, and rounding leaves a little",
    "Compare with a small tolerance: np.allclose(..., 0, atol=1e-9).",
)
def exactly_zero(heads, W_O):
    return np.all(contributions(heads, W_O) == 0, axis=(1, 2))


@wrong(
    ALONE,
    "numbers of opposite sign are added up, and cancel",
    "Look at every number of head_i W_O^i, not at their sum.",
)
def signs_cancel(heads, W_O):
    return np.abs(contributions(heads, W_O).sum(axis=(1, 2))) < 1e-9


@wrong(
    ALONE,
    "heads that cancel each other are reported",
    "Remove one head at a time: without one of the two, the output changes.",
)
def pairs(heads, W_O):
    parts = contributions(heads, W_O)
    cancel = [any(np.allclose(a, -b) for b in parts) for a in parts]
    return _zero(parts) | cancel


@wrong(
    ALONE,
    "a head is reported because another head has the same output",
    "The layer adds both: without one of them, the output changes.",
)
def copies(heads, W_O):
    same = [sum(np.allclose(a, b) for b in heads) > 1 for a in heads]
    return _zero(contributions(heads, W_O)) | same


@wrong(
    ZERO,
    "a removed head is not put back before the next one is removed",
    "Compare the full output with the output without head i alone.",
)
def never_put_back(heads, W_O):
    parts = contributions(heads, W_O)
    return [np.allclose(parts[i + 1 :].sum(axis=0), parts.sum(axis=0)) for i in range(len(parts))]


@wrong(
    ZERO,
    "the heads are set to zero one after the other, and never put back",
    "Put head i back before you remove the next one, or work on a copy: heads.copy().",
)
def zeroed_and_never_put_back(heads, W_O):
    full, removable = np.concatenate(heads, axis=-1) @ W_O, []
    for i in range(len(heads)):
        heads[i] = 0
        rest = np.concatenate(heads, axis=-1) @ W_O
        removable.append(np.allclose(rest, full, rtol=0, atol=1e-9))
    return removable


@wrong(
    ALONE,
    "negative numbers are taken for small ones",
    "Take the absolute value first: np.abs(...).max().",
)
def sign_forgotten(heads, W_O):
    return contributions(heads, W_O).max(axis=(1, 2)) < 1e-9


@wrong(
    ALONE,
    "a term that is the same for every token is taken for zero",
    "Compare the term with zero, not its tokens with each other.",
)
def same_for_every_token(heads, W_O):
    return np.ptp(contributions(heads, W_O), axis=1).max(axis=1) < 1e-9


# Before the next one, which gives the same where this one is caught.
@wrong(
    SMALL,
    "numbers up to 1e-8 are taken for zero, and the limit is 1e-9",
    "np.allclose allows 1e-8 unless you say otherwise: set atol=1e-9.",
)
def default_tolerance(heads, W_O):
    return [np.allclose(part, 0) for part in contributions(heads, W_O)]


@wrong(
    SMALL,
    "a small contribution is taken for none",
    "Use a tolerance for rounding only, such as 1e-9.",
)
def small_is_nothing(heads, W_O):
    return np.abs(contributions(heads, W_O)).max(axis=(1, 2)) < 1e-2


@wrong(
    SMALL,
    "a contribution is called small compared with the others",
    "Small is not zero: without this head, the output changes.",
)
def small_beside_the_others(heads, W_O):
    size = np.abs(contributions(heads, W_O)).max(axis=(1, 2))
    return size < 1e-2 * size.max()


@wrong(
    SMALL,
    "a difference counts only when it is large compared with the output",
    "np.allclose allows 1e-5 of the output too: set rtol=0 and atol=1e-9.",
)
def relative_to_the_output(heads, W_O):
    parts = contributions(heads, W_O)
    full = parts.sum(axis=0)
    return [np.allclose(full - part, full) for part in parts]


@wrong(
    "head_report_keeps_its_input",
    "the heads of the caller are set to zero",
    "Work on a copy: heads = heads.copy().",
)
def zeroed_in_place(heads, W_O):
    removable = _zero(contributions(heads, W_O))
    heads[...] = 0
    return removable
