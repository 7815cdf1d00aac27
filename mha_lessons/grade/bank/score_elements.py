"""Wrong answers to ``score_elements(B, T, S, num_heads)``."""

from functools import partial

from ..mistakes import mistake

wrong = partial(mistake, "score_elements")
SELF, CROSS = "score_elements_self", "score_elements_cross"


@wrong(
    SELF,
    "the number of heads is not used, as if their maps were narrower",
    "A head is narrower, and its map is not: each head has a whole (T, S) of its own.",
)
def heads_forgotten(B, T, S, num_heads):
    return B * T * S


@wrong(
    SELF,
    "the heads share one map, and should have one each",
    "Multiply by num_heads, do not divide.",
)
def divided_by_heads(B, T, S, num_heads):
    return B * T * S / num_heads


@wrong(
    SELF,
    "heads are compared with heads",
    "A head compares its own queries with its own keys: num_heads stands once.",
)
def heads_squared(B, T, S, num_heads):
    return B * num_heads**2 * T * S


@wrong(
    SELF,
    "scores and weights are counted, or two FLOPs for each",
    "Count the scores: one number for each query, key and head.",
)
def doubled(B, T, S, num_heads):
    return 2 * B * num_heads * T * S


@wrong(
    SELF,
    "the numbers of queries and keys are added, and should be multiplied",
    "Every query meets every key: T times S pairs.",
)
def lengths_added(B, T, S, num_heads):
    return B * num_heads * (T + S)


@wrong(
    SELF,
    "one number for each query is counted",
    "A query has a score for each of the S keys.",
)
def one_for_each_query(B, T, S, num_heads):
    return B * num_heads * T


@wrong(
    SELF,
    "pairs are counted once, whichever of the two tokens asks",
    "The score of query 1 and key 2 is another one than that of query 2 and key 1.",
)
def pairs_without_order(B, T, S, num_heads):
    return B * num_heads * (T * (S + 1) // 2)


@wrong(
    CROSS,
    "as many keys as queries are expected: T squared",
    "There are T queries and S keys: T times S pairs.",
)
def queries_squared(B, T, S, num_heads):
    return B * num_heads * T**2


@wrong(
    CROSS,
    "as many queries as keys are expected: S squared",
    "There are T queries and S keys: T times S pairs.",
)
def keys_squared(B, T, S, num_heads):
    return B * num_heads * S**2


@wrong(
    SELF,
    "the number of sequences is not used",
    "Each of the B sequences has scores of its own.",
)
def batch_forgotten(B, T, S, num_heads):
    return num_heads * T * S


@wrong(
    SELF,
    "tokens of different sequences are compared",
    "A query meets the keys of its own sequence: B stands once.",
)
def batch_squared(B, T, S, num_heads):
    return B**2 * num_heads * T * S
