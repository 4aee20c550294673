"""Eight ranks read one file at the same time; together they hold every row exactly once, in order."""

from types import SimpleNamespace

import numpy as np
import pytest

from labs.cpp_data_formats import loaders, slabs
from labs.cpp_data_formats.errors import FormatError
from labs.cpp_data_formats.extension import need
from labs.cpp_data_formats.readers import read_csv
from labs.kit import ranks

pytestmark = pytest.mark.usefixtures("readers_built")
SIZES = (0, 1, 2, 7, 8, 9, 1000)


def write_csv(path, rows, text="{0},{1}\n", head="a,b\n"):
    path.write_text(head + "".join(text.format(i, i + 0.5) for i in range(rows)), newline="")
    return path


def write_hdf5(path, rows):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=matrix(rows), chunks=(min(rows, 3), 2) if rows else None)
        file.create_dataset("plain", data=matrix(rows))
    return path


def matrix(rows):
    return np.column_stack([np.arange(float(rows)), np.arange(rows) + 0.5])


def read_my_slabs(csv, hdf5, dist):
    from labs.cpp_data_formats import slabs

    rank, size = dist.get_rank(), dist.get_world_size()
    dist.barrier()
    return slabs.read_csv_slab(csv, rank, size).values, *(
        slabs.read_hdf5_slab(hdf5, name, rank, size) for name in ("x", "plain")
    )


@pytest.mark.parametrize(("on", "sizes"), [("virtual", SIZES), ("gloo", (9, 1000))])
def test_eight_ranks_hold_every_row_once(tmp_path, on, sizes):
    need("HDF5")
    for rows in sizes:
        csv, hdf5 = write_csv(tmp_path / f"{rows}.csv", rows), write_hdf5(tmp_path / f"{rows}.h5", rows)
        run = ranks.run(read_my_slabs, 8, args=(str(csv), str(hdf5)), on=on)
        for part in range(3):
            assert np.array_equal(np.concatenate([result[part] for result in run.results]), matrix(rows))
        counts = [len(result[1]) for result in run.results]
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("final", [True, False])
def test_csv_borders_anywhere_in_a_line(tmp_path, end, final):
    """Rows of many lengths and every number of ranks: borders fall on each byte of a line, also between CR and LF."""
    text = "a,b" + end + "".join(f"{10 ** (i % 7)},{i}{end}" for i in range(40))
    path = tmp_path / "x.csv"
    path.write_text(text if final else text.removesuffix(end), newline="")
    whole = read_csv(path).values
    for size in range(1, 60):
        parts = [slabs.read_csv_slab(path, rank, size) for rank in range(size)]
        assert np.array_equal(np.concatenate([part.values for part in parts]), whole)
        assert all(part.names == ("a", "b") for part in parts)


def test_quoted_line_ends_are_refused_in_words_or_counted(tmp_path):
    path = write_csv(tmp_path / "x.csv", 200, '"row\n{0},\n1",{0},"{1}"\n', "t,a,b\n")
    whole = read_csv(path, columns=["a", "b"]).values
    assert np.array_equal(whole, matrix(200))
    for size in (2, 3, 8, 50):
        with pytest.raises(FormatError, match="quotes stand in the part of rank 0 of"):
            slabs.read_csv_slab(path, 0, size, columns=["a", "b"])
        parts = [slabs.read_csv_slab(path, rank, size, quotes="count", columns=["a", "b"]) for rank in range(size)]
        assert np.array_equal(np.concatenate([part.values for part in parts]), whole)
    assert len(slabs.read_csv_slab(path, 0, 1, columns=["a", "b"]).values) == 200, "one rank needs to guess nothing"
    header = write_csv(tmp_path / "header.csv", 20, head='"a,\n1",b\n')
    parts = [slabs.read_csv_slab(header, rank, 8).values for rank in range(8)]
    assert np.array_equal(np.concatenate(parts), matrix(20)), "quotes in the header are no problem"


def test_threads_change_neither_result_nor_error(tmp_path):
    """Quoted line ends everywhere mislead the guess where a thread starts; the check notices and starts again."""
    path = write_csv(tmp_path / "x.csv", 30000, '"1,2\n3",{0},"{1}"\n', "t,a,b\n")
    whole = read_csv(path, columns=["a", "b"], threads=1).values
    assert np.array_equal(whole, matrix(30000))
    for threads in (2, 3, 5):
        assert np.array_equal(read_csv(path, columns=["a", "b"], threads=threads).values, whole)
    lines = path.read_text().splitlines(keepends=True)
    for at in (7, 31234, 59999):
        broken = tmp_path / "broken.csv"
        broken.write_text("".join([*lines[:at], lines[at].replace(",", ";", 1) + '"', *lines[at + 1 :]]))
        errors = []
        for threads in (1, 2, 5):
            with pytest.raises(FormatError) as caught:
                read_csv(broken, columns=["a", "b"], threads=threads)
            errors.append((str(caught.value), caught.value.line, caught.value.byte))
        assert len(set(errors)) == 1, errors


def test_ranks_and_rows_that_do_not_exist(tmp_path):
    assert [slabs.rows_of(rank, 3, 10) for rank in range(3)] == [(0, 3), (3, 6), (6, 10)]
    with pytest.raises(ValueError, match="the rank must be 0 to 2"):
        slabs.rows_of(3, 3, 10)


@pytest.mark.parametrize("kind", ["csv", "hdf5"])
@pytest.mark.parametrize("workers", [0, 2])
def test_batches_come_once_and_in_order(tmp_path, workers, kind):
    torch = pytest.importorskip("torch")
    if kind == "csv":
        path = write_csv(tmp_path / "x.csv", 101)
        make = lambda rank, size: loaders.CsvBatches(path, 10, rank=rank, world_size=size)
    else:
        need("HDF5")
        path = write_hdf5(tmp_path / "x.h5", 101)
        make = lambda rank, size: loaders.Hdf5Batches(path, "x", 10, rank=rank, world_size=size)
    batches = []
    for rank in range(2):
        batches += list(torch.utils.data.DataLoader(make(rank, 2), batch_size=None, num_workers=workers))
    assert all(0 < len(batch) <= 10 for batch in batches)
    rows = torch.cat(batches).numpy()
    assert np.array_equal(rows[np.argsort(rows[:, 0])] if workers else rows, matrix(101))


def test_a_batch_has_at_least_one_row(tmp_path):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="batch_size"):
        loaders.CsvBatches(write_csv(tmp_path / "x.csv", 1), 0)


def test_small_batches_do_not_decompress_a_chunk_again_for_each(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    h5py = pytest.importorskip("h5py")
    rows, module, reads = matrix(5000), need("HDF5"), []
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=rows, chunks=(5000, 2), compression="gzip")
        file["one"] = 1.0

    class Counted:
        def __init__(self, *where):
            self.dataset = module.Hdf5Dataset(*where)
            self.shape = self.dataset.shape

        def read(self, *box):
            reads.append(box)
            return self.dataset.read(*box)

    monkeypatch.setattr(loaders, "need", lambda part: SimpleNamespace(Hdf5Dataset=Counted))
    batches = list(loaders.Hdf5Batches(tmp_path / "x.h5", "x", 7))
    assert [len(batch) for batch in batches] == [7] * 714 + [2] and len(reads) == 1
    assert np.array_equal(np.concatenate(batches), rows)
    monkeypatch.setattr(loaders, "BLOCK", 1000)
    assert (
        np.array_equal(np.concatenate(list(loaders.Hdf5Batches(tmp_path / "x.h5", "x", 7))), rows) and len(reads) > 50
    )
    for read in (
        lambda: list(loaders.Hdf5Batches(tmp_path / "x.h5", "one", 7)),
        lambda: slabs.read_hdf5_slab(tmp_path / "x.h5", "one", 0, 2),
    ):
        with pytest.raises(FormatError, match="0 axes: expected at least 1"):
            read()
