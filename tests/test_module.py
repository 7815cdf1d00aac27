"""`MultiHeadAttention` is a torch module like any other, around the equation."""

import copy

import numpy as np
import pytest
import torch
from rungs import D_K, D_MODEL, D_V, NUM_HEADS, B, S, T, draw, draw_mask
from torch import nn

from mha_lessons import equation, masks, module, projections
from mha_lessons.module import MultiHeadAttention

EXACT = {"rtol": 1e-12, "atol": 1e-12}  # float64, sums in another order
both = pytest.mark.parametrize("attend", ["own", "fused"])


def layer_and_oracle(attend="own", num_kv_heads=NUM_HEADS, num_heads=NUM_HEADS):
    p = projections.random(
        D_MODEL, num_heads, D_K, D_V, num_kv_heads=num_kv_heads, bias=True, seed=1
    )
    layer = MultiHeadAttention.from_projections(p, attend=attend).requires_grad_(False)

    def oracle(x_q, x_kv, mask=None):
        return equation.multi_head_attention(x_q.numpy(), x_kv.numpy(), p, mask)

    return layer, oracle


def tensors(*shapes, dtype=torch.float64):
    return [torch.from_numpy(draw(*shape, seed=i)).to(dtype) for i, shape in enumerate(shapes)]


@both
@pytest.mark.parametrize(
    "mask",
    [None, draw_mask(B, NUM_HEADS, T, S), masks.padding([2, 5], S), draw_mask(S)],
    ids=["none", "per head", "padding", "keys"],
)
@pytest.mark.parametrize("causal", [False, True])
def test_a_module_made_from_projections_computes_the_equation(attend, mask, causal):
    layer, oracle = layer_and_oracle(attend)
    x_q, x_kv = tensors((B, T, D_MODEL), (B, S, D_MODEL))
    want = oracle(x_q, x_kv, masks.combine(mask, masks.causal(T, S) if causal else None))
    np.testing.assert_allclose(layer(x_q, x_kv, mask, causal=causal), want, **EXACT)


@both
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
def test_consecutive_query_heads_share_a_key_and_value_head(attend, num_kv_heads):
    layer, oracle = layer_and_oracle(attend, num_kv_heads, num_heads=6)
    x_q, x_kv = tensors((B, T, D_MODEL), (B, S, D_MODEL))
    mask = draw_mask(B, 6, T, S)
    np.testing.assert_allclose(layer(x_q, x_kv), oracle(x_q, x_kv), **EXACT)
    np.testing.assert_allclose(layer(x_q, x_kv, mask), oracle(x_q, x_kv, mask), **EXACT)


@both
@pytest.mark.parametrize(("T", "S"), [(3, 5), (5, 3), (4, 4), (1, 5), (1, 1), (3, 0), (0, 3)])
def test_causal_is_aligned_to_the_last_query(attend, T, S):
    layer, oracle = layer_and_oracle(attend)
    x_q, x_kv = tensors((B, T, D_MODEL), (B, S, D_MODEL))
    want = oracle(x_q, x_kv, masks.causal(T, S))
    np.testing.assert_allclose(layer(x_q, x_kv, causal=True), want, **EXACT)


def test_self_attention_is_the_default():
    layer, x = MultiHeadAttention(6, 3), torch.randn(2, 4, 6)
    torch.testing.assert_close(layer(x), layer(x, x), rtol=0, atol=0)


@pytest.mark.parametrize("causal", [False, True])
def test_weights_are_per_head_and_agree_with_the_fused_path(causal):
    layer, _ = layer_and_oracle("fused", num_kv_heads=2, num_heads=6)
    x, mask = tensors((B, T, D_MODEL))[0], draw_mask(B, 6, T, T)
    weights = layer.weights(x, mask=mask, causal=causal)
    assert weights.shape == (B, 6, T, T)
    V = projections.split_heads(layer.W_V(x), 2).repeat_interleave(3, dim=1)
    out = layer.W_O(projections.merge_heads(weights @ V))
    torch.testing.assert_close(layer(x, mask=mask, causal=causal), out, **EXACT)


def test_torchs_own_module_computes_the_same():
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True, dtype=torch.float64)
    packed = theirs.in_proj_weight.detach().numpy()  # (3 * d_model, d_model), out x in
    W_Q, W_K, W_V = (projections.split_heads(W.T, 3) for W in np.split(packed, 3))
    p = projections.Projections(W_Q, W_K, W_V, theirs.out_proj.weight.detach().numpy().T)
    (x,) = tensors((2, 5, 12))
    hidden = torch.from_numpy(~masks.causal(5))  # there, True hides
    want, _ = theirs(x, x, x, attn_mask=hidden)
    got = MultiHeadAttention.from_projections(p)(x, mask=masks.causal(5))
    torch.testing.assert_close(got, want, **EXACT)


@both
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    # About sixteen units of rounding: eps is 1.2e-7, 9.8e-4 and 7.8e-3.
    [(torch.float32, 2e-6), (torch.float16, 1.6e-2), (torch.bfloat16, 1.3e-1)],
)
def test_smaller_dtypes_stay_near_the_equation(attend, dtype, tolerance):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 3, bias=True, attend=attend, dtype=dtype)
    (x,) = tensors((2, 4, 6), dtype=dtype)
    out = layer(x, causal=True)
    p, wide = copy.deepcopy(layer).double().to_projections(), x.double().numpy()
    want = equation.multi_head_attention(wide, wide, p, masks.causal(4))
    assert out.dtype == dtype
    np.testing.assert_allclose(out.detach().double(), want, rtol=0, atol=tolerance)


def test_projections_go_in_and_come_out_unchanged():
    p = projections.random(D_MODEL, 6, D_K, D_V, num_kv_heads=2, bias=True, seed=1)
    back = MultiHeadAttention.from_projections(p).to_projections()
    for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"):
        np.testing.assert_array_equal(getattr(back, name), getattr(p, name))


def test_a_module_without_biases_gives_projections_without():
    p = MultiHeadAttention(6, 3).to_projections()
    assert not any(b.any() for b in (p.b_Q, p.b_K, p.b_V, p.b_O))


def test_state_dict_goes_round():
    one, two = (MultiHeadAttention(6, 3, bias=True) for _ in range(2))
    x = torch.randn(2, 4, 6)
    assert not torch.equal(one(x), two(x))
    two.load_state_dict(one.state_dict())
    assert torch.equal(one(x), two(x))


def test_the_paper_has_no_biases_and_neither_has_the_default():
    assert set(MultiHeadAttention(6, 3).state_dict()) == {f"W_{n}.weight" for n in "QKVO"}


def test_stored_parameters_do_not_depend_on_the_number_of_heads():
    for num_heads in (1, 2, 4, 8):
        layer = MultiHeadAttention(8, num_heads)
        assert sum(W.numel() for W in layer.parameters()) == 4 * 8 * 8


def test_new_projections_keep_unit_variance_and_follow_torchs_seed():
    layers = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        layers.append(MultiHeadAttention(512, 8))
    one, same, other = (layer.W_Q.weight for layer in layers)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    # 512 columns of 500 draws each: the standard error of the variance is below 0.01.
    assert abs(layers[0].W_K(torch.randn(500, 512)).var() - 1) < 0.05


@both
def test_dropout_acts_in_training_only_and_keeps_the_mean(attend):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 3, dropout=0.4, attend=attend).requires_grad_(False)
    x = torch.randn(1, 4, 6)
    plain = layer.eval()(x)
    assert torch.equal(plain, layer(x))
    layer.train()
    draws = layer(x.expand(4000, 4, 6))  # every copy draws its own zeros
    assert not torch.equal(draws[0], draws[1])
    # The standard error of the mean of 4000 draws.
    assert ((draws.mean(dim=0) - plain).abs() < 6 * draws.std(dim=0) / 4000**0.5).all()


def test_dropout_zeroes_weights_and_scales_the_rest():
    torch.manual_seed(0)
    # Equal keys, values of the identity: the output shows each weight.
    Q, K, V = torch.ones(2000, 2), torch.ones(4, 2), torch.eye(4)
    shown = module.attention(Q, K, V, dropout=0.25)
    kept = shown != 0
    torch.testing.assert_close(shown[kept], torch.full_like(shown[kept], 0.25 / 0.75))
    assert abs(kept.float().mean() - 0.75) < 0.02


@both
def test_a_non_contiguous_input_gives_the_same_result(attend):
    layer, x = MultiHeadAttention(6, 3, attend=attend), torch.randn(4, 2, 6)
    torch.testing.assert_close(layer(x.transpose(0, 1)), layer(x.transpose(0, 1).contiguous()))


@both
@pytest.mark.parametrize("shape", [(0, 4, 6), (2, 0, 6), (4, 6), (3, 2, 4, 6)])
def test_empty_inputs_and_any_leading_axes_keep_their_shape(attend, shape):
    layer = MultiHeadAttention(6, 3, attend=attend)
    assert layer(torch.randn(shape)).shape == shape


@both
@pytest.mark.parametrize("causal", [False, True])
def test_it_compiles_to_one_graph(attend, causal):
    layer = MultiHeadAttention(6, 3, num_kv_heads=1, attend=attend)
    x, mask = torch.randn(2, 4, 6), torch.from_numpy(masks.padding([2, 4], 4))
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(
        compiled(x, mask=mask, causal=causal), layer(x, mask=mask, causal=causal)
    )


@both
def test_it_exports(attend):
    layer, x = MultiHeadAttention(6, 3, attend=attend).eval(), torch.randn(2, 4, 6)
    T = torch.export.Dim("T", min=2, max=64)
    program = torch.export.export(
        layer, (x,), {"causal": True}, dynamic_shapes={"x_q": {1: T}, "causal": None}
    )
    longer = torch.randn(2, 9, 6)
    torch.testing.assert_close(program.module()(longer, causal=True), layer(longer, causal=True))


@both
def test_autocast_lowers_the_dtype(attend):
    layer, x = MultiHeadAttention(6, 3, bias=True, attend=attend), torch.randn(2, 4, 6)
    with torch.autocast("cpu", torch.bfloat16):
        out = layer(x, causal=True)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), layer(x, causal=True), rtol=0, atol=0.1)


def test_second_derivatives_are_those_of_differences():
    layer = MultiHeadAttention(4, 2, attend="own", dtype=torch.float64)
    x = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: layer(x, causal=True), (x,))


def test_printing_the_module_says_its_sizes():
    assert repr(MultiHeadAttention(6, 3, d_v=5)).startswith(
        "MultiHeadAttention(\n  d_model=6, num_heads=3, num_kv_heads=3, d_k=2, d_v=5, dropout=0.0"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_heads": 10}, "num_heads must divide d_model: got d_model=512 and num_heads=10"),
        ({"num_heads": 0}, "must be positive: got num_heads=0"),
        ({"num_heads": 8, "d_k": 0}, "Sizes must be positive: got .*d_k=0"),
        ({"num_heads": 8, "num_kv_heads": 3}, "num_kv_heads must divide num_heads: got"),
        ({"num_heads": 8, "dropout": 1.0}, "dropout must be at least 0 and below 1: got 1.0"),
        ({"num_heads": 8, "attend": "flash"}, "'auto', 'own', 'fused', 'kernel': got 'flash'"),
    ],
)
def test_a_layer_that_cannot_be_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(512, **arguments)


@both
def test_mixed_dtypes_and_devices_are_refused_in_our_words(attend):
    layer = MultiHeadAttention(6, 3, attend=attend)
    Q = torch.randn(3, 2)
    with pytest.raises(TypeError, match=r"Q, K and V must share a dtype: got Q torch.float32 and"):
        layer.attend(Q, Q.double(), Q)
    with pytest.raises(ValueError, match=r"on one device: got K on meta beside cpu. Move it with"):
        layer.attend(Q, Q.to("meta"), Q)
    mask = torch.ones(3, 3, dtype=torch.bool, device="meta")
    with pytest.raises(ValueError, match="on one device: got mask on meta beside cpu"):
        layer.attend(Q, Q, Q, mask)
    x = torch.randn(4, 6)
    with pytest.raises(TypeError, match=r"x_q must have the dtype of the layer's projections: got"):
        layer(x.double())
    with pytest.raises(TypeError, match=r"x_kv must have the dtype of .*: got torch.float16 for"):
        layer.weights(x, x.half())
    with pytest.raises(ValueError, match="on one device: got x_kv on meta beside cpu"):
        layer(x, x.to("meta"))
