"""The command line: which figures, then one after the other."""

from __future__ import annotations

import argparse
import importlib
import os
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

from bench import machine, report

FIGURES = {
    "virtual-ring": "bench.virtual_ring",
    "start-up": "bench.start_up",
    "ring-on-gloo": "bench.ring_on_gloo",
    "ddp-step": "bench.ddp_step",
    "multi-gpu-sort": "bench.multi_gpu_sort",
    "pipeline": "bench.pipeline",
    "scale": "bench.scale",
    "virtual-cuda": "bench.virtual_cuda",
    "cuda-cpp": "bench.cuda_cpp",
    "tensor-cores": "bench.tensor_cores",
    "readers": "bench.readers",
    "grading": "bench.grading",
}
FORMAT = 1  # of the JSON file


def main(words: list[str] | None = None) -> int:
    """Measure what was asked for; 0 when every figure could be measured, 1 when one failed.

    Aims do not decide: a machine under load may miss one, and the table says so.
    """
    parser = argparse.ArgumentParser(prog="python -m bench", description="Ratios to named peers, measured in one run.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"figures to measure (default: all): {', '.join(FIGURES)}"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes and few runs: to see that it works, not to cite"
    )
    default = Path(__file__).resolve().parent.parent / "build" / "bench.json"
    parser.add_argument("--out", type=Path, default=default, help="the JSON file (default: build/bench.json)")
    options = parser.parse_args(words)
    if unknown := [name for name in options.names if name not in FIGURES]:
        parser.error(f"no figure is called {', '.join(unknown)}; there are: {', '.join(FIGURES)}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before PyTorch is imported: one thread a process, also in children

    place = machine.describe()
    print("\n".join(machine.lines(place)))
    if options.quick:
        print("Quick     small sizes and few runs; do not cite these figures")
    record = {
        "format": FORMAT,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": options.quick,
        "machine": place,
        "figures": [],
        "failures": {},
    }
    for name in options.names or FIGURES:
        start = time.perf_counter()
        try:
            figure = importlib.import_module(FIGURES[name])
            rows = figure.rows(options.quick)
        except Exception as error:  # one figure that cannot be measured must not take the others with it
            record["failures"][name] = f"{type(error).__name__}: {error}"
            print(f"\n{name} could not be measured:\n{traceback.format_exc()}")
            continue
        if not rows:  # it needs hardware that is not here, and has said so
            continue
        seconds = time.perf_counter() - start
        print(f"\n{name}: {figure.TITLE}")
        print(report.table(rows))
        load = machine.load()
        busy = "" if load is None else f", load {load:.1f} at its end"
        print("\n".join(figure.NOTES) + f"\n({seconds:.0f} s{busy})", flush=True)
        record["figures"].append(
            {
                "name": name,
                "title": figure.TITLE,
                "notes": " ".join(figure.NOTES),
                "seconds": seconds,
                "load_after": load,
                "rows": [row.as_data() for row in rows],
            }
        )
    report.write(options.out, record)
    print(
        "\nours and its: smallest / median / largest of the runs, taken by turns. times faster: peer over ours, pair by"
    )
    print(f"pair: the median, then the range. Every run is in {options.out}")
    return 1 if record["failures"] else 0
