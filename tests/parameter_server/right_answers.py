"""Right answers to the exercises of lesson 09, written in different ways; each must be accepted."""

SYNCHRONOUS = """
import torch

def server(weights, rounds, learning_rate, dist):
    workers = dist.get_world_size() - 1
    buffer = torch.empty_like(weights)
    for _ in range(rounds):
        total = torch.zeros_like(weights)
        for worker in range(1, workers + 1):
            dist.recv(buffer, src=worker)
            total += buffer
        weights -= learning_rate * total / workers
        for worker in range(1, workers + 1):
            dist.send(weights, dst=worker)
    return weights

def worker(weights, gradient, rounds, dist):
    for _ in range(rounds):
        dist.send(gradient(weights), dst=0)
        dist.recv(weights, src=0)
    return weights
"""

SHARD = """
def shard_by_size(sizes, servers):
    owner, loads = [0] * len(sizes), [0] * servers
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        owner[i] = loads.index(min(loads))
        loads[owner[i]] += sizes[i]
    return owner
"""

BEST = """
import math

def best_servers(workers, worker_bandwidth, server_bandwidth):
    return math.ceil(workers * worker_bandwidth / server_bandwidth)
"""

BOUNDED = """
import torch

def bounded_server(weights, rounds, learning_rate, bound, dist):
    workers = dist.get_world_size() - 1
    buffer = torch.empty_like(weights)
    done = [0] * (workers + 1)
    held = []
    for _ in range(workers * rounds):
        worker = dist.recv(buffer)
        weights -= learning_rate / workers * buffer
        done[worker] += 1
        held.append(worker)
        slowest = min(done[1:])
        for other in list(held):
            if done[other] - slowest <= bound:
                held.remove(other)
                dist.send(weights, dst=other)
    return weights
"""

RIGHT = {
    "synchronous": {
        "by_name": SYNCHRONOUS,
        "all_at_once": """
import torch

def server(weights, rounds, learning_rate, dist):
    workers = range(1, dist.get_world_size())
    for _ in range(rounds):
        gradients = [torch.empty_like(weights) for _ in workers]
        for work in [dist.irecv(g, src=w) for g, w in zip(gradients, workers)]:
            work.wait()
        weights = weights - learning_rate * torch.stack(gradients).mean(dim=0)
        for work in [dist.isend(weights, dst=w) for w in workers]:
            work.wait()
    return weights

def worker(weights, gradient, rounds, dist):
    for _ in range(rounds):
        pushed = gradient(weights)
        new = torch.empty_like(weights)
        pull = dist.irecv(new, src=0)
        dist.isend(pushed, dst=0).wait()
        pull.wait()
        weights = new
    return weights
""",
        "whoever_comes": """
import torch

def server(weights, rounds, learning_rate, dist):
    count = dist.get_world_size() - 1
    for _ in range(rounds):
        mean, who = torch.zeros_like(weights), []
        for _ in range(count):
            buffer = torch.zeros_like(weights)
            who.append(dist.recv(buffer))
            mean += buffer / count
        weights.sub_(mean, alpha=learning_rate)
        for other in who:
            dist.send(weights, dst=other)
    return weights

def worker(weights, gradient, rounds, dist):
    step = 0
    while step < rounds:
        dist.send(gradient(weights), 0)
        dist.recv(weights, 0)
        step += 1
    return weights.clone()
""",
    },
    "shard_by_size": {
        "index_of_the_least": SHARD,
        "heap": """
import heapq

def shard_by_size(sizes, servers):
    heap = [(0, server) for server in range(servers)]
    owner = {}
    for size, index in sorted(((size, index) for index, size in enumerate(sizes)), reverse=True):
        load, server = heapq.heappop(heap)
        owner[index] = server
        heapq.heappush(heap, (load + size, server))
    return [owner[index] for index in range(len(sizes))]
""",
        "numpy": """
import numpy as np

def shard_by_size(sizes, servers):
    loads, owner = np.zeros(servers, dtype=np.int64), np.zeros(len(sizes), dtype=int)
    for i in np.argsort(np.array(sizes, dtype=np.int64))[::-1]:
        owner[i] = loads.argmin()
        loads[owner[i]] += sizes[i]
    return owner
""",
    },
    "best_servers": {
        "ceil": BEST,
        "whole_numbers": """
def best_servers(workers, worker_bandwidth, server_bandwidth):
    return -(-workers * worker_bandwidth // server_bandwidth)
""",
        "search": """
def best_servers(workers, worker_bandwidth, server_bandwidth):
    k = 1
    while workers * worker_bandwidth > k * server_bandwidth:
        k += 1
    return k
""",
    },
    "bounded_server": {
        "held": BOUNDED,
        "by_name": """
import torch

def bounded_server(weights, rounds, learning_rate, bound, dist):
    n = dist.get_world_size() - 1
    done, waiting = {w: 0 for w in range(1, n + 1)}, set()
    left = n * rounds
    while left:
        gradient = torch.zeros_like(weights)
        w = dist.recv(gradient)
        weights = weights - learning_rate * gradient / n
        done[w] += 1
        left -= 1
        waiting.add(w)
        free = {v for v in waiting if done[v] <= min(done.values()) + bound}
        works = [dist.isend(weights, dst=v) for v in sorted(free)]
        for work in works:
            work.wait()
        waiting -= free
    return weights
""",
    },
}
