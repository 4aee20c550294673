"""What one device needs to sort: a radix sort in three kernels a digit, and a merge without any waiting."""

from __future__ import annotations

import numpy as np

from labs.kit.gpu import cuda

HOLDS_ANSWERS = True
DIGIT_BITS, DIGITS = 4, 16
THREADS = 256  # of the block that scans


@cuda.jit
def count_digits(codes, shift, flip, counts):
    """Each thread counts the digits in its own consecutive part: counts[digit, thread]."""
    thread, threads = cuda.grid(1), counts.shape[1]
    if thread < threads:
        mine = cuda.local.array(DIGITS, np.int32)
        for digit in range(DIGITS):
            mine[digit] = 0
        for i in range(codes.size * thread // threads, codes.size * (thread + 1) // threads):
            mine[((codes[i] >> shift) & (DIGITS - 1)) ^ flip] += 1
        for digit in range(DIGITS):
            counts[digit, thread] = mine[digit]


@cuda.jit
def scan(counts):
    """One block turns counts into the number of all counts before each: rows by thread, then over shared memory."""
    sums = cuda.shared.array(THREADS, np.int32)
    thread = cuda.threadIdx.x
    first, end = counts.size * thread // THREADS, counts.size * (thread + 1) // THREADS
    total = np.int32(0)
    for i in range(first, end):
        total += counts[i]
    sums[thread] = total
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        before = np.int32(0)
        if thread >= step:
            before = sums[thread - step]
        cuda.syncthreads()
        sums[thread] += before
        cuda.syncthreads()
        step *= 2
    running = sums[thread] - total
    for i in range(first, end):
        here = counts[i]
        counts[i] = running
        running += here


@cuda.jit
def scatter(codes, shift, flip, places, out):
    """Each thread walks its part again, in order, and puts every key where its digit begins."""
    thread, threads = cuda.grid(1), places.shape[1]
    if thread < threads:
        mine = cuda.local.array(DIGITS, np.int32)
        for digit in range(DIGITS):
            mine[digit] = places[digit, thread]
        for i in range(codes.size * thread // threads, codes.size * (thread + 1) // threads):
            digit = ((codes[i] >> shift) & (DIGITS - 1)) ^ flip
            out[mine[digit]] = codes[i]
            mine[digit] += 1


@cuda.jit
def merge(a, b, out):
    """Each thread finds its start on the merge path by bisection, then merges its part alone; `a` wins ties."""
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    first, end = out.size * thread // threads, out.size * (thread + 1) // threads
    if first < end:
        low, high = max(0, first - b.size), min(first, a.size)
        while low < high:
            middle = (low + high) // 2
            if a[middle] <= b[first - middle - 1]:
                low = middle + 1
            else:
                high = middle
        i, j = low, first - low
        for k in range(first, end):
            take = j >= b.size
            if not take and i < a.size:
                take = a[i] <= b[j]
            if take:
                out[k] = a[i]
                i += 1
            else:
                out[k] = b[j]
                j += 1


def radix_sort(codes, spare, threads=None):
    """Sort the codes on their device, four bits at a time from the lowest.

    Parameters
    ----------
    codes, spare : device array of int32 or int64, shape (n,)
        The keys, and a buffer of the same size.
    threads : int, optional
        How many threads count and scatter; one for 64 keys when left out, from 32 to 16,384.

    Returns
    -------
    sorted, spare : device array
        The same two buffers; after an even number of digits in their old roles.
    """
    bits = 8 * codes.dtype.itemsize
    if not codes.size:
        return codes, spare
    threads = threads or min(max(codes.size // 64, 32), 2**14)
    counts = cuda.device_array((DIGITS, threads), np.int32)
    blocks = (threads + 63) // 64
    for shift in range(0, bits, DIGIT_BITS):
        flip = DIGITS // 2 if shift + DIGIT_BITS == bits else 0  # the sign: negative codes come first
        count_digits[blocks, 64](codes, shift, flip, counts)
        scan[1, THREADS](counts.reshape(counts.size))
        scatter[blocks, 64](codes, shift, flip, counts, spare)
        codes, spare = spare, codes
    return codes, spare
