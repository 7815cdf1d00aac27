"""A cache changes how often keys are computed, and never what comes out."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mha_lessons.module import MultiHeadAttention

EXACT = {"rtol": 1e-12, "atol": 1e-12}
both = pytest.mark.parametrize("attend", ["own", "fused"])


def new_layer(attend="own", num_kv_heads=2):
    torch.manual_seed(0)
    layer = MultiHeadAttention(
        12, 4, num_kv_heads=num_kv_heads, bias=True, attend=attend, dtype=torch.float64
    )
    return layer.requires_grad_(False)


@both
@given(chunks=st.lists(st.integers(0, 4), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_chunk_by_chunk_equals_one_call(attend, chunks):
    layer, T = new_layer(attend), sum(chunks)
    x = torch.randn(2, T, 12, dtype=torch.float64)
    cache = layer.new_cache(2, T + 3)
    out = [layer(part, cache=cache) for part in x.split(chunks, dim=1)]
    torch.testing.assert_close(torch.cat(out, dim=1), layer(x, causal=True), **EXACT)


@both
@given(lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4), steps=st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_every_sequence_goes_on_from_its_own_length(attend, lengths, steps):
    layer, B, T = new_layer(attend), len(lengths), 5
    prompt = torch.randn(B, T, 12, dtype=torch.float64)
    tail = torch.randn(B, steps, 12, dtype=torch.float64)
    cache = layer.new_cache(B, T + steps)
    first = layer(prompt, cache=cache, new_lengths=torch.tensor(lengths))
    later = [layer(tail[:, i : i + 1], cache=cache) for i in range(steps)]
    for b, n in enumerate(lengths):
        alone = layer(torch.cat([prompt[b, :n], tail[b]]), causal=True)
        torch.testing.assert_close(first[b, :n], alone[:n], **EXACT)
        torch.testing.assert_close(torch.cat(later, dim=1)[b], alone[n:], **EXACT)


@both
@pytest.mark.parametrize("garbage", [torch.nan, torch.inf])
def test_garbage_in_free_slots_cannot_leak(attend, garbage):
    layer = new_layer(attend)
    prompt = torch.randn(2, 4, 12, dtype=torch.float64)
    token = torch.randn(2, 1, 12, dtype=torch.float64)
    results = []
    for fill in (0.0, garbage):
        cache = layer.new_cache(2, 9)
        cache.K.fill_(fill)
        cache.V.fill_(fill)
        layer(prompt, cache=cache, new_lengths=[1, 4])
        results.append(layer(token, cache=cache))
    torch.testing.assert_close(*results, rtol=0, atol=0)


def test_reordered_beams_go_on_as_the_sequences_they_copy():
    layer = new_layer()
    x = torch.randn(3, 4, 12, dtype=torch.float64)
    token = torch.randn(4, 1, 12, dtype=torch.float64)
    cache, order = layer.new_cache(3, 9), [2, 0, 0, 1]
    layer(x, cache=cache, new_lengths=[4, 2, 3])
    cache.reorder(order)
    out = layer(token, cache=cache)
    for i, (b, n) in enumerate(zip(order, [3, 4, 4, 2], strict=True)):
        alone = layer(torch.cat([x[b, :n], token[i]]), causal=True)
        torch.testing.assert_close(out[i], alone[-1:], **EXACT)


def test_a_mask_hides_cached_keys_too():
    layer, x = new_layer(), torch.randn(2, 5, 12, dtype=torch.float64)
    keep = torch.tensor([True, False, True, True, True])
    cache = layer.new_cache(2, 5)
    layer(x[:, :4], cache=cache)
    out = layer(x[:, 4:], mask=keep, cache=cache)
    torch.testing.assert_close(out, layer(x, mask=keep, causal=True)[:, 4:], **EXACT)


def test_the_cache_is_as_large_as_the_ledger_says():
    from mha_lessons import cost

    cache = new_layer().new_cache(3, 7)
    sizes = cost.Sizes(3, 1, 12, 4, S=7, num_kv_heads=2)
    assert cache.K.nbytes + cache.V.nbytes == cost.kv_cache_bytes(sizes, 8)


def test_no_gradient_flows_into_a_cache():
    layer = new_layer().requires_grad_(True)
    cache = layer.new_cache(1, 4)
    layer(torch.randn(1, 2, 12, dtype=torch.float64), cache=cache).sum().backward()
    assert layer.W_K.weight.grad is None
    assert layer.W_Q.weight.grad is not None


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda layer, cache: layer(torch.randn(2, 5, 12).double(), cache=cache),
            ValueError,
            "The cache has 4 slots per sequence, and 5 are needed",
        ),
        (
            lambda layer, cache: layer(torch.randn(3, 2, 12).double(), cache=cache),
            ValueError,
            r"K must fit the cache: got \(3, 2, 2, 3\) for slots \(2, 2, 4, 3\)",
        ),
        (
            lambda layer, cache: layer(torch.randn(2, 12).double(), cache=cache),
            ValueError,
            r"K must fit the cache: got \(2, 2, 3\)",
        ),
        (
            lambda layer, cache: layer.float()(torch.randn(2, 1, 12), cache=cache),
            TypeError,
            "K must have the dtype of the cache: got torch.float32 for torch.float64",
        ),
        (
            lambda layer, cache: layer(
                torch.randn(2, 2, 12).double(), cache=cache, new_lengths=[1, 3]
            ),
            ValueError,
            r"new_lengths must be one number per sequence, each from 0 to T=2: got \[1, 3\]",
        ),
        (lambda layer, cache: cache.reorder([2]), ValueError, r"from 0 to 1: got \[2\]"),
        (lambda layer, cache: layer.new_cache(1, -1), ValueError, "sizes of 0 or more: got B=1"),
    ],
)
def test_what_does_not_fit_a_cache_is_refused(call, error, words):
    layer = new_layer()
    with pytest.raises(error, match=words):
        call(layer, layer.new_cache(2, 4))


def test_a_refused_call_leaves_the_cache_as_it_was():
    layer = new_layer()
    cache = layer.new_cache(2, 4)
    layer(torch.randn(2, 3, 12).double(), cache=cache)
    before = cache.K.clone(), cache.lengths.clone()
    with pytest.raises(ValueError, match="slots per sequence"):
        layer(torch.randn(2, 2, 12).double(), cache=cache)
    assert torch.equal(cache.K, before[0])
    assert torch.equal(cache.lengths, before[1])
