"""`tiled` gives the result of `equation` and never holds a (T, S) array."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rungs import D_K, D_V, NUM_HEADS, B, S, T, draw, draw_mask

from mha_lessons import equation, masks, tiled

CLOSE = {"rtol": 1e-12, "atol": 1e-13}


@given(
    T=st.integers(0, 9),
    S=st.integers(0, 9),
    tile=st.integers(1, 10),
    causal=st.booleans(),
    mask_shape=st.sampled_from([None, "TS", "1S", "T1", "S"]),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=150, deadline=None)
def test_any_tile_gives_the_equation(T, S, tile, causal, mask_shape, seed):
    Q, K, V = draw(2, T, 3, seed=seed), draw(2, S, 3, seed=seed), draw(2, S, 5, seed=seed)
    shapes = {"TS": (2, T, S), "1S": (1, S), "T1": (T, 1), "S": (S,)}
    mask = draw_mask(*shapes[mask_shape], seed=seed) if mask_shape else None
    both = masks.combine(mask, masks.causal(T, S) if causal else None)
    want = equation.attention(Q, K, V, both)
    got = tiled.attention(Q, K, V, mask, causal=causal, tile=tile)
    np.testing.assert_allclose(got, want, **CLOSE)


@pytest.mark.parametrize("tile", [1, 2, 512])
def test_heads_and_batches_are_leading_axes_like_any_other(tile):
    Q, K = draw(B, NUM_HEADS, T, D_K), draw(B, NUM_HEADS, S, D_K)
    V, mask = draw(B, NUM_HEADS, S, D_V), draw_mask(B, NUM_HEADS, T, S)
    want = equation.attention(Q, K, V, mask)
    np.testing.assert_allclose(tiled.attention(Q, K, V, mask, tile=tile), want, **CLOSE)


def test_scores_that_grow_from_tile_to_tile_do_not_overflow():
    # Each tile has a larger score than all before it, so every sum is shrunk again.
    K, V = np.linspace(0, 4000, 9)[:, None], draw(9, 2)
    np.testing.assert_allclose(tiled.attention(np.ones((1, 1)), K, V, tile=2), V[-1:], **CLOSE)
    np.testing.assert_allclose(tiled.attention(-np.ones((1, 1)), K, V, tile=2), V[:1], **CLOSE)


@pytest.mark.parametrize("garbage", [np.nan, np.inf])
@pytest.mark.parametrize("tile", [2, 512])
def test_what_nobody_may_read_may_hold_anything(garbage, tile):
    Q, K, V, mask = (
        draw(B, T, D_K),
        draw(B, S, D_K),
        draw(B, S, D_V),
        masks.padding([2, 5], S)[:, 0],
    )
    clean = tiled.attention(Q, K, V, mask, tile=tile)
    K[0, 2:], V[0, 2:] = garbage, garbage
    np.testing.assert_array_equal(tiled.attention(Q, K, V, mask, tile=tile), clean)


def test_float32_stays_float32():
    Q, K, V = (draw(n, 4).astype(np.float32) for n in (T, S, S))
    assert tiled.attention(Q, K, V, causal=True).dtype == np.float32


def test_the_extra_memory_does_not_grow_with_the_scores():
    Q, K, V = (draw(16384, 64, seed=i).astype(np.float32) for i in range(3))
    scores_bytes = 16384 * 16384 * 4  # 1 GiB
    tracemalloc.start()
    tiled.attention(Q, K, V, causal=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20 < scores_bytes / 15


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"tile": 0}, ValueError, "tile must be positive: got 0. Try 512"),
        ({"mask": np.ones((3, 5))}, TypeError, "A mask must be boolean, True = may attend"),
        ({"mask": np.ones((5, 3), bool)}, ValueError, r"got a mask \(5, 3\) for scores \(3, 5\)"),
        ({"K": np.ones((5, 6))}, ValueError, "Q and K must share d_k"),
        ({"V": np.ones((6, 4))}, ValueError, "one row per key"),
    ],
)
def test_bad_input_is_refused_in_the_words_of_the_other_rungs(arguments, error, words):
    good = {"Q": np.ones((3, 4)), "K": np.ones((5, 4)), "V": np.ones((5, 4))}
    with pytest.raises(error, match=words):
        tiled.attention(**(good | arguments))
