"""Rung 3: the same equation in torch, with gradients, on any device.

`MultiHeadAttention` is the equation as a torch module: read its ``forward``. Its one seam,
``attend``, chooses the attention function that runs inside.
"""

from collections.abc import Callable
from math import inf, sqrt

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mha_lessons import checks, fused
from mha_lessons.cache import KVCache
from mha_lessons.projections import Projections, merge_heads, split_heads
from mha_lessons.torch_masks import Mask, blank_unread, visible


def softmax(scores: Float[Tensor, "*batch S"]) -> Float[Tensor, "*batch S"]:
    """Turn each row of scores into weights that are positive and sum to 1.

    softmax(s)_j = exp(s_j) / sum_l exp(s_l)

    Parameters
    ----------
    scores : (..., S)
        A score of -inf gets the weight 0; a row of nothing but -inf gets zeros, and zero gradient.

    Returns
    -------
    (..., S)

    Raises
    ------
    TypeError
        When `scores` is not floating point.

    References
    ----------
    Chapter 1.
    """
    checks.floating(scores=scores)
    blank = (scores == -inf).all(dim=-1, keepdim=True)
    return torch.softmax(scores.masked_fill(blank, 0), dim=-1).masked_fill(blank, 0)


def attention_weights(
    Q: Float[Tensor, "*batch T d_k"],
    K: Float[Tensor, "*batch_kv S d_k"],
    mask: Mask | None = None,
    *,
    causal: bool = False,
) -> Float[Tensor, "*batch T S"]:
    """Weigh every key for every query.

    weights = softmax(Q K^T / sqrt(d_k)), over the keys

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
        Its head axis, the third from the end, may be a divisor of Q's: consecutive query heads
        then share a key head.
    mask : boolean, broadcastable to (..., T, S), optional
        True = may attend. A NumPy mask is taken too.
    causal : bool
        Hide the future as well, with the last query aligned to the last key.

    Returns
    -------
    (..., T, S)
        Each row sums to 1, or to 0 where the query may attend to nothing.

    Raises
    ------
    TypeError
        When Q or K is not floating point, or the mask not boolean.
    ValueError
        When shapes do not fit.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, equation 1. Chapter 1.
    """
    group = checks.attention_inputs(Q, K, grouped=True)
    if group > 1:
        K = K.repeat_interleave(group, dim=-3)
    mask = visible(mask, (*Q.shape[:-1], K.shape[-2]), causal_too=causal, device=Q.device)
    if mask is not None:
        K = blank_unread(K, mask)
    # Q is divided, not the product, which need not fit into float16.
    scores = (Q / sqrt(Q.shape[-1])) @ K.transpose(-2, -1)  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -inf)
    return softmax(scores)


def attention(
    Q: Float[Tensor, "*batch T d_k"],
    K: Float[Tensor, "*batch_kv S d_k"],
    V: Float[Tensor, "*batch_kv S d_v"],
    mask: Mask | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "*batch T d_v"]:
    """Average the values, weighted by how well each key answers the query.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
        Its head axis, the third from the end, may be a divisor of Q's: consecutive query heads
        then share a key and value head.
    V : (..., S, d_v)
    mask : boolean, broadcastable to (..., T, S), optional
        True = may attend. A NumPy mask is taken too.
    causal : bool
        Hide the future as well, with the last query aligned to the last key.
    dropout : float
        Share of the weights that is zeroed at random, the others growing by 1 / (1 - dropout).

    Returns
    -------
    (..., T, d_v)
        Zeros, with zero gradient, where a query may attend to nothing.

    Raises
    ------
    TypeError, ValueError
        As `attention_weights`; also when V does not fit K.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, equation 1. Chapter 1.
    """
    group = checks.attention_inputs(Q, K, V, grouped=True)
    mask = visible(mask, (*Q.shape[:-1], K.shape[-2]), causal_too=causal, device=Q.device)
    weights = attention_weights(Q, K, mask)  # (..., T, S)
    if dropout:
        weights = nn.functional.dropout(weights, dropout)
    if group > 1:
        V = V.repeat_interleave(group, dim=-3)
    if mask is not None:
        V = blank_unread(V, mask)
    return weights @ V  # (..., T, d_v)


def multi_head_attention(
    x_q: Float[Tensor, "*batch T d_model"],
    x_kv: Float[Tensor, "*batch S d_model"],
    projections: Projections,
    mask: Mask | None = None,
    *,
    attend: str | Callable = attention,
) -> Float[Tensor, "*batch T d_model"]:
    """Let every head attend with its own projections, then mix their outputs.

    MultiHead(x_q, x_kv) = Concat(head_1, ..., head_h) W_O
    head_i = Attention(x_q W_Q[i], x_kv W_K[i], x_kv W_V[i])

    Parameters
    ----------
    x_q : (..., T, d_model)
        What asks. The same tensor as `x_kv` for self-attention.
    x_kv : (..., S, d_model)
        What is read.
    projections : Projections
        Taken over in the dtype of `x_q`. Gradients reach the inputs; to train projections, use
        `MultiHeadAttention`.
    mask : boolean, broadcastable to (..., num_heads, T, S), optional
        True = may attend.
    attend : str or function of (Q, K, V, mask), optional
        As in `MultiHeadAttention`.

    Returns
    -------
    (..., T, d_model)

    Raises
    ------
    TypeError
        When an input is not floating point, or the mask not boolean.
    ValueError
        When shapes do not fit.

    References
    ----------
    Vaswani et al. 2017, section 3.2.2. Chapters 2 and 3.
    """
    checks.layer_inputs(x_q, x_kv, projections.d_model)
    options = {"attend": attend, "device": x_q.device, "dtype": x_q.dtype}
    layer = MultiHeadAttention.from_projections(projections, **options)
    return layer.requires_grad_(False)(x_q, x_kv, mask)


class MultiHeadAttention(nn.Module):
    """Multi-head attention as a torch module, for self- and cross-attention.

    Parameters
    ----------
    d_model, num_heads : int
    d_k, d_v : int, optional
        Head widths; d_model / num_heads and d_k unless given.
    num_kv_heads : int, optional
        Key and value heads, `num_heads` unless given. With fewer, consecutive query heads share
        them (grouped queries; with one: multi-query).
    bias : bool
        Add a bias to each projection. The paper has none.
    dropout : float
        Share of the weights that is zeroed at random in training; never in evaluation.
    attend : str or function of (Q, K, V, mask, *, causal, dropout)
        What runs inside: ``"own"`` is `attention`, which a reader can follow; ``"fused"`` is
        torch's scaled_dot_product_attention; ``"kernel"`` is this project's Triton kernel, for
        CUDA. ``"auto"`` takes the fastest that is measured, today ``"fused"``.
    device, dtype : optional
        As for every torch module.

    Attributes
    ----------
    W_Q, W_K, W_V, W_O : nn.Linear
        Head i owns the outputs i * d_k to (i + 1) * d_k of W_Q. Entries start with standard
        deviation 1 / sqrt(inputs), so that a unit-variance input gives unit-variance queries, keys
        and values; biases start at 0.

    Raises
    ------
    ValueError
        When `num_heads` does not divide `d_model` and `d_k` is not given, `num_kv_heads` does not
        divide `num_heads`, `attend` is unknown, or a size or `dropout` is out of range.

    References
    ----------
    Vaswani et al. 2017, section 3.2.2; grouped queries: Ainslie et al. 2023, section 2.2.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        num_kv_heads: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
        attend: str | Callable = "auto",
        device=None,
        dtype=None,
    ):
        super().__init__()
        d_k = checks.divides(num_heads, d_model) if d_k is None else d_k
        d_v = d_k if d_v is None else d_v
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        checks.layer_sizes(d_model, num_heads, num_kv_heads, d_k, d_v)
        checks.probability(dropout=dropout)
        self.d_model, self.num_heads, self.num_kv_heads = d_model, num_heads, num_kv_heads
        self.d_k, self.d_v, self.dropout = d_k, d_v, dropout
        self.attend = _attention_named(attend)
        new = {"bias": bias, "device": device, "dtype": dtype}
        self.W_Q = nn.Linear(d_model, num_heads * d_k, **new)
        self.W_K = nn.Linear(d_model, num_kv_heads * d_k, **new)
        self.W_V = nn.Linear(d_model, num_kv_heads * d_v, **new)
        self.W_O = nn.Linear(num_heads * d_v, d_model, **new)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the projections anew and set the biases to 0."""
        for W in (self.W_Q, self.W_K, self.W_V, self.W_O):
            nn.init.normal_(W.weight, std=W.in_features**-0.5)
            if W.bias is not None:
                nn.init.zeros_(W.bias)

    def forward(self, x_q, x_kv=None, mask=None, *, causal=False, cache=None, new_lengths=None):
        """Compute the layer.

        Parameters
        ----------
        x_q : (..., T, d_model)
        x_kv : (..., S, d_model), optional
            `x_q` unless given: self-attention.
        mask : boolean, broadcastable to (..., num_heads, T, S), optional
            True = may attend.
        causal : bool
            Hide the future as well, with the last query aligned to the last key.
        cache : KVCache, optional
            Holds earlier keys and values, and takes the new ones. Attention is then causal.
            No gradient flows into a cache.
        new_lengths : (B,) integers, optional
            With a cache: how many of the T positions of each sequence are real.

        Returns
        -------
        (..., T, d_model)
        """
        x_kv = x_q if x_kv is None else x_kv
        self._check(x_q, x_kv)
        Q = split_heads(self.W_Q(x_q), self.num_heads)  # (..., h, T, d_k)
        K = split_heads(self.W_K(x_kv), self.num_kv_heads)  # (..., h_kv, S, d_k)
        V = split_heads(self.W_V(x_kv), self.num_kv_heads)  # (..., h_kv, S, d_v)
        if cache is not None:
            K, V, mask, causal = cache.extend(K, V, mask, new_lengths)
        dropout = self.dropout if self.training else 0.0
        heads = self.attend(Q, K, V, mask, causal=causal, dropout=dropout)  # (..., h, T, d_v)
        return self.W_O(merge_heads(heads))  # (..., T, d_model)

    def weights(self, x_q, x_kv=None, mask=None, *, causal=False):
        """Return the attention weights of every head, (..., num_heads, T, S), without dropout."""
        x_kv = x_q if x_kv is None else x_kv
        self._check(x_q, x_kv)
        Q = split_heads(self.W_Q(x_q), self.num_heads)
        K = split_heads(self.W_K(x_kv), self.num_kv_heads)
        return attention_weights(Q, K, mask, causal=causal)

    def new_cache(self, B: int, capacity: int) -> KVCache:
        """Make an empty cache for `B` sequences of at most `capacity` positions."""
        like = {"device": self.W_K.weight.device, "dtype": self.W_K.weight.dtype}
        return KVCache(B, self.num_kv_heads, capacity, self.d_k, self.d_v, **like)

    @classmethod
    def from_projections(cls, p: Projections, **options) -> "MultiHeadAttention":
        """Make a module that holds copies of the arrays of `p`, biases included.

        Parameters
        ----------
        p : Projections
        **options
            ``attend``, ``dropout``, ``device``, ``dtype``; the dtype of `p` unless given.
        """
        options = {"dtype": torch.from_numpy(p.W_O).dtype} | options
        sizes = {"d_k": p.d_k, "d_v": p.d_v, "num_kv_heads": p.num_kv_heads}
        layer = cls(p.d_model, p.num_heads, bias=True, **sizes, **options)
        with torch.no_grad():
            for name in ("Q", "K", "V"):
                W, b = getattr(p, f"W_{name}"), getattr(p, f"b_{name}")
                linear = getattr(layer, f"W_{name}")
                linear.weight.copy_(torch.tensor(W).transpose(-2, -1).flatten(0, 1))
                linear.bias.copy_(torch.tensor(b).flatten())
            layer.W_O.weight.copy_(torch.tensor(p.W_O).T)
            layer.W_O.bias.copy_(torch.tensor(p.b_O))
        return layer

    def to_projections(self) -> Projections:
        """Return copies of the projections as NumPy arrays, in the shapes of the paper."""

        def heads(linear, num_heads):
            return linear.weight.unflatten(0, (num_heads, -1)).transpose(-2, -1)

        def array(x):
            return x.detach().cpu().numpy().copy()

        h, h_kv = self.num_heads, self.num_kv_heads
        parts = [
            heads(self.W_Q, h),
            heads(self.W_K, h_kv),
            heads(self.W_V, h_kv),
            self.W_O.weight.T,
        ]
        if self.W_Q.bias is not None:
            linears = (self.W_Q, h), (self.W_K, h_kv), (self.W_V, h_kv)
            parts += [linear.bias.unflatten(0, (n, -1)) for linear, n in linears]
            parts += [self.W_O.bias]
        return Projections(*map(array, parts))

    def _check(self, x_q, x_kv):
        checks.layer_inputs(x_q, x_kv, self.d_model)
        W = self.W_Q.weight
        checks.same_device(W.device, x_q=x_q, x_kv=x_kv)
        kind = W.device.type
        if not (torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)):
            checks.same_dtype(W.dtype, x_q=x_q, x_kv=x_kv)

    def extra_repr(self) -> str:
        """Say the sizes when the module is printed."""
        names = ("d_model", "num_heads", "num_kv_heads", "d_k", "d_v", "dropout")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


def _attention_named(attend):
    if callable(attend):
        return attend
    if attend == "own":
        return attention
    if attend in ("auto", "fused"):
        return fused.attention
    if attend == "kernel":
        from mha_lessons import kernel  # asks for Triton

        return kernel.attention
    raise ValueError(
        f"attend must be a function or one of 'auto', 'own', 'fused', 'kernel': got {attend!r}."
    )
