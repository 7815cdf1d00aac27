"""Wrong answers to ``kv_cache_bytes``.

Its arguments are S, d_model, num_heads, num_kv_heads, bytes_per_element and layers.
"""

from functools import partial

from ..mistakes import mistake

wrong = partial(mistake, "kv_cache_bytes")
OWN, SHARED = "kv_cache_bytes_own_heads", "kv_cache_bytes_shared_heads"


@wrong(
    OWN,
    "half is counted: keys or values",
    "K and V are both kept.",
)
def keys_only(S, d, h, h_kv, size, layers):
    return S * d // h * h_kv * size * layers


@wrong(
    OWN,
    "the queries are kept too",
    "A query is used once, by its own token. Only keys and values are read again.",
)
def queries_too(S, d, h, h_kv, size, layers):
    return S * (d + 2 * d // h * h_kv) * size * layers


@wrong(
    OWN,
    "numbers are counted, and bytes are asked for",
    "Multiply by bytes_per_element.",
)
def elements(S, d, h, h_kv, size, layers):
    return 2 * S * d // h * h_kv * layers


@wrong(
    OWN,
    "bits are counted, and bytes are asked for",
    "bytes_per_element is in bytes already: no factor 8.",
)
def bits(S, d, h, h_kv, size, layers):
    return 16 * S * d // h * h_kv * size * layers


@wrong(
    OWN,
    "bytes_per_element is taken for bits",
    "It is in bytes already: do not divide by 8.",
)
def taken_for_bits(S, d, h, h_kv, size, layers):
    return 2 * S * d // h * h_kv * size * layers / 8


@wrong(
    OWN,
    "KiB are returned, and bytes are asked for",
    "Do not divide by 1024.",
)
def kibibytes(S, d, h, h_kv, size, layers):
    return 2 * S * d // h * h_kv * size * layers / 1024


@wrong(
    OWN,
    "each head is counted at the width of the model",
    "A head is d_k = d_model / num_heads wide.",
)
def full_size_heads(S, d, h, h_kv, size, layers):
    return 2 * S * d * h_kv * size * layers


@wrong(
    OWN,
    "one head is counted",
    "There are num_kv_heads of them, each d_k = d_model / num_heads wide.",
)
def one_head(S, d, h, h_kv, size, layers):
    return 2 * S * d // h * size * layers


@wrong(
    OWN,
    "one token is counted",
    "The keys and values of all S positions are kept.",
)
def one_token(S, d, h, h_kv, size, layers):
    return 2 * d // h * h_kv * size * layers


@wrong(
    OWN,
    "a number is kept for each pair of tokens: that would be the weights",
    "Weights are not kept. Keys and values are: one row for each of the S positions.",
)
def pairs(S, d, h, h_kv, size, layers):
    return h * S**2 * size * layers


@wrong(
    OWN,
    "the projections are counted: they do not grow with S",
    "Count what is kept for the text: the keys and values of S positions.",
)
def parameters(S, d, h, h_kv, size, layers):
    return 2 * d * (d // h * h_kv) * size * layers


@wrong(
    SHARED,
    "num_kv_heads makes no difference: every query head has keys and values of its own",
    "num_kv_heads heads of keys and values are kept, and groups of query heads share them.",
)
def all_heads(S, d, h, h_kv, size, layers):
    return 2 * S * d * size * layers


@wrong(
    SHARED,
    "the share is upside down: fewer heads of keys and values need more room",
    "Multiply by num_kv_heads / num_heads, not by num_heads / num_kv_heads.",
)
def upside_down(S, d, h, h_kv, size, layers):
    return 2 * S * d * h // h_kv * size * layers


@wrong(
    SHARED,
    "the size of a group is taken for the number of heads",
    "num_kv_heads heads are kept; a group has num_heads / num_kv_heads query heads.",
)
def size_of_a_group(S, d, h, h_kv, size, layers):
    return 2 * S * d // h * (h // h_kv) * size * layers


@wrong(
    SHARED,
    "only the values are shared",
    "Keys and values have num_kv_heads heads, both of them.",
)
def keys_not_shared(S, d, h, h_kv, size, layers):
    return S * (d + d // h * h_kv) * size * layers


@wrong(
    OWN,
    "one layer is counted",
    "Each layer keeps keys and values of its own.",
)
def one_layer(S, d, h, h_kv, size, layers):
    return 2 * S * d // h * h_kv * size


@wrong(
    OWN,
    "the first layer is not counted",
    "Each layer keeps keys and values, the first one too.",
)
def first_layer_forgotten(S, d, h, h_kv, size, layers):
    return 2 * S * d // h * h_kv * size * max(1, layers - 1)
