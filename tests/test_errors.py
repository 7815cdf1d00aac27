"""Bad input: the rule, what came, what to do; the same words from every rung."""

import numpy as np
import pytest
from rungs import RUNGS

from mha_lessons import projections

p = projections.random(6, 3, seed=0)


def ones(*shape):
    return np.ones(shape)


CASES = {
    "widths of Q and K": (
        lambda rung: rung.attention_weights(ones(2, 3, 4), ones(2, 5, 6)),
        ValueError,
        r"Q and K must share d_k: got Q \(2, 3, 4\) and K \(2, 5, 6\). Project both to the same",
    ),
    "keys and values": (
        lambda rung: rung.attention(ones(3, 4), ones(5, 4), ones(6, 4)),
        ValueError,
        r"one row per key: got K \(5, 4\) and V \(6, 4\). Project both from the same x_kv",
    ),
    "leading axes": (
        lambda rung: rung.attention_weights(ones(2, 3, 4), ones(7, 5, 4)),
        ValueError,
        r"Q and K must share their leading axes: got Q \(2, 3, 4\) and K \(7, 5, 4\)",
    ),
    "rank": (
        lambda rung: rung.attention_weights(ones(4), ones(4)),
        ValueError,
        r"Q must have a position axis and a feature axis: got shape \(4,\). .*Q\[None, :\]",
    ),
    "no features": (
        lambda rung: rung.attention_weights(ones(3, 0), ones(5, 0)),
        ValueError,
        r"d_k must be at least 1: got Q \(3, 0\)",
    ),
    "integer scores": (
        lambda rung: rung.softmax(np.array([[1, 2]])),
        TypeError,
        r"scores must be floating point: got .*int64. Convert it first",
    ),
    "integer queries": (
        lambda rung: rung.attention_weights(np.ones((3, 4), int), ones(5, 4)),
        TypeError,
        "Q must be floating point: got .*int64",
    ),
    "integer mask": (
        lambda rung: rung.attention(ones(3, 4), ones(5, 4), ones(5, 4), np.ones((3, 5), int)),
        TypeError,
        "A mask must be boolean, True = may attend: got .*int64. Write `mask == 1` if 1 means may",
    ),
    "0/1 float mask": (
        lambda rung: rung.attention(ones(3, 4), ones(5, 4), ones(5, 4), ones(3, 5)),
        TypeError,
        "A mask must be boolean, True = may attend: got .*float64",
    ),
    "transposed mask": (
        lambda rung: rung.attention_weights(ones(3, 4), ones(5, 4), np.ones((5, 3), bool)),
        ValueError,
        r"A mask must broadcast to \(..., T, S\): got a mask \(5, 3\) for scores \(3, 5\)",
    ),
    "mask of too high a rank": (
        lambda rung: rung.attention_weights(ones(3, 4), ones(5, 4), np.ones((2, 3, 5), bool)),
        ValueError,
        r"got a mask \(2, 3, 5\) for scores \(3, 5\)",
    ),
    "layer width": (
        lambda rung: rung.multi_head_attention(ones(3, 5), ones(4, 6), p),
        ValueError,
        r"x_q must be \(..., positions, d_model\) with d_model=6: got shape \(3, 5\)",
    ),
    "layer width of what is read": (
        lambda rung: rung.multi_head_attention(ones(3, 6), ones(4, 5), p),
        ValueError,
        r"x_kv must be \(..., positions, d_model\) with d_model=6: got shape \(4, 5\)",
    ),
    "layer batch": (
        lambda rung: rung.multi_head_attention(ones(2, 3, 6), ones(4, 6), p),
        ValueError,
        r"x_q and x_kv must share their leading axes: got x_q \(2, 3, 6\) and x_kv \(4, 6\)",
    ),
    "layer mask": (
        lambda rung: rung.multi_head_attention(ones(2, 6), ones(2, 6), p, np.ones((2, 2, 2), bool)),
        ValueError,
        r"got a mask \(2, 2, 2\) for scores \(3, 2, 2\)",
    ),
    "layer dtype": (
        lambda rung: rung.multi_head_attention(np.ones((2, 6), int), ones(2, 6), p),
        TypeError,
        "x_q must be floating point: got .*int64",
    ),
}


@pytest.mark.parametrize("rung", RUNGS.values(), ids=RUNGS)
@pytest.mark.parametrize(("call", "error", "words"), CASES.values(), ids=CASES)
def test_bad_input_is_refused_in_the_same_words(rung, call, error, words):
    with pytest.raises(error, match=words):
        call(rung)
