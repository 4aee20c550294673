"""Collectives by messages (mode "messages"): the algorithm that each rank runs, and what it sends.

Rank numbers here are positions in the group. The functions take (call, i, n, tensors of this rank...).
"""

from __future__ import annotations

import torch

from labs.kit.virtual.messages import Receive, Send
from labs.kit.virtual.reduction import combine, divide
from labs.kit.virtual.writing import write


def run(call, i: int) -> None:
    """Rank i's part of a call."""
    _ALGORITHMS[call.name](call, i, call.group.size, *call.io[i])


def sent_by(call, i: int) -> tuple[int, int]:
    """Bytes and messages that rank i sends in the algorithm of a call (before its tensors are released)."""
    n, root, size = call.group.size, call.signature.get("root"), call.size
    if n == 1:
        return 0, 0
    match call.name:
        case "barrier":
            return 0, (n - 1).bit_length()
        case "broadcast":
            children = _children((i - root) % n, n)
            return children * size, children
        case "reduce":
            return (0, 0) if i == root else (size, 1)
        case "all_reduce":
            item = call.io[i][0].element_size()
            part, longer = divmod(call.io[i][0].numel(), n)  # the first `longer` parts have one element more
            unsent = 2 * part + (i < longer) + ((i + 1) % n < longer)  # parts i and i + 1, once each
            return 2 * size - unsent * item, 2 * (n - 1)
        case "reduce_scatter_tensor" | "all_gather_into_tensor":
            return size // n * (n - 1), n - 1
        case "all_gather":
            return size * (n - 1), n - 1
        case "scatter":
            return (size * (n - 1), n - 1) if i == root else (0, 0)
        case "gather":
            return (0, 0) if i == root else (size, 1)
        case "all_to_all_single":
            return sum(part.nbytes for j, part in enumerate(call.io[i][1]) if j != i), n - 1
    raise AssertionError(call.name)


# ---- building blocks


def _isend(call, i, j, tensor) -> Send:
    ranks = call.group.ranks
    send = Send(call.engine, ranks[i], ranks[j], call.tag, tensor)
    if call.lost is not None:
        raise call.error(ranks[i])
    call.engine.mail.post_send(send)
    return send


def _irecv(call, i, j, tensor) -> Receive:
    ranks = call.group.ranks
    receive = Receive(call.engine, ranks[i], ranks[j], call.tag, tensor)
    if call.lost is not None:
        raise call.error(ranks[i])
    call.engine.mail.post_receive(receive)
    return receive


def _recv(call, i, j, tensor) -> None:
    _irecv(call, i, j, tensor).wait()


def _exchange(call, i, to, outgoing, source, incoming) -> None:
    send = _isend(call, i, to, outgoing)
    _recv(call, i, source, incoming)
    send.wait()


def _children(v: int, n: int) -> int:
    """How many ranks the rank at distance v from the root passes a broadcast on to."""
    count, k = 0, 1
    while k < n:
        count += v % (2 * k) == 0 and v + k < n
        k *= 2
    return count


# ---- the algorithms


def _barrier(call, i, n) -> None:
    """Dissemination: in round k everybody tells the rank 2^k further on."""
    k, empty = 1, torch.empty(0)
    while k < n:
        _exchange(call, i, (i + k) % n, empty, (i - k) % n, empty)
        k *= 2


def _broadcast(call, i, n, tensor) -> None:
    """Binomial tree."""
    root = call.signature["root"]
    v, k = (i - root) % n, 1 << (n - 1).bit_length()
    while k := k >> 1:
        if v % (2 * k) == 0 and v + k < n:
            _isend(call, i, (i + k) % n, tensor).wait()
        elif v % (2 * k) == k:
            _recv(call, i, (i - k) % n, tensor)


def _reduce(call, i, n, tensor) -> None:
    """The same tree, towards the root."""
    op, root = call.signature["op"], call.signature["root"]
    v, k = (i - root) % n, 1
    total, other = tensor.clone(), torch.empty_like(tensor)
    while k < n:
        if v % (2 * k) == k:
            _isend(call, i, (i - k) % n, total).wait()
            return
        if v + k < n:
            _recv(call, i, (i + k) % n, other)
            combine(total, other, op)
        k *= 2
    write(tensor, divide(total, op, n))


def _ring_reduce(call, i, n, parts) -> None:
    """Afterwards rank i has the total of parts[i]."""
    op = call.signature["op"]
    other = torch.empty_like(parts[0])  # the first part is the longest
    for k in range(n - 1):
        mine = parts[(i - k - 2) % n]
        into = other[: mine.numel()]
        _exchange(call, i, (i + 1) % n, parts[(i - k - 1) % n], (i - 1) % n, into)
        combine(mine, into, op)
    divide(parts[i], op, n)


def _ring_gather(call, i, n, parts) -> None:
    """At first rank i has parts[i]; afterwards all."""
    for k in range(n - 1):
        _exchange(call, i, (i + 1) % n, parts[(i - k) % n], (i - 1) % n, parts[(i - k - 1) % n])


def _all_reduce(call, i, n, tensor) -> None:
    """Ring: reduce-scatter, then all-gather, in the order in which the elements lie in memory."""
    parts = tensor.detach().as_strided((tensor.numel(),), (1,)).tensor_split(n)
    _ring_reduce(call, i, n, parts)
    _ring_gather(call, i, n, parts)


def _reduce_scatter_tensor(call, i, n, output, tensor) -> None:
    flat = tensor.detach().reshape(-1).clone()
    parts = flat.chunk(n) if flat.numel() else [flat] * n
    _ring_reduce(call, i, n, parts)
    write(output, parts[i])


def _all_gather(call, i, n, outputs, tensor) -> None:
    write(outputs[i], tensor)
    _ring_gather(call, i, n, outputs)


def _scatter(call, i, n, output, parts) -> None:
    root = call.signature["root"]
    if i != root:
        _recv(call, i, root, output)
        return
    sends = [_isend(call, i, j, parts[j]) for j in range(n) if j != i]
    write(output, parts[i])
    for send in sends:
        send.wait()


def _gather(call, i, n, outputs, tensor) -> None:
    root = call.signature["root"]
    if i != root:
        _isend(call, i, root, tensor).wait()
        return
    receives = [_irecv(call, i, j, outputs[j]) for j in range(n) if j != i]
    write(outputs[i], tensor)
    for receive in receives:
        receive.wait()


def _all_to_all_single(call, i, n, outputs, inputs) -> None:
    """Direct: everybody to everybody at once, beginning with the next rank."""
    works = []
    for k in range(1, n):
        works.append(_isend(call, i, (i + k) % n, inputs[(i + k) % n]))
        works.append(_irecv(call, i, (i - k) % n, outputs[(i - k) % n]))
    write(outputs[i], inputs[i])
    for work in works:
        work.wait()


_ALGORITHMS = {
    "barrier": _barrier,
    "broadcast": _broadcast,
    "reduce": _reduce,
    "all_reduce": _all_reduce,
    "reduce_scatter_tensor": _reduce_scatter_tensor,
    "all_gather_into_tensor": _all_gather,
    "all_gather": _all_gather,
    "scatter": _scatter,
    "gather": _gather,
    "all_to_all_single": _all_to_all_single,
}
