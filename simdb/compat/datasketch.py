"""datasketch: its classes for finding similar sets, with the index in a simdb database.

    from simdb.compat.datasketch import MinHash, MinHashLSH   # was: from datasketch import ...

    lsh = MinHashLSH(threshold=0.5, num_perm=128)                       # temporary
    lsh = MinHashLSH(threshold=0.5, num_perm=128, path="pages.simdb")   # kept on disk
    lsh.insert("a", minhash)
    lsh.query(minhash)

The names are `MinHash`, `MinHashLSH`, `sha1_hash32` and `sha1_hash64`.  The index also takes
`MinHash`, `LeanMinHash` and `WeightedMinHash` objects of datasketch itself.  Hash values, bands and
candidates are the same as in datasketch 2.0.  Where datasketch raises ValueError, this module
raises InputError or OptionError, which are subclasses of ValueError.

`MinHashLSH.database` is a simdb database of MinHash signatures with all its methods.  For each
MinHash the index stores the b * r hash values in bands, and repeats the first ones up to a multiple
of 8.  A pickle of an index with a path holds its path and its mode, but no keys.  Unpickling opens
this directory, and raises NotFoundError if it does not exist.  To back up or move such an index,
use `lsh.database.copy` or `dump`.  A pickle of a temporary index holds its keys.

These parts of datasketch are missing: storage in Redis, Cassandra and MongoDB, the asynchronous
index, the GPU, `hashfunc` of `MinHashLSH`, and all classes that use no index on disk.  `hashtables`
and `keys` are copies; changing them does not change the index.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from simdb.compat import row_form
from simdb.compat.minwise import MinHash, sha1_hash32, sha1_hash64
from simdb.compat.rows import DatabaseRows, TemporaryRows, check_storage, opened_at
from simdb.core.arrays import Id
from simdb.core.choices import DurabilityName, ModeName
from simdb.core.documents import Signature
from simdb.core.errors import ExistsError, InputError, NotFoundError, OptionError
from simdb.database import Database

__all__ = ["MinHash", "MinHashLSH", "sha1_hash32", "sha1_hash64"]

# Classes of datasketch that keep everything in memory, and do not need a database.
IN_MEMORY = (
    "HNSW", "HyperLogLog", "HyperLogLogPlusPlus", "LeanMinHash", "MinHashLSHBloom",
    "MinHashLSHEnsemble", "MinHashLSHForest", "WeightedMinHash", "WeightedMinHashGenerator",
    "WeightedMinHashLSHForest", "bBitMinHash",
)  # fmt: skip
Row = npt.NDArray[np.uint32]
Kind = TypeVar("Kind", bound="Session")


class MinHashLSH:
    """An index of MinHash by `b` bands of `r` hash values, with the candidates of datasketch.

    With `path` it is a database, and keys are str, bytes, int, float, None or tuples of these.
    Without `path` it is temporary, and a key is any object that a dict accepts as a key.  A
    temporary index ends when it is closed or nothing refers to it.
    """

    def __init__(
        self,
        threshold: float | None = None,
        num_perm: int | None = None,
        weights: tuple[float, float] | None = None,
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        scheme: str | None = None,
        seed: int | None = None,
        mode: ModeName = "c",
        durability: DurabilityName = "full",
    ) -> None:
        """Make a temporary index, or open or create the index at `path`.

        An existing index has its own options, and arguments must be equal to them.

        Parameters
        ----------
        threshold : float, optional
            The similarity for which datasketch chooses b and r; 0.9 if not given.
        num_perm : int, optional
            Number of hash values of a MinHash; 128 if not given.
        weights : tuple of float, optional
            The weights of false positives and false negatives in this choice; (0.5, 0.5) if not
            given.
        params : tuple of int, optional
            b and r, instead of the choice by `threshold`, `num_perm` and `weights`.
        storage_config : dict, optional
            {"type": "dict"}, which changes nothing.
        prepickle : bool, optional
            Changes nothing.
        hashfunc : None
            Must be None.
        path : str or path, optional
            Directory of the index; a temporary index if not given.
        scheme : str, optional
            "affine32", "affine64", "legacy" for MinHash of datasketch before 2.0, or "weighted" for
            WeightedMinHash.  The default is "affine32"; a temporary index takes that of its first
            MinHash.
        seed : int, optional
            The seed of all MinHash.  The default is 1; a temporary index takes that of its first
            MinHash.
        mode, durability : str
            See `simdb.open`.

        Raises
        ------
        OptionError
            If an argument is invalid, or differs from an existing index.
        """
        check_storage(storage_config, hashfunc)
        bands = row_form.chosen_bands(threshold, num_perm, weights, params)
        self.b, self.r = bands
        self._num_perm = num_perm
        self._buffer: list[Row] = []
        self._keys: row_form.Keys = (
            row_form.NumberedKeys() if path is None else row_form.WrittenKeys()
        )
        self._rows: TemporaryRows | DatabaseRows | None = None
        self._given = scheme, seed
        if path is None:
            self._num_perm = 128 if num_perm is None else num_perm
            if scheme is not None:
                row_form.new_options((2, 1), scheme)  # raises for an unknown scheme
            return
        given = row_form.new_options(bands, scheme, seed)
        found = opened_at(path, mode, durability, given)
        is_open = threshold is None and weights is None and params is None
        try:
            self._take_options(found, None if is_open else bands, scheme, seed)
        except OptionError:
            found.close()
            raise

    @property
    def database(self) -> Database:
        """The database, for queries by similarity, pairs, clusters, `check` and `compact`.

        A temporary index moves all its keys into a temporary database.  Only read it, since the
        index does not see other changes.  Keys other than str, bytes and int are numbers there.
        """
        if self._rows is None and None in self._given:
            raise InputError(
                "the index is empty and does not know its scheme and seed; insert a MinHash first,"
                " or give MinHashLSH(scheme=, seed=)"
            )
        return self._adopted(self._given).database

    @property
    def h(self) -> int:
        """The given num_perm, or the number of hash values in bands."""
        return self._num_perm or self.b * self.r

    @property
    def scheme(self) -> str | None:
        """Scheme of the MinHash in the index; None until a temporary index gets one."""
        return self._given[0] if self._rows is None else self._rows.form.scheme

    @property
    def seed(self) -> int | None:
        """Seed of the MinHash in the index; None until a temporary index gets one."""
        return self._given[1] if self._rows is None else self._rows.form.seed

    @property
    def keys(self) -> dict[Any, list[bytes]]:
        """A copy of all keys, each with the hash values of its bands as bytes, as in datasketch."""
        return dict(self._entries())

    @property
    def hashtables(self) -> list[dict[bytes, set[Any]]]:
        """A copy of the tables: for each band, the keys by their hash values as bytes."""
        tables: list[dict[bytes, set[Any]]] = [{} for _ in range(self.b)]
        for key, bands in self._entries():
            for band, table in zip(bands, tables, strict=True):
                table.setdefault(band, set()).add(key)
        return tables

    def insert(self, key: Any, minhash: Any, check_duplication: bool = True) -> None:
        """Insert a MinHash of this module or of datasketch under a key; with a path, commit.

        Raises InputError if the key exists; without `check_duplication`, its MinHash is replaced.
        """
        id, row = self.take(key, minhash)
        one = {id: row}
        try:
            self.write(one if check_duplication else {}, {} if check_duplication else one)
        except ExistsError:
            raise InputError(_taken(key)) from None

    def insert_many(self, keys: Iterable[Any], minhashes: Iterable[Any]) -> int:
        """Insert many MinHash, all or none, in one commit; return their number."""
        listed = list(keys)
        rows = [self._row(each, is_new=True) for each in minhashes]
        if len(listed) != len(rows):
            raise InputError(f"there are {len(listed)} keys but {len(rows)} MinHash")
        ids = [self._keys.encode(key) for key in listed]
        new = dict(zip(ids, rows, strict=True))
        if len(new) != len(ids):
            twice = next(key for key, count in Counter(ids).items() if count > 1)
            raise InputError(f"the key {self._keys.decode(twice)!r} is given twice")
        try:
            if new:
                self.write(new, {})
        except ExistsError as error:
            raise InputError(str(error)) from None
        return len(new)

    def query(self, minhash: Any) -> list[Any]:
        """Return the keys of all stored MinHash that agree with this one in any band."""
        return self._decoded(self._found(minhash))

    def query_b(self, minhash: Any, b: int) -> list[Any]:
        """Return the keys of all stored MinHash that agree in any of the first `b` bands."""
        if not 0 < b <= self.b:
            raise InputError(f"b must be from 1 to {self.b}, the bands of the index, got {b}")
        return self._decoded(self._found(minhash, b))

    def query_many(self, minhashes: Iterable[Any]) -> list[list[Any]]:
        """Return the result of `query` for each of many MinHash, faster than one by one."""
        return self._query_rows([self._row(each) for each in minhashes])

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Add a MinHash to the buffer for `collect_query_buffer`."""
        self._buffer.append(self._row(minhash))

    def collect_query_buffer(self) -> list[Any]:
        """Empty the buffer and return the keys that agree in a band with each MinHash in it."""
        queries, self._buffer = self._buffer, []
        found = [set(keys) for keys in self._query_rows(queries)]
        return list(set.intersection(*found)) if found else []

    def remove(self, key: Any) -> None:
        """Remove a key; with a path, commit.  Raises InputError if it does not exist."""
        id = self.find_id(key)
        if id is None:
            raise InputError(_unknown(key))
        try:
            self.delete([id])
        except NotFoundError:
            raise InputError(_unknown(key)) from None

    def insertion_session(self, buffer_size: int = 50000) -> "InsertionSession":
        """Return a session that commits `buffer_size` insertions at a time, and at its end."""
        return InsertionSession(self, buffer_size)

    def deletion_session(self, buffer_size: int = 50000) -> "DeletionSession":
        """Return a session that commits `buffer_size` removals at a time, and at its end."""
        return DeletionSession(self, buffer_size)

    def merge(self, other: "MinHashLSH", check_overlap: bool = False) -> None:
        """Insert all keys of another index in one commit.

        A key in both indexes gets the MinHash of `other`; with `check_overlap` it raises
        InputError.
        """
        alike = isinstance(other, MinHashLSH) and (self.b, self.r) == (other.b, other.r)
        if not alike or not all(
            left == right or None in (left, right)
            for left, right in ((self.scheme, other.scheme), (self.seed, other.seed))
        ):
            raise InputError("both indexes must have the same scheme, seed, num_perm, b and r")
        if other._rows is None:
            return
        rows = self._adopted((other.scheme, other.seed))
        if check_overlap:
            shared = next((key for key, _ in other._entries() if key in self), None)
            if shared is not None:
                raise InputError(_taken(shared))
        rows.write_all(
            ({self._keys.encode(other._keys.decode(id)): row for id, row in part}, True)
            for part in (zip(ids, rows, strict=True) for ids, rows in other._rows.parts())
        )

    def is_empty(self) -> bool:
        """Return whether the index has no keys."""
        return self._rows is None or len(self._rows) == 0

    def get_counts(self) -> list[dict[bytes, int]]:
        """Return the number of keys for each hash value (bytes as in datasketch) of each band."""
        return [{band: len(keys) for band, keys in table.items()} for table in self.hashtables]

    def get_subset_counts(self, *keys: Any) -> list[dict[bytes, int]]:
        """Return the result of `get_counts` for only these keys; unknown keys are ignored."""
        counts: list[Counter[bytes]] = [Counter() for _ in range(self.b)]
        ids = [self._keys.find(key) for key in keys]
        for _, bands in self._entries([id for id in dict.fromkeys(ids) if id is not None]):
            for band, counted in zip(bands, counts, strict=True):
                counted[band] += 1
        return [dict(counted) for counted in counts]

    def signature(self, minhash: Any) -> Signature:
        """Return a MinHash as a document of the database, for example for `database.query`."""
        row = self._row(minhash, is_new=True)
        return self._adopted().form.signature(row)

    def close(self) -> None:
        """Close the database, or forget the keys of a temporary index."""
        if self._rows is not None:
            self._rows.close()

    def take(self, key: Any, minhash: Any) -> tuple[Id, Row]:
        """Return the id and the row of minima for a key and its MinHash; used by sessions."""
        row = self._row(minhash, is_new=True)
        return self._keys.encode(key), row

    def find_id(self, key: Any) -> Id | None:
        """Return the id of a key in the database; None if the index does not have the key."""
        id = self._keys.find(key)
        return id if id is not None and self._rows is not None and id in self._rows else None

    def write(self, new: dict[Id, Row], replacing: dict[Id, Row]) -> None:
        """Insert rows by id; used by sessions.  Raises ExistsError if a new id exists."""
        self._adopted().write(new, replacing)

    def delete(self, ids: list[Id]) -> None:
        """Delete the rows of ids; used by sessions.  Raises NotFoundError for unknown ids."""
        self._adopted().delete(ids)
        for id in ids:
            self._keys.forget(id)

    def __contains__(self, key: Any) -> bool:
        """Return whether the index has a key."""
        return self.find_id(key) is not None

    def __enter__(self) -> "MinHashLSH":
        """Return this index."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the index."""
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return the database of an index with a path, and all keys of a temporary index."""
        state = {"_num_perm": self._num_perm}
        if isinstance(self._rows, DatabaseRows):
            return {**state, "_database": self._rows.database}
        parts = [] if self._rows is None else list(self._rows.parts())
        keys = [self._keys.decode(id) for ids, _ in parts for id in ids]
        rows = np.concatenate([rows for _, rows in parts]) if parts else None
        kind = self.scheme, self.seed
        return {**state, "bands": (self.b, self.r), "kind": kind, "keys": keys, "rows": rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the database of an index with a path, or insert the keys of a temporary index."""
        self._num_perm, self._buffer, self._rows = state["_num_perm"], [], None
        if "_database" in state:
            self._keys = row_form.WrittenKeys()
            self._take_options(state["_database"], None, None, None)
            return
        self._keys = row_form.NumberedKeys()
        (self.b, self.r), self._given = state["bands"], state["kind"]
        if state["rows"] is not None:
            ids = map(self._keys.encode, state["keys"])
            self._adopted(self._given).write(dict(zip(ids, state["rows"], strict=True)), {})

    def _row(self, minhash: Any, is_new: bool = False) -> Row:
        """Return the row of a MinHash; with `is_new`, a temporary index may adopt its scheme."""
        if self._rows is not None:
            return self._rows.form.row(minhash)
        row = self._form(*row_form.kind_of(minhash)).row(minhash)
        if is_new:
            self._adopted(row_form.kind_of(minhash))
        return row

    def _adopted(self, kind: tuple[Any, Any] | None = None) -> TemporaryRows | DatabaseRows:
        """Return the rows; new rows of a temporary index get the scheme and seed `kind`."""
        if self._rows is None:
            assert kind is not None
            self._rows = TemporaryRows(self._form(*kind))
        return self._rows

    def _form(self, scheme: str, seed: int) -> row_form.RowForm:
        """Return the form of a temporary index; its given scheme and seed take precedence."""
        known_scheme, known_seed = self._given
        return row_form.RowForm(
            scheme if known_scheme is None else known_scheme,
            seed if known_seed is None else known_seed,
            self.b, self.r, self._num_perm,
        )  # fmt: skip

    def _found(self, minhash: Any, bands: int | None = None) -> list[Id]:
        row = self._row(minhash)
        return [] if self._rows is None else self._rows.find(row, bands)

    def _query_rows(self, rows: list[Row]) -> list[list[Any]]:
        if self._rows is None:
            return [[] for _ in rows]
        return [self._decoded(ids) for ids in self._rows.find_many(rows)]

    def _decoded(self, ids: list[Id]) -> list[Any]:
        return [self._keys.decode(id) for id in ids]

    def _entries(self, ids: list[Id] | None = None) -> Iterator[tuple[Any, list[bytes]]]:
        """Yield keys with their hash values in bands; `ids`: only these."""
        if self._rows is None:
            return
        for part, rows in self._rows.parts(ids):
            for id, row in zip(part, rows, strict=True):
                yield self._keys.decode(id), self._rows.form.keys_of(row)

    def _take_options(
        self, opened: Database, bands: tuple[int, int] | None, scheme: str | None, seed: int | None
    ) -> None:
        """Adopt the options of a database; raise OptionError if the arguments differ."""
        form = row_form.form_of(opened.options, self._num_perm)
        if form is None:
            raise OptionError(f"{opened.path} is not an index of datasketch; give another path=")
        self.b, self.r = form.bands, form.rows
        self._given = form.scheme, form.seed
        self._rows = DatabaseRows(opened, form)
        wanted = {"scheme": scheme, "seed": seed, "(b, r)": bands}
        found = {"scheme": form.scheme, "seed": form.seed, "(b, r)": (self.b, self.r)}
        differing = [
            f"{name} {value!r}, not {wanted[name]!r}"
            for name, value in found.items()
            if wanted[name] not in (None, value)
        ]
        if differing:
            raise OptionError(
                f"{opened.path} has {'; '.join(differing)}; leave out these arguments, or"
                " create another index"
            )
        if self.h < self.b * self.r:
            raise OptionError(f"num_perm={self.h} is less than b * r = {self.b} * {self.r}")


class Session:
    """A buffer for an index, which is committed at the end of `with`."""

    def __init__(self, index: MinHashLSH, buffer_size: int) -> None:
        """Use an index; `buffer_size`: number of changes in a commit."""
        if buffer_size < 1:
            raise OptionError(f"buffer_size must be 1 or more, got {buffer_size}")
        self._index, self._size = index, buffer_size

    def close(self) -> None:
        """Commit the buffer and empty it; the session remains usable."""
        raise NotImplementedError

    def __enter__(self: Kind) -> Kind:
        """Return this session."""
        return self

    def __exit__(self, *error: object) -> None:
        """Commit the buffer."""
        self.close()


class InsertionSession(Session):
    """A buffer of insertions, made by `MinHashLSH.insertion_session` and used with `with`."""

    def __init__(self, index: MinHashLSH, buffer_size: int) -> None:
        """Make an empty session; users call `MinHashLSH.insertion_session`."""
        super().__init__(index, buffer_size)
        self._new: dict[Id, Row] = {}
        self._replacing: dict[Id, Row] = {}

    def insert(self, key: Any, minhash: Any, check_duplication: bool = True) -> None:
        """Add a MinHash with a key to the buffer; see `MinHashLSH.insert`."""
        is_stored = check_duplication and self._index.find_id(key) is not None
        id, row = self._index.take(key, minhash)
        if not check_duplication:
            # The key may also be in the buffer.
            self._new.pop(id, None)
            self._replacing[id] = row
        elif is_stored or id in self._new or id in self._replacing:
            raise InputError(_taken(key))
        else:
            self._new[id] = row
        if len(self._new) + len(self._replacing) >= self._size:
            self.close()

    def close(self) -> None:
        """Commit the buffer and empty it; the session remains usable."""
        new, self._new = self._new, {}
        replacing, self._replacing = self._replacing, {}
        if not new and not replacing:
            return
        try:
            self._index.write(new, replacing)
        except ExistsError as error:
            raise InputError(str(error)) from None


class DeletionSession(Session):
    """A buffer of removals, made by `MinHashLSH.deletion_session` and used with `with`."""

    def __init__(self, index: MinHashLSH, buffer_size: int) -> None:
        """Make an empty session; users call `MinHashLSH.deletion_session`."""
        super().__init__(index, buffer_size)
        self._ids: dict[Id, None] = {}

    def remove(self, key: Any) -> None:
        """Add a key to the buffer; see `MinHashLSH.remove`."""
        id = self._index.find_id(key)
        if id is None or id in self._ids:
            raise InputError(_unknown(key))
        self._ids[id] = None
        if len(self._ids) >= self._size:
            self.close()

    def close(self) -> None:
        """Commit the buffer and empty it; the session remains usable."""
        ids, self._ids = self._ids, {}
        if ids:
            self._index.delete(list(ids))


def _taken(key: Any) -> str:
    """Return the message for a key that exists."""
    return f"the key {key!r} exists; remove it first, or pass check_duplication=False"


def _unknown(key: Any) -> str:
    """Return the message for a key that does not exist."""
    return f"the key {key!r} is not in the index"


def __getattr__(name: str) -> object:
    """Raise an error that says where to find a class of datasketch.

    It is an ImportError, since Python replaces the message of an AttributeError.
    """
    if name in IN_MEMORY:
        raise ImportError(
            f"simdb has no {name}, because it uses no database; use `from datasketch import {name}`"
        )
    if name == "WeightedMinHashLSH":
        raise ImportError("simdb has no WeightedMinHashLSH; use MinHashLSH(scheme='weighted')")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
