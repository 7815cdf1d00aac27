"""The implementations that are compared: all hold the same projections and read the same input.

A contender is made from the projections and the row to be measured. Called with x it computes the
layer. ``decoder(K, V)``, where there is one, returns the function that computes one more token
after those cached keys and values.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from mha_lessons import cost, masks, tiled, vectorized
from mha_lessons.cost import Sizes
from mha_lessons.module import MultiHeadAttention
from mha_lessons.projections import merge_heads

try:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        import x_transformers
except ImportError:
    x_transformers = None

TASKS = "forward", "training", "decoding"
MOST_WEIGHTS = 2**30  # bytes of stored weights; who stores them keeps several arrays of this size


@dataclass(frozen=True)
class Row:
    """What is measured: a task, its sizes, and whether the future is hidden.

    In decoding, T = 1 token reads S positions, itself among them.
    """

    task: str
    sizes: Sizes
    causal: bool

    @property
    def flops(self) -> float:
        """FLOPs that the equation asks for: a hidden pair of query and key needs none."""
        z = self.sizes
        scores = sum(cost.score_flops(z).values())
        if self.causal and z.T == z.S:
            scores *= (z.T + 1) / (2 * z.T)
        projected = sum(cost.projection_flops(replace(z, S=z.T)).values())
        return (scores + projected) * (3 if self.task == "training" else 1)

    def __str__(self):
        z = self.sizes
        length = f"T={z.T}" if z.S == z.T else f"T={z.T} S={z.S}"
        causal = ", causal" if self.causal else ""
        return f"{self.task}, B={z.B} {length} d_model={z.d_model} h={z.num_heads}{causal}"


def linear(W) -> nn.Linear:
    """Return the torch layer that multiplies by W, (inputs, outputs)."""
    layer = nn.Linear(*W.shape, bias=False)
    layer.weight.data.copy_(torch.tensor(W.T))
    return layer


def packed(p) -> np.ndarray:
    """Lay W_Q, W_K and W_V of all heads side by side: (d_model, 3 d_model)."""
    return np.concatenate([merge_heads(W) for W in (p.W_Q, p.W_K, p.W_V)], axis=-1)


class Module(nn.Module):
    """The module of this project: `mha_lessons.module.MultiHeadAttention`."""

    def __init__(self, p, row, attend="auto"):
        super().__init__()
        self.causal = row.causal
        self.layer = MultiHeadAttention(p.d_model, p.num_heads, attend=attend)
        self.layer.W_Q, self.layer.W_K = linear(merge_heads(p.W_Q)), linear(merge_heads(p.W_K))
        self.layer.W_V, self.layer.W_O = linear(merge_heads(p.W_V)), linear(p.W_O)

    def forward(self, x):
        return self.layer(x, causal=self.causal)

    def decoder(self, K, V):
        B, _, S, _ = K.shape
        cache = self.layer.new_cache(B, S + 1)
        cache.extend(K, V)
        lengths = cache.lengths

        def step(x):
            cache.lengths = lengths  # forget the token of the run before
            return self.layer(x, cache=cache)

        return step


class Bare(nn.Module):
    """The least that computes the equation in torch: one product, the fused kernel, one product."""

    def __init__(self, p, row):
        super().__init__()
        self.num_heads, self.causal = p.num_heads, row.causal
        self.W_QKV, self.W_O = linear(packed(p)), linear(p.W_O)

    def heads(self, x):
        QKV = self.W_QKV(x).unflatten(-1, (3, self.num_heads, -1))  # (B, T, 3, h, d_k)
        return QKV.permute(2, 0, 3, 1, 4)  # (3, B, h, T, d_k)

    def out(self, heads):
        return self.W_O(heads.transpose(1, 2).flatten(2))  # (B, T, d_model)

    def forward(self, x):
        Q, K, V = self.heads(x)
        return self.out(scaled_dot_product_attention(Q, K, V, is_causal=self.causal))

    def decoder(self, K, V):
        S = K.shape[2]
        K, V = (torch.cat([x, torch.empty_like(x[:, :, :1])], dim=2) for x in (K, V))

        def step(x):
            Q, K[:, :, S:], V[:, :, S:] = self.heads(x)
            return self.out(scaled_dot_product_attention(Q, K, V))

        return step


class TorchMHA(nn.Module):
    """torch.nn.MultiheadAttention: with need_weights as it comes, with biases, which are 0 here.

    With biases it takes a path of its own in evaluation. That is faster where it returns weights,
    and slower where it does not, so it has none there.
    """

    def __init__(self, p, row, need_weights=True):
        super().__init__()
        sizes = p.d_model, p.num_heads
        self.layer = nn.MultiheadAttention(*sizes, bias=need_weights, batch_first=True).eval()
        self.layer.in_proj_weight.data.copy_(torch.tensor(packed(p).T))
        self.layer.out_proj.weight.data.copy_(torch.tensor(p.W_O.T))
        self.options = {"need_weights": need_weights}
        if row.causal:  # there, True hides
            hidden = torch.from_numpy(~masks.causal(row.sizes.T))
            self.options |= {"attn_mask": hidden, "is_causal": True}

    def forward(self, x):
        return self.layer(x, x, x, **self.options)[0]


class XTransformers(nn.Module):
    """The Attention of x-transformers, with its fused kernel and no extras."""

    def __init__(self, p, row):
        super().__init__()
        self.layer = x_transformers.Attention(
            p.d_model, dim_head=p.d_k, heads=p.num_heads, causal=row.causal, flash=True
        )
        self.layer.to_q, self.layer.to_k = linear(merge_heads(p.W_Q)), linear(merge_heads(p.W_K))
        self.layer.to_v, self.layer.to_out = linear(merge_heads(p.W_V)), linear(p.W_O)

    def forward(self, x):
        return self.layer(x)

    def decoder(self, K, V):
        cache = x_transformers.x_transformers.Intermediates(cached_kv=(K, V))
        return lambda x: self.layer(x, cache=cache, return_intermediates=True)[0]


def whole_arrays(p, row):
    """Return the rung `vectorized`."""
    mask = masks.causal(row.sizes.T) if row.causal else None

    def layer(x):
        x = x.numpy()
        return torch.from_numpy(vectorized.multi_head_attention(x, x, p, mask))

    return layer


def in_tiles(p, row):
    """Return the rung `tiled`, which offers attention only, between projections."""

    def layer(x):
        x = x.numpy()[:, None]  # one axis for the heads
        heads = tiled.attention(x @ p.W_Q, x @ p.W_K, x @ p.W_V, causal=row.causal)
        return torch.from_numpy(merge_heads(heads) @ p.W_O)

    return layer


class Contender(NamedTuple):
    """How a contender is made, which tasks it has, and whether it stores the weights."""

    make: Callable
    tasks: tuple[str, ...] = TASKS
    stores_weights: bool = False

    def reason_not_to_run(self, row: Row) -> str | None:
        """Say why this contender is not in a row; None if it is."""
        if self.make is XTransformers and x_transformers is None:
            return "x-transformers is not installed"
        if row.task not in self.tasks:
            return "has no cache" if row.task == "decoding" else "has no gradients"
        stored = cost.materialised_bytes(row.sizes, 4)
        if self.stores_weights and stored > MOST_WEIGHTS:
            return f"stores the weights, {stored / 2**30:.3g} GiB an array"
        return None


CONTENDERS = {
    "bare": Contender(Bare),
    "module": Contender(Module),
    "module-own": Contender(partial(Module, attend="own"), stores_weights=True),
    "torch-mha": Contender(TorchMHA, ("forward", "training"), stores_weights=True),
    "torch-mha-no-weights": Contender(
        partial(TorchMHA, need_weights=False), ("forward", "training")
    ),
    "x-transformers": Contender(XTransformers),
    "vectorized": Contender(whole_arrays, ("forward",), stores_weights=True),
    "tiled": Contender(in_tiles, ("forward",)),
}
