"""Weighing: weighs the features of a document by how often they occur and by an IDF table.

Weights are whole numbers of units of 1/1024, so that sums do not depend on the order.  The kernel
weighs in the same way; this module serves explanations and exact similarities.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from simdb.settings.text_sketch import WEIGHT_BITS, WEIGHT_MASK, WEIGHT_UNIT

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Idf = tuple[U64, U32, int]  # entries, directory, default

UNITS = round(1 / WEIGHT_UNIT)
COUNT_MAX = 65535  # for "log-tf", a feature that occurs more often counts as this often
TAG_SHIFT = np.uint64(WEIGHT_BITS)


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


def idf_units(hashes: U64, idf: Idf) -> I64:
    """Return the IDF weight of each feature from the table, or the default, in units."""
    entries, _, default = idf
    found = np.full(len(hashes), default, np.int64)
    if len(entries):
        tags = entries >> TAG_SHIFT
        wanted = hashes >> TAG_SHIFT
        at = np.minimum(np.searchsorted(tags, wanted), len(entries) - 1)
        is_there = tags[at] == wanted
        found[is_there] = (entries[at] & np.uint64(WEIGHT_MASK))[is_there].astype(np.int64)
    return found


@cache
def _log_units() -> I64:
    """Return 1 + ln n in units, for n from 1 to COUNT_MAX; entry 0 is not used."""
    counts = np.maximum(np.arange(COUNT_MAX + 1), 1)
    return np.floor(UNITS * (1 + np.log(counts)) + 0.5).astype(np.int64)
