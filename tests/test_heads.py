"""Heads can be silenced, cut out, reordered and told apart, because their sum is the layer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rungs import D_K, D_MODEL, D_V, NUM_HEADS, B, S, T, draw, draw_mask

from mha_lessons import equation, masks, projections, vectorized
from mha_lessons.heads import contributions, permute_heads, prune_heads, zero_heads

# Every number is a sum of some dozen terms of order 1, in another order.
NEAR = {"rtol": 1e-12, "atol": 1e-12}


def layer(num_kv_heads=NUM_HEADS, group=1, seed=1):
    num_heads = num_kv_heads * group
    return projections.random(
        D_MODEL, num_heads, D_K, D_V, num_kv_heads=num_kv_heads, bias=True, seed=seed
    )


def outputs(p, mask=None):
    return vectorized.multi_head_attention(draw(B, T, D_MODEL), draw(B, S, D_MODEL), p, mask)


layers = st.builds(layer, st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))


# Contributions


@given(p=layers, masked=st.booleans())
@settings(deadline=None)
def test_contributions_sum_to_the_result_minus_its_bias(p, masked):
    mask = draw_mask(B, p.num_heads, T, S) if masked else None  # some rows may be blank
    each = contributions(draw(B, T, D_MODEL), draw(B, S, D_MODEL), p, mask)
    assert each.shape == (B, p.num_heads, T, D_MODEL)
    np.testing.assert_allclose(each.sum(axis=1) + p.b_O, outputs(p, mask), **NEAR)


@pytest.mark.parametrize("p", [layer(), layer(2, 3)], ids=["own keys", "shared keys"])
def test_a_contribution_is_its_head_times_its_row_block(p):
    x_q, x_kv, mask = draw(B, T, D_MODEL), draw(B, S, D_MODEL), masks.causal(T, S)
    each = contributions(x_q, x_kv, p, mask)
    for i in range(p.num_heads):
        j = i * p.num_kv_heads // p.num_heads
        Q, K = x_q @ p.W_Q[i] + p.b_Q[i], x_kv @ p.W_K[j] + p.b_K[j]
        head = equation.attention(Q, K, x_kv @ p.W_V[j] + p.b_V[j], mask)
        block = p.W_O[i * D_V : (i + 1) * D_V]
        np.testing.assert_allclose(each[:, i], head @ block, **NEAR)


def test_zeroing_a_head_takes_its_contribution_away_and_no_other():
    p, silent = layer(2, 3), [1, 4]
    x_q, x_kv = draw(B, T, D_MODEL), draw(B, S, D_MODEL)
    each = contributions(x_q, x_kv, p)
    after = contributions(x_q, x_kv, zero_heads(p, silent))
    np.testing.assert_array_equal(after[:, silent], 0)
    heard = [0, 2, 3, 5]
    np.testing.assert_array_equal(after[:, heard], each[:, heard])


def test_a_mask_per_head_reaches_its_head():
    p, mask = layer(2, 3), np.ones((6, T, S), dtype=bool)
    mask[4] = False
    each = contributions(draw(B, T, D_MODEL), draw(B, S, D_MODEL), p, mask)
    np.testing.assert_array_equal(each[:, 4], 0)  # a blank row is zero, b_V or not
    assert each[:, 3].all()


def test_a_hidden_key_cannot_reach_a_contribution():
    p, x = layer(), draw(S, D_MODEL)
    x_kv, mask = x.copy(), masks.padding([S - 1], S)[0]
    x_kv[-1] = np.nan
    np.testing.assert_array_equal(
        contributions(x[:T], x_kv, p, mask), contributions(x[:T], x, p, mask)
    )


# Zeroing and pruning


@given(p=layers, data=st.data())
@settings(deadline=None)
def test_pruning_computes_what_zeroing_computes(p, data):
    group = p.num_heads // p.num_kv_heads
    kept = data.draw(st.sets(st.integers(0, p.num_kv_heads - 1), min_size=1), "groups that stay")
    lost = data.draw(st.integers(0, group - 1), "heads that each of them loses")
    heads = []
    for j in range(p.num_kv_heads):
        members = data.draw(st.permutations(range(j * group, (j + 1) * group)))
        heads += members[:lost] if j in kept else members
    pruned, zeroed = prune_heads(p, heads), zero_heads(p, heads)
    assert pruned.num_heads == p.num_heads - len(heads)
    assert pruned.num_kv_heads == len(kept)
    assert zeroed.num_heads == p.num_heads
    np.testing.assert_allclose(outputs(pruned), outputs(zeroed), **NEAR)


@pytest.mark.parametrize("change", [zero_heads, prune_heads])
def test_what_b_V_sends_through_a_head_goes_with_it(change):
    p = layer()
    silent = [2, 5]
    x_q, x_kv = draw(B, T, D_MODEL), draw(B, S, D_MODEL)
    each = contributions(x_q, x_kv, p)  # b_V included
    want = outputs(p) - each[:, silent].sum(axis=1)
    np.testing.assert_allclose(outputs(change(p, silent)), want, **NEAR)
    assert np.abs(p.b_V[2] @ p.W_O[2 * D_V : 3 * D_V]).min() > 0.01  # it was there to lose


def test_a_layer_without_heads_outputs_b_O():
    p = layer()
    silent = zero_heads(p, range(NUM_HEADS))
    np.testing.assert_array_equal(outputs(silent), np.broadcast_to(p.b_O, (B, T, D_MODEL)))


def test_naming_no_head_changes_nothing():
    p = layer(2, 3)
    for same in (zero_heads(p, []), prune_heads(p, [])):
        for name in vars(p):
            np.testing.assert_array_equal(getattr(same, name), getattr(p, name), strict=True)


def test_the_original_is_left_alone():
    p, same = layer(), layer()
    zero_heads(p, [0, 1]), prune_heads(p, [0, 1]), permute_heads(p, range(NUM_HEADS)[::-1])
    for name in vars(p):
        np.testing.assert_array_equal(getattr(p, name), getattr(same, name))


def test_pruning_makes_every_matrix_smaller():
    pruned = prune_heads(layer(2, 3), [0, 4])
    assert pruned.W_Q.shape == (4, D_MODEL, D_K)
    assert pruned.W_K.shape == (2, D_MODEL, D_K)
    assert pruned.W_O.shape == (4 * D_V, D_MODEL)
    assert prune_heads(layer(2, 3), [3, 4, 5]).W_V.shape == (1, D_MODEL, D_V)


# Reordering


@given(p=layers, data=st.data())
@settings(deadline=None)
def test_permuting_heads_computes_the_same(p, data):
    group = p.num_heads // p.num_kv_heads
    order = []
    for j in data.draw(st.permutations(range(p.num_kv_heads))):
        order += data.draw(st.permutations(range(j * group, (j + 1) * group)))
    moved = permute_heads(p, order)
    np.testing.assert_allclose(outputs(moved), outputs(p), **NEAR)
    x_q, x_kv = draw(B, T, D_MODEL), draw(B, S, D_MODEL)
    np.testing.assert_allclose(  # head i of the result is head order[i]
        contributions(x_q, x_kv, moved), contributions(x_q, x_kv, p)[:, order], **NEAR
    )


def test_every_array_moves_with_its_head():
    # b_K cannot change an output, so only the arrays show where it went.
    p, order = layer(2, 3), [4, 3, 5, 0, 2, 1]
    for moved, heads, shared in (
        (permute_heads(p, order), order, [1, 0]),
        (prune_heads(p, [0, 1, 2]), [3, 4, 5], [1]),
    ):
        np.testing.assert_array_equal(moved.W_Q, p.W_Q[heads])
        np.testing.assert_array_equal(moved.b_Q, p.b_Q[heads])
        for name in ("W_K", "W_V", "b_K", "b_V"):
            np.testing.assert_array_equal(getattr(moved, name), getattr(p, name)[shared])
        np.testing.assert_array_equal(moved.b_O, p.b_O)


# What is refused

ERRORS = {
    "out of range": (
        lambda: zero_heads(layer(), [3, 7]),
        ValueError,
        "Heads must be a list of integers from 0 to 6: got [3, 7]. The last head is 6; one head "
        "is a list of one.",
    ),
    "negative": (lambda: prune_heads(layer(), [-1]), ValueError, "from 0 to 6: got [-1]. The last"),
    "a bare number": (lambda: zero_heads(layer(), 3), ValueError, "from 0 to 6: got 3. The last"),
    "twice": (
        lambda: zero_heads(layer(), [3, 1, 3]),
        ValueError,
        "Heads must be distinct: got [3, 1, 3]. Name each one once.",
    ),
    "booleans": (
        lambda: prune_heads(layer(), np.arange(NUM_HEADS) < 2),
        TypeError,
        "Heads are named by integers: got bool. Of a boolean array, np.flatnonzero gives the "
        "positions of True.",
    ),
    "floats": (lambda: zero_heads(layer(), [1.0]), TypeError, "by integers: got float64."),
    "none left": (
        lambda: prune_heads(layer(), range(NUM_HEADS)),
        ValueError,
        "One head at least must be left: got all 7 to prune. Zero them instead.",
    ),
    "unequal groups": (
        lambda: prune_heads(layer(2, 3), [0]),
        ValueError,
        "Every key and value head that is left must serve as many query heads: got [2, 3] query "
        "heads for the 2 of them. Prune equally many heads of each group, or all of a group.",
    ),
    "unequal groups, one gone": (
        lambda: prune_heads(layer(3, 2), [0, 2, 3]),
        ValueError,
        "got [1, 0, 2] query heads for the 3 of them.",
    ),
    "an order that is too short": (
        lambda: permute_heads(layer(), [1, 0]),
        ValueError,
        "order must name each of the 7 heads once: got 2 of them. To leave heads out, use "
        "prune_heads.",
    ),
    "an order with a head twice": (
        lambda: permute_heads(layer(), [0, 0, 1, 2, 3, 4, 5]),
        ValueError,
        "Heads must be distinct: got [0, 0, 1",
    ),
    "a torn group": (
        lambda: permute_heads(layer(2, 3), [0, 1, 3, 2, 4, 5]),
        ValueError,
        "Query heads that share a key and value head must stay together: got [0, 1, 3, 2, 4, 5] "
        "for groups of 3. Move whole groups, or heads within one.",
    ),
    "inputs of another width": (
        lambda: contributions(draw(T, 5), draw(S, 5), layer()),
        ValueError,
        "x_q must be (..., positions, d_model) with d_model=11: got shape (3, 5).",
    ),
    "a transposed mask": (
        lambda: contributions(
            draw(T, D_MODEL), draw(S, D_MODEL), layer(), np.ones((S, T), dtype=bool)
        ),
        ValueError,
        "A mask must broadcast to (..., T, S): got a mask (5, 3) for scores (7, 3, 5).",
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), ERRORS.values(), ids=ERRORS)
def test_what_makes_no_sense_is_refused_in_words(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)
