"""What the kernel must compute, in float64 on whole arrays, for its tests on CPUs and on GPUs."""

import os

import pytest
import torch

if os.environ.get("MHA_REQUIRE_PEERS") != "1":  # otherwise its absence is an error
    pytest.importorskip("triton", reason="the kernel needs Triton: pip install triton, on Linux")

from mha_lessons import kernel, masks, module

DEVICE = "cuda" if kernel.available("cuda") else "cpu"
NAMES = ("out", "dQ", "dK", "dV")

# Errors in units of the dtype's last place, against the largest entry of what is compared. float32
# adds some hundred products in another order than float64. The 16-bit types besides round weights
# and gradients of scores once before they are multiplied, as tensor cores demand.
ROUNDINGS = {torch.float32: 16, torch.float16: 3, torch.bfloat16: 3}


def draw(B, h, T, S, d_k, d_v, h_kv=None, dtype=torch.float32, device=DEVICE):
    random = torch.Generator().manual_seed(0)
    h_kv = h if h_kv is None else h_kv
    shapes = (B, h, T, d_k), (B, h_kv, S, d_k), (B, h_kv, S, d_v)
    return [torch.randn(shape, generator=random).to(device, dtype) for shape in shapes]


def run(attend, Q, K, V, mask=None, **options):
    """Return the output and the gradients of a weighted sum of it, by name."""
    inputs = [x.detach().requires_grad_() for x in (Q, K, V)]
    out = attend(*inputs, mask, **options)
    random = torch.Generator().manual_seed(1)
    dO = torch.randn(out.shape, generator=random).to(Q.device, Q.dtype).to(out.dtype)
    gradients = torch.autograd.grad(out, inputs, dO)
    return dict(zip(NAMES, (out.detach(), *gradients), strict=True))


def oracle(Q, K, V, mask=None, causal=False):
    def attend(Q, K, V, mask):
        K, V = (x.repeat_interleave(Q.shape[1] // x.shape[1], dim=1) for x in (K, V))
        past = masks.causal(Q.shape[2], K.shape[2]) if causal else None
        return module.attention(Q, K, V, masks.combine(mask, past))

    return run(attend, *(x.double() for x in (Q, K, V)), mask)


def assert_right(Q, K, V, mask=None, causal=False):
    got, want = run(kernel.attention, Q, K, V, mask, causal=causal), oracle(Q, K, V, mask, causal)
    for name in NAMES:
        assert got[name].dtype == Q.dtype
        assert got[name].shape == want[name].shape
        largest = want[name].abs().max().clamp(min=1) if want[name].numel() else 1
        torch.testing.assert_close(
            got[name].double(),
            want[name],
            rtol=0,
            atol=float(ROUNDINGS[Q.dtype] * torch.finfo(Q.dtype).eps * largest),
            msg=lambda words, name=name: f"{name}: {words}",
        )
