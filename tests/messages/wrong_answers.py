"""Misconceptions about messages and collectives, as learners write them; each draws its own hint."""

EXCHANGE = """
def exchange(mine, dist):
    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    theirs = torch.empty_like(mine)
    if size == 1:
        return mine.clone()
"""

SCATTER = """
def scatter(out, pieces, root, dist):
    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
"""

NAMES = {
    "A": "all_gather",
    "B": "reduce",
    "C": "scatter",
    "D": "all_to_all",
    "E": "broadcast",
    "F": "reduce_scatter",
    "G": "gather",
    "H": "all_reduce",
}


def _names(**changed):
    return f"def collectives():\n    return {NAMES | changed!r}\n"


STREAM = """
def stream(chunks, dist):
    import torch

    if dist.get_rank() == 1:
        received = [torch.empty_like(chunk) for chunk in chunks]
        for tensor in received:
            dist.recv(tensor, src=0)
        return received
"""

MEAN = """
def mean_loss(losses, dist):
    import torch

"""

WRONG = {
    "exchange": {
        "all_send_first": EXCHANGE
        + "    dist.send(mine, dst=right)\n    dist.recv(theirs, src=left)\n    return theirs\n",
        "all_receive_first": EXCHANGE
        + "    dist.recv(theirs, src=left)\n    dist.send(mine, dst=right)\n    return theirs\n",
        "wrong_direction": EXCHANGE
        + "    request = dist.isend(mine, dst=left)\n    dist.recv(theirs, src=right)\n    request.wait()\n    return theirs\n",
        "own_values": EXCHANGE
        + "    request = dist.isend(mine, dst=right)\n    dist.recv(theirs, src=left)\n    request.wait()\n    return mine\n",
        "no_wrap_around": EXCHANGE.replace("(rank + 1) % size", "rank + 1")
        + "    request = dist.isend(mine, dst=right)\n    dist.recv(theirs, src=left)\n    request.wait()\n    return theirs\n",
        "one_rank": EXCHANGE.replace("    if size == 1:\n        return mine.clone()\n", "")
        + "    request = dist.isend(mine, dst=right)\n    dist.recv(theirs, src=left)\n    request.wait()\n    return theirs\n",
        "no_wait": EXCHANGE.replace("empty_like", "zeros_like")
        + "    dist.isend(mine, dst=right)\n    dist.irecv(theirs, src=left)\n    return theirs\n",
        "overwritten_before_sent": EXCHANGE
        + "    request = dist.isend(mine, dst=right)\n    dist.recv(mine, src=left)\n    request.wait()\n    return mine\n",
        "nothing_returned": EXCHANGE
        + "    request = dist.isend(mine, dst=right)\n    dist.recv(theirs, src=left)\n    request.wait()\n",
        "library_call": EXCHANGE
        + "    parts = [torch.empty_like(mine) for _ in range(size)]\n    dist.all_gather(parts, mine)\n    return parts[left]\n",
        "one_after_the_other": EXCHANGE
        + "    if rank == 0:\n        dist.recv(theirs, src=left)\n        dist.send(mine, dst=right)\n"
        + "    else:\n        dist.send(mine, dst=right)\n        dist.recv(theirs, src=left)\n    return theirs\n",
        "ring_left_open": EXCHANGE
        + "    if rank < size - 1:\n        dist.send(mine, dst=rank + 1)\n    if rank > 0:\n"
        + "        dist.recv(theirs, src=rank - 1)\n    return theirs\n",
        "send_not_awaited": EXCHANGE
        + "    dist.isend(mine, dst=right)\n    dist.recv(theirs, src=left)\n    return theirs\n",
        "tags_differ": EXCHANGE
        + "    request = dist.isend(mine, dst=right, tag=rank)\n    dist.recv(theirs, src=left, tag=rank)\n"
        + "    request.wait()\n    return theirs\n",
        "nobody_answers": EXCHANGE
        + "    right, left = (rank + 1) % 4, (rank - 1) % 4\n    request = dist.isend(mine, dst=right)\n"
        + "    dist.recv(theirs, src=left)\n    request.wait()\n    return theirs\n",
        "sends_to_the_left": EXCHANGE
        + "    requests = [dist.isend(mine, dst=right), dist.isend(mine, dst=left)]\n    dist.recv(theirs, src=left)\n"
        + "    for request in requests:\n        request.wait()\n    return theirs\n",
        "buffer_of_another_kind": EXCHANGE
        + "    theirs = torch.empty(mine.shape)\n    request = dist.isend(mine, dst=right)\n"
        + "    dist.recv(theirs, src=left)\n    request.wait()\n    return theirs\n",
        "returned_the_receipt": EXCHANGE
        + "    request = dist.isend(mine, dst=right)\n    theirs = dist.recv(theirs, src=left)\n"
        + "    request.wait()\n    return theirs\n",
        "not_a_tensor": EXCHANGE
        + "    request = dist.isend(mine, dst=right)\n    dist.recv(theirs, src=left)\n    request.wait()\n"
        + "    return theirs, left\n",
        "mine_changed": EXCHANGE
        + "    request = dist.isend(mine, dst=right)\n    dist.recv(theirs, src=left)\n    request.wait()\n"
        + "    mine.copy_(theirs)\n    return mine\n",
        "barrier": EXCHANGE
        + "    dist.isend(mine, dst=right)\n    dist.irecv(theirs, src=left)\n    dist.barrier()\n    return theirs\n",
        "many_messages": EXCHANGE
        + "    for k in range(len(mine)):\n        request = dist.isend(mine[k : k + 1], dst=right)\n"
        + "        dist.recv(theirs[k : k + 1], src=left)\n        request.wait()\n    return theirs\n",
        "one_rank_empty": EXCHANGE.replace("return mine.clone()", "return torch.zeros_like(mine)")
        + "    request = dist.isend(mine, dst=right)\n    dist.recv(theirs, src=left)\n    request.wait()\n    return theirs\n",
        "module_not_argument": EXCHANGE
        + "    dist = torch.distributed\n    request = dist.isend(mine, dst=right)\n"
        + "    dist.recv(theirs, src=left)\n    request.wait()\n    return theirs\n",
        "too_many_bytes": EXCHANGE
        + "    both = torch.cat([mine, mine])\n    into = torch.empty_like(both)\n    request = dist.isend(both, dst=right)\n"
        + "    dist.recv(into, src=left)\n    request.wait()\n    return into[: len(mine)].clone()\n",
    },
    "scatter": {
        "own_piece_missing": SCATTER
        + "    if rank == root:\n        for r in range(size):\n            if r != root:\n                dist.send(pieces[r], dst=r)\n"
        + "    else:\n        dist.recv(out, src=root)\n",
        "sends_to_itself": SCATTER
        + "    if rank == root:\n        for r in range(size):\n            dist.send(pieces[r], dst=r)\n"
        + "    else:\n        dist.recv(out, src=root)\n",
        "root_is_always_0": SCATTER
        + "    if rank == 0:\n        out.copy_(pieces[0])\n        for r in range(1, size):\n            dist.send(pieces[r], dst=r)\n"
        + "    else:\n        dist.recv(out, src=0)\n",
        "wrong_piece": SCATTER
        + "    if rank == root:\n        out.copy_(pieces[root])\n        others = [r for r in range(size) if r != root]\n"
        + "        for k, r in enumerate(others):\n            dist.send(pieces[k], dst=r)\n    else:\n        dist.recv(out, src=root)\n",
        "not_in_place": SCATTER
        + "    if rank == root:\n        out.copy_(pieces[root])\n        for r in range(size):\n            if r != root:\n"
        + "                dist.send(pieces[r], dst=r)\n    else:\n        out = torch.empty_like(out)\n        dist.recv(out, src=root)\n",
        "library_call": SCATTER + "    dist.scatter(out, pieces, src=root)\n",
        "too_many_bytes": SCATTER
        + "    everything = torch.stack(pieces) if rank == root else torch.empty(size, *out.shape, dtype=out.dtype)\n"
        + "    if rank == root:\n        for r in range(size):\n            if r != root:\n                dist.send(everything, dst=r)\n"
        + "    else:\n        dist.recv(everything, src=root)\n    out.copy_(everything[rank])\n",
        "nothing_sent": SCATTER + "    if rank == root:\n        out.copy_(pieces[rank])\n",
        "no_pieces_here": SCATTER + "    out.copy_(pieces[rank])\n",
        "send_not_awaited": SCATTER
        + "    if rank == root:\n        out.copy_(pieces[root])\n        for r in range(size):\n            if r != root:\n"
        + "                dist.isend(pieces[r], dst=r)\n    else:\n        dist.recv(out, src=root)\n",
        "receive_not_awaited": SCATTER
        + "    if rank == root:\n        out.copy_(pieces[root])\n        for r in range(size):\n            if r != root:\n"
        + "                dist.send(pieces[r], dst=r)\n    else:\n        dist.irecv(out, src=root)\n",
        "added_to_out": SCATTER
        + "    mine = torch.empty_like(out)\n    if rank == root:\n        mine = pieces[root]\n        for r in range(size):\n"
        + "            if r != root:\n                dist.send(pieces[r], dst=r)\n    else:\n        dist.recv(mine, src=root)\n"
        + "    out += mine\n",
        "piece_of_another_kind": SCATTER
        + "    if rank == root:\n        out.copy_(pieces[root])\n        for r in range(size):\n            if r != root:\n"
        + "                dist.send(pieces[r].float(), dst=r)\n    else:\n        dist.recv(out, src=root)\n",
        "barrier": SCATTER
        + "    if rank == root:\n        out.copy_(pieces[root])\n        for r in range(size):\n            if r != root:\n"
        + "                dist.send(pieces[r], dst=r)\n    else:\n        dist.recv(out, src=root)\n    dist.barrier()\n",
        "nobody_answers": SCATTER
        + "    if rank == root:\n        out.copy_(pieces[root])\n        for r in range(1, size - 1):\n            dist.send(pieces[r], dst=r)\n"
        + "    else:\n        dist.recv(out, src=root)\n",
    },
    "collectives": {
        "one_or_all": _names(A="gather"),
        "same_or_parts": _names(C="broadcast"),
        "sum_or_pieces": _names(B="gather"),
        "part_or_whole": _names(F="all_reduce"),
        "rows_or_columns": _names(D="all_gather"),
        "which_way": _names(G="scatter"),
        "missing": _names(E="?"),
        "unknown_name": _names(H="allreduce_sum"),
        "where_it_starts": _names(E="all_reduce"),
        "where_it_ends": _names(F="reduce"),
        "no_dictionary": "def collectives():\n    print('A is all_gather')\n",
    },
    "stream": {
        "filled_too_early": STREAM
        + "    requests, buffer = [], None\n    for chunk in chunks:\n"
        + "        buffer = torch.empty_like(chunk) if buffer is None else buffer\n        torch.mul(chunk, 2, out=buffer)\n"
        + "        requests.append(dist.isend(buffer, dst=1))\n    for request in requests:\n        request.wait()\n",
        "not_doubled": STREAM + "    for chunk in chunks:\n        dist.send(chunk, dst=1)\n",
        "input_changed": STREAM + "    for chunk in chunks:\n        chunk *= 2\n        dist.send(chunk, dst=1)\n",
        "one_big_message": """
def stream(chunks, dist):
    import torch

    if dist.get_rank() == 1:
        if not chunks:
            return []
        received = torch.stack(chunks)
        dist.recv(received, src=0)
        return list(received)
    if chunks:
        dist.send(2 * torch.stack(chunks), dst=1)
""",
        "left_too_early": STREAM + "    for chunk in chunks:\n        dist.isend(2 * chunk, dst=1)\n",
        "count_differs": STREAM + "    for chunk in chunks[:-1]:\n        dist.send(2 * chunk, dst=1)\n",
        "wrong_order": STREAM + "    for chunk in reversed(chunks):\n        dist.send(2 * chunk, dst=1)\n",
        "chunk_of_another_kind": STREAM + "    for chunk in chunks:\n        dist.send(2.0 * chunk, dst=1)\n",
        "other_values": STREAM + "    for chunk in chunks:\n        dist.send(2 * chunk + 1, dst=1)\n",
        "nothing_sent": "def stream(chunks, dist):\n    return [2 * chunk for chunk in chunks]\n",
        "not_a_list_of_chunks": STREAM.replace("return received", "return received[-1] if received else []")
        + "    for chunk in chunks:\n        dist.send(2 * chunk, dst=1)\n",
        "wrong_count": STREAM.replace("return received", "return received[1:]")
        + "    for chunk in chunks:\n        dist.send(2 * chunk, dst=1)\n",
        "received_into_one": """
def stream(chunks, dist):
    import torch

    if dist.get_rank() == 1:
        buffer, received = torch.empty_like(chunks[0]) if chunks else None, []
        for _ in chunks:
            dist.recv(buffer, src=0)
            received.append(buffer)
        return received
    for chunk in chunks:
        dist.send(2 * chunk, dst=1)
""",
        "many_messages": """
def stream(chunks, dist):
    import torch

    if dist.get_rank() == 1:
        received = [torch.empty_like(chunk) for chunk in chunks]
        for tensor in received:
            for k in range(len(tensor)):
                dist.recv(tensor[k : k + 1], src=0)
        return received
    for chunk in chunks:
        for k in range(len(chunk)):
            dist.send(2 * chunk[k : k + 1], dst=1)
""",
        "nothing_returned": STREAM.replace("        return received\n", "        return\n")
        + "    for chunk in chunks:\n        dist.send(2 * chunk, dst=1)\n",
    },
    "mean_loss": {
        "one_rank_skips": MEAN
        + "    if len(losses) == 0:\n        return 0.0\n    total = torch.tensor([losses.sum().item(), float(len(losses))])\n"
        + "    dist.all_reduce(total)\n    return (total[0] / total[1]).item()\n",
        "mean_of_means": MEAN
        + "    mine = losses.mean() if len(losses) else torch.zeros((), dtype=torch.float64)\n    total = mine.reshape(1).clone()\n"
        + "    dist.all_reduce(total)\n    return (total / dist.get_world_size()).item()\n",
        "nothing_to_average": MEAN
        + "    total = torch.tensor([losses.sum().item(), float(len(losses))])\n    dist.all_reduce(total)\n"
        + "    return (total[0] / total[1]).item()\n",
        "not_divided": MEAN
        + "    total = losses.sum().reshape(1)\n    dist.all_reduce(total)\n    return total.item()\n",
        "divided_by_ranks": MEAN
        + "    total = losses.sum().reshape(1)\n    dist.all_reduce(total)\n    return (total / dist.get_world_size()).item()\n",
        "different_calls": MEAN
        + "    if len(losses) == 0:\n        dist.barrier()\n        return 0.0\n"
        + "    total = torch.tensor([losses.sum().item(), float(len(losses))])\n    dist.all_reduce(total)\n"
        + "    return (total[0] / total[1]).item()\n",
        "nothing_returned": MEAN
        + "    total = torch.tensor([losses.sum().item(), float(len(losses))])\n    dist.all_reduce(total)\n    total[0] / total[1]\n",
        "several_numbers": MEAN
        + "    total = torch.tensor([losses.sum().item(), float(len(losses))])\n    dist.all_reduce(total)\n    return total.tolist()\n",
        "sizes_differ": MEAN + "    dist.all_reduce(losses)\n    return losses.mean().item()\n",
        "not_on_empty_ranks": MEAN
        + "    total = torch.tensor([losses.sum().item(), float(len(losses))], dtype=torch.float64)\n    dist.all_reduce(total)\n"
        + "    return (total[0] / total[1]).item() if len(losses) else 0.0\n",
        "only_rank_0": MEAN
        + "    total = torch.tensor([losses.sum().item(), float(len(losses))], dtype=torch.float64)\n    dist.reduce(total, dst=0)\n"
        + "    return (total[0] / total[1]).item() if total[1] else 0.0\n",
        "own_average": MEAN
        + "    total = torch.tensor([losses.sum().item(), float(len(losses))], dtype=torch.float64)\n"
        + "    dist.all_reduce(total, async_op=True)\n    return (total[0] / total[1]).item() if total[1] else 0.0\n",
        "divided_by_own_count": MEAN
        + "    total = losses.sum().reshape(1)\n    dist.all_reduce(total)\n    return total.item() / max(1, len(losses))\n",
        "counted_the_empty": MEAN
        + "    if len(losses) == 0:\n        losses = torch.zeros(1, dtype=torch.float64)\n"
        + "    total = torch.tensor([losses.sum().item(), float(len(losses))], dtype=torch.float64)\n    dist.all_reduce(total)\n"
        + "    return (total[0] / total[1]).item()\n",
        "cut_off": MEAN
        + "    total = torch.tensor([int(losses.sum()), len(losses)])\n    dist.all_reduce(total)\n"
        + "    return total[0].item() / max(1, total[1].item())\n",
        "sends_the_losses": MEAN
        + "    count = torch.tensor([len(losses)])\n    dist.all_reduce(count, op=dist.ReduceOp.MAX)\n    longest = int(count)\n"
        + "    mine = torch.full((longest + 1,), float('nan'), dtype=torch.float64)\n    mine[: len(losses)] = losses\n"
        + "    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]\n    dist.all_gather(parts, mine)\n"
        + "    everything = torch.cat(parts)\n    kept = everything[~everything.isnan()]\n"
        + "    return kept.mean().item() if len(kept) else 0.0\n",
    },
}
