"""datasketch's `MinHash` and `MinHashLSH`, the index on disk.

    from simdb.compat.datasketch import MinHash, MinHashLSH   # was: from datasketch import ...

    with MinHashLSH(threshold=0.5, num_perm=128, path="pages.simdb") as lsh:
        lsh.insert("a", minhash)
        lsh.query(minhash)

The index is a simdb database of MinHash signatures, with datasketch's own bands and candidates:
`query` gives every key that agrees in a band, and `database` is there for all else.  Of each
MinHash it keeps the b * r hash values that are in bands, the first ones again where their number
is no multiple of 8.  Keys are str, bytes or int.  Where datasketch raises ValueError, so does this:
InputError and OptionError are such.

A pickle of an index names the directory and its mode, and holds none of the keys: unpickling opens
that directory again, and raises NotFoundError where it is gone.  To keep or move an index, use
`lsh.database.copy` or `dump`.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from simdb import database
from simdb.compat.band_choice import SCHEME_OF, banded, chosen_bands, new_options
from simdb.compat.minwise import LARGEST, LEGACY, MinHash, sha1_hash32, sha1_hash64
from simdb.compat.sessions import DeletionSession, InsertionSession
from simdb.errors import ExistsError, InputError, NotFoundError, OptionError
from simdb.minhash import Minhash
from simdb.options import Options
from simdb.signatures import Signature
from simdb.values import Id, describe

__all__ = ["MinHash", "MinHashLSH", "sha1_hash32", "sha1_hash64"]

# Less than one minimum of any signature: whatever agrees in a band is given.
ANY_SIMILARITY = 1e-6
ANY_RECALL = 0.5
MERGED_SIGNATURES = 1 << 14  # at a time


class MinHashLSH:
    """datasketch's index of `MinHash` by bands, in a database; `b` bands of `r` hash values."""

    def __init__(
        self,
        threshold: float | None = None,
        num_perm: int | None = None,
        weights: tuple[float, float] | None = None,
        params: tuple[int, int] | None = None,
        *,
        path: str | os.PathLike[str],
        scheme: str | None = None,
        seed: int | None = None,
        mode: str = "c",
        durability: str = "full",
    ) -> None:
        """Open the index at `path`, or make it by `simdb.open`'s `mode` and `durability`.

        A new one has datasketch's b and r for a `threshold` (0.9) of `num_perm` (128) hash values,
        `weights` (0.5, 0.5) of false positives and false negatives; or those of `params`.  It
        takes MinHash of one `scheme` ("affine32"; "legacy" for those before datasketch 2.0) and
        `seed` (1).  Of one that is there all of that is known, and what is given must be the same.
        """
        bands = chosen_bands(threshold, num_perm, weights, params)
        given = new_options(bands, scheme, seed)
        self._database = _opened(path, mode, durability, given)
        self._num_perm = num_perm
        self._asked: list[Signature] = []
        is_open = threshold is None and weights is None and params is None
        try:
            self._take_options(None if is_open else bands, scheme, seed)
        except OptionError:
            self.close()
            raise

    @property
    def database(self) -> database.Database:
        """The database itself: queries by similarity, pairs, clusters, `check` and `compact`."""
        return self._database

    @property
    def h(self) -> int:
        """The num_perm that was given; else how many hash values are in bands."""
        return self._num_perm or self.b * self.r

    @property
    def scheme(self) -> str:
        """Of the MinHash that it takes."""
        return SCHEME_OF[self._sketch.family]

    @property
    def seed(self) -> int:
        """Of the MinHash that it takes."""
        return self._sketch.seed

    def insert(self, key: Id, minhash: Any, check_duplication: bool = True) -> None:
        """Add a MinHash, of this module or of datasketch, by a key, and commit.

        InputError where the key is there; without `check_duplication` it is replaced.
        """
        try:
            self._database.insert(key, self.signature(minhash), replace=not check_duplication)
        except ExistsError:
            raise InputError(_taken(key)) from None

    def insert_many(self, keys: Iterable[Id], minhashes: Iterable[Any]) -> int:
        """Add many, all or none, and commit once; returns how many."""
        signatures = [self.signature(each) for each in minhashes]
        try:
            return self._database.insert_many(keys, signatures)
        except ExistsError as error:
            raise InputError(str(error)) from None

    def query(self, minhash: Any) -> list[Id]:
        """The keys of all that agree with a MinHash in a band, whatever else is different."""
        found = self._database.query(
            self.signature(minhash), similarity=ANY_SIMILARITY, recall=ANY_RECALL, method="banding"
        )
        return [each.id for each in found]

    def query_many(self, minhashes: Iterable[Any]) -> list[list[Id]]:
        """The same of many, which is faster than one by one."""
        return self._query_signatures([self.signature(each) for each in minhashes])

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Keep a MinHash for `collect_query_buffer`."""
        self._asked.append(self.signature(minhash))

    def collect_query_buffer(self) -> list[Id]:
        """The keys that agree in a band with each MinHash of the buffer, which is empty then."""
        asked, self._asked = self._asked, []
        found = [set(keys) for keys in self._query_signatures(asked)]
        return list(set.intersection(*found)) if found else []

    def remove(self, key: Id) -> None:
        """Remove a key and commit; InputError where it is not there."""
        try:
            self._database.delete(key)
        except NotFoundError:
            raise InputError(_unknown(key)) from None

    def insertion_session(self, buffer_size: int = 50000) -> InsertionSession:
        """Insertions that are committed `buffer_size` at a time, and at the end of `with`."""
        return InsertionSession(self._database, self.signature, _taken, buffer_size)

    def deletion_session(self, buffer_size: int = 50000) -> DeletionSession:
        """Removals that are committed `buffer_size` at a time, and at the end of `with`."""
        return DeletionSession(self._database, _unknown, buffer_size)

    def merge(self, other: "MinHashLSH", check_overlap: bool = False) -> None:
        """Add everything of another index and commit.

        A key that is in both has the MinHash of the other one then, or is refused by
        `check_overlap`.
        """
        if (self._sketch, self.b, self.r) != (other._sketch, other.b, other.r):
            raise InputError("indexes are merged that have one scheme, seed, num_perm, b and r")
        with other._database.read() as theirs, self._database.write() as transaction:
            keys = list(theirs)
            shared = next((key for key in keys if key in transaction), None)
            if check_overlap and shared is not None:
                raise InputError(_taken(shared))
            for start in range(0, len(keys), MERGED_SIGNATURES):
                part = keys[start : start + MERGED_SIGNATURES]
                stored = [theirs.get(key).signature for key in part]
                transaction.insert_many(part, stored, replace=True)

    def is_empty(self) -> bool:
        """Whether no key is there."""
        return len(self._database) == 0

    def get_counts(self) -> list[dict[bytes, int]]:
        """Of each band: how many keys have the same hash values there, by datasketch's bytes."""
        with self._database.read() as snapshot:
            return self._counts(snapshot, snapshot)

    def get_subset_counts(self, *keys: Id) -> list[dict[bytes, int]]:
        """The same of some keys only; those that are not there do not count."""
        with self._database.read() as snapshot:
            return self._counts(snapshot, [key for key in dict.fromkeys(keys) if key in snapshot])

    def signature(self, minhash: Any) -> Signature:
        """A MinHash as a document of the database, for queries by similarity and the like."""
        values = np.asarray(getattr(minhash, "hashvalues", None))
        if values.ndim != 1 or values.dtype.kind != "u" or values.max(initial=0) > LARGEST[LEGACY]:
            raise InputError(
                f"{describe(minhash)} has no row of unsigned hash values of 32 bits; an index takes"
                " MinHash and LeanMinHash"
            )
        known = getattr(minhash, "scheme", LEGACY), getattr(minhash, "seed", None)
        if known != (self.scheme, self.seed):
            raise InputError(
                f"the MinHash is of scheme {known[0]!r} and seed {known[1]}, but the index of"
                f" {self.scheme!r} and {self.seed}; it is made with MinHashLSH(scheme=, seed=)"
            )
        wanted = self._num_perm
        if len(values) != wanted if wanted else len(values) < self.b * self.r:
            raise InputError(
                f"the MinHash has {len(values)} hash values, but the index"
                f" {'' if wanted else 'at least '}{self.h}"
            )
        return Signature(banded(values[None], self._options)[0], self._sketch)

    def close(self) -> None:
        """Close the database; again is fine."""
        self._database.close()

    def __contains__(self, key: Id) -> bool:
        """Whether a key is there."""
        return key in self._database

    def __enter__(self) -> "MinHashLSH":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _query_signatures(self, asked: Sequence[Signature]) -> list[list[Id]]:
        found = self._database.query_many(
            asked, similarity=ANY_SIMILARITY, recall=ANY_RECALL, method="banding"
        )
        return [[each.id for each in found[at]] for at in range(len(asked))]

    def _counts(self, snapshot: Any, keys: Iterable[Id]) -> list[dict[bytes, int]]:
        dtype = np.uint64 if self.scheme == LEGACY else np.uint32
        counts: list[Counter[bytes]] = [Counter() for _ in range(self.b)]
        for key in keys:
            bands = snapshot.get(key).signature.minima[: self.b * self.r].astype(dtype).byteswap()
            for band, counted in zip(bands.reshape(self.b, self.r), counts, strict=True):
                counted[band.tobytes()] += 1
        return [dict(counted) for counted in counts]

    def _take_options(
        self, bands: tuple[int, int] | None, scheme: str | None, seed: int | None
    ) -> None:
        """Take what the database knows; OptionError where something else was said."""
        options = self._database.options
        sketch = options.sketch
        if not isinstance(sketch, Minhash) or not sketch.is_ready or sketch.stored_bits != 32:
            raise OptionError(
                f"{self._database.path} is no index of datasketch's signatures; give another path="
            )
        assert options.bands is not None
        assert options.rows is not None
        self.b, self.r = options.bands, options.rows
        self._options, self._sketch = options, sketch
        wanted = {"scheme": scheme, "seed": seed, "(b, r)": bands}
        found = {"scheme": self.scheme, "seed": self.seed, "(b, r)": (self.b, self.r)}
        differing = [
            f"{name} {value!r}, not {wanted[name]!r}"
            for name, value in found.items()
            if wanted[name] not in (None, value)
        ]
        if differing:
            raise OptionError(
                f"{self._database.path} has {'; '.join(differing)}; leave out what it knows, or"
                " make another index"
            )
        if self.h < self.b * self.r:
            raise OptionError(f"num_perm={self.h} is less than b * r = {self.b} * {self.r}")


def _opened(
    path: str | os.PathLike[str], mode: str, durability: str, options: Options
) -> database.Database:
    """The database that is there, whatever its options, or a new one with these."""
    if mode != "x":
        try:
            return database.open(path, "r" if mode == "r" else "w", durability=durability)
        except NotFoundError:
            if mode != "c":
                raise
    return database.open(path, mode, options=options, durability=durability)


def _taken(key: Id) -> str:
    return f"the key {key!r} is in the index already; remove it first, or check_duplication=False"


def _unknown(key: Id) -> str:
    return f"the key {key!r} is not in the index"
