"""The same file on several machines: inside torchrun (or srun) `run` joins the ranks that are there already.

    def program(dist):
        ...

    if __name__ == "__main__":
        print(run(program, world_size=None, on="gloo").results)

Started with ``python file.py`` this needs a world size; started with ``torchrun --nproc-per-node 2 file.py``
on each machine it takes the world as it finds it.
"""

from __future__ import annotations

import atexit
import copy
import datetime
import os
from collections.abc import Callable, Mapping
from typing import Any

from labs.kit.ranks import gloo

INSIDE_RANK = "LABS_INSIDE_RANK"  # set in ranks that `run` has started itself


def world(environment: Mapping[str, str] = os.environ) -> tuple[int, int] | None:
    """Return (rank, world_size) when a launcher such as torchrun has started this process, else None."""
    if INSIDE_RANK in environment or "RANK" not in environment or "MASTER_ADDR" not in environment:
        return None
    return int(environment["RANK"]), int(environment["WORLD_SIZE"])


def join(program: Callable, args: tuple | Callable[[int], tuple], backend: str, timeout: float, check: bool) -> Any:
    """Run the program as this process's rank of the existing world; return what it returned.

    An exception leaves this process as it is: the launcher ends the other ranks and names the one that failed.
    """
    import torch
    import torch.distributed as dist

    rank = int(os.environ["RANK"])
    if backend == "nccl":
        local = int(os.environ.get("LOCAL_RANK", rank % max(1, torch.cuda.device_count())))
        torch.cuda.set_device(local)
        torch.set_default_device(f"cuda:{local}")
    if not dist.is_initialized():  # one group for all runs of a script: launchers offer one meeting point
        dist.set_debug_level(dist.DebugLevel.DETAIL if check else dist.DebugLevel.OFF)
        with gloo.joined_by_all():
            dist.init_process_group(backend, timeout=datetime.timedelta(seconds=timeout))
            atexit.register(_leave)
            if check and backend == "gloo":
                gloo.prepare(dist)
    from labs.kit.ranks.worker import on_device, seed

    own = tuple(args(rank)) if callable(args) else copy.deepcopy(tuple(args))
    if backend == "nccl":
        own = on_device(own)
    seed()
    return program(*own, dist)


def _leave() -> None:
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()
