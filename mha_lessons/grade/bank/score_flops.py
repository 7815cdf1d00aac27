"""Wrong answers to ``score_flops(B, T, S, d_model)``."""

from functools import partial

from ..mistakes import mistake

wrong = partial(mistake, "score_flops")
SELF, CROSS = "score_flops_self", "score_flops_cross"


@wrong(
    SELF,
    "half of the FLOPs are counted",
    "There are two products, Q K^T and weights V, with 2 m n k each; and no mask takes any away.",
)
def half(B, T, S, d_model):
    return 2 * B * T * S * d_model


@wrong(
    SELF,
    "one of the two products is counted, and one FLOP for a multiplication and its addition",
    "2 m n k for a product; and there are two: Q K^T and weights V.",
)
def half_of_one(B, T, S, d_model):
    return B * T * S * d_model


@wrong(
    SELF,
    "the scores are counted, and not the work for each of them",
    "Over all heads, d_model features are multiplied and added for each query and key.",
)
def width_forgotten(B, T, S, d_model):
    return 4 * B * T * S


@wrong(
    SELF,
    "the width counts twice",
    "Q and K have d_model columns over all heads, and the product sums over them: once.",
)
def width_squared(B, T, S, d_model):
    return 4 * B * T * S * d_model**2


@wrong(
    SELF,
    "the numbers of queries and keys are added, and should be multiplied",
    "Every query meets every key: T times S pairs.",
)
def lengths_added(B, T, S, d_model):
    return 4 * B * (T + S) * d_model


@wrong(
    SELF,
    "the projections are counted: they do not depend on pairs of tokens",
    "Q, K and V are there already. Count Q K^T and weights V.",
)
def projections(B, T, S, d_model):
    return 8 * B * T * d_model**2


@wrong(
    SELF,
    "the projections are counted too",
    "Q, K and V are there already. Count Q K^T and weights V only.",
)
def whole_layer(B, T, S, d_model):
    return 4 * B * T * S * d_model + 8 * B * T * d_model**2


@wrong(
    SELF,
    "n - 1 additions are counted for a sum of n terms: exact, and not the convention",
    "The convention counts 2 m n k: as many additions as multiplications.",
)
def additions_counted_exactly(B, T, S, d_model):
    return B * T * (S * (2 * d_model - 1) + d_model * (2 * S - 1))


@wrong(
    SELF,
    "the backward pass is counted too",
    "Count one forward pass: 2 m n k for each of the two products.",
)
def backward_too(B, T, S, d_model):
    return 12 * B * T * S * d_model


@wrong(
    SELF,
    "keys later than the query are left out",
    "Masks take nothing away here: the product is computed for all pairs, and then hidden.",
)
def causal_pairs(B, T, S, d_model):
    return 4 * B * (T * (T + 1) // 2 + T * (S - T)) * d_model


@wrong(
    CROSS,
    "as many keys as queries are expected: T squared",
    "There are T queries and S keys: T times S pairs.",
)
def queries_squared(B, T, S, d_model):
    return 4 * B * T**2 * d_model


@wrong(
    CROSS,
    "as many queries as keys are expected: S squared",
    "There are T queries and S keys: T times S pairs.",
)
def keys_squared(B, T, S, d_model):
    return 4 * B * S**2 * d_model


@wrong(
    CROSS,
    "the values are averaged for S rows, and there are T",
    "The weights are (T, S): each of the T queries averages S values.",
)
def one_row_for_each_key(B, T, S, d_model):
    return 2 * B * (T + S) * S * d_model


@wrong(
    SELF,
    "the number of sequences is not used",
    "Each of the B sequences has T S pairs of its own.",
)
def batch_forgotten(B, T, S, d_model):
    return 4 * T * S * d_model


@wrong(
    SELF,
    "tokens of different sequences are compared",
    "A query meets the keys of its own sequence: B stands once.",
)
def batch_squared(B, T, S, d_model):
    return 4 * B**2 * T * S * d_model
