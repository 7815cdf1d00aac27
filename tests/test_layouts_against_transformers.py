"""Attention inside BERT, GPT-2 and Llama of `transformers` is ours, once its layout is read.

Small models are drawn at random from a configuration alone: nothing is downloaded.
"""

import os

import numpy as np
import pytest
import torch
from rungs import draw

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported
if os.environ.get("MHA_REQUIRE_PEERS") != "1":  # otherwise its absence is an error
    pytest.importorskip("transformers", reason="compares with transformers, an optional peer")

from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaModel,
)

from mha_lessons import layouts, masks, vectorized

B, T, LAYERS = 2, 5, 2
LENGTHS = [5, 3]
COMMON = {"vocab_size": 29, "max_position_embeddings": 17}


def bert():
    sizes = {"hidden_size": 21, "num_attention_heads": 3, "intermediate_size": 13}
    config = BertConfig(num_hidden_layers=LAYERS, **sizes, **COMMON)
    return BertModel(config, add_pooling_layer=False)


def gpt2():
    return GPT2Model(GPT2Config(n_layer=LAYERS, n_embd=21, n_head=3, vocab_size=29, n_positions=17))


def llama(attention_bias):
    # d_model = 18 is not num_heads * head_dim = 6 * 4.
    heads = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 4}
    sizes = {"hidden_size": 18, "intermediate_size": 13, "num_hidden_layers": LAYERS}
    model = LlamaModel(LlamaConfig(**sizes, **heads, **COMMON, attention_bias=attention_bias))

    def no_rotation(x, position_ids):  # a turn by 0: cos is 1, sin is 0
        angles = torch.zeros(*position_ids.shape, 4, dtype=x.dtype)
        return angles.cos(), angles.sin()

    model.rotary_emb.forward = no_rotation
    return model


def llama_without_biases():
    return llama(attention_bias=False)


def llama_with_biases():
    return llama(attention_bias=True)


# Model, name of its attention modules, layout, what read needs to know, causal or not, biases.
THREE = {"num_heads": 3}
GROUPED = {"num_heads": 6, "num_kv_heads": 2}
MODELS = [
    pytest.param(bert, "encoder.layer.{}.attention", "bert", THREE, False, "QKVO", id="bert"),
    pytest.param(gpt2, "h.{}.attn", "gpt2", THREE, True, "QKVO", id="gpt2"),
    pytest.param(
        llama_without_biases, "layers.{}.self_attn", "llama", GROUPED, True, "", id="llama"
    ),
    pytest.param(
        llama_with_biases, "layers.{}.self_attn", "llama", GROUPED, True, "QKVO", id="llama, biases"
    ),
]
each_model = pytest.mark.parametrize(
    ("build", "module", "layout", "counts", "causal", "biases"), MODELS
)


def drawn(build, dtype=torch.float64):
    """Build a model whose parameters are all drawn, biases too: nothing passes by being small."""
    torch.manual_seed(0)
    model = build().to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) / parameter.shape[-1] ** 0.5)
    return model


def heard(model, name, implementation):
    """Run the model on tokens; return what its attention module read and what it gave."""
    model.set_attn_implementation(implementation)
    module, seen = model.get_submodule(name), {}
    # BERT's module adds its input and normalises; what W_O gives comes out before.
    gives = module.output.dense if hasattr(module, "output") else module

    def read(module, args, kwargs):
        seen["x"] = args[0] if args else kwargs["hidden_states"]

    def gave(module, args, out):
        seen["out"] = out[0] if isinstance(out, tuple) else out

    hooks = [
        module.register_forward_pre_hook(read, with_kwargs=True),
        gives.register_forward_hook(gave),
    ]
    tokens = torch.arange(B * T).reshape(B, T) * 7 % 29
    keep = torch.arange(T) < torch.tensor(LENGTHS)[:, None]
    with torch.no_grad():
        model(input_ids=tokens, attention_mask=keep.long())
    for hook in hooks:
        hook.remove()
    return seen["x"].numpy(), seen["out"].numpy()


@each_model
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_every_layer_computes_what_the_model_computes(
    build, module, layout, counts, causal, biases, implementation, dtype, tolerance
):
    if layout == "llama" and implementation == "eager":
        tolerance = 1e-6  # its softmax is in float32, whatever the model's dtype
    model = drawn(build, dtype)
    mask = masks.combine(masks.padding(LENGTHS, T), masks.causal(T) if causal else None)
    for layer in range(LAYERS):
        name = module.format(layer)
        p = layouts.read(model.state_dict(), layout, **counts, prefix=name + ".")
        x, want = heard(model, name, implementation)
        got = vectorized.multi_head_attention(x, x, p, mask)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@each_model
def test_the_model_loads_what_is_written_bit_for_bit(build, module, layout, counts, causal, biases):
    model = drawn(build)
    state = model.state_dict()
    prefix = module.format(1) + "."
    p = layouts.read(state, layout, **counts, prefix=prefix)
    written = layouts.write(p, layout, biases=biases, prefix=prefix)
    for name, x in written.items():
        np.testing.assert_array_equal(x, state[name].numpy(), strict=True)
    # Every name of the module is written, but for what stands beside the projections.
    theirs = {name.removeprefix(prefix) for name in state if name.startswith(prefix)}
    ours = {name.removeprefix(prefix) for name in written}
    assert theirs - ours <= set(layouts.LAYOUTS[layout].beside)
    assert ours <= theirs
    model.load_state_dict({n: torch.from_numpy(x) for n, x in written.items()}, strict=False)


def test_rotary_positions_are_outside_what_is_read():
    model = drawn(llama_without_biases)
    del model.rotary_emb.forward  # the class's own comes back
    x, want = heard(model, "layers.0.self_attn", "sdpa")
    p = layouts.read(model.state_dict(), "llama", **GROUPED, prefix="layers.0.self_attn.")
    mask = masks.combine(masks.padding(LENGTHS, T), masks.causal(T))
    got = vectorized.multi_head_attention(x, x, p, mask)
    np.testing.assert_allclose(got[:, 0], want[:, 0], rtol=1e-12, atol=1e-12)  # a turn by 0
    assert np.abs(got - want)[:, 1:].max() > 0.01


def test_a_cross_attention_of_gpt2_is_refused():
    model = GPT2Model(GPT2Config(n_layer=1, n_embd=21, n_head=3, add_cross_attention=True))
    with pytest.raises(ValueError, match=r"missing none; unknown q_attn\.weight, q_attn\.bias\."):
        layouts.read(model.state_dict(), "gpt2", num_heads=3, prefix="h.0.crossattention.")


def test_a_cross_attention_of_bert_is_read_like_any_other():
    sizes = {"hidden_size": 21, "num_attention_heads": 3, "intermediate_size": 13}
    config = BertConfig(
        num_hidden_layers=1, is_decoder=True, add_cross_attention=True, **sizes, **COMMON
    )
    model = drawn(lambda: BertModel(config, add_pooling_layer=False))
    cross = model.encoder.layer[0].crossattention
    x_q, x_kv = draw(B, 3, 21), draw(B, T, 21)
    given = {"encoder_hidden_states": torch.from_numpy(x_kv)}
    with torch.no_grad():
        heads, _ = cross.self(torch.from_numpy(x_q), **given)
        want = cross.output.dense(heads).numpy()
    prefix = "encoder.layer.0.crossattention."
    p = layouts.read(model.state_dict(), "bert", num_heads=3, prefix=prefix)
    got = vectorized.multi_head_attention(x_q, x_kv, p)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
