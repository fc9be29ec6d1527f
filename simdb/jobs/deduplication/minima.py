"""Minima: candidate pairs of one run by MinHash banding, without a database.

Two documents with the Jaccard similarity s agree in a minimum with probability s.  So they share a
band of r minima with probability s^r, and at least one of b bands with 1 - (1 - s^r)^b.  Sources:
Broder 1997; Leskovec, Rajaraman & Ullman 2020, section 3.4.  Each band of a document is kept as a
key of 32 bits.  The keys of a band are sorted once, in parts that fit in memory.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np

from simdb import plan
from simdb.core import kernel
from simdb.core.arrays import Sketches, flags_at, is_first, places_in
from simdb.core.arrow import TextColumn
from simdb.core.bits import fmix64
from simdb.core.choices import ErrorsName
from simdb.core.documents import Signatures
from simdb.core.dtypes import I64, U8, U32, U64, Bools
from simdb.core.memory import Blocks
from simdb.core.options import BAG, PERMUTATIONS_MOST, SET, AnySketch, Minhash
from simdb.core.stored_options import Resources
from simdb.core.text_sketch import threads_for
from simdb.core.threads import mapped, parts_of
from simdb.core.values import dataclass
from simdb.database import SKETCHED_DOCUMENTS, joined as joined_sketches
from simdb.sketch import NO_RESOURCES, MinHashSketcher, Sketcher, narrowed, permutations_of

# A larger recall counts as this one, since no number of bands makes every pair a candidate.
RECALL_MOST = 0.999999
# Cost in nanoseconds of a minimum of a text of 1 kB, of a table entry, and of a candidate.
MINIMUM_COST, TABLE_COST, CANDIDATE_COST = 4.5, 20.0, 150.0
# Sample size for the similarities of unrelated documents, and minima per document.
SAMPLED_DOCUMENTS, SAMPLED_MINIMA = 512, 256
# Pairs above this are copies of one page, and would distort that sample.
UNRELATED_BELOW = 0.5
# Minima of 8 bits that are compared before the texts of candidates.
COMPARED_MINIMA = 64
KEY_BITS = 32
# Approximate limit on the keys in a part, which a thread sorts with 24 bytes per key.
SORTED_KEYS = 1 << 23
# Keys per step of the search for the keys of a part.
SCANNED_KEYS = 1 << 20
# The number of a part fits in one byte; `NO_PART` marks documents that are in no part.
PART_BITS_MOST, NO_PART = 7, 255

Texts = Sequence[Any] | TextColumn


@dataclass(frozen=True, slots=True)
class BandBuckets:
    """Documents that share the key of a band: `pairs` uint64[k], ascending, and larger buckets.

    A bucket of two documents is one word of `pairs`, with the lesser document in the upper half.
    The larger buckets have `sizes` uint32[m] and `members` uint32[e], ascending in each bucket.
    `marks` uint64[m]: a hash of each larger bucket, equal for equal buckets.
    """

    pairs: U64
    sizes: U32
    members: U32
    marks: U64

    @classmethod
    def of(cls, sizes: U32, members: U32) -> "BandBuckets":
        """Return buckets with these `sizes`, of two or more, and `members`."""
        firsts = np.cumsum(sizes, dtype=np.int64) - sizes
        is_pair = sizes == 2
        lesser = firsts[is_pair]
        pairs = members[lesser].astype(np.uint64) << np.uint64(32) | members[lesser + 1]
        kernel.sort(pairs)
        larger = members[~np.repeat(is_pair, sizes)]
        sizes = sizes[~is_pair]
        firsts = np.cumsum(sizes, dtype=np.int64) - sizes
        mixed = fmix64(larger.astype(np.uint64) + np.uint64(1))  # fmix64 is 0 only for 0
        marks = np.add.reduceat(mixed, firsts) if len(firsts) else mixed
        return cls(pairs, sizes, larger, marks)


def banding_for(
    similarity: float, documents: float, recall: float, background: plan.Background | None = None
) -> plan.Banding | None:
    """Return the cheapest bands that make pairs of `similarity` candidates with chance `recall`.

    More similar pairs have a greater chance.  `background`: the similarities of unrelated
    documents; None assumes an unknown collection.  Returns None if no bands within the size limit
    of a signature suffice.
    """
    wanted = min(recall, RECALL_MOST)
    every = []
    for rows in range(1, PERMUTATIONS_MOST + 1):
        banding = plan.fewest_bands(rows, PERMUTATIONS_MOST, similarity, wanted, KEY_BITS)
        if banding is None:
            # With more rows fewer bands fit, and each finds less.
            break
        every.append(banding)

    def cost(banding: plan.Banding) -> float:
        # Half, since a pair is a candidate of both documents but compared once.
        found = plan.expected_candidates(documents / 2, banding, background=background)
        minima = max(banding.bands * banding.rows, COMPARED_MINIMA)
        return minima * MINIMUM_COST + banding.bands * TABLE_COST + found * CANDIDATE_COST

    return min(every, key=cost, default=None)


@dataclass(frozen=True, slots=True)
class Signed:
    """The keys and minima of some documents, as `Minima` keeps them."""

    keys: U32  # uint32[b, n]: a key for each band
    minima: U8  # uint8[n, COMPARED_MINIMA]
    is_empty: Bools  # without features

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.is_empty)

    def chosen(self, places: I64) -> "Signed":
        """Return some of the documents."""
        return Signed(
            np.take(self.keys, places, axis=1), self.minima[places], self.is_empty[places]
        )


class Minima(ExitStack):
    """The documents of one run, in the order of adding.

    For each document, the keys of its bands are kept, and its first minima, cut to 8 bits.  These
    minima reject most pairs that share a band only by chance.
    """

    def __init__(
        self,
        sketch: AnySketch,
        banding: plan.Banding,
        resources: Resources = NO_RESOURCES,
        allowed: Collection[str] = (),
        memory: int | None = None,
    ) -> None:
        """Take features as `sketch` does.

        `resources`, `allowed`: see `Sketcher`.  `memory`: see `simdb.core.memory`.
        """
        super().__init__()
        self.banding = banding
        self._signer = signer_of(sketch, banding.bands * banding.rows, resources, allowed)
        self._keys = self.enter_context(Blocks(memory))
        self._minima = self.enter_context(Blocks(memory))
        self._empty: list[Bools] = []

    def sign(self, texts: Texts, *, errors: str = "strict", threads: int = 1) -> Signed:
        """Return the keys and minima of texts.

        Several threads may call this.  Raises InputError for a text that is not valid Unicode.
        """
        return self._signed(self._signer.signatures(texts, errors=errors, threads=threads))

    def sketch_and_sign(
        self, sketcher: Sketcher, texts: TextColumn, *, errors: ErrorsName, threads: int
    ) -> tuple[Sketches, Signed]:
        """Return the sketches of texts by `sketcher`, which can sign, and their keys and minima."""

        def make(part: slice) -> tuple[Sketches, Signed]:
            sketches, signatures = sketcher.sketch_and_sign(
                texts[part], self._signer, errors=errors, start=part.start
            )
            return sketches, self._signed(signatures)

        threads = threads_for(sketcher.options, threads)
        parts = parts_of(len(texts), threads, most=SKETCHED_DOCUMENTS)
        sketched, signed = zip(*mapped(make, parts, threads), strict=True)
        return joined_sketches(sketcher, list(sketched)), Signed(
            np.concatenate([each.keys for each in signed], axis=1),
            np.concatenate([each.minima for each in signed]),
            np.concatenate([each.is_empty for each in signed]),
        )

    def _signed(self, signatures: Signatures) -> Signed:
        found = plan.band_keys(signatures, self.banding)
        keys = np.ascontiguousarray((found >> np.uint64(64 - KEY_BITS)).astype(np.uint32).T)
        family = permutations_of(self._signer.options)
        first = np.ascontiguousarray(signatures.minima[:, :COMPARED_MINIMA])
        return Signed(keys, narrowed(first, family), signatures.is_empty)

    def add(self, signed: Signed) -> None:
        """Append documents that `sign` returned."""
        self._keys.add(signed.keys)
        self._minima.add(signed.minima)
        self._empty.append(signed.is_empty)

    def __len__(self) -> int:
        """Count the documents."""
        return sum(map(len, self._empty))

    @property
    def is_empty(self) -> Bools:
        """Whether each document has no features: bool[n]."""
        return np.concatenate([np.empty(0, np.bool_), *self._empty])

    def rows(self) -> U8:
        """Return the minima of all documents: uint8[n, COMPARED_MINIMA]."""
        return self._minima.whole()

    def buckets(self, order: I64 | None, threads: int) -> Iterator[BandBuckets]:
        """Yield the buckets of each band, in parts; members are places in `order`.

        `order` int64[k]: the documents to compare, the preferred first; None for all documents in
        the order of adding.
        """
        empty = np.flatnonzero(self.is_empty if order is None else self.is_empty[order])
        parts = self._parts(order, empty)
        return mapped(lambda part: part.shared(), parts, threads)

    def _parts(self, order: I64 | None, empty: I64) -> Iterator["KeyPart"]:
        """Yield the keys of all bands in parts, without the documents at the places `empty`."""
        for band in range(self.banding.bands):
            row = self._keys.row(band)
            yield from parts_of_keys(row if order is None else row[order], empty)
            del row  # free it before the next row is read


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A part of the keys of one band: `keys` uint32[n] whose `first_bits` uint8[n] are `number`."""

    keys: U32
    first_bits: U8
    number: int

    def shared(self) -> BandBuckets:
        """Return the buckets of documents with equal keys in this part."""
        found = [np.empty(0, np.int64)]
        for start in range(0, len(self.keys), SCANNED_KEYS):
            chosen = np.flatnonzero(self.first_bits[start : start + SCANNED_KEYS] == self.number)
            chosen += start
            found.append(chosen)
        places = np.concatenate(found)
        # A word has a key and then its place, so the places of equal keys ascend.
        words = self.keys[places].astype(np.uint64)
        words <<= np.uint64(32)
        words |= places.astype(np.uint64)
        del found, places
        kernel.sort(words)
        is_same = np.zeros(len(words) + 1, np.bool_)
        np.equal(words[1:] >> np.uint64(32), words[:-1] >> np.uint64(32), out=is_same[1:-1])
        # A document is in a bucket if a neighbour on either side has the same key.
        is_in = is_same[:-1] | is_same[1:]
        starts = np.flatnonzero(~is_same[:-1][is_in])
        members = words[is_in].astype(np.uint32)
        sizes = np.diff(starts, append=len(members)).astype(np.uint32)
        return BandBuckets.of(sizes, members)


def parts_of_keys(keys: U32, empty: I64) -> Iterator[KeyPart]:
    """Yield the keys of one band in parts by leading bits, omitting the positions in `empty`.

    Keys are hashes, so the parts have similar sizes, up to about `SORTED_KEYS`.
    """
    bits = min((len(keys) // SORTED_KEYS).bit_length(), PART_BITS_MOST)
    first_bits = np.zeros(len(keys), np.uint8)
    if bits:
        np.right_shift(keys, np.uint32(KEY_BITS - bits), out=first_bits, casting="unsafe")
    first_bits[empty] = NO_PART
    for number in range(1 << bits):
        yield KeyPart(keys, first_bits, number)


def signer_of(
    sketch: AnySketch, minima: int, resources: Resources, allowed: Collection[str]
) -> MinHashSketcher:
    """Return a sketcher that makes `minima` or more of the features and weights of `sketch`.

    Its family is not "stratified": there the minima of two or three features depend on each other,
    so too many pairs of short texts would share no band (docs/ALGORITHMS.md, "MinHash").
    """
    many = max(minima, COMPARED_MINIMA)
    settings: dict[str, Any] = {"family": "multiply-shift", "permutations": many}
    if isinstance(sketch, Minhash) and sketch.weighting != SET:
        # Without IDF, weights are whole numbers, and the minima of bags estimate their similarity.
        settings |= {"weighting": sketch.weighting if sketch.uses_idf else BAG, "idf": sketch.idf}
    return MinHashSketcher(Minhash(**sketch.feature_settings, **settings), resources, allowed)


def background_in(texts: Texts, signer: MinHashSketcher, threads: int) -> plan.Background | None:
    """Return the similarities of unrelated texts, by their minima; None for too few texts."""
    if len(texts) < SAMPLED_DOCUMENTS:
        return None
    minima = signer.signatures(texts[:SAMPLED_DOCUMENTS], errors="replace", threads=threads).minima
    agreeing = [
        kernel.agreements(minima[at : at + 1], minima[at + 1 :]) for at in range(len(minima) - 1)
    ]
    every = np.concatenate(agreeing).astype(np.float32) / np.float32(minima.shape[1])
    unrelated = every[every < UNRELATED_BELOW]
    return plan.background_of(unrelated) if len(unrelated) else None


class SortedKeys:
    """A growing set of keys of 64 bits, in eight bytes each.

    It consists of a few ascending arrays, each more than twice as large as the next one.  So a key
    is moved few times, and a lookup searches few arrays.
    """

    def __init__(self) -> None:
        """Create an empty set."""
        self._parts: list[U64] = []

    def __len__(self) -> int:
        """Count the keys."""
        return sum(map(len, self._parts))

    def add(self, keys: U64) -> Bools:
        """Add keys; return whether each is new, the first of equal ones only: bool[n]."""
        ordered, order = keys.copy(), np.arange(len(keys), dtype=np.uint32)
        kernel.sort(ordered, order)
        is_new = is_first(ordered)
        is_new &= ~self.holds(ordered)
        found = flags_at(order[is_new], len(keys))
        self.append(ordered[is_new])
        return found

    def append(self, keys: U64) -> None:
        """Add ascending keys; a later merge removes duplicates."""
        if len(keys):
            self._parts.append(keys)
        while any(len(larger) <= 2 * len(other) for larger, other in pairwise(self._parts[-2:])):
            self._merge()

    def holds(self, keys: U64) -> Bools:
        """Return whether each key is in the set: bool[n]."""
        found = np.zeros(len(keys), np.bool_)
        for part in self._parts:
            found |= places_in(part, keys) >= 0
        return found

    def all(self) -> U64:
        """Return all keys, ascending."""
        while len(self._parts) > 1:
            self._merge()
        return self._parts[0] if self._parts else np.empty(0, np.uint64)

    def _merge(self) -> None:
        """Merge the last two arrays into one."""
        smaller, larger = self._parts.pop(), self._parts.pop()
        merged = np.concatenate([larger, smaller])
        del larger, smaller
        merged.sort(kind="stable")  # a stable sort merges sorted runs
        is_new = is_first(merged)
        self._parts.append(merged if is_new.all() else merged[is_new])
