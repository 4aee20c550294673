"""Exercise radix_partition: sort on any number of ranks with one exchange of keys."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
TOP = 2**31  # keys lie below; their top 8 bits make 256 buckets


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, keys, part="correct"):
        return Case(title, {"keys": [np.asarray(row, np.int64) for row in keys]}, part)

    def some(ranks, n, top=TOP):
        return rng.integers(0, top, (ranks, n))

    crowded = np.concatenate([rng.integers(0, TOP // 64, 1500), rng.integers(0, TOP, 300)])
    # the largest key has a bucket to itself, and 16 of 17 keys lie below: 16 // (17 // 4) is no rank
    uneven = [*np.split(rng.integers(0, TOP // 2, 14), [5, 5]), np.append(rng.integers(0, TOP // 2, 2), TOP - 5)]
    return [
        case("2 ranks, 8 keys each", some(2, 8)),
        case("3 ranks, 12 keys each", some(3, 12)),
        case("5 ranks, 40 keys each", some(5, 40)),
        case("3 ranks, most keys are small", np.split(rng.permutation(crowded), 3)),
        case("4 ranks, sorted already", np.sort(some(1, 160)[0]).reshape(4, 40)),
        case("4 ranks with 5, 0, 9 and 3 keys", uneven),
        case("1 rank", some(1, 9), "edge"),
        case("4 ranks, all keys equal", np.full((4, 6), 12345), "edge"),
        case("3 ranks, no keys", some(3, 0), "edge"),
        case("3 ranks, one key in all", [[], [7], []], "edge"),
        case("7 ranks, 1 key each", some(7, 1), "edge"),
        case("2 ranks, 0 and the largest key", [[TOP - 1, 0], [0, TOP - 1]], "edge"),
        case("6 ranks, 3,000 keys each: balance and bytes", some(6, 3000), "budget"),
        case("3 ranks, most keys are small: balance and bytes", np.split(np.tile(crowded, 5), 3), "budget"),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.hardware import uniform
    from labs.kit.ranks import outcome

    rows = [torch.from_numpy(row.copy()) for row in inputs["keys"]]
    return outcome(answers[0], len(rows), args=lambda rank: (rows[rank],), topology=uniform(len(rows)))


def verify(case, output):
    completed(
        output,
        mismatch=(
            "counts",
            "A rank expects more keys than another sends it. Who knows how many keys come?",
            "Before the keys travel, their numbers must: rank r tells rank k how many keys it will get.",
            "exchange_parts(keys, counts, dist) does both: counts[k] is how many of the keys go to rank k.",
        ),
        error=_error(output, len(case.inputs["keys"])),
    )
    rows, parts = case.inputs["keys"], output["results"]
    world_size, total = len(rows), sum(map(len, rows))
    shown = "\n".join(f"rank {rank} returned {short(part)}" for rank, part in enumerate(parts[:4]))
    look = _picture(parts, total)

    def wrong(hint, question, *then):
        raise Wrong(hint, f"{question}\n{shown}", picture=look, then=then)

    if any(not hasattr(part, "shape") or part.ndim != 1 for part in parts):
        wrong("nothing_returned", "What is a rank left with? Return its sorted keys, a tensor with one dimension.")
    found, before = np.concatenate(parts), np.concatenate(rows)
    if not np.array_equal(np.sort(found), np.sort(before)):
        _padding(before, found, wrong)
        same = "" if len(found) == len(before) else f" There were {len(before)}, now there are {len(found)}."
        wrong(
            "other_keys", f"These are not the keys that you were given.{same} Which of them went missing on the way?",
            "Every key goes into exactly one part. Do your counts add up to the number of keys?",
        )  # fmt: skip
    if not np.array_equal(found, np.sort(before)):
        _grouped(rows, parts, wrong)
        _order(parts, wrong)
    _costs(case, output, rows, parts, world_size, wrong)


def _error(output, world_size):
    failure = output.get("failure") if isinstance(output, dict) else None
    text = str(failure.get("message", "")) if isinstance(failure, dict) else ""
    if "nonnegative" in text or "non-negative" in text or "negative" in text:
        return (
            "negative_bucket",
            "A bucket has a negative number. Which key leads there?",
            "No key is negative here, so the shift is wrong: 31 bits, of which the top 8 are asked for.",
        )
    rows = re.match(r"\D*(\d+) rows of", text)
    if rows and int(rows[1]) > world_size:
        return (
            "remainder",
            f"There are ranks 0 to {world_size - 1}, and your program sends keys to rank {int(rows[1]) - 1}. Which bucket goes there?",
            "17 keys on 4 ranks: 17 // 4 is 4, and the bucket with 16 keys below it goes to rank 16 // 4. Where does the remainder go?",
            "Multiply before you divide: before * world_size // total is below world_size, because before is below total.",
        )
    if "split" in text.lower() or "sizes" in text.lower():
        return (
            "rank_count",
            f"There are {world_size} ranks, and your counts do not have one entry for each. Where do buckets become ranks?",
            "torch.bincount(ranks, minlength=world_size) has an entry for every rank, also for those that get nothing.",
        )
    return None


def _padding(before, found, wrong):
    """Raise Wrong when the only difference is that of a padded message, whose padding was cut off or was not."""
    before, found = Counter(before.tolist()), Counter(found.tolist())
    lost, new = before - found, found - before
    if set(lost) == {TOP - 1} and not new:
        wrong(
            "padding", f"All keys {TOP - 1} are gone, and no other. How can a receiver tell such a key from padding?",
            "It cannot. Any number that pads is also a possible key, and the largest ones are cut off together with it.",
            "Send no padding: with counts, all_to_all_single sends parts of different lengths, and exchange_parts does both.",
        )  # fmt: skip
    if len(new) == 1 and not lost and len(before) > 1:
        wrong(
            "padding_stays", f"{next(iter(new))} is there {new.total()} times too often. Who brought these?",
            "Nobody: it fills messages up to equal lengths. A receiver must know how many keys of a message are real.",
            "Send the counts before the keys; exchange_parts does that, and needs no padding.",
        )  # fmt: skip


def _grouped(rows, parts, wrong):
    """Raise Wrong when the counts were right and the keys lay in their old order when they were cut into parts."""
    total = sum(map(len, rows))
    counts = np.bincount(np.concatenate(rows) >> 23, minlength=256)
    owner = (np.cumsum(counts) - counts) * len(rows) // total
    received = [[] for _ in rows]
    for row in rows:
        ends = np.cumsum(np.bincount(owner[row >> 23], minlength=len(rows)))
        for rank, piece in enumerate(np.split(row, ends[:-1])):
            received[rank].append(piece)
    if all(np.array_equal(np.sort(np.concatenate(got)), np.sort(part)) for got, part in zip(received, parts)):
        wrong(
            "not_grouped", "The right number of keys went to every rank, but not the right keys. In which order did they lie when you cut them into parts?",
            "exchange_parts sends the first counts[0] keys to rank 0. So the keys for rank 0 must come first.",
            "order = torch.argsort(ranks, stable=True); exchange keys[order].",
        )  # fmt: skip


def _order(parts, wrong):
    unsorted = [rank for rank, part in enumerate(parts) if (np.diff(part) < 0).any()]
    ends = [(part.min(), part.max()) if len(part) else None for part in parts]
    held = [end for end in ends if end]
    separate = all(before[1] <= after[0] for before, after in pairwise(held))
    if separate:
        wrong(
            "not_sorted", f"Every rank has the right keys; rank {unsorted[0]} has them in the order in which they came. What is left to do?",
            "The exchange leaves a piece of every rank, one behind the other. Sort what has arrived.",
        )  # fmt: skip
    if len(held) > 1 and all(after[1] <= before[0] for before, after in pairwise(held)):
        wrong("backwards", "Rank 0 has the largest keys. Who gets bucket 0?", "The smallest keys belong on rank 0.")
    rank = next(
        k for k in range(len(parts) - 1) if ends[k] and any(end and end[0] < ends[k][1] for end in ends[k + 1 :])
    )
    other = next(k for k in range(rank + 1, len(parts)) if ends[k] and ends[k][0] < ends[rank][1])
    wrong(
        "overlap", f"Rank {rank} holds {ends[rank][1]}, and rank {other} holds {ends[other][0]}, which is smaller. Do all ranks agree on where a bucket goes?",
        "Each rank sees only its own keys. A rule made from its own counts is its own rule: sum the counts over all ranks first.",
    )  # fmt: skip


def _costs(case, output, rows, parts, world_size, wrong):
    if world_size == 1:
        return
    exchanged = [event for event in output.get("events", ()) if event[1] == "collective" and event[0] == 0]
    names = [event[6] for event in exchanged]
    gathers = [name for name in names if "gather" in name or "broadcast" in name]
    total = sum(map(len, rows))
    if gathers and max(output["bytes"]) >= 8 * max(map(len, rows)) * max(world_size - 2, 1) and total > 50:
        wrong(
            "gathered", f"dist.{gathers[0]} brings all keys to a rank. Would they fit there?",
            "One device cannot hold what all devices hold. Send each key only to where it belongs.",
        )  # fmt: skip
    exchanges = sum("all_to_all" in name for name in names)
    if exchanges > 2:
        wrong(
            "many_exchanges", f"{exchanges} all-to-alls. How often does a key have to travel?",
            "Once: one all-to-all for the counts, one for the keys.",
        )  # fmt: skip
    buckets = np.bincount(np.concatenate(rows) >> 23, minlength=256) if total else np.zeros(1, int)
    limit = total / world_size + buckets.max()
    if max(map(len, parts)) > limit:
        most = int(np.argmax([len(part) for part in parts]))
        wrong(
            "unbalanced", f"Rank {most} ended with {len(parts[most]):,} of {total:,} keys, the others with much less. Are all buckets equally full?",
            "Equal ranges of keys are equal shares only if the keys are spread evenly. You have the counts: use them.",
            "before = how many keys lie in lower buckets, summed over all ranks; bucket b goes to rank before[b] * world_size // total.",
        )  # fmt: skip


def _picture(parts, total):
    """A callable that draws how many keys each rank ended with."""
    if not total or not all(hasattr(part, "shape") for part in parts):
        return None

    def draw():
        from labs.multi_gpu_sort.pictures import shares

        return shares([len(part) for part in parts], name="Keys on each rank after your sort")

    return draw


def achieved(outcomes):
    case, output = outcomes[-1]
    sizes = [len(part) for part in output["results"]]
    return [(case.title.split(":")[0], f"{min(sizes):,} to {max(sizes):,} keys a rank, one exchange of keys")]


radix_partition = Exercise(
    "radix_partition", "Radix partition on any number of ranks", 3, cases, run, verify, achieved=achieved
)
