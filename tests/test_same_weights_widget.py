"""The figure of equal weights on the Python side: its numbers, its static form, its rules."""

import doctest
import json

import numpy as np
import pytest
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as st
from live_script import evaluate, needs_node

from mha_lessons import equation, same_weights
from mha_lessons.same_weights import EXAMPLES, K, Q, compute
from mha_lessons.widgets import SameWeights
from mha_lessons.widgets import same_weights as widget_module

values_of_three_keys = st.lists(
    st.lists(st.floats(-10, 10), min_size=3, max_size=3), min_size=2, max_size=2
)


@settings(deadline=None)
@given(values_of_three_keys)
def test_both_heads_are_the_oracles_attention(values):
    result = compute("same", values)
    for head, own in zip(result.heads, np.array(values), strict=True):
        expected = equation.attention(Q, K, own[:, None])[:, 0]
        np.testing.assert_allclose(head, expected, rtol=0, atol=1e-12)


@settings(deadline=None)
@given(values_of_three_keys)
def test_no_values_move_the_weights(values):
    for name in ("same", "uniform"):
        result = compute(name, values)
        np.testing.assert_array_equal(result.weights, EXAMPLES[name].weights)
        assert result.equal_weights


@settings(deadline=None)
@given(values_of_three_keys)
def test_equal_weights_and_values_give_equal_outputs(values):
    result = compute("same", [values[0], values[0]])
    assert result.equal_values
    np.testing.assert_array_equal(result.heads[0], result.heads[1])


@settings(deadline=None)
@given(values_of_three_keys, st.permutations(range(3)))
def test_even_weights_hide_the_order_of_the_values(values, order):
    assert compute("uniform", [values[0], [values[0][j] for j in order]]).equal_heads
    np.testing.assert_allclose(
        compute("uniform", values).heads, np.mean(values, -1)[:, None].repeat(3, 1), atol=1e-14
    )


def test_weights_that_are_not_even_show_the_order_of_the_values():
    one = EXAMPLES["uniform"].values
    assert compute("uniform", one).equal_heads
    assert not compute("same", one).equal_heads


def test_every_row_of_weights_sums_to_1():
    for example in EXAMPLES.values():
        np.testing.assert_allclose(example.weights.sum(-1), 1, rtol=1e-15)


def test_the_example_on_paper_is_chapter_3s():
    before = compute("on paper", EXAMPLES["on paper"].values)
    np.testing.assert_allclose(before.concat, [[2.8, 1.0]], rtol=1e-15)
    np.testing.assert_allclose(before.output, [4.6], rtol=1e-15)
    after = compute("on paper", [[2, 6], [-2, 10]])
    np.testing.assert_allclose(after.output, [-1.4], rtol=1e-14)
    np.testing.assert_array_equal(after.weights, before.weights)


@needs_node
@pytest.mark.parametrize("example", EXAMPLES)
def test_script_computes_numpys_numbers(example):
    S = len(EXAMPLES[example].keys)
    drawn = np.random.default_rng(0).uniform(-10, 10, (20, 2, S)).tolist()
    same = [[row, row] for row, _ in drawn]
    reverse = [[row, row[::-1]] for row, _ in drawn]  # other last digits of even sums
    cases = [EXAMPLES[example].values.tolist(), *drawn, *same, *reverse]
    states = json.dumps([{"example": example, "values": values} for values in cases])
    results = evaluate("same_weights", f"{states}.map(mhaSameWeights.compute)")
    for values, found in zip(cases, results, strict=True):
        for name, expected in compute(example, values)._asdict().items():
            if isinstance(expected, bool):
                assert found[name] == expected
            else:
                np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-12, err_msg=name)


@needs_node
def test_script_begins_with_the_same_examples():
    found = evaluate("same_weights", "mhaSameWeights.EXAMPLES")
    assert list(found) == list(EXAMPLES)
    for name, example in EXAMPLES.items():
        assert tuple(found[name]["queries"]) == example.queries
        assert tuple(found[name]["keys"]) == example.keys
        np.testing.assert_array_equal(found[name]["values"], example.values)


def test_an_example_brings_its_values_unless_they_are_given():
    assert SameWeights(example="uniform").values == ((2, 6, -2), (-2, 2, 6))
    assert SameWeights(example="uniform", values=[[1, 2, 3]] * 2).values == ((1, 2, 3),) * 2
    figure = SameWeights(values=[[1, 2, 3], [4, 5, 6]])
    figure.example = "uniform"
    assert figure.values == ((1, 2, 3), (4, 5, 6))
    figure.example = "on paper"
    assert figure.values == ((2, 6), (10, -2))


def test_static_table_holds_weights_values_and_outputs():
    html = SameWeights(example="on paper").static_html()
    assert "<td>0.80</td><td>0.20</td><td>2.80</td>" in html
    assert "<td>2.00</td><td>6.00</td><td></td>" in html
    assert "<td>2.80</td><td>1.00</td><td>4.60</td>" in html
    assert "no trained model" in html


def test_two_figures_of_one_state_print_the_same():
    assert SameWeights().static_html() == SameWeights().static_html()
    figure = SameWeights(example="on paper", values=[[1, 2], [0.5, -3]])
    assert repr(eval(repr(figure), {"SameWeights": SameWeights})) == repr(figure)


def test_docstring_example_holds():
    result = doctest.testmod(widget_module)
    assert result.attempted
    assert not result.failed


def test_figure_and_module_say_that_nothing_is_trained():
    assert "made up" in same_weights.__doc__
    assert "not a trained model" in SameWeights.__doc__


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"example": "odd"}, "one of 'same', 'uniform', 'on paper': got 'odd'. Use one"),
        ({"values": 3}, "two lists, one per head, .* keys the, cat, sat: got 3. Write"),
        ({"values": [[1, 2, 3]]}, r"two lists, one per head, .*: got \[\[1, 2, 3\]\]"),
        ({"values": [[1, 2], [3, 4]]}, r"one number for each of the keys the, cat, sat: got"),
        ({"example": "on paper", "values": [[1, 2, 3]] * 2}, "of the keys token 1, token 2: got"),
        ({"values": [[1, 2, 11], [1, 2, 3]]}, "numbers from -10 to 10: got 11. Use a smaller"),
        ({"values": [[1, 2, float("nan")], [1, 2, 3]]}, "numbers from -10 to 10: got nan"),
        ({"values": [[1, 2, True], [1, 2, 3]]}, "numbers from -10 to 10: got True"),
        ({"values": [[1, 2, "x"], [1, 2, 3]]}, "numbers from -10 to 10: got 'x'"),
        ({"example": "odd", "values": [[1, 2], [3, 4]]}, "example must be one of"),
        ({"values": [[1, 2], [3, 4]], "example": "odd"}, "example must be one of"),
    ],
)
def test_bad_traits_are_refused_with_advice(traits, message):
    with pytest.raises(traitlets.TraitError, match=message):
        SameWeights(**traits)


def test_refused_value_leaves_the_old_one():
    figure = SameWeights()
    with pytest.raises(traitlets.TraitError):
        figure.values = [[1, 2, 3], [4, 5, 60]]
    assert figure.values == ((2, 6, -2), (-4, 1, 8))
