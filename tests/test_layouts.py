"""Projections come and go in other libraries' layouts, and a wrong layout is told by its names."""

from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rungs import B, S, T, draw, draw_mask

from mha_lessons import layouts, masks, projections, vectorized
from mha_lessons.module import MultiHeadAttention
from mha_lessons.projections import Projections

# As many heads as torch's layout allows for these primes: d_model is their product with d_k.
NUM_HEADS, D_K = 3, 7
D_MODEL = NUM_HEADS * D_K
LAYOUTS = list(layouts.LAYOUTS)


def torch_layer(dtype=torch.float64, **options):
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(
        D_MODEL, NUM_HEADS, batch_first=True, dtype=dtype, **options
    )
    with torch.no_grad():  # torch starts biases at zero, where a lost one would not be seen
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) / parameter.shape[-1] ** 0.5)
    return layer


def some_projections(layout, seed=0):
    if layout != "llama":
        return projections.random(D_MODEL, NUM_HEADS, bias=True, seed=seed)
    return projections.random(11, 6, 5, num_kv_heads=2, bias=True, seed=seed)


def some_state(layout, prefix=""):
    return layouts.write(some_projections(layout), layout, biases="QKVO", prefix=prefix)


def read_back(state, layout, **options):
    counts = {"num_heads": 6, "num_kv_heads": 2} if layout == "llama" else {"num_heads": NUM_HEADS}
    return layouts.read(state, layout, **counts | options)


def assert_same_arrays(got, want):
    assert list(got) == list(want)
    for name in want:
        assert got[name].dtype == np.asarray(want[name]).dtype
        np.testing.assert_array_equal(got[name], want[name], strict=True)


# What a loaded layer computes


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_torchs_own_module_computes_the_same(bias, dtype, tolerance):
    layer = torch_layer(dtype, bias=bias)
    p = layouts.read(layer.state_dict(), "torch", num_heads=NUM_HEADS)
    x_q, x_kv = (torch.from_numpy(draw(B, n, D_MODEL)).to(dtype) for n in (T, S))
    mask = draw_mask(T, S) | np.eye(T, S, dtype=bool)  # blank rows are torch's own affair
    want, _ = layer(x_q, x_kv, x_kv, attn_mask=torch.from_numpy(~mask))
    got = vectorized.multi_head_attention(x_q.numpy(), x_kv.numpy(), p, mask)
    assert got.dtype == want.detach().numpy().dtype
    np.testing.assert_allclose(got, want.detach().numpy(), rtol=0, atol=tolerance)


def test_gradients_of_packed_weights_are_ours_in_that_layout():
    theirs = torch_layer()
    p = layouts.read(theirs.state_dict(), "torch", num_heads=NUM_HEADS)
    ours = MultiHeadAttention.from_projections(p)
    x_q, x_kv = (torch.from_numpy(draw(B, n, D_MODEL)) for n in (T, S))
    mask, target = masks.causal(T, S), torch.from_numpy(draw(B, T, D_MODEL, seed=1))
    (
        theirs(x_q, x_kv, x_kv, attn_mask=torch.from_numpy(~mask))[0] - target
    ).square().sum().backward()
    (ours(x_q, x_kv, mask) - target).square().sum().backward()
    with torch.no_grad():  # gradients are laid out like what they belong to
        for parameter in ours.parameters():
            parameter.copy_(parameter.grad)
    for name, got in layouts.write(ours.to_projections(), "torch").items():
        want = theirs.get_parameter(name).grad.numpy()
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)  # b_K's is zero


# Round trips


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reading_undoes_writing(layout):
    p = some_projections(layout)
    again = read_back(some_state(layout), layout)
    for name in vars(p):
        np.testing.assert_array_equal(getattr(again, name), getattr(p, name), strict=True)


@given(
    layout=st.sampled_from(LAYOUTS),
    sizes=st.tuples(*[st.integers(1, 4)] * 4),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    data=st.data(),
)
@settings(deadline=None)
def test_a_state_goes_round_bit_for_bit(layout, sizes, dtype, data):
    num_kv_heads, group, d_k, d_model = sizes
    num_heads = num_kv_heads * group
    if layout != "llama":
        num_kv_heads, d_model = num_heads, num_heads * d_k
    p = projections.random(d_model, num_heads, d_k, num_kv_heads=num_kv_heads, bias=True, seed=1)
    biases = data.draw(st.sampled_from(layouts.LAYOUTS[layout].biases))
    keep = {f"b_{x}": x in biases for x in "QKVO"}
    arrays = {n: (x * keep.get(n, True)).astype(dtype) for n, x in vars(p).items()}
    state = layouts.write(Projections(**arrays), layout, biases=biases, prefix="a.b.")
    again = layouts.read(
        state, layout, num_heads=num_heads, num_kv_heads=num_kv_heads, prefix="a.b."
    )
    assert_same_arrays(layouts.write(again, layout, biases=biases, prefix="a.b."), state)


@pytest.mark.parametrize("bias", [True, False])
def test_torchs_module_loads_what_is_written(bias):
    layer, other = torch_layer(bias=bias), torch_layer(bias=bias)
    p = layouts.read(layer.state_dict(), "torch", num_heads=NUM_HEADS)
    state = layouts.write(p, "torch", biases="QKVO" if bias else "")
    assert_same_arrays(state, layer.state_dict())
    other.load_state_dict({name: torch.from_numpy(x) for name, x in state.items()}, strict=True)
    for name, x in layer.state_dict().items():
        assert torch.equal(other.state_dict()[name], x)


def test_each_layout_stores_its_own_way_round():
    p = some_projections("torch")
    W = [np.concatenate(list(x), axis=1) for x in (p.W_Q, p.W_K, p.W_V)]  # (d_model, h * d_k)
    packed = np.concatenate(W, axis=1)
    np.testing.assert_array_equal(layouts.write(p, "gpt2")["c_attn.weight"], packed)
    np.testing.assert_array_equal(layouts.write(p, "gpt2")["c_proj.weight"], p.W_O)
    np.testing.assert_array_equal(layouts.write(p, "torch")["in_proj_weight"], packed.T)
    np.testing.assert_array_equal(layouts.write(p, "torch")["out_proj.weight"], p.W_O.T)
    np.testing.assert_array_equal(layouts.write(p, "bert")["self.key.weight"], W[1].T)
    np.testing.assert_array_equal(layouts.write(p, "bert")["output.dense.weight"], p.W_O.T)
    llama = layouts.write(p, "llama", biases="QKVO")
    np.testing.assert_array_equal(llama["v_proj.weight"], W[2].T)
    np.testing.assert_array_equal(llama["k_proj.bias"], p.b_K.ravel())


# What a state may hold


def test_a_layer_is_found_by_its_prefix_in_a_whole_model():
    one, two = some_state("bert", "encoder.layer.0.attention."), some_state("gpt2", "h.11.attn.")
    model = one | two | {"pooler.dense.weight": np.ones((2, 2))}
    p = some_projections("bert")
    for layout, prefix in (("bert", "encoder.layer.0.attention."), ("gpt2", "h.11.attn.")):
        again = read_back(model, layout, prefix=prefix)
        np.testing.assert_array_equal(again.W_V, p.W_V)


@pytest.mark.parametrize(
    ("layout", "beside"),
    [
        ("bert", {"output.LayerNorm.weight": np.ones(21), "output.LayerNorm.bias": np.zeros(21)}),
        ("gpt2", {"bias": np.tri(4, dtype=np.uint8), "masked_bias": np.array(-1e4)}),
        ("llama", {"rotary_emb.inv_freq": np.ones(2)}),
    ],
)
def test_what_stands_beside_the_projections_is_left_alone(layout, beside):
    again = read_back(some_state(layout) | beside, layout)
    np.testing.assert_array_equal(again.W_K, some_projections(layout).W_K)


def test_relatives_of_llama_may_have_biases_but_none_on_the_result():
    state = some_state("llama")
    del state["o_proj.bias"]
    p = read_back(state, "llama")
    assert p.b_Q.any()
    assert p.b_V.any()
    assert not p.b_O.any()
    assert_same_arrays(layouts.write(p, "llama", biases="QKV"), state)


def test_tensors_are_copied_whether_they_require_gradients_or_not():
    layer = torch_layer()
    p = layouts.read(dict(layer.named_parameters()), "torch", num_heads=NUM_HEADS)
    before = p.W_O.copy()
    with torch.no_grad():
        layer.out_proj.weight.zero_()
    np.testing.assert_array_equal(p.W_O, before)
    assert all(p.requires_grad for p in layer.parameters())


def test_arrays_are_copied_both_ways():
    state = some_state("gpt2")
    p = read_back(state, "gpt2")
    state["c_proj.weight"][:] = 0
    assert p.W_O.any()
    layouts.write(p, "gpt2")["c_proj.weight"][:] = 0
    assert p.W_O.any()


def test_bfloat16_becomes_float32_exactly():
    state = torch_layer(torch.bfloat16).state_dict()
    p = layouts.read(state, "torch", num_heads=NUM_HEADS)
    again = layouts.write(p, "torch")
    for name, x in state.items():
        assert again[name].dtype == np.float32
        assert torch.equal(torch.from_numpy(again[name]).bfloat16(), x)


def test_tensors_are_brought_to_the_cpu_first():
    class Elsewhere:
        """A tensor on another device, as far as reading goes: only a copy has an array."""

        def __init__(self, tensor):
            self.tensor, self.dtype = tensor, tensor.dtype

        def detach(self):
            return self

        def cpu(self):
            return self.tensor

    state = some_state("gpt2")
    far = {name: Elsewhere(torch.from_numpy(x)) for name, x in state.items()}
    assert_same_arrays(layouts.write(read_back(far, "gpt2"), "gpt2"), state)


@pytest.mark.gpu
def test_tensors_on_a_gpu_are_read():
    state = torch_layer().state_dict()
    on_gpu = {name: x.cuda() for name, x in state.items()}
    p = layouts.read(on_gpu, "torch", num_heads=NUM_HEADS)
    assert_same_arrays(layouts.write(p, "torch"), state)


# What is refused


@pytest.mark.parametrize(("declared", "actual"), list(permutations(LAYOUTS, 2)))
@pytest.mark.parametrize("prefix", ["", "model.layers.3.attn."])
def test_a_state_of_another_layout_is_refused_and_recognised(declared, actual, prefix):
    # All matrices are square but the packed ones: only names can tell.
    p = some_projections("torch")
    state = layouts.write(p, actual, biases="QKVO", prefix=prefix)
    expected = layouts.LAYOUTS[declared].qkv[0] + "weight"
    came = layouts.LAYOUTS[actual].qkv[0] + "weight"
    with pytest.raises(ValueError, match=f"Layout '{declared}' .* has the names {expected}") as e:
        layouts.read(state, declared, num_heads=NUM_HEADS, prefix=prefix)
    assert f"unknown {came}" in str(e.value)
    assert f"They look like layout={actual!r}, prefix={prefix!r}." in str(e.value)


def without(layout, *names):
    return {name: x for name, x in some_state(layout).items() if name not in names}


def with_shape(layout, **shapes):
    state = some_state(layout)
    for name, shape in shapes.items():
        state[name] = np.ones(shape)
    return state


ATTENTION = "encoder.layer.0.attention."
THOSE = "Give exactly those: one more or less may change what the layer computes."

REFUSED = {
    "unknown layout": (
        lambda: layouts.read(some_state("bert"), "BERT", num_heads=3),
        "layout must be one of torch, bert, gpt2, llama: got 'BERT'. Choose one.",
    ),
    "unknown layout to write": (
        lambda: layouts.write(some_projections("bert"), "jax"),
        "layout must be one of torch, bert, gpt2, llama: got 'jax'. Choose one.",
    ),
    "missing weight": (
        lambda: read_back(without("bert", "self.key.weight"), "bert"),
        "Layout 'bert' with prefix '' has the names self.query.weight, self.query.bias, "
        "self.key.weight, self.key.bias, self.value.weight, self.value.bias, output.dense.weight, "
        "output.dense.bias: missing self.key.weight; unknown none. " + THOSE,
    ),
    "missing bias": (
        lambda: read_back(without("gpt2", "c_proj.bias"), "gpt2"),
        "missing c_proj.bias; unknown none. " + THOSE,
    ),
    "biases in part": (
        lambda: read_back(without("torch", "out_proj.bias"), "torch"),
        "missing out_proj.bias; unknown none. " + THOSE,
    ),
    "unknown name": (
        lambda: read_back(some_state("llama") | {"q_norm.weight": np.ones(5)}, "llama"),
        "missing none; unknown q_norm.weight. " + THOSE,
    ),
    "a learned key": (
        lambda: layouts.read(torch_layer(add_bias_kv=True).state_dict(), "torch", num_heads=3),
        "missing none; unknown bias_k, bias_v. add_bias_kv=True learns one more key and "
        "value. Projections has no place for them.",
    ),
    "other widths of keys": (
        lambda: layouts.read(torch_layer(kdim=5).state_dict(), "torch", num_heads=3),
        "missing in_proj_weight; unknown q_proj_weight, k_proj_weight, v_proj_weight. "
        "kdim or vdim differs from embed_dim. Projections has one d_model for all.",
    ),
    "other widths of values": (
        lambda: layouts.read(torch_layer(vdim=5).state_dict(), "torch", num_heads=3),
        "kdim or vdim differs from embed_dim",
    ),
    "forgotten prefix": (
        lambda: read_back(some_state("bert", ATTENTION), "bert"),
        f"They look like layout='bert', prefix='{ATTENTION}'.",
    ),
    "forgotten dot": (
        lambda: read_back(some_state("bert", ATTENTION), "bert", prefix=ATTENTION[:-1]),
        f"They look like layout='bert', prefix='{ATTENTION}'.",
    ),
    "several layers": (
        lambda: read_back(
            some_state("gpt2", "h.0.") | some_state("gpt2", "h.1.") | some_state("gpt2", "h.2."),
            "gpt2",
        ),
        "missing c_attn.weight, c_attn.bias, c_proj.weight, c_proj.bias; unknown "
        "h.0.c_attn.weight, h.0.c_attn.bias, h.0.c_proj.weight, h.0.c_proj.bias, "
        "h.1.c_attn.weight, h.1.c_attn.bias and 6 more. They look like layout='gpt2', "
        "prefix='h.0.' or layout='gpt2', prefix='h.1.' and so on.",
    ),
    "no layout at all": (
        lambda: read_back({f"x{n}_proj.weight": np.ones((2, 2)) for n in "qkvo"}, "llama"),
        "missing q_proj.weight, k_proj.weight, v_proj.weight, o_proj.weight; unknown "
        "xq_proj.weight, xk_proj.weight, xv_proj.weight, xo_proj.weight. " + THOSE,
    ),
    "heads that do not divide": (
        lambda: layouts.read(some_state("bert"), "bert", num_heads=4),
        "Layout 'bert', with weights as (out, in), must fit num_heads=4 and num_kv_heads=4: "
        "got self.query.weight (21, 21), self.query.bias (21,), self.key.weight (21, 21), ",
    ),
    "no heads": (
        lambda: layouts.read(some_state("gpt2"), "gpt2", num_heads=0),
        "must fit num_heads=0 and num_kv_heads=0: got c_attn.weight (21, 63)",
    ),
    "groups where there are none": (
        lambda: layouts.read(some_state("torch"), "torch", num_heads=3, num_kv_heads=1),
        "must fit num_heads=3 and num_kv_heads=1: got in_proj_weight (63, 21)",
    ),
    "forgotten groups": (
        lambda: layouts.read(some_state("llama"), "llama", num_heads=6),
        "must fit num_heads=6 and num_kv_heads=6: got q_proj.weight (30, 11), q_proj.bias "
        "(30,), k_proj.weight (10, 11), k_proj.bias (10,), v_proj.weight (10, 11), ",
    ),
    "swapped head counts": (
        lambda: layouts.read(some_state("llama"), "llama", num_heads=2, num_kv_heads=6),
        "must fit num_heads=2 and num_kv_heads=6: got q_proj.weight (30, 11)",
    ),
    "a Linear where Conv1D is due": (
        lambda: read_back({n: x.T for n, x in some_state("gpt2").items()}, "gpt2"),
        "Layout 'gpt2', with weights as (in, out), must fit num_heads=3 and num_kv_heads=3: "
        "got c_attn.weight (63, 21), c_attn.bias (63,), c_proj.weight (21, 21), c_proj.bias "
        "(21,). Take both numbers from the model's configuration; transpose every weight if they "
        "lie the other way.",
    ),
    "pruned": (
        lambda: read_back(
            with_shape("bert", **{f"self.{x}.weight": (18, 21) for x in ("query", "key", "value")})
            | with_shape("bert", **{"output.dense.weight": (21, 18)}),
            "bert",
        ),
        "must fit num_heads=3 and num_kv_heads=3: got self.query.weight (21, 21)",
    ),
    "a packed width that is no multiple of three": (
        lambda: read_back(with_shape("torch", in_proj_weight=(62, 21)), "torch"),
        "got in_proj_weight (62, 21), in_proj_bias (63,), out_proj.weight (21, 21)",
    ),
    "a bias of another shape": (
        lambda: read_back(with_shape("torch", in_proj_bias=(3, 21)), "torch"),
        "in_proj_bias (3, 21)",
    ),
    "a bias of several rows": (
        lambda: read_back(with_shape("gpt2", **{"c_attn.bias": (2, 63)}), "gpt2"),
        "c_attn.bias (2, 63)",
    ),
    "a result's bias of another shape": (
        lambda: read_back(with_shape("torch", **{"out_proj.bias": (1, 21)}), "torch"),
        "out_proj.weight (21, 21), out_proj.bias (1, 21). Take",
    ),
    "a vector for a matrix": (
        lambda: read_back(with_shape("bert", **{"output.dense.weight": (21,)}), "bert"),
        "output.dense.weight (21,)",
    ),
    "a vector for a projection": (
        lambda: read_back(with_shape("bert", **{"self.key.weight": (21,)}), "bert"),
        "self.key.weight (21,)",
    ),
    "a scalar for a projection": (
        lambda: read_back(with_shape("gpt2", **{"c_attn.weight": ()}), "gpt2"),
        "c_attn.weight ()",
    ),
    "writing groups into a layout without": (
        lambda: layouts.write(some_projections("llama"), "torch"),
        "Layout 'torch' has d_k = d_v, and all but 'llama' have d_k = d_model / num_heads and "
        "num_kv_heads = num_heads: got d_model=11, num_heads=6, num_kv_heads=2, d_k=5, d_v=5. "
        "Choose a layout that has room, or zero heads instead of pruning them.",
    ),
    "writing wide heads": (
        lambda: layouts.write(projections.random(6, 3, 5, seed=0), "bert"),
        "Layout 'bert' has d_k = d_v, and all but 'llama' have d_k = d_model / num_heads",
    ),
    "writing values of another width": (
        lambda: layouts.write(projections.random(6, 3, 2, 5, seed=0), "llama"),
        "Layout 'llama' has d_k = d_v, and",
    ),
    "losing biases": (
        lambda: layouts.write(some_projections("llama"), "llama"),
        "biases must name all that are not zero and be '' or 'QKV' or 'QKVO' in layout 'llama': "
        "got '', which loses b_Q, b_K, b_V, b_O. Choose another.",
    ),
    "losing the result's bias": (
        lambda: layouts.write(some_projections("llama"), "llama", biases="QKV"),
        "got 'QKV', which loses b_O. Choose another.",
    ),
    "biases that a layout does not have": (
        lambda: layouts.write(projections.random(6, 3, seed=0), "bert", biases=""),
        "and be 'QKVO' in layout 'bert': got '', which loses none. Choose another.",
    ),
}


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_in_words(call, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the words are compared below
        call()
    assert words in str(error.value)


def test_integers_are_refused_by_name():
    state = {name: x.astype(np.int8) for name, x in some_state("bert").items()}
    with pytest.raises(TypeError, match=r"self\.query\.weight must be floating point: got int8"):
        read_back(state, "bert")
