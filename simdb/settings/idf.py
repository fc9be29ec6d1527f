"""IDF tables: the weights of features, larger for features that fewer documents have.

A feature that df of N documents have weighs ln((1 + N) / (1 + df)) + 1.  A table is fitted once and
never changes; otherwise fingerprints made before and after a change would not agree.  A feature
that is not in the table weighs as if one document had it, so features with df = 1 are left out.

A table is one sorted column, which is read in place; a look-up touches one cache line:

    entries uint64[n]: the feature's hash, its 16 lowest bits replaced by its weight
    directory uint32[2**t + 1]: the first entry with each value of the t highest bits

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
# The mean number of entries for each slot of the directory: a cache line holds 8.
SLOT_ENTRIES = 4


def idf_weight(document_count: int, frequency: int) -> int:
    """Compute the weight, in units, of a feature in `frequency` of `document_count` documents."""
    return round((math.log((1 + document_count) / (1 + frequency)) + 1) / WEIGHT_UNIT)


@dataclass(frozen=True, slots=True, eq=False)
class IdfTable:
    """A frozen table of inverse document frequencies; made by `simdb.fit_idf`.

    `entries` uint64[n] and `directory` uint32[2**t + 1]: the sorted column and its directory.
    `default`: the weight, in units of 1/1024, of a feature that is not in the table.
    `document_count`: the number of documents to which the table was fitted.  `settings`: the
    options that decide what a feature is; a sketch that uses the table must have the same.
    """

    entries: npt.NDArray[np.uint64]
    directory: npt.NDArray[np.uint32]
    default: int
    document_count: int
    settings: Mapping[str, Any]

    def __len__(self) -> int:
        """Count the features in the table."""
        return len(self.entries)

    @property
    def size_bytes(self) -> int:
        """The bytes of the entries and the directory."""
        return self.entries.nbytes + self.directory.nbytes

    def __eq__(self, other: object) -> bool:
        """Whether both tables give every feature the same weight."""
        if not isinstance(other, IdfTable):
            return NotImplemented
        same = self.default == other.default and dict(self.settings) == dict(other.settings)
        return same and bool(np.array_equal(self.entries, other.entries))

    def __hash__(self) -> int:
        """Hash the size and the default weight."""
        return hash((len(self.entries), self.default, self.document_count))

    def __repr__(self) -> str:
        """Describe the table by its size."""
        return f"<IdfTable of {len(self)} features of {self.document_count} documents>"

    def weights(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Give the weight ln((1 + N) / (1 + df)) + 1 of each feature, to 1/1024: float32[n]."""
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
    """Compute t, the bits of the directory of a table of `count` features."""
    return max(0, (count // SLOT_ENTRIES).bit_length())
