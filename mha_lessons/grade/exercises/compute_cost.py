"""The checks of exercise 05: FLOPs, scores, and the bytes of a cache."""

from mha_lessons import cost

from ..checks import check

PROJECTIONS_HINT = "Four products, each (B T, d_model) by (d_model, d_model): 2 m n k for each."
SCORES_HINT = "Q K^T is (T, d_k) by (d_k, S), weights V is (T, S) by (S, d_v): 2 m n k, each head."
ELEMENTS_HINT = "In each sequence, each of the heads has one score for each query and key."
CACHE_HINT = (
    "Keys and values; S positions; num_kv_heads heads that are d_model / num_heads wide; "
    "bytes_per_element; layers."
)


@check("projection_flops")
def projection_flops_values(answer):
    """Four products of all tokens with a square matrix: 8 B T d_model^2, whatever the heads."""
    for sizes in [(5, 3, 14), (2, 11, 6), (1, 7, 10), (3, 1, 22)]:
        expected = sum(cost.projection_flops(cost.Sizes(*sizes, num_heads=1)).values())
        answer.must_equal(expected, *sizes, hint=PROJECTIONS_HINT)


def must_count_scores(answer, B, T, S, d_model):
    """Fail unless the answer counts the FLOPs of both products, whatever the heads."""
    sizes = cost.Sizes(B, T, d_model, num_heads=1, S=S)
    expected = sum(cost.score_flops(sizes).values())
    answer.must_equal(expected, B, T, S, d_model, hint=SCORES_HINT)


@check("score_flops")
def score_flops_self(answer):
    """Several sequences, each with as many keys as queries: 4 B T^2 d_model."""
    for B, T, d_model in [(5, 7, 22), (2, 3, 14), (1, 11, 6)]:
        must_count_scores(answer, B, T, T, d_model)


@check("score_flops")
def score_flops_cross(answer):
    """One sequence with more keys than queries, or fewer, or one query that a cache serves."""
    for T, S, d_model in [(3, 7, 10), (11, 5, 6), (1, 13, 14)]:
        must_count_scores(answer, 1, T, S, d_model)


def must_count_elements(answer, B, T, S, num_heads):
    """Fail unless the answer counts a whole map of scores for each head."""
    sizes = cost.Sizes(B, T, num_heads, num_heads, S=S)
    answer.must_equal(cost.score_elements(sizes), B, T, S, num_heads, hint=ELEMENTS_HINT)


@check("score_elements")
def score_elements_self(answer):
    """Several sequences, each with as many keys as queries: a whole map for each head."""
    for B, T, num_heads in [(5, 7, 3), (2, 3, 11), (1, 13, 1)]:
        must_count_elements(answer, B, T, T, num_heads)


@check("score_elements")
def score_elements_cross(answer):
    """One sequence with more keys than queries, or fewer."""
    for T, S, num_heads in [(3, 7, 5), (11, 2, 3)]:
        must_count_elements(answer, 1, T, S, num_heads)


def must_count_bytes(answer, S, d_k, num_heads, num_kv_heads, bytes_per_element, layers):
    """Fail unless the answer counts the bytes of the keys and values of one sequence."""
    d_model = num_heads * d_k
    sizes = cost.Sizes(1, S, d_model, num_heads, num_kv_heads=num_kv_heads)
    expected = cost.kv_cache_bytes(sizes, bytes_per_element, layers=layers)
    given = S, d_model, num_heads, num_kv_heads, bytes_per_element, layers
    answer.must_equal(expected, *given, hint=CACHE_HINT)


@check("kv_cache_bytes")
def kv_cache_bytes_own_heads(answer):
    """Every head has keys and values of its own, in several layers."""
    for S, d_k, num_heads, size, layers in [(11, 7, 3, 14, 5), (13, 5, 2, 2, 7), (17, 3, 1, 1, 1)]:
        must_count_bytes(answer, S, d_k, num_heads, num_heads, size, layers)


@check("kv_cache_bytes")
def kv_cache_bytes_shared_heads(answer):
    """Groups of query heads share keys and values, in one layer."""
    for S, d_k, num_heads, num_kv_heads in [(11, 7, 15, 5), (13, 5, 6, 2), (17, 3, 4, 1)]:
        must_count_bytes(answer, S, d_k, num_heads, num_kv_heads, 14, 1)
