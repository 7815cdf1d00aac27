"""One mask rule: boolean, True = may attend, last query aligned with last key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mha_lessons import masks


def test_causal_by_eye():
    np.testing.assert_array_equal(
        masks.causal(3), [[True, False, False], [True, True, False], [True, True, True]]
    )


def test_with_a_cache_the_last_query_reads_everything():
    np.testing.assert_array_equal(
        masks.causal(2, 5), [[True, True, True, True, False], [True, True, True, True, True]]
    )


def test_with_more_queries_than_keys_the_first_queries_read_nothing():
    np.testing.assert_array_equal(masks.causal(3, 1), [[False], [False], [True]])


@given(T=st.integers(0, 9), S=st.integers(0, 9))
def test_query_t_reads_the_keys_up_to_its_own_position(T, S):
    # The last query stands at position S - 1, the one before it at S - 2, and so on.
    for t, row in enumerate(masks.causal(T, S)):
        position = S - T + t
        assert row.sum() == max(position + 1, 0)
        assert row[: position + 1].all() or position < 0


@given(T=st.integers(1, 6), cached=st.integers(0, 6))
def test_decoding_row_by_row_reads_what_one_call_reads(T, cached):
    whole = masks.causal(T, cached + T)
    for t in range(T):
        seen = cached + t + 1
        np.testing.assert_array_equal(masks.causal(1, seen)[0], whole[t, :seen])
        assert not whole[t, seen:].any()


def test_padding_hides_keys_and_broadcasts_over_heads_and_queries():
    mask = masks.padding([1, 3], 3)
    assert mask.shape == (2, 1, 1, 3)
    np.testing.assert_array_equal(mask[:, 0, 0], [[True, False, False], [True, True, True]])


def test_combined_masks_allow_what_all_allow():
    both = masks.combine(masks.causal(3), None, masks.padding([2, 3], 3))
    assert both.shape == (2, 1, 3, 3)
    np.testing.assert_array_equal(both[0, 0], masks.causal(3) & [True, True, False])
    np.testing.assert_array_equal(both[1, 0], masks.causal(3))


def test_combining_nothing_hides_nothing():
    assert masks.combine() is None
    assert masks.combine(None, None) is None


def test_blank_unread_keeps_every_row_that_somebody_reads():
    x = np.arange(6.0).reshape(3, 2) + 1
    mask = np.array([[True, False, False], [False, False, True]])
    np.testing.assert_array_equal(masks.blank_unread(x, mask), [[1, 2], [0, 0], [5, 6]])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: masks.causal(-1), ValueError, "lengths of 0 or more: got T=-1, S=-1"),
        (lambda: masks.padding([4], 3), ValueError, r"each from 0 to S=3: got \[4\]"),
        (lambda: masks.padding([-1], 3), ValueError, r"each from 0 to S=3: got \[-1\]"),
        (lambda: masks.padding([[1]], 3), ValueError, r"one number per sequence.*got \[\[1\]\]"),
        (lambda: masks.padding([1.5], 3), TypeError, "lengths must be integers: got float64"),
        (lambda: masks.padding([True], 3), TypeError, "lengths must be integers: got bool"),
        (
            lambda: masks.combine(np.ones((2, 2), int)),
            TypeError,
            "boolean, True = may attend: got int64. Write `mask == 1` if 1 means may attend",
        ),
        (
            lambda: masks.combine(masks.causal(3), masks.causal(4)),
            ValueError,
            r"broadcast against one another: got shapes \(3, 3\), \(4, 4\)",
        ),
        (
            lambda: masks.fit(masks.causal(3), (2, 4, 4)),
            ValueError,
            r"broadcast to \(..., T, S\): got a mask \(3, 3\) for scores \(2, 4, 4\)",
        ),
    ],
)
def test_a_mask_that_cannot_be_meant_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
