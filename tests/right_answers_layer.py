"""Right answers to exercise 03 in many styles: none of them may be rejected."""

import functools
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.lib.stride_tricks import as_strided
from right_answers import RIGHT, HeadsError, refuse, right
from right_answers_one_head import masked_twice, torch_sdpa, weights_times_values

from mha_lessons import heads, projections, vectorized

# merge_heads(heads)

merge = right("merge_heads")


@merge
def swap_and_reshape(heads):
    *batch, num_heads, T, d_v = heads.shape
    return heads.swapaxes(-3, -2).reshape(*batch, T, num_heads * d_v)


@merge
def concatenated(heads):
    return np.concatenate([heads[..., i, :, :] for i in range(heads.shape[-3])], axis=-1)


@merge
def moved_and_stacked(heads):
    return np.hstack(heads) if heads.ndim == 3 else np.stack([moved_and_stacked(h) for h in heads])


@merge
def rearranged_by_einsum(heads):
    moved = np.einsum("...htv->...thv", heads)
    return moved.reshape(*moved.shape[:-2], -1)


@merge
def element_by_element(heads):
    *batch, num_heads, T, d_v = heads.shape
    out = np.empty((*batch, T, num_heads * d_v))
    for i in range(num_heads):
        for v in range(d_v):
            out[..., i * d_v + v] = heads[..., i, :, v]
    return out


@merge
def placed_by_matrices(heads):
    # Head i times the rows i*d_v.. of the identity stands in its columns; the sum joins them.
    num_heads, _, d_v = heads.shape[-3:]
    return (heads @ np.eye(num_heads * d_v).reshape(num_heads, d_v, -1)).sum(axis=-3)


@merge
def by_strides(heads):
    heads = np.ascontiguousarray(heads)
    *batch, num_heads, T, d_v = heads.shape
    *outer, head, row, item = heads.strides
    shape, strides = (*batch, T, num_heads, d_v), (*outer, row, head, item)
    return as_strided(heads, shape, strides).reshape(*batch, T, num_heads * d_v)


@merge
def torch_contiguous_view(heads):
    import torch

    heads = torch.as_tensor(heads).transpose(-3, -2).contiguous()
    return heads.view(*heads.shape[:-2], -1)


@merge
def torch_flattened_list(heads):
    import torch

    return torch.as_tensor(heads).transpose(-3, -2).flatten(-2).tolist()


@merge
def narrow(heads):
    return concatenated(heads.astype(np.float32))


RIGHT["merge_heads.of_the_library"] = ("merge_heads", projections.merge_heads)

# multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None)

layer = right("multi_head_attention")


def split(x, num_heads):
    refuse(x.shape[-1], num_heads)
    return x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(-2, -3)


@layer
def split_attend_merge(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, V = (split(x, num_heads) for x in (x_q @ W_Q, x_kv @ W_K, x_kv @ W_V))
    return concatenated(weights_times_values(Q, K, V, mask)) @ W_O


def of_head(mask, i, num_heads):
    if mask is None or mask.ndim < 3:
        return mask
    return mask[..., i if mask.shape[-3] > 1 else 0, :, :]


@layer
def head_by_head(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    refuse(len(W_Q), num_heads)
    d_k, outs = len(W_Q) // num_heads, []
    for i in range(num_heads):
        own = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = x_q @ W_Q[:, own], x_kv @ W_K[:, own], x_kv @ W_V[:, own]
        outs.append(vectorized.attention(Q, K, V, of_head(mask, i, num_heads)))
    return np.concatenate(outs, axis=-1) @ W_O


@layer
def sum_over_heads(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    assert num_heads >= 1, "heads?"
    assert len(W_Q) % num_heads == 0, "uneven"
    out = 0
    blocks = (np.split(W, num_heads, axis=1) for W in (W_Q, W_K, W_V))
    for i, (A, B, C, D) in enumerate(zip(*blocks, np.split(W_O, num_heads), strict=True)):
        out = out + masked_twice_times_values(x_q @ A, x_kv @ B, x_kv @ C, of_head(mask, i, 0)) @ D
    return out


def masked_twice_times_values(Q, K, V, mask):
    return masked_twice(Q, K, mask) @ V


@layer
def values_through_the_output(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    # W_V and W_O of a head in one matrix, and W_Q and W_K in another one.
    if num_heads < 1 or len(W_Q) % num_heads:
        raise HeadsError(num_heads)
    d_model, d_k = len(W_Q), len(W_Q) // num_heads
    A, B, C = (W.reshape(d_model, num_heads, d_k).swapaxes(0, 1) for W in (W_Q, W_K, W_V))
    x_q, x_kv = x_q[..., None, :, :], x_kv[..., None, :, :]
    # Scores over sqrt(d_k), and the library divides by sqrt(d_model).
    Q = x_q @ (A @ B.swapaxes(-1, -2)) * np.sqrt(d_model / d_k)
    V = x_kv @ (C @ W_O.reshape(num_heads, d_k, d_model))
    K = np.broadcast_to(x_kv, V.shape)
    return vectorized.attention(Q, K, V, mask).sum(axis=-3)


@layer
def einsums(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    refuse(len(W_Q), num_heads)
    A, B, C = (W.reshape(len(W), num_heads, -1) for W in (W_Q, W_K, W_V))
    Q = np.einsum("...tm,mhk->...htk", x_q, A)
    K, V = (np.einsum("...sm,mhk->...hsk", x_kv, W) for W in (B, C))
    scores = np.einsum("...htk,...hsk->...hts", Q, K) / np.sqrt(Q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    exps = np.exp(scores - np.where(np.isinf(top), 0, top))
    weights = exps / np.maximum(exps.sum(-1, keepdims=True), 1e-300)
    D = W_O.reshape(num_heads, -1, len(W_O))
    return np.einsum("...hts,...hsv,hvm->...tm", weights, V, D)


@layer
def fused_projections(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    refuse(len(W_Q), num_heads)
    K, V = np.split(x_kv @ np.hstack([W_K, W_V]), 2, axis=-1)
    Q, K, V = (np.stack(np.split(x, num_heads, -1), -3) for x in (x_q @ W_Q, K, V))
    out = np.moveaxis(vectorized.attention(Q, K, V, mask), -3, -2)
    return out.reshape(x_q.shape) @ W_O


@layer
def heads_in_the_batch(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, V = (split(x, num_heads) for x in (x_q @ W_Q, x_kv @ W_K, x_kv @ W_V))
    *batch, T, d_k = Q.shape
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (Q, K, V)]  # (B * h, ...)
    if mask is not None:
        mask = np.broadcast_to(mask, (*batch, T, K.shape[-2])).reshape(-1, T, K.shape[-2])
    return concatenated(vectorized.attention(*flat, mask).reshape(*batch, T, d_k)) @ W_O


@layer
def sdpa(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    Q, K, V = (split(x, num_heads) for x in (x_q @ W_Q, x_kv @ W_K, x_kv @ W_V))
    return torch_sdpa(Q, K, V, mask).transpose(-3, -2).flatten(-2).numpy() @ W_O


@layer
def torch_chunks_with_gradient(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    import torch

    refuse(len(W_Q), num_heads)
    x_q, x_kv, *Ws = (torch.tensor(x, requires_grad=True) for x in (x_q, x_kv, W_Q, W_K, W_V, W_O))
    parts = zip(*(W.chunk(num_heads, dim=1) for W in Ws[:3]), strict=True)
    outs = []
    for i, (A, B, C) in enumerate(parts):
        scores = (x_q @ A) @ (x_kv @ B).mT / A.shape[1] ** 0.5
        if mask is not None:
            own = torch.tensor(of_head(mask, i, num_heads))
            scores = scores.masked_fill(~own, -torch.inf)
        outs.append(scores.softmax(-1).nan_to_num() @ (x_kv @ C))
    return torch.cat(outs, dim=-1) @ Ws[3]


@layer
def torch_layer(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    import torch

    refuse(len(W_Q), num_heads)  # its own check is an assert, and does not look for zero
    *batch, T, d_model = x_q.shape
    S = x_kv.shape[-2]
    theirs = torch.nn.MultiheadAttention(d_model, num_heads, bias=False, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.tensor(np.hstack([W_Q, W_K, W_V]).T))
        theirs.out_proj.weight.copy_(torch.tensor(W_O.T))
    q, kv = (torch.tensor(x).reshape(-1, *x.shape[-2:]) for x in (x_q, x_kv))
    hidden = blank = None
    if mask is not None:
        full = np.broadcast_to(mask, (*batch, num_heads, T, S)).reshape(-1, T, S)
        hidden = torch.tensor(~full)
        blank = hidden.all(-1)
    if hidden is not None and blank.any():
        return head_by_head(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask)  # theirs gives nan
    return theirs(q, kv, kv, attn_mask=hidden)[0].reshape(*batch, T, d_model)


@layer
def float32(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    narrow = (x.astype(np.float32) for x in (x_q, x_kv, W_Q, W_K, W_V, W_O))
    return split_attend_merge(*narrow, num_heads, mask)


@layer
def nested_lists(x_q, x_kv, *rest, mask=None):
    return head_by_head(x_q, x_kv, *rest, mask=mask).tolist()


@layer
def contributions_of_the_library(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
    p = projections.Projections(*(split(W, num_heads) for W in (W_Q, W_K, W_V)), W_O)
    return heads.contributions(x_q, x_kv, p, mask).sum(axis=-3)


@layer
def recursive_over_the_batch(x_q, x_kv, *rest, mask=None):
    if x_q.ndim == 2:
        return head_by_head(x_q, x_kv, *rest, mask=mask)
    T, S, num_heads = x_q.shape[-2], x_kv.shape[-2], rest[-1]
    if mask is not None:
        mask = np.broadcast_to(mask, (*x_q.shape[:-2], num_heads, T, S))
    return [
        recursive_over_the_batch(x_q[b], x_kv[b], *rest, mask=None if mask is None else mask[b])
        for b in range(len(x_q))
    ]


class Layer:
    def __init__(self, attend):
        self.attend = attend

    def __call__(self, x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
        print("attending")
        Q, K, V = (split(x, num_heads) for x in (x_q @ W_Q, x_kv @ W_K, x_kv @ W_V))
        return swap_and_reshape(self.attend(Q, K, V, mask)) @ W_O


RIGHT["multi_head_attention.callable_object"] = (
    "multi_head_attention",
    Layer(vectorized.attention),
)

# two_heads_by_hand()

hand = right("two_heads_by_hand")


@hand
def arithmetic():
    a = 0.8 * 2 + 0.2 * 6
    b = 0.25 * 10 + 0.75 * -2
    return a, b, 2 * a - b


@hand
def typed():
    return 2.8, 1, 4.6


@hand
def arrays_of_one_number():
    weights, values = np.array([[0.8, 0.2], [0.25, 0.75]]), np.array([[2.0, 6], [10, -2]])
    a, b = np.diag(weights @ values.T)
    return np.array([a]), np.array([[b]]), np.array([a, b]) @ np.array([[2.0], [-1]])


@hand
def one_array():
    heads = np.einsum("hs,hs->h", [[0.8, 0.2], [0.25, 0.75]], [[2.0, 6], [10, -2]])
    return np.append(heads, heads @ [2, -1])


@hand
def fractions():
    a = Fraction(4, 5) * 2 + Fraction(1, 5) * 6
    b = Fraction(1, 4) * 10 - Fraction(3, 4) * 2
    return a, b, 2 * a - b


@hand
def decimals():
    a = Decimal("0.8") * 2 + Decimal("0.2") * 6
    b = Decimal("0.25") * 10 - Decimal("0.75") * 2
    return a, b, 2 * a - b


@hand
def tensors():
    import torch

    weights = torch.tensor([[0.8, 0.2], [0.25, 0.75]], requires_grad=True)
    a, b = (weights * torch.tensor([[2.0, 6], [10, -2]])).sum(-1)
    return a, b, torch.stack([a, b]) @ torch.tensor([2.0, -1])


@hand
def float16():
    return [np.float16(number) for number in arithmetic()]


@hand
def softmax_of_logarithms():
    # ln 4 is the lead of 0.8 over 0.2, and ln 3 that of 0.75 over 0.25.
    a = vectorized.softmax(np.log([4.0, 1])) @ [2, 6]
    b = vectorized.softmax(np.log([1.0, 3])) @ [10, -2]
    return a.item(), b.item(), (2 * a - b).item()


RIGHT["two_heads_by_hand.partial"] = (
    "two_heads_by_hand",
    functools.partial(lambda a, b: (a, b, 2 * a - b), 2.8, b=1.0),
)
