"""Shelf: what a database of many documents must hold and answer, by arrays in place of loops.

A document has a place, in the order of insertion.  A deleted document keeps its place.  Arrays are
replaced and never changed, so a copy of a shelf costs little.
"""

import copy

import numpy as np
from oracle import COSINES, ERROR_FLOAT32, ROUNDED

import simdb
from expected import Entry, Expected

EMPTY, BARE, WEIGHTED = 0, 1, 2
MEASURED = 1 << 16  # documents at a time, to bound memory
STEP = 0.335  # of a stored weight, in root mean squares
COLUMNS = ("bits", "rows", "kinds", "ranks", "times", "is_live")


class Shelf:
    """The documents of a database and the right answers of queries for them.

    `rows`: int8[n, dimensions] stored weights, or the minima; `kinds`: EMPTY, BARE or WEIGHTED;
    `ranks`: the metadata {"rank": number}, or -1 for none; `times`: seconds; `is_live`: bool[n].
    """

    bounds, recall_of = Expected.bounds, Expected.recall_of

    def __init__(self, options, tally):
        self.options, self.tally = options, tally
        self.is_minhash = isinstance(options.sketch, simdb.Minhash)
        self.ids, self.places = [], {}
        nothing = self.sketched([])
        empty = np.zeros(0, np.int64)
        self.bits, self.rows, self.kinds = nothing
        self.ranks, self.times, self.is_live = empty, empty, empty.astype(bool)

    def copy(self):
        made = copy.copy(self)
        made.ids, made.places = list(self.ids), dict(self.places)
        return made

    def __len__(self):
        return len(self.places)

    def sketched(self, documents):
        """Return what a database keeps of texts, or of whole numbers: bits, rows and kinds."""
        sketch, count = self.options.sketch, len(documents)
        if self.is_minhash:
            made = simdb.signatures(documents, sketch)
            return (
                np.zeros(count, np.uint64),
                made.minima,
                np.where(made.is_empty, EMPTY, WEIGHTED),
            )
        if documents and isinstance(documents[0], int):
            bits, rows = (
                np.array(documents, np.uint64),
                np.zeros((count, sketch.dimensions), np.int8),
            )
            return bits, rows, np.full(count, BARE)
        made = simdb.fingerprints(documents, sketch)
        return made.bits, stored_weights(made.weights), np.where(made.is_empty(), EMPTY, WEIGHTED)

    def insert(self, ids, documents, ranks, now):
        """Put documents at the end; those with the same ids are replaced."""
        self.delete([id for id in ids if id in self.places])
        bits, rows, kinds = self.sketched(documents)
        size = len(ids)
        added = (bits, rows, kinds, ranks, np.full(size, now), np.ones(size, bool))
        self.places |= dict(zip(ids, range(len(self.ids), len(self.ids) + size), strict=True))
        self.ids = self.ids + list(ids)
        for name, more in zip(COLUMNS, added, strict=True):
            setattr(self, name, np.concatenate([getattr(self, name), more]))

    def delete(self, ids):
        self.is_live = self.is_live.copy()
        self.is_live[[self.places.pop(id) for id in ids]] = False

    def delete_places(self, chosen):
        """Delete the live documents of bool[n] `chosen`; return their number."""
        gone = np.flatnonzero(chosen & self.is_live)
        self.delete([self.ids[place] for place in gone])
        return len(gone)

    def renew(self, name, ids, value):
        """Set a column of some documents."""
        column = getattr(self, name).copy()
        column[[self.places[id] for id in ids]] = value
        setattr(self, name, column)

    def live_ids(self):
        return [self.ids[place] for place in np.flatnonzero(self.is_live)]

    def ages(self, ids):
        """Return the place of each of `ids`."""
        return [self.places[id] for id in ids]

    def entries(self, documents):
        """Return an `Entry` of each document."""
        bits, rows, kinds = self.sketched(documents)
        return [
            self.entry_of(*each) for each in zip(bits.tolist(), rows, kinds.tolist(), strict=True)
        ]

    def entry(self, id):
        place = self.places[id]
        return self.entry_of(int(self.bits[place]), self.rows[place], self.kinds[place])

    def entry_of(self, bits, row, kind):
        if kind == EMPTY:
            return Entry(None)
        if self.is_minhash:
            return Entry(0, minima=row)
        return Entry(bits, row if kind == WEIGHTED else None)

    def distances(self, entry):
        """Return the distance of an entry and every document."""
        if not self.is_minhash:
            return np.bitwise_count(self.bits ^ np.uint64(entry.bits)).astype(np.int64)
        return np.minimum((self.rows != entry.minima).sum(axis=1), 255)

    def measures(self, entry):
        """Return whether a document is compared by similarity, not by distance only."""
        return self.is_minhash or (
            entry.vector is not None and self.options.sketch.store_volatility
        )

    def similarities(self, entry, places):
        """Return the similarity of an entry and the documents at some places; NaN for none."""
        found = np.full(len(places), np.nan)
        if self.is_minhash:
            agreeing = (self.rows[places] == entry.minima).sum(axis=1) / self.rows.shape[1]
            chance = 1 / 256 if self.options.sketch.stored_bits == 8 else 0
            return np.maximum((agreeing - chance) / (1 - chance), 0)
        if not self.measures(entry):
            return found
        vector = entry.vector.astype(np.float64)
        for start in range(0, len(places), MEASURED):
            part = places[start : start + MEASURED]
            rows = self.rows[part].astype(np.float32)
            norms = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
            dots = (rows @ vector.astype(np.float32)).astype(np.float64)
            with np.errstate(invalid="ignore"):
                cosines = dots / np.sqrt(norms * (vector @ vector))
            corrected = np.interp(np.abs(cosines), ROUNDED, COSINES)
            found[start : start + MEASURED] = np.copysign(corrected, cosines)
        found[self.kinds[places] != WEIGHTED] = np.nan
        return found

    def matching(self, entry, ask):
        """Return places, distances and similarities of all matches of an entry."""
        similarity, distance = self.bounds(ask, entry)
        distances = self.distances(entry)
        chosen = self.is_live & (self.kinds != EMPTY)
        if distance is not None:
            chosen &= distances <= distance
        places = np.flatnonzero(chosen)
        similarities = self.similarities(entry, places)
        if similarity is not None:
            within = similarities >= similarity - ERROR_FLOAT32
            places, similarities = places[within], similarities[within]
        return places, distances[places], similarities

    def matches(self, entry, ask, *, without=None, before=None, rank=None):
        """Return {id: (distance, similarity)} of all matches, and the ids of uncertain matches.

        `without`: an id to leave out; `before`: only documents at lower places; `rank`: only
        documents with this rank.
        """
        if entry.bits is None:
            return {}, set()
        found, near = {}, set()
        bound, _ = self.bounds(ask, entry)
        for place, distance, alike in zip(*self.matching(entry, ask), strict=True):
            id = self.ids[place]
            is_in = (before is None or place < before) and (
                rank is None or self.ranks[place] == rank
            )
            if not is_in or (without is not None and id == without):
                continue
            known = None if np.isnan(alike) else float(alike)
            found[id] = int(distance), known
            if bound is not None and known <= bound + ERROR_FLOAT32:
                near.add(id)
        return found, near

    def connected(self, id, ask):
        """Return the ids of all documents that a chain of matches connects with a document.

        Also return whether a match on the way is uncertain.
        """
        reached, waiting, seen, is_near = {self.places[id]}, [self.places[id]], set(), False
        while waiting:
            place = waiting.pop()
            sketch = int(self.bits[place]), self.rows[place].tobytes()
            if sketch in seen or self.kinds[place] == EMPTY:
                continue
            seen.add(sketch)
            entry = self.entry(self.ids[place])
            places, _, similarities = self.matching(entry, ask)
            bound, _ = self.bounds(ask, entry)
            is_near |= bound is not None and bool((similarities <= bound + ERROR_FLOAT32).any())
            waiting += set(places.tolist()) - reached
            reached |= set(places.tolist())
        return [self.ids[place] for place in sorted(reached)], is_near


def stored_weights(weights):
    """Return weights as they are stored: odd whole numbers from -15 to 15, int8[n, dimensions]."""
    made = np.zeros(weights.shape, np.int8)
    for start in range(0, len(weights), MEASURED):
        part = weights[start : start + MEASURED].astype(np.float64)
        sizes = np.sqrt(np.einsum("ij,ij->i", part, part) / part.shape[1])
        scales = np.divide(1, STEP * sizes, out=np.zeros(len(part)), where=sizes > 0)
        levels = np.clip(np.floor(part * scales[:, None]) + 8, 0, 15)
        made[start : start + MEASURED] = 2 * levels - 15
    return made
