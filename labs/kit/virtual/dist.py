"""What a rank program gets as `dist`: the functions of torch.distributed, as one virtual rank sees them.

Names, arguments and in-place semantics are those of torch 2.13. `isend`, `irecv`, `send` and `recv` repeat a few lines
instead of sharing a function: they run for every message, and a Python call costs as much as the rest of them.
"""

from __future__ import annotations

import difflib
from functools import partial
from sys import _getframe

import torch
import torch.distributed
from torch import Tensor
from torch.distributed import GroupMember, ReduceOp

from labs.kit.virtual import collectives
from labs.kit.virtual.failures import Mismatch
from labs.kit.virtual.groups import Group
from labs.kit.virtual.messages import Receive, Send, Work, in_backward
from labs.kit.virtual.reduction import refusal

_NOT_A_MEMBER = GroupMember.NON_GROUP_MEMBER


class P2POp:
    """One operation for `batch_isend_irecv`: `P2POp(dist.isend, tensor, peer)`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if getattr(op, "__name__", None) not in ("isend", "irecv"):
            raise ValueError("P2POp: op must be dist.isend or dist.irecv")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )


class Dist:
    """torch.distributed for one virtual rank."""

    ReduceOp, P2POp, Work, GroupMember = ReduceOp, P2POp, Work, GroupMember

    def __init__(self, engine, rank: int):
        self._engine, self._rank = engine, rank

    def __getattr__(self, name: str):
        have = [n for n in dir(type(self)) if not n.startswith("_")]
        if name in ("init_process_group", "destroy_process_group"):
            text = f"virtual ranks are connected before your function starts: leave dist.{name} out"
        elif hasattr(torch.distributed, name):
            text = f'virtual ranks have no dist.{name}; it runs on real ranks (on="gloo"). They have: {", ".join(have)}'
        else:
            close = difflib.get_close_matches(name, have, 1)
            text = f"torch.distributed has no {name}" + (f"; did you mean {close[0]}?" if close else "")
        raise AttributeError(text)

    def __repr__(self) -> str:
        return f"<virtual torch.distributed of rank {self._rank} of {self._engine.world_size}>"

    def __deepcopy__(self, memo):
        return self

    # ---- who am I

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return True

    def get_backend(self, group=None) -> str:
        return "virtual"

    def get_rank(self, group=None) -> int:
        if group is None:
            return self._rank
        return -1 if group == _NOT_A_MEMBER else self._group(group).index.get(self._rank, -1)

    def get_world_size(self, group=None) -> int:
        if group is None:
            return self._engine.world_size
        return -1 if group == _NOT_A_MEMBER or self._rank not in self._group(group).index else group.size

    def get_process_group_ranks(self, group=None) -> list[int]:
        return list(self._group(group).ranks)

    def get_global_rank(self, group, group_rank: int) -> int:
        return self._group(group).ranks[group_rank]

    def get_group_rank(self, group, global_rank: int) -> int:
        return self._position(self._group(group), global_rank)

    def new_group(self, ranks=None, *_, sort_ranks: bool = True, **__):
        """A group of some ranks. Every rank calls it, members or not, in the same order."""
        engine = self._engine
        ranks = list(range(engine.world_size)) if ranks is None else [int(rank) for rank in ranks]
        if len(set(ranks)) < len(ranks):
            raise ValueError(f"new_group: a rank appears twice in {ranks}")
        for rank in ranks:
            if not 0 <= rank < engine.world_size:
                raise ValueError(f"new_group: there is no rank {rank}; ranks are 0 to {engine.world_size - 1}")
        if sort_ranks:
            ranks.sort()
        engine.group_count[self._rank] = number = engine.group_count[self._rank] + 1
        if number == len(engine.groups):
            engine.groups.append(Group(ranks, number))
        group = engine.groups[number]
        if group.ranks != ranks:
            raise Mismatch(
                f"Ranks disagree about new_group, call {number}: rank {self._rank} names {ranks}, "
                f"another {group.ranks}.\n"
                "Every rank must make all groups, in the same order, also those it does not belong to."
            )
        return group if self._rank in group.index else _NOT_A_MEMBER

    def _group(self, group) -> Group:
        if group is None:
            return self._engine.groups[0]
        if not isinstance(group, Group):
            raise ValueError(f"{group!r} is not a group that dist.new_group returned")
        return group

    def _position(self, group: Group, rank: int) -> int:
        if rank not in group.index:
            raise ValueError(f"rank {rank} is not in {group}")
        return group.index[rank]

    # ---- messages

    def _peer(self, name, tensor, peer, group, group_peer, tag):
        """(peer, tag) of a message within a group; (None, None) where this rank does not belong to it."""
        if group == _NOT_A_MEMBER:
            return None, None
        group = self._group(group)
        if group_peer is not None:
            if peer is not None:
                raise ValueError(f"{name}: give the peer's rank in the world or in the group, not both")
            if not 0 <= group_peer < group.size:
                raise ValueError(f"{name}: {group} has no rank {group_peer}")
            peer = group.ranks[group_peer]
        if self._rank not in group.index:
            return None, None
        if peer is not None:
            self._position(group, peer)
        return peer, tag + (group.number << 32)

    def _refuse(self, name, tensor, peer):
        """Say why a message is impossible."""
        n, rank = self._engine.world_size, self._rank
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} takes a tensor, not {type(tensor).__name__}")
        if not tensor.is_contiguous():
            raise ValueError(f"{name}: the tensor must be contiguous; use tensor.contiguous()")
        if peer is None or type(peer) is bool or not isinstance(peer, int):
            raise ValueError(f"{name}: which rank? {'dst' if 'send' in name else 'src'} is {peer!r}")
        if peer == rank:
            raise ValueError(f"{name}: rank {rank} cannot exchange messages with itself")
        raise ValueError(f"{name}: there is no rank {peer}; ranks are 0 to {n - 1}")

    def isend(self, tensor, dst=None, group=None, tag=0, group_dst=None):
        if group is not None or group_dst is not None:
            dst, tag = self._peer("isend", tensor, dst, group, group_dst, tag)
            if tag is None:
                return None
        engine, rank = self._engine, self._rank
        if (
            dst.__class__ is not int
            or dst == rank
            or not 0 <= dst < engine.world_size
            or not isinstance(tensor, Tensor)
            or not tensor.is_contiguous()
        ):
            self._refuse("isend", tensor, dst)
        send = Send(engine, rank, dst, tag, tensor)
        if engine.watch_buffers:
            engine.mail.remember(send)
        if engine.current.offset:
            engine.later(engine.current, partial(engine.mail.post_send, send))
        else:
            engine.mail.post_send(send)
        if send.mate is None or engine.watch_buffers:
            frame = _getframe(1)
            send.place = frame.f_code, frame.f_lasti
        return send

    def irecv(self, tensor, src=None, group=None, tag=0, group_src=None):
        if group is not None or group_src is not None:
            src, tag = self._peer("irecv", tensor, src, group, group_src, tag)
            if tag is None:
                return None
        engine, rank = self._engine, self._rank
        if (
            src.__class__ is not int
            or src == rank
            or not 0 <= src < engine.world_size
            or not isinstance(tensor, Tensor)
            or not tensor.is_contiguous()
        ) and (src is not None or not isinstance(tensor, Tensor) or not tensor.is_contiguous()):
            self._refuse("irecv", tensor, src)
        receive = Receive(engine, rank, src, tag, tensor)
        if engine.current.offset:
            engine.later(engine.current, partial(engine.mail.post_receive, receive))
        else:
            engine.mail.post_receive(receive)
        if receive.mate is None:
            frame = _getframe(1)
            receive.place = frame.f_code, frame.f_lasti
        return receive

    def send(self, tensor, dst=None, group=None, tag=0, group_dst=None) -> None:
        if group is not None or group_dst is not None:
            dst, tag = self._peer("send", tensor, dst, group, group_dst, tag)
            if tag is None:
                return
        engine, rank = self._engine, self._rank
        if (
            dst.__class__ is not int
            or dst == rank
            or not 0 <= dst < engine.world_size
            or not isinstance(tensor, Tensor)
            or not tensor.is_contiguous()
        ):
            self._refuse("send", tensor, dst)
        if in_backward() != -1:
            raise engine.blocked_in_backward("send")
        task = engine.current
        if task.offset:
            engine.catch_up(task)
        send = Send(engine, rank, dst, tag, tensor)
        engine.mail.post_send(send)
        if send.done:  # an eager message
            frame = _getframe(1)
            send.place = frame.f_code, frame.f_lasti
        else:
            send.waiter = task
            engine.block(send)
        if send.error is not None:
            raise send.error

    def recv(self, tensor, src=None, group=None, tag=0, group_src=None) -> int:
        if group is not None or group_src is not None:
            src, tag = self._peer("recv", tensor, src, group, group_src, tag)
            if tag is None:
                return -1
        engine, rank = self._engine, self._rank
        if (
            src.__class__ is not int
            or src == rank
            or not 0 <= src < engine.world_size
            or not isinstance(tensor, Tensor)
            or not tensor.is_contiguous()
        ) and (src is not None or not isinstance(tensor, Tensor) or not tensor.is_contiguous()):
            self._refuse("recv", tensor, src)
        if in_backward() != -1:
            raise engine.blocked_in_backward("recv")
        task = engine.current
        if task.offset:
            engine.catch_up(task)
        receive = Receive(engine, rank, src, tag, tensor)
        engine.mail.post_receive(receive)
        if not receive.done:
            receive.waiter = task
            engine.block(receive)
        if receive.error is not None:
            raise receive.error
        return receive.mate.rank

    def batch_isend_irecv(self, p2p_op_list) -> list[Work]:
        if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
            raise ValueError("batch_isend_irecv takes a list of dist.P2POp that is not empty")
        works = [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
        works = [work for work in works if work is not None]
        frame = _getframe(1)
        for work in works:
            work.place = frame.f_code, frame.f_lasti
        return works

    # ---- collectives

    def barrier(self, group=None, async_op=False, device_ids=None, timeout=None):
        return self._call("barrier", group, lambda g: ((), None, 0), async_op)

    def broadcast(self, tensor, src=None, group=None, async_op=False, group_src=None):
        prepare = lambda g: ((tensor,), tensor, _nbytes(tensor))
        return self._call("broadcast", group, prepare, async_op, root=(src, group_src, None))

    def reduce(self, tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
        prepare = lambda g: ((tensor,), tensor, _nbytes(tensor))
        return self._call("reduce", group, prepare, async_op, root=(dst, group_dst, None), op=op)

    def all_reduce(self, tensor, op=ReduceOp.SUM, group=None, async_op=False):
        return self._call("all_reduce", group, lambda g: ((tensor,), tensor, _nbytes(tensor)), async_op, op=op)

    def reduce_scatter_single(self, output, input, op=ReduceOp.SUM, group=None, async_op=False):
        return self._reduce_scatter("reduce_scatter_single", output, input, op, group, async_op)

    def reduce_scatter_tensor(self, output, input, op=ReduceOp.SUM, group=None, async_op=False):
        return self._reduce_scatter("reduce_scatter_tensor", output, input, op, group, async_op)

    def all_gather_single(self, output_tensor, input_tensor, group=None, async_op=False):
        return self._all_gather("all_gather_single", output_tensor, input_tensor, group, async_op)

    def all_gather_into_tensor(self, output_tensor, input_tensor, group=None, async_op=False):
        return self._all_gather("all_gather_into_tensor", output_tensor, input_tensor, group, async_op)

    def all_gather(self, tensor_list, tensor, group=None, async_op=False):
        def prepare(g):
            _check_list("all_gather", tensor_list, tensor, g.size)
            return (list(tensor_list), tensor), tensor, tensor.nbytes

        return self._call("all_gather", group, prepare, async_op)

    def scatter(self, tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
        def prepare(g, root):
            if g.index[self._rank] == root:
                _check_list("scatter", scatter_list, tensor, g.size)
            elif scatter_list:
                raise ValueError("scatter: only the source gives a scatter_list; elsewhere leave it out")
            return (tensor, scatter_list), tensor, _nbytes(tensor)

        return self._call("scatter", group, prepare, async_op, root=(src, group_src, 0))

    def gather(self, tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
        def prepare(g, root):
            if g.index[self._rank] == root:
                _check_list("gather", gather_list, tensor, g.size)
            elif gather_list:
                raise ValueError("gather: only the destination gives a gather_list; elsewhere leave it out")
            return (gather_list, tensor), tensor, _nbytes(tensor)

        return self._call("gather", group, prepare, async_op, root=(dst, group_dst, 0))

    def all_to_all_single(
        self, output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
    ):
        def prepare(g):
            _same_dtype("all_to_all_single", output, input)
            outs = _parts("all_to_all_single", "output", output, output_split_sizes, g.size)
            ins = _parts("all_to_all_single", "input", input, input_split_sizes, g.size)
            return (outs, ins), input, None

        return self._call("all_to_all_single", group, prepare, async_op)

    # ---- what the collectives share

    def _reduce_scatter(self, label, output, input, op, group, async_op):
        def prepare(g):
            _times(label, input, output, g.size)
            return (output, input), input, input.nbytes

        return self._call(label, group, prepare, async_op, op=op, name="reduce_scatter_tensor")

    def _all_gather(self, label, output, input, group, async_op):
        def prepare(g):
            _times(label, output, input, g.size)
            flat = output.detach().view(-1)
            return (flat.chunk(g.size) if flat.numel() else [flat] * g.size, input), output, output.nbytes

        return self._call(label, group, prepare, async_op, name="all_gather_into_tensor")

    def _call(self, label, group, prepare, async_op, root=None, op=None, name=None):
        """Check a collective's arguments and join it.

        `prepare(group[, root])` gives this rank's tensors, the tensor that all ranks must agree on, and the bytes that
        the cost model needs. `root` is (world rank, rank in the group, default).
        """
        engine, rank = self._engine, self._rank
        if group == _NOT_A_MEMBER:
            return None
        group = self._group(group)
        if rank not in group.index:
            return None  # as in torch, which only warns
        signature = {}
        if root is not None:
            world, within, default = root
            if within is None:
                world = default if world is None else world
                if world is None:
                    raise ValueError(f"{label}: which rank? Give {'src' if label == 'broadcast' else 'dst'}")
                within = self._position(group, world)
            elif world is not None:
                raise ValueError(f"{label}: give the rank in the world or in the group, not both")
            signature["root"] = within
        io, data, size = prepare(group) if root is None or root[2] is None else prepare(group, signature["root"])
        if op is not None:
            signature["op"] = op.name if hasattr(op, "name") else str(op)
        if data is not None:
            signature["dtype"] = data.dtype
            signature["numel"] = None if size is None else data.numel()
            if reason := refusal(label, data.dtype, signature.get("op")):
                raise RuntimeError(reason)
        for tensor in _tensors(io):
            if not tensor.is_contiguous():
                raise ValueError(f"{label}: tensors must be contiguous; use tensor.contiguous()")
        task = engine.current
        if not async_op:
            if in_backward() != -1:
                raise engine.blocked_in_backward(label)
            if task.offset:
                engine.catch_up(task)
        frame = _getframe(1)
        while frame.f_code.co_filename == __file__:
            frame = frame.f_back
        place = frame.f_code, frame.f_lasti
        work = collectives.CollectiveWork(engine, rank, label)
        arguments = (engine, rank, name or label, label, group, signature, io, size, place, async_op, work)
        if async_op:
            engine.later(task, partial(collectives.start, *arguments))
            return work
        collectives.start(*arguments)
        return None


# ---- checks


def _nbytes(tensor) -> int:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"a collective takes tensors, not {type(tensor).__name__}")
    return tensor.nbytes


def _tensors(io):
    for item in io:
        if isinstance(item, Tensor):
            yield item
        elif item is not None:
            yield from item


def _same_dtype(name, a, b) -> None:
    for tensor in (a, b):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} takes tensors, not {type(tensor).__name__}")
    if a.dtype is not b.dtype:
        raise ValueError(f"{name}: output and input have different dtypes, {a.dtype} and {b.dtype}")


def _times(name, large, small, n) -> None:
    _same_dtype(name, large, small)
    if large.numel() != n * small.numel():
        raise ValueError(
            f"{name}: the larger tensor must hold {n} x {small.numel()} = {n * small.numel()} elements, one part for "
            f"each of {n} ranks, but it holds {large.numel()}"
        )


def _check_list(name, tensors, own, n) -> None:
    if not isinstance(tensors, (list, tuple)) or len(tensors) != n:
        count = "none" if tensors is None else len(tensors) if isinstance(tensors, (list, tuple)) else "no list"
        raise ValueError(f"{name}: the list must hold one tensor for each of {n} ranks, not {count}")
    for tensor in tensors:
        _same_dtype(name, tensor, own)
        if tensor.numel() != own.numel():
            raise ValueError(f"{name}: a tensor in the list has {tensor.numel()} elements, the other {own.numel()}")


def _parts(name, which, tensor, sizes, n):
    if sizes:
        if len(sizes) != n or sum(sizes) != tensor.shape[0]:
            raise ValueError(
                f"{name}: {which}_split_sizes must hold {n} numbers with the sum {tensor.shape[0]}, not {list(sizes)}"
            )
        return tensor.detach().split(list(sizes))
    rows = tensor.shape[0] if tensor.dim() else 0
    if rows % n:
        raise ValueError(f"{name}: {rows} rows of {which} do not divide by {n} ranks; give {which}_split_sizes")
    return tensor.detach().split([rows // n] * n)
