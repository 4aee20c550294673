"""Widgets of lesson 17: a guess, a slider for the pivot, a player of the merge sort."""

from __future__ import annotations

A = (1, 3, 6, 7, 9, 12, 14, 15)
B = (0, 2, 4, 5, 8, 10, 11, 13)


def predict_moves():
    """A slider for a guess: how often does a key change device when 8 GPUs sort reversed keys?"""
    from labs.kit.exercise import predict

    return predict(
        "8 GPUs sort keys that lie in exactly reverse order. How often does a key change its GPU, on average?",
        unit="times",
        low=0,
        high=16,
        step=0.5,
        name="multi_gpu_sort.moves",
    )


def reveal_moves(guess):
    """Put the guess beside the counted number, with the reason."""
    from labs.multi_gpu_sort.stages import moved

    chunks = [[8 * (7 - rank) + 7 - place for place in range(8)] for rank in range(8)]
    guess.reveal(
        moved(chunks) / 64,
        "7 swaps lie one behind the other, and in each of them every key is on the wrong side: the swaps within a half "
        "turn its order around, the swap of the halves mirrors it back. Fewer are possible: when received keys are "
        f"placed in order, it is {moved(chunks, 'ordered') / 64:g}; and a radix partition moves each key once.",
    )


def explore_swap():
    """A slider for p: what two sorted halves hold after p keys have changed sides, and what is still wrong."""
    from labs.kit.draw import explore
    from labs.multi_gpu_sort.pictures import swap

    return explore(
        lambda p: swap(A, B, int(p), name=f"After a swap of p = {int(p)}"),
        label="How many keys have to change sides?",
        frames=[{"p": p} for p in range(len(A) + 1)],
        p=(0, len(A), 1, 0),
    )


def watch(chunks, placement="mirrored"):
    """A player of the merge sort: every swap with its moves, and the merges after it.

    Parameters
    ----------
    chunks : list of lists of numbers
        Keys by rank: 2 or 4 ranks (a player has at most 12 frames).
    placement : {"mirrored", "ordered"}

    Returns
    -------
    labs.kit.draw.Player
    """
    from labs.kit.draw import player
    from labs.multi_gpu_sort.pictures import bars
    from labs.multi_gpu_sort.stages import stages

    start = [sorted(chunk) for chunk in chunks]
    frames = [bars(chunks, name="The keys", rows="GPU"), bars(start, name="Each GPU has sorted its own", rows="GPU")]
    captions = ["The keys, coloured by the GPU on which they belong.", "Each GPU sorts its own keys."]
    events = [[], []]
    for stage in stages(chunks, placement):
        who = f"GPUs {stage.first} {'and' if stage.end - stage.first == 2 else 'to'} {stage.end - 1}"
        frames.append(
            bars(stage.swapped, moved=stage.arrived, arrows=stage.moves, name=f"{who} have swapped", rows="GPU")
        )
        captions.append(f"{who}: the halves swap {stage.pivot} keys each way. Hatched keys have just arrived.")
        events.append([{"from GPU": a, "to GPU": b, "keys": count} for a, b, count in stage.moves])
        if stage.pivot:
            frames.append(bars(stage.merged, name=f"{who} have merged", rows="GPU"))
            captions.append("Each GPU merges the two sorted runs that it holds.")
            events.append([])
    return player(frames[:12], captions[:12], events[:12], label="Merge sort over several GPUs")
