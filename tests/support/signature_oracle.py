"""Signature oracle: answers like a database of signatures, by a dict and double loops."""

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import simdb

NARROW = simdb.Options(
    sketch=simdb.Minhash(shingle=2, permutations=64, stored_bits=8),
    similarity=0.6,
    bands=12,
    rows=4,
    delta_documents=4,
    growth=2,
)
WIDE = replace(NARROW, sketch=replace(NARROW.sketch, stored_bits=32), bands=10, rows=5)
TWO_BITS = replace(
    NARROW, sketch=replace(NARROW.sketch, permutations=96, stored_bits=2), bands=12, rows=7
)
ONE_BIT = replace(
    NARROW, sketch=replace(NARROW.sketch, permutations=136, stored_bits=1), bands=12, rows=11
)
EVERY_WIDTH = {"1 bit": ONE_BIT, "2 bits": TWO_BITS, "8 bits": NARROW, "32 bits": WIDE}
WORDS = [f"word{number}" for number in range(300)]


def texts(count, seed=1, *, changes=6, length=40):
    """Make texts in families of five; in each family, each text has more words changed."""
    generator = random.Random(seed)
    made = []
    for at in range(count):
        if at % 5 == 0:
            words = generator.choices(WORDS, k=length)
        changed = list(words)
        for place in generator.sample(range(length), changes * (at % 5) // 4):
            changed[place] = generator.choice(WORDS)
        made.append(" ".join(changed))
    return made


@dataclass
class SignedOracle:
    """Signatures by id, in the order of insertion; None for documents without features.

    Minima of b bits agree by chance once in 2^b, and the estimate is corrected for that.  With
    `bands` and `rows`, only documents that agree in at least one band are compared.
    """

    sketch: simdb.Minhash
    bands: int = 0
    rows: int = 0
    documents: dict[Any, Any] = field(default_factory=dict)

    def insert(self, id, signature):
        self.documents.pop(id, None)
        self.documents[id] = None if signature.is_empty else signature.minima.tolist()

    def delete(self, id):
        del self.documents[id]

    def query(self, minima, least, *, without=None):
        """Return (id, differing minima, similarity), the most similar first, then by age."""
        found = []
        for id, stored in self.documents.items():
            if id == without or stored is None or minima is None:
                continue
            agreeing = sum(one == other for one, other in zip(minima, stored, strict=True))
            similarity = self.similarity(agreeing)
            if similarity >= np.float32(least) and self.is_compared(minima, stored):
                found.append((id, len(minima) - agreeing, similarity))
        return sorted(found, key=lambda row: row[1])

    def similarity(self, agreeing):
        share = agreeing / self.sketch.permutations
        if self.sketch.stored_bits < 32:
            chance = 1 / 2**self.sketch.stored_bits
            share = max((share - chance) / (1 - chance), 0.0)
        return float(np.float32(share))

    def is_compared(self, left, right):
        if not self.bands:
            return True
        parts = [slice(at * self.rows, (at + 1) * self.rows) for at in range(self.bands)]
        return any(left[part] == right[part] for part in parts)

    def find_all(self, least):
        """Return {(older id, newer id): similarity}."""
        ids = list(self.documents)
        return {
            (left, right): similarity
            for at, left in enumerate(ids)
            for right, _, similarity in self.query(self.documents[left], least)
            if right in ids[at + 1 :]
        }
