"""Write the shipped set of small files: ``python tests/cpp_data_formats/make_files.py``. Deterministic.

Text is written as it stands below. PNG and PNM are put together here, byte by byte; JPEG and HDF5 by Pillow and h5py,
whose other releases may write other bytes.
"""

import io
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[2] / "labs" / "cpp_data_formats" / "files"
BOM = b"\xef\xbb\xbf"

CSV = {
    "plain": b"a,b,c\n1,2,3\n4,5,6\n",
    "bom": BOM + b"a,b\n1,2\n",
    "bom_quoted_delimiter": BOM + b'"a,x",b\n1,2\n',
    "bom_quoted_newline": BOM + b'"a\nx",b\n1,2\n',
    "utf16": "a,b\n1,2\n".encode("utf-16"),
    "cr": b"a,b\r1,2\r3,4\r",
    "crlf": b"a,b\r\n1,2\r\n3,4\r\n",
    "mixed_ends": b"a,b\n1,2\r\n3,4\r5,6\n",
    "no_final_newline": b"a,b\n1,2\n3,4",
    "empty": b"",
    "header_only": b"a,b\n",
    "no_header": b"1,2\n3,4\n",
    "one_column": b"a\n1\n2\n3\n",
    "one_row": b"a,b,c\n1,2,3\n",
    "quoted_delimiter": b'a,b\n"1,234",2\n',
    "quoted_newline": b'a,b\n"x\ny",2\n3,4\n',
    "doubled_quotes": b'"say ""a""",b\n"1",2\n',
    "quote_inside": b'a,b\n1"2,3\n',
    "quote_open": b'a,b\n"1,2\n3,4\n',
    "text_behind_quote": b'a,b\n"1"2,3\n',
    "blank_lines": b"a,b\n1,2\n\n3,4\n\n",
    "blank_first_line": b"\na,b\n1,2\n",
    "ragged_short": b"a,b,c\n1,2,3\n4,5\n6,7,8\n",
    "ragged_long": b"a,b\n1,2\n3,4,5\n",
    "empty_field": b"a,b\n1,\n,4\n",
    "spaces": b"a, b\n 1 , 2\n3 ,4 \n",
    "tabs": b"a\tb\n1\t2\n",
    "semicolons": b"a;b\n1,5;2,25\n-0,5;1e3\n",
    "thousands": b"a;b\n1.234.567,5;2\n",
    "bad_thousands": b"a;b\n1.23.4;2\n",
    "too_large": b"a\n1e400\n",
    "too_small": b"a\n1e-400\n",
    "smallest": b"a\n5e-324\n2.2250738585072011e-308\n1.7976931348623157e308\n",
    "hexadecimal": b"a\n0x1p3\n",
    "nan_inf": b"a,b\nnan,inf\nNaN,-Infinity\n",
    "na": b"a,b\n1,NA\n3,4\n",
    "minus_zero": b"a\n-0\n-0.0\n",
    "beyond_2_53": b"a\n9007199254740993\n",
    "at_2_53": b"a\n9007199254740992\n9007199254740994\n",
    "halfway": b"a\n9007199254740993.0\n0.1\n1.7976931348623158e308\n",
    "underscore": b"a\n1_000\n",
    "plus_and_points": b"a,b,c\n+1,.5,2.\n",
    "word": b"a,b\n1,2\n3,four\n",
    "nul": b"a,b\n1,2\n3\x00,4\n",
    "same_name_twice": b"a,a\n1,2\n",
    "name_not_utf8": b"a,\xff\n1,2\n",
    "comma_for_point": b'a,b\n"1,5",2\n',
}

JSON = {
    "plain": b"[[1, 2.5], [-3e2, 4]]\n",
    "bom": BOM + b"[[1, 2]]",
    "split": b'{"columns": ["a", "b"], "index": [0, 1], "data": [[1, 2], [3, 4]]}',
    "nan": b"[[1, NaN]]",
    "infinity": b"[[1, -Infinity]]",
    "null": b"[[1, null]]",
    "ragged": b"[[1, 2],\n [3]]",
    "nested_ragged": b"[[1, [2, 3]], [4, 5]]",
    "same_key_twice": b'{"data": [[1]], "data": [[2]]}',
    "trailing_comma": b"[[1, 2,], [3, 4]]",
    "trailing_comma_rows": b"[[1, 2],\n [3, 4],\n]",
    "deep": b'{"meta": ' + b"[" * 200 + b"]" * 200 + b', "data": [[1]]}',
    "invalid_utf8": b'{"name": "\xff", "data": [[1]]}',
    "beyond_2_53": b"[[9007199254740993]]",
    "too_large": b"[[1e400]]",
    "too_small": b"[[1e-400]]",
    "minus_zero": b"[[-0, -0.0, 0]]",
    "leading_zero": b"[[01]]",
    "text": b'[["1"]]',
    "truncated": b"[[1, 2], [3, 4",
    "string_open": b'[["1]',
    "behind_the_end": b"[[1]] [[2]]",
    "empty": b"",
    "no_rows": b"[]",
}


def png(rows, colour, bits, *, filters=(0,), extra=(), cut=0):
    """A PNG of the rows' samples (height x width x channels), each row with one of the filters by turns."""
    height, width = rows.shape[:2]
    lines, before = b"", None
    for y in range(height):
        samples = rows[y].reshape(-1)
        if bits == 16:
            raw = samples.astype(">u2").tobytes()
        elif bits == 8:
            raw = samples.astype("u1").tobytes()
        else:
            raw = np.packbits(((samples[:, None] >> np.arange(bits)[::-1]) & 1).astype("u1").reshape(-1)).tobytes()
        step = max(1, (samples.size // width) * bits // 8)
        before = before or bytes(len(raw))
        lines += _filtered(raw, before, step, filters[y % len(filters)])
        before = raw
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)), *extra]
    chunks += [(b"IDAT", zlib.compress(lines, 0)), (b"IEND", b"")]
    whole = b"\x89PNG\r\n\x1a\n"
    for name, body in chunks:
        whole += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return whole[: len(whole) - cut]


def _filtered(raw, up, step, kind):
    out = bytearray([kind])
    for i, value in enumerate(raw):
        a, b, c = (raw[i - step] if i >= step else 0), up[i], (up[i - step] if i >= step else 0)
        nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
        out.append((value - (0, a, b, (a + b) // 2, nearest)[kind]) & 255)
    return bytes(out)


def pixels(height, width, channels, largest=255):
    """Samples in which neighbours differ, and each position tells where it is."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return (y * 67 + x * 29 + c * 97 + 5) % (largest + 1)


def images():
    grey, rgb = pixels(3, 5, 1), pixels(3, 5, 3)
    deep = pixels(2, 3, 1, 65535) * 251 % 65536
    palette = [(b"PLTE", bytes([255, 0, 0, 0, 255, 0, 0, 0, 255]))]
    index = pixels(2, 5, 1, 2)
    plain = png(rgb, 2, 8)
    result = {
        "grey.png": png(grey, 0, 8),
        "rgb.png": png(rgb, 2, 8, filters=(0, 1, 2)),
        "rgb_filters.png": png(pixels(6, 7, 3), 2, 8, filters=(4, 3, 2, 1, 0)),
        "rgba.png": png(pixels(2, 3, 4), 6, 8),
        "grey_alpha.png": png(pixels(2, 3, 2), 4, 8),
        "grey16.png": png(deep, 0, 16),
        "rgb16.png": png(pixels(2, 3, 3, 65535) * 257 % 65536, 2, 16, filters=(4,)),
        "one_bit.png": png(pixels(3, 9, 1, 1), 0, 1),
        "palette.png": png(index, 3, 2, extra=palette),
        "palette_transparent.png": png(index, 3, 8, extra=[*palette, (b"tRNS", bytes([0, 128]))]),
        "one_pixel.png": png(pixels(1, 1, 3), 2, 8),
        "truncated.png": png(rgb, 2, 8, cut=30),
        "bad_checksum.png": plain[:60] + bytes([plain[60] ^ 1]) + plain[61:],
        "grey.pgm": b"P5\n# a comment\n5 3\n255\n" + grey.astype("u1").tobytes(),
        "rgb.ppm": b"P6 5 3 255\n" + rgb.astype("u1").tobytes(),
        "rgb_text.ppm": b"P3\n5 3\n255\n" + " ".join(map(str, rgb.reshape(-1))).encode() + b"\n",
        "grey16.pgm": b"P5\n3 2\n65535\n" + deep.astype(">u2").tobytes(),
        "largest_15.pgm": b"P5\n3 1\n15\n" + bytes([0, 7, 15]),
        "truncated.ppm": b"P6 5 3 255\n" + rgb.astype("u1").tobytes()[:-1],
        "not_an_image.png": b"GIF89a",
    }
    from PIL import Image

    for name, samples in (("grey.jpg", pixels(9, 13, 1)[..., 0]), ("rgb.jpg", pixels(9, 13, 3))):
        out = io.BytesIO()
        Image.fromarray(samples.astype("u1")).save(out, "JPEG", quality=90)
        result[name] = out.getvalue()
    result["truncated.jpg"] = result["rgb.jpg"][:-40]
    return result


def arrays():
    def saved(array, **options):
        out = io.BytesIO()
        np.lib.format.write_array(out, array, **options)
        return out.getvalue()

    matrix = np.arange(6.0).reshape(2, 3)
    return {
        "plain.npy": saved(matrix),
        "fortran.npy": saved(np.asfortranarray(matrix)),
        "big_endian.npy": saved(matrix.astype(">f4")),
        "version2.npy": saved(matrix.astype("<i2"), version=(2, 0)),
        "objects.npy": saved(np.array([None]), allow_pickle=True),
        "truncated.npy": saved(matrix)[:-5],
    }


def hdf5(folder):
    import h5py

    matrix = np.arange(12.0).reshape(4, 3)

    def file(name):
        return h5py.File(folder / name, "w", libver=("earliest", "v110"))

    with file("plain.h5") as f:
        f.create_dataset("x", data=matrix, track_times=False)
    with file("big_endian.h5") as f:
        f.create_dataset("x", data=matrix.astype(">f8"), track_times=False)
        f.create_dataset("i", data=matrix.astype(">i4"), track_times=False)
    with file("chunked.h5") as f:
        f.create_dataset("x", data=matrix, chunks=(3, 2), track_times=False)
    with file("gzip.h5") as f:
        f.create_dataset(
            "x", data=matrix, chunks=(3, 2), compression="gzip", shuffle=True, fletcher32=True, track_times=False
        )
    with file("not_all_written.h5") as f:
        x = f.create_dataset("x", (4, 3), dtype="f8", chunks=(2, 3), fillvalue=-1, track_times=False)
        x[:2] = matrix[:2]
    with file("float16.h5") as f:
        f.create_dataset("x", data=matrix.astype("<f2"), track_times=False)
    with file("compact.h5") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        plist.set_obj_track_times(False)
        space = h5py.h5s.create_simple(matrix.shape)
        h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_DOUBLE, space, plist).write(space, space, matrix)
    with file("strings.h5") as f:
        f.create_dataset("fixed", data=np.array([b"one", b"two"], dtype="S3"), track_times=False)
        f.create_dataset("variable", data=["one", "three"], dtype=h5py.string_dtype(), track_times=False)
    with file("column_major.h5") as f:  # as MATLAB writes [0 1 2; 3 4 5; ...]: axes reversed, and marked
        f.create_dataset("x", data=np.ascontiguousarray(matrix.T), track_times=False).attrs["MATLAB_class"] = np.bytes_(
            "double"
        )
    with file("ranks.h5") as f:
        f.create_dataset("vector", data=matrix[0], track_times=False)
        f.create_dataset("deep/cube", data=matrix.reshape(2, 2, 3), track_times=False)
    with file("lzf.h5") as f:
        f.create_dataset("x", data=matrix, compression="lzf", track_times=False)
    whole = (folder / "plain.h5").read_bytes()
    (folder / "truncated.h5").write_bytes(whole[:-20])
    damaged = bytearray((folder / "gzip.h5").read_bytes())
    with h5py.File(folder / "gzip.h5") as f:
        info = f["x"].id.get_chunk_info(0)
    damaged[info.byte_offset + 8] ^= 0x10
    (folder / "damaged_chunk.h5").write_bytes(damaged)


def texts():
    """Content by file name of everything that does not depend on a library's version."""
    return {
        **{f"{name}.csv": content for name, content in CSV.items()},
        **{f"{name}.json": content for name, content in JSON.items()},
        **{name: content for name, content in images().items() if not name.endswith(".jpg")},
        **arrays(),
    }


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for name, content in {**images(), **texts()}.items():
        (target / name).write_bytes(content)
    hdf5(target)
    print(f"{len(list(target.iterdir()))} files in {target}")
