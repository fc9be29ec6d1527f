"""datasketch: its classes `MinHash` and `MinHashLSH`, with the index on disk.

    from simdb.compat.datasketch import MinHash, MinHashLSH   # was: from datasketch import ...

    with MinHashLSH(threshold=0.5, num_perm=128, path="pages.simdb") as lsh:
        lsh.insert("a", minhash)
        lsh.query(minhash)

The index is a simdb database of MinHash signatures, with the bands and candidates of datasketch:
`query` returns every key that agrees in a band; `database` offers everything else.  For each
MinHash the index stores the b * r hash values in bands, and repeats the first ones up to a multiple
of 8.  Keys are str, bytes or int.  Where datasketch raises ValueError, this module raises
InputError or OptionError, which are subclasses of ValueError.

A pickle of an index holds the path of its directory and its mode, but no keys.  Unpickling opens
this directory, and raises NotFoundError if it does not exist.  To back up or move an index, use
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

# Less than the share of one minimum, so every document that agrees in a band matches.
ANY_SIMILARITY = 1e-6
ANY_RECALL = 0.5
MERGED_SIGNATURES = 1 << 14  # per step of `merge`


class MinHashLSH:
    """An index of `MinHash` by `b` bands of `r` hash values, like datasketch's, in a database."""

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
        """Open or create the index at `path`; `mode` and `durability` are those of `simdb.open`.

        A new index has the b and r of `params`, or else those that datasketch chooses from
        `threshold` (0.9), `num_perm` (128) and the `weights` (0.5, 0.5) of false positives and
        false negatives.  It takes MinHash of one `scheme` ("affine32"; "legacy" for MinHash from
        before datasketch 2.0) and one `seed` (1).  An existing index knows all of these; arguments
        that are given must be equal to its own.
        """
        bands = chosen_bands(threshold, num_perm, weights, params)
        given = new_options(bands, scheme, seed)
        self._database = _opened(path, mode, durability, given)
        self._num_perm = num_perm
        self._buffer: list[Signature] = []
        is_open = threshold is None and weights is None and params is None
        try:
            self._take_options(None if is_open else bands, scheme, seed)
        except OptionError:
            self.close()
            raise

    @property
    def database(self) -> database.Database:
        """The database, for queries by similarity, pairs, clusters, `check` and `compact`."""
        return self._database

    @property
    def h(self) -> int:
        """The num_perm that was given, or else the number of hash values in bands."""
        return self._num_perm or self.b * self.r

    @property
    def scheme(self) -> str:
        """The scheme of the MinHash in the index."""
        return SCHEME_OF[self._sketch.family]

    @property
    def seed(self) -> int:
        """The seed of the MinHash in the index."""
        return self._sketch.seed

    def insert(self, key: Id, minhash: Any, check_duplication: bool = True) -> None:
        """Insert a MinHash, of this module or of datasketch, with a key, and commit.

        Raises InputError if the key exists; without `check_duplication`, replaces its MinHash.
        """
        try:
            self._database.insert(key, self.signature(minhash), replace=not check_duplication)
        except ExistsError:
            raise InputError(_taken(key)) from None

    def insert_many(self, keys: Iterable[Id], minhashes: Iterable[Any]) -> int:
        """Insert many MinHash, all or none, with one commit; return their number."""
        signatures = [self.signature(each) for each in minhashes]
        try:
            return self._database.insert_many(keys, signatures)
        except ExistsError as error:
            raise InputError(str(error)) from None

    def query(self, minhash: Any) -> list[Id]:
        """Return the keys of all stored MinHash that agree with this one in at least one band."""
        found = self._database.query(
            self.signature(minhash), similarity=ANY_SIMILARITY, recall=ANY_RECALL, method="banding"
        )
        return [each.id for each in found]

    def query_many(self, minhashes: Iterable[Any]) -> list[list[Id]]:
        """Return the result of `query` for each of many MinHash; faster than one by one."""
        return self._query_signatures([self.signature(each) for each in minhashes])

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Add a MinHash to the buffer for `collect_query_buffer`."""
        self._buffer.append(self.signature(minhash))

    def collect_query_buffer(self) -> list[Id]:
        """Empty the buffer and return the keys that agree in a band with each MinHash in it."""
        queries, self._buffer = self._buffer, []
        found = [set(keys) for keys in self._query_signatures(queries)]
        return list(set.intersection(*found)) if found else []

    def remove(self, key: Id) -> None:
        """Remove a key and commit; raise InputError if it does not exist."""
        try:
            self._database.delete(key)
        except NotFoundError:
            raise InputError(_unknown(key)) from None

    def insertion_session(self, buffer_size: int = 50000) -> InsertionSession:
        """Return a session that commits `buffer_size` insertions at a time, and at its end."""
        return InsertionSession(self._database, self.signature, _taken, buffer_size)

    def deletion_session(self, buffer_size: int = 50000) -> DeletionSession:
        """Return a session that commits `buffer_size` removals at a time, and at its end."""
        return DeletionSession(self._database, _unknown, buffer_size)

    def merge(self, other: "MinHashLSH", check_overlap: bool = False) -> None:
        """Insert all keys of another index and commit.

        A key in both indexes gets the MinHash of `other`; with `check_overlap` it raises
        InputError.
        """
        if (self._sketch, self.b, self.r) != (other._sketch, other.b, other.r):
            raise InputError("both indexes must have the same scheme, seed, num_perm, b and r")
        with other._database.read() as snapshot, self._database.write() as transaction:
            keys = list(snapshot)
            shared = next((key for key in keys if key in transaction), None)
            if check_overlap and shared is not None:
                raise InputError(_taken(shared))
            for start in range(0, len(keys), MERGED_SIGNATURES):
                part = keys[start : start + MERGED_SIGNATURES]
                stored = [snapshot.get(key).signature for key in part]
                transaction.insert_many(part, stored, replace=True)

    def is_empty(self) -> bool:
        """Return whether the index has no keys."""
        return len(self._database) == 0

    def get_counts(self) -> list[dict[bytes, int]]:
        """Return for each band how many keys have each hash value, as datasketch's bytes."""
        with self._database.read() as snapshot:
            return self._counts(snapshot, snapshot)

    def get_subset_counts(self, *keys: Id) -> list[dict[bytes, int]]:
        """Return the result of `get_counts` for some keys only; ignore unknown keys."""
        with self._database.read() as snapshot:
            return self._counts(snapshot, [key for key in dict.fromkeys(keys) if key in snapshot])

    def signature(self, minhash: Any) -> Signature:
        """Return a MinHash as a document of the database, for example for `database.query`."""
        values = np.asarray(getattr(minhash, "hashvalues", None))
        if values.ndim != 1 or values.dtype.kind != "u" or values.max(initial=0) > LARGEST[LEGACY]:
            raise InputError(
                f"{describe(minhash)} has no row of unsigned 32-bit hash values; give a MinHash or"
                " LeanMinHash"
            )
        known = getattr(minhash, "scheme", LEGACY), getattr(minhash, "seed", None)
        if known != (self.scheme, self.seed):
            raise InputError(
                f"the MinHash has scheme {known[0]!r} and seed {known[1]}, but the index has"
                f" {self.scheme!r} and {self.seed}; make the index with MinHashLSH(scheme=, seed=)"
            )
        wanted = self._num_perm
        if len(values) != wanted if wanted else len(values) < self.b * self.r:
            raise InputError(
                f"the MinHash has {len(values)} hash values, but the index needs"
                f" {'' if wanted else 'at least '}{self.h}"
            )
        return Signature(banded(values[None], self._options)[0], self._sketch)

    def close(self) -> None:
        """Close the database; closing it again does nothing."""
        self._database.close()

    def __contains__(self, key: Id) -> bool:
        """Return whether the index has a key."""
        return key in self._database

    def __enter__(self) -> "MinHashLSH":
        """Return this index."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the index."""
        self.close()

    def _query_signatures(self, queries: Sequence[Signature]) -> list[list[Id]]:
        found = self._database.query_many(
            queries, similarity=ANY_SIMILARITY, recall=ANY_RECALL, method="banding"
        )
        return [[each.id for each in found[at]] for at in range(len(queries))]

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
        """Adopt the options of the database; raise OptionError if the arguments differ."""
        options = self._database.options
        sketch = options.sketch
        if not isinstance(sketch, Minhash) or not sketch.is_ready or sketch.stored_bits != 32:
            raise OptionError(
                f"{self._database.path} is not an index of datasketch; give another path="
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
                f"{self._database.path} has {'; '.join(differing)}; leave out these arguments, or"
                " create another index"
            )
        if self.h < self.b * self.r:
            raise OptionError(f"num_perm={self.h} is less than b * r = {self.b} * {self.r}")


def _opened(
    path: str | os.PathLike[str], mode: str, durability: str, options: Options
) -> database.Database:
    """Open the database with its own options, or create a new one with `options`."""
    if mode != "x":
        try:
            return database.open(path, "r" if mode == "r" else "w", durability=durability)
        except NotFoundError:
            if mode != "c":
                raise
    return database.open(path, mode, options=options, durability=durability)


def _taken(key: Id) -> str:
    return f"the key {key!r} exists; remove it first, or pass check_duplication=False"


def _unknown(key: Id) -> str:
    return f"the key {key!r} is not in the index"
