"""The Triton kernel computes the equation, values and gradients.

Without a GPU, Triton's interpreter runs it, slowly: sizes are small, and so are the tiles.
"""

import importlib.util
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_oracle import DEVICE, assert_right, draw, kernel, oracle, run

from mha_lessons import equation, masks, module

T, S = 37, 53  # primes: the last tile of each is never full
PADDING = masks.padding([S, 11], S)
CHOSEN = kernel._plan


@pytest.fixture(autouse=True, scope="module")
def small_tiles():
    """Several tiles even of few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch_tiles(patch, 32, 16)
        yield


def patch_tiles(patch, own, passing):
    sizes = {"OWN": own, "PASSING": passing, "num_warps": 4, "num_stages": 2}
    patch.setattr(kernel, "_plan", lambda *given: CHOSEN(*given) | sizes)


@pytest.mark.parametrize("mask", [None, PADDING], ids=["no mask", "padding"])
@pytest.mark.parametrize(("T", "S"), [(T, S), (S, T)], ids=["T < S", "T > S"])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_equals_the_equation(T, S, causal, mask):
    Q, K, V = draw(2, 1, T, S, 5, 3)
    mask = None if mask is None else mask[..., :S]
    seen = masks.combine(mask, masks.causal(T, S) if causal else None)
    want = equation.attention(*(x.double().cpu().numpy() for x in (Q, K, V)), seen)
    got = kernel.attention(Q, K, V, mask, causal=causal).cpu().numpy()
    # float32 sums of at most 53 terms of size 1.
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-6)


CASES = {
    "all keys": {},
    "causal, T < S": {"causal": True},
    "causal, a key into a new tile": {"causal": True, "S": T + 17},
    "causal, T = S": {"causal": True, "S": T},
    "causal, T > S: blank rows": {"causal": True, "T": S, "S": T},
    "causal, one query of a cache": {"causal": True, "T": 1},
    "padding": {"mask": PADDING},
    "padding hides all of a sample": {"mask": masks.padding([0, 40], S)},
    "holes": {"mask": np.random.default_rng(0).random((2, 1, 1, S)) < 0.5},
    "padding for every sample, causal": {"mask": np.arange(S) < 29, "causal": True},
    "heads share keys": {"h": 4, "h_kv": 2},
    "all heads share keys, causal, padding": {"h": 3, "h_kv": 1, "causal": True, "mask": PADDING},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_output_and_gradients_are_right(case):
    options = {name: case[name] for name in ("mask", "causal") if name in case}
    sizes = {"B": 2, "h": 1, "T": T, "S": S, "d_k": 13, "d_v": 17}
    assert_right(
        *draw(**sizes | {name: case[name] for name in case if name in "T S h h_kv"}), **options
    )


@pytest.mark.parametrize(("own", "passing"), [(16, 32), (16, 16), (64, 16)])
def test_tiles_of_any_size_give_the_same(own, passing, monkeypatch):
    patch_tiles(monkeypatch, own, passing)
    assert_right(*draw(1, 2, T, S, 13, 17, h_kv=1), causal=True)


@pytest.mark.parametrize("width", [1, 8, 16, 24, 40, 64, 80, 128, 256])
def test_any_head_width_is_right(width):
    assert_right(*draw(1, 1, 17, 19, width, width), causal=True)


@pytest.mark.parametrize(("d_k", "d_v"), [(40, 8), (8, 130)])
def test_values_may_have_another_width(d_k, d_v):
    assert_right(*draw(1, 1, 17, 19, d_k, d_v))


# bfloat16 needs a GPU.
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("width", [64, 128])
def test_every_dtype_is_right_in_the_tiles_chosen_for_it(dtype, width, monkeypatch):
    monkeypatch.setattr(kernel, "_plan", CHOSEN)
    assert_right(*draw(1, 1, 131, 71, width, width, dtype=dtype), causal=True)


@given(
    B=st.integers(0, 2),
    h_kv=st.integers(1, 2),
    group=st.integers(1, 2),
    T=st.integers(0, 35),
    S=st.integers(0, 35),
    d_k=st.integers(1, 20),
    d_v=st.integers(1, 20),
    causal=st.booleans(),
    masked=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_any_sizes_are_right(B, h_kv, group, T, S, d_k, d_v, causal, masked):
    mask = np.random.default_rng(0).random((B, 1, 1, S)) < 0.6 if masked else None
    assert_right(*draw(B, h_kv * group, T, S, d_k, d_v, h_kv), mask, causal)


EMPTY = {"B": 0, "h": 0, "T": 0, "S": 0, "d_v": 0}


@pytest.mark.parametrize("axis", EMPTY)
def test_empty_sizes_give_empty_results_or_zeros(axis):
    sizes = {"B": 2, "h": 2, "T": 3, "S": 5, "d_k": 7, "d_v": 11} | {axis: 0}
    got = run(kernel.attention, *draw(**sizes))
    assert got["out"].shape == (sizes["B"], sizes["h"], sizes["T"], sizes["d_v"])
    if axis in ("T", "S"):
        assert all((x == 0).all() for x in got.values())


def test_strides_may_be_anything():
    Q, K, V = draw(2, 2, T, S, 8, 8)
    K, V = K[:1].expand(2, -1, -1, -1), V.flip(2)
    want = run(kernel.attention, Q, K, V)
    Q = Q.transpose(1, 2).contiguous().transpose(1, 2)  # as a layer projects it
    wide = torch.full((*V.shape[:2], 2 * S, 16), torch.nan, device=DEVICE)
    wide[:, :, 1::2, ::2] = V
    got = run(kernel.attention, Q, K, wide[:, :, 1::2, ::2])
    for name in want:
        assert torch.equal(got[name], want[name])


def test_the_gradient_may_have_any_strides():
    Q, K, V = (x.requires_grad_() for x in draw(1, 1, T, S, 8, 8))
    dO = torch.full((1, 1, 1, 1), 2.0, device=DEVICE).expand(1, 1, T, 8)
    out = kernel.attention(Q, K, V)
    want = torch.autograd.grad(out, (Q, K, V), dO.contiguous(), retain_graph=True)
    for x, y in zip(torch.autograd.grad(out, (Q, K, V), dO), want, strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize("garbage", [torch.nan, torch.inf, -torch.inf])
def test_what_nobody_may_read_may_hold_anything(garbage):
    Q, K, V = draw(2, 1, T, S, 8, 8)
    mask = torch.from_numpy(PADDING).to(DEVICE)
    want = run(kernel.attention, Q, K, V, mask, causal=True)
    for x in (K, V):
        x[1, :, 11:] = garbage
    got = run(kernel.attention, Q, K, V, mask, causal=True)
    for name in want:
        assert torch.equal(got[name], want[name])
    assert (got["dK"][1, :, 11:] == 0).all()
    assert (got["dV"][1, :, 11:] == 0).all()


def test_a_query_without_keys_gives_zeros_and_takes_no_gradient():
    Q, K, V = draw(1, 1, S, T, 8, 8)
    got = run(kernel.attention, Q, K, V, causal=True)
    for name in ("out", "dQ"):
        assert (got[name][:, :, : S - T] == 0).all()
        assert (got[name][:, :, S - T + 1 :] != 0).all()


def test_tiles_that_causality_hides_are_not_read():
    # A tile that is read spreads its NaN to every row, seen or not: 0 * NaN is NaN.
    Q, K, V = (x.requires_grad_() for x in draw(1, 1, 64, 64, 8, 8))
    dO = torch.ones(1, 1, 64, 8, device=DEVICE)
    dO[:, :, :32] = torch.nan
    dK, dV = torch.autograd.grad(kernel.attention(Q, K, V, causal=True), (K, V), dO)
    assert dK[:, :, 32:].isfinite().all()
    assert dV[:, :, 32:].isfinite().all()
    V = V.detach()
    V[:, :, 32:] = torch.nan
    out = kernel.attention(Q, K, V, causal=True)
    (dQ,) = torch.autograd.grad(out, Q, torch.ones_like(out))
    assert out[:, :, :32].isfinite().all()
    assert dQ[:, :, :32].isfinite().all()


def test_large_scores_do_not_overflow():
    Q, K, V = draw(1, 1, T, S, 8, 8)
    got, want = run(kernel.attention, 1000 * Q, 10 * K, V), oracle(1000 * Q, 10 * K, V)
    for name in want:
        assert got[name].isfinite().all()
    # Scores of up to 1e5 are themselves rounded by 1e5 * 2^-24 = 6e-3, and exp passes that on.
    torch.testing.assert_close(got["out"].double(), want["out"], rtol=0, atol=2e-2)


def test_the_same_inputs_give_the_same_bits():
    Q, K, V = draw(1, 4, T, S, 8, 8, h_kv=1, dtype=torch.float16)
    first, second = (run(kernel.attention, Q, K, V, causal=True) for _ in range(2))
    for name in first:
        assert torch.equal(first[name], second[name])


def test_only_the_result_and_one_number_per_query_are_kept():
    Q, K, V = (x.requires_grad_() for x in draw(1, 2, T, S, 8, 8))
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        out = kernel.attention(Q, K, V)
    shapes = [tuple(x.shape) for x in kept]
    assert shapes == [tuple(x.shape) for x in (Q, K, V, out)] + [(1, 2, T)]


@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_a_gradient_may_be_wanted_of_one_input_alone(wanted):
    inputs = draw(1, 1, 3, 5, 4, 4)
    want = run(kernel.attention, *inputs)[("dQ", "dK", "dV")[wanted]]
    inputs[wanted].requires_grad_()
    out = kernel.attention(*inputs)
    dO = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    out.backward(dO)
    assert torch.equal(inputs[wanted].grad, want)
    assert all(x.grad is None for x in inputs if x is not inputs[wanted])


def test_a_layer_may_run_on_the_kernel():
    torch.manual_seed(0)
    layer = module.MultiHeadAttention(12, 4, num_kv_heads=2, attend=kernel.attention).to(DEVICE)
    x = torch.randn(2, 7, 12, device=DEVICE)
    got = layer(x, causal=True)
    layer.attend = module.attention
    torch.testing.assert_close(got, layer(x, causal=True))


# Errors.


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype, device=DEVICE)


def attend(h=2, h_kv=2, d_k=4, d_v=4, mask=None, dtype=torch.float32, B=2, **options):
    Q, K = ones(B, h, 3, d_k, dtype=dtype), ones(B, h_kv, 5, d_k, dtype=dtype)
    return kernel.attention(Q, K, ones(B, h_kv, 5, d_v, dtype=dtype), mask, **options)


REFUSED = {
    "three axes": (
        lambda: kernel.attention(ones(2, 3, 4), ones(2, 5, 4), ones(2, 5, 4)),
        ValueError,
        r"Q must have four axes, \(B, heads, positions, width\): got shape \(2, 3, 4\)\. .*Q\[None",
    ),
    "heads": (
        lambda: attend(h=7, h_kv=3),
        ValueError,
        r"got Q \(2, 7, 3, 4\) and K \(2, 3, 5, 4\)\. .* may also divide those of Q",
    ),
    "widths": (
        lambda: kernel.attention(ones(1, 1, 3, 4), ones(1, 1, 5, 6), ones(1, 1, 5, 6)),
        ValueError,
        r"Q and K must share d_k: got Q \(1, 1, 3, 4\) and K \(1, 1, 5, 6\)",
    ),
    "float64": (
        lambda: attend(dtype=torch.float64),
        TypeError,
        "takes float16, bfloat16 and float32: got torch.float64. .*module.attention",
    ),
    "bfloat16, interpreted": (
        lambda: attend(dtype=torch.bfloat16),
        TypeError,
        "interpreter cannot multiply bfloat16: .* Convert to float32, or use a GPU",
    ),
    "integers": (lambda: attend(dtype=torch.int64), TypeError, "Q must be floating point"),
    "two dtypes": (
        lambda: kernel.attention(ones(1, 1, 3, 4), *[ones(1, 1, 5, 4, dtype=torch.float16)] * 2),
        TypeError,
        "Q, K and V must share a dtype: got Q torch.float32 and K torch.float16",
    ),
    "wide heads": (
        lambda: attend(d_v=257),
        ValueError,
        "heads of a width up to 256, .* got d_k=4 and d_v=257. Use more and narrower heads",
    ),
    "large batch": (
        lambda: attend(B=65536, h=1, h_kv=1, d_k=1, d_v=1),
        ValueError,
        r"at most 65535 samples, .* got Q \(65536, 1, 3, 1\)\. Split the batch",
    ),
    "causal mask": (
        lambda: attend(mask=masks.causal(3, 5)),
        ValueError,
        r"mask that hides keys, broadcastable to \(B, 1, 1, S\): got a mask \(3, 5\) for "
        r"\(2, 1, 1, 5\)\. .* causal=True; with any other use mha_lessons.module.attention",
    ),
    "mask of too high a rank": (
        lambda: attend(mask=np.ones((1, 2, 1, 1, 5), bool)),
        ValueError,
        r"got a mask \(1, 2, 1, 1, 5\)",
    ),
    "0/1 mask": (lambda: attend(mask=ones(5)), TypeError, "A mask must be boolean"),
    "dropout": (
        lambda: attend(dropout=0.1),
        ValueError,
        "has no dropout: got dropout=0.1. Set it to 0, or use mha_lessons.module.attention",
    ),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(call, error, words):
    if DEVICE == "cuda" and "interpreter" in words:
        pytest.skip("the interpreter is off where there is a GPU")
    with pytest.raises(error, match=words):
        call()


def test_a_gradient_of_a_gradient_is_refused():
    Q, K, V = (x.requires_grad_() for x in draw(1, 1, 3, 5, 4, 4))
    out = kernel.attention(Q, K, V)
    with pytest.raises(RuntimeError, match=r"no gradient of a gradient: .*module\.attention"):
        torch.autograd.grad(out.sum(), Q, create_graph=True)


def import_again():
    spec = importlib.util.spec_from_file_location("kernel_again", kernel.__file__)
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    return again


def test_importing_without_triton_says_what_is_missing_and_what_to_use(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    words = (
        r"needs Triton, .* pip install triton. .*module.attention or mha_lessons.fused.attention"
    )
    with pytest.raises(ImportError, match=words):
        import_again()


def test_a_cpu_without_the_interpreter_is_refused(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    x = torch.ones(1, 1, 3, 4)
    words = (
        "runs on a GPU: got tensors on cpu. .* mha_lessons.module.attention. .*TRITON_INTERPRET=1"
    )
    with pytest.raises(RuntimeError, match=words):
        import_again().attention(x, x, x)


@pytest.mark.parametrize(("capability", "yes"), [((7, 5), False), ((8, 0), True), ((9, 0), True)])
def test_the_kernel_is_available_on_gpus_that_triton_supports(capability, yes, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    compiled = import_again()
    assert compiled.available("cuda") is yes
    assert not compiled.available("cpu")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert not import_again().available(torch.device("cuda", 0))
