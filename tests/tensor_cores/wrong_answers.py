"""Wrong answers to the exercises of lesson 06: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
TILE_AT, WMMA, ANY, COUNT = _right["TILE_AT"], _right["WMMA"], _right["ANY"], _right["COUNT"]
DOTS, GAIN, TILED = _right["DOTS"], _right["GAIN"], _right["tiled"]()
tiled, cuda = _right["tiled"], _right["cuda"]


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


def wmma(*pairs):
    return cuda("wmma_product", changed(WMMA, *pairs))


def any_order(*pairs):
    return cuda("wmma_any", changed(ANY, *pairs), "wmma_any<0, 0>")


def dots(*pairs):
    return cuda("dot_rows", changed(DOTS, *pairs))


FILL = "  wmma::fill_fragment(c, 0.0f);\n"
STORE = "wmma::store_matrix_sync(C + row * N + column, c, N, wmma::mem_row_major);"
PRODUCT = "part += __half2float(A[row * K + i]) * __half2float(x[i]);"

WRONG = {
    "tile_at": {
        "ld_of_the_tile": changed(TILE_AT, ("j, ld", "j, 16"), ("i, ld", "i, 16")),
        "ld_across": changed(TILE_AT, ('columns if order == "row" else rows', 'rows if order == "row" else columns')),
        "tile_numbers": changed(TILE_AT, ("16 * i * ld + 16 * j", "i * ld + j"), ("16 * j * ld + 16 * i", "j * ld + i")),
        "other_order": """
def tile_at(rows, columns, order, i, j):
    ld = columns if order == "row" else rows
    return 16 * i * columns + 16 * j, ld
""",
        "swapped": changed(TILE_AT, ("16 * i * ld + 16 * j", "16 * j * ld + 16 * i")),
        "bytes": changed(TILE_AT, ("return 16 * i", "return 32 * i"), ("+ 16 * j", "+ 32 * j")),
        "two_numbers": changed(TILE_AT, ("16 * j, ld", "16 * j")),
    },
    "tiled_grid": {
        "one_block": cuda("tiled_grid", tiled("TILE", "TILE", "TILE")),
        "stride_of_a": cuda("tiled_grid", tiled(a="TILE")),
        "stride_of_b": cuda("tiled_grid", tiled(b="TILE")),
        "stride_of_c": cuda("tiled_grid", tiled(c="TILE")),
        "height": cuda("tiled_grid", tiled(*["TILE * gridDim.y"] * 3)),
        "race": cuda("tiled_grid", TILED.replace("    __syncthreads();\n  }", "  }")),
        "one_tile_deep": cuda("tiled_grid", changed(TILED, ("k < TILE * gridDim.x", "k < TILE"))),
        "beyond": cuda("tiled_grid", changed(TILED, ("k < TILE * gridDim.x", "k <= TILE * gridDim.x"))),
        "not_set": cuda("tiled_grid", changed(TILED, ("] = sum", "] += sum"))),
        "transposed": cuda("tiled_grid", changed(TILED, ("C[row * ", "C[column * "), (" + column] = sum", " + row] = sum"))),
        "value": cuda("tiled_grid", changed(TILED, ("* __half2float(b[i][tx])", "* __half2float(b[tx][i])"))),
    },
    "wmma_product": {
        "store_ld": wmma(("c, N, wmma", "c, K, wmma")),
        "not_filled": wmma((FILL, "")),
        "only_the_last": wmma((FILL, ""), ("    wmma::mma_sync", FILL + "    wmma::mma_sync")),
        "transposed": wmma(("mem_row_major", "mem_col_major")),
        "one_place": wmma(("C + row * N + column", "C")),
        "filled_with": wmma((FILL, FILL.replace("0.0f", "1.0f"))),
        "not_stored": wmma((STORE, "")),
        "no_product": wmma(("    wmma::mma_sync(c, a, b, c);\n", "")),
    },
    "tensor_instructions": {
        "constant": """
def tensor_instructions(listing):
    return sum("MMA" in line.upper() or "mfma_" in line for line in listing.splitlines()[1:])
""",
        "yes_or_no": changed(COUNT, ("return count", "return int(count > 0)")),
        "one_generation": changed(COUNT, ('"HMMA", "HGMMA", "UTCHMMA"', '"HMMA",')),
        "nvidia_only": changed(COUNT, ('or opcode.startswith(("v_mfma", "v_wmma"))', "")),
        "predicate": """
def tensor_instructions(listing):
    names = ("HMMA.", "HGMMA.", "UTCHMMA", "v_mfma", "v_wmma")
    return sum(line.strip().startswith(names) for line in listing.splitlines())
""",
        "name_of_the_kernel": """
import re

def tensor_instructions(listing):
    return sum(bool(re.search(r"\\bHMMA|\\bHGMMA|\\bUTCHMMA|mfma_|v_wmma", line)) for line in listing.splitlines())
""",
        "not_a_number": changed(COUNT, ("return count", "return None if not count else [count]")),
    },
    "wmma_any": {
        "ld_a": any_order(
            ("A_COLUMNS ? A + k * M + row : A + row * K + k, A_COLUMNS ? M : K",
             "A_COLUMNS ? A + k * K + row : A + row * K + k, K"),
        ),
        "ld_b": any_order(
            ("B_COLUMNS ? B + column * K + k : B + k * N + column, B_COLUMNS ? K : N",
             "B_COLUMNS ? B + column * N + k : B + k * N + column, N"),
        ),
        "offset": any_order(("A_COLUMNS ? A + k * M + row : A + row * K + k", "A + row * K + k")),
        "one_tile": any_order(("typename Layout<A_COLUMNS>::type", "wmma::row_major")),
        "store": any_order(("C + row * N + column", "C")),
    },
    "dot_rows": {
        "half_sum": dots(
            (PRODUCT, "part = __float2half(__half2float(part) + __half2float(A[row * K + i]) * __half2float(x[i]));"),
            ("float part", "half part"), ("sum += part", "sum += __half2float(part)"),
            ("CHUNK 1024", "CHUNK 100000000"), ("half part = 0", "half part = __float2half(0)"),
        ),
        "half_product": dots((PRODUCT, "part += __half2float(__hmul(A[row * K + i], x[i]));")),
        "one_long_sum": dots(("CHUNK 1024", "CHUNK 100000000")),
        "lost_tail": dots(("min(k + CHUNK, K)", "k + CHUNK"), ("k < K;", "k + CHUNK <= K;"), ("CHUNK 1024", "CHUNK 64")),
        "out_of_bounds": dots(("min(k + CHUNK, K)", "k + CHUNK")),
        "only_the_last": dots(("sum += part", "sum = part")),
        "nothing": dots(("  y[row] = sum", "  if (K > 0) y[row] = sum")),
        "value": dots(("A[row * K + i]", "A[i]")),
    },
    "gain": {
        "one_flop": changed(GAIN, ("2 * M * N * K", "M * N * K")),
        "elements": changed(GAIN, ("2 * M * K + 2 * K * N + 4 * M * N", "M * K + K * N + M * N")),
        "all_halves": changed(GAIN, ("4 * M * N", "2 * M * N")),
        "all_floats": changed(GAIN, ("2 * M * K + 2 * K * N", "4 * M * K + 4 * K * N")),
        "no_result": changed(GAIN, (" + 4 * M * N", "")),
        "read_too": changed(GAIN, ("4 * M * N", "8 * M * N")),
        "inverse": changed(GAIN, ("return flops / nbytes", "return nbytes / flops")),
        "peaks": changed(GAIN, ("max(move, flops / scalar) / max(move, flops / tensor)", "tensor / scalar")),
        "added": changed(GAIN, ("max(move, flops / scalar)", "(move + flops / scalar)"),
                         ("max(move, flops / tensor)", "(move + flops / tensor)")),
        "upside_down": changed(GAIN, ("max(move, flops / scalar) / max(move, flops / tensor)",
                                      "max(move, flops / tensor) / max(move, flops / scalar)")),
        "two_numbers": changed(GAIN, ("return flops / nbytes, ", "return ")),
    },
}  # fmt: skip
