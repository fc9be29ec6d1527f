"""Minima: which documents of one run may be alike, from their minima in bands, without a database.

Two documents with the Jaccard similarity s agree in a minimum with probability s, so they share a
band of r minima with probability s^r, and at least one of b bands with 1 - (1 - s^r)^b (Broder
1997; Leskovec, Rajaraman & Ullman 2020, section 3.4).  Only the keys of the bands are kept, 32 bits
each, and each table of them is sorted once.
"""

import os
import tempfile
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.columns.arrow import TextColumn
from simdb.engine.state.incoming import SKETCHED_DOCUMENTS
from simdb.engine.state.incoming import joined as joined_sketches
from simdb.ground.choices import ErrorsName
from simdb.ground.dtypes import I64, U8, U32, U64, Bools
from simdb.index.bands import (
    Background,
    Banding,
    background_of,
    band_keys,
    expected_candidates,
    fewest_bands,
)
from simdb.running import kernel
from simdb.running.memory import column_bytes
from simdb.running.threads import mapped, parts_of, thread_count
from simdb.settings.options import BAG, PERMUTATIONS_MOST, SET, Minhash, Simhash
from simdb.settings.stored_options import Resources
from simdb.settings.text_sketch import threads_for
from simdb.sketch.minhash_sketcher import MinHashSketcher, narrowed, permutations_of
from simdb.sketch.pipeline import NO_RESOURCES
from simdb.sketch.sketcher import Sketcher
from simdb.values.arrays import Sketches, is_first, places_in
from simdb.values.documents import Signatures

# No number of bands makes all pairs candidates.
RECALL_MOST = 0.999999
# What a document costs, in nanoseconds: a minimum of a text of 1 kB, a table, and a candidate.
MINIMUM_COST, TABLE_COST, CANDIDATE_COST = 4.5, 20.0, 150.0
# The similarity of unrelated documents is learnt from the pairs of so many.
SAMPLED_DOCUMENTS, SAMPLED_MINIMA = 512, 256
# More similar ones are copies of one page, which say nothing of other pages.
UNRELATED_BELOW = 0.5
# Candidates are compared by so many minima of 8 bits, before their texts are.
COMPARED_MINIMA = 64
KEY_BITS = 32
# So many keys of a band, or half as many, are sorted at a time, in 24 bytes each.
SORTED_KEYS = 1 << 23

Texts = Sequence[Any] | TextColumn


@dataclass(frozen=True, slots=True)
class BandBuckets:
    """Documents that share the key of a band: members uint32[e], in buckets of `sizes` uint32[k].

    A bucket has at least two documents, in ascending order.
    """

    sizes: U32
    members: U32


def banding_for(
    similarity: float, documents: float, recall: float, background: Background | None = None
) -> Banding | None:
    """Return the bands of least cost that make documents of `similarity` candidates.

    That is with the probability `recall`, and with a larger one for more similar ones.
    `background`: the similarities of unrelated documents; None for those of an unknown collection.
    Returns None if there are none for a signature of the usual size.
    """
    wanted = min(recall, RECALL_MOST)
    every = []
    for rows in range(1, PERMUTATIONS_MOST + 1):
        banding = fewest_bands(rows, PERMUTATIONS_MOST, similarity, wanted, KEY_BITS)
        if banding is None:
            # Of more rows there are fewer bands, and each finds less.
            break
        every.append(banding)

    def cost(banding: Banding) -> float:
        # A pair is a candidate of both documents, and compared once.
        found = expected_candidates(documents / 2, banding, background=background)
        minima = max(banding.bands * banding.rows, COMPARED_MINIMA)
        return minima * MINIMUM_COST + banding.bands * TABLE_COST + found * CANDIDATE_COST

    return min(every, key=cost, default=None)


@dataclass(frozen=True, slots=True)
class Signed:
    """Some documents as they are kept, see `Minima`."""

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
    """The documents of one run, in the order in which they are added.

    Each is kept by the keys of its bands and by its first minima, cut to 8 bits, which tell most
    pairs that share a band by chance from those that match.
    """

    def __init__(
        self,
        sketch: Simhash | Minhash,
        banding: Banding,
        resources: Resources = NO_RESOURCES,
        allowed: Collection[str] = (),
        memory: int | None = None,
    ) -> None:
        """Take features as `sketch` does; for the others see `Sketcher`, `simdb.running.memory`."""
        super().__init__()
        self.banding = banding
        self._signer = signer_of(sketch, banding.bands * banding.rows, resources, allowed)
        self._keys = self.enter_context(Blocks(memory))
        self._minima = self.enter_context(Blocks(memory))
        self._empty: list[Bools] = []

    def sign(self, texts: Texts, *, errors: str = "strict", threads: int = 1) -> Signed:
        """Return some texts as they are kept; InputError for one that is not valid Unicode.

        Several threads may call this.
        """
        return self._signed(self._signer.signatures(texts, errors=errors, threads=threads))

    def sketch_and_sign(
        self, sketcher: Sketcher, texts: TextColumn, *, errors: ErrorsName, threads: int
    ) -> tuple[Sketches, Signed]:
        """Return the sketches of texts by `sketcher`, which can sign, and what `sign` returns."""

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
        found = band_keys(signatures, self.banding)
        keys = np.ascontiguousarray((found >> np.uint64(64 - KEY_BITS)).astype(np.uint32).T)
        family = permutations_of(self._signer.options)
        first = np.ascontiguousarray(signatures.minima[:, :COMPARED_MINIMA])
        return Signed(keys, narrowed(first, family), signatures.is_empty)

    def add(self, signed: Signed) -> None:
        """Take what `sign` returned."""
        self._keys.add(signed.keys)
        self._minima.add(signed.minima)
        self._empty.append(signed.is_empty)

    def __len__(self) -> int:
        """Count the documents."""
        return sum(map(len, self._empty))

    @property
    def is_empty(self) -> Bools:
        """Which documents have no features: bool[n]."""
        return np.concatenate([np.empty(0, np.bool_), *self._empty])

    def rows(self) -> U8:
        """Return the minima of all documents: uint8[n, COMPARED_MINIMA]."""
        return self._minima.whole()

    def buckets(self, order: I64 | None, threads: int) -> list[BandBuckets]:
        """Return the documents that share keys, of each band, by their places in the order.

        `order` int64[k]: the documents that take part, those to be preferred first; None for all
        as they came.
        """
        takes_part = ~self.is_empty
        places = np.flatnonzero(takes_part if order is None else takes_part[order])
        own = places.astype(np.uint32)
        chosen = slice(None) if takes_part.all() else places
        if order is not None:
            chosen = order[places]

        def shared(band: int) -> BandBuckets:
            return shared_keys(self._keys.row(band)[chosen], own)

        return list(mapped(shared, range(self.banding.bands), threads))


def shared_keys(keys: U32, places: U32) -> BandBuckets:
    """Return the buckets of one band, by the key of each of the `places`, which ascend.

    Of very many keys some are sorted at a time, by their first bits, which bounds the memory.
    """
    bits = (len(keys) // SORTED_KEYS).bit_length()
    if not bits:
        return _shared_keys(keys, places)
    first_bits = (keys >> np.uint32(KEY_BITS - bits)).astype(np.uint16)
    parts = (np.flatnonzero(first_bits == part) for part in range(1 << bits))
    found = [_shared_keys(keys[chosen], places[chosen]) for chosen in parts]
    sizes = np.concatenate([each.sizes for each in found])
    return BandBuckets(sizes, np.concatenate([each.members for each in found]))


def _shared_keys(keys: U32, places: U32) -> BandBuckets:
    ordered, members = keys.astype(np.uint64), places.copy()
    kernel.sort(ordered, members)  # stable, so the members of a bucket ascend
    is_same = np.zeros(len(ordered) + 1, np.bool_)
    np.equal(ordered[1:], ordered[:-1], out=is_same[1:-1])
    # A document is in a bucket if it has the key of its neighbour on either side.
    is_in = is_same[:-1] | is_same[1:]
    starts = np.flatnonzero(~is_same[:-1][is_in])
    members = members[is_in]
    return BandBuckets(np.diff(starts, append=len(members)).astype(np.uint32), members)


def signer_of(
    sketch: Simhash | Minhash, minima: int, resources: Resources, allowed: Collection[str]
) -> MinHashSketcher:
    """Return what makes at least so many minima of the features, and weights, of `sketch`.

    The minima of two or three features depend on each other in the family "stratified", so too many
    pairs of short texts would share no band (docs/ALGORITHMS.md, "MinHash").
    """
    many = max(minima, COMPARED_MINIMA)
    settings: dict[str, Any] = {"family": "multiply-shift", "permutations": many}
    if isinstance(sketch, Minhash) and sketch.weighting != SET:
        # Without IDF weights are whole numbers; then bags have minima of the same similarity.
        settings |= {"weighting": sketch.weighting if sketch.uses_idf else BAG, "idf": sketch.idf}
    return MinHashSketcher(Minhash(**sketch.feature_settings, **settings), resources, allowed)


def background_in(texts: Texts, signer: MinHashSketcher, threads: int) -> Background | None:
    """Return how similar unrelated texts are, estimated by their minima; None for too few texts."""
    if len(texts) < SAMPLED_DOCUMENTS:
        return None
    minima = signer.signatures(texts[:SAMPLED_DOCUMENTS], errors="replace", threads=threads).minima
    agreeing = [
        kernel.agreements(minima[at : at + 1], minima[at + 1 :]) for at in range(len(minima) - 1)
    ]
    every = np.concatenate(agreeing).astype(np.float32) / np.float32(minima.shape[1])
    unrelated = every[every < UNRELATED_BELOW]
    return background_of(unrelated) if len(unrelated) else None


class Blocks(ExitStack):
    """Arrays, one after the other, in memory or, if they are large, in a temporary file.

    `with` removes the file.
    """

    def __init__(self, memory: int | None) -> None:
        """Begin without arrays; `memory`: that of the run, see `simdb.running.memory`."""
        super().__init__()
        self._held_bytes = column_bytes(memory)
        self._held: list[npt.NDArray[Any]] = []
        self._waiting: list[tuple[int, tuple[int, ...]]] = []  # places and shapes in the file
        self._size = 0
        self._file: Any = None

    def add(self, block: npt.NDArray[Any]) -> None:
        """Append an array."""
        self._held.append(block)
        self._size += block.nbytes
        if self._size > self._held_bytes:
            self._spill()

    def row(self, number: int) -> U32:
        """Return one row of each array, of keys, one after the other; threads may call this."""
        held, waiting = [block[number] for block in self._held], self._waiting
        ends = np.cumsum([0, *(count for _, (_, count) in waiting)]).tolist()
        found = np.empty(ends[-1] + sum(map(len, held)), np.uint32)
        for (start, stop), (place, _) in zip(pairwise(ends), waiting, strict=True):
            part = found[start:stop]
            os.preadv(self._file.fileno(), [part.data], place + number * part.nbytes)
        np.concatenate([found[:0], *held], out=found[ends[-1] :])
        return found

    def whole(self) -> npt.NDArray[Any]:
        """Return the arrays, of rows of one width, as one."""
        if self._waiting:
            self._spill()
            every: npt.NDArray[Any] = np.memmap(self._file, self._dtype, "r")
            return every.reshape(-1, *self._waiting[0][1][1:])
        if len(self._held) > 1:
            first, ends = self._held[0], np.cumsum([0, *map(len, self._held)]).tolist()
            whole = np.empty((ends[-1], *first.shape[1:]), first.dtype)

            def fill(number: int) -> None:
                whole[ends[number] : ends[number + 1]] = self._held[number]

            for _ in mapped(fill, range(len(self._held)), thread_count()):
                pass
            self._held = [whole]
        return self._held[0]

    def _spill(self) -> None:
        """Move what is in memory into the file."""
        if self._file is None:
            self._file = self.enter_context(tempfile.TemporaryFile("w+b"))  # noqa: SIM115
        for block in self._held:
            self._dtype = block.dtype
            self._waiting.append((self._file.tell(), block.shape))
            self._file.write(block.data)
        self._file.flush()
        self._held, self._size = [], 0


class SortedKeys:
    """A growing set of keys of 64 bits, in eight bytes each.

    They are in a few ascending arrays.  Each is more than twice as large as
    the next one, so that a key is moved few times, and looked up in few places.
    """

    def __init__(self) -> None:
        """Begin without keys."""
        self._parts: list[U64] = []

    def __len__(self) -> int:
        """Count the keys."""
        return sum(map(len, self._parts))

    def add(self, keys: U64) -> Bools:
        """Take keys; return which of them are there for the first time: bool[n]."""
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        is_new = is_first(ordered)
        is_new &= ~self.holds(ordered)
        found = np.zeros(len(keys), np.bool_)
        found[order[is_new]] = True
        self.append(ordered[is_new])
        return found

    def append(self, keys: U64) -> None:
        """Take keys that ascend, of which none is here yet."""
        if len(keys):
            self._parts.append(keys)
        while any(len(larger) <= 2 * len(other) for larger, other in pairwise(self._parts[-2:])):
            self._merge()

    def holds(self, keys: U64) -> Bools:
        """Return which of some keys are here: bool[n]."""
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
        """Make one of the last two arrays."""
        smaller, larger = self._parts.pop(), self._parts.pop()
        merged = np.concatenate([larger, smaller])
        del larger, smaller
        merged.sort(kind="stable")  # which merges what is sorted
        self._parts.append(merged)
