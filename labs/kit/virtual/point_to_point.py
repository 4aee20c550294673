"""Messages between two ranks, as the functions of torch.distributed.

`isend`, `irecv`, `send` and `recv` repeat a few lines instead of sharing a function: they run for every message, and a
Python call costs as much as the rest of them.
"""

from __future__ import annotations

from functools import partial
from sys import _getframe

from torch import Tensor

from labs.kit.virtual.member import NOT_A_MEMBER, Member
from labs.kit.virtual.messages import Receive, Send, Work, in_backward


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


class PointToPoint(Member):
    """send, recv, isend, irecv, batch_isend_irecv."""

    def _peer(self, name, tensor, peer, group, group_peer, tag):
        """(peer, tag) of a message within a group; (None, None) where this rank does not belong to it."""
        if group == NOT_A_MEMBER:
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
        n, rank = self._world_size, self._rank
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} takes a tensor, not {type(tensor).__name__}")
        if not tensor.is_contiguous():
            remedy = "use tensor.contiguous()" if "send" in name else "receive into a new tensor, then copy"
            raise ValueError(f"{name}: the tensor must be contiguous; {remedy}")
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
        rank = self._rank
        if (
            dst.__class__ is not int
            or dst == rank
            or not 0 <= dst < self._world_size
            or not isinstance(tensor, Tensor)
            or not tensor.is_contiguous()
        ):
            self._refuse("isend", tensor, dst)
        engine = self._engine
        send = Send(engine, rank, dst, tag, tensor)
        if engine.watch_buffers:
            self._mail.remember(send)
        if engine.current.offset:
            engine.later(engine.current, partial(self._mail.post_send, send))
        else:
            self._mail.post_send(send)
        if send.mate is None or engine.watch_buffers:
            frame = _getframe(1)
            send.place = frame.f_code, frame.f_lasti
        return send

    def irecv(self, tensor, src=None, group=None, tag=0, group_src=None):
        if group is not None or group_src is not None:
            src, tag = self._peer("irecv", tensor, src, group, group_src, tag)
            if tag is None:
                return None
        rank = self._rank
        if (
            src.__class__ is not int
            or src == rank
            or not 0 <= src < self._world_size
            or not isinstance(tensor, Tensor)
            or not tensor.is_contiguous()
        ) and (src is not None or not isinstance(tensor, Tensor) or not tensor.is_contiguous()):
            self._refuse("irecv", tensor, src)
        engine = self._engine
        receive = Receive(engine, rank, src, tag, tensor)
        if engine.current.offset:
            engine.later(engine.current, partial(self._mail.post_receive, receive))
        else:
            self._mail.post_receive(receive)
        if receive.mate is None:
            frame = _getframe(1)
            receive.place = frame.f_code, frame.f_lasti
        return receive

    def send(self, tensor, dst=None, group=None, tag=0, group_dst=None) -> None:
        if group is not None or group_dst is not None:
            dst, tag = self._peer("send", tensor, dst, group, group_dst, tag)
            if tag is None:
                return
        rank = self._rank
        if (
            dst.__class__ is not int
            or dst == rank
            or not 0 <= dst < self._world_size
            or not isinstance(tensor, Tensor)
            or not tensor.is_contiguous()
        ):
            self._refuse("send", tensor, dst)
        engine = self._engine
        if in_backward() != -1:
            raise engine.blocked_in_backward("send")
        task = engine.current
        if task.offset:
            engine.catch_up(task)
        send = Send(engine, rank, dst, tag, tensor)
        self._mail.post_send(send)
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
        rank = self._rank
        if (
            src.__class__ is not int
            or src == rank
            or not 0 <= src < self._world_size
            or not isinstance(tensor, Tensor)
            or not tensor.is_contiguous()
        ) and (src is not None or not isinstance(tensor, Tensor) or not tensor.is_contiguous()):
            self._refuse("recv", tensor, src)
        engine = self._engine
        if in_backward() != -1:
            raise engine.blocked_in_backward("recv")
        task = engine.current
        if task.offset:
            engine.catch_up(task)
        receive = Receive(engine, rank, src, tag, tensor)
        self._mail.post_receive(receive)
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
