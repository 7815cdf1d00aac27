"""All rungs of one copy of the library, NumPy in and NumPy out."""

from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import torch

from mha_lessons.cache import KVCache

MODULES = ("equation", "vectorized", "tiled", "module", "fused", "masks", "projections")


def load(package="mha_lessons"):
    """Import the modules of a copy of the library."""
    return SimpleNamespace(**{name: import_module(f"{package}.{name}") for name in MODULES})


def tensor(x):
    # A read-only array, such as a broadcast one, is copied: torch would warn.
    return torch.from_numpy(x if x.flags.writeable else x.copy())


def in_numpy(f):
    """Let a torch function take and give arrays."""

    def call(*arrays, **options):
        given = [tensor(x) if x.dtype.kind == "f" else x for x in arrays if x is not None]
        return f(*given, **options).detach().numpy()

    return call


def repeat_heads(x, Q):
    """Repeat key or value heads, so that each serves consecutive query heads."""
    if x.ndim < 3 or x.shape[-3] in (0, Q.shape[-3]):
        return x
    return np.repeat(x, Q.shape[-3] // x.shape[-3], axis=-3)


def grouped(attention):
    """Let a NumPy attention take fewer key and value heads, as those in torch do."""

    def call(Q, K, V, *mask, **options):
        return attention(Q, repeat_heads(K, Q), repeat_heads(V, Q), *mask, **options)

    return call


def attentions(lib):
    """Functions of (Q, K, V, mask)."""
    return {
        "equation": grouped(lib.equation.attention),
        "vectorized": grouped(lib.vectorized.attention),
        "tiled": grouped(lib.tiled.attention),
        "tiled by 2": grouped(partial(lib.tiled.attention, tile=2)),
        "module": in_numpy(lib.module.attention),
        "fused": in_numpy(lib.fused.attention),
    }


def causal_attentions(lib):
    """Functions of (Q, K, V) that hide the future."""

    def masked(attention):
        return lambda Q, K, V: attention(Q, K, V, lib.masks.causal(Q.shape[-2], K.shape[-2]))

    every = attentions(lib)
    return {
        name: partial(every[name], causal=True)
        if name in ("tiled", "tiled by 2", "module", "fused")
        else masked(every[name])
        for name in every
    }


def layers(lib):
    """Functions of (x_q, x_kv, projections, mask)."""
    return {
        "equation": lib.equation.multi_head_attention,
        "vectorized": lib.vectorized.multi_head_attention,
        "module": _torch_layer(lib, "own"),
        "fused": _torch_layer(lib, "fused"),
    }


def _torch_layer(lib, attend):
    def call(x_q, x_kv, projections, mask=None):
        out = lib.module.multi_head_attention(
            tensor(x_q), tensor(x_kv), projections, mask, attend=attend
        )
        return out.numpy()

    return call


def softmaxes(lib):
    """Functions of (scores,)."""
    return {
        "equation": lib.equation.softmax,
        "vectorized": lib.vectorized.softmax,
        "module": in_numpy(lib.module.softmax),
    }


def weighings(lib):
    """Functions of (Q, K, mask) that return the weights."""

    def grouped(weigh):
        return lambda Q, K, *mask: weigh(Q, repeat_heads(K, Q), *mask)

    return {
        "equation": grouped(lib.equation.attention_weights),
        "vectorized": grouped(lib.vectorized.attention_weights),
        "module": in_numpy(lib.module.attention_weights),
    }


def torch_attentions(lib):
    """Functions of (Q, K, V, mask, *, causal) on tensors, which have gradients."""
    return {"module": lib.module.attention, "fused": lib.fused.attention}


def modules(lib):
    """Functions that make a `MultiHeadAttention`."""
    return {
        "module": partial(lib.module.MultiHeadAttention, attend="own"),
        "fused": partial(lib.module.MultiHeadAttention, attend="fused"),
    }


def continue_cache(K, V, filled, T, mask=None):
    """Let the last T of the filled slots come anew, as the keys and values of T queries.

    K and V are (B, h_kv, S, d), and sequence b has filled[b] keys; what stands behind them is
    garbage in free slots.
    """
    B, num_kv_heads, S, d_k = K.shape
    cache = KVCache(B, num_kv_heads, S, d_k, V.shape[-1], dtype=K.dtype)
    cache.K.copy_(K)
    cache.V.copy_(V)
    cache.lengths = filled - T
    slots = cache.lengths[:, None] + torch.arange(T)
    new = (x[torch.arange(B)[:, None], :, slots].transpose(1, 2) for x in (K, V))
    return cache.extend(*new, mask)


# What laws are about, by kind.
SUBJECTS = {
    "softmax": softmaxes,
    "attention": attentions,
    "causal": causal_attentions,
    "layer": layers,
    "torch": torch_attentions,
    "module": modules,
}
