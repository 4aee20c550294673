"""Kernels on the virtual CUDA device against numba-cuda's own simulator: CPU time, observation on."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from bench.measure import Row, Series, cpu_seconds

NAME = "virtual-cuda"
TITLE = "Kernels on the virtual CUDA device, watched, against numba-cuda's simulator"
NOTES = (
    "CPU time of a launch with its copies, each kernel in a process of its kind, the same source; results are checked.",
    "The virtual device records every access (races, sectors, bank conflicts); the simulator records nothing.",
    "The simulator, being slow, runs once, and each of our runs is compared with that one.",
)
ROOT = Path(__file__).resolve().parent.parent


def rows(quick: bool) -> list[Row]:
    """Measure: sizes as in the title of each row, three runs (one of the simulator); smaller and once when `quick`."""
    sizes = {"product": 32, "add": 5_000, "sum": 4_096} if quick else {"product": 64, "add": 100_000, "sum": 65_536}
    runs = 1 if quick else 3
    ours = _measured("virtual", sizes, runs)
    peer = importlib.util.find_spec("numba_cuda") is not None
    theirs = _measured("simulator", sizes, 1) if peer else {}
    if not peer:
        print("numba-cuda is not installed, so there is no simulator to compare with: pip install 'numba-cuda[cu13]'")
    titles = {
        "product": f"tiled product {sizes['product']}^3",
        "add": f"add {sizes['add']:,} elements",
        "sum": f"sum of {sizes['sum']:,} elements",
    }
    out = []
    for name, title in titles.items():
        series = Series(tuple(ours[name]))
        pair = Series(tuple(theirs[name] * runs)) if peer else None
        aim = 30.0 if peer and not quick else None
        out.append(Row(title, series, "s CPU", "simulator" if peer else None, pair, aim=aim))
    if not quick:
        large = _measured("virtual", {"product": 256}, 1)["product"]
        out.append(Row("tiled product 256^3", Series(tuple(large)), "s CPU", aim=5.0))
    return out


def _measured(device: str, sizes: dict, runs: int) -> dict:
    """CPU seconds of each kernel in a fresh process."""
    environment = {key: value for key, value in os.environ.items() if key not in ("LABS_GPU", "NUMBA_ENABLE_CUDASIM")}
    environment |= {"LABS_GPU": "virtual"} if device == "virtual" else {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "bench.virtual_cuda", device, json.dumps(sizes), str(runs)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        raise RuntimeError(f"the {device} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(device: str, sizes: dict, runs: int) -> dict:
    """In the child: time each kernel, checked against NumPy."""
    import numpy as np

    from bench import gpu_kernels

    random = np.random.default_rng(1)
    taken = {}
    for name, size in sizes.items():
        work = getattr(gpu_kernels, f"check_{name}")(random, size)
        if device == "virtual":
            work()  # the first run also translates the kernel
        taken[name] = [cpu_seconds(work) for _ in range(runs)]
    return taken


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]))))
