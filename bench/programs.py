"""The rank programs that are measured, as a learner writes them against torch.distributed."""

import torch


def ring_all_reduce(tensor, dist):
    """Sum `tensor` over all ranks, in place: a reduce-scatter and an all-gather around the ring.

    The tensor is flat and its length a multiple of the world size, which keeps the program down to its messages.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    chunks = tensor.view(size, -1).unbind()
    incoming = torch.empty_like(chunks[0])
    for step in range(size - 1):
        sending = dist.isend(chunks[(rank - step) % size], dst=right)
        dist.recv(incoming, src=left)
        sending.wait()
        chunks[(rank - step - 1) % size].add_(incoming)
    for step in range(size - 1):
        sending = dist.isend(chunks[(rank + 1 - step) % size], dst=right)
        dist.recv(chunks[(rank - step) % size], src=left)
        sending.wait()
    return tensor


def tree_all_reduce(tensor, dist):
    """Sum `tensor` over all ranks, in place: a binomial tree to rank 0, and back."""
    rank, size = dist.get_rank(), dist.get_world_size()
    incoming = torch.empty_like(tensor)
    distance = 1
    while distance < size and not rank & distance:
        if rank + distance < size:
            dist.recv(incoming, src=rank + distance)
            tensor += incoming
        distance *= 2
    if rank:
        dist.send(tensor, dst=rank - distance)
        dist.recv(tensor, src=rank - distance)
    while distance := distance // 2:
        if rank + distance < size:
            dist.send(tensor, dst=rank + distance)
    return tensor


class DDP:
    """Average gradients over all ranks in buckets, each started in a hook as soon as it is full (lesson 10)."""

    def __init__(self, module, dist, bucket_bytes):
        self.module, self.dist = module, dist
        self.trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.buckets, filled = [[]], 0
        for index in reversed(range(len(self.trained))):
            if filled >= bucket_bytes:
                self.buckets.append([])
                filled = 0
            self.buckets[-1].append(index)
            filled += self.trained[index].nbytes
        for index, parameter in enumerate(self.trained):
            parameter.register_post_accumulate_grad_hook(lambda _, index=index: self.ready(index))

    def __call__(self, *inputs):
        return self.module(*inputs)

    def backward(self, loss):
        self.arrived, self.started = set(), []
        loss.backward()
        for bucket, (flat, handle) in zip(self.buckets, self.started, strict=True):
            handle.wait()
            flat /= self.dist.get_world_size()
            start = 0
            for index in bucket:
                gradient = self.trained[index].grad
                gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
                start += gradient.numel()

    def ready(self, index):
        self.arrived.add(index)
        for bucket in self.buckets[len(self.started) :]:
            if not self.arrived.issuperset(bucket):
                break
            flat = torch.cat([self.trained[index].grad.reshape(-1) for index in bucket])
            self.started.append((flat, self.dist.all_reduce(flat, async_op=True)))
