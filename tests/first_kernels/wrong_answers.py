"""Wrong answers to the exercises of lesson 03: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
IMPORTS, DIVIDE, BLOCK_SUM, PRODUCT = (_right[name] for name in ("IMPORTS", "DIVIDE", "BLOCK_SUM", "PRODUCT"))
DIVIDE8, FAST, ROWS, SECONDS = (_right[name] for name in ("DIVIDE8", "FAST", "ROWS", "SECONDS"))


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


def kernel(body, name="divide", parameters="image, out, divisor"):
    """A kernel with another body."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return f"{IMPORTS}\n@cuda.jit\ndef {name}({parameters}):\n{lines}\n"


WRONG = {
    "divide": {
        "no_tail": kernel("i = cuda.grid(1)\nout[i] = image[i] // divisor"),
        "one_pixel_each": kernel("i = cuda.grid(1)\nif i < image.size:\n    out[i] = image[i] // divisor"),
        "thread_without_block": changed(DIVIDE, ("cuda.grid(1)", "cuda.threadIdx.x")),
        "pixels_left": changed(DIVIDE, ("image.size", "image.size - 1")),
        "done_twice": changed(DIVIDE, ("cuda.gridsize(1)", "cuda.blockDim.x")),
        "in_floats": changed(DIVIDE, ("//", "/")),
        "strided": kernel("""
each = (image.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
first = cuda.grid(1) * each
for i in range(first, min(first + each, image.size)):
    out[i] = image[i] // divisor"""),
        "wrote_the_image": changed(
            DIVIDE, ("out[i] = image[i] // divisor", "image[i] //= divisor\n        out[i] = image[i]")
        ),
        "rounded": changed(DIVIDE, ("image[i] // divisor", "round(image[i] / divisor)")),
        "values": changed(DIVIDE, ("image[i] // divisor", "image[i] * divisor")),
        "not_a_kernel": changed(DIVIDE, ("@cuda.jit\n", "")),
        "type": kernel("out[:] = image // divisor"),
    },
    "block_sum": {
        "no_barrier_after_filling": changed(BLOCK_SUM, ("np.float32(0)\n    cuda.syncthreads()\n", "np.float32(0)\n")),
        "no_barrier_in_loop": changed(BLOCK_SUM, ("        cuda.syncthreads()\n        d", "        d")),
        "barrier_in_branch": changed(
            BLOCK_SUM, ("        cuda.syncthreads()\n        d", "            cuda.syncthreads()\n        d")
        ),
        "returned_early": changed(
            BLOCK_SUM,
            (
                "    s[t] = x[i] if i < x.size else np.float32(0)",
                "    if i >= x.size:\n        return\n    s[t] = x[i]",
            ),
        ),
        "tail_not_zero": changed(
            BLOCK_SUM,
            ("    s[t] = x[i] if i < x.size else np.float32(0)", "    if i < x.size:\n        s[t] = x[i]"),
        ),
        "no_tail": changed(BLOCK_SUM, ("x[i] if i < x.size else np.float32(0)", "x[i]")),
        "one_warp": changed(BLOCK_SUM, ("d = 128", "d = 16")),
        "last_round": changed(BLOCK_SUM, ("while d > 0", "while d > 1")),
        "thread_without_block": changed(BLOCK_SUM, ("i = cuda.grid(1)", "i = t")),
        "one_place_for_all": changed(BLOCK_SUM, ("out[cuda.blockIdx.x]", "out[0]")),
        "all_write": changed(BLOCK_SUM, ("    if t == 0:\n        out", "    out")),
        "nothing_added": changed(BLOCK_SUM, ("d = 128", "d = 0")),
        "atomics": kernel(
            """
t = cuda.threadIdx.x
i = cuda.grid(1)
s = cuda.shared.array(1, np.float32)
if t == 0:
    s[0] = 0
cuda.syncthreads()
if i < x.size:
    cuda.atomic.add(s, 0, x[i])
cuda.syncthreads()
if t == 0:
    out[cuda.blockIdx.x] = s[0]""",
            "block_sum",
            "x, out",
        ),
        "one_thread_adds": kernel(
            """
s = cuda.shared.array(256, np.float32)
t = cuda.threadIdx.x
i = cuda.grid(1)
s[t] = x[i] if i < x.size else np.float32(0)
cuda.syncthreads()
if t == 0:
    total = np.float32(0)
    for k in range(256):
        total += s[k]
    out[cuda.blockIdx.x] = total""",
            "block_sum",
            "x, out",
        ),
        "reads_again": kernel(
            """
t = cuda.threadIdx.x
if t == 0:
    total = np.float32(0)
    for k in range(cuda.grid(1), min(cuda.grid(1) + 256, x.size)):
        total += x[k]
    out[cuda.blockIdx.x] = total + 0 * (x[0] if x.size else 0)""",
            "block_sum",
            "x, out",
        ),
        "spread_out": changed(
            BLOCK_SUM,
            ("d = 128", "d = 1"),
            ("while d > 0", "while d < 256"),
            ("if t < d", "if t % (2 * d) == 0"),
            ("d //= 2", "d *= 2"),
        ),
        "bank_conflicts": changed(
            BLOCK_SUM,
            ("d = 128", "d = 1"),
            ("while d > 0", "while d < 256"),
            (
                "        if t < d:\n            s[t] += s[t + d]",
                "        k = 2 * d * t\n        if k < 256:\n            s[k] += s[k + d]",
            ),
            ("d //= 2", "d *= 2"),
        ),
        "values": changed(BLOCK_SUM, ("s[t] += s[t + d]", "s[t] -= s[t + d]")),
        "too_few_rounds": changed(BLOCK_SUM, ("d = 128", "d = 64")),
        "beyond_shared": changed(BLOCK_SUM, ("if t < d", "if t <= d")),
        "beyond_out": changed(BLOCK_SUM, ("out[cuda.blockIdx.x]", "out[i]")),
        "added_to_old": kernel(
            "i = cuda.grid(1)\nif i < x.size:\n    cuda.atomic.add(out, cuda.blockIdx.x, x[i])", "block_sum", "x, out"
        ),
        "not_a_kernel": changed(BLOCK_SUM, ("@cuda.jit\n", "")),
    },
    "tiled_product": {
        "no_barrier_before_reading": changed(PRODUCT, ("        cuda.syncthreads()\n        for k", "        for k")),
        "no_barrier_before_reuse": changed(PRODUCT, ("        cuda.syncthreads()\n    C", "    C")),
        "barrier_in_branch": changed(
            PRODUCT,
            (
                "            total +=",
                "            if start + k < inner and row < 8:\n                cuda.syncthreads()\n            total +=",
            ),
        ),
        "transposed_read": changed(PRODUCT, ("b[k, column]", "b[column, k]")),
        "transposed_result": changed(PRODUCT, ("C[row, column]", "C[column, row]")),
        "last_tile_lost": changed(PRODUCT, ("range(0, inner, 16)", "range(0, inner // 16 * 16, 16)")),
        "no_tail": changed(PRODUCT, (" if start + column < inner else np.float32(0)", "")),
        "added_to_old": changed(PRODUCT, ("C[row, column] = total", "C[row, column] += total")),
        "only_the_last_tile": changed(
            PRODUCT,
            (
                "        cuda.syncthreads()\n        for k",
                "        cuda.syncthreads()\n        total = np.float32(0)\n        for k",
            ),
        ),
        "same_tile": changed(
            PRODUCT, ("A[row, start + column]", "A[row, column]"), ("B[start + row, column]", "B[row, column]")
        ),
        "tail_not_zero": changed(
            PRODUCT,
            (
                "        a[row, column] = A[row, start + column] if start + column < inner else np.float32(0)",
                "        if start + column < inner:\n            a[row, column] = A[row, start + column]",
            ),
        ),
        "no_reuse": kernel(
            """
column, row = cuda.grid(2)
total = np.float32(0)
for k in range(A.shape[1]):
    total += A[row, k] * B[k, column]
C[row, column] = total""",
            "tiled_product",
            "A, B, C",
        ),
        "strided": changed(
            PRODUCT,
            (
                "a[row, column] = A[row, start + column] if start + column < inner else np.float32(0)",
                "a[column, row] = A[column, start + row] if start + row < inner else np.float32(0)",
            ),
        ),
        "bank_conflicts": changed(
            PRODUCT,
            ("b[row, column] = B", "b[column, row] = B"),
            ("b[k, column]", "b[column, k]"),
        ),
        "same_element": changed(PRODUCT, ("C[row, column] = total", "C[row, 0] = total")),
        "values": changed(PRODUCT, ("total += a", "total -= a")),
        "beyond_tile": changed(PRODUCT, ("range(16)", "range(inner)")),
        "no_tail_of_b": changed(PRODUCT, ("if start + row < inner", "if start + column < inner")),
        "not_written": changed(PRODUCT, ("    C[row, column] = total", "        C[row, column] = total")),
        "in_doubles": changed(PRODUCT, ("total = np.float32(0)", "total = 0")),
        "not_a_kernel": changed(PRODUCT, ("@cuda.jit\n", "")),
    },
    "divide8": {
        "unaligned_words": DIVIDE8 + changed(FAST, ("min(-address % 8, image.size)", "0")),
        "tail_lost": DIVIDE8 + changed(FAST, ("(slice(0, head), tail)", "(slice(0, head),)")),
        "head_lost": DIVIDE8 + changed(FAST, ("(slice(0, head), tail)", "(tail,)")),
        "whole_word": changed(
            DIVIDE8,
            ("out[i] = result", "out[i] = words[i] // divisor"),
        )
        + FAST,
        "empty_part": DIVIDE8 + changed(FAST, ("min(-address % 8, image.size)", "-address % 8")),
        "reversed": changed(DIVIDE8, ("<< shift", "<< np.uint64(56 - 8 * k)")) + FAST,
        "not_put_back": changed(DIVIDE8, (" << shift", "")) + FAST,
        "not_wide": DIVIDE8
        + "\ndef divide_fast(image, out, address, divisor):\n    divide[4, 128](image, out, divisor)\n",
        "done_twice": DIVIDE8
        + """
def divide_fast(image, out, address, divisor):
    divide[4, 128](image, out, divisor)
"""
        + changed(
            FAST, ("def divide_fast(image, out, address, divisor):\n", "    if image.size == 0:\n        return\n")
        ),
    },
    "split_rows": {
        "rows_lost": changed(ROWS, ("divmod(len(image), devices)", "len(image) // devices, 0")),
        "unequal": changed(
            ROWS,
            ("base, extra = divmod(len(image), devices)", "base = len(image) // devices"),
            ("start = device * base + min(device, extra)", "start = device * base"),
            (
                "image[start:start + base + (device < extra)]",
                "image[start:start + base if device < devices - 1 else len(image)]",
            ),
        ),
        "all_on_one": changed(
            ROWS,
            ("cuda.select_device(device)\n        mine", "mine"),
            ("cuda.select_device(device)\n        results", "results"),
        ),
        "wrong_device": changed(
            ROWS,
            (
                "        cuda.select_device(device)\n        mine = cuda.to_device(rows)\n",
                "        mine = cuda.to_device(rows)\n        cuda.select_device(device)\n",
            ),
        ),
        "one_after_another": changed(
            ROWS, ("parts.append((device, out))", "parts.append((device, cuda.to_device(out.copy_to_host())))")
        ),
        "waited": changed(
            ROWS, ("parts.append((device, out))", "cuda.synchronize()\n        parts.append((device, out))")
        ),
        "no_device": "def split_rows(image, divisor, devices):\n    return image // divisor\n",
        "no_rows": changed(ROWS, ("        if rows.size == 0:\n            continue\n", "")),
        "wrong_order": changed(ROWS, ("in parts:", "in parts[::-1]:")),
        "nothing_returned": changed(ROWS, ("    return np.concatenate(results)\n", "")),
        "rows_left": changed(
            ROWS,
            ("    results = [image[:0]]", "    results = []"),
            ("divmod(len(image), devices)", "len(image) // devices, 0"),
            (
                "    return np.concatenate(results)",
                "    whole = np.zeros_like(image)\n    done = np.concatenate([image[:0], *results])\n    whole[:len(done)] = done\n    return whole",
            ),
        ),
    },
    "predict_seconds": {
        "wanted_bytes": "def predict_seconds(count, itemsize, stride, bandwidth, latency):\n    return latency + 2 * count * itemsize / bandwidth\n",
        "no_latency": changed(SECONDS, ("return latency +", "return")),
        "only_read": changed(SECONDS, (" + sectors(1)", "")),
        "writes_with_stride": changed(SECONDS, ("sectors(1)", "sectors(stride)")),
        "a_sector_each": changed(SECONDS, ("sectors(stride)", "count")),
        "all_in_between": """
def predict_seconds(count, itemsize, stride, bandwidth, latency):
    return latency + count * itemsize * (stride + 1) / bandwidth
""",
        "latency_each": changed(SECONDS, ("return latency +", "return latency * (-(-count // 32)) +")),
        "not_by_warp": """
def predict_seconds(count, itemsize, stride, bandwidth, latency):
    sectors = lambda step: len({i * step * itemsize // 32 for i in range(count)})
    return latency + 32 * (sectors(stride) + sectors(1)) / bandwidth
""",
        "sectors_for_bytes": changed(SECONDS, ("32 * (", "(")),
        "values": changed(SECONDS, ("32 * (", "8 * 32 * (")),
    },
}
