"""A benchmark times equal things only, and says what it measured. No test looks at a time."""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import contenders, measure, targets
from benchmarks.contenders import CONTENDERS, Row
from mha_lessons import cost, equation, masks, projections
from mha_lessons.cost import Sizes
from mha_lessons.projections import Projections

SMALL = Sizes(2, 5, d_model=12, num_heads=3)
FLOAT32 = {"rtol": 0, "atol": 1e-5}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_computes_the_equation(name, causal):
    row = Row("forward", SMALL, causal)
    if CONTENDERS[name].reason_not_to_run(row):
        pytest.skip("x-transformers is not installed")
    p = projections.random(12, 3, seed=1)
    p = Projections(*(getattr(p, field.name).astype(np.float32) for field in fields(p)))
    x = torch.randn(2, 5, 12)
    mask = masks.causal(5) if causal else None
    want = equation.multi_head_attention(x.numpy(), x.numpy(), p, mask)
    with torch.no_grad():
        got = CONTENDERS[name].make(p, row)(x)
    np.testing.assert_allclose(got, want, **FLOAT32)


@pytest.mark.parametrize("task", contenders.TASKS)
def test_contenders_get_the_same_inputs_and_agree(task):
    row = Row(task, Sizes(2, 1, 12, 3, S=7) if task == "decoding" else SMALL, True)
    runs = {
        n: measure.run_of(n, row) for n, c in CONTENDERS.items() if not c.reason_not_to_run(row)
    }
    for _ in range(2):  # a run leaves nothing behind for the next one
        measure.check_equal({name: run() for name, run in runs.items()})
    assert {"bare", "module", "module-own"} <= set(runs)


@pytest.mark.parametrize("wrong", [lambda x: x + 0.01, lambda x: x * torch.nan])
def test_unequal_outputs_are_not_timed(monkeypatch, wrong):
    make = CONTENDERS["module"].make
    broken = CONTENDERS["module"]._replace(make=lambda p, row: lambda x: wrong(make(p, row)(x)))
    monkeypatch.setitem(CONTENDERS, "module", broken)
    monkeypatch.setattr(measure, "interleaved", None)  # timing would fail otherwise
    with pytest.raises(ValueError, match="Only equal results are timed: module and bare differ"):
        measure.measure(Row("forward", SMALL, False), ["bare", "module"], 0)


def test_who_does_not_run_says_why():
    long = Row("training", Sizes(1, 8192, 512, 8), False)
    says = {name: c.reason_not_to_run(long) for name, c in CONTENDERS.items()}
    assert says["module"] is None
    assert says["torch-mha"] == says["module-own"] == "stores the weights, 2 GiB an array"
    assert says["tiled"] == "has no gradients"
    decoding = Row("decoding", Sizes(1, 1, 512, 8, S=4096), True)
    assert CONTENDERS["vectorized"].reason_not_to_run(decoding) == "has no cache"


def test_a_missing_peer_is_named(monkeypatch):
    monkeypatch.setattr(contenders, "x_transformers", None)
    reason = CONTENDERS["x-transformers"].reason_not_to_run(Row("forward", SMALL, False))
    assert reason == "x-transformers is not installed"


def test_rounds_are_complete_and_ratios_are_taken_round_by_round():
    tick = itertools.count()
    seconds = measure.interleaved({"a": None, "b": None}, 0, clock=lambda run: next(tick) // 2)
    assert seconds == {"a": [0, 1, 2, 3, 4], "b": [0, 1, 2, 3, 4]}  # each round has both
    # The median of ratios, where the ratio of the medians is 2.
    assert measure.ratio([2, 9, 4], [2, 3, 1]) == {"median": 3, "min": 1, "max": 4}


def test_hidden_pairs_count_no_flops_and_a_backward_pass_counts_twice():
    z = SMALL
    projected, scores = (sum(f(z).values()) for f in (cost.projection_flops, cost.score_flops))
    assert Row("forward", z, False).flops == projected + scores
    assert Row("forward", z, True).flops == projected + scores * 15 / 25  # pairs of 5 positions
    assert Row("training", z, False).flops == 3 * Row("forward", z, False).flops
    one = Row("decoding", Sizes(2, 1, 12, 3, S=7), True)
    assert one.flops == projected / 5 + 2 * 2 * 2 * 7 * 12


@pytest.mark.skipif(sys.platform != "linux", reason="the mark is Linux's")
def test_memory_is_the_highest_mark_and_not_what_remains():
    extra = measure.in_child(measure.peak, _fill_64_mib)
    assert 64 <= extra / 2**20 < 66


def _fill_64_mib():
    np.ones(2**23)


def test_a_quick_run_writes_every_field(tmp_path, capsys):
    command.main(["--quick", "--only", "bare", "module", "tiled", "--write", str(tmp_path)])
    (path,) = tmp_path.iterdir()
    report = json.loads(path.read_text())
    assert path.name == f"{report['machine']['date']}-cpu.json"
    assert {"cpu", "cores", "threads", "python", "numpy", "torch"} <= set(report["machine"])
    assert not any(os.uname().nodename in str(fact) for fact in report["machine"].values())
    assert [(row["task"], row["causal"]) for row in report["results"]] == [
        ("forward", False),
        ("forward", True),
        ("training", False),
        ("training", True),
        ("decoding", True),
    ]
    always = {"contender", "not_run"}
    numbers = {"seconds", "median_seconds", "ratio", "gflops", "fraction_of_limit", "extra_bytes"}
    for row in report["results"]:
        for record in row["contenders"]:
            assert set(record) == (always if record["not_run"] else always | numbers)
    assert {verdict["reached"] for verdict in report["targets"]} <= {True, None}
    shown = capsys.readouterr().out
    assert "not run: has no gradients" in shown
    assert "\ntargets\n" in shown


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["--only", "modul"])
    assert "contenders (bare, module, " in (said := capsys.readouterr().err)
    assert "got modul. Choose among these." in said


def test_targets_follow_the_numbers(monkeypatch):
    monkeypatch.setattr(targets, "in_child", lambda function, T: 1.0)

    def row(T, **seconds):
        records = [{"contender": n, "not_run": None, "seconds": s} for n, s in seconds.items()]
        sizes = {"B": 1, "T": T, "d_model": 512, "num_heads": 8}
        return {"task": "forward", "sizes": sizes, "causal": True, "contenders": records}

    fast = row(2048, bare=[1, 1, 9], module=[1, 1, 1], **{"torch-mha": [2, 2, 2]})
    slow = row(256, bare=[1, 1, 1], module=[2, 2, 2], **{"torch-mha": [2, 2, 2]})
    assert [v["reached"] for v in targets.judge([fast], quick=False)[:2]] == [True, True]
    assert [v["reached"] for v in targets.judge([fast, slow], quick=False)[:2]] == [False, True]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_measured_for_one(capsys, tmp_path):
    command.main(["--device", "cuda", "--write", str(tmp_path)])
    assert "torch sees none" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_the_gpus_contenders_agree_where_a_cpu_can_run_them():
    code = (
        "import torch; from benchmarks import gpu, measure; from mha_lessons.cost import Sizes\n"
        "for task in ('forward', 'training'):\n"
        "    row = gpu.Row(task, Sizes(1, 64, 32, 2), True)\n"
        "    results = [gpu.run_of(n, row, 'cpu', torch.float32)() for n in ('flash', 'kernel')]\n"
        "    measure.check_equal(dict(enumerate(results)))\n"
    )
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment)
