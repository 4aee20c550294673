"""Right answers to the exercises of lesson 10, written in different ways; each must be accepted."""

BUCKETS = """
def assign_buckets(nbytes, bucket_bytes):
    buckets, open_bucket, filled = [], [], 0
    for index in reversed(range(len(nbytes))):
        open_bucket.append(index)
        filled += nbytes[index]
        if filled >= bucket_bytes:
            buckets.append(open_bucket)
            open_bucket, filled = [], 0
    if open_bucket:
        buckets.append(open_bucket)
    return buckets
"""

SKELETON = '''
from contextlib import contextmanager

import torch

class DDP:
    """A module whose gradients are averaged over all ranks, bucket by bucket, while backward goes on."""

    def __init__(self, module, dist, bucket_bytes=1_000_000):
        self.module, self.dist = module, dist
        self.syncing = self.averaging = True
        for tensor in [*module.parameters(), *module.buffers()]:
            dist.broadcast(tensor.detach(), src=0)
        self.trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.buckets = assign_buckets([parameter.nbytes for parameter in self.trained], bucket_bytes)
        for index, parameter in enumerate(self.trained):
            parameter.register_post_accumulate_grad_hook(
                lambda _, index=index: self.ready(index) if self.averaging else None)

    def __call__(self, *inputs):
        self.averaging = self.syncing
        return self.module(*inputs)

    @contextmanager
    def no_sync(self):
        self.syncing = False
        try:
            yield
        finally:
            self.syncing = True

    def backward(self, loss):
        self.arrived, self.started = set(), []
        loss.backward()
        if self.averaging:
            self.finish()
'''

DDP = (
    BUCKETS
    + SKELETON
    + """
    def start(self, bucket):
        gradients = []
        for index in bucket:
            parameter = self.trained[index]
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            gradients.append(parameter.grad.reshape(-1))
        flat = torch.cat(gradients)
        self.started.append((flat, self.dist.all_reduce(flat, async_op=True)))

    def ready(self, index):
        self.arrived.add(index)
        while len(self.started) < len(self.buckets) and self.arrived.issuperset(self.buckets[len(self.started)]):
            self.start(self.buckets[len(self.started)])

    def finish(self):
        for bucket in self.buckets[len(self.started):]:
            self.start(bucket)
        for bucket, (flat, handle) in zip(self.buckets, self.started):
            handle.wait()
            flat /= self.dist.get_world_size()
            place = 0
            for index in bucket:
                gradient = self.trained[index].grad
                gradient.copy_(flat[place:place + gradient.numel()].view_as(gradient))
                place += gradient.numel()
"""
)

PIECES = """
from contextlib import nullcontext

def in_pieces(ddp, pieces, loss):
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        with nullcontext() if last else ddp.no_sync():
            ddp.backward(loss(ddp(piece)))
"""

COMPRESS = """
import torch

def compress(gradient, dist):
    small = (gradient / dist.get_world_size()).half()
    dist.all_reduce(small)
    gradient.copy_(small)
"""

SERVE = """
def serve(arrivals, replicas, max_batch, seconds):
    free, done, first = [0.0] * replicas, [], 0
    while first < len(arrivals):
        replica = free.index(min(free))
        start = max(free[replica], arrivals[first])
        last = first
        while last < len(arrivals) and arrivals[last] <= start and last - first < max_batch:
            last += 1
        free[replica] = start + seconds(last - first)
        done += [free[replica]] * (last - first)
        first = last
    return done
"""

RIGHT = {
    "assign_buckets": {
        "one_pass": BUCKETS,
        "running_total": """
def assign_buckets(nbytes, bucket_bytes):
    buckets, full = [], True
    for index, size in list(enumerate(nbytes))[::-1]:
        if full:
            buckets.append([])
        buckets[-1].append(index)
        full = sum(nbytes[k] for k in buckets[-1]) >= bucket_bytes
    return buckets
""",
        "recursive": """
def assign_buckets(nbytes, bucket_bytes):
    end = len(nbytes)
    start = end
    while start > 0 and (start == end or sum(nbytes[start:end]) < bucket_bytes):
        start -= 1
    if start == end:
        return []
    return [list(range(end - 1, start - 1, -1))] + assign_buckets(nbytes[:start], bucket_bytes) if start else [
        list(range(end - 1, -1, -1))]
""",
    },
    "ddp": {
        "sets": DDP,
        "counters": BUCKETS
        + SKELETON
        + """
    def ready(self, index):
        self.arrived.add(index)
        self.push(only_full=True)

    def push(self, only_full):
        for bucket in self.buckets[len(self.started):]:
            missing = sum(index not in self.arrived for index in bucket)
            if missing and only_full:
                return
            own = [self.trained[index] for index in bucket]
            for parameter in own:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            flat = torch._utils._flatten_dense_tensors([parameter.grad for parameter in own])
            flat.div_(self.dist.get_world_size())
            handle = self.dist.all_reduce(flat, async_op=True)
            self.started.append((own, flat, handle))

    def finish(self):
        self.push(only_full=False)
        for own, flat, handle in self.started:
            handle.wait()
            for parameter, part in zip(own, flat.split([parameter.numel() for parameter in own])):
                parameter.grad = part.reshape(parameter.shape).clone()
""",
    },
    "in_pieces": {
        "nullcontext": PIECES,
        "two_loops": """
def in_pieces(ddp, pieces, loss):
    with ddp.no_sync():
        for piece in pieces[:-1]:
            ddp.backward(loss(ddp(piece)))
    for piece in pieces[-1:]:
        ddp.backward(loss(ddp(piece)))
""",
    },
    "compress": {
        "divide_then_cast": COMPRESS,
        "average_by_scaling": """
import torch

def compress(gradient, dist):
    gradient /= dist.get_world_size()
    wire = torch.empty(gradient.shape, dtype=torch.float16)
    wire.copy_(gradient)
    dist.all_reduce(wire)
    gradient[:] = wire.float()
""",
    },
    "serve": {
        "next_free": SERVE,
        "heap": """
import heapq

def serve(arrivals, replicas, max_batch, seconds):
    free = [0.0] * replicas
    waiting, done = list(enumerate(arrivals)), [0.0] * len(arrivals)
    while waiting:
        start = max(heapq.heappop(free), waiting[0][1])
        batch = [k for k, arrival in waiting if arrival <= start][:max_batch]
        waiting = waiting[len(batch):]
        end = start + seconds(len(batch))
        heapq.heappush(free, end)
        for k in batch:
            done[k] = end
    return done
""",
    },
}
