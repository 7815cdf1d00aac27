"""The checks of exercise 02: split the heads, and count the parameters."""

import numpy as np

from ..checks import check

# (T, num_heads, d_k), all different: sizes that are equal hide swapped axes.
SIZES = [(5, 3, 7), (2, 5, 11), (11, 1, 5), (7, 3, 1)]


def numbers(*shape):
    """Make an array of distinct numbers: any two entries that change places are seen.

    float32 holds them all, and float16 would round them.
    """
    whole = np.random.default_rng(seed=len(shape)).permutation(np.prod(shape)).reshape(shape)
    return whole + 1 / 1024


def by_slices(x, num_heads):
    """Split the heads by the definition: head i is columns i*d_k to (i+1)*d_k."""
    d_k = x.shape[-1] // num_heads
    heads = [x[..., i * d_k : (i + 1) * d_k] for i in range(num_heads)]
    return np.stack(heads, axis=-3)


@check("split_heads")
def split_heads_values(answer):
    """Head i is columns i*d_k to (i+1)*d_k of every token."""
    for T, num_heads, d_k in SIZES:
        x = numbers(T, num_heads * d_k)
        hint = (
            "Every number of x arrives once, unchanged: reshape to (..., T, num_heads, d_k), then "
            "swap the axes of T and num_heads."
        )
        answer.must_equal(by_slices(x, num_heads), x, num_heads, hint=hint, tolerance=0)


@check("split_heads")
def split_heads_batch(answer):
    """Leading axes, any number of them, stay in front."""
    for batch in [(2,), (2, 13)]:
        x = numbers(*batch, 5, 3 * 7)
        hint = (
            "Every number of x arrives once, unchanged, and all leading axes stay: count axes from "
            "the end, x.shape[-1] and swapaxes(-2, -3)."
        )
        answer.must_equal(by_slices(x, 3), x, 3, hint=hint, tolerance=0)


@check("split_heads")
def split_heads_refuses_uneven(answer):
    """A width that cannot be split evenly is a mistake of the caller."""
    for d_model, num_heads in [(23, 3), (3, 5)]:
        x = numbers(5, d_model)
        hint = f"{num_heads} heads cannot share {d_model} columns: raise ValueError."
        answer.must_refuse(x, num_heads, hint=hint)


@check("split_heads")
def split_heads_refuses_no_heads(answer):
    """No head, or fewer, is a mistake of the caller too."""
    for num_heads in (0, -7):
        hint = f"There is no split into {num_heads} heads: raise ValueError when num_heads < 1."
        answer.must_refuse(numbers(5, 21), num_heads, hint=hint)


@check("split_heads")
def split_heads_keeps_its_input(answer):
    """The caller's array stays as it was."""
    hint = "Work on a copy, or use operations that make a new array."
    answer.must_keep_its_arguments(numbers(5, 21), 3, hint=hint)


@check("parameter_count")
def parameter_count_projections(answer):
    """All four projections, all heads together: 4 d_model^2."""
    for d_model, num_heads in [(35, 7), (21, 3), (13, 1), (11, 11)]:
        hint = "W_Q, W_K and W_V have num_heads * d_k columns each; W_O has as many rows."
        answer.must_equal(4 * d_model**2, d_model, num_heads, hint=hint)


@check("parameter_count")
def parameter_count_bias(answer):
    """A bias is one number per output feature; without it, none is counted."""
    for d_model, num_heads in [(35, 7), (21, 3)]:
        hint = "Each of the four projections has a bias vector of d_model numbers."
        answer.must_equal(4 * d_model**2 + 4 * d_model, d_model, num_heads, bias=True, hint=hint)


@check("parameter_count")
def parameter_count_refuses_uneven(answer):
    """Sizes that no layer can have are not counted."""
    for d_model, num_heads in [(23, 3), (21, 0), (21, -7)]:
        hint = f"{num_heads} heads cannot share {d_model} features: raise ValueError."
        answer.must_refuse(d_model, num_heads, hint=hint)
