"""Expected: the answers that a database must give, from a dict of documents and double loops.

`ask` is what a query says: similarity, distance, recall, method.  An answer is exact where all
matches were asked for; otherwise it is a part of the truth, and how large a part is counted.
"""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from oracle import ERROR_FLOAT32, cosine, quantised

import simdb


@dataclass(frozen=True)
class Entry:
    """A document: `bits` None without features; `vector` of weights or `minima`, if it has any."""

    bits: int | None
    vector: Any = None
    minima: Any = None
    metadata: Any = None
    number: int = field(default_factory=count().__next__)


@dataclass
class Tally:
    """How much of what probabilistic answers owed they found: `variance` of the number found."""

    owed: float = 0.0
    promised: float = 0.0
    found: float = 0.0
    variance: float = 0.0

    def add(self, owed, found, recall):
        self.owed += owed
        self.promised += recall * owed
        self.found += found
        # The matches of one query are found or missed together, at the worst.
        self.variance += recall * (1 - recall) * owed**2


@dataclass
class Expected:
    """The documents in the order of insertion, and what they answer."""

    options: simdb.Options
    tally: Tally
    documents: dict[Any, Entry] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict)  # what was measured already

    def copy(self):
        return self.only(self.documents)

    def only(self, documents):
        """The same with other documents."""
        return Expected(self.options, self.tally, dict(documents), self.known)

    @property
    def is_signed(self):
        return isinstance(self.options.sketch, simdb.Minhash)

    def entry(self, document, metadata=None):
        """What is kept of a document."""
        if isinstance(document, int):
            return Entry(document, metadata=metadata)
        if isinstance(document, simdb.Fingerprint):
            made = document
        elif self.is_signed:
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

    def measured(self, left, right):
        """(distance, similarity or None) of two entries that have features."""
        couple = left.number, right.number
        if couple not in self.known:
            self.known[couple] = self.measure(left, right)
        return self.known[couple]

    def measure(self, left, right):
        if self.is_signed:
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
        """(similarity, distance) that a query by `entry` means."""
        similarity, distance = ask.get("similarity"), ask.get("distance")
        if similarity is None and distance is None:
            if self.is_signed or (entry.vector is not None and self.options.sketch.vector_bytes):
                return self.options.similarity, None
            return None, self.options.distance
        return similarity, distance

    def matches(self, entry, ask, *, without=None):
        """{id: (distance, similarity)} of all matches, and which ids are too near to call."""
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
        """The same of all pairs: {(older id, newer id): (distance, similarity)}."""
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
        """What is promised; 0 where a method is named that may find less, as its plan says."""
        method, recall = ask.get("method"), ask.get("recall") or self.options.recall
        if method == "exhaustive":
            return 1.0
        is_bound = recall == 1.0 or (method == "bphs" and ask.get("similarity") is None)
        return recall if is_bound or method not in ("bphs", "rotation", "banding") else 0.0


def check_row(expected, found, truth, near, ask, *, limit=None, is_by_similarity):
    """Hold the matches of one query against the truth; `found`: `simdb.Match` each."""
    ids = [match.id for match in found]
    assert len(set(map(key, ids))) == len(ids), f"a match is given twice: {ids}"
    for match in found:
        assert match.id in truth, f"{match} is no match of {ask}"
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
    """Equal distances, and similarities that differ by rounding only."""
    assert found[0] == wanted[0], f"distance {found} is not {wanted}"
    assert (found[1] is None) == (wanted[1] is None), f"similarity {found} is not {wanted}"
    if wanted[1] is not None:
        assert abs(found[1] - wanted[1]) <= ERROR_FLOAT32, f"similarity {found} is not {wanted}"


def check_order(expected, found, is_by_similarity):
    """The best first, and of the same the oldest."""
    if is_by_similarity:
        values = [match.similarity for match in found]
        assert values == sorted(values, reverse=True), f"not the best first: {values}"
        return
    age = {key(id): at for at, id in enumerate(expected.documents)}
    order = [(match.distance, age[key(match.id)]) for match in found]
    assert order == sorted(order), f"not the nearest first: {order}"


def key(id):
    """An id with its type, since 1 and True are equal."""
    return type(id).__name__, id
