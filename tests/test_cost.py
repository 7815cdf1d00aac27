"""Every line of the ledger, counted in three ways that agree.

By derivation in the docstring, whose result is the function; by arrays that count what NumPy does
to them; and by torch's own counter.
"""

from collections import Counter
from math import prod

import numpy as np
import pytest
import torch
from rungs import B, S, T, draw
from torch.func import functional_call, jacrev
from torch.utils.flop_counter import FlopCounterMode

from mha_lessons import cost, module, projections, vectorized
from mha_lessons.cost import Sizes

SIZES = [
    Sizes(B, T, d_model=22, num_heads=2, S=S),
    Sizes(B, T, d_model=11, num_heads=7, S=S, d_k=13, d_v=17),
    Sizes(B, T, d_model=11, num_heads=6, S=S, num_kv_heads=3, d_k=5, d_v=7),
    Sizes(1, 1, d_model=3, num_heads=3),
]
every_size = pytest.mark.parametrize("sizes", SIZES, ids=range(len(SIZES)))


SEEN = Counter()


class Counting(np.ndarray):
    """An array that counts the products and exponentials it takes part in."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [np.asarray(x) if isinstance(x, Counting) else x for x in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            SEEN["flops"] += 2 * prod(result.shape) * plain[0].shape[-1]
        elif ufunc is np.exp:
            SEEN["exps"] += result.size
        return result.view(Counting) if isinstance(result, np.ndarray) else result


def run(sizes, rung):
    z = sizes
    p = projections.random(
        z.d_model, z.num_heads, z.d_k, z.d_v, num_kv_heads=z.num_kv_heads, seed=0
    )
    SEEN.clear()
    x_q, x_kv = draw(z.B, z.T, z.d_model), draw(z.B, z.S, z.d_model)
    rung.multi_head_attention(x_q.view(Counting), x_kv.view(Counting), p)
    return dict(SEEN)


@every_size
def test_arrays_that_count_see_the_flops_and_the_scores_of_the_ledger(sizes):
    seen = run(sizes, vectorized)
    flops = sum(cost.projection_flops(sizes).values()) + sum(cost.score_flops(sizes).values())
    assert seen["flops"] == flops
    assert seen["exps"] == cost.score_elements(sizes)


@every_size
def test_torchs_counter_sees_the_flops_of_the_ledger(sizes):
    z = sizes
    p = projections.random(
        z.d_model, z.num_heads, z.d_k, z.d_v, num_kv_heads=z.num_kv_heads, seed=0
    )
    x_q, x_kv = (torch.from_numpy(draw(z.B, n, z.d_model)) for n in (z.T, z.S))
    with FlopCounterMode(display=False) as counter:
        module.multi_head_attention(x_q, x_kv, p)
    flops = sum(cost.projection_flops(sizes).values()) + sum(cost.score_flops(sizes).values())
    assert counter.get_total_flops() == flops


def test_torchs_counter_misses_the_score_products_of_a_fused_kernel_on_a_cpu():
    z = Sizes(2, 8, d_model=16, num_heads=2)
    layer = module.MultiHeadAttention(16, 2, attend="fused")
    x = torch.randn(2, 8, 16)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x)
    assert counter.get_total_flops() == sum(cost.projection_flops(z).values())
    # Tensors without data take the path that is counted.
    layer, x = layer.to("meta"), x.to("meta")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x)
    both = sum(cost.projection_flops(z).values()) + sum(cost.score_flops(z).values())
    assert counter.get_total_flops() == both


def test_a_backward_pass_costs_twice_the_forward_pass():
    layer, x = (
        module.MultiHeadAttention(16, 2, attend="own"),
        torch.randn(2, 8, 16, requires_grad=True),
    )
    with FlopCounterMode(display=False) as forward:
        out = layer(x)
    with FlopCounterMode(display=False) as backward:
        out.sum().backward()
    assert backward.get_total_flops() == 2 * forward.get_total_flops()


def layers():
    for d_model, num_heads, num_kv_heads, d_k, d_v in (
        (4, 1, 1, None, None),
        (4, 2, 2, None, None),
        (6, 3, 3, None, None),
        (6, 6, 6, None, None),
        (5, 2, 2, 3, 2),
        (4, 4, 2, 2, 3),
        (5, 3, 1, 2, 2),
    ):
        yield Sizes(8, 5, d_model, num_heads, num_kv_heads=num_kv_heads, d_k=d_k, d_v=d_v)


@pytest.mark.parametrize("sizes", list(layers()), ids=str)
def test_effective_parameters_are_the_rank_of_the_jacobian(sizes):
    z = sizes
    torch.manual_seed(0)
    layer = module.MultiHeadAttention(
        z.d_model,
        z.num_heads,
        num_kv_heads=z.num_kv_heads,
        d_k=z.d_k,
        d_v=z.d_v,
        attend="own",
        dtype=torch.float64,
    )
    stored = dict(layer.named_parameters())
    assert sum(W.numel() for W in stored.values()) == cost.parameters(z)
    x = torch.randn(40, 5, z.d_model, dtype=torch.float64)
    jacobian = jacrev(lambda W: functional_call(layer, W, (x,)))(stored)
    J = torch.cat([j.reshape(x.numel(), -1) for j in jacobian.values()], dim=1)
    assert int(torch.linalg.matrix_rank(J, rtol=1e-9)) == cost.effective_parameters(z)


def test_the_usual_widths_give_the_textbook_formulas():
    for h in (1, 2, 4, 8):
        z, d = Sizes(3, 5, d_model=16, num_heads=h), 16
        assert set(cost.projection_flops(z).values()) == {2 * 3 * 5 * d**2}
        assert set(cost.score_flops(z).values()) == {2 * 3 * 5 * 5 * d}
        assert cost.score_elements(z) == h * 3 * 5 * 5
        assert cost.parameters(z) == 4 * d**2
        assert cost.parameters(z, bias=True) == 4 * d**2 + 4 * d
        assert cost.effective_parameters(z) == 4 * d**2 - 2 * d**2 // h
        assert cost.kv_cache_bytes(z, 2, layers=7) == 7 * 3 * 2 * 5 * d * 2


def test_biases_are_counted_as_the_module_stores_them():
    layer = module.MultiHeadAttention(10, 4, d_k=3, d_v=2, num_kv_heads=2, bias=True)
    z = Sizes(1, 1, 10, 4, d_k=3, d_v=2, num_kv_heads=2)
    assert cost.parameters(z, bias=True) == sum(W.numel() for W in layer.parameters())


def test_stored_bytes_are_those_of_the_arrays():
    z = Sizes(2, 3, d_model=8, num_heads=4, S=5)
    Q, K, V = draw(2, 4, 3, 2), draw(2, 4, 5, 2), draw(2, 4, 5, 2)
    assert vectorized.attention_weights(Q, K).nbytes == cost.materialised_bytes(z, 8)
    log_sums = np.zeros((2, 4, 3), dtype=np.float32)
    assert vectorized.attention(Q, K, V).nbytes + log_sums.nbytes == cost.tiled_bytes(z, 8)
    assert K.nbytes + V.nbytes == cost.kv_cache_bytes(z, 8)


@pytest.mark.parametrize(
    ("num_kv_heads", "skips_future"), [(8, False), (2, False), (1, False), (8, True)]
)
def test_at_the_crossover_both_halves_cost_the_same(num_kv_heads, skips_future):
    T = cost.crossover_length(64, 8, num_kv_heads, skips_future=skips_future)
    assert T == int(T)
    z = Sizes(1, int(T), d_model=64, num_heads=8, num_kv_heads=num_kv_heads)
    scores = sum(cost.score_flops(z).values()) / (2 if skips_future else 1)
    assert scores == sum(cost.projection_flops(z).values())


def test_the_crossover_lies_at_twice_the_width():
    assert cost.crossover_length(512) == cost.crossover_length(512, 8) == 1024
    assert cost.crossover_length(46, 46, 1) == 47  # whole, however many share


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Sizes(1, 2, 512, 10), "num_heads must divide d_model: got d_model=512"),
        (lambda: Sizes(1, 2, 8, 4, num_kv_heads=3), "num_kv_heads must divide num_heads: got num"),
        (lambda: Sizes(1, -2, 8, 4), "Lengths must be 0 or more and widths 1 or more: got Sizes"),
        (lambda: Sizes(1, 2, 8, 4, d_k=0), "Lengths must be 0 or more and widths 1 or more"),
        (lambda: cost.kv_cache_bytes(Sizes(1, 2, 8, 4), 0), "at least one layer and one byte"),
        (lambda: cost.kv_cache_bytes(Sizes(1, 2, 8, 4), 2, layers=0), "got layers=0"),
        (lambda: cost.crossover_length(0), "d_model must be positive: got 0"),
        (lambda: cost.crossover_length(8, 4, 3), "num_kv_heads must divide num_heads"),
        (
            lambda: cost.effective_parameters(Sizes(1, 2, 4, 2, d_k=5)),
            "heads no wider than d_model: got d_k=5, d_v=5 and d_model=4",
        ),
    ],
)
def test_sizes_that_cannot_be_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
