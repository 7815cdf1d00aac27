"""Time the Triton kernel against torch's fused kernels on a GPU: attention alone, in bfloat16."""

from collections.abc import Callable
from functools import partial

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.contenders import Row
from benchmarks.measure import compare
from mha_lessons import cost, kernel
from mha_lessons.cost import Sizes

EQUAL = 3e-2  # of the largest entry: bfloat16 rounds at 4e-3, and a gradient several times over


def sdpa(backend: SDPBackend, Q, K, V, *, causal: bool):
    """Run torch's attention through one of its kernels."""
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(Q, K, V, is_causal=causal)


CONTENDERS = {
    "flash": partial(sdpa, SDPBackend.FLASH_ATTENTION),
    "efficient": partial(sdpa, SDPBackend.EFFICIENT_ATTENTION),
    "cudnn": partial(sdpa, SDPBackend.CUDNN_ATTENTION),
    "kernel": kernel.attention,
}


def rows(*, quick: bool) -> list[Row]:
    """Return the rows: 16384 tokens as few long or many short sequences."""
    shapes = [(2, 256)] if quick else [(16, 1024), (4, 4096), (1, 16384)]
    return [
        Row(task, Sizes(B, T, d_model=16 * d_k, num_heads=16), causal)
        for d_k in (64, 128)
        for B, T in shapes
        for task in ("forward", "training")
        for causal in (False, True)
    ]


def run_of(
    name: str, row: Row, device: str = "cuda", dtype: torch.dtype = torch.bfloat16
) -> Callable[[], tuple[torch.Tensor, ...]]:
    """Return the function that runs a contender once: the heads, and in training the gradients."""
    z = row.sizes
    torch.manual_seed(0)
    Q, K, V, g = torch.randn(4, z.B, z.num_heads, z.T, z.d_k, device=device, dtype=dtype)
    leaves = [x.requires_grad_(row.task == "training") for x in (Q, K, V)]

    def run():
        heads = CONTENDERS[name](*leaves, causal=row.causal)
        if row.task == "forward":
            return (heads,)
        return heads.detach(), *torch.autograd.grad(heads, leaves, g)

    return run


def clock(run: Callable) -> float:
    """Return the seconds that the GPU works on a run."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def flops(row: Row) -> float:
    """Return the FLOPs of attention without projections: `Row.flops` at no model width."""
    projections = sum(cost.projection_flops(row.sizes).values())
    return row.flops - projections * (3 if row.task == "training" else 1)


def extra_bytes(run: Callable) -> int:
    """Return how much memory a run takes at most beside its inputs."""
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    return torch.cuda.max_memory_allocated() - before


def measure(row: Row, seconds: float) -> list[dict]:
    """Measure one row: every kernel that this GPU has, beside a large product of matrices."""
    runs, reasons = {}, {}
    for name in CONTENDERS:
        run = run_of(name, row)
        try:
            run()
            runs[name] = run
        except RuntimeError as error:
            reasons[name] = str(error).splitlines()[0]
    A, b = torch.randn(2, 8192, 8192, device="cuda", dtype=torch.bfloat16)
    best = (lambda: A @ b), 2 * 8192**3
    numbers = compare(runs, best, flops(row), seconds, allowed=EQUAL, clock=clock)
    return [
        {"contender": name, "not_run": reasons.get(name)}
        | (numbers[name] | {"extra_bytes": extra_bytes(runs[name])} if name in runs else {})
        for name in CONTENDERS
    ]
