"""Time the rungs against their peers, side by side.

python -m benchmarks
python -m benchmarks --only forward 1x2048x512x8 module torch-mha
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch

from benchmarks import measure, targets
from benchmarks.contenders import CONTENDERS, TASKS, Row
from mha_lessons.cost import Sizes

SIZES = (
    Sizes(8, 256, 512, 8),
    Sizes(1, 2048, 512, 8),
    Sizes(4, 1024, 768, 12),
    Sizes(1, 8192, 512, 8),
)
QUICK = (Sizes(2, 40, 32, 4),)
CACHED = 4096


def named(sizes: Sizes) -> str:
    """Write sizes as the command line names them: BxTxd_modelxh."""
    return f"{sizes.B}x{sizes.T}x{sizes.d_model}x{sizes.num_heads}"


def select(only: list[str], sizes: tuple[Sizes, ...]) -> tuple[list[Row], list[str]]:
    """Choose rows and contenders by name; naming nothing of a kind chooses all of it.

    Raises
    ------
    ValueError
        When a name is unknown.
    """
    known = [*TASKS], [named(z) for z in sizes], [*CONTENDERS]
    unknown = [name for name in only if not any(name in kind for kind in known)]
    if unknown:
        raise ValueError(
            f"--only takes tasks ({', '.join(known[0])}), sizes ({', '.join(known[1])}) and "
            f"contenders ({', '.join(known[2])}): got {', '.join(unknown)}. Choose among these."
        )
    tasks, shapes, contenders = ([n for n in kind if n in only] or kind for kind in known)
    rows = []
    for z in sizes:
        if named(z) in shapes:
            rows += [Row(task, z, causal) for task in TASKS[:2] for causal in (False, True)]
            cached = Sizes(z.B, 1, z.d_model, z.num_heads, S=CACHED)
            rows += [Row("decoding", cached, True)]
    return [row for row in dict.fromkeys(rows) if row.task in tasks], contenders


def table(title: str, to: str, records: list[dict]) -> str:
    """Lay one row's numbers out, a line for each contender; ratios are to the contender `to`."""
    times = f"times {to} (min to max)"
    lines = [
        f"\n{title}",
        f"{'':21}{'ms':>9}{times:>28}{'GFLOP/s':>10}{'of limit':>10}{'extra MiB':>11}{'runs':>6}",
    ]
    for r in records:
        if r["not_run"]:
            lines.append(f"{r['contender']:21}{'':9}  not run: {r['not_run']}")
            continue
        times = "{median:.3f} ({min:.3f} to {max:.3f})".format(**r["ratio"])
        extra = r["extra_bytes"]
        extra = "not known" if extra is None else f"{extra / 2**20:.1f}"
        lines.append(
            f"{r['contender']:21}{1e3 * r['median_seconds']:9.2f}{times:>28}{r['gflops']:10.1f}"
            f"{r['fraction_of_limit']:10.1%}{extra:>11}{len(r['seconds']):6}"
        )
    return "\n".join(lines)


def write(report: dict, path: Path) -> None:
    """Write a report as JSON: to a file, or into a folder under its date and kind."""
    if path.suffix != ".json":
        path.mkdir(parents=True, exist_ok=True)
        path /= f"{report['machine']['date']}-{report['kind']}.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def on_cpu(options) -> dict:
    """Measure on the CPU, and print each row as soon as it is known."""
    rows, contenders = select(options.only, QUICK if options.quick else SIZES)
    results = []
    for row in rows:
        records = measure.measure(row, contenders, 0 if options.quick else options.seconds)
        print(table(str(row), "bare", records), flush=True)
        results.append(asdict(row) | {"contenders": records})
    verdicts = targets.judge(results, quick=options.quick)
    print("\ntargets")
    for v in verdicts:
        state = {True: "reached", False: "NOT REACHED", None: ""}[v["reached"]]
        print(f"{state:12}{v['target']}: {v['got']}")
    return {"results": results, "targets": verdicts}


def on_gpu(options) -> dict:
    """Measure attention on a GPU, and print each row as soon as it is known."""
    from benchmarks import gpu  # asks for Triton

    results = []
    for row in gpu.rows(quick=options.quick):
        records = gpu.measure(row, 0 if options.quick else options.seconds)
        print(table(str(row), "flash", records), flush=True)
        results.append(asdict(row) | {"contenders": records})
    return {"results": results}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--seconds", type=float, default=20, help="about, per row (20)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--write", type=Path, metavar="PATH", help="write JSON to a file or folder")
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        print("Nothing is measured: --device cuda needs an NVIDIA GPU, and torch sees none.")
        return
    report = {"kind": options.device, "machine": measure.machine()}
    print("  ".join(f"{name}: {value}" for name, value in report["machine"].items()))
    try:
        report |= on_gpu(options) if options.device == "cuda" else on_cpu(options)
    except ValueError as error:
        parser.exit(2, f"{error}\n")
    if options.write:
        write(report, options.write)


if __name__ == "__main__":
    main()
