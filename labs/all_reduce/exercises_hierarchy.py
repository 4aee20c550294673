"""Exercise hierarchical: sum inside each node first, so that little has to cross the slow links between nodes."""

from __future__ import annotations

import numpy as np

from labs.all_reduce.exercises_ring import digits
from labs.all_reduce.exercises_words import amount, tensors
from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(nodes, gpus, values, part="correct", dtype="float32"):
        values = np.asarray(values, dtype=np.int64)
        title = f"{nodes} node{'s' * (nodes > 1)} of {gpus}, {values.shape[1]:,} number{'s' * (values.shape[1] != 1)}"
        return Case(title, {"nodes": nodes, "gpus": gpus, "values": values, "dtype": dtype}, part)

    def some(size, numel):
        return rng.integers(-999, 1000, size=(size, numel))

    return [
        case(2, 2, digits(4, 2)),
        case(2, 3, digits(6, 3)),
        case(3, 2, some(6, 10)),
        case(1, 4, some(4, 8), "edge"),
        case(4, 1, some(4, 5), "edge"),
        case(1, 1, some(1, 3), "edge"),
        case(2, 2, some(4, 2**4), "edge", "float64"),
        case(4, 4, some(16, 4000), "budget"),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.hardware import cluster
    from labs.kit.ranks import outcome

    (answer,) = answers
    values, gpus, dtype = inputs["values"], inputs["gpus"], getattr(torch, inputs["dtype"])

    def program(tensor, dist):
        answer(tensor, gpus, dist)
        return tensor

    return outcome(
        program,
        len(values),
        args=lambda rank: (torch.tensor(values[rank].tolist(), dtype=dtype),),
        topology=cluster(inputs["nodes"], gpus, nic_per_gpu=True),
        collectives="messages",
    )


def verify(case, output):
    completed(
        output,
        mismatch=(
            "groups_differ",
            "The ranks do not create the same groups. Which new_group calls does each rank make, in which order?",
            "new_group is a collective over the whole world: every rank creates every group, also those that it is not "
            "in, in the same order.",
            "groups = [dist.new_group(list(range(first, first + gpus))) for first in range(0, size, gpus)]; then pick "
            "your own: groups[rank // gpus].",
        ),
    )
    nodes, gpus = case.inputs["nodes"], case.inputs["gpus"]
    before = np.asarray(case.inputs["values"])
    after = np.asarray([np.asarray(row).reshape(-1) for row in output["results"]])
    total, shown = before.sum(axis=0), tensors(after, 6)
    if not np.array_equal(after, np.broadcast_to(total, after.shape).astype(after.dtype)):
        raise _explain(nodes, gpus, before, after, total, shown)
    if case.part == "budget":
        _budget(nodes, gpus, after, output)


def _explain(nodes, gpus, before, after, total, shown):
    by_node = before.reshape(nodes, gpus, -1).sum(axis=1)
    by_lane = before.reshape(nodes, gpus, -1).sum(axis=0)
    shard = before.shape[1] // gpus
    ranks = range(len(before))
    own = [slice((rank % gpus) * shard, (rank % gpus + 1) * shard) for rank in ranks]
    if nodes > 1 and all(np.array_equal(after[rank], by_node[rank // gpus]) for rank in ranks):
        return Wrong(
            "node_only",
            f"Each rank has the sum of its own node. How do the nodes learn of one another?\n{shown}",
            then=("Ranks of equal place, one in each node, form a group of their own: range(place, size, gpus).",),
        )
    if gpus > 1 and all(np.array_equal(after[rank], by_lane[rank % gpus]) for rank in ranks):
        return Wrong(
            "lane_only",
            f"Each rank has the sum over ranks of its own place. Who adds up the ranks within a node?\n{shown}",
            then=("First a reduce-scatter inside the node, then the sum between nodes.",),
        )
    if gpus > 1 and all(np.array_equal(after[rank][own[rank]], total[own[rank]]) for rank in ranks):
        return Wrong(
            "not_gathered",
            f"Each rank has the full sum of its own piece and nothing else. Which step brings the pieces together?\n{shown}",
            then=(
                "An all-gather inside the node: as in your ring, the third step undoes the scattering of the first.",
            ),
        )
    if np.array_equal(after, before.astype(after.dtype)):
        return Wrong(
            "not_in_place",
            f"The tensors are as they were. Did you write the result into the tensor that you were given?\n{shown}",
            then=("all_gather_into_tensor(tensor, piece, group=...) writes into `tensor`.",),
        )
    return Wrong(
        "sum",
        f"Rank 0 should end with {tensors([total])[8:]}. Whose numbers are missing, whose are in it twice?\n{shown}",
        then=(
            "Three steps: inside the node each rank gets the node's sum of its own piece; between nodes that piece is "
            "summed; inside the node the pieces are gathered.",
        ),
    )


def _sent_out(size, gpus, output):
    """Bytes that each rank sent to other nodes."""
    out = [0] * size
    for rank, kind, peer, count, *_ in output["events"]:
        if kind == "send" and rank // gpus != peer // gpus:
            out[rank] += count
    return out


def _budget(nodes, gpus, after, output):
    size, nbytes = len(after), after.shape[1] * after.dtype.itemsize
    out = _sent_out(size, gpus, output)
    fair = 2 * (nodes - 1) * nbytes // (nodes * gpus)
    if max(out) <= fair:
        return
    busy = [rank for rank in range(size) if out[rank]]
    evidence = (
        f"{nodes} nodes of {gpus}, {amount(nbytes)} on each rank, each rank with its own link to the other nodes\n"
        f"rank {out.index(max(out))} sent {amount(max(out))} to other nodes; {amount(fair)} would do\n"
        f"ranks that use their link: {', '.join(map(str, busy))}"
    )
    if len(busy) == size:
        raise Wrong(
            "whole_tensor",
            f"Every rank sends its whole tensor out of its node. Do all {gpus} ranks of a node know something different?\n"
            f"{evidence}",
            then=(
                f"After a reduce-scatter inside the node each rank stands for one {gpus}th of the node's sum.",
                "Only that piece has to cross: all_reduce(piece, group=ranks of equal place).",
            ),
        )
    if (
        len(busy) == nodes
        and len({rank % gpus for rank in busy}) == 1
        and max(out) >= 2 * (nodes - 1) * nbytes // nodes
    ):
        if _through_leaders(output, gpus, busy):
            raise Wrong(
                "leaders",
                f"One rank of each node speaks for all. What do the links of the other {gpus - 1} do meanwhile?\n{evidence}",
                then=(
                    "Every rank has its own link: give each a piece of the work.",
                    f"reduce_scatter inside the node instead of reduce: then each of {gpus} ranks sends a {gpus}th.",
                ),
            )
    raise Wrong(
        "flat",
        f"The sums are right, but only some links between nodes are used. Which ranks could carry a share?\n{evidence}",
        then=(
            "An all_reduce over the whole world knows nothing of nodes: its ring leaves each node through one rank.",
            "Make two kinds of groups with dist.new_group: the ranks of a node, and the ranks of equal place.",
        ),
    )


def _through_leaders(output, gpus, busy):
    """Whether what leaves a node also comes in through the same rank, as with leaders; a ring enters elsewhere."""
    into = {peer for rank, kind, peer, *_ in output["events"] if kind == "send" and rank // gpus != peer // gpus}
    return into == set(busy)


def achieved(outcomes):
    """What crosses between nodes in the largest case."""
    case, output = outcomes[-1]
    nodes, gpus = case.inputs["nodes"], case.inputs["gpus"]
    most = max(_sent_out(nodes * gpus, gpus, output))
    whole = case.inputs["values"].shape[1] * 4
    return [(case.title, f"{amount(most)} leave each rank for other nodes, of tensors of {amount(whole)}")]


hierarchical = Exercise(
    "hierarchical", "All-reduce in two levels", 1, cases, run, verify, core=False, achieved=achieved
)
