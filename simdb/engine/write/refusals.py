"""Refusals: which stored documents one call has matched, by the fingerprints that it refused.

Tables find a share of the matches, and comparing one by one finds all of them.  So a call can
refuse a document while its match is in the delta, and miss the same match for an equal document
after the delta was sealed.  The call remembers what it has refused: a document with an equal sketch
is compared with the match that was found before.
"""

import numpy as np
import numpy.typing as npt

from simdb.running import kernel
from simdb.values.arrays import offsets_of, sorted_unique

# An array is joined with the one before it unless that is so many times larger.
GROWTH = 2
# Of the matches that documents with one fingerprint had, so many are taken.
LEADERS_MOST = 64

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


class Refusals:
    """The fingerprints that one call has refused, and the ordinals of their matches."""

    def __init__(self) -> None:
        """Begin without any."""
        # Sorted by fingerprint, then by ordinal, each pair once in each part.
        self._parts: list[tuple[U64, U32]] = []

    def note(self, fingerprints: U64, ordinals: U32) -> None:
        """Remember refused documents, and for each the stored document that it matches."""
        if not len(fingerprints):
            return
        part = _sorted(fingerprints, ordinals)
        while self._parts and len(self._parts[-1][0]) < GROWTH * len(part[0]):
            last = self._parts.pop()
            part = _sorted(np.concatenate([last[0], part[0]]), np.concatenate([last[1], part[1]]))
        self._parts.append(part)

    def leaders(self, fingerprints: U64) -> tuple[I64, U32]:
        """Return which of the documents have a fingerprint that was refused, and its matches.

        Positions and ordinals ascend, each once.
        """
        queries, ordinals = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
        # In order, so that neighbours are found in the same place.
        order = np.arange(len(fingerprints), dtype=np.uint32)
        fingerprints = fingerprints.copy()
        kernel.sort(fingerprints, order)
        for known, leaders in self._parts:
            starts = np.searchsorted(known, fingerprints)
            found = np.flatnonzero(known[np.minimum(starts, len(known) - 1)] == fingerprints)
            if len(found):
                starts = starts[found]
                stops = np.searchsorted(known, fingerprints[found], side="right")
                counts = np.minimum(stops - starts, LEADERS_MOST)
                offsets = offsets_of(counts)
                places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], counts)
                queries.append(order[found].astype(np.int64))
                ordinals.append(leaders[places])
        return sorted_unique(np.concatenate(queries)), sorted_unique(np.concatenate(ordinals))


def _sorted(fingerprints: U64, ordinals: U32) -> tuple[U64, U32]:
    """Return pairs by fingerprint, then by ordinal, each once."""
    places = np.arange(len(ordinals), dtype=np.uint32)
    kernel.sort(ordinals.astype(np.uint64), places)
    fingerprints, ordinals = fingerprints[places], ordinals[places]
    kernel.sort(fingerprints, ordinals)
    is_other = np.ones(len(places), np.bool_)
    is_other[1:] = (fingerprints[1:] != fingerprints[:-1]) | (ordinals[1:] != ordinals[:-1])
    return fingerprints[is_other], ordinals[is_other]
