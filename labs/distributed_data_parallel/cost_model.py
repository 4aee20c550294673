"""How long backward and averaging take: an all-reduce begins when its bucket is full and the one before is done."""

from __future__ import annotations

HOLDS_ANSWERS = True  # the rule of the buckets: the sandbox of the grader gets a stub of this module


def buckets_of(nbytes, bucket_bytes):
    """Bytes of each bucket, in the order in which they are full: the rule of the lesson, on sizes alone.

    Parameters
    ----------
    nbytes : sequence of float
        Gradients in the order of registration.
    bucket_bytes : float

    Returns
    -------
    list of (float, int)
        Bytes, and how many gradients have arrived when the bucket is full.
    """
    found, filled = [], 0.0
    for arrived, size in enumerate(reversed(nbytes), start=1):
        filled += size
        if filled >= bucket_bytes or arrived == len(nbytes):
            found.append((filled, arrived))
            filled = 0.0
    return found


def predicted(nbytes, seconds, bucket_bytes, all_reduce, overlap=True):
    """Time from the beginning of backward to the last average, by the model.

    All-reduces run one after another. Each begins when its bucket is full and the one before is done; without overlap,
    none begins before backward is over.

    Parameters
    ----------
    nbytes : sequence of float
        Bytes of the gradients in the order of registration.
    seconds : float
        Backward of one layer.
    bucket_bytes : float
    all_reduce : callable
        ``all_reduce(nbytes)`` gives seconds.
    overlap : bool

    Returns
    -------
    float
        Seconds.
    """
    end = whole = len(nbytes) * seconds
    free = 0.0
    for size, arrived in buckets_of(nbytes, bucket_bytes):
        ready = arrived * seconds if overlap else whole
        free = max(free, ready) + all_reduce(size)
        end = max(end, free)
    return end
