"""What several readers make of the same small files, side by side: tried, not quoted."""

from __future__ import annotations

from labs.kit.native.failures import NativeError

from .errors import FormatError, MissingPart
from .specimens import FOLDER, SPECIMENS

BROKEN = (
    "plain.csv", "crlf.csv", "bom.csv", "ragged_short.csv", "text_behind_quote.csv", "empty_field.csv", "word.csv",
    "too_large.csv", "hexadecimal.csv",
)  # fmt: skip

TRAPS = (
    "nan.json", "beyond_2_53.json", "same_key_twice.json", "big_endian.h5", "gzip.h5", "column_major.h5",
    "truncated.h5", "rgb16.png", "palette.png", "truncated.png",
)  # fmt: skip


def tried(names=BROKEN):
    """Read CSV files by this lesson's reader and by pandas.

    Parameters
    ----------
    names : sequence of str
        Of files in the shipped set.

    Yields
    ------
    (str, str, str)
        The file's content as Python writes it, and what each reader made of it.
    """
    import pandas

    from . import readers

    for name in names:
        path = FOLDER / name
        yield (
            repr(path.read_bytes().decode("utf-8"))[1:-1],
            _outcome(lambda path=path: readers.read_csv(path).values, name),
            _outcome(lambda path=path: pandas.read_csv(path).to_numpy(), name),
        )


def _outcome(read, name):
    try:
        return str(read().tolist())
    except FormatError as error:
        return f"error: {str(error)[str(error).index(name) + len(name) + 2 :]}"
    except NativeError:
        return "(not tried: what builds the readers is missing here)"
    except Exception as error:
        return f"error: {type(error).__name__}"


def show(names=BROKEN):
    """Print what `tried` finds."""
    for content, ours, pandas in tried(names):
        print(f"{content}\n    here:   {ours}\n    pandas: {pandas}")


def show_traps(names=TRAPS):
    """Print what is special about files that are not CSV, what this lesson's reader makes of them, and who differs."""
    for name in names:
        specimen = next(each for each in SPECIMENS if each.file == name)
        try:
            values = specimen.read()
            here = f"{values.dtype}, shape {values.shape}"
        except FormatError as error:
            here = "error: " + error.reason.removeprefix(f"{specimen.path}: ")
        except (NativeError, MissingPart):
            here = "(not tried: what reads it is missing here)"
        print(f"{name}: {specimen.shows}\n    here:   {here}")
        for who, what in specimen.differs.items():
            print(f"    {who}: {what}")
