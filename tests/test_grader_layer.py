"""The checks of a whole layer, of two heads by hand and of costs say what was done, and no more."""

from fractions import Fraction

import numpy as np
import pytest
from right_answers_layer import split, split_attend_merge, swap_and_reshape
from right_answers_one_head import weights_times_values
from test_grader_attending import FILLS, filled, rejected_by
from test_grader_bank import CHECKS, failure

from mha_lessons.grade import attending
from mha_lessons.grade.bank import BANK
from mha_lessons.grade.compare import as_array

ANSWERS = [
    *("merge_heads", "multi_head_attention", "two_heads_by_hand"),
    *("projection_flops", "score_flops", "score_elements", "kv_cache_bytes"),
]
LAYER = "multi_head_attention"


def layer_with(attend, join=swap_and_reshape):
    def multi_head_attention(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
        Q, K, V = (split(x, num_heads) for x in (x_q @ W_Q, x_kv @ W_K, x_kv @ W_V))
        return join(attend(Q, K, V, mask)) @ W_O

    return multi_head_attention


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fill", FILLS)
def test_a_layer_with_a_finite_fill_fails_for_blank_rows_and_nothing_else(fill, dtype):
    weights = filled(fill, dtype)
    layer = layer_with(lambda Q, K, V, mask: weights(Q, K, mask) @ V)
    assert rejected_by(LAYER, layer) == {f"{LAYER}_blank_row": f"{LAYER}.average_for_nothing"}


def test_a_plain_reshape_at_split_and_merge_is_found_by_every_layer_of_several_tokens():
    wrong = BANK[f"{LAYER}.plain_reshape_twice"].wrong
    one_token = attending.layer(1, 5)
    assert np.shape(wrong(*one_token)) == np.shape(split_attend_merge(*one_token))
    for check in ("values", "cross", "batch", "mask", "mask_by_head", "large"):
        failed = failure(CHECKS[f"{LAYER}_{check}"], wrong)
        assert failed.mistake == f"{LAYER}.plain_reshape_twice"


def test_a_loop_that_gives_each_head_the_mask_of_all_is_named():
    def loop(x_q, x_kv, W_Q, W_K, W_V, W_O, num_heads, mask=None):
        Q, K, V = (split(x, num_heads) for x in (x_q @ W_Q, x_kv @ W_K, x_kv @ W_V))
        heads = [
            weights_times_values(*(x[..., i, :, :] for x in (Q, K, V)), mask)
            for i in range(num_heads)
        ]
        return np.concatenate(heads, axis=-1) @ W_O

    failed = failure(CHECKS[f"{LAYER}_mask_by_head"], loop)
    assert failed.mistake == f"{LAYER}.heads_of_the_mask_taken_for_a_batch"


@pytest.mark.parametrize(
    "mistake", ["W_O_missing", "W_O_transposed", "input_split", "residual_added"]
)
def test_a_layer_s_mistake_is_named_in_float32_too(mistake):
    wrong = BANK[f"{LAYER}.{mistake}"].wrong

    def narrow(*given, mask=None):
        *arrays, num_heads = given
        return wrong(*(x.astype(np.float32) for x in arrays), num_heads, mask=mask)

    assert failure(CHECKS[f"{LAYER}_values"], narrow).mistake == f"{LAYER}.{mistake}"


def test_the_scores_that_are_moved_keep_their_weights():
    for by in (0, 400, 1500):
        given = attending.layer_moved(by, 5, 7)
        x_q, x_kv, W_Q, W_K, *_ = given
        Q, K = (split(x, 3) for x in (x_q @ W_Q, x_kv @ W_K))
        weights = attending.RIGHT["attention_weights"](Q, K)
        scores = Q @ K.swapaxes(-1, -2) / np.sqrt(7)
        if not by:
            unmoved = weights
        assert np.allclose(weights, unmoved)
    assert scores.min() < -750
    assert scores.max() > 710


@pytest.mark.parametrize(
    ("value", "check", "words"),
    [
        ((2.8, 1.0), "heads", "return three results, (head_1, head_2, output): got 2"),
        (4.6, "output", "return three results, (head_1, head_2, output): got 1"),
        (np.zeros((2, 2)), "heads", "return three results, (head_1, head_2, output): got 4"),
        ((2.7, 1.0, 4.4), "heads", "head_1 is 2.7, and should be 2.8"),
        ((2.8, 1.1, 4.5), "heads", "head_2 is 1.1, and should be 1"),
        ((2.8, 1.0, 4.5), "output", "output is 4.5, and should be 4.6"),
        ((np.zeros(3), 1.0, 4.6), "heads", "head_1 must be one number: it has the shape (3,)"),
        ((2.8, 1.0, []), "output", "output must be one number: it has the shape (0,)"),
        ((2.8, "1", 4.6), "output", "the result must be an array of numbers: got str '1'"),
        ((np.nan, 1.0, 4.6), "heads", "head_1 is nan, and should be 2.8"),
        ({"head_1": 2.8}, "heads", "the result must be three numbers: got dict"),
    ],
)
def test_results_by_hand_that_are_not_right_are_told_so(value, check, words):
    failed = failure(CHECKS[f"two_heads_by_hand_{check}"], lambda: value)
    assert failed.message.startswith(words)
    assert failed.mistake is None


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_mistake_by_hand_is_named_in_any_shape(shape):
    numbers = [np.full(shape, number) for number in (4.0, 4.0, 4.0)]
    for check in ("heads", "output"):
        failed = failure(CHECKS[f"two_heads_by_hand_{check}"], lambda: numbers)
        assert failed.mistake == "two_heads_by_hand.unweighted"


def test_right_heads_are_not_blamed_for_a_wrong_output():
    assert rejected_by("two_heads_by_hand", lambda: (2.8, 1.0, 1.9)) == {
        "two_heads_by_hand_output": "two_heads_by_hand.average"
    }


def test_fractions_are_numbers():
    assert as_array([Fraction(1, 4), 2]).tolist() == [0.25, 2.0]
    assert as_array(Fraction(3, 2)).shape == ()


@pytest.mark.parametrize("check", [c for c in CHECKS.values() if c.answer in ANSWERS])
@pytest.mark.parametrize(
    "value", [None, 3, "text", [[1], [2, 3]], np.array(None), np.zeros((0, 3)), (1, 2), {}, np.nan]
)
def test_no_value_crashes_a_check(check, value):
    accepted = failure(check, lambda *arguments, **named: value) is None
    assert accepted == (check.__name__.endswith("keeps_its_input") and value is not None)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_unwritten_answer_is_todo(answer):
    def stub(*arguments, **named):
        raise NotImplementedError(f"{answer} is not written yet")

    for check in [check for check in CHECKS.values() if check.answer == answer]:
        assert type(failure(check, stub)).__name__ == "NotWritten"
