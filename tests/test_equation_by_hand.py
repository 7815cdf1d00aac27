"""`equation` is the oracle of every other rung, so its numbers are worked by hand here."""

from fractions import Fraction
from math import e, log, sqrt

import numpy as np
import pytest
from rungs import RUNGS

from mha_lessons.projections import Projections

every_rung = pytest.mark.parametrize("rung", RUNGS.values(), ids=RUNGS)


@every_rung
def test_softmax_of_logarithms_is_their_share(rung):
    # exp(ln 1), exp(ln 2), exp(ln 5) are 1, 2, 5 out of 8.
    weights = rung.softmax(np.log([[1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(weights, [[1 / 8, 2 / 8, 5 / 8]], rtol=1e-15)


@every_rung
def test_scores_are_divided_by_the_root_of_d_k(rung):
    # d_k = 4: the product 2 ln 3 becomes ln 3, so the shares are 3 to 1. Undivided: 9 to 1.
    Q = np.array([[2.0, 0.0, 0.0, 0.0]])
    K = np.array([[log(3), 0.0, 0.0, 0.0], [0.0, 9.0, 9.0, 9.0]])
    np.testing.assert_allclose(rung.attention_weights(Q, K), [[3 / 4, 1 / 4]], rtol=1e-15)


@every_rung
def test_rows_are_queries_and_sum_to_one_over_keys(rung):
    Q = np.array([[1.0], [0.0]])
    K = np.array([[log(2)], [0.0], [log(5)]])
    np.testing.assert_allclose(
        rung.attention_weights(Q, K), [[2 / 8, 1 / 8, 5 / 8], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-15
    )


@every_rung
def test_attention_averages_the_values(rung):
    Q, K = np.array([[1.0]]), np.array([[log(4)], [0.0]])
    V = np.array([[2.0, 10.0], [6.0, -2.0]])
    # Weights 4/5 and 1/5: 0.8 * 2 + 0.2 * 6 and 0.8 * 10 - 0.2 * 2.
    np.testing.assert_allclose(rung.attention(Q, K, V), [[2.8, 7.6]], rtol=1e-15)


@every_rung
def test_a_hidden_key_is_left_out_before_the_shares_are_made(rung):
    Q, K = np.array([[1.0]]), np.log([[1.0], [2.0], [5.0]])
    weights = rung.attention_weights(Q, K, np.array([True, True, False]))
    np.testing.assert_allclose(weights, [[1 / 3, 2 / 3, 0]], rtol=1e-15)


@every_rung
def test_large_scores_do_not_overflow(rung):
    weights = rung.softmax(np.array([[1000.0, 1001.0]]))
    np.testing.assert_allclose(weights, [[1 / (1 + e), e / (1 + e)]], rtol=1e-15)


@every_rung
def test_two_heads_by_hand(rung):
    # Head 1 weighs two values 0.8 and 0.2, head 2 weighs two others 1/4 and 3/4;
    # the output map is 2a - b. One query, two keys, one feature a head.
    x_q = np.array([[1.0, 0.0, 0.0, 0.0, 0.0]])
    x_kv = np.array([[0.0, log(4), -log(3), 2.0, 10.0], [0.0, 0.0, 0.0, 6.0, -2.0]])
    column = np.eye(5)[:, :, None]  # column[j] reads feature j
    p = Projections(
        W_Q=np.stack([column[0], column[0]]),
        W_K=np.stack([column[1], column[2]]),
        W_V=np.stack([column[3], column[4]]),
        W_O=np.array([[2.0, 0, 0, 0, 0], [-1.0, 0, 0, 0, 0]]),
    )
    heads = [float(Fraction(8, 10) * 2 + Fraction(2, 10) * 6), float(Fraction(10 - 2 * 3, 4))]
    assert heads == [2.8, 1.0]
    np.testing.assert_allclose(
        rung.multi_head_attention(x_q, x_kv, p), [[4.6, 0, 0, 0, 0]], rtol=1e-14
    )


@every_rung
def test_head_width_and_not_model_width_scales_the_scores(rung):
    # Two heads of d_k = 4 over d_model = 8. Dividing by sqrt(8) would give other shares.
    W = np.zeros((2, 8, 4))
    W[:, 0, 0] = 1
    p = Projections(W_Q=W, W_K=W, W_V=W, W_O=np.eye(8))
    x_q, x_kv = np.zeros((1, 8)), np.zeros((2, 8))
    x_q[0, 0], x_kv[0, 0] = 2.0, log(3)
    out = rung.multi_head_attention(x_q, x_kv, p)
    np.testing.assert_allclose(out[0, [0, 4]], [3 / 4 * log(3)] * 2, rtol=1e-14)
    wrong = 1 / (1 + 3 ** -(2 / sqrt(8)))
    assert abs(wrong - 3 / 4) > 0.05
