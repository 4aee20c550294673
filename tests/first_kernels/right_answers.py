"""Right answers to the exercises of lesson 03, written in different ways; each must be accepted."""

IMPORTS = """import numpy as np

from labs.kit.gpu import cuda

"""

DIVIDE = (
    IMPORTS
    + """
@cuda.jit
def divide(image, out, divisor):
    for i in range(cuda.grid(1), image.size, cuda.gridsize(1)):
        out[i] = image[i] // divisor
"""
)

BLOCK_SUM = (
    IMPORTS
    + """
@cuda.jit
def block_sum(x, out):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else np.float32(0)
    cuda.syncthreads()
    d = 128
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]
"""
)

PRODUCT = (
    IMPORTS
    + """
@cuda.jit
def tiled_product(A, B, C):
    a = cuda.shared.array((16, 16), np.float32)
    b = cuda.shared.array((16, 16), np.float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    inner = A.shape[1]
    total = np.float32(0)
    for start in range(0, inner, 16):
        a[row, column] = A[row, start + column] if start + column < inner else np.float32(0)
        b[row, column] = B[start + row, column] if start + row < inner else np.float32(0)
        cuda.syncthreads()
        for k in range(16):
            total += a[row, k] * b[k, column]
        cuda.syncthreads()
    C[row, column] = total
"""
)

DIVIDE8 = (
    DIVIDE
    + """
@cuda.jit
def divide8(words, out, divisor):
    i = cuda.grid(1)
    if i < words.size:
        word = words[i]
        result = np.uint64(0)
        for k in range(8):
            shift = np.uint64(8 * k)
            pixel = (word >> shift) & np.uint64(255)
            result |= (pixel // divisor) << shift
        out[i] = result
"""
)

FAST = """
def divide_fast(image, out, address, divisor):
    head = min(-address % 8, image.size)
    words = (image.size - head) // 8
    body, tail = slice(head, head + 8 * words), slice(head + 8 * words, image.size)
    if words:
        blocks = (words + 127) // 128
        divide8[blocks, 128](image[body].view(np.uint64), out[body].view(np.uint64), np.uint64(divisor))
    for part in (slice(0, head), tail):
        if part.stop > part.start:
            divide[1, 32](image[part], out[part], divisor)
"""

ROWS = (
    IMPORTS
    + """from labs.first_kernels.given import divide_rows


def split_rows(image, divisor, devices):
    base, extra = divmod(len(image), devices)
    parts = []
    for device in range(devices):
        start = device * base + min(device, extra)
        rows = image[start:start + base + (device < extra)]
        if rows.size == 0:
            continue
        cuda.select_device(device)
        mine = cuda.to_device(rows)
        out = cuda.device_array(rows.shape, np.uint8)
        grid = ((rows.shape[1] + 31) // 32, (rows.shape[0] + 7) // 8)
        divide_rows[grid, (32, 8)](mine, out, divisor)
        parts.append((device, out))
    results = [image[:0]]
    for device, out in parts:
        cuda.select_device(device)
        results.append(out.copy_to_host())
    return np.concatenate(results)
"""
)

SECONDS = """
def predict_seconds(count, itemsize, stride, bandwidth, latency):
    def sectors(step):
        found = 0
        for first in range(0, count, 32):
            warp = range(first, min(first + 32, count))
            found += len({i * step * itemsize // 32 for i in warp})
        return found

    return latency + 32 * (sectors(stride) + sectors(1)) / bandwidth
"""

RIGHT = {
    "divide": {
        "grid_stride": DIVIDE,
        "while_loop": IMPORTS
        + """
@cuda.jit
def divide(image, out, divisor):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < image.size:
        out[i] = image[i] // divisor
        i += cuda.gridDim.x * cuda.blockDim.x
""",
        "rounds": IMPORTS
        + """
@cuda.jit
def divide(image, out, divisor):
    step = cuda.gridsize(1)
    for turn in range((image.size + step - 1) // step):
        i = turn * step + cuda.grid(1)
        if i < image.size:
            out[i] = image[i] // divisor
""",
    },
    "block_sum": {
        "tree": BLOCK_SUM,
        "barrier_first": IMPORTS
        + """
@cuda.jit
def block_sum(x, out):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 256 + t
    if i < x.size:
        s[t] = x[i]
    else:
        s[t] = 0
    half = 256
    for _ in range(8):
        half = half // 2
        cuda.syncthreads()
        if t < half:
            s[t] = s[t] + s[t + half]
    if t == 0:
        out[cuda.blockIdx.x] = s[t]
""",
        "sixteen_by_sixteen": IMPORTS
        + """
@cuda.jit
def block_sum(x, out):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else np.float32(0)
    cuda.syncthreads()
    if t < 32:
        total = np.float32(0)
        for k in range(t, 256, 32):
            total += s[k]
        s[t] = total
    cuda.syncthreads()
    if t == 0:
        total = np.float32(0)
        for k in range(32):
            total += s[k]
        out[cuda.blockIdx.x] = total
""",
    },
    "tiled_product": {
        "tiles": PRODUCT,
        "counted_tiles": IMPORTS
        + """
T = 16

@cuda.jit
def tiled_product(A, B, C):
    left = cuda.shared.array((T, T), np.float32)
    right = cuda.shared.array((T, T), np.float32)
    x, y = cuda.grid(2)
    result = np.float32(0)
    for tile in range((A.shape[1] + T - 1) // T):
        left[y, x] = 0
        right[y, x] = 0
        if tile * T + x < A.shape[1]:
            left[y, x] = A[y, tile * T + x]
        if tile * T + y < B.shape[0]:
            right[y, x] = B[tile * T + y, x]
        cuda.syncthreads()
        for k in range(min(T, A.shape[1] - tile * T)):
            result += left[y, k] * right[k, x]
        cuda.syncthreads()
    C[y, x] = result
""",
    },
    "divide8": {
        "head_words_tail": DIVIDE8 + FAST,
        "tail_in_one_launch": DIVIDE8
        + """
def divide_fast(image, out, address, divisor):
    n = len(image)
    head = (8 - address % 8) % 8
    if head + 8 > n:
        divide[1, 64](image, out, divisor)
        return
    words = (n - head) // 8
    end = head + words * 8
    divide8[words // 64 + 1, 64](image[head:end].view(np.uint64), out[head:end].view(np.uint64), np.uint64(divisor))
    if head:
        divide[1, 8](image[:head], out[:head], divisor)
    if end < n:
        divide[1, 8](image[end:], out[end:], divisor)
""",
    },
    "split_rows": {
        "divmod": ROWS,
        "array_split": IMPORTS
        + """from labs.first_kernels.given import divide_rows


def split_rows(image, divisor, devices):
    outs = []
    for device, rows in enumerate(np.array_split(image, devices)):
        if len(rows):
            cuda.select_device(device)
            mine = cuda.to_device(np.ascontiguousarray(rows))
            out = cuda.device_array_like(mine)
            divide_rows[(rows.shape[1] // 16 + 1, rows.shape[0] // 16 + 1), (16, 16)](mine, out, divisor)
            outs.append(out)
    result = np.empty_like(image)
    row = 0
    for out in outs:
        result[row:row + len(out)] = out.copy_to_host()
        row += len(out)
    return result
""",
    },
    "predict_seconds": {
        "sets": SECONDS,
        "numpy": """
import numpy as np

def predict_seconds(count, itemsize, stride, bandwidth, latency):
    i = np.arange(count)
    moved = 0
    for step in (stride, 1):
        sector = i * step * itemsize // 32
        moved += 32 * len(set(zip((i // 32).tolist(), sector.tolist())))
    return latency + moved / bandwidth
""",
    },
}
