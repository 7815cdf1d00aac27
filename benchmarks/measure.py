"""Make runs, refuse unequal ones, time them side by side, and measure the memory they need."""

import os
import platform
import random
import re
import statistics
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import torch

from benchmarks.contenders import CONTENDERS, Row
from mha_lessons import projections
from mha_lessons.projections import Projections

EQUAL = 1e-4  # of the largest entry: float32 rounds at 6e-8, and thousands of terms are summed
FEWEST_ROUNDS, MOST_ROUNDS = 5, 200


def run_of(name: str, row: Row) -> Callable[[], tuple[torch.Tensor, ...]]:
    """Make a contender, and return the function that runs it once.

    Every contender gets the same projections and inputs for the same row.

    Returns
    -------
    function
        It returns the layer's output, and in training the gradient of its input as well.
    """
    z = row.sizes
    p = projections.random(z.d_model, z.num_heads, seed=0)
    p = Projections(*(getattr(p, field.name).astype("float32") for field in fields(p)))
    torch.manual_seed(0)
    x, g = torch.randn(2, z.B, z.T, z.d_model)
    K, V = torch.randn(2, z.B, z.num_heads, z.S - z.T, z.d_k)  # earlier ones; none but in decoding
    layer = CONTENDERS[name].make(p, row)
    if row.task == "decoding":
        layer = layer.decoder(K, V)

    def forward():
        with torch.no_grad():
            return (layer(x),)

    def training():
        for leaf in (x, *layer.parameters()):
            leaf.grad = None
        out = layer(x)
        out.backward(g)
        return out.detach(), x.grad

    if row.task != "training":
        return forward
    x.requires_grad_()
    return training


def check_equal(results: dict[str, tuple[torch.Tensor, ...]], allowed: float = EQUAL) -> None:
    """Refuse results that differ from the first one.

    Raises
    ------
    ValueError
        When an entry differs by more than `allowed` times the largest one, or is NaN.
    """
    first, *others = results
    for name in others:
        for got, want in zip(results[name], results[first], strict=True):
            apart = float((got - want).abs().max() / want.abs().max())
            if not apart <= allowed:
                raise ValueError(
                    f"Only equal results are timed: {name} and {first} differ by {apart:.1e} of "
                    f"the largest entry, and {allowed:.0e} is allowed. Find the wrong one first."
                )


def wall(run: Callable) -> float:
    """Return the seconds that a run takes."""
    start = perf_counter()
    run()
    return perf_counter() - start


def interleaved(runs: dict[str, Callable], seconds: float, clock=wall) -> dict[str, list[float]]:
    """Time all functions once a round, in a new order each time, until time is up.

    What disturbs a round disturbs all of them, so that ratios within a round stay comparable.

    Returns
    -------
    dict of lists
        Seconds, one per round.
    """
    taken = {name: [] for name in runs}
    order, start = random.Random(0), perf_counter()
    for done in range(MOST_ROUNDS):
        if done >= FEWEST_ROUNDS and perf_counter() - start > seconds:
            break
        for name in order.sample(list(runs), len(runs)):
            taken[name].append(clock(runs[name]))
    return taken


def ratio(of: list[float], to: list[float]) -> dict[str, float]:
    """Divide round by round, and return the median, the smallest and the largest ratio."""
    ratios = [a / b for a, b in zip(of, to, strict=True)]
    return {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}


def compare(
    runs: dict[str, Callable],
    limit: tuple[Callable, float],
    flops: float,
    seconds: float,
    *,
    allowed: float = EQUAL,
    clock: Callable = wall,
) -> dict[str, dict]:
    """Time runs side by side once their results are equal.

    Parameters
    ----------
    runs : dict of functions
        All ratios are to the first one.
    limit : function and float
        What the machine does best, and its FLOPs. It is timed among the others.
    flops : float
        FLOPs of each run.
    seconds : float
        When to stop; at least `FEWEST_ROUNDS` rounds are run, and at most `MOST_ROUNDS`.
    allowed : float
        As in `check_equal`.
    clock : function
        Returns the seconds of a run.

    Returns
    -------
    dict of dict
        The numbers of each run.

    Raises
    ------
    ValueError
        When results are not equal.
    """
    check_equal({name: run() for name, run in runs.items()}, allowed)  # and warm up
    run_limit, limit_flops = limit
    run_limit()
    taken = interleaved(runs | {"limit": run_limit}, seconds, clock)
    first = next(iter(runs))
    return {
        name: {
            "seconds": taken[name],
            "median_seconds": statistics.median(taken[name]),
            "ratio": ratio(taken[name], taken[first]),
            "gflops": flops / statistics.median(taken[name]) / 1e9,
            "fraction_of_limit": ratio(taken["limit"], taken[name])["median"]
            * (flops / limit_flops),
        }
        for name in runs
    }


def best(row: Row) -> tuple[Callable, float]:
    """Return a run of what a CPU does best, and its FLOPs.

    A large product of matrices; in decoding, where all numbers are read for one use each, a large
    product of a matrix and a vector.
    """
    if row.task == "decoding":
        A, b = torch.randn(8192, 4096), torch.randn(4096, 1)
    else:
        A, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    return lambda: A @ b, 2 * A.numel() * b.shape[1]


def measure(row: Row, names: list[str], seconds: float) -> list[dict]:
    """Measure one row on the CPU: contenders in time and memory, beside ``bare``.

    Parameters
    ----------
    row : Row
    names : list of str
        Contenders; ``bare`` runs in any case.
    seconds : float
        As in `compare`.

    Returns
    -------
    list of dict
        One per contender: its name, and either ``not_run``, the reason, or the numbers.
    """
    reasons = {name: CONTENDERS[name].reason_not_to_run(row) for name in names}
    runs = {name: run_of(name, row) for name in ["bare", *names] if not reasons.get(name)}
    numbers = compare(runs, best(row), row.flops, seconds)
    records = []
    for name in names:
        record = {"contender": name, "not_run": reasons[name]}
        if name in runs:
            record |= numbers[name] | {"extra_bytes": in_child(extra_bytes, name, row)}
        records.append(record)
    return records


def in_child(function: Callable, *arguments):
    """Call a function in a process of its own, and return its result.

    A forked server has the imports ready but has computed nothing: a plain fork after torch's
    threads have run may hang.
    """
    context = get_context("forkserver" if platform.system() == "Linux" else "spawn")
    if platform.system() == "Linux":
        context.set_forkserver_preload(["benchmarks.measure"])
    with context.Pool(1) as pool:
        return pool.apply(function, arguments)


def extra_bytes(name: str, row: Row) -> int | None:
    """Measure how far one run raises the memory of this process above its inputs and parameters.

    A tiny run comes first, so that code and threads are loaded.
    """
    run_of(name, replace(row, sizes=replace(row.sizes, T=min(row.sizes.T, 8), S=8)))()
    return peak(run_of(name, row))


def peak(run: Callable) -> int | None:
    """Return the bytes by which `run` raises the resident memory at its highest.

    Linux keeps that mark and lets a process set it back; elsewhere the result is None. It counts
    what tracing allocations would not see: buffers inside torch's and NumPy's matrix products.
    """
    if platform.system() != "Linux":
        return None
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    run()
    return max(_status("VmHWM") - before, 0)


def _status(field):
    return 1024 * int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def machine() -> dict:
    """Describe what the numbers depend on."""

    def installed(package):
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    try:
        cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[1]
    except (OSError, TypeError):
        cpu = platform.processor()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        **{name: installed(name) for name in ("numpy", "torch", "x-transformers", "triton")},
    }
