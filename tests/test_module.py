"""`MultiHeadAttention` is a torch module like any other, around the equation."""

import numpy as np
import pytest
import torch
from rungs import D_K, D_MODEL, D_V, NUM_HEADS, B, S, T, draw

from mha_lessons import equation, masks, module, projections
from mha_lessons.module import MultiHeadAttention

both = pytest.mark.parametrize("attend", [module.attention, module.fused_attention])


@both
def test_a_module_made_from_projections_computes_the_equation(attend):
    p = projections.random(D_MODEL, NUM_HEADS, D_K, D_V, bias=True, seed=1)
    layer = MultiHeadAttention.from_projections(p, attend=attend)
    x_q, x_kv, mask = draw(B, T, D_MODEL), draw(B, S, D_MODEL), masks.causal(T, S)
    out = layer(torch.from_numpy(x_q), torch.from_numpy(x_kv), mask).detach().numpy()
    want = equation.multi_head_attention(x_q, x_kv, p, mask)
    np.testing.assert_allclose(out, want, rtol=1e-12, atol=1e-13)


def test_self_attention_is_the_default():
    layer, x = MultiHeadAttention(6, 3), torch.randn(2, 4, 6)
    torch.testing.assert_close(layer(x), layer(x, x), rtol=0, atol=0)


def test_weights_are_per_head_and_match_the_equation():
    p = projections.random(D_MODEL, NUM_HEADS, D_K, D_V, bias=True, seed=1)
    x, mask = draw(B, T, D_MODEL), masks.causal(T)
    got = MultiHeadAttention.from_projections(p).weights(torch.from_numpy(x), mask=mask)
    assert got.shape == (B, NUM_HEADS, T, T)
    for i in range(NUM_HEADS):
        Q, K = x @ p.W_Q[i] + p.b_Q[i], x @ p.W_K[i] + p.b_K[i]
        want = equation.attention_weights(Q, K, mask)
        np.testing.assert_allclose(got[:, i].detach().numpy(), want, rtol=1e-12, atol=1e-13)


def test_torchs_own_module_computes_the_same():
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(12, 3, bias=False, batch_first=True, dtype=torch.float64)
    packed = theirs.in_proj_weight.detach().numpy()  # (3 * d_model, d_model), out x in
    W_Q, W_K, W_V = (projections.split_heads(W.T, 3) for W in np.split(packed, 3))
    p = projections.Projections(W_Q, W_K, W_V, theirs.out_proj.weight.detach().numpy().T)
    x = torch.from_numpy(draw(2, 5, 12))
    hidden = torch.from_numpy(~masks.causal(5))  # there, True hides
    want, _ = theirs(x, x, x, attn_mask=hidden)
    got = MultiHeadAttention.from_projections(p)(x, mask=masks.causal(5))
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)


@both
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    # About sixteen units of rounding: eps is 1.2e-7, 9.8e-4 and 7.8e-3.
    [(torch.float32, 2e-6), (torch.float16, 1.6e-2), (torch.bfloat16, 1.3e-1)],
)
def test_smaller_dtypes_stay_near_the_equation(attend, dtype, tolerance):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 3, bias=True, attend=attend, dtype=dtype)
    x, mask = torch.randn(2, 4, 6, dtype=dtype), masks.causal(4)
    names = ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O")
    p = projections.Projections(*(getattr(layer, n).detach().double().numpy() for n in names))
    want = equation.multi_head_attention(x.double().numpy(), x.double().numpy(), p, mask)
    out = layer(x, mask=mask)
    assert out.dtype == dtype
    np.testing.assert_allclose(out.detach().double().numpy(), want, rtol=0, atol=tolerance)


def test_state_dict_goes_round():
    one, two = (MultiHeadAttention(6, 3, bias=True) for _ in range(2))
    x = torch.randn(2, 4, 6)
    assert not torch.equal(one(x), two(x))
    two.load_state_dict(one.state_dict())
    assert torch.equal(one(x), two(x))


def test_the_paper_has_no_biases_and_neither_has_the_default():
    assert set(MultiHeadAttention(6, 3).state_dict()) == {"W_Q", "W_K", "W_V", "W_O"}


def test_stored_parameters_do_not_depend_on_the_number_of_heads():
    for num_heads in (1, 2, 4, 8):
        layer = MultiHeadAttention(8, num_heads)
        assert sum(W.numel() for W in layer.parameters()) == 4 * 8 * 8


def test_torch_manual_seed_decides_the_layer():
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(MultiHeadAttention(6, 3).W_Q)
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_a_non_contiguous_input_gives_the_same_result():
    layer, x = MultiHeadAttention(6, 3), torch.randn(4, 2, 6)
    torch.testing.assert_close(layer(x.transpose(0, 1)), layer(x.transpose(0, 1).contiguous()))


def test_printing_the_module_says_its_sizes():
    assert repr(MultiHeadAttention(6, 3, d_v=5)) == (
        "MultiHeadAttention(d_model=6, num_heads=3, d_k=2, d_v=5)"
    )


def test_heads_must_divide_the_width_here_too():
    with pytest.raises(ValueError, match="num_heads must divide d_model: got d_model=512 and num"):
        MultiHeadAttention(512, 10)
