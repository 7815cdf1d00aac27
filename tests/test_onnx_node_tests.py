"""The node tests of ONNX's Attention operator give here what ONNX says they give.

ONNX's operator has a scale, an additive bias and a window as options. Here they are no options:
each is said by other means that are exactly the same, and so is ONNX's own causal alignment.
"""

import os
from math import sqrt

import ladder
import numpy as np
import pytest
import torch

if os.environ.get("MHA_REQUIRE_PEERS") != "1":  # otherwise its absence is an error
    pytest.importorskip("onnx", reason="runs the node tests of onnx, an optional peer")

import onnx.backend.test.case.node
import onnx.backend.test.case.node.attention  # collects the cases of this operator only

from mha_lessons.cache import KVCache
from mha_lessons.masks import combine
from mha_lessons.projections import merge_heads, split_heads

# Each case stands there a second time, expanded into smaller operators.
CASES = {
    case.name.removeprefix("test_attention_"): case
    for case in onnx.backend.test.case.node._NodeTestCases
    if not case.name.endswith("_expanded")
}
LEFT_OUT = {
    name: "softcap bends the scores by a tanh: nothing that this library offers says that"
    for name in (
        "3d_diff_heads_sizes_softcap",
        "3d_gqa_softcap",
        "3d_softcap",
        "3d_with_past_and_present_qk_matmul_softcap",
        "4d_diff_heads_sizes_softcap",
        "4d_gqa_softcap",
        "4d_softcap",
        "4d_softcap_neginf_mask",
        "4d_softcap_neginf_mask_poison",
        "4d_with_qk_matmul_softcap",
        "local_window_gqa_rank4_mask",
    )
}
# What a case may have; anything new must be looked at.
OPTIONS = {"is_causal", "scale", "q_num_heads", "kv_num_heads", "left_window_size"}
OPTIONS |= {"right_window_size", "qk_matmul_output_mode", "softmax_precision"}
INPUTS = {"Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"}

RUNGS = ladder.load()
TORCH, WEIGHINGS = ladder.torch_attentions(RUNGS), ladder.weighings(RUNGS)
NUMPY = {name: f for name, f in ladder.attentions(RUNGS).items() if name not in TORCH}

# Outputs and weights are of order 1. Both sides compute in the dtype of the case, in another order
# and partly rounded elsewhere: 8 units of rounding for float32, 4 for the small dtypes.
TOLERANCE = {"float32": 1e-6, "float16": 4e-3, "bfloat16": 3.2e-2}


class Call:
    """One case, said in this library's words."""

    def __init__(self, case):
        (node,) = case.model.graph.node
        ((inputs, outputs),) = case.data_sets
        self.given = dict(zip(filter(None, node.input), inputs, strict=True))
        self.expected = dict(zip(filter(None, node.output), outputs, strict=True))
        self.options = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        self.dtype = str(self.given["Q"].dtype)
        self.merged = self.given["Q"].ndim == 3
        self.Q, self.K, self.V = (self.heads(name) for name in "QKV")
        self.T, self.S = self.Q.shape[-2], self.K.shape[-2]
        self.past = 0
        if "past_key" in self.given:
            self.past = self.given["past_key"].shape[-2]
            self.K = np.concatenate([self.wide("past_key"), self.K], axis=-2)
            self.V = np.concatenate([self.wide("past_value"), self.V], axis=-2)
            self.S += self.past

    def wide(self, name):
        """Return an input in a dtype that NumPy has."""
        x = self.given[name]
        return x.astype(np.float32) if self.dtype == "bfloat16" else x

    def heads(self, name):
        x = self.wide(name)
        if not self.merged:
            return x
        return split_heads(x, self.options["q_num_heads" if name == "Q" else "kv_num_heads"])

    @property
    def offset(self):
        """Return how many keys stand before the first query, (B, 1, 1, 1) or a number."""
        if "nonpad_kv_seqlen" in self.given:
            return self.given["nonpad_kv_seqlen"][:, None, None, None] - self.T
        return self.past

    def mask_and_bias(self):
        """Return what hides, as one boolean mask, and what is added to scores, each may be None."""
        parts, bias = [], None
        s, position = np.arange(self.S), np.arange(self.T)[:, None] + self.offset
        if "attn_mask" in self.given:
            given, missing = self.given["attn_mask"], self.S - self.given["attn_mask"].shape[-1]
            pad = [(0, 0)] * (given.ndim - 1) + [(0, missing)]
            if given.dtype == bool:
                parts.append(np.pad(given, pad))  # keys beyond the mask are hidden
            else:
                bias = np.pad(self.wide("attn_mask"), pad, constant_values=-np.inf)
                parts.append(bias != -np.inf)
                bias = np.where(parts[-1], bias, 0)
        if self.options.get("is_causal"):
            parts.append(s <= position)
        for side, distance in (("left", position - s), ("right", s - position)):
            if self.options.get(f"{side}_window_size", -1) >= 0:
                parts.append(distance <= self.options[f"{side}_window_size"])
        if "nonpad_kv_seqlen" in self.given:
            parts.append(s < self.given["nonpad_kv_seqlen"][:, None, None, None])
        return combine(*parts), bias

    def arguments(self):
        """Return Q, K, V and mask for any attention function.

        A scale other than 1/sqrt(d_k) is a factor of Q. A bias is some more features: query t has
        a one in the t-th of them, where key s has bias[t, s].
        """
        (mask, bias), Q, K = self.mask_and_bias(), self.Q.astype(np.float64), self.K
        d_k = Q.shape[-1]
        if "scale" in self.options:
            Q = Q * self.options["scale"] * sqrt(d_k)
        if bias is not None:
            one = np.broadcast_to(np.eye(self.T), (*Q.shape[:-1], self.T))
            Q = np.concatenate([Q / sqrt(d_k), one], axis=-1) * sqrt(d_k + self.T)
            columns = np.broadcast_to(bias, (*K.shape[:-2], self.T, self.S)).swapaxes(-2, -1)
            K = np.concatenate([K, columns.astype(K.dtype)], axis=-1)
        return Q.astype(K.dtype), K, self.V, mask

    def tensors(self):
        *arrays, mask = self.arguments()
        dtype = getattr(torch, self.dtype)
        return [torch.from_numpy(np.array(x)).to(dtype) for x in arrays], mask

    def attend(self, rung):
        if rung in NUMPY:
            return NUMPY[rung](*self.arguments())
        arrays, mask = self.tensors()
        return TORCH[rung](*arrays, mask).double().numpy()

    def check(self, got, name="Y"):
        want = self.expected[name].astype(np.float64)
        got = merge_heads(got) if self.merged and name == "Y" else got
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE[self.dtype])


RUN = [name for name in CASES if name not in LEFT_OUT]


def those(condition):
    return [name for name in RUN if condition(Call(CASES[name]))]


def test_every_case_is_run_or_left_out_with_a_reason():
    assert len(CASES) == 93
    assert set(LEFT_OUT) < set(CASES)
    assert len(RUN) + len(LEFT_OUT) == len(CASES)
    for name in CASES:
        assert (Call(CASES[name]).options.get("softcap", 0) != 0) == (name in LEFT_OUT)


@pytest.mark.parametrize("name", RUN)
def test_every_option_of_a_case_is_known(name):
    call = Call(CASES[name])
    assert set(call.options) <= OPTIONS
    assert set(call.given) <= INPUTS


@pytest.mark.parametrize("rung", [*NUMPY, *TORCH])
@pytest.mark.parametrize("name", RUN)
def test_the_output_is_that_of_onnx(name, rung):
    call = Call(CASES[name])
    call.check(call.attend(rung))


def scores_are_shown(call):
    return "qk_matmul_output" in call.expected


@pytest.mark.parametrize("rung", WEIGHINGS)
@pytest.mark.parametrize("name", those(scores_are_shown))
def test_the_weights_are_those_of_onnx(name, rung):
    # In mode 3 ONNX shows the weights; otherwise scores, with the bias (2) or without it (0).
    call = Call(CASES[name])
    Q, K, _, mask = call.arguments()
    weights, shown = WEIGHINGS[rung](Q, K, mask), call.expected["qk_matmul_output"]
    mode = call.options.get("qk_matmul_output_mode", 0)
    if mode != 3:
        hidden, bias = call.mask_and_bias()
        scores = shown if mode == 2 or bias is None else shown + bias
        scores = scores if hidden is None else np.where(hidden, scores, -np.inf)
        call.expected["qk_matmul_output"] = RUNGS.equation.softmax(scores)
    call.check(weights, "qk_matmul_output")


def has_a_past(call):
    return call.past


@pytest.mark.parametrize("rung", TORCH)
@pytest.mark.parametrize("name", those(has_a_past))
def test_a_cache_holds_and_gives_what_onnx_calls_present(name, rung):
    call = Call(CASES[name])
    parts = [
        [torch.from_numpy(x) for x in np.split(x, [call.past], axis=-2)] for x in (call.K, call.V)
    ]
    (B, h_kv, S, d_k), d_v = call.K.shape, call.V.shape[-1]
    cache = KVCache(B, h_kv, S, d_k, d_v, dtype=parts[0][0].dtype)
    for K_new, V_new in zip(*parts, strict=True):
        K, V, _, _ = cache.extend(K_new, V_new)
    call.check(K, "present_key")
    call.check(V, "present_value")
    call.K, call.V = K.numpy(), V.numpy()
    call.check(call.attend(rung))


def stands_in_a_cache(call):
    """Say whether the queries are the last filled slots, and nothing but a boolean mask hides."""
    filled = call.given.get("nonpad_kv_seqlen", np.zeros(1))
    windowed = "left_window_size" in call.options
    plain = call.given.get("attn_mask", np.zeros(1, bool)).dtype == bool
    return call.options.get("is_causal") and filled.min() >= call.T and plain and not windowed


@pytest.mark.parametrize("rung", TORCH)
@pytest.mark.parametrize("name", those(stands_in_a_cache))
def test_a_cache_makes_the_mask_that_onnx_describes(name, rung):
    call = Call(CASES[name])
    (Q, K, V), _ = call.tensors()
    filled = torch.from_numpy(call.given["nonpad_kv_seqlen"])
    mask = call.given.get("attn_mask")
    mask = None if mask is None else torch.from_numpy(mask[..., : filled.max()])
    K, V, mask, causal = ladder.continue_cache(K, V, filled, call.T, mask)
    call.check(TORCH[rung](Q, K, V, mask, causal=causal).double().numpy())


def last_meets_last(call):
    causal = call.options.get("is_causal") and "nonpad_kv_seqlen" not in call.given
    return causal and call.offset == call.S - call.T


@pytest.mark.parametrize("rung", ["tiled", "tiled by 2", "module", "fused"])
@pytest.mark.parametrize("name", those(last_meets_last))
def test_causal_says_the_same_where_the_last_query_stands_at_the_last_key(name, rung):
    call = Call(CASES[name])
    del call.options["is_causal"]  # no longer in the mask
    *arrays, mask = call.arguments()
    call.check(ladder.attentions(RUNGS)[rung](*arrays, mask, causal=True))


@pytest.mark.parametrize("kind", [scores_are_shown, has_a_past, stands_in_a_cache, last_meets_last])
def test_there_are_cases_of_each_kind(kind):
    assert those(kind)
