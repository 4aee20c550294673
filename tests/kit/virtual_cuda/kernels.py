"""Kernels of every kind, each with data and a NumPy oracle, for whichever ``cuda`` the variable KERNELS_ON names:
"virtual" (the default), "simulator" (numba-cuda's own), "numba" (to compile or to run on a GPU).

As a program it writes what the kernels computed: ``python kernels.py results.npz 0 1 33``.
"""

import math
import os
import sys

import numpy as np

ON = os.environ.get("KERNELS_ON", "virtual")
if ON == "virtual":
    os.environ.setdefault("LABS_GPU", "virtual")
    from labs.kit.gpu import cuda
else:
    if ON == "simulator":
        os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    from numba import cuda

SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 1000)
INT32 = np.dtype(np.int32)  # the simulator takes no np.int32 for dynamic memory
TABLE = np.array([3, 1, 4, 1, 5], np.float32)


def blocks(size, block=256):
    """Enough blocks, at least one."""
    return max(1, -(-size // block))


@cuda.jit
def divide(x, out, divisor):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] // divisor


@cuda.jit
def divide8(words, out, divisor):
    i = cuda.grid(1)
    if i < words.size:
        word = words[i]
        result = np.uint64(0)
        for k in range(8):
            shift = np.uint64(8 * k)
            byte = (word >> shift) & np.uint64(255)
            result |= (byte // divisor) << shift
        out[i] = result


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def saxpy(factor, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] += factor * x[i]


@cuda.jit
def stencil(a, out):
    x, y = cuda.grid(2)
    h, w = a.shape
    if 0 < y < h - 1 and 0 < x < w - 1:
        out[y, x] = (a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) * np.float32(0.25)
    elif x < w and y < h:
        out[y, x] = a[y, x]


@cuda.jit
def volume(a, out):
    x, y, z = cuda.grid(3)
    if x < a.shape[2] and y < a.shape[1] and z < a.shape[0]:
        out[z, y, x] = a[z, y, x] + x + 10 * y + 100 * z


@cuda.jit
def tiled_product(A, B, C):
    s = cuda.shared.array((16, 16), np.float32)
    u = cuda.shared.array((16, 16), np.float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    acc = np.float32(0)
    for k in range((A.shape[1] + 15) // 16):
        s[ty, tx] = A[y, k * 16 + tx] if y < A.shape[0] and k * 16 + tx < A.shape[1] else np.float32(0)
        u[ty, tx] = B[k * 16 + ty, x] if x < B.shape[1] and k * 16 + ty < B.shape[0] else np.float32(0)
        cuda.syncthreads()
        for j in range(16):
            acc += s[ty, j] * u[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = acc


@cuda.jit
def block_sum(x, out):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else np.float32(0)
    cuda.syncthreads()
    d = cuda.blockDim.x // 2
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit(device=True)
def bin_of(v, lo, hi, n):
    if v < lo:
        return -1
    k = int((v - lo) / (hi - lo) * n)
    return min(k, n - 1)


@cuda.jit
def histogram(x, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    k = bin_of(x[i], 0.0, 1.0, out.size)
    if k >= 0:
        cuda.atomic.add(out, k, 1)


@cuda.jit
def running_sum(x, out):
    s = cuda.shared.array(128, np.int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    d = 1
    while d < x.size:
        v = s[t - d] if t >= d else 0
        cuda.syncthreads()
        s[t] += v
        cuda.syncthreads()
        d *= 2
    out[t] = s[t]


@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((32, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * 32 + tx
    y = cuda.blockIdx.y * 32 + ty
    for j in range(0, 32, 8):
        tile[ty + j, tx] = a[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 32 + tx
    y = cuda.blockIdx.x * 32 + ty
    for j in range(0, 32, 8):
        out[y + j, x] = tile[tx, ty + j]


@cuda.jit(device=True)
def merge_path(a, b, diagonal):
    lo = max(0, diagonal - b.size)
    hi = min(diagonal, a.size)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] <= b[diagonal - 1 - mid]:
            lo = mid + 1
        else:
            hi = mid
    return lo


@cuda.jit
def merge(a, b, out, per):
    t = cuda.grid(1)
    diagonal = min(t * per, out.size)
    i = merge_path(a, b, diagonal)
    j = diagonal - i
    for k in range(diagonal, min(diagonal + per, out.size)):
        if j >= b.size or (i < a.size and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1


@cuda.jit
def branches(x, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    n = 0
    for k in range(x[i]):
        if k == 3:
            continue
        if k > 6:
            break
        n += k
    v = int(x[i])
    steps = 0
    while v != 1 and steps < 50:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
        if not (v < 10000):
            break
    out[i, 0] = n
    out[i, 1] = steps
    a = cuda.local.array(4, np.int32)
    for k in range(4):
        a[k] = k * i
    out[i, 2] = a[i % 4] + int(math.sqrt(float(i)))
    a[0], a[1] = a[1], a[0]
    out[i, 3] = a[0]


@cuda.jit
def reverse_dynamic(x, out):
    s = cuda.shared.array(0, INT32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    out[t] = s[x.size - 1 - t]


@cuda.jit
def votes(x, out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.syncthreads_count(int(x[t] > 5))
    out[t, 1] = cuda.syncthreads_and(int(x[t] >= 0))
    out[t, 2] = cuda.syncthreads_or(int(x[t] > 1000))


@cuda.jit(device=True)
def total(row):
    acc = np.float32(0)
    for k in range(row.size):
        acc += row[k]
    return acc


@cuda.jit
def rows_and_slices(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        row = a[i]
        mine = out[i]
        mine[0] = total(row)
        mine[1] = total(a[i, 1:4])
        mine[2] = total(row[i % 3 :])
        out[i, 3] = total(a[:, i % 5])


@cuda.jit
def in_half(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = cuda.fp16.hfma(x[i], y[i], x[i])
        out[i] = cuda.fp16.hadd(out[i], y[i])


@cuda.jit
def kinds(x, f, u, o):
    i = cuda.grid(1)
    if i == 0:
        o[0] = x[0] * x[0]
        o[1] = x[1] / 2
        o[2] = f[0] + f[1]
        x[2] = x[0] * 2
        x[3] = -7 // 2
        x[4] = -7 % 3
        o[3] = f[0] * 1.1
        o[4] = u[1] // 2
        o[5] = (u[1] + 1) * 3
        u[2] = u[0] + u[1] * 100
        o[6] = f[2] ** 2
        o[7] = math.floor(f[2])
        o[8] = int(f[2])
        o[9] = round(f[2])


@cuda.jit
def with_table(x, out):
    c = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + c[i % 5] + cuda.blockDim.x


@cuda.jit
def tickets(counter, out):
    i = cuda.grid(1)
    out[cuda.atomic.add(counter, 0, 1)] = 1
    cuda.atomic.max(counter, 1, i)
    cuda.atomic.min(counter, 2, i)
    cuda.atomic.sub(counter, 3, 1)


@cuda.jit
def warp_sum(x, out):
    i = cuda.grid(1)
    v = x[i] if i < x.size else np.float32(0)
    d = 16
    while d > 0:
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, d)
        d //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)


@cuda.jit
def warp_ops(out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.shfl_up_sync(0xFFFFFFFF, t, 1)
    out[t, 1] = cuda.shfl_xor_sync(0xFFFFFFFF, t, 1)
    out[t, 2] = cuda.shfl_sync(0xFFFFFFFF, t, 5)
    out[t, 3] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, t % 3 == 0))
    out[t, 4] = cuda.any_sync(0xFFFFFFFF, t == 40)
    out[t, 5] = cuda.all_sync(0xFFFFFFFF, t < 32)
    out[t, 6] = cuda.ffs(t)


F1, I1, B1, U1, L1, D1, H1 = "float32[:]", "int32[:]", "uint8[:]", "uint64[:]", "int64[:,:]", "float64[:]", "float16[:]"
F2, I2 = "float32[:,:]", "int32[:,:]"
SIGNATURES = [
    (divide, (B1, B1, "int64")),
    (divide8, (U1, U1, "uint64")),
    (add, (F1, F1, F1)),
    (saxpy, ("float32", F1, F1)),
    (stencil, (F2, F2)),
    (volume, ("float32[:,:,:]", "float32[:,:,:]")),
    (tiled_product, (F2, F2, F2)),
    (block_sum, (F1, F1)),
    (histogram, (F1, I1)),
    (running_sum, (I1, I1)),
    (transpose, (F2, F2)),
    (merge, (I1, I1, I1, "int64")),
    (branches, (I1, L1)),
    (reverse_dynamic, (I1, I1)),
    (votes, (I1, I2)),
    (rows_and_slices, (F2, F2)),
    (in_half, (H1, H1, H1)),
    (kinds, (I1, F1, B1, D1)),
    (with_table, (F1, F1)),
    (tickets, (I1, I1)),
    (warp_sum, (F1, F1)),
    (warp_ops, (L1,)),
]
"""Every kernel with the types of its arguments, for compilation without a GPU."""


def by_size(size):
    """Kernels on `size` elements: yields (name, what the kernel computed, what NumPy says)."""
    random = np.random.default_rng(size)
    x = random.integers(0, 256, size).astype(np.uint8)
    out = np.zeros_like(x)
    divide[blocks(size), 256](x, out, 3)
    yield "divide", out, x // 3

    padded = np.zeros(-(-size // 8) * 8, np.uint8)
    padded[:size] = x
    words, results = cuda.to_device(padded.view(np.uint64)), cuda.to_device(np.zeros(len(padded) // 8, np.uint64))
    divide8[blocks(size // 8), 256](words, results, np.uint64(3))
    yield "divide8", results.copy_to_host().view(np.uint8)[:size], x // 3

    a, b = random.random(size, np.float32), random.random(size, np.float32)
    c = np.zeros_like(a)
    add[blocks(size), 256](a, b, c)
    yield "add", c, a + b

    y = b.copy()
    saxpy[2, 64](np.float32(1.5), a, y)
    yield "saxpy", y, b + np.float32(1.5) * a

    partial = np.zeros(blocks(size), np.float32)
    block_sum[blocks(size), 256](a, partial)
    padded = np.zeros(blocks(size) * 256)
    padded[:size] = a
    yield "block_sum", partial, padded.reshape(-1, 256).sum(1).astype(np.float32)

    counts = np.zeros(10, np.int32)
    histogram[blocks(size, 128), 128](a, counts)
    yield "histogram", counts, np.histogram(a, 10, (0, 1))[0].astype(np.int32)

    out = np.zeros_like(a)
    with_table[blocks(size, 64), 64](a, out)
    yield "with_table", out, (a + TABLE[np.arange(size) % 5] + 64).astype(np.float32)

    h, g = a.astype(np.float16), b.astype(np.float16)
    out = np.zeros_like(h)
    in_half[blocks(size), 256](h, g, out)
    exact = h.astype(np.float64) * g.astype(np.float64) + h.astype(np.float64)
    yield "in_half", out, exact.astype(np.float16) + g


def fixed():
    """Kernels on data of one size: yields (name, what the kernel computed, what NumPy or Python says)."""
    random = np.random.default_rng(7)
    a = random.random((37, 53), np.float32)
    out, want = np.zeros_like(a), a.copy()
    stencil[(4, 5), (16, 8)](a, out)
    want[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4
    yield "stencil", out, want

    a = random.random((3, 5, 7), np.float32)
    out = np.zeros_like(a)
    volume[(2, 2, 2), (4, 4, 2)](a, out)
    z, y, x = np.indices(a.shape)
    yield "volume", out, (a + x + 10 * y + 100 * z).astype(np.float32)

    A, B = random.random((19, 40), np.float32), random.random((40, 33), np.float32)
    C = np.zeros((19, 33), np.float32)
    tiled_product[(3, 2), (16, 16)](A, B, C)
    yield "tiled_product", C, (A.astype(np.float64) @ B).astype(np.float32)

    x = random.integers(-9, 9, 128).astype(np.int32)
    out = np.zeros_like(x)
    running_sum[1, 128](x, out)
    yield "running_sum", out, np.cumsum(x).astype(np.int32)

    a = random.random((64, 32), np.float32)
    out = np.zeros((32, 64), np.float32)
    transpose[(1, 2), (32, 8)](a, out)
    yield "transpose", out, a.T

    a, b = (np.sort(random.integers(0, 99, n)).astype(np.int32) for n in (70, 41))
    out = np.zeros(111, np.int32)
    merge[1, 32](a, b, out, 4)
    yield "merge", out, np.sort(np.r_[a, b])

    x = random.integers(1, 40, 100).astype(np.int32)
    out = np.zeros((100, 4), np.int64)
    branches[4, 32](x, out)
    yield "branches", out, np.array([_branches(int(v), i) for i, v in enumerate(x)])

    x = np.arange(64, dtype=np.int32)
    out = np.zeros_like(x)
    reverse_dynamic[1, 64, 0, 256](x, out)
    yield "reverse_dynamic", out, x[::-1]

    out = np.zeros((64, 3), np.int32)
    votes[1, 64](x, out)
    yield "votes", out, np.tile(np.array([58, 1, 0], np.int32), (64, 1))

    a = random.random((21, 6), np.float32)
    out = np.zeros((21, 4), np.float32)
    rows_and_slices[2, 16](a, out)
    rest = [row[i % 3 :].sum() for i, row in enumerate(a)]
    yield "rows_and_slices", out, np.array([a.sum(1), a[:, 1:4].sum(1), rest, a.sum(0)[np.arange(21) % 5]]).T

    x = np.array([2**31 - 1, 5, 0, 0, 0], np.int32)
    f, u, o = np.array([1, 2**-25, -2.5], np.float32), np.array([200, 5, 0], np.uint8), np.zeros(10)
    kinds[1, 32](x, f, u, o)
    yield "kinds", o, np.array([(2**31 - 1) ** 2, 2.5, 1, 1.1, 2, 18, 6.25, -3, -2, -2])
    yield "wraps", x, np.array([2**31 - 1, 5, -2, -4, 2], np.int32)
    yield "wraps_uint8", u, np.array([200, 5, 700 % 256], np.uint8)

    counter, out = np.array([0, -1, 999, 0], np.int32), np.zeros(96, np.int32)
    tickets[3, 32](counter, out)
    yield "tickets", counter, np.array([96, 95, 0, -96], np.int32)
    yield "tickets_given", out, np.ones(96, np.int32)


def warps():
    """Kernels with warp operations, which the simulator does not have."""
    x, out = np.random.default_rng(3).integers(0, 9, 250).astype(np.float32), np.zeros(1, np.float32)
    warp_sum[2, 128](x, out)
    yield "warp_sum", out, np.array([x.sum()])
    out, t = np.zeros((64, 7), np.int64), np.arange(64)
    warp_ops[1, 64](out)
    want = [np.where(t % 32 == 0, t, t - 1), t ^ 1, t // 32 * 32 + 5, 11 + 0 * t, t >= 32, t < 32]
    yield "warp_ops", out, np.array([*want, [0] + [(k & -k).bit_length() for k in range(1, 64)]]).T


def _branches(value, i):
    n = sum(k for k in range(min(value, 7)) if k != 3)
    v, steps = value, 0
    while v != 1 and steps < 50:
        v, steps = v // 2 if v % 2 == 0 else 3 * v + 1, steps + 1
        if v >= 10000:
            break
    return [n, steps, (i % 4) * i + int(math.sqrt(i)), i]


if __name__ == "__main__":
    import warnings

    warnings.filterwarnings("ignore")
    found = {f"{name} {size}": got for size in map(int, sys.argv[2:]) for name, got, _ in by_size(size)}
    np.savez(sys.argv[1], **found, **{name: got for name, got, _ in fixed()})
