"""Bits kind: a database of ready hashes of other than 64 bits, with tables of their parts.

`plan/parts.py` has the tables.  The stored vector of a document is its whole hash, and its
fingerprint a hash of that, so that equal hashes have equal fingerprints.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Fingerprint, Sketches, is_first, offsets_of
from simdb.core.dtypes import F32, I64, U8, U16, U32
from simdb.core.options import Options
from simdb.database.state.crowds import HeaderCrowds
from simdb.database.state.view import HASHES, View
from simdb.plan import Criterion, HashParts, HashPopulation
from simdb.storage import NO_DOCUMENTS, Bitmap, DeltaView, Source, header_bits

if TYPE_CHECKING:
    from simdb.core.documents import Signature


class HashVectors:
    """Whole hashes by ordinal, with the methods of `kernel.Vectors` that serve any kind.

    No two hashes have a similarity: it is NaN.
    """

    def __init__(self, vectors: Any) -> None:
        """Take the kernel's `vectors`."""
        self.hashes = vectors
        self.gather = vectors.gather

    def followed_by(self, first: int, vectors: U8) -> "HashVectors":
        """Return the same segments and one more, from the ordinal `first` on."""
        return HashVectors(self.hashes.followed_by(first, vectors))

    def similarity(self, queries: U8, offsets: I64, ordinals: U32) -> F32:
        """Return NaN for each of `ordinals`."""
        return np.full(len(ordinals), np.nan, np.float32)

    def between(self, left: U32, right: U32) -> F32:
        """Return NaN for each pair."""
        return np.full(len(left), np.nan, np.float32)


class Reached(NamedTuple):
    """How far a search goes: the flips of each table, the limit of each part, and of the whole."""

    flips: tuple[int, ...]
    limits: list[int]
    distance: int


class PartTables:
    """The tables of all parts of one state, ready for look-up."""

    def __init__(
        self, keying: HashParts, tables: Sequence[Any], delta: DeltaView, dead: Bitmap | None
    ) -> None:
        """`tables`: the kernel's tables of each part, without a delta."""
        self._keying = keying
        words = np.ascontiguousarray(delta.searchable.reshape(-1, len(tables)).T)
        pairs = zip(tables, words, strict=True)
        self._tables = [table.over((own, delta.ordinals), dead) for table, own in pairs]

    def search(
        self, hashes: U8, vectors: Any, reached: Reached, after: U32 | None
    ) -> tuple[I64, U32, U16]:
        """Return the offsets, ordinals and distances of the matches of each query, nearest first.

        `vectors(ordinals)` returns the stored hashes, as `HashVectors`.
        """
        found = [np.empty(0, np.uint64)]
        for part, words in enumerate(self._keying.words(hashes)):
            limit, flips = reached.limits[part], reached.flips[self._keying.tables_of(part)]
            if limit < 0:
                continue
            offsets, ordinals, _ = self._tables[part].lookup(
                words, distance=limit, flips=flips, first=0, after=after
            )
            queries = np.repeat(np.arange(len(hashes), dtype=np.uint64), np.diff(offsets))
            found.append(queries << np.uint64(32) | ordinals)
        couples = np.concatenate(found)
        kernel.sort(couples)
        couples = couples[is_first(couples)]
        queries, ordinals = (couples >> np.uint64(32)).astype(np.int64), couples.astype(np.uint32)
        starts = offsets_of(np.bincount(queries, minlength=len(hashes)))
        distances = vectors(ordinals).hashes.differing(hashes, starts, ordinals)
        near = np.flatnonzero(distances <= reached.distance)
        order = near[np.lexsort((distances[near], queries[near]))]
        counts = np.bincount(queries[order], minlength=len(hashes))
        return offsets_of(counts), ordinals[order], distances[order]

    def candidates_of(self, hash: U8, reached: Reached, most: int) -> U32 | None:
        """Return the candidates of one query uint8[1, width], ascending.

        None if a part has more than `most`.
        """
        found: set[int] = set()
        for part, word in enumerate(self._keying.words(hash)[:, 0].tolist()):
            limit, flips = reached.limits[part], reached.flips[self._keying.tables_of(part)]
            if limit < 0:
                continue
            own = self._tables[part].lookup_one(word, limit, flips, 0, most)
            if own is None:
                return None
            found.update(ordinal for ordinal, _ in own)
        return np.array(sorted(found), np.uint32)


class BitsKind:
    """The kind of a database whose options name `Bits` that no fingerprint can hold."""

    stores = HASHES
    equal_option = "--distance 0"
    cut = None

    def __init__(self, options: Options) -> None:
        """Take the parts from the options."""
        self.keying = HashParts(options)
        self.masks = self.keying.masks
        near = options.distance * max(self.keying.sizes) // options.bits
        self._crowds = HeaderCrowds(self.masks, near)
        self._options = options

    def make_vectors(self, width: int, segments: Sequence[tuple[int, U8]]) -> Any:
        """Return an object that gives whole hashes."""
        return HashVectors(kernel.Vectors(width, segments))

    def make_tables(self, view: View, source: Source) -> Any:
        """Return the tables of all parts, ready for look-up."""
        sealed, keying = view.sealed, self.keying
        if sealed.tables is None:
            runs = [] if sealed.is_segment else sealed.runs
            windows = sealed.windows if runs else None
            sealed.tables = []
            for part in range(len(keying.sizes)):
                own = range(keying.table_count)[keying.tables_of(part)]
                tables = [[run.table(number, source).searched for number in own] for run in runs]
                masks = [self.masks[number] for number in own]
                sealed.tables.append(kernel.Tables(masks, tables, NO_DOCUMENTS, None, windows))
        return PartTables(keying, sealed.tables, view.delta, view.dead)

    def population(
        self, view: View, source: Source, criterion: Criterion, *, is_swept: bool
    ) -> HashPopulation:
        """Return what the planner must know of a view; `is_swept`: to find all pairs."""
        counts = [run.info.entry_count for run in view.runs]
        crowds, near = self._crowds.and_near(view, source).T.tolist()
        return HashPopulation(
            sum(counts) + len(view.delta.searchable),
            self.keying,
            header_bits(max(counts, default=0), source.header_offset),
            source.width,
            is_swept,
            crowds=tuple(crowds),
            near=tuple(near),
        )

    def empty_population(self, *, has_weights: bool) -> HashPopulation:
        """Return what the planner must know of an empty database."""
        return HashPopulation(0, self.keying, 0, self._options.sketch.vector_bytes)

    def shown(self, similarities: F32) -> F32:
        """Return the similarities, which are unknown."""
        return similarities

    def shown_one(self, similarity: float | None) -> float | None:
        """Return None, since hashes have no similarity."""
        return None

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the stored hash at position `at`."""
        whole = int.from_bytes(sketches.vectors[at].tobytes(), "big")
        return Fingerprint(whole, size=self.keying.bits)

    def signature_of(self, sketches: Sketches, at: int) -> "Signature | None":
        """Return None, since hashes are stored and no signatures."""
        return None
