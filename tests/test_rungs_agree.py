"""Every rung computes what `equation` computes: values and, in torch, gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rungs import D_K, D_MODEL, D_V, NUM_HEADS, RUNGS, B, S, T, draw, draw_mask

from mha_lessons import equation, fused, masks, module, projections

# float64 throughout: the rungs sum in different orders, so equal means to a few units of rounding.
CLOSE = {"rtol": 1e-12, "atol": 1e-13}

others = pytest.mark.parametrize(
    "rung", [r for name, r in RUNGS.items() if name != "equation"], ids=list(RUNGS)[1:]
)
MASKS = {
    "no mask": None,
    "causal": masks.causal(T, S),
    "per head": draw_mask(B, NUM_HEADS, T, S),
    "padding": masks.padding([2, 5], S),
    "one sample blank": masks.padding([0, 4], S),
    "keys only": np.array([True, False, True, True, False]),
    "nothing at all": np.zeros((T, S), dtype=bool),
}
every_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


@others
@every_mask
def test_attention_equals_the_equation(rung, mask):
    Q, K = draw(B, NUM_HEADS, T, D_K), draw(B, NUM_HEADS, S, D_K)
    V = draw(B, NUM_HEADS, S, D_V)
    for name, arguments in (("attention_weights", (Q, K)), ("attention", (Q, K, V))):
        want = getattr(equation, name)(*arguments, mask)
        np.testing.assert_allclose(getattr(rung, name)(*arguments, mask), want, **CLOSE)


@others
@every_mask
@pytest.mark.parametrize("bias", [False, True])
def test_a_whole_layer_equals_the_equation(rung, mask, bias):
    p = projections.random(D_MODEL, NUM_HEADS, D_K, D_V, bias=bias, seed=1)
    x_q, x_kv = draw(B, T, D_MODEL), draw(B, S, D_MODEL)
    want = equation.multi_head_attention(x_q, x_kv, p, mask)
    np.testing.assert_allclose(rung.multi_head_attention(x_q, x_kv, p, mask), want, **CLOSE)


@others
@given(
    shape=st.lists(st.integers(0, 3), max_size=2),
    T=st.integers(0, 4),
    S=st.integers(0, 4),
    d_k=st.integers(1, 4),
    d_v=st.integers(1, 4),
    seed=st.integers(0, 2**16),
    masked=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_leading_axes_and_empty_sizes_agree(rung, shape, T, S, d_k, d_v, seed, masked):
    Q, K, V = (draw(*shape, n, d, seed=seed) for n, d in ((T, d_k), (S, d_k), (S, d_v)))
    mask = draw_mask(*shape, T, S, seed=seed) if masked else None
    got = rung.attention(Q, K, V, mask)
    assert got.shape == (*shape, T, d_v)
    np.testing.assert_allclose(got, equation.attention(Q, K, V, mask), **CLOSE)


@others
@pytest.mark.parametrize("garbage", [np.nan, np.inf, -np.inf])
def test_what_nobody_may_read_may_hold_anything(rung, garbage):
    mask = masks.padding([2, 5], S)
    Q, K, V = draw(B, 1, T, D_K), draw(B, 1, S, D_K), draw(B, 1, S, D_V)
    clean = rung.attention(Q, K, V, mask)
    K[0, :, 2:], V[0, :, 2:] = garbage, garbage
    np.testing.assert_array_equal(rung.attention(Q, K, V, mask), clean)


def test_the_equation_never_touches_a_hidden_pair():
    # Key 1 is garbage that query 1 may read and query 0 may not.
    K, V = draw(2, D_K), draw(2, D_V)
    K[1], V[1] = np.nan, np.nan
    out = equation.attention(draw(2, D_K), K, V, masks.causal(2))
    np.testing.assert_array_equal(out[0], V[0])
    assert np.isnan(out[1]).all()


@pytest.mark.parametrize("rung", RUNGS.values(), ids=RUNGS)
def test_a_blank_row_gives_zeros_and_a_layer_gives_b_O(rung):
    mask = np.ones((T, S), dtype=bool)
    mask[1] = False
    out = rung.attention(draw(T, D_K), draw(S, D_K), draw(S, D_V), mask)
    np.testing.assert_array_equal(out[1], np.zeros(D_V))
    p = projections.random(D_MODEL, NUM_HEADS, D_K, D_V, bias=True, seed=2)
    result = rung.multi_head_attention(draw(T, D_MODEL), draw(S, D_MODEL), p, mask)
    np.testing.assert_array_equal(result[1], p.b_O)


@pytest.mark.parametrize("rung", RUNGS.values(), ids=RUNGS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_that_comes_is_the_dtype_that_goes(rung, dtype):
    Q, K, V = (draw(n, 4).astype(dtype) for n in (T, S, S))
    assert rung.softmax(Q).dtype == dtype
    assert rung.attention_weights(Q, K, masks.causal(T, S)).dtype == dtype
    assert rung.attention(Q, K, V, masks.causal(T, S)).dtype == dtype


@pytest.mark.parametrize("rung", RUNGS.values(), ids=RUNGS)
def test_no_input_is_changed(rung):
    Q, K, V, mask = draw(T, D_K), draw(S, D_K), draw(S, D_V), draw_mask(T, S)
    before = [x.copy() for x in (Q, K, V, mask)]
    rung.attention(Q, K, V, mask)
    for x, copy in zip((Q, K, V, mask), before, strict=True):
        np.testing.assert_array_equal(x, copy)


def numeric_gradient(f, x, step=1e-6):
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (f(up) - f(down)) / (2 * step)
    return gradient


@pytest.mark.parametrize("attend", [module.attention, fused.attention])
@pytest.mark.parametrize("mask", [None, masks.causal(3, 2)], ids=["no mask", "a blank first row"])
def test_torch_gradients_are_those_of_the_equation(attend, mask):
    arrays = {"Q": draw(3, 5), "K": draw(2, 5), "V": draw(2, 7)}
    direction = draw(3, 7, seed=9)
    tensors = {n: torch.tensor(x, requires_grad=True) for n, x in arrays.items()}
    (attend(*tensors.values(), mask) * torch.from_numpy(direction)).sum().backward()
    for name in arrays:

        def loss(x, name=name):
            return (equation.attention(**(arrays | {name: x}), mask=mask) * direction).sum()

        want = numeric_gradient(loss, arrays[name])
        # Central differences of step 1e-6 are good to about 1e-9.
        np.testing.assert_allclose(tensors[name].grad.numpy(), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("attend", [module.attention, fused.attention])
def test_no_gradient_comes_from_hidden_garbage_or_blank_rows(attend):
    Q, K, V = (torch.tensor(draw(B, n, 4)) for n in (T, S, S))
    K[0], V[0] = torch.nan, torch.nan
    for x in (Q, K, V):
        x.requires_grad_()
    mask = masks.padding([0, 5], S)[:, 0]
    attend(Q, K, V, mask).sum().backward()
    for x in (Q, K, V):
        assert (x.grad[0] == 0).all()
        assert torch.isfinite(x.grad).all()
    assert (V.grad[1] != 0).any()


@pytest.mark.parametrize("attend", [module.attention, fused.attention])
def test_the_module_has_the_gradient_of_its_projections(attend):
    layer = module.MultiHeadAttention(6, 3, bias=True, attend=attend, dtype=torch.float64)
    x = torch.tensor(draw(2, 4, 6), requires_grad=True)
    names, parameters = zip(*layer.named_parameters(), strict=True)
    assert set(names) == {f"W_{n}.{part}" for n in "QKVO" for part in ("weight", "bias")}

    def run(x, *parameters):
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(layer, given, (x, None, masks.causal(4)))

    assert torch.autograd.gradcheck(run, (x, *parameters))
