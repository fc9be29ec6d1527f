"""Bags: counts the features of a document and lists them with their weights, in numpy."""

import numpy as np
import numpy.typing as npt

from simdb.sketch.weighing import Idf, idf_units, weigh

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

COUNTINGS = ("tf", "binary", "log-tf")


def distinct(features: U64) -> tuple[U64, I64]:
    """Return the distinct rows of uint64[n, 2], in order of first occurrence, and their counts."""
    if not len(features):
        return features, np.empty(0, np.int64)
    rows, first, counts = np.unique(features, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return rows[order], counts[order].astype(np.int64)


def units(features: U64, counting: str, idf: Idf | None) -> tuple[U64, I64]:
    """Return the features to sum up, uint64[n, 2], and the weight of each in units.

    If `is_whole`, every weight is 1 instead.
    """
    if counting == "tf" and idf is None:
        return features, np.ones(len(features), np.int64)
    if counting == "tf":
        assert idf is not None
        return features, idf_units(features[:, 0], idf)
    features, counts = distinct(features)
    if counting == "binary" and idf is None:
        return features, np.ones(len(features), np.int64)
    return features, weigh(features[:, 0], counts, counting, idf)


def is_whole(counting: str, idf: Idf | None) -> bool:
    """Return whether every feature counts as 1, so that weights need no units."""
    return counting in ("tf", "binary") and idf is None


def check_idf(idf: Idf) -> None:
    """Raise ValueError unless the arrays of an IDF table fit together."""
    entries, directory, default = idf
    for name, array, dtype in (
        ("entries", entries, np.uint64),
        ("directory", directory, np.uint32),
    ):
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"{name} are {array.dtype}[{array.ndim} axes], not {dtype.__name__}")
    slots = len(directory) - 1
    if slots < 1 or slots & (slots - 1) or directory[0] != 0 or directory[-1] != len(entries):
        raise ValueError(f"a directory of {len(directory)} slots for {len(entries)} entries")
    if not 0 < default < 1 << 16:
        raise ValueError(f"the default is {default}, not from 1 to 65535")
