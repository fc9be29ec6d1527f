"""Bits kind: a database of ready hashes of other than 64 bits, with tables of their parts.

`plan/parts.py` defines the tables.  The stored vector of a document is its whole hash, and its
fingerprint is a hash of that, so that equal hashes have equal fingerprints.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import Fingerprint, Sketches, is_first, offsets_of
from simdb.core.dtypes import I64, U8, U16, U32, U64
from simdb.core.options import Options
from simdb.core.reports import Plan
from simdb.database.state.crowds import HeaderCrowds
from simdb.database.state.view import HASHES, Kind, View
from simdb.plan import Criterion, HashParts, HashPopulation
from simdb.storage import ANY_CODE, DeltaView, LeftOut, Source, header_bits


class PartTables:
    """The tables of all parts of one state, ready for look-up."""

    def __init__(
        self, keying: HashParts, tables: Sequence[Any], delta: DeltaView, left_out: LeftOut
    ) -> None:
        """`tables`: the kernel's tables of each part, without a delta."""
        self._keying = keying
        words = np.ascontiguousarray(delta.searchable.reshape(-1, len(tables)).T)
        pairs = zip(tables, words, strict=True)
        self._tables = [table.over((own, delta.ordinals), left_out) for table, own in pairs]
        # Documents that the tables of the parts do not omit yet.
        self._left_out: LeftOut = None

    def leaving(self, left_out: LeftOut) -> "PartTables":
        """Return these tables without the documents in `left_out`."""
        other = copy(self)
        other._left_out = left_out
        return other

    def search(
        self, hashes: U8, vectors: Any, plan: Plan, after: U32 | None
    ) -> tuple[I64, U32, U16]:
        """Return the offsets, ordinals and distances of the matches of each query, nearest first.

        `vectors(ordinals)` returns the stored hashes.
        """
        found = [np.empty(0, np.uint64)]
        for tables, words, limit, flips in self._looked_up(hashes, plan):
            if self._left_out is not None:
                tables = tables.leaving(self._left_out)
            offsets, ordinals, _ = tables.lookup(
                words, distance=limit, flips=flips, first=0, after=after
            )
            queries = np.repeat(np.arange(len(hashes), dtype=np.uint64), np.diff(offsets))
            found.append(queries << np.uint64(32) | ordinals)
        couples = np.concatenate(found)
        kernel.sort(couples)
        couples = couples[is_first(couples)]
        queries, ordinals = (couples >> np.uint64(32)).astype(np.int64), couples.astype(np.uint32)
        starts = offsets_of(np.bincount(queries, minlength=len(hashes)))
        distances = vectors(ordinals).differing(hashes, starts, ordinals)
        near = np.flatnonzero(distances <= plan.distance)
        order = near[np.lexsort((distances[near], queries[near]))]
        counts = np.bincount(queries[order], minlength=len(hashes))
        return offsets_of(counts), ordinals[order], distances[order]

    def candidates_of(self, hash: U8, plan: Plan, most: int, left_out: LeftOut) -> U32 | None:
        """Return the candidates of one query uint8[1, width], ascending, except `left_out`.

        Returns None if a part has more than `most` candidates.
        """
        found: set[int] = set()
        for tables, words, limit, flips in self._looked_up(hash, plan):
            own = tables.lookup_one(int(words[0]), limit, flips, 0, most)
            if own is None:
                return None
            found.update(ordinal for ordinal, _ in own)
        if isinstance(left_out, tuple):  # the tables already omit deleted documents
            _, codes, wanted = left_out
            for field, code in enumerate(wanted.tolist()):
                if code != ANY_CODE:  # for few candidates, faster than an array
                    found = {each for each in found if codes.item(each, field) == code}
        return np.array(sorted(found), np.uint32)

    def _looked_up(self, hashes: U8, plan: Plan) -> Iterator[tuple[Any, U64, int, tuple[int, ...]]]:
        """Yield the tables, words, limit and flips of each part that is looked up."""
        words = self._keying.words(hashes)
        for part, (tables, limit) in enumerate(zip(self._tables, plan.part_limits, strict=True)):
            if limit >= 0:
                flips = plan.table_flips[self._keying.tables_of(part)]
                yield tables, words[part], limit, flips


class BitsKind(Kind):
    """The kind of a database whose options name `Bits` of another size than fingerprints."""

    stores = HASHES
    keying: HashParts

    def __init__(self, options: Options) -> None:
        """Take the parts from the options."""
        self.keying = HashParts(options)
        self.masks = self.keying.masks
        near = options.distance * max(self.keying.sizes) // options.bits
        self._crowds = HeaderCrowds(self.masks, near)
        self._options = options

    def make_tables(self, view: View, source: Source) -> Any:
        """Return the tables of all parts, ready for look-up."""
        sealed, keying = view.sealed, self.keying
        found = sealed.tables
        if found is None:
            parts = map(keying.tables_of, range(len(keying.sizes)))
            found = [sealed.searched(source, self.masks[own], own.start) for own in parts]
            sealed.tables = found
        return PartTables(keying, found, view.delta, view.dead)

    def population(
        self, view: View, source: Source, criterion: Criterion, *, is_swept: bool
    ) -> HashPopulation:
        """Return the planner's description of a view; `is_swept`: for a search of all pairs."""
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
        """Return the planner's description of an empty database."""
        return HashPopulation(0, self.keying, 0, self._options.sketch.vector_bytes)

    def fingerprint_of(self, sketches: Sketches, at: int) -> Fingerprint:
        """Return the stored hash at position `at`."""
        whole = int.from_bytes(sketches.vectors[at].tobytes(), "big")
        return Fingerprint(whole, size=self.keying.bits)
