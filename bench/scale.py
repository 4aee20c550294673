"""Thousands of virtual ranks: CPU time and peak memory, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.measure import Row, Series

NAME = "scale"
TITLE = "Thousands of virtual ranks on one core: CPU time and peak memory, without trace"
NOTES = (
    "CPU time of the run alone; peak memory of its whole process, PyTorch included. Sums and simulated time are",
    "checked against the closed form. No peer: the aim is a limit.",
)
MEMORY_LIMIT = 2000.0  # MB
PROGRAMS = {"ring": "ring_all_reduce", "tree": "tree_all_reduce"}


def rows(quick: bool) -> list[Row]:
    """Measure a ring of 1,024 and a tree of 16,384 ranks, or of 64 and 512 when `quick`."""
    plan = [("ring", 64, 1, None), ("tree", 512, 1, None)] if quick else [("ring", 1024, 2, 30), ("tree", 16384, 3, 5)]
    lines = []
    for program, size, runs, limit in plan:
        taken = [in_a_child(program, size) for _ in range(runs)]
        cpu, memory = (Series(tuple(run[key] for run in taken)) for key in ("cpu", "megabytes"))
        what = (
            f"{program} of {size:,} ranks, {2 * size * (size - 1) if program == 'ring' else 2 * (size - 1):,} messages"
        )
        lines.append(Row(what, cpu, "s CPU", aim=limit))
        lines.append(Row(what, memory, "MB", aim=MEMORY_LIMIT))
    return lines


def in_a_child(program: str, size: int) -> dict:
    """Run it in a fresh Python: {"cpu": seconds, "megabytes": peak of the process}."""
    words = [sys.executable, "-m", "bench.scale", program, str(size)]
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words[1:])} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def here(program: str, size: int) -> dict:
    """The run itself, in this process."""
    import resource

    import torch

    from bench import programs
    from bench.measure import cpu_seconds
    from labs.kit.hardware import costs, uniform
    from labs.kit.virtual import simulate

    torch.set_num_threads(1)
    function = getattr(programs, PROGRAMS[program])
    numel = size if program == "ring" else 1
    topology = uniform(size, latency=5e-6, bandwidth=50e9)
    runs = []

    def go():
        def args(rank):
            return (torch.full((numel,), float(rank)),)

        runs.append(simulate(function, size, args, topology=topology, trace=False, timeout=550.0))

    cpu = cpu_seconds(go)
    run, expected = runs[0], getattr(costs, PROGRAMS[program])(size, 4 * numel, 5e-6, 50e9)
    if abs(run.time / expected - 1) > 1e-9:
        raise AssertionError(f"{run.time} simulated seconds instead of {expected}, so the time means nothing")
    if not all((result == size * (size - 1) / 2).all() for result in run.results):
        raise AssertionError("a rank ended with a wrong sum, so the time means nothing")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB, but bytes on macOS
    return {"cpu": cpu, "megabytes": peak * (1 if sys.platform == "darwin" else 1024) / 1e6}


if __name__ == "__main__":
    print(json.dumps(here(sys.argv[1], int(sys.argv[2]))))
