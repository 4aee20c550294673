"""A batch in micro-batches: sizes, pieces, and the weight of each piece's loss in the whole."""

from __future__ import annotations


def sizes_of(batch: int, micro_batches: int) -> tuple[int, ...]:
    """Rows of each micro-batch: all the same, but the last may be smaller.

    Raises
    ------
    ValueError
        If the last micro-batches would be empty, naming the largest number of micro-batches below that works.
    """
    if micro_batches < 1 or batch < micro_batches:
        raise ValueError(f"{batch} samples cannot make {micro_batches} micro-batches: each needs at least one")
    size = -(-batch // micro_batches)
    full = -(-batch // size)
    if full < micro_batches:
        raise ValueError(
            f"{batch} samples in {micro_batches} micro-batches of {size} leave the last one empty; "
            f"{full} micro-batches of {size} work"
        )
    return (*[size] * (micro_batches - 1), batch - size * (micro_batches - 1))


def weights_of(sizes: tuple[int, ...], reduction: str) -> tuple[float, ...]:
    """By what to multiply the loss of each micro-batch, so that the sum is the loss of the whole batch.

    Parameters
    ----------
    sizes : tuple of int
    reduction : {"mean", "sum"}
        What the loss function does within a micro-batch: a mean counts as much as its share of the samples.
    """
    if reduction == "sum":
        return (1.0,) * len(sizes)
    if reduction == "mean":
        return tuple(size / sum(sizes) for size in sizes)
    raise ValueError(f'reduction is "mean" or "sum", as the loss function does it, not {reduction!r}')
