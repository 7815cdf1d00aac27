"""Right answers to exercise 04 in many styles: none of them may be rejected."""

import functools

import numpy as np
from right_answers import RIGHT, right
from right_answers_one_head import torch_sdpa, weights_times_values

from mha_lessons import vectorized

# causal_mask(T, S=None)

causal = right("causal_mask")


@causal
def comparison(T, S=None):
    S = T if S is None else S
    return np.arange(S)[None, :] - S <= np.arange(T)[:, None] - T


@causal
def tril_with_k(T, S=None):
    S = S if S is not None else T
    return np.tril(np.ones((T, S), dtype=bool), k=S - T)


@causal
def not_triu(T, S=None):
    S = T if S is None else S
    return ~np.triu(np.ones((T, S), dtype=bool), k=S - T + 1)


@causal
def tri(T, S=None):
    S = T if S is None else S
    return np.tri(T, S, S - T).astype(bool)


@causal
def tri_is_one(T, S=None):
    return np.tri(T, S, 0 if S is None else S - T) == 1


@causal
def all_pairs(T, S=None):
    S = T if S is None else S
    return [[s <= t + S - T for s in range(S)] for t in range(T)]


@causal
def from_function(T, S=None):
    S = T if S is None else S
    return np.fromfunction(lambda t, s: t - s >= T - S, (T, S))


@causal
def rows_filled(T, S=None):
    S = T if S is None else S
    mask = np.zeros((T, S), dtype=np.bool_)
    for t in range(T):
        mask[t, : max(0, t + S - T + 1)] = True
    return mask


@causal
def torch_tril(T, S=None):
    import torch

    S = T if S is None else S
    return torch.ones(T, S, dtype=torch.bool).tril(diagonal=S - T)


@causal
def cut_from_a_large_one(T, S=None):
    S = T if S is None else S
    n = max(T, S)
    return np.tri(n, dtype=bool)[n - T :, n - S :] if S > T else tri(T, S)


# padding_mask(lengths, S)

pad = right("padding_mask")


@pad
def broadcast(lengths, S):
    return np.arange(S)[None, None, None, :] < lengths[:, None, None, None]


@pad
def reshaped(lengths, S):
    return (np.arange(S) < lengths.reshape(-1, 1)).reshape(len(lengths), 1, 1, S)


@pad
def filled(lengths, S):
    mask = np.zeros((len(lengths), 1, 1, S), dtype=bool)
    for b, n in enumerate(lengths):
        mask[b, :, :, :n] = True
    return mask


@pad
def nested_lists(lengths, S):
    return [[[[s < n for s in range(S)]]] for n in lengths.tolist()]


@pad
def expanded(lengths, S):
    return np.expand_dims(np.less.outer(np.arange(S), lengths).T, axis=(1, 2))


@pad
def sequence_mask_in_torch(lengths, S):
    import torch

    mask = torch.arange(S) < torch.as_tensor(lengths).unsqueeze(-1)
    return mask.unsqueeze(1).unsqueeze(1)


@pad
def stacked(lengths, S):
    rows = [[True] * int(n) + [False] * (S - int(n)) for n in lengths]
    return np.array(rows)[:, None, None]


# causal_attention(Q, K, V)

attend = right("causal_attention")


@attend
def with_the_library(Q, K, V):
    return vectorized.attention(Q, K, V, comparison(Q.shape[-2], K.shape[-2]))


@attend
def from_scratch(Q, K, V):
    return weights_times_values(Q, K, V, tri(Q.shape[-2], K.shape[-2]))


@attend
def prefixes(Q, K, V):
    # Query t attends to the keys up to its own, and to all of those.
    T, S = Q.shape[-2], K.shape[-2]
    out = np.zeros((*Q.shape[:-1], V.shape[-1]))
    for t in range(T):
        end = t + S - T + 1
        if end > 0:
            q, k, v = Q[..., t : t + 1, :], K[..., :end, :], V[..., :end, :]
            out[..., t : t + 1, :] = vectorized.attention(q, k, v)
    return out


@attend
def sdpa_with_the_mask(Q, K, V):
    return torch_sdpa(Q, K, V, tri(Q.shape[-2], K.shape[-2]))


@attend
def added_minus_infinity(Q, K, V):
    T, S = Q.shape[-2], K.shape[-2]
    bias = np.triu(np.full((T, S), -np.inf), k=S - T + 1)
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1]) + bias
    exps = np.exp(scores - np.nan_to_num(scores.max(-1, keepdims=True), neginf=0))
    return exps / np.maximum(exps.sum(-1, keepdims=True), 1e-300) @ V


@attend
def finite_fill_and_zeros(Q, K, V):
    mask = tri(Q.shape[-2], K.shape[-2])
    scores = np.where(mask, Q @ K.swapaxes(-1, -2) / Q.shape[-1] ** 0.5, -1e9)
    exps = np.exp(scores - scores.max(-1, keepdims=True))
    return np.where(mask.any(-1)[:, None], exps / exps.sum(-1, keepdims=True) @ V, 0)


@attend
def float32_attention(Q, K, V):
    return from_scratch(*(x.astype(np.float32) for x in (Q, K, V)))


def _masked(mask, Q, K, V):
    return vectorized.attention(Q, K, V, mask(Q.shape[-2], K.shape[-2]))


RIGHT["causal_attention.partial"] = ("causal_attention", functools.partial(_masked, tri_is_one))
RIGHT["causal_attention.lambda"] = ("causal_attention", lambda Q, K, V: prefixes(Q, K, V))
