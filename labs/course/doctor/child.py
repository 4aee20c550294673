"""What the doctor's own process does: import torch, start CUDA, let two ranks add. A line of JSON after each step."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Collection

RANKS_PATIENCE = 20.0  # s


def main(stages: Collection[str]) -> None:
    """Go through the stages in order, so that the parent knows the last one that was begun."""
    _say(stage="import")
    try:
        import torch
    except BaseException as error:  # a broken binary raises OSError, a missing one ImportError, some even exit
        _say(import_fault=f"{type(error).__name__}: {error}", ended=True)
        return
    from labs.course.doctor.look_torch import build_of

    _say(**build_of(torch))
    if "cuda" in stages:
        _say(stage="cuda")
        _say(**_cuda(torch))
    if "ranks" in stages:
        _say(stage="ranks")
        _say(ranks=_ranks())
    _say(ended=True)


def _cuda(torch):
    with warnings.catch_warnings(record=True) as said:  # torch warns of an old driver and then finds no device
        warnings.simplefilter("always")
        try:
            count = torch.cuda.device_count() if torch.cuda.is_available() else 0
            found = [torch.cuda.get_device_properties(index) for index in range(count)]
            architectures = torch.cuda.get_arch_list()
        except Exception as error:
            return {"cuda_fault": f"{type(error).__name__}: {error}", "gpus": []}
    fault = "" if found else " ".join(str(warning.message) for warning in said)
    gpus = [(gpu.name, gpu.total_memory) for gpu in found]
    return {"gpus": gpus, "architectures": architectures, "cuda_fault": fault}


def _ranks():
    if os.environ.get("LABS_REAL_RANKS") == "off":  # forbidden here, which is no trap
        return {}
    from labs.kit.ranks import run

    start = time.monotonic()
    try:
        run(_add, 2, on="gloo", timeout=RANKS_PATIENCE, stream=False)
    except Exception as error:
        return {"fault": str(error)}
    return {"seconds": time.monotonic() - start}


def _add(dist):
    import torch

    total = torch.ones(1)
    dist.all_reduce(total)
    if total.item() != dist.get_world_size():
        raise RuntimeError(f"two ranks added 1 and 1 and got {total.item():g}")


def _say(**facts):
    print(json.dumps(facts), flush=True)
