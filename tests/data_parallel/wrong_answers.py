"""Wrong answers to the exercises of lesson 07: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
SHARDS, AVERAGE, RATE = _right["SHARDS"], _right["AVERAGE"], _right["RATE"]
ACCUMULATE, EVALUATE = _right["ACCUMULATE"], _right["EVALUATE"]


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


PADDING = """    if pad and count:
        places = -(-count // size) * size
        order = [order[place % count] for place in range(places)]
"""
EMPTY = """        if samples == 0:
            gradient.zero_()
"""

WRONG = {
    "shard_indices": {
        "same_every_epoch": changed(SHARDS, ("manual_seed(epoch)", "manual_seed(0)")),
        "not_shuffled": changed(SHARDS, ("torch.randperm(count, generator=generator).tolist()", "list(range(count))")),
        "not_repeatable": changed(SHARDS, ("torch.randperm(count, generator=generator)", "torch.randperm(count)")),
        "orders_differ": changed(SHARDS, ("manual_seed(epoch)", "manual_seed(epoch + 100 * rank)")),
        "remainder_lost": changed(
            SHARDS, ("order[rank::size]", "order[rank * (len(order) // size):(rank + 1) * (len(order) // size)]")
        ),
        "padded_anyway": changed(SHARDS, ("if pad and count:", "if count:")),
        "not_padded": changed(SHARDS, (PADDING, "")),
        "padded_too_little": changed(
            SHARDS,
            ("[order[place % count] for place in range(places)]", "order + order[: places - count]"),
        ),
        "padded_too_much": changed(SHARDS, ("-(-count // size) * size", "(count // size + 1) * size")),
        "one_sample_repeated": changed(
            SHARDS, ("[order[place % count] for place in range(places)]", "order + [order[-1]] * (places - count)")
        ),
        "everybody_everything": changed(SHARDS, ("order[rank::size]", "order")),
        "uneven": changed(
            SHARDS,
            (
                "    return order[rank::size]",
                "    each = len(order) // size\n"
                "    return order[rank * each:(rank + 1) * each if rank < size - 1 else len(order)]",
            ),
        ),
        "same_shard": """
import torch

def shard_indices(count, rank, size, epoch, pad):
    mine = list(range(count))
    if pad and count:
        mine = [place % count for place in range(-(-count // size) * size)]
    mine = mine[rank::size]
    generator = torch.Generator().manual_seed(epoch)
    return [mine[k] for k in torch.randperm(len(mine), generator=generator)]
""",
        "few_samples": changed(SHARDS, ("if pad and count:", "if pad:"), ("range(places)", "range(max(places, 1))")),
        "past_the_end": changed(SHARDS, ("return order[rank::size]", "return [k + 1 for k in order[rank::size]]")),
        "nothing_returned": changed(SHARDS, ("    return order", "    order")),
    },
    "average_gradients": {
        "sum_not_mean": """
def average_gradients(gradients, samples, dist):
    for gradient in gradients:
        dist.all_reduce(gradient)
""",
        "unweighted": """
def average_gradients(gradients, samples, dist):
    for gradient in gradients:
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()
""",
        "divided_twice": """
def average_gradients(gradients, samples, dist):
    for gradient in gradients:
        gradient /= dist.get_world_size()
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()
""",
        "not_divided": changed(AVERAGE, ("        gradient /= max(total.item(), 1.0)\n", "")),
        "own_count": changed(AVERAGE, ("max(total.item(), 1.0)", "max(samples, 1)")),
        "divided_by_ranks": changed(AVERAGE, ("max(total.item(), 1.0)", "dist.get_world_size()")),
        "weight_forgotten": changed(AVERAGE, ("        gradient *= samples\n", "")),
        "nan_of_nothing": changed(AVERAGE, (EMPTY, "")),
        "nothing_at_all": changed(
            AVERAGE, ("max(total.item(), 1.0)", "total.item()"), ("gradient /= ", "gradient *= 1 / ")
        ).replace("1 / total.item()", "(1 / total).item()"),
        "not_in_place": """
def average_gradients(gradients, samples, dist):
    import torch

    total = torch.tensor([float(samples)])
    dist.all_reduce(total)
    averages = []
    for gradient in gradients:
        average = gradient * samples
        dist.all_reduce(average)
        averages.append((average / total).to(gradient.dtype))
    return averages
""",
        "nothing_sent": """
def average_gradients(gradients, samples, dist):
    for gradient in gradients:
        gradient *= samples / samples
""",
        "reduced_a_copy": """
def average_gradients(gradients, samples, dist):
    for gradient in gradients:
        dist.all_reduce(gradient / dist.get_world_size())
""",
        "only_rank_0": changed(
            AVERAGE,
            ("dist.all_reduce(gradient)", "dist.reduce(gradient, dst=0)"),
        ),
        "first_tensor_only": changed(AVERAGE, ("in gradients:", "in gradients[:1]:")),
        "one_rank_skips": changed(AVERAGE, ("    total = ", "    if samples == 0:\n        return\n    total = ")),
        "different_calls": """
import torch

def average_gradients(gradients, samples, dist):
    if samples:
        for gradient in gradients:
            gradient *= samples
            dist.all_reduce(gradient)
    total = torch.tensor(float(samples))
    dist.all_reduce(total)
    for gradient in gradients:
        gradient /= total
""",
        "too_many_bytes": """
import torch

def average_gradients(gradients, samples, dist):
    size = dist.get_world_size()
    counts = [torch.zeros(1, dtype=torch.float64) for _ in range(size)]
    dist.all_gather(counts, torch.tensor([float(samples)], dtype=torch.float64))
    total = max(sum(count.item() for count in counts), 1)
    for gradient in gradients:
        everybody = [torch.empty_like(gradient) for _ in range(size)]
        dist.all_gather(everybody, gradient.clone())
        gradient.zero_()
        for other, count in zip(everybody, counts):
            if count > 0:
                gradient += other * (count.item() / total)
""",
    },
    "learning_rate": {
        "no_warm_up": "\ndef learning_rate(step, base, workers, warmup):\n    return base * workers\n",
        "not_scaled": "\ndef learning_rate(step, base, workers, warmup):\n    return base\n",
        "from_zero": changed(RATE, ("base * (1 + (workers - 1) * step / warmup)", "base * workers * step / warmup")),
        "counted_from_one": changed(
            RATE, ("base * (1 + (workers - 1) * step / warmup)", "base * workers * (step + 1) / warmup")
        ),
        "one_step_early": changed(RATE, ("* step / warmup", "* (step + 1) / warmup")),
        "one_step_late": changed(
            RATE, ("if step >= warmup", "if step > warmup"), ("* step / warmup", "* step / (warmup + 1)")
        ),
        "never_stops": changed(
            RATE,
            ("if step >= warmup", "if warmup == 0"),
        ),
        "falls_back": changed(RATE, ("return base * workers\n", "return base\n")),
        "square_root": changed(
            RATE, ("base * workers", "base * workers ** 0.5"), ("(workers - 1)", "(workers ** 0.5 - 1)")
        ),
        "scaled_twice": changed(
            RATE, ("base * workers", "base * workers ** 2"), ("(workers - 1)", "(workers ** 2 - 1)")
        ),
        "geometric": changed(RATE, ("(1 + (workers - 1) * step / warmup)", "workers ** (step / warmup)")),
        "no_warm_up_steps": "\ndef learning_rate(step, base, workers, warmup):\n"
        "    return base * (1 + (workers - 1) * min(step / warmup, 1))\n",
        "not_a_number": "\ndef learning_rate(step, base, workers, warmup):\n    return 'fast'\n",
    },
    "accumulate": {
        "not_divided": changed(ACCUMULATE, ("        total /= samples\n", "        pass\n")),
        "means_added": """
def accumulate(total, gradient, batches, dist):
    for batch in batches:
        total += gradient(batch)
    dist.all_reduce(total)
""",
        "mean_of_means": """
import torch

def accumulate(total, gradient, batches, dist):
    count = torch.tensor(float(len(batches)))
    for batch in batches:
        total += gradient(batch)
    dist.all_reduce(total)
    dist.all_reduce(count)
    if count:
        total /= count
""",
        "last_batch_only": changed(
            ACCUMULATE,
            ("total += gradient(batch) * len(batch)", "total.copy_(gradient(batch) * len(batch))"),
            ("samples += len(batch)", "samples.fill_(len(batch))"),
        ),
        "reduced_in_the_loop": """
import torch

def accumulate(total, gradient, batches, dist):
    samples = torch.zeros(1, dtype=torch.float64)
    for batch in batches:
        part = gradient(batch) * len(batch)
        dist.all_reduce(part)
        total += part
        samples += len(batch)
    dist.all_reduce(samples)
    total /= samples.clamp(min=1)
""",
        "own_count": changed(ACCUMULATE, ("    dist.all_reduce(samples)\n", "")),
        "not_reduced": changed(ACCUMULATE, ("    dist.all_reduce(total)\n    dist.all_reduce(samples)\n", "")),
        "nothing_stored": changed(ACCUMULATE, ("total += gradient", "total = total + gradient")),
        "divided_twice": changed(ACCUMULATE, ("total /= samples", "total /= samples * dist.get_world_size()")),
        "mean_of_ranks": """
def accumulate(total, gradient, batches, dist):
    count = sum(len(batch) for batch in batches)
    for batch in batches:
        total += gradient(batch) * (len(batch) / count)
    dist.all_reduce(total)
    total /= dist.get_world_size()
""",
        "ranks_added": """
def accumulate(total, gradient, batches, dist):
    for batch in batches:
        total += gradient(batch) / len(batches)
    dist.all_reduce(total)
""",
        "nothing_at_all": changed(ACCUMULATE, ("    if samples > 0:\n        total", "    total")),
        "one_big_batch": """
import torch

def accumulate(total, gradient, batches, dist):
    samples = torch.tensor([float(sum(len(batch) for batch in batches))])
    if batches:
        total += gradient(torch.cat(batches)) * samples
    dist.all_reduce(total)
    dist.all_reduce(samples)
    if samples > 0:
        total /= samples
""",
        "too_many_bytes": """
import torch

def accumulate(total, gradient, batches, dist):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    samples = torch.zeros(1, dtype=torch.float64)
    for k in range(int(rounds)):
        part = torch.zeros_like(total)
        if k < len(batches):
            part = gradient(batches[k]) * len(batches[k])
            samples += len(batches[k])
        dist.all_reduce(part)
        total += part
    dist.all_reduce(samples)
    if samples > 0:
        total /= samples
""",
    },
    "evaluate": {
        "padding_scored": changed(
            EVALUATE,
            (
                "    mine, truth = images[rank::size], labels[rank::size]\n",
                "    places = -(-len(images) // size) * size\n"
                "    mine = [place % len(images) for place in range(rank, places, size)]\n"
                "    mine, truth = images[mine], labels[mine]\n",
            ),
        ),
        "remainder_dropped": changed(
            EVALUATE,
            ("images[rank::size], labels[rank::size]", "images[start:start + each], labels[start:start + each]"),
            ("    mine,", "    each = len(images) // size\n    start = rank * each\n    mine,"),
        ),
        "scored_by_all": changed(EVALUATE, ("images[rank::size], labels[rank::size]", "images, labels")),
        "everybody_everything": """
def evaluate(predict, images, labels, dist):
    return int((predict(images) == labels).sum()), len(images)
""",
        "own_part_only": changed(EVALUATE, ("    dist.all_reduce(counts)\n", "")),
        "only_rank_0": changed(EVALUATE, ("dist.all_reduce(counts)", "dist.reduce(counts, dst=0)")),
        "a_share": changed(
            EVALUATE,
            ("counts[0].item(), counts[1].item()", "counts[0].item() / max(counts[1].item(), 1), 1.0"),
        ),
        "wrong_ones": changed(EVALUATE, ("==", "!=")),
        "mixed_up": changed(EVALUATE, ("labels[rank::size]", "labels[:len(images[rank::size])]")),
        "wrong_count": changed(EVALUATE, ("return counts[0].item(), counts[1].item()", "return [counts[0].item()]")),
        "one_rank_skips": changed(
            EVALUATE, ("    right = (", "    if len(mine) == 0:\n        return 0, 0\n    right = (")
        ),
        "uneven": changed(
            EVALUATE,
            ("images[rank::size], labels[rank::size]", "images[start:end], labels[start:end]"),
            (
                "    mine,",
                "    each = len(images) // size\n    start = rank * each\n"
                "    end = start + each if rank < size - 1 else len(images)\n    mine,",
            ),
        ),
        "too_many_bytes": """
import torch

def evaluate(predict, images, labels, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    all_right = torch.zeros(len(images))
    all_right[rank::size] = (predict(images[rank::size]) == labels[rank::size]).float()
    dist.all_reduce(all_right)
    return all_right.sum().item(), len(images)
""",
        "nothing_returned": changed(EVALUATE, ("    return counts", "    counts")),
    },
}
