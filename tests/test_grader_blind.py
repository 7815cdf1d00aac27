"""What blind learners were told wrongly, and are told no more."""

import numpy as np
import pytest
from test_grader_bank import CHECKS, failure

from mha_lessons import vectorized


def told(check, answer):
    return failure(CHECKS[check], answer)


def weights_and_scores(Q, K, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    return vectorized.attention_weights(Q, K, mask), scores


def halved(Q, K, mask=None):
    return vectorized.attention_weights(Q / 2, K, mask)


@pytest.mark.parametrize(
    ("check", "answer", "several", "asked"),
    [
        ("attention_weights_values", weights_and_scores, 2, "array"),
        ("attention_weights_batch", weights_and_scores, 2, "array"),
        ("attention_weights_blank_row", weights_and_scores, 2, "array"),
        ("parameter_count_projections", lambda d, h, bias=False: (4 * d * d, 0), 2, "number"),
        ("score_elements_self", lambda B, T, S, h: (B, h, T, S), 4, "number"),
    ],
)
def test_a_tuple_of_results_is_named_and_not_read_as_one_array(check, answer, several, asked):
    failed = told(check, answer)
    assert failed.message == f"your function returned {several} results, and one is asked for"
    assert failed.hint == f"Return the {asked} alone: a comma after `return` makes a tuple."


def test_a_tuple_of_heads_is_one_result():
    def split_heads(x, num_heads):
        if x.ndim > 2:
            return np.stack([np.stack(split_heads(part, num_heads)) for part in x])
        return tuple(np.split(x, num_heads, axis=-1))

    assert told("split_heads_values", split_heads) is None


def test_a_text_in_place_of_a_number_is_told_so():
    failed = told("parameter_count_projections", lambda d, h, bias=False: f"{4 * d * d} numbers")
    assert failed.message == (
        "the result must be one number: got str '4900 numbers'. Return one number."
    )


@pytest.mark.parametrize("check", ["large", "mask", "mask_broadcast", "blank_row", "types"])
def test_where_plain_inputs_fail_too_no_cause_is_guessed(check):
    failed = told(f"attention_weights_{check}", halved)
    assert failed.mistake is None
    assert failed.hint == (
        "A plain input gives wrong numbers too: begin with attention_weights_values."
    )


def test_where_plain_inputs_are_right_the_hint_is_on_what_is_special():
    def rounded_down(scores):
        return vectorized.softmax(np.minimum(scores, 5))

    assert "largest score" in told("softmax_large", rounded_down).hint


def test_float16_out_of_float64_is_named():
    failed = told("softmax_large", lambda scores: vectorized.softmax(np.float16(scores)))
    assert failed.hint.startswith("The result is float16, which keeps three digits")


def test_an_input_is_watched_to_the_last_bit():
    def causal_attention(Q, K, V):
        mask = np.tri(Q.shape[-2], K.shape[-2], K.shape[-2] - Q.shape[-2], dtype=bool)
        out = vectorized.attention(Q, K, V, mask)
        Q += 1e-12
        return out

    failed = told("causal_attention_keeps_its_input", causal_attention)
    assert failed.message == "your code changed the array that it was given"


def test_an_error_that_another_function_raises_is_no_refusal_of_the_learner_s():
    def split_heads(x, num_heads):
        return np.stack(np.array_split(x, num_heads, axis=-2), axis=-3)

    failed = told("split_heads_values", split_heads)
    assert failed.mistake is None
    assert "all input arrays must have the same shape" in failed.message

    def causal_attention(Q, K, V):
        return vectorized.attention(Q, K, V, np.tri(Q.shape[-2], dtype=bool))

    failed = told("causal_attention_blank_row", causal_attention)
    assert failed.mistake != "causal_attention.nothing_refused"
    assert "A mask must broadcast" in failed.message or "mask" in failed.message


def test_as_many_heads_as_features_are_no_mistake():
    def split_heads(x, num_heads):
        if num_heads < 1 or num_heads % x.shape[-1] == 0:
            raise ValueError("no")
        return x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(-2, -3)

    assert told("split_heads_values", split_heads).message == "sizes that fit are refused"


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        ("parameter_count_projections", lambda d, h, bias=False: (4 * d) ** 2),
        (
            "kv_cache_bytes_own_heads",
            lambda S, d, h, g, size, layers: 2 * S * d // h * g * 2 * layers,
        ),
    ],
)
def test_no_count_is_taken_for_another_by_a_coincidence_of_sizes(check, wrong):
    assert told(check, wrong).mistake is None


@pytest.mark.parametrize(
    ("wrong", "mistake"),
    [
        (lambda S, d, h, g, size, layers: 2 * S * d // h * g * layers, "elements"),
        (lambda S, d, h, g, size, layers: 2 * S * d // h * size * layers, "one_head"),
    ],
)
def test_shared_heads_are_counted_with_sizes_that_tell(wrong, mistake):
    failed = told("kv_cache_bytes_shared_heads", wrong)
    assert failed.mistake == f"kv_cache_bytes.{mistake}"


def test_a_mask_that_hides_nothing_is_not_said_to_be_shifted():
    failed = told("causal_mask_short", lambda T, S=None: np.ones((T, S or T), dtype=bool))
    assert failed.mistake == "causal_mask.everything_visible"


def test_zeros_for_all_are_not_said_to_come_of_a_hidden_key():
    def attention_weights(Q, K, mask=None):
        weights = vectorized.attention_weights(Q, K, mask)
        blank = mask is not None and (~np.any(mask, axis=-1)).any()
        return weights * (not blank)

    failed = told("attention_weights_blank_row", attention_weights)
    assert failed.mistake == "attention_weights.zeros_for_all"
