"""What the exercise ddp says to right gradients that cost too much: the model of the lesson is the budget."""

from __future__ import annotations

from labs.distributed_data_parallel.cost_model import buckets_of, predicted
from labs.distributed_data_parallel.lanes import lanes
from labs.kit.exercise import Wrong
from labs.kit.hardware import cluster, costs, uniform

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def machine_of(inputs):
    """The topology of a cost case."""
    return cluster(inputs["nodes"], gpus_per_node=4) if inputs["nodes"] else uniform(4)


def modelled(inputs):
    """Seconds of backward and averaging by the model: (with overlap, without, number of buckets).

    A ring is as slow as its slowest hop, the one from the last GPU of a node to the next node.
    """
    machine = machine_of(inputs)
    size = machine.world_size
    hops = [machine.route(rank, (rank + 1) % size) for rank in range(size)]
    latency, bandwidth = max(hop.latency for hop in hops), min(hop.bandwidth for hop in hops)
    nbytes = [4 * inputs["elements"]] * inputs["layers"]

    def ring(count):
        return costs.ring_all_reduce(size, count, latency, bandwidth)

    arguments = nbytes, inputs["seconds"], inputs["limit"], ring
    return predicted(*arguments), predicted(*arguments, overlap=False), len(buckets_of(nbytes, inputs["limit"]))


def judge(inputs, output):
    """Raise the Wrong that a costly run deserves: too many all-reduces, too many bytes, no overlap."""
    size = machine_of(inputs).world_size
    whole = 4 * inputs["elements"] * inputs["layers"]
    if any(abs(value - 1) > 1e-6 for result in output["results"] for value in result):
        raise Wrong("other_values", "Here every gradient is 1 on every rank, and so is the average. Yours is not. Why?")
    early, late, buckets = modelled(inputs)
    calls = output["collectives"]
    sent = sum(call[1] for call in calls)
    ring = 2 * (size - 1) / size * whole
    evidence = (
        f"\n{len(calls)} collectives, {buckets} buckets; {sent / 1e6:.2f} MB sent by rank 0, "
        f"{ring / 1e6:.2f} MB are needed"
        f"\nbackward computes for {output['computing'] * 1e6:.0f} us; all is averaged after {output['done'] * 1e6:.0f} us"
        f"\nby the model: {early * 1e6:.0f} us with overlap, {late * 1e6:.0f} us without"
    )

    def picture():
        layers, seconds = inputs["layers"], inputs["seconds"]
        computing = [(k * seconds, (k + 1) * seconds) for k in range(layers)]
        return lanes({"Your DDP": (computing, [tuple(call[2:4]) for call in calls])}, "Backward on rank 0")

    if len(calls) > buckets:
        raise Wrong(
            "one_each",
            f"Right values, but {len(calls)} all-reduces for {buckets} buckets. What did you collect the buckets for?"
            + evidence,
            picture=picture,
            then=(
                "Each all-reduce pays its latencies. A bucket travels as one tensor.",
                "flat = torch.cat([gradient.reshape(-1) for each gradient of the bucket]), and one all_reduce of flat.",
            ),
        )
    if sent > 1.05 * ring:
        raise Wrong(
            "too_many_bytes",
            "Right values, but more bytes than needed. Which gradient travels twice, or as more than a sum?" + evidence,
            picture=picture,
            then=("Each gradient travels once, in one all_reduce.",),
        )
    if output["done"] > 1.1 * early:
        raise Wrong(
            "no_overlap",
            "Right values, but the network stands still while backward computes. When is the first bucket full, and when do "
            "you start its all-reduce?" + evidence,
            picture=picture,
            then=(
                "ready(index) is called during backward, each time that a gradient is finished.",
                "In ready: when all gradients of the next bucket have arrived, start its all_reduce with async_op=True, and "
                "keep the handle for finish.",
            ),
        )
