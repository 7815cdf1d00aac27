"""The mask painter on the Python side: its numbers, its masks, its rules."""

import doctest

import numpy as np
import pytest
import torch
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mha_lessons import masks, toy, vectorized
from mha_lessons.widgets import MaskPainter, mask_painter
from mha_lessons.widgets.mask_painter import PRESETS, preset, ways

scores_and_masks = st.tuples(st.integers(1, 5), st.integers(1, 7)).flatmap(
    lambda shape: st.tuples(
        arrays.arrays(float, shape, elements=st.floats(-30, 30, width=16)),
        arrays.arrays(bool, shape),
    )
)


def test_weights_are_the_librarys():
    painter = MaskPainter(mask="cache")
    Q, K, *_ = toy.attend(painter.tokens)
    np.testing.assert_allclose(
        painter.weights, vectorized.attention_weights(Q[-3:], K, masks.causal(3, 5)), atol=1e-15
    )


@settings(deadline=None)
@given(scores_and_masks)
def test_a_row_with_a_key_left_is_the_same_by_rule_bare_or_filled(case):
    scores, mask = case
    found, some = ways(scores, mask), mask.any(-1)
    np.testing.assert_allclose(found.bare[some], found.weights[some], atol=1e-15)
    np.testing.assert_allclose(found.filled[some], found.weights[some], atol=1e-15)


@settings(deadline=None)
@given(scores_and_masks)
def test_a_blank_row_gives_zeros_or_nan_or_an_average(case):
    scores, mask = case
    found, blank = ways(scores, mask), ~mask.any(-1)
    assert not found.weights[blank].any()
    assert np.isnan(found.bare[blank]).all()
    np.testing.assert_allclose(found.filled[blank], 1 / mask.shape[1])


@settings(deadline=None)
@given(scores_and_masks)
def test_zeros_after_softmax_lose_what_hidden_keys_got(case):
    scores, mask = case
    found = ways(scores, mask)
    lost = np.where(mask, 0, found.unmasked).sum(-1)
    np.testing.assert_allclose(found.zeroed.sum(-1), 1 - lost, atol=1e-14)


def test_presets_are_what_their_names_say():
    np.testing.assert_array_equal(preset("both", 5), preset("causal", 5) & preset("padding", 5))
    assert preset("cache", 5).shape == (3, 5)
    assert preset("cache", 5)[-1].all()
    assert not preset("left padding", 5)[:2].any()
    assert preset("left padding", 5)[2:, 2].all()


@pytest.mark.parametrize("S", range(1, 9))
@pytest.mark.parametrize("name", PRESETS)
def test_presets_fit_any_number_of_words(name, S):
    painter = MaskPainter(tokens=["a"] * S, mask=name, query=0, key=0)
    assert painter.mask.shape[1] == S
    assert np.isfinite(painter.weights).all()


@pytest.mark.parametrize(
    "mask",
    [
        masks.causal(5),
        masks.causal(5).tolist(),
        masks.causal(5)[None, None],
        torch.ones(5, 5, dtype=torch.bool).tril(),
        "causal",
    ],
    ids=["array", "lists", "with leading axes", "torch", "name"],
)
def test_mask_comes_in_many_forms(mask):
    np.testing.assert_array_equal(MaskPainter(mask=mask).mask, masks.causal(5))


def test_padding_mask_is_repeated_for_every_query():
    painter = MaskPainter(mask=masks.padding([3], 5))
    np.testing.assert_array_equal(painter.mask, np.tile(np.arange(5) < 3, (5, 1)))


def test_mask_cannot_change_unseen():
    given = masks.causal(5)
    painter = MaskPainter(mask=given)
    given[:] = False
    assert painter.mask.any()
    with pytest.raises(ValueError, match="read-only"):
        painter.mask[0, 0] = False


def test_mask_follows_new_words():
    painter = MaskPainter(mask="cache", query=2, key=4)
    painter.tokens = "a dog barked"
    np.testing.assert_array_equal(painter.mask, preset("cache", 3))
    assert (painter.query, painter.key) == (0, 2)
    painter.mask = [[False] * 3]
    painter.tokens = "a dog"
    np.testing.assert_array_equal(painter.mask, masks.causal(2))


def test_words_and_mask_may_come_together():
    painter = MaskPainter(tokens="a b c", mask=[[True, False, True]], query=0)
    assert painter.mask.tolist() == [[True, False, True]]
    assert painter.scores.shape == (1, 3)


def test_repr_builds_the_same_painter():
    painter = MaskPainter(tokens="a b", mask="causal", query=0, key=1)
    again = eval(repr(painter), {"MaskPainter": MaskPainter})
    assert repr(again) == repr(painter)
    assert repr(painter) == (
        "MaskPainter(tokens=('a', 'b'), mask=[[True, False], [True, True]], query=0, key=1)"
    )


def test_static_form_says_what_the_figure_says():
    html = MaskPainter(mask="left padding", query=0).static_html()
    assert "no trained model" in html
    assert 'data-queries="5"' in html
    for text in ("−∞ in a bare softmax", "NaN", "zeros after softmax", "“the” in five ways"):
        assert text in html


def test_docstring_example_holds():
    result = doctest.testmod(mask_painter)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"mask": "diagonal"}, "mask must be a boolean array or one of 'all'.*got 'diagonal'. Use"),
        (
            {"mask": np.ones((5, 5))},
            "mask must be boolean, True = may attend: got float64. Convert it",
        ),
        ({"mask": [[1, 0, 0, 0, 0]]}, "got int64. Convert it with mask == 1, or with mask == 0 if"),
        (
            {"mask": [[True], [True, False]]},
            r"rows of one length: got \[\[True\], \[True, False\]\]. Give one",
        ),
        (
            {"mask": masks.causal(4)},
            r"S = 5, the number of tokens.*got shape \(4, 4\). Give one row",
        ),
        ({"mask": np.ones((6, 5), bool)}, r"T from 1 to 5: got shape \(6, 5\)"),
        ({"mask": np.ones((2, 1, 5, 5), bool)}, r"got shape \(2, 1, 5, 5\)"),
        ({"mask": None}, "mask must be boolean, True = may attend: got object"),
        ({"mask": "cache", "query": 3}, "query must be from 0 to 2 for 3 rows of the mask: got 3"),
        ({"key": 5}, "key must be from 0 to 4 for 5 keys: got 5. Count from 0"),
        ({"tokens": []}, "tokens must be 1 to 8 words"),
    ],
)
def test_bad_traits_are_refused_with_advice(traits, message):
    with pytest.raises(traitlets.TraitError, match=message):
        MaskPainter(**traits)
