"""The figure of split and merge on the Python side: its numbers, its static form, its rules."""

import numpy as np
import pytest

from mha_lessons import masks, split_and_merge, vectorized
from mha_lessons.projections import merge_heads, split_heads
from mha_lessons.split_and_merge import PLAIN_RESHAPES, attend, journey, numbered, passes

SIZES = [
    (T, d_model, h)
    for T in range(1, 6)
    for d_model in range(1, 9)
    for h in range(1, d_model + 1)
    if d_model % h == 0
]
MOVING = [(T, d_model, h) for T, d_model, h in SIZES if T > 1 and h > 1]


def arrays(stages):
    return {stage.name: stage.array for stage in stages}


@pytest.mark.parametrize(("T", "d_model", "h"), SIZES)
def test_the_right_way_is_the_librarys_split_and_merge(T, d_model, h):
    x, mask = numbered(T, d_model) / 10, masks.causal(T)
    way = arrays(journey(x, h, read=attend(mask)))
    heads = split_heads(x, h)
    np.testing.assert_array_equal(way["split"], heads)
    np.testing.assert_array_equal(way["reshaped"].swapaxes(0, 1), heads)
    read = vectorized.attention(heads, heads, heads, mask)
    np.testing.assert_array_equal(way["read"], read)
    np.testing.assert_array_equal(way["merged"], merge_heads(read))
    np.testing.assert_array_equal(way["swapped"].reshape(T, d_model), way["merged"])


def test_an_entry_says_where_it_came_from():
    way = arrays(journey(numbered(3, 6), 3))
    assert way["split"][1].tolist() == [[2, 3], [12, 13], [22, 23]]
    assert way["reshaped"][1].tolist() == [[10, 11], [12, 13], [14, 15]]


def test_each_stage_has_the_shape_its_axes_name():
    lengths = {"T": 5, "d_model": 6, "h": 3, "d_k": 2, "h * d_k": 6}
    for plain_reshape in PLAIN_RESHAPES:
        for stage in journey(numbered(5, 6), 3, plain_reshape):
            assert stage.array.shape == tuple(lengths[axis] for axis in stage.axes)


def test_the_position_before_is_read_exactly():
    read = attend(split_and_merge.position_before(5))(split_heads(numbered(5, 6), 2))
    np.testing.assert_array_equal(merge_heads(read), numbered(5, 6)[[0, 0, 1, 2, 3]])


@pytest.mark.parametrize(("T", "d_model", "h"), MOVING)
def test_two_plain_reshapes_hide_each_other_until_the_heads_read(T, d_model, h):
    x, read = numbered(T, d_model), attend(split_and_merge.position_before(T))
    np.testing.assert_array_equal(journey(x, h, "both")[-1].array, x)
    wrong = split_and_merge.misplaced(journey(x, h, "both", read), journey(x, h, read=read))
    assert wrong["split"].any()
    assert wrong["merged"].any()


def test_misplaced_counts_the_entries_of_figure_scrambled():
    x = numbered(3, 6)
    wrong = split_and_merge.misplaced(journey(x, 3, "split"), journey(x, 3))
    assert {name: int(marks.sum()) for name, marks in wrong.items()} == {
        "projected": 0,
        "split": 12,
        "read": 12,
        "swapped": 12,
        "merged": 12,
    }


VERDICTS = {
    "nowhere": [True, True, True, True, True],
    "split": [True, True, False, False, False],
    "merge": [True, True, False, False, False],
    "both": [True, True, True, True, False],
}


@pytest.mark.parametrize("plain_reshape", PLAIN_RESHAPES)
@pytest.mark.parametrize(("T", "d_model", "h"), SIZES)
def test_only_a_loop_over_heads_finds_every_plain_reshape(T, d_model, h, plain_reshape):
    verdicts = list(passes(T, d_model, h, plain_reshape).values())
    assert verdicts == (VERDICTS[plain_reshape] if T > 1 and h > 1 else [True] * 5)
