"""Rung 3: the same equation in torch, with gradients, on any device.

`MultiHeadAttention` is a torch module around `multi_head_attention`. Its one seam, ``attend``,
chooses the attention function that runs inside.
"""

from collections.abc import Callable
from math import inf, sqrt

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mha_lessons import checks, projections
from mha_lessons.projections import merge_heads

Mask = Bool[Tensor, "..."] | Bool[np.ndarray, "..."]


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
    K: Float[Tensor, "*batch S d_k"],
    mask: Mask | None = None,
) -> Float[Tensor, "*batch T S"]:
    """Weigh every key for every query.

    weights = softmax(Q K^T / sqrt(d_k)), over the keys

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
    mask : boolean, broadcastable to (..., T, S), optional
        True = may attend. A NumPy mask is taken too.

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
    checks.attention_inputs(Q, K)
    if mask is not None:
        mask = _fit(mask, Q, K)
        K = _blank_unread(K, mask)
    scores = Q @ K.transpose(-2, -1) / sqrt(Q.shape[-1])  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, -inf)
    return softmax(scores)


def attention(
    Q: Float[Tensor, "*batch T d_k"],
    K: Float[Tensor, "*batch S d_k"],
    V: Float[Tensor, "*batch S d_v"],
    mask: Mask | None = None,
) -> Float[Tensor, "*batch T d_v"]:
    """Average the values, weighted by how well each key answers the query.

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
    V : (..., S, d_v)
    mask : boolean, broadcastable to (..., T, S), optional
        True = may attend. A NumPy mask is taken too.

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
    checks.attention_inputs(Q, K, V)
    weights = attention_weights(Q, K, mask)  # (..., T, S)
    if mask is not None:
        V = _blank_unread(V, _fit(mask, Q, K))
    return weights @ V  # (..., T, d_v)


def fused_attention(
    Q: Float[Tensor, "*batch T d_k"],
    K: Float[Tensor, "*batch S d_k"],
    V: Float[Tensor, "*batch S d_v"],
    mask: Mask | None = None,
) -> Float[Tensor, "*batch T d_v"]:
    """Compute `attention` through torch's ``scaled_dot_product_attention``.

    The same function and the same mask rule, which torch alone does not keep: it lets NaN at a
    hidden key through, and what it gives a query without keys depends on the path it takes.

    Parameters
    ----------
    Q, K, V, mask
        As in `attention`.

    Returns
    -------
    (..., T, d_v)

    Raises
    ------
    TypeError, ValueError
        As `attention`.
    """
    checks.attention_inputs(Q, K, V)
    if mask is None:
        return nn.functional.scaled_dot_product_attention(Q, K, V)
    mask = _fit(mask, Q, K)
    K, V = _blank_unread(K, mask), _blank_unread(V, mask)
    blank = ~mask.any(dim=-1, keepdim=True)  # (..., T, 1)
    out = nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask | blank)
    return out.masked_fill(blank, 0)


def multi_head_attention(
    x_q: Float[Tensor, "*batch T d_model"],
    x_kv: Float[Tensor, "*batch S d_model"],
    projections: "projections.Projections | MultiHeadAttention",
    mask: Mask | None = None,
    *,
    attend: Callable = attention,
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
    projections : Projections, or anything with its arrays as tensors
    mask : boolean, broadcastable to (..., num_heads, T, S), optional
        True = may attend.
    attend : function of (Q, K, V, mask)
        `attention` or `fused_attention`.

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
    p = projections
    checks.layer_inputs(x_q, x_kv, p.d_model)
    Q = _project(x_q, p.W_Q, p.b_Q)  # (..., h, T, d_k)
    K = _project(x_kv, p.W_K, p.b_K)  # (..., h, S, d_k)
    V = _project(x_kv, p.W_V, p.b_V)  # (..., h, S, d_v)
    heads = attend(Q, K, V, mask)  # (..., h, T, d_v)
    out = merge_heads(heads) @ torch.as_tensor(p.W_O)  # (..., T, d_model)
    return out if p.b_O is None else out + torch.as_tensor(p.b_O)


class MultiHeadAttention(nn.Module):
    """Multi-head attention as a torch module, for self- and cross-attention.

    Parameters
    ----------
    d_model, num_heads : int
    d_k, d_v : int, optional
        Head widths; d_model / num_heads and d_k unless given.
    bias : bool
        Add b_Q, b_K, b_V and b_O. The paper has none.
    attend : function of (Q, K, V, mask)
        What runs inside: `attention`, which a reader can follow, or `fused_attention`.
    device, dtype : optional
        As for every torch module.

    Attributes
    ----------
    W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O
        Parameters in the shapes of `projections.Projections`; the biases are None without `bias`.

    Raises
    ------
    ValueError
        When `num_heads` does not divide `d_model` and `d_k` is not given, or a size is not
        positive.

    References
    ----------
    Vaswani et al. 2017, section 3.2.2. Chapter 3.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        attend: Callable = attention,
        device=None,
        dtype=None,
    ):
        super().__init__()
        # A draw seeded from torch's generator, so that torch.manual_seed decides the layer.
        seed = int(torch.randint(2**31, ()))
        drawn = projections.random(d_model, num_heads, d_k, d_v, seed=seed)
        dtype = torch.get_default_dtype() if dtype is None else dtype
        for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"):
            keep = bias or name.startswith("W")
            array = torch.as_tensor(getattr(drawn, name)).to(device=device, dtype=dtype)
            self.register_parameter(name, nn.Parameter(array) if keep else None)
        self.attend = attend

    @classmethod
    def from_projections(cls, p: projections.Projections, **options) -> "MultiHeadAttention":
        """Make a module that holds copies of the arrays of `p`, biases included.

        Parameters
        ----------
        p : Projections
        **options
            ``attend``, ``device``, ``dtype``; the dtype of `p` unless given.
        """
        options = {"dtype": torch.as_tensor(p.W_Q).dtype} | options
        layer = cls(p.d_model, p.num_heads, d_k=p.d_k, d_v=p.d_v, bias=True, **options)
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                parameter.copy_(torch.as_tensor(getattr(p, name)))
        return layer

    @property
    def num_heads(self) -> int:
        """Number of heads, h."""
        return self.W_Q.shape[0]

    @property
    def d_model(self) -> int:
        """Width of the layer's input and result."""
        return self.W_Q.shape[1]

    def forward(self, x_q, x_kv=None, mask=None):
        """Return (..., T, d_model); `x_kv` is `x_q` unless given (self-attention)."""
        x_kv = x_q if x_kv is None else x_kv
        return multi_head_attention(x_q, x_kv, self, mask, attend=self.attend)

    def weights(self, x_q, x_kv=None, mask=None):
        """Return the attention weights of every head, (..., num_heads, T, S)."""
        x_kv = x_q if x_kv is None else x_kv
        checks.layer_inputs(x_q, x_kv, self.d_model)
        Q = _project(x_q, self.W_Q, self.b_Q)
        K = _project(x_kv, self.W_K, self.b_K)
        return attention_weights(Q, K, mask)

    def extra_repr(self) -> str:
        """Say the sizes when the module is printed."""
        _, d_model, d_k = self.W_Q.shape
        return f"d_model={d_model}, num_heads={self.num_heads}, d_k={d_k}, d_v={self.W_V.shape[2]}"


def _project(x, W, b):
    out = torch.einsum("...tm,hmk->...htk", x, torch.as_tensor(W))
    return out if b is None else out + torch.as_tensor(b)[:, None]


def _fit(mask, Q, K):
    mask = torch.as_tensor(np.array(mask) if isinstance(mask, np.ndarray) else mask)
    shape = (*Q.shape[:-1], K.shape[-2])  # (..., T, S)
    checks.mask_fits(mask, shape)
    return mask.to(Q.device).expand(shape)


def _blank_unread(x, mask):
    # A weight of exactly 0 does not protect a sum, nor its gradient, from NaN: 0 * NaN is NaN.
    return x.masked_fill(~mask.any(dim=-2)[..., None], 0)
