"""Attention through torch's fused ``scaled_dot_product_attention``, under this project's mask rule.

torch alone does not keep the rule: it lets NaN at a hidden key through, gives a query without keys
what the chosen path happens to give, and aligns its ``is_causal`` with the first key.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from mha_lessons import checks
from mha_lessons.torch_masks import Mask, blank_unread, visible


def attention(
    Q: Float[Tensor, "*batch T d_k"],
    K: Float[Tensor, "*batch_kv S d_k"],
    V: Float[Tensor, "*batch_kv S d_v"],
    mask: Mask | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "*batch T d_v"]:
    """Compute what `module.attention` computes, without ever storing the weights.

    Parameters
    ----------
    Q : (..., T, d_k)
    K : (..., S, d_k)
        Its head axis, the third from the end, may be a divisor of Q's.
    V : (..., S, d_v)
    mask : boolean, broadcastable to (..., T, S), optional
        True = may attend.
    causal : bool
        Hide the future too, with the last query aligned to the last key.
    dropout : float
        Share of the weights that is zeroed at random.

    Returns
    -------
    (..., T, d_v)
        Zeros, with zero gradient, where a query may attend to nothing.

    Raises
    ------
    TypeError, ValueError
        As `module.attention`.
    """
    group = checks.attention_inputs(Q, K, V, grouped=True)
    T, S = Q.shape[-2], K.shape[-2]
    if T == 1 and S > 0:  # a single query reads all keys
        causal = False
    if mask is None and (not causal or T == S):
        return scaled_dot_product_attention(
            Q, K, V, is_causal=causal, dropout_p=dropout, enable_gqa=group > 1
        )
    shape = (*Q.shape[:-1], S)  # (..., T, S)
    mask = visible(mask, shape, causal_too=causal, device=Q.device)
    if group > 1:
        K, V = (x.repeat_interleave(group, dim=-3) for x in (K, V))
    K, V = blank_unread(K, mask), blank_unread(V, mask)
    blank = ~mask.any(dim=-1, keepdim=True)  # (..., T, 1)
    mask = torch.broadcast_to(mask | blank, shape)
    out = scaled_dot_product_attention(Q, K, V, attn_mask=mask, dropout_p=dropout)
    return out.masked_fill(blank, 0)
