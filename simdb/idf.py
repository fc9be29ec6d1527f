"""IDF tables: how much a feature weighs that few documents have.

The weight of a feature that df of N documents have is ln((1 + N) / (1 + df)) + 1.  A table is
fitted once and never changes, or fingerprints made before and after would not agree; features
that it does not hold weigh as if one document had them, so those of df = 1 are left out.

A table is one sorted column, so that it is read in place and a look-up touches one cache line:

    entries uint64[n]: the feature's hash, its 16 lowest bits replaced by its weight
    directory uint32[2**t + 1]: where the entries with each value of the t highest bits begin

Weights are whole numbers of `WEIGHT_UNIT`, so sums of them are exact in any order.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

WEIGHT_UNIT = 1 / 1024
WEIGHT_BITS = 16
WEIGHT_MASK = (1 << WEIGHT_BITS) - 1
# Entries of which one directory slot tells the place, about: a cache line holds 8.
SLOT_ENTRIES = 4


def idf_weight(document_count: int, frequency: int) -> int:
    """Weight in units of a feature that `frequency` of `document_count` documents have."""
    return round((math.log((1 + document_count) / (1 + frequency)) + 1) / WEIGHT_UNIT)


@dataclass(frozen=True, slots=True, eq=False)
class IdfTable:
    """A frozen table of inverse document frequencies; made by `simdb.fit_idf`.

    `entries` uint64[n] and `directory` uint32[2**t + 1] as above; `default`: the weight, in units,
    of a feature that is not there; `document_count`: of how many documents it was made;
    `settings`: those options of the sketch that decide what a feature is, which a sketch that
    uses the table must share.
    """

    entries: npt.NDArray[np.uint64]
    directory: npt.NDArray[np.uint32]
    default: int
    document_count: int
    settings: Mapping[str, Any]

    def __len__(self) -> int:
        """Number of features."""
        return len(self.entries)

    @property
    def size_bytes(self) -> int:
        """Bytes of the entries and the directory."""
        return self.entries.nbytes + self.directory.nbytes

    def __eq__(self, other: object) -> bool:
        """Whether both weigh every feature alike."""
        if not isinstance(other, IdfTable):
            return NotImplemented
        same = self.default == other.default and dict(self.settings) == dict(other.settings)
        return same and bool(np.array_equal(self.entries, other.entries))

    def __hash__(self) -> int:
        """By size and default."""
        return hash((len(self.entries), self.default, self.document_count))

    def __repr__(self) -> str:
        """Its size in words."""
        return f"<IdfTable of {len(self)} features of {self.document_count} documents>"

    def weights(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """The weight ln((1 + N) / (1 + df)) + 1 of each feature: float32[n], to 1/1024."""
        tags = hashes >> np.uint64(WEIGHT_BITS)
        at = np.searchsorted(self.entries >> np.uint64(WEIGHT_BITS), tags)
        at = np.minimum(at, max(0, len(self.entries) - 1))
        units = np.full(len(hashes), self.default, np.uint64)
        if len(self.entries):
            found = self.entries[at]
            is_there = found >> np.uint64(WEIGHT_BITS) == tags
            units[is_there] = found[is_there] & np.uint64(WEIGHT_MASK)
        return (units * WEIGHT_UNIT).astype(np.float32)


def directory_bits(count: int) -> int:
    """t of the directory of a table of `count` features."""
    return max(0, (count // SLOT_ENTRIES).bit_length())
