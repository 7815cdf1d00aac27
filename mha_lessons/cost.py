"""The ledger: what a layer of attention computes, stores and moves, counted from its sizes.

FLOPs count a multiplication and an addition as two: a product of (m, k) and (k, n) is 2 m k n.
All counts are those of a forward pass. A backward pass costs twice as many FLOPs (two products for
each one of the forward pass), and 2.5 times as many for the score products of a tiled kernel, which
computes the scores once more.
"""

from dataclasses import dataclass

from mha_lessons import checks


@dataclass(frozen=True)
class Sizes:
    """The sizes of one call of a layer.

    Parameters
    ----------
    B : int
        Sequences in the batch.
    T : int
        Queries in each sequence.
    d_model, num_heads : int
    S : int, optional
        Keys in each sequence; T unless given.
    num_kv_heads : int, optional
        Key and value heads; `num_heads` unless given.
    d_k, d_v : int, optional
        Head widths; d_model / num_heads and d_k unless given.

    Raises
    ------
    ValueError
        When a size is negative, the heads do not divide the width that they should, or a width is
        not positive.
    """

    B: int
    T: int
    d_model: int
    num_heads: int
    S: int | None = None
    num_kv_heads: int | None = None
    d_k: int | None = None
    d_v: int | None = None

    def __post_init__(self):
        def default(name, value):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

        if self.d_k is None:
            default("d_k", checks.divides(self.num_heads, self.d_model))
        default("d_v", self.d_k)
        default("S", self.T)
        default("num_kv_heads", self.num_heads)
        checks.shares(self.num_heads, self.num_kv_heads)
        if min(self.B, self.T, self.S) < 0 or min(self.d_model, self.d_k, self.d_v) < 1:
            raise ValueError(
                f"Lengths must be 0 or more and widths 1 or more: got {self}. "
                f"Count sequences, queries and keys; give each head at least one feature."
            )


def projection_flops(sizes: Sizes) -> dict[str, int]:
    """Count the FLOPs of the four projections.

    x_q W_Q is a product of (B T, d_model) and (d_model, h d_k): 2 B T d_model h d_k. The keys and
    values are projected for B S positions and h_kv heads. W_O takes (B T, h d_v) to d_model.
    With d_k = d_v = d_model / h, T = S and h_kv = h that is 2 B T d_model² each, for every h.

    Returns
    -------
    dict with the keys ``W_Q``, ``W_K``, ``W_V``, ``W_O``
    """
    z = sizes
    return {
        "W_Q": 2 * z.B * z.T * z.d_model * z.num_heads * z.d_k,
        "W_K": 2 * z.B * z.S * z.d_model * z.num_kv_heads * z.d_k,
        "W_V": 2 * z.B * z.S * z.d_model * z.num_kv_heads * z.d_v,
        "W_O": 2 * z.B * z.T * z.num_heads * z.d_v * z.d_model,
    }


def score_flops(sizes: Sizes) -> dict[str, int]:
    """Count the FLOPs of the two products with a (T, S) side.

    Each of the B h heads multiplies (T, d_k) by (d_k, S), and its weights (T, S) by (S, d_v).
    With d_k = d_v = d_model / h that is 2 B T S d_model each, for every h. A causal mask makes
    half of this work useless; it is counted all the same, since only some kernels skip it.

    Returns
    -------
    dict with the keys ``QK^T`` and ``weights V``
    """
    z = sizes
    return {
        "QK^T": 2 * z.B * z.num_heads * z.T * z.d_k * z.S,
        "weights V": 2 * z.B * z.num_heads * z.T * z.S * z.d_v,
    }


def score_elements(sizes: Sizes) -> int:
    """Count the scores: B h T S, one per head and pair of query and key.

    Scaling, mask, softmax and dropout touch each of them, so this work grows with h while the
    FLOPs of the products do not.
    """
    return sizes.B * sizes.num_heads * sizes.T * sizes.S


def materialised_bytes(sizes: Sizes, bytes_per_element: int) -> int:
    """Count the bytes of the weights, B h T S elements, where they are stored.

    Training keeps them for the backward pass. An implementation that keeps the scores beside the
    weights, or a mask or dropout pattern of this size, needs as much again for each.
    """
    return score_elements(sizes) * bytes_per_element


def tiled_bytes(sizes: Sizes, bytes_per_element: int) -> int:
    """Count the bytes that a tiled kernel keeps instead of the weights.

    The heads' outputs, B T h d_v elements, and for each query and head the logarithm of its sum of
    exponentials, B h T numbers of 4 bytes, from which the backward pass makes the weights again.
    """
    z = sizes
    return z.B * z.T * z.num_heads * z.d_v * bytes_per_element + 4 * z.B * z.num_heads * z.T


def parameters(sizes: Sizes, *, bias: bool = False) -> int:
    """Count the stored parameters of the four projections.

    d_model (h d_k + h_kv d_k + h_kv d_v + h d_v), and a bias for each column if there are any.
    With d_k = d_v = d_model / h and h_kv = h that is 4 d_model², for every h.
    """
    z = sizes
    columns = z.num_heads * z.d_k + z.num_kv_heads * (z.d_k + z.d_v)
    stored = z.d_model * (columns + z.num_heads * z.d_v)
    return stored + (columns + z.d_model if bias else 0)


def effective_parameters(sizes: Sizes) -> int:
    """Count the directions in which the parameters change the function, without biases.

    For any invertible R (d_k, d_k) and S (d_v, d_v), a head with W_Q R, W_K R^-T, W_V S and
    S^-1 W_O^i is the same function. Each key and value head brings d_k² + d_v² such idle
    directions, which its whole group of query heads shares. With the usual widths and h_kv = h
    there remain 4 d_model² - 2 d_model² / h: more heads, more functions.

    Raises
    ------
    ValueError
        When a head is wider than d_model, where the count is another one.
    """
    z = sizes
    if max(z.d_k, z.d_v) > z.d_model:
        raise ValueError(
            f"This count holds for heads no wider than d_model: got d_k={z.d_k}, d_v={z.d_v} and "
            f"d_model={z.d_model}. A wider head has more idle directions."
        )
    return parameters(z) - z.num_kv_heads * (z.d_k**2 + z.d_v**2)


def kv_cache_bytes(sizes: Sizes, bytes_per_element: int, *, layers: int = 1) -> int:
    """Count the bytes of the keys and values of S positions, in all layers.

    B S h_kv (d_k + d_v) elements in each layer. With the usual widths and h_kv = h that is
    2 S d_model per sequence and layer; fewer key and value heads shrink it by h_kv / h.

    Raises
    ------
    ValueError
        When `layers` or `bytes_per_element` is not positive.
    """
    if layers < 1 or bytes_per_element < 1:
        raise ValueError(
            f"A cache has at least one layer and one byte per element: got layers={layers}, "
            f"bytes_per_element={bytes_per_element}."
        )
    z = sizes
    return layers * z.B * z.S * z.num_kv_heads * (z.d_k + z.d_v) * bytes_per_element


def crossover_length(
    d_model: int,
    num_heads: int = 1,
    num_kv_heads: int | None = None,
    *,
    skips_future: bool = False,
) -> float:
    """Return the length T = S at which the score products cost as much as the projections.

    4 B T² d_model = 4 B T d_model² (1 + h_kv / h), so T = d_model (1 + h_kv / h): 2 d_model where
    every head has keys of its own. A causal kernel that skips the future halves the left side.

    Parameters
    ----------
    d_model, num_heads : int
    num_kv_heads : int, optional
        `num_heads` unless given.
    skips_future : bool
        Count only the causal half of the score products.

    Raises
    ------
    ValueError
        When `num_kv_heads` does not divide `num_heads`, or a size is not positive.
    """
    group = checks.shares(num_heads, num_heads if num_kv_heads is None else num_kv_heads)
    if d_model < 1:
        raise ValueError(f"d_model must be positive: got {d_model}. Use at least one feature.")
    return (d_model + d_model / group) * (2 if skips_future else 1)
