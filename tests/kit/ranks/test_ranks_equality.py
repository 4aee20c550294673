"""The same program gives the same numbers on virtual and on real ranks, and both give the right ones."""

import math

import pytest
import torch

from labs.kit import ranks

DTYPES = ["float32", "float64", "int64", "float16", "bfloat16"]
REDUCTIONS = ["SUM", "AVG", "PRODUCT", "MAX", "MIN", "BAND", "BOR", "BXOR"]
REDUCING = ["all_reduce", "reduce", "reduce_scatter"]
MOVING = ["broadcast", "all_gather_single", "all_gather", "gather", "scatter", "all_to_all_single"]
TOLERANCE = {"float32": 1e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 2e-2}


def sizes(world_size):
    return sorted({0, 1, world_size - 1, world_size, world_size + 1, 1000})


def contribution(rank, numel, dtype):
    """Ones and twos: sums, products and extremes over eight ranks are exact in every dtype."""
    return ((torch.arange(numel) // 2 + rank) % 2 + 1).to(getattr(torch, dtype))


def reducing(name, tensor, op, dist):
    root = dist.get_world_size() - 1
    if name == "all_reduce":
        dist.all_reduce(tensor, op=op)
        return tensor
    if name == "reduce":
        dist.reduce(tensor, dst=root, op=op)
        return tensor if dist.get_rank() == root else None
    out = tensor.new_empty(tensor.numel() // dist.get_world_size())
    dist.reduce_scatter_single(out, tensor, op=op)
    return out


def moving(name, tensor, numel, dist):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    root = world_size - 1
    if name == "broadcast":
        dist.broadcast(tensor, src=root)
        return tensor
    if name == "all_gather_single":
        out = tensor.new_empty(numel * world_size)
        dist.all_gather_single(out, tensor)
        return out
    if name in ("all_gather", "gather"):
        parts = [torch.empty_like(tensor) for _ in range(world_size)]
        if name == "all_gather":
            dist.all_gather(parts, tensor)
        else:
            dist.gather(tensor, parts if rank == root else None, dst=root)
        return torch.cat(parts) if name == "all_gather" or rank == root else None
    if name == "scatter":
        parts = [tensor * (k + 1) for k in range(world_size)] if rank == root else None
        out = torch.empty_like(tensor)
        dist.scatter(out, parts, src=root)
        return out
    full = torch.cat([tensor * (k + 1) for k in range(world_size)])
    out = torch.empty_like(full)
    dist.all_to_all_single(out, full)
    return out


def everything(dist):
    """All collectives on all sizes and dtypes; a combination that raises gives the type of its exception."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    found = {}

    def attempt(key, call):
        try:
            found[key] = call()
        except (RuntimeError, ValueError, TypeError) as error:
            found[key] = type(error).__name__

    for dtype in DTYPES:
        for numel in sizes(world_size):
            for name in REDUCING:
                length = numel * world_size if name == "reduce_scatter" else numel
                for op in REDUCTIONS:
                    tensor = contribution(rank, length, dtype)
                    reduce_op = getattr(dist.ReduceOp, op)
                    attempt((name, op, dtype, numel), lambda: reducing(name, tensor, reduce_op, dist))  # noqa: B023
            for name in MOVING:
                tensor = contribution(rank, numel, dtype)
                attempt((name, "", dtype, numel), lambda: moving(name, tensor, numel, dist))  # noqa: B023
    dist.barrier()
    return found


def expected(name, op, dtype, numel, rank, world_size):
    """The right value by definition, computed without any communication; "raises" where it has none."""
    root = world_size - 1
    if name in REDUCING:
        if (op == "AVG") if dtype == "int64" else op.startswith("B"):  # no average of integers, no bits of floats
            return "raises"
        if name == "reduce" and rank != root:
            return None
        length = numel * world_size if name == "reduce_scatter" else numel
        stack = torch.stack([contribution(r, length, dtype) for r in range(world_size)])
        if op in ("SUM", "AVG"):
            total = stack.to(torch.float64).sum(0)
            if op == "AVG":
                total = total / world_size
        elif op == "PRODUCT":
            total = stack.to(torch.float64).prod(0)
        elif op in ("MAX", "MIN"):
            total = stack.amax(0) if op == "MAX" else stack.amin(0)
        else:
            total = stack[0].clone()
            for other in stack[1:]:
                total = {"BAND": total & other, "BOR": total | other, "BXOR": total ^ other}[op]
        total = total.to(getattr(torch, dtype))
        return total[rank * numel : (rank + 1) * numel] if name == "reduce_scatter" else total
    own = [contribution(r, numel, dtype) for r in range(world_size)]
    if name == "broadcast":
        return own[root]
    if name in ("all_gather_single", "all_gather", "gather"):
        return torch.cat(own) if name != "gather" or rank == root else None
    if name == "scatter":
        return own[root] * (rank + 1)
    return torch.cat([part * (rank + 1) for part in own])


def agree(a, b, op, dtype):
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
        return type(a) is type(b)  # both nothing, or both the name of an exception
    if a.dtype is not b.dtype or a.shape != b.shape:
        return False
    if op == "AVG":  # the one operation here whose value cannot be represented exactly
        return torch.allclose(a.double(), b.double(), rtol=TOLERANCE[dtype], atol=0)
    return torch.equal(a, b)


def differences(one, other):
    return [
        (rank, key, a[key], b[key])
        for rank, (a, b) in enumerate(zip(one, other, strict=True))
        for key in a
        if not agree(a[key], b[key], key[1], key[2])
    ]


@pytest.fixture(scope="module")
def virtual():
    return {n: ranks.run(everything, n).results for n in (1, 2, 3, 4, 5, 8)}


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 5, 8])
def test_virtual_collectives_are_right(virtual, world_size):
    right = [{key: expected(*key, rank, world_size) for key in virtual[world_size][rank]} for rank in range(world_size)]
    assert differences(virtual[world_size], right) == []


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_collectives_are_those_of_gloo(virtual, world_size):
    real = ranks.run(everything, world_size, on="gloo", check=False).results
    assert differences(virtual[world_size], real) == []


def chunk(tensor, size, index):
    """The index-th of `size` nearly equal parts of a tensor."""
    step, more = divmod(tensor.numel(), size)
    start = index * step + min(index, more)
    return tensor[start : start + step + (index < more)]


def ring_all_reduce(tensor, dist):
    """All-reduce by messages between neighbours: the order of additions, and so every rounding, is fixed."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if size == 1:
        return
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(2 * (size - 1)):
        outgoing, arriving = chunk(tensor, size, (rank - step) % size), chunk(tensor, size, (rank - step - 1) % size)
        received = torch.empty_like(arriving)
        pending = dist.isend(outgoing.clone(), dst=right)
        dist.recv(received, src=left)
        pending.wait()
        if step < size - 1:
            arriving += received
        else:
            arriving.copy_(received)


def messages(dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {}
    for dtype in DTYPES:
        for numel in sizes(size):
            generator = torch.Generator().manual_seed(1000 * rank + numel)
            tensor = (torch.randn(numel, generator=generator, dtype=torch.float64) * 8).to(getattr(torch, dtype))
            around = tensor.clone()
            ring_all_reduce(around, dist)
            found["ring", dtype, numel] = around
            if size > 1:
                into = torch.empty_like(tensor)
                operations = [
                    dist.P2POp(dist.isend, tensor, (rank + 1) % size),
                    dist.P2POp(dist.irecv, into, (rank - 1) % size),
                ]
                for work in dist.batch_isend_irecv(operations):
                    work.wait()
                found["shift", dtype, numel] = into
            library = tensor.clone()
            dist.all_reduce(library)
            found["all_reduce", dtype, numel] = library
    return found


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_programs_of_messages_are_bitwise_equal(world_size):
    one = ranks.run(messages, world_size).results
    other = ranks.run(messages, world_size, on="gloo", check=False).results
    for rank in range(world_size):
        assert one[rank].keys() == other[rank].keys()
        for key, value in one[rank].items():
            kind, dtype, _ = key
            if kind == "all_reduce" and dtype != "int64":  # the library may add in another order
                bound = TOLERANCE[dtype] * world_size
                torch.testing.assert_close(value, other[rank][key], rtol=bound, atol=bound * 8, msg=str(key))
            else:
                assert torch.equal(value, other[rank][key]), (rank, key)


@pytest.mark.parametrize("world_size", [2, 5, 8])
def test_a_virtual_ring_sums(world_size):
    found = ranks.run(messages, world_size).results
    for dtype in DTYPES:
        values = [result["ring", dtype, 1000] for result in found]
        assert all(torch.equal(value, values[0]) for value in values)
        start = [
            (torch.randn(1000, generator=torch.Generator().manual_seed(1000 * r + 1000), dtype=torch.float64) * 8).to(
                getattr(torch, dtype)
            )
            for r in range(world_size)
        ]
        exact = [math.fsum(column) for column in zip(*(s.tolist() for s in start), strict=True)]
        bound = 0 if dtype == "int64" else TOLERANCE[dtype] * world_size
        right = torch.tensor(exact, dtype=torch.float64)
        torch.testing.assert_close(values[0].double(), right, rtol=bound, atol=bound * 30)
