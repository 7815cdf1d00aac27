"""Right answers to exercise 05 in many styles: none of them may be rejected."""

import functools
import math
from fractions import Fraction

import numpy as np
from right_answers import RIGHT, right

from mha_lessons import cost


def torch_counts(multiply):
    """Let torch count the FLOPs of what `multiply` does with empty tensors."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        multiply(functools.partial(torch.empty, device="meta"))
    return counter.get_total_flops()


def product(m, n, k):
    return 2 * m * n * k


# projection_flops(B, T, d_model)

project = right("projection_flops")


@project
def formula(B, T, d_model):
    return 8 * B * T * d_model**2


@project
def product_by_product(B, T, d_model):
    return sum(product(B * T, d_model, d_model) for _ in ("W_Q", "W_K", "W_V", "W_O"))


@project
def as_float(B, T, d_model):
    return 8.0 * B * T * math.pow(d_model, 2)


@project
def numpy_integers(B, T, d_model):
    return np.int64(8) * np.prod(np.array([B, T, d_model, d_model]))


@project
def counted_by_torch(B, T, d_model):
    def multiply(empty):
        for _ in range(4):
            empty(B * T, d_model) @ empty(d_model, d_model)

    return torch_counts(multiply)


@project
def of_the_ledger(B, T, d_model):
    return sum(cost.projection_flops(cost.Sizes(B, T, d_model, num_heads=1)).values())


@project
def as_a_tensor(B, T, d_model):
    import torch

    return torch.tensor(formula(B, T, d_model))


@project
def zero_dimensions(B, T, d_model):
    return np.array(formula(B, T, d_model), dtype=np.uint64)


# score_flops(B, T, S, d_model)

score = right("score_flops")


@score
def formula_of_scores(B, T, S, d_model):
    return 4 * B * T * S * d_model


@score
def both_products(B, T, S, d_model):
    return B * (product(T, S, d_model) + product(T, d_model, S))


@score
def head_by_head(B, T, S, d_model):
    d_k = d_model / 2  # of two heads; any number of them gives the same
    return sum(B * (product(T, S, d_k) + product(T, d_k, S)) for _ in range(2))


@score
def batches_counted_by_torch(B, T, S, d_model):
    def multiply(empty):
        weights = empty(B, T, d_model) @ empty(B, d_model, S)
        weights @ empty(B, S, d_model)

    return torch_counts(multiply)


@score
def of_the_ledger_of_scores(B, T, S, d_model):
    sizes = cost.Sizes(B, T, d_model, num_heads=1, S=S)
    return sum(cost.score_flops(sizes).values())


@score
def counted_in_loops(B, T, S, d_model):
    return sum(4 * d_model for _ in range(B) for _ in range(T) for _ in range(S))


RIGHT["score_flops.lambda"] = ("score_flops", lambda *sizes: 4.0 * math.prod(sizes))

# score_elements(B, T, S, num_heads)

elements = right("score_elements")


@elements
def formula_of_elements(B, T, S, num_heads):
    return B * num_heads * T * S


@elements
def size_of_an_array(B, T, S, num_heads):
    return np.empty((B, num_heads, T, S)).size


@elements
def numel(B, T, S, num_heads):
    import torch

    return (torch.empty(B, num_heads, T, 1) @ torch.empty(B, num_heads, 1, S)).numel()


@elements
def of_the_ledger_of_elements(B, T, S, num_heads):
    return cost.score_elements(cost.Sizes(B, T, num_heads, num_heads, S=S))


@elements
def length_of_a_product(B, T, S, num_heads):
    return len(list(np.ndindex(B, num_heads, T, S)))


RIGHT["score_elements.prod"] = ("score_elements", lambda *sizes: np.prod(sizes))

# kv_cache_bytes(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers)

cache = right("kv_cache_bytes")


@cache
def width_of_a_head(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers):
    d_k = d_model // num_heads
    return 2 * layers * S * num_kv_heads * d_k * bytes_per_element


@cache
def share_of_the_heads(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers):
    # 1 / 15 * 3 is not 1 / 5 in floating point.
    return 2 * S * d_model * (1 / num_heads * num_kv_heads) * bytes_per_element * layers


@cache
def fraction(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers):
    return Fraction(num_kv_heads, num_heads) * 2 * S * d_model * bytes_per_element * layers


@cache
def bytes_of_arrays(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers):
    shape = layers, num_kv_heads, S, d_model // num_heads
    K, V = (np.empty(shape, dtype=f"V{bytes_per_element}") for _ in "KV")
    return K.nbytes + V.nbytes


@cache
def layer_by_layer(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers):
    total = 0
    for _ in range(layers):
        for _ in range(num_kv_heads):
            total += S * (d_model // num_heads + d_model // num_heads) * bytes_per_element
    return total


@cache
def of_the_ledger_of_caches(S, d_model, num_heads, num_kv_heads, bytes_per_element, layers):
    sizes = cost.Sizes(1, S, d_model, num_heads, num_kv_heads=num_kv_heads)
    return float(cost.kv_cache_bytes(sizes, bytes_per_element, layers=layers))


RIGHT["kv_cache_bytes.partial"] = ("kv_cache_bytes", functools.partial(width_of_a_head))
