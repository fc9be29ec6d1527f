"""Crops: random options and texts for databases of thousands to millions of documents.

Two thirds of the texts are like nothing else.  The rest are edited copies of some base texts, a
few of each, and copies of one text that is much more frequent.
"""

import numpy as np

import simdb

WORDS = [f"w{number}" for number in range(5000)]
TEXT_WORDS = 20
COPIES = 3  # of one base text, in the mean
EDITS = (0, 0, 1, 2, 4)
# Of more documents none is compared with all others: that takes hours.
LARGE = 50_000


def some_options(chance, count):
    """Draw options that a database of `count` documents can have without taking hours."""
    is_minhash = chance.random() < 0.25
    sketch = some_minhash(chance) if is_minhash else some_simhash(chance)
    can_measure = sketch.vector_bytes > 0
    polytopes = chance.choice([None, None, 0, 2]) if can_measure and not is_minhash else None
    is_found = can_measure and (count <= LARGE or is_minhash or polytopes != 0)
    kept = ["none", *(["similarity"] if is_found else []), *([] if is_minhash else ["distance"])]
    chosen = {
        "sketch": sketch,
        "recall": chance.choice([0.9, 0.95] if count > LARGE else [0.9, 1.0]),
        "similarity": 0.8,
        "delta_documents": chance.choice([100, 1000, 4096, 4096]),
        "growth": chance.choice([2, 4, 4]),
        "header_offset": chance.choice([0, 0, -2]),
        "keep_clusters": chance.choice(kept),
        "keep_times": chance.choice(["none", "inserted", "seen"]),
    }
    return simdb.Options(**chosen, **({} if polytopes is None else {"polytopes": polytopes}))


def some_simhash(chance):
    return simdb.Simhash(
        shingle=1,
        weighting=chance.choice(["binary", "tf", "log-tf", "tf-idf"]),
        dimensions=chance.choice([64, 128, 128, 256]),
        store_volatility=chance.random() < 0.85,
    )


def some_minhash(chance):
    return simdb.Minhash(
        shingle=1,
        weighting=chance.choice(["set", "bag"]),
        permutations=chance.choice([64, 128]),
        stored_bits=chance.choice([8, 32]),
    )


class Texts:
    """A source of texts; the same seed gives the same texts."""

    def __init__(self, seed, count, crowd):
        """Prepare the texts of `count` documents, of which about `crowd` are equal."""
        self.random = np.random.default_rng(seed)
        self.bases = self.rows(max(count // (3 * COPIES), 2))
        self.crowd_share = crowd / count

    def rows(self, count):
        return self.random.integers(0, len(WORDS), (count, TEXT_WORDS))

    def draw(self, count):
        """Return `count` texts."""
        rows = self.rows(count)
        copied = np.flatnonzero(self.random.random(count) < 1 / 3)
        rows[copied] = self.bases[self.random.integers(1, len(self.bases), len(copied))]
        edits = self.random.choice(EDITS, len(copied))
        for edit in range(max(EDITS)):
            edited = copied[edits > edit]
            places = self.random.integers(0, TEXT_WORDS, len(edited))
            rows[edited, places] = self.random.integers(0, len(WORDS), len(edited))
        rows[self.random.random(count) < self.crowd_share] = self.bases[0]
        texts = [" ".join([WORDS[word] for word in row]) for row in rows.tolist()]
        for empty in np.flatnonzero(self.random.random(count) < 1 / 2000):
            texts[empty] = ""
        return texts
