"""Heads own consecutive columns; concat times W_O is a sum over heads."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rungs import D_K, D_MODEL, D_V, NUM_HEADS, B, T, draw

from mha_lessons import projections, vectorized
from mha_lessons.projections import Projections, merge_heads, split_heads


def test_split_by_eye():
    x = np.array([[0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15]])
    np.testing.assert_array_equal(
        split_heads(x, 3), [[[0, 1], [10, 11]], [[2, 3], [12, 13]], [[4, 5], [14, 15]]]
    )


def test_each_head_owns_its_own_columns():
    x = draw(B, T, NUM_HEADS * D_K)
    heads = split_heads(x, NUM_HEADS)
    assert heads.shape == (B, NUM_HEADS, T, D_K)
    for i in range(NUM_HEADS):
        np.testing.assert_array_equal(heads[:, i], x[..., i * D_K : (i + 1) * D_K])


@given(
    batch=st.lists(st.integers(0, 3), max_size=3),
    sizes=st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(1, 5)),
)
def test_merge_undoes_split(batch, sizes):
    T, num_heads, d_k = sizes
    x = draw(*batch, T, num_heads * d_k)
    np.testing.assert_array_equal(merge_heads(split_heads(x, num_heads)), x)
    np.testing.assert_array_equal(
        merge_heads(split_heads(torch.from_numpy(x), num_heads)).numpy(), x
    )


def test_merge_is_the_concatenation_of_heads():
    heads = draw(B, NUM_HEADS, T, D_V)
    concat = np.concatenate([heads[:, i] for i in range(NUM_HEADS)], axis=-1)
    np.testing.assert_array_equal(merge_heads(heads), concat)


def test_concat_times_W_O_is_the_sum_over_heads():
    heads, p = draw(B, NUM_HEADS, T, D_V), projections.random(D_MODEL, NUM_HEADS, D_K, D_V, seed=3)
    blocks = p.W_O.reshape(NUM_HEADS, D_V, D_MODEL)
    contributions = sum(heads[:, i] @ blocks[i] for i in range(NUM_HEADS))
    np.testing.assert_allclose(merge_heads(heads) @ p.W_O, contributions, rtol=1e-12, atol=1e-12)


def test_permuting_heads_with_their_row_blocks_changes_nothing():
    p = projections.random(D_MODEL, NUM_HEADS, D_K, D_V, seed=3)
    order = np.random.default_rng(0).permutation(NUM_HEADS)
    W_O = p.W_O.reshape(NUM_HEADS, D_V, D_MODEL)[order].reshape(-1, D_MODEL)
    moved = Projections(p.W_Q[order], p.W_K[order], p.W_V[order], W_O)
    x = draw(B, T, D_MODEL)
    np.testing.assert_allclose(
        vectorized.multi_head_attention(x, x, moved),
        vectorized.multi_head_attention(x, x, p),
        rtol=1e-12,
        atol=1e-13,
    )


def test_random_projections_keep_unit_variance():
    p = projections.random(512, 8, seed=0)
    x = draw(1000, 512)
    for W in (p.W_Q, p.W_K, p.W_V):
        # 8 * 64 columns of 1000 draws each: the standard error of the variance is below 0.01.
        assert abs((x @ W).var() - 1) < 0.05


def test_the_same_seed_gives_the_same_projections():
    one, two = (projections.random(6, 3, seed=5) for _ in range(2))
    other = projections.random(6, 3, seed=6)
    np.testing.assert_array_equal(one.W_O, two.W_O)
    assert not np.array_equal(one.W_O, other.W_O)


def test_head_width_is_d_model_over_num_heads_unless_given():
    p = projections.random(512, 8, seed=0)
    assert (p.d_model, p.num_heads, p.d_k, p.d_v) == (512, 8, 64, 64)
    p = projections.random(512, 10, 7, 5, seed=0)
    assert (p.d_k, p.d_v, p.W_O.shape) == (7, 5, (50, 512))


ok = projections.random(6, 3, 5, 4, seed=0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: projections.random(512, 10),
            ValueError,
            "num_heads must divide d_model: got d_model=512 and num_heads=10, which leaves 2 "
            "columns over. Choose a divisor such as 8 or 16, or give d_k yourself",
        ),
        (lambda: projections.random(4, 7), ValueError, "a divisor such as 4 or 4"),
        (lambda: projections.random(6, 0), ValueError, "positive: got num_heads=0, d_model=6"),
        (lambda: projections.random(6, -3), ValueError, "positive: got num_heads=-3"),
        (lambda: projections.random(6, 3, 0), ValueError, "positive: got .*d_k=0"),
        (lambda: split_heads(np.ones((2, 10)), 3), ValueError, "d_model=10 and num_heads=3"),
        (lambda: merge_heads(np.ones((2, 10))), ValueError, r"\(..., num_heads, T, d_v\): got"),
        (
            lambda: Projections(ok.W_Q[0], ok.W_K, ok.W_V, ok.W_O),
            ValueError,
            r"must be \(num_heads, d_model, d_k\): got W_Q \(6, 5\)",
        ),
        (
            lambda: Projections(ok.W_Q, ok.W_K[:2], ok.W_V, ok.W_O),
            ValueError,
            r"W_K must be \(3, 6, 5\) beside .*: got \(2, 6, 5\)",
        ),
        (
            lambda: Projections(ok.W_Q, ok.W_K, ok.W_V, ok.W_O.T),
            ValueError,
            r"W_O must be \(12, 6\) beside .*: got \(6, 12\)",
        ),
        (
            lambda: Projections(ok.W_Q, ok.W_K, ok.W_V, ok.W_O, b_O=np.zeros(5)),
            ValueError,
            r"b_O must be \(6,\) beside .*: got \(5,\)",
        ),
        (
            lambda: Projections(*(W.astype(int) for W in (ok.W_Q, ok.W_K, ok.W_V, ok.W_O))),
            TypeError,
            "W_Q must be floating point: got int64",
        ),
    ],
)
def test_projections_that_do_not_fit_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
