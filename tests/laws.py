"""Laws that attention obeys whatever the numbers are.

A law takes what it is about (an attention function, a layer, ...) and a case. `test_laws` tries the
laws on every rung and on many cases; `test_mutants` shows that each of them can be broken.
"""

from typing import NamedTuple

import numpy as np
import torch
from ladder import tensor

from mha_lessons.projections import Projections
from mha_lessons.projections import random as random_projections

# float64: both sides of a law sum the same numbers in another order, or scaled by another factor.
CLOSE = {"rtol": 1e-10, "atol": 1e-11}

LAWS = {kind: {} for kind in ("softmax", "attention", "causal", "layer", "torch", "module")}


def about(kind):
    def register(law):
        LAWS[kind][law.__name__] = law
        return law

    return register


class Case(NamedTuple):
    """Sizes, and a seed for the numbers."""

    B: int
    num_kv_heads: int
    group: int
    T: int
    S: int
    d_k: int
    d_v: int
    d_model: int
    seed: int

    @property
    def num_heads(self):
        return self.num_kv_heads * self.group

    def rng(self):
        return np.random.default_rng(self.seed)

    def attention_inputs(self):
        """Return Q, K, V, and a mask under which the first query may attend to nothing."""
        rng, axes = self.rng(), (self.B, self.num_heads)
        Q, K, V = (
            rng.standard_normal((*axes, n, d))
            for n, d in ((self.T, self.d_k), (self.S, self.d_k), (self.S, self.d_v))
        )
        return Q, K, V, self.mask()

    def mask(self):
        mask = self.rng().random((self.B, self.num_heads, self.T, self.S)) < 0.6
        mask[0, 0, 0] = False
        return mask

    def padding(self):
        """Return a mask (B, 1, 1, S) that hides at least one key from everybody."""
        lengths = self.rng().integers(0, self.S, self.B)
        return (np.arange(self.S) < lengths[:, None])[:, None, None]

    def layer_inputs(self):
        rng = self.rng()
        x_q, x_kv = (rng.standard_normal((self.B, n, self.d_model)) for n in (self.T, self.S))
        return x_q, x_kv, self.projections(), self.mask()

    def projections(self, **changes):
        sizes = {"num_kv_heads": self.num_kv_heads, "bias": True, "seed": self.seed} | changes
        return random_projections(self.d_model, self.num_heads, self.d_k, self.d_v, **sizes)


def close(got, want, **tolerance):
    np.testing.assert_allclose(got, want, **(CLOSE | tolerance))


def same(got, want):
    np.testing.assert_array_equal(got, want)


def weights_of(attention, Q, K, mask=None):
    """Read the weights off a rung that never returns them: the values are the identity."""
    S = K.shape[-2]
    return attention(Q, K, np.eye(S) + np.zeros((*K.shape[:-2], S, S)), mask)


def changed(p, **arrays):
    """Copy projections with some arrays exchanged."""
    return Projections(**(vars(p) | arrays))


# Softmax


@about("softmax")
def a_constant_added_to_a_row_changes_nothing(softmax, case):
    # exp of a few thousand overflows: only a row's differences may reach it.
    rng = case.rng()
    scores = rng.standard_normal((case.B, case.T, case.S))
    shift = 5000 * rng.standard_normal((case.B, case.T, 1))
    # Scores of some thousands are rounded at 1e-12, and so are the weights.
    close(softmax(scores + shift), softmax(scores), rtol=1e-8)


@about("softmax")
def scores_of_minus_infinity_weigh_nothing(softmax, case):
    mask = case.mask()
    scores = np.where(mask, case.rng().standard_normal(mask.shape), -np.inf)
    weights = softmax(scores)
    same(weights[~mask], 0)
    close(weights.sum(axis=-1), mask.any(axis=-1))


# Attention


@about("attention")
def weights_are_shares_of_what_may_be_read(attention, case):
    Q, K, _, mask = case.attention_inputs()
    weights = weights_of(attention, Q, K, mask)
    assert (weights >= 0).all()
    same(weights[~mask], 0)
    close(weights.sum(axis=-1), mask.any(axis=-1))


@about("attention")
def log_weights_are_dot_products_over_sqrt_d_k(attention, case):
    Q, K, _, _ = case.attention_inputs()
    log_weights = np.log(weights_of(attention, Q, K))
    scores = np.einsum("bhtk,bhsk->bhts", Q, K) / np.sqrt(case.d_k)
    difference = log_weights - scores  # one constant for each query
    close(difference, difference[..., :1] + np.zeros(case.S))


@about("attention")
def a_query_that_may_read_nothing_gets_zeros(attention, case):
    Q, K, V, mask = case.attention_inputs()
    same(attention(Q, K, V, mask)[~mask.any(axis=-1)], 0)


@about("attention")
def every_sample_head_and_query_attends_alone(attention, case):
    Q, K, V, mask = case.attention_inputs()
    out = attention(Q, K, V, mask)
    for b, i, t in np.ndindex(out.shape[:3]):
        close(out[b, i, [t]], attention(Q[b, i, [t]], K[b, i], V[b, i], mask[b, i, [t]]))


@about("attention")
def keys_come_in_any_order(attention, case):
    Q, K, V, mask = case.attention_inputs()
    order = case.rng().permutation(case.S)
    moved = attention(Q, K[:, :, order], V[:, :, order], mask[..., order])
    close(moved, attention(Q, K, V, mask))


@about("attention")
def keys_given_twice_change_nothing(attention, case):
    Q, K, V, mask = case.attention_inputs()
    twice = (np.concatenate([x, x], axis=axis) for x, axis in ((K, -2), (V, -2), (mask, -1)))
    close(attention(Q, *twice), attention(Q, K, V, mask))


@about("attention")
def hidden_keys_cannot_matter(attention, case):
    Q, K, V, mask = case.attention_inputs()
    out = attention(Q, K, V, mask)
    for t in range(case.T):
        hidden = ~mask[:, :, t, :, None]  # from this query; others may read these keys
        garbled = attention(Q, np.where(hidden, 1e30, K), np.where(hidden, -1e30, V), mask)
        close(garbled[:, :, t], out[:, :, t])


@about("attention")
def keys_that_nobody_reads_may_hold_anything(attention, case):
    Q, K, V, _ = case.attention_inputs()
    mask = case.padding()
    out, unread = attention(Q, K, V, mask), ~mask.swapaxes(-2, -1)
    for garbage in (np.nan, np.inf, -np.inf):
        garbled = attention(Q, np.where(unread, garbage, K), np.where(unread, garbage, V), mask)
        same(garbled, out)


@about("attention")
def outputs_lie_in_the_hull_of_the_values(attention, case):
    Q, K, V, mask = case.attention_inputs()
    for u in case.rng().standard_normal((5, case.d_v)):  # seen from any direction
        values = np.where(mask, (V @ u)[..., None, :], np.nan)  # (B, h, T, S)
        out = attention(Q, K, V, mask) @ u
        read = mask.any(axis=-1)
        assert (out[read] >= np.nanmin(values[read], axis=-1) - 1e-12).all()
        assert (out[read] <= np.nanmax(values[read], axis=-1) + 1e-12).all()


@about("attention")
def a_vector_added_to_all_keys_changes_nothing(attention, case):
    Q, K, V, mask = case.attention_inputs()
    shift = 5000 * case.rng().standard_normal(case.d_k)
    # Scores of some thousands are rounded at 1e-12, and so are the weights.
    close(attention(Q, K + shift, V, mask), attention(Q, K, V, mask), rtol=1e-8, atol=1e-9)


@about("attention")
def a_vector_added_to_all_values_is_added_to_the_output(attention, case):
    Q, K, V, mask = case.attention_inputs()
    shift = case.rng().standard_normal(case.d_v)
    want = attention(Q, K, V, mask) + shift * mask.any(axis=-1, keepdims=True)
    close(attention(Q, K, V + shift, mask), want)


@about("attention")
def values_enter_linearly(attention, case):
    Q, K, V, mask = case.attention_inputs()
    A = case.rng().standard_normal((case.d_v, case.d_k))
    close(attention(Q, K, V @ A, mask), attention(Q, K, V, mask) @ A)


@about("attention")
def only_dot_products_of_queries_and_keys_count(attention, case):
    Q, K, V, mask = case.attention_inputs()
    # Q R and K R^-T for a rotation R times a factor.
    R = 3 * np.linalg.qr(case.rng().standard_normal((case.d_k, case.d_k)))[0]
    close(attention(Q @ R, K @ np.linalg.inv(R).T, V, mask), attention(Q, K, V, mask))


@about("attention")
def heat_gives_the_mean_and_cold_the_best_key(attention, case):
    Q, K, V, mask = case.attention_inputs()
    counts = np.maximum(mask.sum(axis=-1, keepdims=True), 1)
    close(attention(0 * Q, K, V, mask), mask @ V / counts)
    scores = np.where(mask, Q @ K.swapaxes(-2, -1), -np.inf)
    best = np.take_along_axis(V, scores.argmax(axis=-1)[..., None], axis=-2)
    # 1e12 times the smallest difference of two random scores is still far above 700, where
    # exp(-difference) is 0.
    close(attention(1e12 * Q, K, V, mask), best * mask.any(axis=-1, keepdims=True))


# Causal attention: functions of (Q, K, V)


@about("causal")
def each_query_reads_the_keys_up_to_its_own(attention, case):
    rng = case.rng()
    for T, S in ((case.T, case.S), (case.S, case.T), (case.T, case.T), (1, case.S)):
        Q, K = (rng.standard_normal((case.B, case.num_heads, n, case.d_k)) for n in (T, S))
        weights = weights_of(lambda Q, K, V, _: attention(Q, K, V), Q, K)
        scores = np.einsum("bhtk,bhsk->bhts", Q, K) / np.sqrt(case.d_k)
        for t in range(T):
            past = max(S - T + t + 1, 0)  # the last query stands at the last key
            exps = np.exp(scores[:, :, t, :past])
            close(weights[:, :, t, :past], exps / exps.sum(axis=-1, keepdims=True))
            same(weights[:, :, t, past:], 0)


@about("causal")
def the_future_cannot_matter(attention, case):
    rng, now = case.rng(), case.T
    shapes = ((now + case.S, d) for d in (case.d_k, case.d_k, case.d_v))
    Q, K, V = (rng.standard_normal((case.B, case.num_heads, *shape)) for shape in shapes)
    past = attention(*(x[:, :, :now] for x in (Q, K, V)))
    close(attention(Q, K, V)[:, :, :now], past)
    for x in (Q, K, V):
        x[:, :, now:] = 1e30
    close(attention(Q, K, V)[:, :, :now], past)


# A whole layer: functions of (x_q, x_kv, projections, mask)


@about("layer")
def concat_times_W_O_is_the_sum_over_heads(layer, case):
    x_q, x_kv, p, mask = case.layer_inputs()
    total = p.b_O
    for i, rows in enumerate(np.split(p.W_O, p.num_heads)):
        j = i // case.group
        one = (p.W_Q[[i]], p.W_K[[j]], p.W_V[[j]], rows, p.b_Q[[i]], p.b_K[[j]], p.b_V[[j]])
        total = total + layer(x_q, x_kv, Projections(*one), mask[:, [i]])
    close(layer(x_q, x_kv, p, mask), total)


@about("layer")
def tokens_without_mask_have_no_order(layer, case):
    _, x, p, _ = case.layer_inputs()
    order = case.rng().permutation(case.S)
    close(layer(x[:, order], x[:, order], p), layer(x, x, p)[:, order])


@about("layer")
def b_K_has_no_effect(layer, case):
    x_q, x_kv, p, mask = case.layer_inputs()
    moved = changed(p, b_K=p.b_K + case.rng().standard_normal(p.b_K.shape))
    close(layer(x_q, x_kv, moved, mask), layer(x_q, x_kv, p, mask))


@about("layer")
def b_V_adds_b_V_W_O_where_something_is_read(layer, case):
    x_q, x_kv, p, mask = case.layer_inputs()
    without = layer(x_q, x_kv, changed(p, b_V=0 * p.b_V), mask)
    read = mask.any(axis=-1)  # (B, h, T)
    per_head = p.W_O.reshape(p.num_heads, p.d_v, p.d_model)
    b_V = np.repeat(p.b_V, case.group, axis=0)  # (h, d_v)
    close(layer(x_q, x_kv, p, mask), without + np.einsum("bht,hv,hvm->btm", read, b_V, per_head))


@about("layer")
def a_bias_is_the_weight_of_a_feature_that_is_always_one(layer, case):
    x_q, x_kv, p, mask = case.layer_inputs()
    wide = {
        f"W_{n}": np.concatenate([getattr(p, f"W_{n}"), getattr(p, f"b_{n}")[:, None]], axis=1)
        for n in "QKV"
    }
    W_O = np.pad(p.W_O, ((0, 0), (0, 1)))  # the new feature gets nothing out of the layer
    x_q1, x_kv1 = (np.pad(x, ((0, 0), (0, 0), (0, 1)), constant_values=1) for x in (x_q, x_kv))
    out = layer(x_q1, x_kv1, Projections(W_O=W_O, **wide), mask)[..., :-1]
    close(layer(x_q, x_kv, p, mask), out + p.b_O)


@about("layer")
def a_query_that_may_read_nothing_gets_b_O(layer, case):
    x_q, x_kv, p, mask = case.layer_inputs()
    mask[:, :, 0] = False
    same(layer(x_q, x_kv, p, mask)[:, 0], p.b_O + np.zeros((case.B, 1)))


@about("layer")
def scales_and_rotations_cancel(layer, case):
    x_q, x_kv, p, mask = case.layer_inputs()
    p, rng = case.projections(bias=False), case.rng()
    R, S = (rng.standard_normal((case.num_kv_heads, d, d)) for d in (case.d_k, case.d_v))
    R, S = (np.linalg.qr(x)[0] * 3 for x in (R, S))  # a rotation times a factor, for each head
    to_queries = np.repeat(R, case.group, axis=0)
    blocks = p.W_O.reshape(p.num_heads, p.d_v, p.d_model)
    blocks = np.repeat(np.linalg.inv(S), case.group, axis=0) @ blocks
    turned = Projections(
        W_Q=p.W_Q @ to_queries,
        W_K=p.W_K @ np.linalg.inv(R).swapaxes(-2, -1),
        W_V=p.W_V @ S,
        W_O=blocks.reshape(p.W_O.shape),
    )
    close(layer(x_q, x_kv, turned, mask), layer(x_q, x_kv, p, mask))


@about("layer")
def heads_and_their_rows_of_W_O_move_together(layer, case):
    x_q, x_kv, _, mask = case.layer_inputs()
    p = case.projections(num_kv_heads=case.num_heads)
    order = case.rng().permutation(p.num_heads)
    W_O = p.W_O.reshape(p.num_heads, p.d_v, p.d_model)[order].reshape(p.W_O.shape)
    moved = {n: getattr(p, n)[order] for n in ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V")}
    out = layer(x_q, x_kv, changed(p, W_O=W_O, **moved), mask[:, order])
    close(out, layer(x_q, x_kv, p, mask))


@about("layer")
def shared_key_and_value_heads_are_repeated_projections(layer, case):
    x_q, x_kv, p, mask = case.layer_inputs()
    names = ("W_K", "W_V", "b_K", "b_V")
    repeated = {n: np.repeat(getattr(p, n), case.group, axis=0) for n in names}
    close(layer(x_q, x_kv, changed(p, **repeated), mask), layer(x_q, x_kv, p, mask))


@about("layer")
def one_head_of_full_width_is_plain_attention(layer, case):
    x_q, x_kv, _, mask = case.layer_inputs()
    identity = np.eye(case.d_model)[None]
    out = layer(x_q, x_kv, Projections(identity, identity, identity, identity[0]), mask[:, :1])
    scores = np.where(mask[:, 0], x_q @ x_kv.swapaxes(-2, -1) / np.sqrt(case.d_model), -np.inf)
    exps = np.exp(scores)  # (B, T, S)
    close(out, exps @ x_kv / np.maximum(exps.sum(axis=-1, keepdims=True), 1e-300))


# Functions of (Q, K, V, mask, *, causal) on tensors, with gradients


@about("torch")
def consecutive_query_heads_share_a_key_and_value_head(attention, case):
    Q, K, V, mask = case.attention_inputs()
    Q, K, V = map(tensor, (Q, K[:, : case.num_kv_heads], V[:, : case.num_kv_heads]))
    of_head = torch.arange(case.num_heads) // case.group
    close(attention(Q, K, V, mask), attention(Q, K[:, of_head], V[:, of_head], mask))


def gradients_of_row(attention, inputs, t, *mask, **options):
    inputs = [tensor(x).requires_grad_() for x in inputs]
    row = attention(*inputs, *mask, **options)[:, :, t]
    return [g.numpy() for g in torch.autograd.grad(row.cos().sum(), inputs)]


@about("torch")
def no_gradient_reaches_the_future(attention, case):
    rng = case.rng()
    shapes = ((case.T, case.d_k), (case.S, case.d_k), (case.S, case.d_v))
    inputs = [rng.standard_normal((case.B, case.num_heads, *shape)) for shape in shapes]
    for t in range(case.T):
        past = max(case.S - case.T + t + 1, 0)
        dQ, dK, dV = gradients_of_row(attention, inputs, t, causal=True)
        for g in (dK[:, :, past:], dV[:, :, past:], np.delete(dQ, t, axis=2)):
            same(g, 0)
        assert (dV[:, :, :past] != 0).all()


@about("torch")
def no_gradient_reaches_hidden_keys_or_comes_from_blank_queries(attention, case):
    Q, K, V, mask = case.attention_inputs()
    for t in range(case.T):
        hidden = ~mask[:, :, t]
        dQ, dK, dV = gradients_of_row(attention, (Q, K, V), t, mask)
        same(dK[hidden], 0)
        same(dV[hidden], 0)
        same(dQ[:, :, t][hidden.all(axis=-1)], 0)
        assert all(np.isfinite(g).all() for g in (dQ, dK, dV))


@about("torch")
def garbage_that_nobody_reads_does_not_reach_a_gradient(attention, case):
    Q, K, V, _ = case.attention_inputs()
    mask = case.padding()
    unread = ~mask.swapaxes(-2, -1)
    for t in range(case.T):
        clean = gradients_of_row(attention, (Q, K, V), t, mask)
        garbled = (np.where(unread, np.nan, x) for x in (K, V))
        for got, want in zip(
            gradients_of_row(attention, (Q, *garbled), t, mask), clean, strict=True
        ):
            same(got, want)


# The torch module: functions that make a MultiHeadAttention


def layer_and_tokens(make, case, **options):
    torch.manual_seed(case.seed)
    sizes = {"d_k": case.d_k, "d_v": case.d_v, "num_kv_heads": case.num_kv_heads, "bias": True}
    layer = make(case.d_model, case.num_heads, dtype=torch.float64, **sizes, **options)
    for parameter in layer.parameters():  # biases start at 0, where a lost one would not be seen
        torch.nn.init.normal_(parameter, std=case.d_model**-0.5)
    x = torch.randn(case.B, case.T + case.S, case.d_model, dtype=torch.float64)
    return layer.requires_grad_(False), x


@about("module")
def a_cache_in_any_chunks_changes_nothing(make, case):
    layer, x = layer_and_tokens(make, case)
    n = x.shape[1]
    want = layer(x, causal=True)
    for chunks in ([n], [1] * n, [case.T, case.S], [case.S, case.T], [1, n - 1], [n - 1, 1]):
        cache = layer.new_cache(case.B, n)
        close(torch.cat([layer(part, cache=cache) for part in x.split(chunks, 1)], 1), want)


@about("module")
def sequences_of_different_lengths_go_on_alone(make, case):
    layer, x = layer_and_tokens(make, case)
    lengths = case.rng().integers(0, case.S + 1, case.B)
    prompt, tail = x.split([case.S, case.T], 1)
    cache = layer.new_cache(case.B, case.S + case.T)
    first = layer(prompt, cache=cache, new_lengths=torch.from_numpy(lengths))
    later = layer(tail, cache=cache)
    for b, n in enumerate(lengths):
        alone = layer(torch.cat([prompt[b, :n], tail[b]]), causal=True)
        close(torch.cat([first[b, :n], later[b]]), alone)


@about("module")
def evaluation_has_no_dropout(make, case):
    layer, x = layer_and_tokens(make, case, dropout=0.9)
    same(layer.eval()(x, causal=True), layer.train().eval()(x, causal=True))
    plain, x = layer_and_tokens(make, case)
    same(layer(x, causal=True), plain(x, causal=True))


@about("module")
def the_weights_are_those_of_the_layer(make, case):
    layer, x = layer_and_tokens(make, case)
    x_q, x_kv, mask = x[:, : case.T], x[:, case.T :], torch.from_numpy(case.mask())
    weights = layer.weights(x_q, x_kv, mask)  # (B, h, T, S)
    V = layer.W_V(x_kv).unflatten(-1, (case.num_kv_heads, case.d_v))  # (B, S, h_kv, d_v)
    V = V.repeat_interleave(case.group, dim=2)
    heads = torch.einsum("bhts,bshv->bthv", weights, V)
    close(layer.W_O(heads.flatten(2)), layer(x_q, x_kv, mask))
