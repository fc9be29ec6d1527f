"""Oracle: answers like a database, by a dict and double loops.

Documents are kept in the order of insertion; a replaced document moves to the end.  The similarity
is computed again from the kernel's contract, in plain numpy.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scales import seen

from simdb.core.vector_form import CURVE

ERROR_FLOAT32 = 1e-6
ROUNDED, COSINES = np.array(CURVE).T


@dataclass
class Stored:
    """A document in the oracle; `bits` None without features, `vector` None without weights."""

    bits: int | None
    vector: np.ndarray | None = None
    metadata: Any = None

    def is_same(self, other):
        """Return whether another document has the same sketch."""
        if self.bits is None or other.bits is None:
            return self.bits is other.bits
        if self.vector is None or other.vector is None:
            return self.bits == other.bits and self.vector is other.vector
        return self.bits == other.bits and np.array_equal(self.vector, other.vector)

    def distance(self, other):
        """Return the number of differing bits; all 64 if only one document has features."""
        if self.bits is None or other.bits is None:
            return 0 if self.bits is other.bits else 64
        return (self.bits ^ other.bits).bit_count()


class ConflictError(Exception):
    """A document whose id is stored already is refused."""


@dataclass
class Oracle:
    """A dict of documents, which answers every question by loops over it.

    `times`: when each document was inserted or seen.  `now`: the present time.
    `keeps_seen`: whether a claim renews the time of its match.
    """

    documents: dict[Any, Stored] = field(default_factory=dict)
    times: dict[Any, int] = field(default_factory=dict)
    now: int = 0
    keeps_seen: bool = False

    def copy(self):
        return Oracle(dict(self.documents), dict(self.times), self.now, self.keeps_seen)

    def insert(self, id, stored):
        self.documents.pop(id, None)
        self.documents[id] = stored
        self.times[id] = self.now

    def see(self, id):
        if self.keeps_seen:
            self.times[id] = self.now

    def expire(self, before):
        old = [id for id in self.documents if self.times[id] < before]
        return sum(self.delete(id) for id in old)

    def insert_by(self, rule, id, stored):
        """Insert a document by a rule for stored ids; return whether it was inserted."""
        if id in self.documents and rule != "replace":
            self.check_conflict(rule, id, stored)
            return False
        self.insert(id, stored)
        return True

    def check_conflict(self, rule, id, stored):
        if rule == "error" or (rule == "same" and not self.documents[id].is_same(stored)):
            raise ConflictError(id)

    def claim_all(self, rule, entries, distance):
        """Claim (id, stored) in order; return the best match of each, or None if stored."""
        if rule == "replace":
            for id, _ in entries:
                self.delete(id)
        return [self.claim_by(rule, id, stored, distance) for id, stored in entries]

    def claim_by(self, rule, id, stored, distance):
        """Return the best match, or None and store the document."""
        if id in self.documents and rule != "replace":
            self.check_conflict(rule, id, stored)
            self.see(id)
            return id, stored.distance(self.documents[id])
        self.delete(id)
        return self.add_if_new(id, stored, distance)

    def update_metadata(self, id, metadata):
        """Replace the metadata of a document, which keeps its place; return whether it is known."""
        if id in self.documents:
            self.documents[id] = replace(self.documents[id], metadata=metadata)
        return id in self.documents

    def delete_where(self, where):
        meant = [id for id, stored in self.documents.items() if where(stored.metadata)]
        return sum(self.delete(id) for id in meant)

    def query_where(self, bits, distance, where):
        """Query only documents whose metadata satisfy `where`, if given; see `query`."""
        found = self.query(bits, distance)
        return [row for row in found if not where or where(self.documents[row[0]].metadata)]

    def delete(self, id):
        return self.documents.pop(id, None) is not None

    def query(self, bits, distance, *, without=None):
        """Return (id, distance) by distance, then by age."""
        if bits is None:
            return []
        found = [
            (id, (stored.bits ^ bits).bit_count())
            for id, stored in self.documents.items()
            if stored.bits is not None and id != without
        ]
        return sorted((row for row in found if row[1] <= distance), key=lambda row: row[1])

    def add_if_new(self, id, stored, distance):
        """Return the best match, or None and store the document."""
        found = self.query(stored.bits, distance)
        if found:
            self.see(found[0][0])
            return found[0]
        self.insert(id, stored)
        return None

    def find_all(self, distance):
        """Return {(older id, newer id): distance}."""
        rows = [(id, each.bits) for id, each in self.documents.items() if each.bits is not None]
        pairs = {}
        for at, (left, bits) in enumerate(rows):
            for right, others in rows[at + 1 :]:
                differing = (bits ^ others).bit_count()
                if differing <= distance:
                    pairs[left, right] = differing
        return pairs

    def find_clusters(self, distance):
        """Return lists of connected ids, members and clusters by age."""
        return components(list(self.documents), self.find_all(distance))

    def similar(self, vector, least, *, without=None):
        """Return {id: similarity} of texts above `least`, and the ids too near to decide."""
        sure, near = {}, set()
        for id, stored in self.documents.items():
            if stored.vector is None or id == without:
                continue
            value = seen(cosine(vector, stored.vector))
            if abs(value - least) <= ERROR_FLOAT32:
                near.add(id)
            elif value > least:
                sure[id] = value
        return sure, near


def distances(left, right):
    """Return the differing bits of each of `left` with each of `right`, both uint64."""
    differing = (left[:, None] ^ right[None, :])[..., None]
    return np.unpackbits(differing.view(np.uint8), axis=2).sum(axis=2, dtype=np.uint8)


def components(ids, pairs):
    """Return the connected sets of two or more `ids`, which are in order of age."""
    label = {id: at for at, id in enumerate(ids)}
    changed = True
    while changed:
        changed = False
        for left, right in pairs:
            least = min(label[left], label[right])
            if label[left] != least or label[right] != least:
                label[left] = label[right] = least
                changed = True
    groups = {}
    for id in ids:
        groups.setdefault(label[id], []).append(id)
    return [members for members in groups.values() if len(members) > 1]


def stars(ids, pairs):
    """Return the groups around representatives; `ids` are in the order of the search."""
    matching = set(pairs) | {(right, left) for left, right in pairs}
    groups = {}
    for id in ids:
        leader = next((each for each in groups if (each, id) in matching), id)
        groups.setdefault(leader, []).append(id)
    return [members for members in groups.values() if len(members) > 1]


def quantised(weights):
    """Return the weights as they are stored: odd whole numbers from -15 to 15."""
    squares = math.fsum(float(weight) ** 2 for weight in weights)
    scale = 1 / (0.335 * math.sqrt(squares / len(weights))) if squares else 0.0
    return np.array(
        [2 * min(15, max(0, math.floor(float(weight) * scale) + 8)) - 15 for weight in weights]
    )


def cosine(left, right):
    """Return the similarity of two vectors of whole numbers: their cosine, corrected."""
    dot = int(np.dot(left, right))
    measured = dot / math.sqrt(float(int(np.dot(left, left)) * int(np.dot(right, right))))
    return math.copysign(float(np.interp(abs(measured), ROUNDED, COSINES)), measured)
