"""Documents: draws fingerprints, weights, signatures and texts, and queries near them.

A source draws stored documents in parts.  Every second query is near a stored document:

fingerprints  Uniform random numbers of 64 bits.  Near: 0 to 3 bits are flipped.

weights       128 normal numbers; every tenth document is near the one before.  Near: cosine .88 to
              1.

signatures    MinHash of 100 random features; every tenth document is near the one before.  Near: at
              most 11 features are exchanged, so the Jaccard similarity is .8 or more.

texts         Texts of `texts.py`.  The queries are the texts after the stored ones.

drawn         Texts of `drawn.py`, which makes many millions.  The queries are as for texts.

Random fingerprints fill all buckets evenly, so these figures say nothing about skew.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from drawn import BLOCK, Drawn
from simdb.core import kernel
from simdb.core.vector_form import fingerprints_of
from simdb.sketch.minhash_sketcher import permutations_of
from texts import Texts, read_pools

DISTANCE = 3
KEPT = 40_000  # documents that queries are made from
DIMENSIONS = 128
NEAR = 0.88  # the least cosine of near documents
FEATURES, EXCHANGED_MAX = 100, 11

Numbers = npt.NDArray[Any]


class Source:
    """Documents in parts, and queries near some of them."""

    options = simdb.Options()
    tenth = True  # whether every tenth document is near the one before it

    def __init__(self, seed: int) -> None:
        """Begin without documents."""
        self.seed = seed
        self.kept: Numbers | None = None
        self.step = 1  # interval of the documents that are kept

    def stored(self, first: int, count: int) -> Any:
        """Draw documents number `first` and after."""
        chance = np.random.default_rng([self.seed, first, count])
        rows = self.drawn(count, chance)
        if self.tenth:
            rows[1::10] = self.near(rows[::10][: len(rows[1::10])], chance)
        kept = rows[:: self.step]
        self.kept = kept if self.kept is None else np.concatenate([self.kept, kept])
        while len(self.kept) > KEPT:
            self.kept, self.step = self.kept[::2].copy(), 2 * self.step
        return self.made(rows)

    def queries(self, count: int) -> Any:
        """Draw queries, every second of them near a stored document."""
        assert self.kept is not None
        chance = np.random.default_rng([self.seed, len(self.kept), count])
        rows = self.drawn(count, chance)
        chosen = chance.integers(0, len(self.kept), len(rows[::2]))
        rows[::2] = self.near(self.kept[chosen], chance)
        return self.made(rows)

    def drawn(self, count: int, chance: np.random.Generator) -> Numbers:
        """Draw the numbers of unrelated documents, one row for each."""
        raise NotImplementedError

    def near(self, rows: Numbers, chance: np.random.Generator) -> Numbers:
        """Draw a near document for each row."""
        raise NotImplementedError

    def made(self, rows: Numbers) -> Any:
        """Return rows as documents."""
        return rows


class Bits(Source):
    """Uniform fingerprints without weights, uint64[n]."""

    options = simdb.Options(sketch=simdb.Simhash(store_volatility=False))
    tenth = False

    def drawn(self, count: int, chance: np.random.Generator) -> Numbers:
        return chance.integers(0, 2**64, count, np.uint64)

    def near(self, rows: Numbers, chance: np.random.Generator) -> Numbers:
        return flipped(rows, chance, least=0, most=DISTANCE)


def flipped(bits: Numbers, chance: np.random.Generator, *, least: int, most: int) -> Numbers:
    """Flip `least` to `most` different bits of each."""
    places = np.argsort(chance.random((len(bits), 64)), axis=1)[:, :most].astype(np.uint64)
    is_flipped = np.arange(most) < chance.integers(least, most + 1, len(bits))[:, None]
    flips = np.where(is_flipped, np.uint64(1) << places, np.uint64(0))
    return bits ^ np.bitwise_xor.reduce(flips, axis=1)


class Weights(Source):
    """Fingerprints of normal weights."""

    def drawn(self, count: int, chance: np.random.Generator) -> Numbers:
        return chance.standard_normal((count, DIMENSIONS), np.float32)

    def near(self, rows: Numbers, chance: np.random.Generator) -> Numbers:
        """Add noise, so that the cosine is NEAR to 1."""
        cosine = chance.uniform(NEAR, 1, (len(rows), 1)).astype(np.float32)
        noise = chance.standard_normal(rows.shape, np.float32)
        return cosine * rows + np.sqrt(1 - cosine**2) * noise

    def made(self, rows: Numbers) -> simdb.Fingerprints:
        return simdb.Fingerprints(fingerprints_of(rows), rows)


class Sets(Source):
    """MinHash signatures of random features; `features` belong to the last documents."""

    options = simdb.Options(sketch=simdb.Minhash())

    def drawn(self, count: int, chance: np.random.Generator) -> Numbers:
        return chance.integers(0, 2**63, (count, FEATURES), np.uint64)

    def near(self, rows: Numbers, chance: np.random.Generator) -> Numbers:
        """Exchange some features."""
        exchanged = chance.integers(0, EXCHANGED_MAX + 1, len(rows))[:, None]
        return np.where(np.arange(FEATURES) < exchanged, self.drawn(len(rows), chance), rows)

    def made(self, rows: Numbers) -> simdb.Signatures:
        self.features = rows
        offsets, sketch = np.arange(len(rows) + 1) * FEATURES, simdb.Minhash()
        minima = kernel.sign_features(
            offsets, rows.ravel(), None, family=permutations_of(sketch), feature_bits=64
        )
        return simdb.Signatures(minima, sketch, np.zeros(len(rows), np.bool_))


class Written(Source):
    """Texts: the stored ones, followed by the queries."""

    def __init__(self, seed: int, texts: Callable[[int, int], Any]) -> None:
        """Take a function that makes texts from the number of the first and the count."""
        super().__init__(seed)
        self._texts, self._stop = texts, 0

    def stored(self, first: int, count: int) -> Any:
        self._stop = first + count
        return self._texts(first, count)

    def queries(self, count: int) -> list[str]:
        return list(map(str, self._texts(-(-self._stop // BLOCK) * BLOCK, count)))


def source_of(kind: str, arguments: argparse.Namespace) -> Source:
    """Make the source of a kind; `arguments.corpora` is the folder of the passages of texts."""
    if kind in SOURCES:
        return SOURCES[kind](arguments.seed)
    if kind == "texts":
        texts = Texts(read_pools(arguments.corpora), arguments.seed)
        return Written(arguments.seed, lambda first, count: texts.between(first, first + count))
    drawn = Drawn(arguments.seed)
    return Written(arguments.seed, lambda first, count: drawn.texts(first, count).to_pylist())


def parts(source: Source, start: int, stop: int, size: int) -> Iterator[tuple[range, Any]]:
    """Yield ids and documents from number `start` up to, not including, `stop`."""
    for first in range(start, stop, size):
        documents = source.stored(first, min(size, stop - first))
        yield range(first, first + len(documents)), documents


def taken(documents: Any, chosen: Any) -> Any:
    """Return some of the documents."""
    if isinstance(documents, simdb.Fingerprints):
        return documents.taken(chosen)
    if isinstance(documents, simdb.Signatures):
        minima, is_empty = documents.minima[chosen], documents.is_empty[chosen]
        return simdb.Signatures(minima, documents.sketch, is_empty)
    return documents[chosen]


def head(documents: Any, count: int) -> Any:
    return taken(documents, slice(count))


def values_of(documents: Any, count: int) -> list[Any]:
    """Return the first documents, each alone."""
    some = head(documents, count)
    return some.tolist() if isinstance(some, np.ndarray) else [some[at] for at in range(len(some))]


SOURCES: dict[str, Callable[[int], Source]] = {
    "fingerprints": Bits, "weights": Weights, "signatures": Sets,
}  # fmt: skip
KINDS = (*SOURCES, "texts", "drawn")
