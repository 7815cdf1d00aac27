"""The compiled kernel computes the equation, at the sizes and in the dtypes that GPUs are for."""

import pytest
import torch
from kernel_oracle import DEVICE, assert_right, draw, kernel, run

from mha_lessons import masks

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        DEVICE != "cuda",
        reason="needs a CUDA GPU of compute capability 8.0 or more, and TRITON_INTERPRET unset",
    ),
]

DTYPES = [torch.float16, torch.bfloat16, torch.float32]
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
T, S = 1021, 1531  # primes: the last tile of each is never full
PADDING = masks.padding([S, 700], S)


@every_dtype
@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("mask", [None, PADDING], ids=["no mask", "padding"])
@pytest.mark.parametrize("causal", [False, True])
def test_output_and_gradients_are_right(causal, mask, width, dtype):
    assert_right(*draw(2, 4, T, S, width, width, h_kv=2, dtype=dtype), mask, causal)


@every_dtype
@pytest.mark.parametrize("width", [1, 8, 16, 24, 32, 40, 80, 256])
def test_any_head_width_is_right(width, dtype):
    assert_right(*draw(1, 2, 257, 131, width, width, dtype=dtype), causal=True)


@every_dtype
@pytest.mark.parametrize(("d_k", "d_v"), [(40, 8), (64, 128), (192, 128)])
def test_values_may_have_another_width(d_k, d_v, dtype):
    assert_right(*draw(1, 2, 257, 131, d_k, d_v, dtype=dtype))


@every_dtype
def test_a_single_query_of_a_cache_is_right(dtype):
    assert_right(*draw(2, 8, 1, T, 64, 64, h_kv=1, dtype=dtype), causal=True)


@every_dtype
@pytest.mark.parametrize("garbage", [torch.nan, torch.inf])
def test_what_nobody_may_read_may_hold_anything(garbage, dtype):
    Q, K, V = draw(2, 2, T, S, 64, 64, dtype=dtype)
    want = run(kernel.attention, Q, K, V, PADDING, causal=True)
    for x in (K, V):
        x[1, :, 700:] = garbage
    got = run(kernel.attention, Q, K, V, PADDING, causal=True)
    for name in want:
        assert torch.equal(got[name], want[name])


@every_dtype
def test_the_same_inputs_give_the_same_bits(dtype):
    inputs = draw(2, 4, T, S, 128, 128, h_kv=1, dtype=dtype)
    first, second = (run(kernel.attention, *inputs, causal=True) for _ in range(2))
    for name in first:
        assert torch.equal(first[name], second[name])


@pytest.mark.parametrize("axis", ["B", "h", "T", "S", "d_v"])
def test_empty_sizes_give_empty_results_or_zeros(axis):
    sizes = {"B": 2, "h": 2, "T": 3, "S": 5, "d_k": 7, "d_v": 11} | {axis: 0}
    for x in run(kernel.attention, *draw(**sizes)).values():
        assert x.isfinite().all()


def test_the_weights_are_never_stored():
    T = 8192
    Q, K, V = (x.requires_grad_() for x in draw(1, 4, T, T, 64, 64, dtype=torch.float16))
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    kernel.attention(Q, K, V, causal=True).sum().backward()
    # Output, its gradient, three more gradients, two float32 numbers per query; the scores of the
    # four heads would be 512 MiB.
    used = torch.cuda.max_memory_allocated() - before
    assert used < 8 * Q.numel() * Q.element_size()


def test_rows_may_lie_further_apart_than_32_bits_count():
    if torch.cuda.get_device_properties(0).total_memory < 16 * 2**30:
        pytest.skip("needs a GPU of 16 GiB")
    Q, K, V = draw(1, 2, 3, 4099, 16, 16, dtype=torch.float16)
    want = run(kernel.attention, Q, K, V)
    step = 2**20 + 8  # 4099 rows of this stride span more than 2^32 elements
    memory = torch.empty(4099 * step, dtype=torch.float16, device="cuda")
    far = memory.as_strided(K.shape, (0, 16, step, 1))
    got = run(kernel.attention, Q, far.copy_(K), V)
    for name in want:
        assert torch.equal(got[name], want[name])
