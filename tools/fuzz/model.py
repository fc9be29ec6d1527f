"""Model: computes the right answers of a database by comparing a document with all others.

A document has a place, in the order of insertion.  A deleted document keeps its place.  Arrays are
replaced and never changed, so a copy of a model costs little.

`ask` is a dict of what a query asks for: similarity, distance, recall, method.  At recall 1 an
answer must have all matches.  Below, an answer may lack some; `Tally` counts them.
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from oracle import COSINES, ERROR_FLOAT32, ROUNDED

import simdb
from drawn import BARE, EMPTY, WEIGHTED
from drawn_hashes import hash_of
from simdb.sketch.winnowing import Winnower

MEASURED = 1 << 16  # documents at a time, to bound memory
STEP = 0.335  # of a stored weight, in root mean squares


@dataclass(frozen=True)
class Entry:
    """A document: `bits`, None without features, and a `row` of weights or minima, or None."""

    bits: int | None
    row: Any = None


class Model:
    """The documents of a database and the right answers of queries for them.

    `rows`: stored weights int8[n, dimensions], minima, or the bytes of hashes, which are BARE.
    `kinds`: EMPTY, BARE or WEIGHTED.  `times`: seconds.  `is_live`: bool[n].  Lists are `metadata`,
    `grains` (hashes of the chosen n-grams, if stored) and `texts` (if stored).
    """

    def __init__(self, options, tally):
        self.options, self.tally = options, tally
        self.is_minhash = isinstance(options.sketch, simdb.Minhash)
        self.is_hashes = isinstance(options.sketch, simdb.Bits)
        self.is_simhash = not self.is_minhash and not self.is_hashes
        self.ids, self.places, self.metadata, self.grains, self.texts = [], {}, [], [], []
        self.bits, self.rows, self.kinds = self.sketched([])
        self.times, self.is_live = np.zeros(0, np.int64), np.zeros(0, bool)

    def copy(self):
        made = copy.copy(self)
        made.ids, made.places = list(self.ids), dict(self.places)
        return made

    def __len__(self):
        return len(self.places)

    def sketched(self, documents):
        """Return what a database keeps of texts and of whole numbers: bits, rows and kinds."""
        sketch, count = self.options.sketch, len(documents)
        if self.is_minhash:
            made = simdb.signatures(documents, sketch)
            kinds = np.where(made.is_empty, EMPTY, WEIGHTED)
            return np.zeros(count, np.uint64), made.minima, kinds
        if self.is_hashes:
            content = b"".join(hash_of(each, sketch.bits) for each in documents)
            rows = np.frombuffer(content, np.uint8).reshape(count, sketch.bits // 8)
            return np.zeros(count, np.uint64), rows, np.full(count, BARE)
        texts = [at for at, each in enumerate(documents) if not isinstance(each, int)]
        bits = np.array([each if isinstance(each, int) else 0 for each in documents], np.uint64)
        rows, kinds = np.zeros((count, sketch.dimensions), np.int8), np.full(count, BARE)
        made = simdb.fingerprints([documents[at] for at in texts], sketch)
        bits[texts], rows[texts] = made.bits, stored_weights(made.weights)
        kinds[texts] = np.where(made.is_empty(), EMPTY, WEIGHTED)
        return bits, rows, kinds

    def insert(self, ids, documents, metadata, now):
        """Put documents at the end; documents with the same ids are replaced."""
        self.delete([id for id in ids if id in self.places])
        size = len(ids)
        added = dict(zip(("bits", "rows", "kinds"), self.sketched(documents), strict=True))
        added |= {"times": np.full(size, now), "is_live": np.ones(size, bool)}
        self.places |= dict(zip(ids, range(len(self.ids), len(self.ids) + size), strict=True))
        self.ids = self.ids + list(ids)
        self.metadata = self.metadata + list(metadata)
        if self.options.texts:
            self.texts = self.texts + [
                each if isinstance(each, str) else None for each in documents
            ]
        if self.options.passages:
            self.grains = self.grains + [self.grains_of(text) for text in documents]
        for name, more in added.items():
            setattr(self, name, np.concatenate([getattr(self, name), more]))

    @property
    def estimating(self):
        """The argument that leaves decisions to estimates, as the model makes them."""
        return {"verify": "estimate"} if self.options.texts else {}

    def delete(self, ids):
        """Delete stored documents."""
        self.is_live = self.is_live.copy()
        self.is_live[[self.places.pop(id) for id in ids]] = False

    def delete_of(self, rank, before=None):
        """Delete the documents of a rank, or only older ones; return their number."""
        gone = [
            id
            for id, at in self.places.items()
            if rank_of(self.metadata[at]) == rank and (before is None or self.times[at] < before)
        ]
        self.delete(gone)
        return len(gone)

    def see(self, ids, now):
        """Renew the times of documents that were found again, if such times are kept."""
        if self.options.keep_times == "seen":
            self.times = self.times.copy()
            self.times[[self.places[id] for id in ids]] = now

    def describe(self, id, metadata):
        """Replace the metadata of a document."""
        self.metadata = list(self.metadata)
        self.metadata[self.places[id]] = metadata

    def live_ids(self):
        return [self.ids[place] for place in np.flatnonzero(self.is_live)]

    def entries(self, documents):
        """Return an `Entry` of each document."""
        bits, rows, kinds = self.sketched(documents)
        every = zip(bits.tolist(), rows, kinds.tolist(), strict=True)
        return [self.entry_of(*each) for each in every]

    def entry(self, id):
        place = self.places[id]
        return self.entry_of(int(self.bits[place]), self.rows[place], self.kinds[place])

    def entry_of(self, bits, row, kind):
        bits = int.from_bytes(row.tobytes(), "big") if self.is_hashes else bits
        return Entry(None if kind == EMPTY else bits, row if kind == WEIGHTED else None)

    def grains_of(self, text):
        """Return the hashes of the n-grams of a text that are chosen."""
        made = Winnower(self.options.sketch).grains([text], errors="strict")
        return frozenset(made.values.tolist())

    def contained(self, grains, least, *, without=None):
        """Return the share of some grains that each document has, where it is at least `least`."""
        shares = {
            key(id): len(grains & self.grains[at]) / max(len(grains), 1)
            for id, at in self.places.items()
            if id != without
        }
        return {id: share for id, share in shares.items() if share >= least and share > 0}

    def bounds(self, ask, entry):
        """Return the (similarity, distance) that a query by `entry` means."""
        similarity, distance = ask.get("similarity"), ask.get("distance")
        if similarity is None and distance is None:
            if entry.row is not None and self.options.sketch.vector_bytes:
                return self.options.similarity, None
            return None, self.options.distance
        return similarity, distance

    def recall_of(self, ask):
        """Return the recall promised; 0 if a named method may find less, as its plan says."""
        method, recall = ask.get("search"), ask.get("recall") or self.options.recall
        if method == "exhaustive" and (self.is_minhash or ask.get("similarity") is None):
            return 1.0  # by similarity, signs are compared before weights
        is_bound = recall == 1.0 or self.is_hashes
        is_bound |= method == "bphs" and ask.get("similarity") is None
        return recall if is_bound or method not in ("bphs", "rotation", "banding") else 0.0

    def distances(self, entry):
        """Return the distance of an entry and every document."""
        if self.is_hashes:
            own = np.frombuffer(entry.bits.to_bytes(self.rows.shape[1], "big"), np.uint8)
            return np.bitwise_count(self.rows ^ own).sum(axis=1)
        if self.is_simhash:
            return np.bitwise_count(self.bits ^ np.uint64(entry.bits)).astype(np.int64)
        return np.minimum((self.rows != entry.row).sum(axis=1), 255)

    def distances_between(self, left, right):
        """Return the distances of documents at some places."""
        if self.is_hashes:
            return np.bitwise_count(self.rows[left] ^ self.rows[right]).sum(axis=1)
        return np.bitwise_count(self.bits[left] ^ self.bits[right])

    def measures(self, entry):
        """Return whether a document is compared by similarity, not by distance only."""
        return entry.row is not None and (self.is_minhash or self.options.sketch.store_volatility)

    def similarities(self, entry, places):
        """Return the similarity of an entry and the documents at some places; NaN for none."""
        found = np.full(len(places), np.nan)
        if not self.measures(entry):
            return found
        if self.is_minhash:
            agreeing = (self.rows[places] == entry.row).sum(axis=1) / self.rows.shape[1]
            bits = self.options.sketch.stored_bits
            chance = 1 / 2**bits if bits < 32 else 0
            return np.maximum((agreeing - chance) / (1 - chance), 0)
        vector = entry.row.astype(np.float32)
        for start in range(0, len(places), MEASURED):
            rows = self.rows[places[start : start + MEASURED]].astype(np.float32)
            # Whole numbers below 2^24: sums of their products are exact.
            norms = np.einsum("ij,ij->i", rows, rows, dtype=np.float64) * float(vector @ vector)
            with np.errstate(invalid="ignore"):
                cosines = (rows @ vector).astype(np.float64) / np.sqrt(norms)
            corrected = np.interp(np.abs(cosines), ROUNDED, COSINES)
            found[start : start + MEASURED] = np.copysign(corrected, cosines)
        found[self.kinds[places] != WEIGHTED] = np.nan
        # Of sets of features it is Jaccard's, for sets of one size.
        return found / (2 - found) if self.options.sketch.weighting == "binary" else found

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

        A match is uncertain if its similarity differs from the bound by rounding only.  `without`:
        an id to exclude.  `before`: only documents at lower places.  `rank`: only of this rank.
        """
        if entry.bits is None:
            return {}, set()
        found, near = {}, set()
        bound, _ = self.bounds(ask, entry)
        for place, distance, alike in zip(*self.matching(entry, ask), strict=True):
            id = self.ids[place]
            is_in = (before is None or place < before) and (without is None or id != without)
            if is_in and (rank is None or rank_of(self.metadata[place]) == rank):
                found[id] = int(distance), None if np.isnan(alike) else float(alike)
                if bound is not None and alike <= bound + ERROR_FLOAT32:
                    near.add(id)
        return found, near

    def pairs(self, ask):
        """Return the (older id, newer id) of all pairs, and whether a pair is uncertain."""
        found, is_near = [], False
        for id, place in self.places.items():
            entry = self.entry(id)
            if entry.row is not None or ask.get("similarity") is None:
                matches, near = self.matches(entry, ask, before=place)
                found += [(other, id) for other in matches]
                is_near |= bool(near)
        return found, is_near

    def connected(self, id, ask):
        """Return the ids of all documents that a chain of matches connects with a document.

        Also return whether a match on the way is uncertain.
        """
        reached, waiting, seen, is_near = {self.places[id]}, [self.places[id]], set(), False
        while waiting:
            place = waiting.pop()
            sketch = int(self.bits[place]), int(self.kinds[place]), self.rows[place].tobytes()
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

    def ranking(self, entry, rank):
        """Return the distances or negative similarities of all documents, of a rank or of all."""
        if entry.bits is None:
            return []
        places = np.flatnonzero(self.is_live & (self.kinds != EMPTY))
        if rank is not None:
            places = places[[rank_of(self.metadata[at]) == rank for at in places]]
        if self.measures(entry):
            costs = -self.similarities(entry, places)
        else:
            costs = self.distances(entry)[places].astype(float)
        return np.sort(costs[~np.isnan(costs)]).tolist()


def rank_of(metadata):
    return metadata.get("rank") if isinstance(metadata, dict) else None


def where_of(options, rank, chance):
    """Return the argument for the documents of a rank: a function, or values of fields."""
    if "rank" in options.fields and chance.random() < 0.7:
        return {"rank": rank}
    return lambda data: rank_of(data) == rank


def key(id):
    """Return an id with its type, since 1 and True are equal."""
    return type(id).__name__, id


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
