"""Wrong answers to the exercises of lesson 09: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
SYNCHRONOUS, SHARD, BEST, BOUNDED = _right["SYNCHRONOUS"], _right["SHARD"], _right["BEST"], _right["BOUNDED"]


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


WORKER = SYNCHRONOUS[SYNCHRONOUS.index("def worker") :]
ROUND = "        dist.send(gradient(weights), dst=0)\n        dist.recv(weights, src=0)\n"

WRONG = {
    "synchronous": {
        "sum": changed(SYNCHRONOUS, ("total / workers", "total")),
        "server_counted": changed(SYNCHRONOUS, ("total / workers", "total / dist.get_world_size()")),
        "divided_twice": changed(
            SYNCHRONOUS, ("total / workers", "total / workers"), ("total += buffer", "total += buffer / workers")
        ),
        "first_only": """
import torch

def server(weights, rounds, learning_rate, dist):
    workers = dist.get_world_size() - 1
    buffer = torch.empty_like(weights)
    for _ in range(rounds):
        total = torch.zeros_like(weights)
        for worker in range(1, workers + 1):
            dist.recv(buffer, src=worker)
            if worker == 1:
                total += buffer
        weights -= learning_rate * total
        for worker in range(1, workers + 1):
            dist.send(weights, dst=worker)
    return weights

"""
        + WORKER,
        "last_only": changed(SYNCHRONOUS, ("total += buffer", "total = buffer"), ("total / workers", "total")),
        "replies_early": """
import torch

def server(weights, rounds, learning_rate, dist):
    workers = dist.get_world_size() - 1
    buffer = torch.empty_like(weights)
    for _ in range(rounds):
        for worker in range(1, workers + 1):
            dist.recv(buffer, src=worker)
            weights -= learning_rate * buffer / workers
            dist.send(weights, dst=worker)
    return weights

"""
        + WORKER,
        "stale_weights": changed(
            SYNCHRONOUS,
            (ROUND, "        dist.send(gradient(weights), dst=0)\n        dist.recv(new, src=0)\n"),
            ("gradient, rounds, dist):\n", "gradient, rounds, dist):\n    new = weights.clone()\n"),
            ("src=0)\n    return weights", "src=0)\n    return new"),
        ),
        "no_step": changed(SYNCHRONOUS, ("weights -= learning_rate", "step = learning_rate")),
        "uphill": changed(SYNCHRONOUS, ("weights -=", "weights +=")),
        "all_receive": changed(
            SYNCHRONOUS, (ROUND, "        dist.recv(weights, src=0)\n        dist.send(gradient(weights), dst=0)\n")
        ),
        "all_send": changed(
            SYNCHRONOUS,
            (
                "        total = torch.zeros_like",
                "        for worker in range(1, workers + 1):\n            dist.send(weights, dst=worker)\n"
                "        total = torch.zeros_like",
            ),
        ),
        "server_loops_on": changed(
            SYNCHRONOUS, ("for _ in range(rounds):\n        total", "for _ in range(rounds + 1):\n        total")
        ),
        "answer_missing": changed(
            SYNCHRONOUS,
            (
                "        for worker in range(1, workers + 1):\n            dist.send(weights, dst=worker)",
                "        dist.send(weights, dst=1)",
            ),
        ),
        "last_pull_missing": changed(
            SYNCHRONOUS,
            (
                ROUND,
                "        dist.send(gradient(weights), dst=0)\n        if _ < rounds - 1:\n            dist.recv(weights, src=0)\n",
            ),
        ),
        "server_gone": changed(SYNCHRONOUS, (WORKER, WORKER.replace("range(rounds)", "range(rounds + 1)"))),
        "last_pull_unused": changed(
            SYNCHRONOUS,
            (ROUND, "        before = weights.clone()\n" + ROUND),
            ("src=0)\n    return weights", "src=0)\n    return before if rounds else weights"),
        ),
        "nothing_returned": changed(SYNCHRONOUS, ("dst=worker)\n    return weights", "dst=worker)")),
        "server_is_no_worker": changed(SYNCHRONOUS, ("range(1, workers + 1)", "range(workers)")),
        "buffer": changed(SYNCHRONOUS, ("buffer = torch.empty_like(weights)", "buffer = torch.empty(len(weights))")),
        "library": """
def server(weights, rounds, learning_rate, dist):
    for _ in range(rounds):
        total = weights * 0
        dist.all_reduce(total)
        weights -= learning_rate * total / (dist.get_world_size() - 1)
    return weights

def worker(weights, gradient, rounds, dist):
    for _ in range(rounds):
        total = gradient(weights)
        dist.all_reduce(total)
        weights -= 0
    return weights
""",
        "too_many_bytes": changed(
            SYNCHRONOUS,
            (
                "            total += buffer\n",
                "            total += buffer\n            dist.recv(buffer, src=worker)\n",
            ),
            (
                "        dist.recv(weights, src=0)",
                "        dist.send(weights, dst=0)\n        dist.recv(weights, src=0)",
            ),
        ),
        "server_sends_more": changed(
            SYNCHRONOUS,
            (
                "    for _ in range(rounds):\n        total",
                "    for worker in range(1, workers + 1):\n        dist.send(weights, dst=worker)\n"
                "    for _ in range(rounds):\n        total",
            ),
            ("rounds, dist):\n    for", "rounds, dist):\n    dist.recv(weights, src=0)\n    for"),
        ),
        "too_many_messages": changed(
            SYNCHRONOUS,
            (
                "            dist.recv(buffer, src=worker)\n",
                "            for number in range(len(buffer)):\n                dist.recv(buffer[number : number + 1], src=worker)\n",
            ),
            (
                "        dist.send(gradient(weights), dst=0)\n",
                "        found = gradient(weights)\n        for number in range(len(found)):\n"
                "            dist.send(found[number : number + 1], dst=0)\n",
            ),
        ),
    },
    "shard_by_size": {
        "round_robin": "\ndef shard_by_size(sizes, servers):\n    return [i % servers for i in range(len(sizes))]\n",
        "not_sorted": changed(SHARD, ("sorted(range(len(sizes)), key=lambda i: -sizes[i])", "range(len(sizes))")),
        "smallest_first": changed(SHARD, ("-sizes[i]", "sizes[i]")),
        "round_robin_sorted": """
def shard_by_size(sizes, servers):
    owner = [0] * len(sizes)
    for turn, i in enumerate(sorted(range(len(sizes)), key=lambda i: -sizes[i])):
        owner[i] = turn % servers
    return owner
""",
        "by_count": """
def shard_by_size(sizes, servers):
    each = max(1, -(-len(sizes) // servers))
    return [i // each for i in range(len(sizes))]
""",
        "sorted_order": """
def shard_by_size(sizes, servers):
    owner, loads = [], [0] * servers
    for size in sorted(sizes, reverse=True):
        owner.append(loads.index(min(loads)))
        loads[owner[-1]] += size
    return owner
""",
        "in_one_piece": """
def shard_by_size(sizes, servers):
    owner, so_far, total = [], 0, sum(sizes) or 1
    for size in sizes:
        owner.append(min(servers - 1, so_far * servers // total))
        so_far += size
    return owner
""",
        "all_on_one": changed(SHARD, ("min(loads)", "max(loads)")),
        "from_one": changed(SHARD, ("    return owner", "    return [server + 1 for server in owner]")),
        "list_of_lists": """
def shard_by_size(sizes, servers):
    kept, loads = [[] for _ in range(servers)], [0] * servers
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        server = loads.index(min(loads))
        kept[server].append(i)
        loads[server] += sizes[i]
    return kept
""",
        "nothing_returned": changed(SHARD, ("    return owner", "    owner")),
        "length": changed(SHARD, ("    return owner", "    return loads")),
    },
    "best_servers": {
        "not_whole": changed(
            BEST,
            (
                "math.ceil(workers * worker_bandwidth / server_bandwidth)",
                "workers * worker_bandwidth / server_bandwidth",
            ),
        ),
        "as_many_as_workers": "\ndef best_servers(workers, worker_bandwidth, server_bandwidth):\n    return workers\n",
        "upside_down": changed(
            BEST, ("workers * worker_bandwidth / server_bandwidth", "workers * server_bandwidth / worker_bandwidth")
        ),
        "both_ways": changed(BEST, ("ceil(workers", "ceil(2 * workers")),
        "one_too_few": changed(BEST, ("math.ceil(", "math.floor(")),
        "one_too_many": changed(BEST, ("math.ceil(workers", "1 + math.floor(workers")),
        "none_at_all": "\ndef best_servers(workers, worker_bandwidth, server_bandwidth):\n    return 0\n",
        "other_workers": changed(BEST, ("ceil(workers *", "ceil((workers - 1) *")),
        "one_worker": changed(BEST, ("ceil(workers *", "ceil(1 *")),
        "not_a_number": changed(BEST, ("    return math", "    math")),
    },
    "bounded_server": {
        "bound_ignored": changed(BOUNDED, ("if done[other] - slowest <= bound:", "if True:")),
        "one_too_far": changed(BOUNDED, ("- slowest <= bound", "- slowest <= bound + 1")),
        "one_too_near": changed(BOUNDED, ("- slowest <= bound", "- slowest < max(bound, 1)")),
        "too_strict": changed(BOUNDED, ("- slowest <= bound", "- slowest <= 0")),
        "all_held": changed(BOUNDED, ("min(done[1:])", "min(done)")),
        "never_released": """
import torch

def bounded_server(weights, rounds, learning_rate, bound, dist):
    workers = dist.get_world_size() - 1
    buffer = torch.empty_like(weights)
    done = [0] * (workers + 1)
    for _ in range(workers * rounds):
        worker = dist.recv(buffer)
        weights -= learning_rate / workers * buffer
        done[worker] += 1
        if done[worker] - min(done[1:]) <= bound:
            dist.send(weights, dst=worker)
    return weights
""",
        "in_turn": changed(
            BOUNDED,
            (
                "for _ in range(workers * rounds):\n        worker = dist.recv(buffer)",
                "for step in range(workers * rounds):\n        worker = step % workers + 1\n        dist.recv(buffer, src=worker)",
            ),
        ),
        "sum": changed(BOUNDED, ("learning_rate / workers", "learning_rate")),
        "server_divides": changed(BOUNDED, ("learning_rate / workers", "learning_rate / dist.get_world_size()")),
        "uphill": changed(BOUNDED, ("weights -=", "weights +=")),
        "update_lost": changed(
            BOUNDED,
            ("        weights -= learning_rate / workers * buffer\n", ""),
            (
                "        slowest = ",
                "        if worker == 1:\n            weights -= learning_rate / workers * buffer\n        slowest = ",
            ),
        ),
        "old_weights": changed(
            BOUNDED,
            ("    held = []\n", "    held = []\n    start = weights.clone()\n"),
            ("dist.send(weights,", "dist.send(start,"),
        ),
        "answer_too_old": changed(
            BOUNDED,
            ("held.append(worker)", "held.append((worker, weights.clone()))"),
            ("for other in list(held):", "for other, then in list(held):"),
            ("held.remove(other)", "held = [entry for entry in held if entry[0] != other]"),
            ("dist.send(weights,", "dist.send(then,"),
        ),
        "server_loops_on": changed(BOUNDED, ("range(workers * rounds)", "range(workers * rounds + 1)")),
        "nothing_returned": changed(BOUNDED, ("    return weights", "    weights")),
        "answered_twice": changed(BOUNDED, ("                held.remove(other)\n", "")),
        "buffer": changed(BOUNDED, ("torch.empty_like(weights)", "torch.empty(len(weights))")),
        "released_late": changed(
            BOUNDED,
            ("        done[worker] += 1\n", "        slowest = min(done[1:])\n        done[worker] += 1\n"),
            ("        slowest = min(done[1:])\n        for", "        for"),
            ("<= bound:", "<= bound or sum(done) == workers * rounds:"),
        ),
    },
}
