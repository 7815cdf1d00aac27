"""Wrong answers to ``parameter_count(d_model, num_heads, bias=False)``."""

from functools import partial

from ..mistakes import mistake

wrong = partial(mistake, "parameter_count")
PROJECTIONS, BIAS = "parameter_count_projections", "parameter_count_bias"
UNEVEN = "parameter_count_refuses_uneven"


def _refuse(d_model, num_heads):
    if num_heads < 1 or d_model % num_heads:
        raise ValueError("num_heads must divide d_model")


@wrong(
    PROJECTIONS,
    "each head is counted at the width of the model",
    "A head is d_k = d_model / num_heads wide: all heads together are d_model wide.",
)
def full_size_heads(d_model, num_heads, bias=False):
    return 4 * num_heads * d_model * (d_model + bias)


@wrong(
    PROJECTIONS,
    "the query, key and value projections are counted at full width for each head",
    "A head is d_k = d_model / num_heads wide: all heads together are d_model wide.",
)
def full_size_heads_one_output(d_model, num_heads, bias=False):
    return (3 * num_heads + 1) * d_model * (d_model + bias)


@wrong(
    PROJECTIONS,
    "only one head is counted",
    "There are num_heads heads, each with d_model * d_k numbers in W_Q.",
)
def one_head_only(d_model, num_heads, bias=False):
    return 4 * (d_model + bias) * (d_model // num_heads)


@wrong(
    PROJECTIONS,
    "only one head is counted in W_Q, W_K and W_V",
    "There are num_heads heads, each with d_model * d_k numbers in W_Q.",
)
def one_head_and_output(d_model, num_heads, bias=False):
    return (d_model + bias) * (3 * (d_model // num_heads) + d_model)


@wrong(
    PROJECTIONS,
    "W_O is not counted",
    "There are four projections: W_Q, W_K, W_V and W_O.",
)
def without_output(d_model, num_heads, bias=False):
    return 3 * d_model * (d_model + bias)


@wrong(
    PROJECTIONS,
    "one projection is counted, and there are four",
    "Add up W_Q, W_K, W_V and W_O.",
)
def one_projection(d_model, num_heads, bias=False):
    return d_model * (d_model + bias)


@wrong(
    PROJECTIONS,
    "each projection is counted as a vector",
    "W_Q has d_model rows and d_model columns (all heads together).",
)
def vectors(d_model, num_heads, bias=False):
    return 4 * d_model * (1 + bias)


@wrong(
    PROJECTIONS,
    "W_O is counted at the width of one head",
    "W_O has a row for each of the num_heads * d_k concatenated features.",
)
def narrow_output(d_model, num_heads, bias=False):
    return d_model * (3 * (d_model + bias) + d_model // num_heads + bias)


@wrong(
    BIAS,
    "the bias vectors are not counted",
    "With bias=True each of the four projections has d_model numbers more.",
)
def bias_ignored(d_model, num_heads, bias=False):
    _refuse(d_model, num_heads)
    return 4 * d_model**2


@wrong(
    BIAS,
    "one bias vector is counted, and there are four",
    "With bias=True each of the four projections has d_model numbers more.",
)
def one_bias(d_model, num_heads, bias=False):
    _refuse(d_model, num_heads)
    return 4 * d_model**2 + bias * d_model


@wrong(
    BIAS,
    "W_O has a bias vector too",
    "With bias=True each of the four projections has d_model numbers more.",
)
def no_output_bias(d_model, num_heads, bias=False):
    _refuse(d_model, num_heads)
    return 4 * d_model**2 + 3 * bias * d_model


@wrong(
    BIAS,
    "the bias vectors are counted at the width of one head",
    "A bias has one number for each output feature of all heads: d_model.",
)
def bias_of_one_head(d_model, num_heads, bias=False):
    _refuse(d_model, num_heads)
    return 4 * d_model**2 + 4 * bias * (d_model // num_heads)


@wrong(
    PROJECTIONS,
    "the bias is counted although bias is False",
    "Add the 4 * d_model numbers only when bias is True.",
)
def bias_always(d_model, num_heads, bias=False):
    _refuse(d_model, num_heads)
    return 4 * d_model**2 + 4 * d_model


@wrong(
    BIAS,
    "one number per projection is counted as its bias",
    "A bias is a vector: one number for each of the d_model output features.",
)
def scalar_bias(d_model, num_heads, bias=False):
    _refuse(d_model, num_heads)
    return 4 * d_model**2 + 4 * bias


@wrong(
    UNEVEN,
    "sizes that cannot be split are counted",
    "Raise ValueError when num_heads < 1, or when d_model % num_heads is not 0.",
)
def never_refuses(d_model, num_heads, bias=False):
    return 4 * d_model * (d_model + bias)


@wrong(
    UNEVEN,
    "the width of a head is rounded down in silence",
    "Raise ValueError when d_model % num_heads is not 0.",
)
def rounded_down(d_model, num_heads, bias=False):
    if num_heads < 1:
        raise ValueError("there must be a head")
    width = num_heads * (d_model // num_heads)
    return 4 * d_model * width + bias * (3 * width + d_model)


@wrong(
    UNEVEN,
    "None is returned for sizes that cannot be split",
    "Raise ValueError: then the mistake is seen where it is made.",
)
def none_for_uneven(d_model, num_heads, bias=False):
    if num_heads < 1 or d_model % num_heads:
        return None
    return 4 * d_model * (d_model + bias)


@wrong(
    UNEVEN,
    "num_heads = 0 is not tested: the division by it fails",
    "Test num_heads < 1 before you divide, and raise ValueError.",
)
def zero_not_tested(d_model, num_heads, bias=False):
    if d_model % num_heads:
        raise ValueError("num_heads must divide d_model")
    return 4 * d_model * (d_model + bias)
