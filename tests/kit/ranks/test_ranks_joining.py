"""No rank begins its program before all are connected: one that ends at once would break the connecting of others."""

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest
import torch.distributed as dist

# Rank 0 is slow to get its last group ready. Each rank says when it is through, and when its program begins.
SLOW = """
import os, sys, time
import torch.distributed.distributed_c10d as c10d
rank, groups = int(os.environ["RANK"]), int(sys.argv[1])
make = c10d._new_process_group_helper
made = []
def slow_on_rank_0(*args, **named):
    group = make(*args, **named)
    made.append(group)
    if rank == 0 and len(made) == groups:
        time.sleep(1.5)
    ready.append(time.monotonic())
    return group
ready = []
c10d._new_process_group_helper = slow_on_rank_0
"""
WORKER = """
from labs.kit.ranks import worker
import torch.distributed as dist
dist.set_debug_level_from_env()
worker._join({"rank": rank, "world_size": 2, "backend": "gloo", "timeout": 60, "port": int(sys.argv[2]),
              "check_average": False})
begun = time.monotonic()
"""
LAUNCHED = """
from labs.kit.ranks import run
def program(dist):
    return time.monotonic()
begun = run(program, 2, on="gloo", check=groups > 1).results[rank]
"""
TELL = """
assert len(ready) == groups, ready
print(ready[-1], begun, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("groups", [1, 2], ids=["plain", "checked"])
@pytest.mark.parametrize("way", [WORKER, LAUNCHED], ids=["worker", "launcher"])
def test_no_program_begins_before_every_rank_is_connected(way, groups):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    with ExitStack() as stack:
        ranks = []
        for rank in range(2):
            environment = os.environ | {
                "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port),
                "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCH_DISTRIBUTED_DEBUG": "DETAIL" if groups > 1 else "OFF",
            }  # fmt: skip
            command = [sys.executable, "-c", SLOW + way + TELL, str(groups), str(store.port)]
            process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            ranks.append(process)
        (ready, _), (_, begun) = [map(float, process.stdout.readline().split()) for process in ranks]
    assert begun > ready
