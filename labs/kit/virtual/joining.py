"""Collectives, as the functions of torch.distributed: check the arguments and join the call."""

from __future__ import annotations

from functools import partial
from sys import _getframe

from torch.distributed import ReduceOp

from labs.kit.virtual import checks, collectives
from labs.kit.virtual.member import NOT_A_MEMBER, Member
from labs.kit.virtual.messages import in_backward
from labs.kit.virtual.reduction import refusal


class Collectives(Member):
    """barrier, broadcast, all_reduce and so on."""

    def barrier(self, group=None, async_op=False, device_ids=None, timeout=None):
        return self._call("barrier", group, lambda g: ((), None, 0), async_op)

    def broadcast(self, tensor, src=None, group=None, async_op=False, group_src=None):
        prepare = lambda g: ((tensor,), tensor, checks.nbytes(tensor))
        return self._call("broadcast", group, prepare, async_op, root=(src, group_src, None))

    def reduce(self, tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
        prepare = lambda g: ((tensor,), tensor, checks.nbytes(tensor))
        return self._call("reduce", group, prepare, async_op, root=(dst, group_dst, None), op=op)

    def all_reduce(self, tensor, op=ReduceOp.SUM, group=None, async_op=False):
        return self._call("all_reduce", group, lambda g: ((tensor,), tensor, checks.nbytes(tensor)), async_op, op=op)

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
            checks.one_each("all_gather", tensor_list, tensor, g.size)
            return (list(tensor_list), tensor), tensor, tensor.nbytes

        return self._call("all_gather", group, prepare, async_op)

    def scatter(self, tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
        def prepare(g, root):
            if g.index[self._rank] == root:
                checks.one_each("scatter", scatter_list, tensor, g.size)
            elif scatter_list:
                raise ValueError("scatter: only the source gives a scatter_list; elsewhere leave it out")
            return (tensor, scatter_list), tensor, checks.nbytes(tensor)

        return self._call("scatter", group, prepare, async_op, root=(src, group_src, 0))

    def gather(self, tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
        def prepare(g, root):
            if g.index[self._rank] == root:
                checks.one_each("gather", gather_list, tensor, g.size)
            elif gather_list:
                raise ValueError("gather: only the destination gives a gather_list; elsewhere leave it out")
            return (gather_list, tensor), tensor, checks.nbytes(tensor)

        return self._call("gather", group, prepare, async_op, root=(dst, group_dst, 0))

    def all_to_all_single(
        self, output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
    ):
        def prepare(g):
            checks.same_dtype("all_to_all_single", output, input)
            outs = checks.parts("all_to_all_single", "output", output, output_split_sizes, g.size)
            ins = checks.parts("all_to_all_single", "input", input, input_split_sizes, g.size)
            return (outs, ins), input, None

        return self._call("all_to_all_single", group, prepare, async_op)

    # ---- what the collectives share

    def _reduce_scatter(self, label, output, input, op, group, async_op):
        def prepare(g):
            checks.times(label, input, output, g.size)
            return (output, input), input, input.nbytes

        return self._call(label, group, prepare, async_op, op=op, name="reduce_scatter_tensor")

    def _all_gather(self, label, output, input, group, async_op):
        def prepare(g):
            checks.times(label, output, input, g.size)
            return (checks.equal_parts(label, output, g.size), input), output, output.nbytes

        return self._call(label, group, prepare, async_op, name="all_gather_into_tensor")

    def _call(self, label, group, prepare, async_op, root=None, op=None, name=None):
        """Check a collective's arguments and join it.

        `prepare(group[, root])` gives this rank's tensors, the tensor that all ranks must agree on, and the bytes that
        the cost model needs. `root` is (world rank, rank in the group, default).
        """
        engine, rank = self._engine, self._rank
        if group == NOT_A_MEMBER:
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
        if strided := checks.layout(name or label, io):
            signature["layout"] = strided
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
