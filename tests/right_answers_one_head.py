"""Right answers to exercise 01 in many styles: none of them may be rejected."""

import functools
import math
import warnings

import numpy as np
from right_answers import RIGHT, right

# softmax(scores)

soft = right("softmax")


@soft
def library_style(scores):
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


@soft
def logsumexp(scores):
    largest = np.max(scores, axis=-1, keepdims=True)
    return np.exp(scores - largest - np.log(np.exp(scores - largest).sum(-1, keepdims=True)))


@soft
def logaddexp(scores):
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1)[..., None])


@soft
def row_by_row(scores):
    out = np.empty(scores.shape)
    for index in np.ndindex(scores.shape[:-1]):
        row = [math.exp(s - max(scores[index])) for s in scores[index]]
        out[index] = [e / sum(row) for e in row]
    return out


@soft
def along_axis(scores):
    def one(row):
        exps = np.exp(row - row.max())
        return exps / exps.sum()

    return np.apply_along_axis(one, -1, scores)


@soft
def new_axis(scores):
    exps = np.exp(scores - np.max(scores, -1)[..., np.newaxis])
    return np.einsum("...s,...->...s", exps, 1 / exps.sum(-1))


@soft
def running_maximum(scores):
    # Online: one pass over the keys, with a correction whenever a larger score comes.
    largest = np.full(scores.shape[:-1], -np.inf)
    total = np.zeros(scores.shape[:-1])
    with np.errstate(invalid="ignore"):
        for s in range(scores.shape[-1]):
            score = scores[..., s]
            new = np.maximum(largest, score)
            old = np.where(largest == -np.inf, 0, np.exp(largest - new))
            total = total * old + np.where(score == -np.inf, 0, np.exp(score - new))
            largest = new
    return np.exp(scores - largest[..., None]) / total[..., None]


@soft
def ratio_of_sigmoids(scores):
    # 1 / sum of exp(s_l - s_j): where a difference is too large, 1 / inf is 0.
    differences = scores[..., None, :] - scores[..., :, None]
    differences = np.where(np.isnan(differences), np.inf, differences)
    return 1 / np.exp(differences).sum(axis=-1)


@soft
def torch_softmax(scores):
    import torch

    return torch.softmax(torch.as_tensor(scores), dim=-1)


@soft
def torch_with_gradient(scores):
    import torch

    return torch.log_softmax(torch.tensor(scores, requires_grad=True), dim=-1).exp()


@soft
def float32_softmax(scores):
    return library_style(scores.astype(np.float32))


@soft
def lists_of_rows(scores):
    return library_style(scores).tolist()


@soft
def in_place_on_a_copy(scores):
    scores = scores.copy()
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores


@soft
def noisy_softmax(scores):
    print("scores", scores)
    warnings.warn("overflow?", stacklevel=1)
    np.set_printoptions(precision=2)
    np.seterr(all="ignore")
    return library_style(scores)


def softmax_over(axis, scores):
    exps = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exps / exps.sum(axis=axis, keepdims=True)


RIGHT["softmax.partial"] = ("softmax", functools.partial(softmax_over, -1))

# attention_weights(Q, K, mask=None)

weigh = right("attention_weights")


def zeros_where_blank(weights, mask):
    return weights if mask is None else np.where(np.any(mask, -1, keepdims=True), weights, 0)


@weigh
def minus_infinity_and_nan_to_num(Q, K, mask=None):
    scores = np.einsum("...tk,...sk->...ts", Q, K) / np.sqrt(Q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return np.nan_to_num(library_style(scores))


@weigh
def where_after_the_exponential(Q, K, mask=None):
    scores = Q @ np.moveaxis(K, -1, -2) * Q.shape[-1] ** -0.5
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if mask is not None:
        exps = np.where(mask, exps, 0)
    sums = exps.sum(axis=-1, keepdims=True)
    return np.divide(exps, sums, out=np.zeros(exps.shape), where=sums > 0)


@weigh
def times_the_mask(Q, K, mask=None):
    scores = (Q / math.sqrt(Q.shape[-1])) @ K.swapaxes(-2, -1)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True)) * (1 if mask is None else mask)
    return exps / np.maximum(exps.sum(axis=-1, keepdims=True), 1e-300)


@weigh
def masked_after_the_softmax_and_divided_again(Q, K, mask=None):
    weights = library_style(Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1]))
    weights = weights if mask is None else weights * mask
    sums = weights.sum(axis=-1, keepdims=True)
    return np.divide(weights, sums, out=np.zeros(weights.shape), where=sums > 0)


@weigh
def finite_fill_and_zeros(Q, K, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    if mask is None:
        return library_style(scores)
    return zeros_where_blank(library_style(np.where(mask, scores, -1e9)), mask)


@weigh
def added_fill_and_zeros(Q, K, mask=None):
    bias = 0 if mask is None else np.where(mask, 0, -1e30)
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1]) + bias
    return zeros_where_blank(library_style(scores), mask)


@weigh
def masked_twice(Q, K, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    if mask is None:
        return library_style(scores)
    return library_style(np.where(mask, scores, -1e9)) * mask


@weigh
def fourth_root_on_both(Q, K, mask=None):
    d = Q.shape[-1] ** 0.25
    return minus_infinity_and_nan_to_num_unscaled(Q / d, K / d, mask)


def minus_infinity_and_nan_to_num_unscaled(Q, K, mask):
    scores = Q @ K.swapaxes(-1, -2)
    return np.nan_to_num(library_style(scores if mask is None else np.where(mask, scores, -np.inf)))


@weigh
def loops_over_everything(Q, K, mask=None):
    *batch, T, d_k = Q.shape
    S = K.shape[-2]
    out = np.zeros((*batch, T, S))
    seen = np.ones(out.shape, bool) if mask is None else np.broadcast_to(mask, out.shape)
    for index in np.ndindex(*batch, T):
        *b, _ = index
        scores = {
            s: math.fsum(Q[index] * K[(*b, s)]) / d_k**0.5 for s in range(S) if seen[(*index, s)]
        }
        top = max(scores.values(), default=0)
        total = sum(math.exp(score - top) for score in scores.values())
        for s, score in scores.items():
            out[(*index, s)] = math.exp(score - top) / total
    return out


@weigh
def picked_by_a_full_mask(Q, K, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    if mask is not None:
        mask = np.broadcast_to(mask, scores.shape)
        scores[~mask] = -np.inf
    return zeros_where_blank(library_style(scores), mask)


@weigh
def masked_array(Q, K, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    hidden = False if mask is None else ~np.broadcast_to(mask, scores.shape)
    exps = np.ma.exp(np.ma.array(scores - scores.max(-1, keepdims=True), mask=hidden))
    return (exps / exps.sum(axis=-1, keepdims=True)).filled(0)


@weigh
def keyword_only_mask(Q, K, *, mask=None):
    return where_after_the_exponential(Q, K, mask)


@weigh
def torch_masked_fill(Q, K, mask=None):
    import torch

    Q, K = torch.as_tensor(Q), torch.as_tensor(K)
    scores = Q @ K.transpose(-2, -1) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~torch.as_tensor(mask), float("-inf"))
    return torch.nan_to_num(torch.softmax(scores, dim=-1))


@weigh
def torch_with_gradients(Q, K, mask=None):
    import torch

    Q, K = torch.tensor(Q, requires_grad=True), torch.tensor(K, requires_grad=True)
    scores = torch.einsum("...td,...sd->...ts", Q, K) / Q.shape[-1] ** 0.5
    if mask is None:
        return scores.softmax(-1)
    mask = torch.tensor(mask)
    return scores.where(mask, scores.new_tensor(-1e4)).softmax(-1) * mask


@weigh
def float32_on_the_way(Q, K, mask=None):
    # The result is float64 again: np.sqrt returns one.
    Q, K = Q.astype(np.float32), K.astype(np.float32)
    return zeros_where_blank(
        library_style(
            np.where(True if mask is None else mask, Q @ K.swapaxes(-1, -2), -np.float32(1e9))
            / np.sqrt(Q.shape[-1])
        ),
        mask,
    )


@weigh
def lists(Q, K, mask=None):
    return where_after_the_exponential(Q, K, mask).tolist()


class Head:
    """A learner's own class."""

    def __init__(self, scale=0.5):
        self.power = scale

    def __call__(self, Q, K, mask=None):
        return minus_infinity_and_nan_to_num(Q, K, mask)

    def attend(self, Q, K, V, mask=None):
        return self(Q, K, mask) @ V


RIGHT["attention_weights.callable_object"] = ("attention_weights", Head())

# attention(Q, K, V, mask=None)

attend = right("attention")


@attend
def weights_times_values(Q, K, V, mask=None):
    return where_after_the_exponential(Q, K, mask) @ V


@attend
def sum_of_weighted_values(Q, K, V, mask=None):
    weights = finite_fill_and_zeros(Q, K, mask)
    return (weights[..., None] * V[..., None, :, :]).sum(axis=-2)


@attend
def one_einsum(Q, K, V, mask=None):
    return np.einsum("...ts,...sv->...tv", times_the_mask(Q, K, mask), V)


@attend
def divided_at_the_end(Q, K, V, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    exps = np.exp(scores - np.where(np.isinf(largest), 0, largest))
    sums = exps.sum(-1, keepdims=True)
    return exps @ V / np.where(sums == 0, 1, sums)


@attend
def online_over_blocks(Q, K, V, mask=None, block=2):
    *batch, T, d_k = Q.shape
    S, d_v = V.shape[-2:]
    seen = np.broadcast_to(True if mask is None else mask, (*batch, T, S))
    out, total = np.zeros((*batch, T, d_v)), np.zeros((*batch, T, 1))
    largest = np.full((*batch, T, 1), -1e300)
    for start in range(0, S, block):
        part = np.s_[..., start : start + block, :]
        scores = Q @ K[part].swapaxes(-1, -2) / d_k**0.5
        scores = np.where(seen[..., start : start + block], scores, -np.inf)
        new = np.maximum(largest, scores.max(-1, keepdims=True))
        exps, old = np.exp(scores - new), np.exp(largest - new)
        out, total, largest = out * old + exps @ V[part], total * old + exps.sum(-1)[..., None], new
    return np.divide(out, total, out=np.zeros_like(out), where=total > 0)


@attend
def query_by_query(Q, K, V, mask=None):
    if Q.ndim > 2:
        full = None
        if mask is not None:
            full = np.broadcast_to(mask, (*Q.shape[:-1], K.shape[-2]))
        return np.stack([
            query_by_query(Q[b], K[b], V[b], None if full is None else full[b])
            for b in range(len(Q))
        ])  # fmt: skip
    rows = []
    for t, q in enumerate(Q):
        read = slice(None) if mask is None else np.broadcast_to(mask, (len(Q), len(K)))[t]
        keys, values = K[read], V[read]
        if len(keys) == 0:
            rows.append(np.zeros(V.shape[-1]))
            continue
        scores = keys @ q / np.sqrt(len(q))
        exps = np.exp(scores - scores.max())
        rows.append(exps @ values / exps.sum())
    return np.array(rows)


@attend
def torch_sdpa(Q, K, V, mask=None):
    import torch

    Q, K, V = (torch.as_tensor(x) for x in (Q, K, V))
    if mask is not None:
        mask = torch.as_tensor(mask).expand(*Q.shape[:-1], K.shape[-2])
    out = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    if mask is not None:
        out = out.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return out


@attend
def torch_double_lists(Q, K, V, mask=None):
    return list(torch_sdpa(*(np.asarray(x, float) for x in (Q, K, V)), mask).unbind(0))


@attend
def float32_everywhere(Q, K, V, mask=None):
    return weights_times_values(*(x.astype(np.float32) for x in (Q, K, V)), mask)


@attend
def fortran_ordered(Q, K, V, mask=None):
    return np.asfortranarray(weights_times_values(Q, K, V, mask))


@attend
def noisy_attention(Q, K, V, mask=None):
    print(Q, K, V, mask)
    np.random.seed(0)
    np.set_printoptions(suppress=True)
    warnings.warn("hm", stacklevel=1)
    return weights_times_values(Q, K, V, mask)


RIGHT["attention.bound_method"] = ("attention", Head().attend)
RIGHT["attention.partial"] = ("attention", functools.partial(online_over_blocks, block=3))
