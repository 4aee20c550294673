"""Exercise shard_indices: who gets which samples in which epoch, with and without padding."""

from __future__ import annotations

from collections import Counter

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 7))
    ragged = size * int(rng.integers(4, 12)) + int(rng.integers(1, size))
    plan = [
        ("correct", 12, 4, False),
        ("correct", 21, 2, False),
        ("correct", 21, 2, True),
        ("correct", ragged, size, True),
        ("correct", ragged, size, False),
        ("edge", 11, 4, True),
        ("edge", 13, 4, True),
        ("edge", 3, 4, False),
        ("edge", 4, 4, True),
        ("edge", 5, 4, False),
        ("edge", 1, 4, True),
        ("edge", 1, 4, False),
        ("edge", 0, 4, False),
        ("edge", 0, 4, True),
        ("edge", 10, 1, True),
    ]
    return [Case(_title(n, k, pad), {"count": n, "size": k, "pad": pad}, part) for part, n, k, pad in plan]


def _title(count, size, pad):
    text = f"{count} sample{'s' * (count != 1)} on {size} rank{'s' * (size != 1)}"
    return text + (", padded" if pad else "")


def run(answers, inputs):
    shard, count, size, pad = answers[0], inputs["count"], inputs["size"], inputs["pad"]

    def indices(rank, epoch):
        found = shard(count, rank, size, epoch, pad)
        return None if found is None or found is ... else [int(index) for index in found]

    try:
        epochs = [[indices(rank, epoch) for rank in range(size)] for epoch in range(3)]
        return {"epochs": epochs, "again": indices(0, 0)}
    except (ZeroDivisionError, IndexError) as error:
        return {"error": type(error).__name__}


def verify(case, output):
    count, size, pad = (case.inputs[name] for name in ("count", "size", "pad"))
    said = case.title
    if "error" in output:
        raise Wrong(
            "few_samples",
            f"{said}: your function stops with {output['error']}. Which line does not expect so few samples?",
            then=("With 0 samples there is nothing to repeat: every rank gets an empty list.",),
        )
    epochs = output["epochs"]
    if any(shard is None for shards in epochs for shard in shards):
        raise Wrong("nothing_returned", f"{said}: a rank got None. Does your function end with `return`?")
    if output["again"] != epochs[0][0]:
        raise Wrong(
            "not_repeatable",
            f"{said}: asked twice, rank 0 got two different lists for epoch 0. From where does your shuffle take its "
            f"seed?\nfirst {_some(epochs[0][0])}\nthen  {_some(output['again'])}",
            then=(
                "All ranks must compute the same order without talking. So the order may depend on the epoch only.",
                "generator = torch.Generator().manual_seed(epoch), then torch.randperm(count, generator=generator).",
            ),
        )
    for epoch, shards in enumerate(epochs):
        _check_cover(said, epoch, shards, count, size, pad)
    if count >= 8:
        _check_shuffle(said, epochs, count, size)


def _check_cover(said, epoch, shards, count, size, pad):
    """Raise Wrong unless the shards of one epoch cover the samples as they should; the digits are drawn beside it."""
    try:
        _cover(said, epoch, shards, count, size, pad)
    except Wrong as wrong:
        wrong.picture = _picture(shards, count, f"Epoch {epoch}")
        raise


def _picture(shards, count, name):
    """A callable that draws the dealt digits; None where there are too many, or numbers without a digit."""
    longest = max(map(len, shards))
    if len(shards) > 6 or not 0 < longest <= 24 or not all(0 <= k < count for shard in shards for k in shard):
        return None

    def draw():
        from labs.data_parallel.dealing import shards_picture

        return shards_picture(shards, name)

    return draw


def _cover(said, epoch, shards, count, size, pad):
    shown = "\n".join(f"epoch {epoch}, rank {rank}: {_some(shard)}" for rank, shard in enumerate(shards[:6]))
    copies = Counter(index for shard in shards for index in shard)
    total, each = sum(copies.values()), -(-count // size)
    if stray := [index for index in copies if not 0 <= index < count]:
        raise Wrong(
            "past_the_end",
            f"{said}: there is no sample {stray[0]}. Which numbers do the samples have?\n{shown}",
            then=(f"From 0 to {count - 1}: the numbers that torch.randperm({count}) shuffles.",),
        )
    missing = [index for index in range(count) if index not in copies]
    repeated = [index for index, times in copies.items() if times > 1]
    if size > 1 and count > 1 and not missing and all(len(shard) >= count for shard in shards):
        raise Wrong(
            "everybody_everything",
            f"{said}: every rank got all samples. Who then does less work than before?\n{shown}",
            then=("Each sample belongs to one rank.", "order[rank::size] takes every size-th sample, from rank on."),
        )
    if missing and repeated:
        raise Wrong(
            "orders_differ",
            f"{said}: sample {repeated[0]} is on several ranks, and sample {missing[0]} on none. Do all ranks deal from "
            f"the same order?\n{shown}",
            then=(
                "If each rank shuffles with a seed of its own, they cut pieces out of different orders.",
                "The seed may depend on the epoch. It must not depend on the rank.",
            ),
        )
    if missing:
        raise Wrong(
            "remainder_lost",
            f"{said}: nobody gets sample {missing[0]}"
            f"{f' and {len(missing) - 1} more' * (len(missing) > 1)}. Where did the remainder go?\n{shown}",
            then=(
                f"{count} = {size} * {count // size} + {count % size}: some ranks must take one more.",
                "order[rank::size] leaves none out.",
            ),
        )
    if pad:
        _check_padding(said, shards, shown, copies, each, size, total, count)
        return
    if repeated:
        raise Wrong(
            "padded_anyway",
            f"{said}, without padding: sample {repeated[0]} is there {copies[repeated[0]]} times, {total} in all. "
            f"What would that do to a score?\n{shown}",
            then=("With pad=False nothing is repeated, and some ranks have one sample fewer.",),
        )
    lengths = [len(shard) for shard in shards]
    if max(lengths) - min(lengths) > 1:
        raise Wrong(
            "uneven",
            f"{said}: the ranks get {', '.join(map(str, lengths))} samples. The slowest sets the pace: how close to equal "
            f"can they be?\n{shown}",
            then=("Deal them out like cards: one to each rank, and again.", "order[rank::size] does it."),
        )


def _check_padding(said, shards, shown, copies, each, size, total, count):
    lengths = [len(shard) for shard in shards]
    evidence = f"{shown}\nsamples by rank: {', '.join(map(str, lengths))}; {each} each would be equal"
    if len(set(lengths)) > 1:
        if total == count:
            raise Wrong(
                "not_padded",
                f"{said}: some ranks have fewer samples than others. Who waits for whom in the last step?\n{evidence}",
                then=(
                    f"With pad=True every rank gets {each}: some samples are repeated.",
                    f"Make the order {each * size} long by repeating it from its start, before you deal it out.",
                ),
            )
        raise Wrong(
            "padded_too_little",
            f"{said}: you repeat some samples, but not enough of them. How often must the order be repeated when there "
            f"are fewer samples than missing places?\n{evidence}",
            then=(
                f"{count} samples must fill {each * size} places: once around may not be enough.",
                f"Place k holds order[k % count], for k in range({each * size}).",
            ),
        )
    if lengths[0] != each:
        raise Wrong(
            "padded_too_much",
            f"{said}: all ranks have {lengths[0]} samples. Would fewer do?\n{evidence}",
            then=(f"{count} / {size}, rounded up, is {each}; an order that divides already needs no padding.",),
        )
    if copies and max(copies.values()) > -(-total // count):
        index, times = copies.most_common(1)[0]
        raise Wrong(
            "one_sample_repeated",
            f"{said}: sample {index} is there {times} times, others once. Why should it count more?\n{evidence}",
            then=("Repeat the order from its start, so that no sample comes twice more often than the others.",),
        )


def _check_shuffle(said, epochs, count, size):
    shown = "\n".join(f"epoch {epoch}, rank 0: {_some(shards[0])}" for epoch, shards in enumerate(epochs))
    if all(shard == sorted(shard) for shards in epochs for shard in shards):
        raise Wrong(
            "not_shuffled",
            f"{said}: the samples come in the order in which they are stored. What if they are sorted by label?\n{shown}",
            then=("Shuffle before you deal.", "torch.randperm(count, generator=...) gives a shuffled order."),
        )
    if any(epochs[k] == epochs[k + 1] for k in range(2)):
        raise Wrong(
            "same_every_epoch",
            f"{said}: two epochs have the same order. Which of your arguments says that an epoch is over?\n{shown}",
            then=(
                "A seed that never changes gives the same shuffle for ever: what happens to whoever forgets set_epoch.",
                "torch.Generator().manual_seed(epoch)",
            ),
        )
    same = [rank for rank in range(size) if all(set(shards[rank]) == set(epochs[0][rank]) for shards in epochs)]
    if size > 1 and len(same) == size:
        raise Wrong(
            "same_shard",
            f"{said}: the order changes, but rank 0 sees the same {len(epochs[0][0])} samples in every epoch. Did you deal "
            f"before you shuffled?\n{shown}",
            then=(
                "If each rank shuffles its own shard, no two samples of different shards ever change places.",
                "Shuffle all samples first, then take order[rank::size].",
            ),
        )


def _some(shard, most=12):
    return " ".join(map(str, shard[:most])) + (" ..." if len(shard) > most else "")


shard_indices = Exercise("shard_indices", "Deal out the samples", 3, cases, run, verify)
