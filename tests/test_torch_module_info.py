"""Torch's own samples for `nn.MultiheadAttention` give here what they give there.

Three things that torch offers are said by other means. Keys and values of different inputs: both
stand side by side in x_kv. One more key and value that is learned (add_bias_kv) or zero
(add_zero_attn): the seam `attend` has room for it. So no sample is left out.
"""

import importlib.util
import os
import subprocess
import sys

import ladder
import pytest
import torch
from torch import nn

from mha_lessons import fused, layouts, module
from mha_lessons.module import MultiHeadAttention
from mha_lessons.projections import Projections, split_heads

if os.environ.get("MHA_REQUIRE_PEERS") != "1" and not importlib.util.find_spec("expecttest"):
    pytest.skip("torch's test samples need expecttest, an optional peer", allow_module_level=True)

# Torch's test plumbing parses sys.argv and changes global flags of torch: not in this process.
SAVE_SAMPLES = """
import sys, torch
from torch.testing._internal import common_modules as theirs

samples = theirs.module_inputs_torch_nn_MultiheadAttention(
    None, device="cpu", dtype=torch.float64, requires_grad=False, training=False
)
parts = [(sample.constructor_input, sample.forward_input) for sample in samples]
torch.save([(made.kwargs, given.args, given.kwargs) for made, given in parts], sys.argv[1])
"""
OPTIONS = {"embed_dim", "num_heads", "bias", "batch_first", "add_bias_kv", "add_zero_attn"}
MASKS = {"key_padding_mask", "attn_mask"}
CLOSE = {"rtol": 1e-12, "atol": 1e-12}  # float64, sums in another order


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    path = tmp_path_factory.mktemp("samples") / "samples.pt"
    subprocess.run([sys.executable, "-c", SAVE_SAMPLES, path], check=True)
    return torch.load(path)


def build(**options):
    """Make torch's module, with parameters that are all drawn."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(**options, dtype=torch.float64)
    for parameter in theirs.parameters():  # biases start at 0, where a lost one would not be seen
        nn.init.normal_(parameter)
    return theirs.requires_grad_(False)


def side_by_side(theirs):
    """Read projections that find the key in the first features of x_kv, the value in the others."""
    state = {name: x for name, x in theirs.state_dict().items() if not name.startswith("bias_")}
    p = layouts.read(state, "torch", num_heads=theirs.num_heads)
    parts = {name: torch.from_numpy(x) for name, x in vars(p).items()}
    first, last = (0, 0, 0, p.d_model), (0, 0, p.d_model, 0)  # where the rows of zeros go
    rows = {"W_Q": first, "W_K": first, "W_V": last, "W_O": (0, p.d_model), "b_O": (0, p.d_model)}
    wide = {name: nn.functional.pad(parts[name], zeros) for name, zeros in rows.items()}
    return Projections(**{name: x.numpy() for name, x in (parts | wide).items()})


def arguments(query, key, value, key_padding_mask=None, attn_mask=None):
    """Return x_q, x_kv and one mask, True = may attend, for torch's two, True = hidden."""
    hidden = [mask for mask in (key_padding_mask, attn_mask) if mask is not None]
    mask = ~torch.stack(torch.broadcast_tensors(*hidden)).any(dim=0) if hidden else None
    x_q = torch.cat([query, torch.full_like(query, 1e3)], dim=-1)  # no projection reads the rest
    return x_q, torch.cat([key, value], dim=-1), mask


def with_more_keys(attention, theirs, seen):
    """Let an attention function see torch's additional keys and values, which nothing hides."""
    more = []
    if theirs.bias_k is not None:
        more.append([split_heads(x[0], theirs.num_heads) for x in (theirs.bias_k, theirs.bias_v)])
    if theirs.add_zero_attn:
        more.append([torch.zeros(theirs.num_heads, 1, theirs.head_dim, dtype=torch.float64)] * 2)

    def attend(Q, K, V, mask=None, **options):
        for k, v in more:
            K, V = torch.cat([K, k], dim=-2), torch.cat([V, v], dim=-2)
            mask = None if mask is None else nn.functional.pad(mask, (0, 1), value=True)
        seen.append(module.attention_weights(Q, K, mask))
        return attention(Q, K, V, mask, **options)

    return attend


def test_torch_has_the_samples_that_we_know(samples):
    assert len(samples) == 64
    for options, inputs, masks in samples:
        assert (set(options), set(masks)) == (OPTIONS, MASKS)
        assert [x.shape for x in inputs] == [(3, 3)] * 3


@pytest.mark.parametrize("attention", [module.attention, fused.attention], ids=["own", "fused"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("add_bias_kv", [True, False])
@pytest.mark.parametrize("add_zero_attn", [True, False])
def test_outputs_and_weights_are_those_of_torch(
    samples, attention, bias, add_bias_kv, add_zero_attn
):
    chosen = {"bias": bias, "add_bias_kv": add_bias_kv, "add_zero_attn": add_zero_attn}
    these = [sample for sample in samples if chosen.items() <= sample[0].items()]
    assert len(these) == 8  # without batch: either mask or not, batch_first or not
    for options, inputs, masks in these:
        theirs, seen = build(**options), []
        attend = with_more_keys(attention, theirs, seen)
        ours = MultiHeadAttention.from_projections(side_by_side(theirs), attend=attend)
        got = ours.requires_grad_(False)(*arguments(*inputs, **masks))
        for average in (True, False):
            want, weights = theirs(*inputs, **masks, average_attn_weights=average)
            mine = seen[0].mean(dim=-3) if average else seen[0]
            torch.testing.assert_close(mine, weights, **CLOSE)
            torch.testing.assert_close(got[..., :3], want, **CLOSE)
        want, _ = theirs(*inputs, **masks, need_weights=False)
        torch.testing.assert_close(got[..., :3], want, **CLOSE)


@pytest.mark.parametrize("rung", ["equation", "vectorized", "module", "fused"])
def test_every_rung_gives_the_output_of_torch(samples, rung):
    layer = ladder.layers(ladder.load())[rung]
    plain = [s for s in samples if not s[0]["add_bias_kv"] and not s[0]["add_zero_attn"]]
    assert len(plain) == 16
    for options, inputs, masks in plain:
        theirs = build(**options)
        want, _ = theirs(*inputs, **masks)
        x_q, x_kv, mask = arguments(*inputs, **masks)
        mask = None if mask is None else mask.numpy()
        got = layer(x_q.numpy(), x_kv.numpy(), side_by_side(theirs), mask)
        torch.testing.assert_close(torch.from_numpy(got)[..., :3], want, **CLOSE)
