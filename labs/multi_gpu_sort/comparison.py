"""Three sorts on four machines, on the virtual clock: seconds, and where they go."""

from __future__ import annotations

import numpy as np

SORTS = ("peer to peer", "radix partition", "heterogeneous")


def seconds(kind, gpus, keys=2_000_000_000, sample=2**18):
    """Time the three sorts of float32 keys that begin and end in the CPU's memory.

    Parameters
    ----------
    kind : str
        One of `labs.multi_gpu_sort.machines.KINDS`.
    gpus : int
        1, 2, 4, 8.
    keys : int
        How many keys there are.
    sample : int
        How many keys are really sorted; each stands for keys / sample. Counts and searched keys are sent as they are,
        and yet cost as much as their bytes times keys / sample: a larger sample makes that error smaller.

    Returns
    -------
    dict of str to float
        Seconds by sort.
    """
    from labs.kit import ranks
    from labs.multi_gpu_sort.heterogeneous import heterogeneous_sort
    from labs.multi_gpu_sort.journey import through_the_devices
    from labs.multi_gpu_sort.machines import machine
    from labs.multi_gpu_sort.merge_sort import merge_sort
    from labs.multi_gpu_sort.radix_partition import radix_partition

    drawn = np.random.default_rng(0).random(sample, dtype=np.float32)
    topology = machine(kind, gpus, keys / sample)

    def on_the_cpu(keys, dist):
        last = dist.get_rank() == dist.get_world_size() - 1
        return heterogeneous_sort(keys if last else keys[:0], dist)

    programs = {
        "peer to peer": (through_the_devices, (merge_sort, drawn)),
        "radix partition": (through_the_devices, (radix_partition, drawn)),
        "heterogeneous": (on_the_cpu, (drawn,)),
    }
    return {
        name: ranks.run(program, gpus + 1, args=args, topology=topology, trace=False).time
        for name, (program, args) in programs.items()
    }


def on_the_devices(kind, gpus, keys=2_000_000_000, sample=2**18, order=None):
    """Time the two sorts without the CPU, for keys that lie on the devices already.

    Parameters
    ----------
    kind, gpus, keys, sample
        As for `seconds`.
    order : sequence of int, optional
        The device of each rank; in order when left out.

    Returns
    -------
    dict of str to float
    """
    from labs.kit import ranks
    from labs.multi_gpu_sort.journey import Members
    from labs.multi_gpu_sort.machines import machine
    from labs.multi_gpu_sort.merge_sort import merge_sort
    from labs.multi_gpu_sort.radix_partition import radix_partition

    chunks = np.random.default_rng(0).random((gpus, sample // gpus), dtype=np.float32)
    topology = machine(kind, gpus, keys / sample)
    if order is not None:
        topology = topology.reorder([*order, gpus])

    def alone(sort, dist):
        devices = Members(gpus, dist)
        if dist.get_rank() < gpus:
            sort(chunks[dist.get_rank()], devices)

    sorts = {"peer to peer": merge_sort, "radix partition": radix_partition}
    return {
        name: ranks.run(alone, gpus + 1, args=(sort,), topology=topology, trace=False).time
        for name, sort in sorts.items()
    }


def by_devices(kind="NVSwitch", keys=2_000_000_000, sample=2**16, counts=(2, 4, 8)):
    """Curves over the number of devices: the three sorts, from the CPU's memory and back.

    Parameters
    ----------
    kind, keys, sample
        As for `seconds`.
    counts : sequence of int
        Numbers of devices.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves

    found = [seconds(kind, gpus, keys, sample) for gpus in counts]
    series = {name: (list(counts), [times[name] for times in found]) for name in SORTS}
    return curves(series, xlabel="GPUs", ylabel="time (s)", name=f"{keys:.0e} keys on {kind}, by number of GPUs")


def chart(times, name):
    """Grouped bars: machines, and on each the seconds of the sorts.

    Parameters
    ----------
    times : dict of str to dict of str to float
        {machine: {sort: seconds}}.
    name : str

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture
    from labs.kit.draw.style import BLUE, GREEN, ORANGE, canvas, drawing

    looks = ((BLUE, ""), (ORANGE, "//"), (GREEN, ".."))
    sorts = list(next(iter(times.values())))
    wide = 0.8 / len(sorts)
    with drawing():
        figure, axes = canvas(504, 210, left=44, bottom=24, top=8, right=4)
        for k, (sort, (colour, hatch)) in enumerate(zip(sorts, looks)):
            places = [group + (k - (len(sorts) - 1) / 2) * wide for group in range(len(times))]
            heights = [found[sort] for found in times.values()]
            axes.bar(places, heights, wide * 0.92, color=colour, hatch=hatch, edgecolor="#000000", lw=0.6, label=sort)
            for place, height in zip(places, heights):
                axes.text(place, height, f"{height:.2g}", ha="center", va="bottom", size=8)
        axes.set_xticks(range(len(times)), list(times))
        axes.set_ylabel("time (s)")
        axes.legend(frameon=False, loc="upper right")
    told = "; ".join(
        f"{machine}: " + ", ".join(f"{sort} {value:.3g} s" for sort, value in found.items())
        for machine, found in times.items()
    )
    return Picture(figure, f"{name}. {told}.")
