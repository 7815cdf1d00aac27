"""The checks of attention and masks say what was done, whatever number or type it was done with."""

import numpy as np
import pytest
from right_answers_one_head import library_style, where_after_the_exponential
from test_grader_bank import CHECKS, failure

from mha_lessons.grade.bank import BANK

FILLS = [-1e4, -1e9, -1e30, np.finfo(np.float32).min]
ANSWERS = [
    *("softmax", "attention_weights", "attention"),
    *("causal_mask", "padding_mask", "causal_attention"),
]
DTYPES = [np.float32, np.float64]
NAMES = ["unscaled", "columns", "swapped", "best_key_only"]


def scores_of(Q, K):
    return Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])


def filled(fill, dtype=np.float64):
    def attention_weights(Q, K, mask=None):
        scores = scores_of(Q, K).astype(dtype)
        return library_style(scores if mask is None else np.where(mask, scores, dtype(fill)))

    return attention_weights


def added(fill, dtype=np.float64):
    def attention_weights(Q, K, mask=None):
        scores = scores_of(Q, K).astype(dtype)
        bias = 0 if mask is None else np.where(mask, 0, fill).astype(dtype)
        return library_style(scores + bias)

    return attention_weights


def rejected_by(answer, function):
    checks = {name: check for name, check in CHECKS.items() if check.answer == answer}
    failures = {name: failure(check, function) for name, check in checks.items()}
    return {name: failed.mistake for name, failed in failures.items() if failed}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", FILLS)
def test_a_finite_fill_fails_for_blank_rows_and_nothing_else(fill, dtype):
    weights = filled(fill, dtype)
    assert rejected_by("attention_weights", weights) == {
        "attention_weights_blank_row": "attention_weights.average_for_nothing"
    }
    assert rejected_by("attention", lambda Q, K, V, mask=None: weights(Q, K, mask) @ V) == {
        "attention_blank_row": "attention.average_for_nothing"
    }


@pytest.mark.parametrize(
    ("fill", "dtype", "mistake"),
    [
        (-1e4, np.float64, "mask_dropped_for_nothing"),
        (-1e9, np.float64, "mask_dropped_for_nothing"),
        (-1e30, np.float64, "average_for_nothing"),
        (np.finfo(float).min, np.float64, "average_for_nothing"),
        (-1e9, np.float32, "average_for_nothing"),
        (-np.inf, np.float64, "nan_for_nothing"),
    ],
)
def test_a_finite_number_that_is_added_fails_for_blank_rows_and_nothing_else(fill, dtype, mistake):
    assert rejected_by("attention_weights", added(fill, dtype)) == {
        "attention_weights_blank_row": f"attention_weights.{mistake}"
    }


@pytest.mark.parametrize("fill", FILLS)
def test_causal_attention_with_a_finite_fill_fails_for_blank_rows_and_nothing_else(fill):
    def causal_attention(Q, K, V):
        T, S = Q.shape[-2], K.shape[-2]
        return filled(fill)(Q, K, np.tri(T, S, S - T, dtype=bool)) @ V

    assert rejected_by("causal_attention", causal_attention) == {
        "causal_attention_blank_row": "causal_attention.average_for_nothing"
    }


@pytest.mark.parametrize("returned", [np.float32, np.float64])
@pytest.mark.parametrize("mistake", NAMES)
@pytest.mark.parametrize("answer", ["attention_weights", "attention"])
def test_a_mistake_is_named_in_float32_too(answer, mistake, returned):
    wrong = BANK[f"{answer}.{mistake}"].wrong

    def narrow(*arrays, **named):
        arrays = (array.astype(np.float32) for array in arrays)
        return wrong(*arrays, **named).astype(np.float32).astype(returned)

    assert failure(CHECKS[f"{answer}_values"], narrow).mistake == f"{answer}.{mistake}"


def test_what_is_random_is_rejected_and_told_so():
    def dropped_out(Q, K, mask=None):
        weights = where_after_the_exponential(Q, K, mask)
        return weights * (np.random.default_rng().random(weights.shape) < 0.5) * 2

    failed = failure(CHECKS["attention_weights_values"], dropped_out)
    assert failed.hint.startswith("Two calls with the same arguments gave different results")


def test_the_caller_s_mask_is_watched_though_it_is_passed_by_name():
    def overwritten(Q, K, V, mask=None):
        out = where_after_the_exponential(Q, K, mask) @ V
        if mask is not None:
            mask[...] = True
        return out

    assert rejected_by("attention", overwritten) == {"attention_keeps_its_input": None}


@pytest.mark.parametrize("fill", [-20.0, -50.0])
def test_a_leak_that_no_other_check_sees_is_found(fill):
    def causal_attention(Q, K, V):
        T, S = Q.shape[-2], K.shape[-2]
        mask = np.tri(T, S, S - T, dtype=bool)
        weights = np.where(mask.any(-1)[:, None], filled(fill)(Q, K, mask), 0)
        weights = np.where(np.abs(scores_of(Q, K)).max() > 100, masked(Q, K, mask), weights)
        return weights @ V

    def masked(Q, K, mask):
        return where_after_the_exponential(Q, K, mask)

    assert list(rejected_by("causal_attention", causal_attention)) == ["causal_attention_no_leak"]


@pytest.mark.parametrize(
    ("answer", "made", "mistake"),
    [
        ("causal_mask", lambda T, S=None: np.tri(T, S, 0 if S is None else S - T), "floats"),
        ("padding_mask", lambda n, S: 1 * (np.arange(S) < n[:, None])[:, None, None], "integers"),
    ],
)
def test_a_mask_of_numbers_fails_for_its_type_and_nothing_else(answer, made, mistake):
    assert rejected_by(answer, made) == {f"{answer}_boolean": f"{answer}.{mistake}"}


def test_a_known_mask_is_named_by_every_check_that_sees_enough_of_it():
    def inverted(T, S=None):
        S = T if S is None else S
        return ~np.tri(T, S, S - T, dtype=bool)

    assert failure(CHECKS["causal_mask_cache"], inverted).mistake == "causal_mask.inverted"


def test_two_results_are_told_from_one():
    def both(Q, K, V, mask=None):
        weights = where_after_the_exponential(Q, K, mask)
        return weights @ V, weights

    assert failure(CHECKS["attention_values"], both).mistake == "attention.weights_too"


@pytest.mark.parametrize("check", [c for c in CHECKS.values() if c.answer in ANSWERS])
@pytest.mark.parametrize(
    "value", [None, 3, "text", [[1], [2, 3]], np.array(None), np.zeros((0, 3)), (1, 2), {}]
)
def test_no_value_crashes_a_check(check, value):
    accepted = failure(check, lambda *arguments, **named: value) is None
    assert accepted == (check.__name__.endswith("keeps_its_input") and value is not None)


@pytest.mark.parametrize("mistake", ["inverted", "mask_ignored", "masked_after", "root_missing"])
def test_a_blank_row_is_not_blamed_where_the_other_rows_are_wrong_too(mistake):
    wrong = BANK[f"attention_weights.{mistake}"].wrong
    failed = failure(CHECKS["attention_weights_blank_row"], wrong)
    assert failed.mistake == f"attention_weights.{mistake}"


def test_checks_take_nothing_from_the_global_random_state_and_leave_it_alone():
    def unscaled(Q, K, mask=None):
        return library_style(Q @ K.swapaxes(-1, -2))

    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    first = failure(CHECKS["attention_weights_values"], unscaled)
    assert np.array_equal(np.random.get_state()[1], before)
    np.random.seed(6)
    assert str(failure(CHECKS["attention_weights_values"], unscaled)) == str(first)
