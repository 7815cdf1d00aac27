"""Wrong answers to ``projection_flops(B, T, d_model)``."""

from functools import partial

from ..mistakes import mistake

wrong = partial(mistake, "projection_flops", "projection_flops_values")


@wrong(
    "half of the FLOPs are counted",
    "2 m n k for one product, since a multiplication and an addition are two; and four products.",
)
def half(B, T, d_model):
    return 4 * B * T * d_model**2


@wrong(
    "three projections are counted: W_O is forgotten",
    "W_O is a projection too, with d_model rows and columns.",
)
def without_output(B, T, d_model):
    return 6 * B * T * d_model**2


@wrong(
    "three projections are counted, with one FLOP for a multiplication and its addition",
    "2 m n k for one product; W_O makes four products.",
)
def half_without_output(B, T, d_model):
    return 3 * B * T * d_model**2


@wrong(
    "one projection is counted, and there are four",
    "x is multiplied with W_Q, W_K and W_V, and the merged heads with W_O.",
)
def one_projection(B, T, d_model):
    return 2 * B * T * d_model**2


@wrong(
    "one projection is counted, and one FLOP for a multiplication and its addition",
    "2 m n k for one product; and there are four of them.",
)
def half_of_one(B, T, d_model):
    return B * T * d_model**2


@wrong(
    "the results are counted, and not the work for each of them",
    "Each of the B T d_model results of a product is a sum of d_model terms: 2 d_model FLOPs.",
)
def results_counted(B, T, d_model):
    return 8 * B * T * d_model


@wrong(
    "the parameters are counted: as if there were one token",
    "Every token of every sequence is multiplied with the same projections.",
)
def one_token(B, T, d_model):
    return 8 * d_model**2


@wrong(
    "this grows with T squared: these are the score products",
    "Each token is projected by itself: the count is proportional to T.",
)
def score_products(B, T, d_model):
    return 4 * B * T**2 * d_model


@wrong(
    "the score products are counted too",
    "Count the products with W_Q, W_K, W_V and W_O only.",
)
def whole_layer(B, T, d_model):
    return 8 * B * T * d_model**2 + 4 * B * T**2 * d_model


@wrong(
    "the backward pass is counted too",
    "Count one forward pass: 2 m n k for each product.",
)
def backward_too(B, T, d_model):
    return 24 * B * T * d_model**2


@wrong(
    "the additions of bias vectors are counted",
    "Here are no biases: count the four products only.",
)
def bias_added(B, T, d_model):
    return 4 * B * T * d_model * (2 * d_model + 1)


@wrong(
    "n - 1 additions are counted for a sum of n terms: exact, and not the convention",
    "The convention counts 2 m n k: as many additions as multiplications.",
)
def additions_counted_exactly(B, T, d_model):
    return 4 * B * T * d_model * (2 * d_model - 1)


@wrong(
    "the projections are multiplied with one another, and not with the tokens",
    "The left factor is x, with B T rows: (B T, d_model) times (d_model, d_model).",
)
def cubed(B, T, d_model):
    return 8 * B * d_model**3


@wrong(
    "the number of sequences is not used",
    "All B sequences are projected: B T rows.",
)
def batch_forgotten(B, T, d_model):
    return 8 * T * d_model**2


@wrong(
    "the number of sequences counts twice",
    "B T rows are multiplied with each projection: B stands once.",
)
def batch_squared(B, T, d_model):
    return 8 * B**2 * T * d_model**2
