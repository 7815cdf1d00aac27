"""The figure of split and merge on the Python side: its numbers, its static form, its rules."""

import doctest
import json
from itertools import product

import numpy as np
import pytest
import traitlets
from live_script import evaluate, needs_node

from mha_lessons import masks, split_and_merge, vectorized
from mha_lessons.projections import merge_heads, split_heads
from mha_lessons.split_and_merge import PLAIN_RESHAPES, attend, journey, numbered, passes
from mha_lessons.widgets import SplitMerge, split_merge

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


@pytest.mark.parametrize(("T", "d_model", "h"), [(3, 6, 2), (5, 6, 3), (1, 7, 7), (5, 8, 1)])
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


def test_two_plain_reshapes_hide_each_other_until_the_heads_read():
    for T, d_model, h in MOVING:
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
def test_only_a_loop_over_heads_finds_every_plain_reshape(plain_reshape):
    for size in SIZES:
        verdicts = list(passes(*size, plain_reshape).values())
        assert verdicts == (VERDICTS[plain_reshape] if size in MOVING else [True] * 5), size


@needs_node
def test_script_computes_numpys_arrays():
    states = [
        dict(zip(SplitMerge.STATE, (*size, plain_reshape, reads_before, "projected"), strict=True))
        for size, plain_reshape, reads_before in product(SIZES, PLAIN_RESHAPES, (False, True))
    ]
    results = evaluate("split_merge", f"{json.dumps(states)}.map(mhaSplitMerge.compute)")
    for state, result in zip(states, results, strict=True):
        figure = SplitMerge(**state)
        for found, stage in zip(result["stages"], figure.stages, strict=True):
            assert (found["name"], found["move"]) == (stage.name, stage.move)
            assert tuple(found["axes"]) == stage.axes
            np.testing.assert_array_equal(np.array(found["array"]), stage.array)
            assert sum(found["misplaced"]) == figure.misplaced[stage.name]
        assert result["passes"] == figure.passes


@needs_node
def test_heads_of_the_script_read_as_numpys_do():
    heads = split_heads(numbered(5, 6) / 10, 2)
    for mask, rule in ((masks.causal(5), "(t, s) => s <= t"), (None, "() => true")):
        read = evaluate(
            "split_merge", f"mhaSplitMerge.attend({rule})({json.dumps(heads.tolist())})"
        )
        np.testing.assert_allclose(read, attend(mask)(heads), rtol=0, atol=1e-12)


@needs_node
def test_script_fits_heads_and_stages_as_the_widget_does():
    figure = SplitMerge(d_model=8, num_heads=8, stage="reshaped")
    figure.d_model, figure.plain_reshape = 6, "both"
    state = {"d_model": 6, "num_heads": 8, "plain_reshape": "both", "stage": "reshaped"}
    tidy = evaluate("split_merge", f"mhaSplitMerge.tidy({json.dumps(state)})")
    assert tidy == {name: getattr(figure, name) for name in state}
    assert (figure.num_heads, figure.stage) == (6, "split")


def test_sizes_and_heads_are_given_in_any_order():
    assert SplitMerge(num_heads=4, d_model=8).stages[2].array.shape == (4, 3, 2)
    figure = SplitMerge()
    figure.set_state({"num_heads": 7, "d_model": 7})
    assert (figure.num_heads, figure.d_model) == (7, 7)


def test_static_tables_hold_the_split_the_shapes_and_the_tests():
    html = SplitMerge(plain_reshape="split").static_html()
    assert "<td>0 1</td><td>2 3</td><td>4 5</td>" in html  # what head 1 got
    assert "<td>(h, T, d_k) = (3, 3, 2)</td><td>12 of 18</td>" in html
    assert html.count("<td>fails</td>") == 3


def test_two_figures_of_one_state_print_the_same():
    assert SplitMerge().static_html() == SplitMerge().static_html()
    figure = SplitMerge(T=2, reads_before=True, stage="read")
    assert repr(eval(repr(figure), {"SplitMerge": SplitMerge})) == repr(figure)


def test_docstring_example_holds():
    result = doctest.testmod(split_merge)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"T": 0}, "T must be a whole number from 1 to 5: got 0. Use a small size"),
        ({"T": 2.5}, "T must be a whole number from 1 to 5: got 2.5"),
        ({"T": True}, "T must be a whole number from 1 to 5: got True"),
        ({"d_model": 9}, "d_model must be a whole number from 1 to 8: got 9"),
        ({"d_model": "six"}, "d_model must be a whole number from 1 to 8: got 'six'"),
        (
            {"num_heads": 4},
            "num_heads must divide d_model: got num_heads 4 and d_model 6. Each head gets "
            "d_model / num_heads features: use one of 1, 2, 3, 6",
        ),
        ({"num_heads": 0}, "num_heads must divide d_model: got num_heads 0"),
        ({"num_heads": True}, "num_heads must divide d_model: got num_heads True"),
        ({"num_heads": 2, "d_model": "six"}, "d_model must be a whole number"),
        ({"plain_reshape": "never"}, "one of 'nowhere', 'split', 'merge', 'both': got 'never'"),
        ({"plain_reshape": ["both"]}, r"plain_reshape must be one of .*: got \['both'\]. Use one"),
        ({"reads_before": 1}, "reads_before must be True or False: got 1. Use True to let each"),
        ({"stage": "concat"}, "stage must be one of 'projected', .*: got 'concat'. Use one"),
    ],
)
def test_bad_traits_are_refused_with_advice(traits, message):
    with pytest.raises(traitlets.TraitError, match=message):
        SplitMerge(**traits)


def test_refused_value_leaves_the_old_one():
    figure = SplitMerge()
    with pytest.raises(traitlets.TraitError):
        figure.num_heads = 5
    assert figure.num_heads == 3
