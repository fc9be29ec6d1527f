"""Expected: the answers that a database must give, from a dict of documents and double loops.

`ask` is a dict of what a query asks for: similarity, distance, recall, method.  At recall 1 an
answer must have all matches.  Below, an answer may leave out some; `Tally` counts them.
"""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from oracle import ERROR_FLOAT32, cosine, quantised

import simdb
from simdb.sketch.winnowing import Winnower


@dataclass(frozen=True)
class Entry:
    """A document: `bits`, None without features, and a `vector` of weights, `minima` or neither.

    `grains`: the hashes of its n-grams that are chosen, where they are stored.
    """

    bits: int | None
    vector: Any = None
    minima: Any = None
    metadata: Any = None
    grains: frozenset[int] = frozenset()
    number: int = field(default_factory=count().__next__)


@dataclass
class Tally:
    """The matches that answers below recall 1 should have and have; `variance` is of `found`."""

    owed: float = 0.0
    promised: float = 0.0
    found: float = 0.0
    variance: float = 0.0

    def add(self, owed, found, recall):
        self.owed += owed
        self.promised += recall * owed
        self.found += found
        # In the worst case all matches of a query are found, or none.
        self.variance += recall * (1 - recall) * owed**2


@dataclass
class Expected:
    """The documents in the order of insertion, and the right answers of queries for them."""

    options: simdb.Options
    tally: Tally
    documents: dict[Any, Entry] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict)  # the pairs measured so far

    def copy(self):
        return self.only(self.documents)

    def only(self, documents):
        """Return a copy with other documents."""
        return Expected(self.options, self.tally, dict(documents), self.known)

    @property
    def is_minhash(self):
        return isinstance(self.options.sketch, simdb.Minhash)

    def entry(self, document, metadata=None):
        """Return what a database keeps of a document."""
        grains = self.grains(document) if self.options.passages else frozenset()
        return replace(self.entry_of(document, metadata), grains=grains)

    def grains(self, text):
        """Return the hashes of the n-grams of a text that are chosen."""
        return frozenset(
            Winnower(self.options.sketch).grains([text], errors="strict").hashes.tolist()
        )

    def contained(self, grains, least, *, without=()):
        """Return the share of some grains that each document has, where it is at least `least`."""
        shares = {
            key(id): len(grains & entry.grains) / max(len(grains), 1)
            for id, entry in self.documents.items()
            if id not in without
        }
        return {id: share for id, share in shares.items() if share >= least and share > 0}

    def entry_of(self, document, metadata):
        """Return the same without grains."""
        if isinstance(document, int):
            return Entry(document, metadata=metadata)
        if isinstance(document, simdb.Fingerprint):
            made = document
        elif self.is_minhash:
            signature = simdb.signature(document, self.options.sketch)
            minima = None if signature.is_empty else np.array(signature.minima)
            return Entry(None if minima is None else 0, minima=minima, metadata=metadata)
        else:
            made = simdb.fingerprint(document, self.options.sketch)
        if made.is_empty:
            return Entry(None, metadata=metadata)
        vector = None if made.weights is None else quantised(made.weights)
        return Entry(made.bits, vector, metadata=metadata)

    def insert(self, id, entry):
        self.documents.pop(id, None)
        self.documents[id] = entry

    def delete(self, id):
        return self.documents.pop(id, None) is not None

    def ages(self, ids):
        """Return the place of each of `ids` in the order of insertion."""
        places = {key(id): at for at, id in enumerate(self.documents)}
        return [places[key(id)] for id in ids]

    def measured(self, left, right):
        """Return (distance, similarity or None) of two entries that have features."""
        couple = left.number, right.number
        if couple not in self.known:
            self.known[couple] = self.measure(left, right)
        return self.known[couple]

    def measure(self, left, right):
        if self.is_minhash:
            total = len(left.minima)
            agreeing = int((left.minima == right.minima).sum())
            share = agreeing / total
            if self.options.sketch.stored_bits == 8:
                share = max((share - 1 / 256) / (1 - 1 / 256), 0.0)
            return min(total - agreeing, 255), share
        distance = (left.bits ^ right.bits).bit_count()
        if left.vector is None or right.vector is None or not self.options.sketch.store_volatility:
            return distance, None
        return distance, cosine(left.vector, right.vector)

    def bounds(self, ask, entry):
        """Return the (similarity, distance) that a query by `entry` means."""
        similarity, distance = ask.get("similarity"), ask.get("distance")
        if similarity is None and distance is None:
            if self.is_minhash or (entry.vector is not None and self.options.sketch.vector_bytes):
                return self.options.similarity, None
            return None, self.options.distance
        return similarity, distance

    def matches(self, entry, ask, *, without=None):
        """Return {id: (distance, similarity)} of all matches, and the ids of uncertain matches.

        A match is uncertain if its similarity differs from the bound by rounding only.
        """
        found, near = {}, set()
        if entry.bits is None:
            return found, near
        similarity, distance = self.bounds(ask, entry)
        for id, other in self.documents.items():
            if other.bits is None or (without is not None and id == without[0]):
                continue
            differing, alike = self.measured(entry, other)
            if distance is not None and differing > distance:
                continue
            if similarity is not None:
                if alike is None or alike < similarity - ERROR_FLOAT32:
                    continue
                if alike <= similarity + ERROR_FLOAT32:
                    near.add(id)
            found[id] = differing, alike
        return found, near

    def pairs(self, ask):
        """Return {(older id, newer id): (distance, similarity)} of all pairs, and the uncertain."""
        found, near = {}, set()
        ids = list(self.documents)
        for at, id in enumerate(ids):
            entry = self.documents[id]
            is_bare = entry.vector is None and entry.minima is None
            if is_bare and ask.get("similarity") is not None:
                continue
            rest = self.only({other: self.documents[other] for other in ids[at + 1 :]})
            matches, close = rest.matches(entry, ask)
            found |= {(id, other): row for other, row in matches.items()}
            near |= {(id, other) for other in close}
        return found, near

    def recall_of(self, ask):
        """Return the recall promised; 0 if a named method may find less, as its plan says."""
        method, recall = ask.get("search"), ask.get("recall") or self.options.recall
        if method == "exhaustive":
            return 1.0
        is_bound = recall == 1.0 or (method == "bphs" and ask.get("similarity") is None)
        return recall if is_bound or method not in ("bphs", "rotation", "banding") else 0.0


def check_row(expected, found, truth, near, ask, *, limit=None, is_by_similarity):
    """Compare the matches of one query, `simdb.Match` each, with the true matches."""
    ids = [match.id for match in found]
    assert len(set(map(key, ids))) == len(ids), f"a match is given twice: {ids}"
    for match in found:
        assert match.id in truth, f"{match} does not match {ask}"
        check_measured((match.distance, match.similarity), truth[match.id])
    check_order(expected, found, is_by_similarity)
    recall = expected.recall_of(ask)
    if recall < 1.0:
        if limit is None:
            expected.tally.add(len(truth), len(found), recall)
        return
    if limit is None:
        assert set(truth) - near <= set(ids), f"{set(truth) - near - set(ids)} not found by {ask}"
        return
    least, most = min(limit, len(set(truth) - near)), min(limit, len(truth))
    assert least <= len(found) <= most, f"{len(found)} of {len(truth)} with limit={limit}"
    if not near and not is_by_similarity:
        best = sorted(truth, key=lambda id: truth[id][0])[:limit]
        assert ids == best, f"{ids} is not {best}"


def check_measured(found, wanted):
    """Check that distances are equal and similarities differ by rounding only."""
    assert found[0] == wanted[0], f"distance {found} is not {wanted}"
    assert (found[1] is None) == (wanted[1] is None), f"similarity {found} is not {wanted}"
    if wanted[1] is not None:
        assert abs(found[1] - wanted[1]) <= ERROR_FLOAT32, f"similarity {found} is not {wanted}"


def check_order(expected, found, is_by_similarity):
    """Check that the best match is first, and of equal distances the oldest."""
    if is_by_similarity:
        values = [match.similarity for match in found]
        assert values == sorted(values, reverse=True), f"not the best first: {values}"
        return
    ages = expected.ages([match.id for match in found])
    order = [(match.distance, age) for match, age in zip(found, ages, strict=True)]
    assert order == sorted(order), f"not the nearest first: {order}"


def key(id):
    """Return an id with its type, since 1 and True are equal."""
    return type(id).__name__, id
