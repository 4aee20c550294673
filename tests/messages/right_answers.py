"""Right answers to lesson 01, written differently from the lesson's own; all are accepted."""

RIGHT = {
    "exchange": {
        "both_asynchronous": """
def exchange(mine, dist):
    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
    if size == 1:
        return mine
    theirs = torch.empty_like(mine)
    requests = [dist.irecv(theirs, src=rank - 1 if rank else size - 1), dist.isend(mine, dst=(rank + 1) % size)]
    for request in requests:
        request.wait()
    return theirs
""",
        "batched": """
def exchange(mine, dist):
    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
    if size == 1:
        return mine.clone()
    theirs = torch.empty_like(mine)
    operations = [dist.P2POp(dist.isend, mine, (rank + 1) % size), dist.P2POp(dist.irecv, theirs, (rank - 1) % size)]
    for request in dist.batch_isend_irecv(operations):
        request.wait()
    return theirs
""",
        "even_ranks_send_first": """
def exchange(mine, dist):
    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
    if size == 1:
        return mine.clone()
    theirs = torch.zeros_like(mine)
    if rank % 2 == 0:
        dist.send(mine, dst=(rank + 1) % size)
        dist.recv(theirs, src=(rank - 1) % size)
    else:
        dist.recv(theirs, src=(rank - 1) % size)
        dist.send(mine, dst=(rank + 1) % size)
    return theirs
""",
    },
    "scatter": {
        "from_whoever_sends": """
def scatter(out, pieces, root, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank == root:
        out.copy_(pieces[rank])
        for r in sorted(set(range(size)) - {rank}, reverse=True):
            dist.send(pieces[r], dst=r)
    else:
        dist.recv(out)
""",
        "one_send_after_the_other": """
def scatter(out, pieces, root, dist):
    if dist.get_rank() != root:
        dist.recv(out, src=root)
        return
    for rank, piece in enumerate(pieces):
        if rank == root:
            out.copy_(piece)
        else:
            dist.send(piece, dst=rank)
""",
        "receives_asynchronously": """
def scatter(out, pieces, root, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    requests = []
    if pieces is None:
        requests.append(dist.irecv(out, src=root))
    else:
        requests += [dist.isend(pieces[r], dst=r) for r in range(size) if r != rank]
        out[:] = pieces[rank]
    for request in requests:
        request.wait()
""",
    },
    "collectives": {
        "a_list": """
def collectives():
    return ["all_gather", "reduce", "scatter", "all_to_all", "broadcast", "reduce_scatter", "gather", "all_reduce"]
""",
        "names_of_other_libraries": """
def collectives():
    return dict(
        a="AllGather", b="Reduce", c="Scatter", d="alltoall", e="Broadcast",
        f="ReduceScatter", g="dist.gather", h="allreduce"
    )
""",
        "spelt_with_hyphens": """
def collectives():
    return dict(
        A="all-gather", B="Reduce", C="scatter", D="all-to-all", E="broadcast", F="reduce-scatter", G="gather", H="all-reduce"
    )
""",
    },
    "stream": {
        "a_new_tensor_each": """
def stream(chunks, dist):
    import torch

    if dist.get_rank() == 1:
        received = [torch.empty_like(chunk) for chunk in chunks]
        for tensor in received:
            dist.recv(tensor, src=0)
        return received
    doubled = [2 * chunk for chunk in chunks]
    for request in [dist.isend(chunk, dst=1) for chunk in doubled]:
        request.wait()
""",
        "two_buffers_in_turn": """
def stream(chunks, dist):
    import torch

    if dist.get_rank() == 1:
        received = [torch.empty_like(chunk) for chunk in chunks]
        for tensor in received:
            dist.recv(tensor, src=0)
        return received
    buffers, requests = [torch.empty_like(chunk) for chunk in chunks[:2]], []
    for k, chunk in enumerate(chunks):
        if k >= 2:
            requests[k - 2].wait()
        torch.mul(chunk, 2, out=buffers[k % 2])
        requests.append(dist.isend(buffers[k % 2], dst=1))
    for request in requests[-2:]:
        request.wait()
""",
    },
    "mean_loss": {
        "two_reductions": """
def mean_loss(losses, dist):
    import torch

    total, count = losses.sum().reshape(1), torch.tensor([len(losses)])
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total.item() / max(count.item(), 1)
""",
        "gather_sums_and_counts": """
def mean_loss(losses, dist):
    import torch

    mine = torch.tensor([float(losses.sum()), float(losses.numel())], dtype=torch.float64)
    pairs = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(pairs, mine)
    total, count = torch.stack(pairs).sum(0)
    return total / count if count else torch.zeros(())
""",
    },
}
