"""What the numbers are judged by: ratios within one run, and sizes that another machine repeats."""

import statistics
import subprocess
import sys

import numpy as np

from benchmarks.measure import in_child, peak, ratio
from mha_lessons import cost, tiled
from mha_lessons.cost import Sizes


def judge(results: list[dict], *, quick: bool) -> list[dict]:
    """Compare what was measured with the targets.

    Parameters
    ----------
    results : list of dict
        Rows as `benchmarks.__main__` collects them.
    quick : bool
        Judge no speed, since tiny sizes show overhead alone, and measure nothing that takes long.

    Returns
    -------
    list of dict
        ``target`` in words, ``got`` in words, and ``reached``: None where a row was not measured.
    """
    passes = [row for row in results if row["task"] != "decoding" and not quick]
    long = [row for row in passes if row["sizes"]["T"] >= 1024]
    forward = [row for row in passes if row["task"] == "forward"]
    wide = [row for row in forward if _shape(row) == (4, 1024, 768, 12) and not row["causal"]]
    short = [row for row in forward if _shape(row) == (8, 256, 512, 8)]
    full = cost.materialised_bytes(Sizes(1, 16384, 64, 1), 4)
    return [
        _target(
            "module takes at most 1.05 times as long as bare, in every row here",
            max(_ratios(passes, "module", "bare"), default=None),
            lambda worst: worst <= 1.05,
            "{:.3f} in the worst row",
        ),
        _target(
            "torch-mha takes at least 1.5 times as long as module, in rows with T >= 1024",
            min(_ratios(long, "torch-mha", "module"), default=None),
            lambda worst: worst >= 1.5,
            "{:.2f} in the worst row",
        ),
        _target(
            "module reaches 85 % of the matrix product, forward, (4, 1024, 768, 12), not causal",
            next(
                (_of(row, "module")["fraction_of_limit"] for row in wide if _of(row, "module")),
                None,
            ),
            lambda fraction: fraction >= 0.85,
            "{:.0%}",
        ),
        _target(
            "vectorized takes at most 2.5 times as long as module, forward, (8, 256, 512, 8)",
            max(_ratios(short, "vectorized", "module"), default=None),
            lambda worst: worst <= 2.5,
            "{:.2f} in the worse row",
        ),
        _target(
            f"tiled needs below 64 MiB for one head, T = 16384; its scores need {full >> 20} MiB",
            None if quick else in_child(_tiled_mib, 16384),
            lambda extra: extra < 64,
            "{:.1f} MiB",
        ),
        _target(
            "import mha_lessons adds less than 0.1 s to import numpy",
            _import_seconds(),
            lambda seconds: seconds < 0.1,
            "{:.4f} s",
        ),
    ]


def _target(words, got, reaches, shown):
    if got is None:
        return {"target": words, "value": None, "got": "not measured", "reached": None}
    return {"target": words, "value": got, "got": shown.format(got), "reached": reaches(got)}


def _shape(row):
    return tuple(row["sizes"][name] for name in ("B", "T", "d_model", "num_heads"))


def _of(row, name):
    """Return the record of a contender that ran in a row, or None."""
    return next((r for r in row["contenders"] if r["contender"] == name and not r["not_run"]), None)


def _ratios(rows, of, to):
    for row in rows:
        if _of(row, of) and _of(row, to):
            yield ratio(_of(row, of)["seconds"], _of(row, to)["seconds"])["median"]


def _tiled_mib(T):
    Q, K, V = np.random.default_rng(0).standard_normal((3, T, 64), dtype=np.float32)
    tiled.attention(Q[:8], K[:8], V[:8])
    extra = peak(lambda: tiled.attention(Q, K, V))
    return None if extra is None else extra / 2**20


def _import_seconds():
    code = (
        "import numpy; from time import perf_counter as now; start = now(); "
        "import mha_lessons; print(now() - start)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs)
