"""Bags: counts and weighs the features of a document, in numpy.

Weights are whole numbers of units of 1/1024, so that sums do not depend on the order.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Idf = tuple[U64, U32, int]  # entries, directory, default

UNITS = 1024
COUNT_MAX = 65535  # for "log-tf", a feature that occurs more often counts as this often
TAG_SHIFT = np.uint64(16)
WEIGHT_MASK = np.uint64(0xFFFF)
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


def weigh(hashes: U64, counts: I64, counting: str, idf: Idf | None) -> I64:
    """Return the weights, in units, of distinct features that occur `counts` times."""
    if counting == "tf":
        weights = counts * UNITS
    elif counting == "binary":
        weights = np.full(len(counts), UNITS, np.int64)
    else:
        weights = _log_units()[np.minimum(counts, COUNT_MAX)]
    if idf is None:
        return weights
    return np.asarray((weights * idf_units(hashes, idf) + UNITS // 2) // UNITS, np.int64)


def is_whole(counting: str, idf: Idf | None) -> bool:
    """Return whether every feature counts as 1, so that weights need no units."""
    return counting in ("tf", "binary") and idf is None


def idf_units(hashes: U64, idf: Idf) -> I64:
    """Return the IDF weight of each feature from the table, or the default, in units."""
    entries, _, default = idf
    found = np.full(len(hashes), default, np.int64)
    if len(entries):
        tags = entries >> TAG_SHIFT
        wanted = hashes >> TAG_SHIFT
        at = np.minimum(np.searchsorted(tags, wanted), len(entries) - 1)
        is_there = tags[at] == wanted
        found[is_there] = (entries[at] & WEIGHT_MASK)[is_there].astype(np.int64)
    return found


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


@cache
def _log_units() -> I64:
    """Return 1 + ln n in units, for n from 1 to COUNT_MAX; entry 0 is not used."""
    counts = np.maximum(np.arange(COUNT_MAX + 1), 1)
    return np.floor(UNITS * (1 + np.log(counts)) + 0.5).astype(np.int64)
