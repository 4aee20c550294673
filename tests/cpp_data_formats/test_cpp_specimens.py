"""The shipped set: each file gives the right value or the right error, and the table tells the truth about others."""

import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from labs.cpp_data_formats.differences import DIFFERS
from labs.cpp_data_formats.errors import FormatError
from labs.cpp_data_formats.readers import read_csv, read_image
from labs.cpp_data_formats.specimens import FOLDER, SPECIMENS

pytestmark = pytest.mark.usefixtures("readers_built")


def name(specimen):
    return f"{specimen.file}-{specimen.shows}".replace(" ", "_")


def same(ours, theirs):
    """Equal shapes and numbers; nan equals nan, and minus zero is not zero."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        return False
    if 0 in ours.shape:
        return True
    if theirs.dtype.kind not in "fiub":
        return False
    if ours.dtype.kind == "f":
        theirs = theirs.astype(float)
        return np.array_equal(ours, theirs, equal_nan=True) and np.array_equal(
            np.signbit(ours[~np.isnan(ours)]), np.signbit(theirs[~np.isnan(theirs)])
        )
    return np.array_equal(ours, theirs)


@pytest.mark.parametrize("specimen", SPECIMENS, ids=name)
def test_a_specimen_gives_its_value_or_its_error(specimen):
    if specimen.values is None:
        with pytest.raises(FormatError) as caught:
            specimen.read()
        assert specimen.error in str(caught.value)
        assert str(caught.value).startswith(str(specimen.path)) and caught.value.file == str(specimen.path)
    else:
        values = specimen.read()
        assert same(values, specimen.values), values
        assert values.flags.c_contiguous and values.flags.writeable
        if specimen.file.endswith(".csv"):
            assert read_csv(specimen.path, **specimen.options).names == specimen.names


def test_the_set_is_large_and_no_file_is_left_out():
    files = {path.name for path in FOLDER.iterdir()}
    assert len(files) >= 60
    assert files == {specimen.file for specimen in SPECIMENS} | {"grey.jpg", "rgb.jpg"}


def test_the_files_are_those_that_the_script_writes():
    spec = importlib.util.spec_from_file_location("make_files", Path(__file__).with_name("make_files.py"))
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    for file, content in made.texts().items():
        assert (FOLDER / file).read_bytes() == content, file


@pytest.mark.parametrize("file", ["grey.jpg", "rgb.jpg"])
def test_a_jpeg_gives_the_pixels_of_pillow(file):
    image = pytest.importorskip("PIL.Image")
    theirs = np.asarray(image.open(FOLDER / file)).reshape(9, 13, -1)
    assert np.abs(read_image(FOLDER / file).astype(int) - theirs).max() <= 2  # decoders may round differently


# --- what other readers make of the same files ---------------------------------------------------------------------


def pandas_csv(specimen):
    pandas = pytest.importorskip("pandas")
    options = dict(specimen.options)
    table = pandas.read_csv(
        specimen.path,
        sep=options.get("delimiter", ","),
        decimal=options.get("decimal", "."),
        thousands=options.get("thousands"),
        header=None if options.get("header") is False else 0,
        usecols=options.get("columns"),
    )
    return table.to_numpy()


def pyarrow_csv(specimen):
    csv = pytest.importorskip("pyarrow.csv")
    options = dict(specimen.options)
    table = csv.read_csv(
        specimen.path,
        read_options=csv.ReadOptions(autogenerate_column_names=options.get("header") is False),
        parse_options=csv.ParseOptions(
            delimiter=options.get("delimiter", ","),
            newlines_in_values=True,
            ignore_empty_lines=options.get("skip_blank_lines", False),
        ),
        convert_options=csv.ConvertOptions(
            decimal_point=options.get("decimal", "."), include_columns=options.get("columns")
        ),
    )
    return np.column_stack([column.to_numpy() for column in table.columns])


def rows_of(document, specimen):
    rows = document[specimen.options["key"]] if "key" in specimen.options else document
    if not isinstance(rows, list):
        raise ValueError("not an array of rows")
    if not rows:
        return np.empty((0, 0))
    return np.array(
        [[np.nan if value is None and "missing" in specimen.options else value for value in row] for row in rows]
    )


def json_module(specimen):
    return rows_of(json.loads(specimen.path.read_bytes()), specimen)


def orjson_module(specimen):
    orjson = pytest.importorskip("orjson")
    return rows_of(orjson.loads(specimen.path.read_bytes()), specimen)


def h5py_module(specimen):
    h5py = pytest.importorskip("h5py")
    with h5py.File(specimen.path) as file:
        dataset = file[specimen.dataset]
        box = tuple(slice(*specimen.options[axis]) for axis in ("rows", "columns") if axis in specimen.options)
        return dataset[box]


def pillow(specimen):
    image = pytest.importorskip("PIL.Image")
    pixels = np.asarray(image.open(specimen.path))
    return pixels if pixels.ndim == 3 else pixels[..., None]


def numpy_load(specimen):
    return np.load(specimen.path)


OTHERS = {
    ".csv": {"pandas": pandas_csv, "pyarrow": pyarrow_csv},
    ".json": {"json": json_module, "orjson": orjson_module},
    ".h5": {"h5py": h5py_module},
    ".npy": {"numpy": numpy_load},
}
CASES = [
    (specimen, peer) for specimen in SPECIMENS for peer in OTHERS.get(Path(specimen.file).suffix, {"Pillow": pillow})
]


@pytest.mark.parametrize(("specimen", "peer"), CASES, ids=[f"{peer}-{name(s)}" for s, peer in CASES])
def test_the_table_tells_the_truth_about_others(specimen, peer):
    reader = OTHERS.get(Path(specimen.file).suffix, {"Pillow": pillow})[peer]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = reader(specimen)
        told = f"returns {np.asarray(theirs).tolist()!r}"[:200]
        agrees = specimen.values is not None and same(specimen.values, theirs)
    except pytest.skip.Exception:
        raise
    except Exception as problem:  # whatever they raise: they refuse
        told, agrees = f"raises {type(problem).__name__}: {problem}"[:200], specimen.values is None
    assert agrees == (peer not in specimen.differs), (
        f"{peer} {told}; the table says: {specimen.differs.get(peer, 'agrees')}"
    )
    assert set(specimen.differs) <= set(OTHERS.get(Path(specimen.file).suffix, {"Pillow": pillow})), "an unknown peer"


def test_differences_are_explained():
    """Each entry of the table belongs to a specimen, and says something."""
    assert set(DIFFERS) <= {(specimen.file, specimen.shows) for specimen in SPECIMENS}
    assert all(len(text) > 8 for others in DIFFERS.values() for text in others.values())
