"""Rows: the minima of an index by id, stored in a database or kept temporarily.

`TemporaryRows` insert into memory.  When there are `SETTLED` rows, one commit moves them into a
database in a temporary directory.  The directory is made at the first such commit, so a small index
is never written to disk.  Rows of a form that no database can have, such as 100 bands, remain in
memory.  The directory is removed when the rows are closed or nothing refers to them.
"""

import os
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from threading import RLock
from typing import Any

import numpy as np

from simdb import database
from simdb.compat.row_form import RowForm
from simdb.core.arrays import Id, describe
from simdb.core.choices import DurabilityName, ModeName
from simdb.core.dtypes import U32
from simdb.core.errors import ClosedError, ExistsError, NotFoundError, OptionError, undoing
from simdb.core.options import Options
from simdb.database import Database, Reading
from simdb.storage import TemporaryFolder

# Less than the share of one minimum, so that every document that agrees in a band matches.
ANY: dict[str, Any] = {"similarity": 1e-6, "recall": 0.5, "search": "banding"}
READ_ROWS = 1 << 14  # rows in a batch

# A larger number makes fewer commits, but takes more memory: about 200 bytes for each row and band.
SETTLED = 1 << 13

Rows = Mapping[Id, U32]
_temporary: "weakref.WeakSet[TemporaryRows]" = weakref.WeakSet()


class DatabaseRows:
    """Rows of minima by id, each a document of a database; every change is a commit."""

    def __init__(self, database: Database, form: RowForm) -> None:
        """Use an open database whose rows have this form."""
        self.database = database
        self.form = form

    def write(self, new: Rows, replacing: Rows) -> None:
        """Insert new rows, and replace the rows of some ids, in one commit.

        Raises ExistsError if a new id exists.
        """
        if len(new) + len(replacing) == 1:
            (id, row), *_ = [*new.items(), *replacing.items()]
            self.database.insert(
                id, self.form.signature(row), on_conflict="replace" if not new else "error"
            )
            return
        self.write_all([(new, False), (replacing, True)])

    def write_all(self, parts: Iterable[tuple[Rows, bool]]) -> None:
        """Insert parts of new rows, and parts of rows that replace others, in one commit."""
        with self.database.write() as transaction:
            for part, is_replacing in parts:
                if part:
                    signatures = self.form.signatures(np.stack(list(part.values())))
                    transaction.insert_many(
                        list(part), signatures, on_conflict="replace" if is_replacing else "error"
                    )

    def delete(self, ids: Collection[Id]) -> None:
        """Delete the rows of ids in one commit; raise NotFoundError if one does not exist."""
        if self.database.delete_many(list(ids)) != len(ids):
            raise NotFoundError("a key is not in the index")

    def find(self, row: U32, bands: int | None = None) -> list[Id]:
        """Return the ids whose rows agree in one of the first `bands` (None: of all bands)."""
        if bands is None:
            return self._found(self.database, row)
        with self.database.read() as snapshot:
            found = self._found(snapshot, row)
            minima = bands * self.form.band_minima
            asked = row[:minima].reshape(bands, -1)
            return [
                id
                for id in found
                if (_row(snapshot, id, minima).reshape(bands, -1) == asked).all(axis=1).any()
            ]

    def find_many(self, rows: Sequence[U32]) -> list[list[Id]]:
        """Return the ids whose rows agree in a band, for each of many rows."""
        if not rows:
            return []
        found = self.database.query_many(self.form.signatures(np.stack(rows)), **ANY)
        return [[each.id for each in found[at]] for at in range(len(rows))]

    def parts(self, ids: Iterable[Id] | None = None) -> Iterator[tuple[list[Id], U32]]:
        """Yield ids and their rows uint32[n, minima], in parts; unknown `ids` are skipped."""
        minima = self.form.bands * self.form.band_minima
        with self.database.read() as snapshot:
            known = list(snapshot) if ids is None else [id for id in ids if id in snapshot]
            for start in range(0, len(known), READ_ROWS):
                part = known[start : start + READ_ROWS]
                yield part, np.stack([_row(snapshot, id, minima) for id in part])

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def _found(self, reading: Reading, row: U32) -> list[Id]:
        found = reading.query(self.form.signature(row), **ANY)
        return [each.id for each in found]

    def __contains__(self, id: Id) -> bool:
        """Return whether an id has a row."""
        return id in self.database

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.database)


class TemporaryRows:
    """Rows of minima by id that end with the process."""

    def __init__(self, form: RowForm) -> None:
        """Start with no rows of this form."""
        self.form = form
        self._newest = MemoryRows(form)
        self._older: DatabaseRows | None = None
        # The ids in the database, since a lookup there takes longer than the rest of an insertion.
        self._settled: set[Id] = set()
        self._is_closed = False
        self._lock = RLock()
        _temporary.add(self)

    @property
    def database(self) -> Database:
        """The database with all rows; raise OptionError if no database can have this form."""
        with self._lock:
            self._check_open()
            if not self.form.fits_database:
                assert self.form.options is None  # raises an error with the reason
            return self._settle().database

    def write(self, new: Rows, replacing: Rows) -> None:
        """Insert new rows, and replace others; raise ExistsError if a new id exists."""
        with self._lock:
            self._check_open()
            for id in new:
                if id in self:
                    raise ExistsError(f"the id {id!r} exists")
            for id, row in chain(new.items(), replacing.items()):
                if id in self:
                    self.delete([id])
                self._newest.insert(id, row)
                if len(self._newest) >= SETTLED and self.form.fits_database:
                    self._settle()

    def write_all(self, parts: Iterable[tuple[Rows, bool]]) -> None:
        """Insert parts of new rows, and parts of rows that replace others."""
        for part, is_replacing in parts:
            self.write({} if is_replacing else part, part if is_replacing else {})

    def delete(self, ids: Collection[Id]) -> None:
        """Delete the rows of ids; raise NotFoundError if one does not exist."""
        with self._lock:
            self._check_open()
            settled = [id for id in ids if id not in self._newest]
            for id in settled:
                if id not in self._settled:
                    raise NotFoundError(f"the id {id!r} does not exist")
            if settled and self._older is not None:
                self._older.delete(settled)
                self._settled.difference_update(settled)
            for id in set(ids).difference(settled):
                self._newest.delete(id)

    def find(self, row: U32, bands: int | None = None) -> list[Id]:
        """Return the ids whose rows agree in one of the first `bands` (None: of all bands)."""
        with self._lock:
            self._check_open()
            older = [] if self._older is None else self._older.find(row, bands)
            return older + self._newest.find(row, bands)

    def find_many(self, rows: Sequence[U32]) -> list[list[Id]]:
        """Return the ids whose rows agree in a band, for each of many rows."""
        with self._lock:
            self._check_open()
            newest = [self._newest.find(row) for row in rows]
            older = [[]] * len(rows) if self._older is None else self._older.find_many(rows)
            return [left + right for left, right in zip(older, newest, strict=True)]

    def parts(self, ids: Iterable[Id] | None = None) -> Iterator[tuple[list[Id], U32]]:
        """Yield ids and their rows uint32[n, minima], in parts; unknown `ids` are skipped."""
        with self._lock:
            self._check_open()
            asked = None if ids is None else list(ids)
            if self._older is not None:
                yield from self._older.parts(asked)
            if len(self._newest):
                yield self._newest.read(asked)

    def close(self) -> None:
        """Forget all rows and remove the directory; a second call does nothing."""
        with self._lock:
            self._is_closed = True
            self._newest = MemoryRows(self.form)
            self._older, self._settled = None, set()
            if hasattr(self, "_removal"):
                self._removal()

    def _settle(self) -> DatabaseRows:
        """Move the newest rows into the database."""
        if self._older is None:
            folder = TemporaryFolder(None)
            with undoing(folder.remove):
                made = database.open(
                    folder.database, "x",
                    options=self.form.options, durability="none",
                )  # fmt: skip
            self._removal = weakref.finalize(self, _remove, made, folder, os.getpid())
            self._older = DatabaseRows(made, self.form)
        ids, rows = self._newest.read()
        if ids:
            self._older.write(dict(zip(ids, rows, strict=True)), {})
            self._settled.update(ids)
            self._newest = MemoryRows(self.form)
        return self._older

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the index is closed; make or open another")

    def __contains__(self, id: Id) -> bool:
        """Return whether an id has a row."""
        with self._lock:
            self._check_open()
            return id in self._newest or id in self._settled

    def __len__(self) -> int:
        """Return the number of rows."""
        with self._lock:
            self._check_open()
            return len(self._newest) + len(self._settled)


class MemoryRows:
    """Rows of minima by id, with a table of ids for each band."""

    def __init__(self, form: RowForm) -> None:
        """Start with no rows of this form."""
        size = 4 * form.band_minima
        self._cuts = [slice(at * size, (at + 1) * size) for at in range(form.bands)]
        self._tables: list[dict[bytes, list[Id]]] = [{} for _ in self._cuts]
        self._rows: dict[Id, bytes] = {}

    def insert(self, id: Id, row: U32) -> None:
        """Insert a row under an id that has none."""
        content = row.tobytes()
        self._rows[id] = content
        for cut, table in zip(self._cuts, self._tables, strict=True):
            table.setdefault(content[cut], []).append(id)

    def delete(self, id: Id) -> None:
        """Delete the row of an id."""
        content = self._rows.pop(id)
        for cut, table in zip(self._cuts, self._tables, strict=True):
            same = table[content[cut]]
            same.remove(id)
            if not same:
                del table[content[cut]]

    def find(self, row: U32, bands: int | None = None) -> list[Id]:
        """Return the ids whose rows agree in one of the first `bands` (None: of all), in order."""
        content = row.tobytes()
        pairs = zip(self._cuts[:bands], self._tables, strict=False)
        same = (table.get(content[cut], ()) for cut, table in pairs)
        return list(dict.fromkeys(chain.from_iterable(same)))

    def read(self, ids: Iterable[Id] | None = None) -> tuple[list[Id], U32]:
        """Return ids and their rows uint32[n, minima]; unknown `ids` are skipped."""
        known = list(self._rows) if ids is None else [id for id in ids if id in self._rows]
        content = b"".join(self._rows[id] for id in known)
        minima = self._cuts[-1].stop // 4
        return known, np.frombuffer(content, np.uint32).reshape(len(known), minima)

    def __contains__(self, id: Id) -> bool:
        """Return whether an id has a row."""
        return id in self._rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)


def opened_at(
    path: str | os.PathLike[str], mode: ModeName, durability: DurabilityName, options: Options
) -> Database:
    """Open a database with its own options, or create one with `options`."""
    if mode != "x":
        try:
            return database.open(path, "r" if mode == "r" else "w", durability=durability)
        except NotFoundError:
            if mode != "c":
                raise
    return database.open(path, mode, options=options, durability=durability)


def check_storage(storage_config: Any, hashfunc: Any) -> None:
    """Raise OptionError for a storage or a hash function of bands that simdb does not support."""
    if storage_config is not None:
        kind = storage_config.get("type") if isinstance(storage_config, dict) else storage_config
        if kind != "dict":
            raise OptionError(
                f"storage_config has type {kind!r}, but simdb stores the index itself; leave out"
                " storage_config=, and give path= for an index that stays on the disk"
            )
    if hashfunc is not None:
        raise OptionError(
            f"hashfunc= is {describe(hashfunc)}, but simdb keeps 8 bytes of each band and needs no"
            " shorter ones; leave it out"
        )


def _row(reading: Reading, id: Id, minima: int) -> U32:
    signature = reading[id].signature
    assert signature is not None
    return signature.minima[:minima]


def _remove(made: Database, folder: TemporaryFolder, process: int) -> None:
    """Close the database and remove its folder; a forked child leaves it to the parent."""
    if os.getpid() == process:
        try:
            made.close()
        finally:
            folder.remove()


def _renew_in_child() -> None:
    """Replace the locks after a fork, since threads of the parent may have held them."""
    for rows in _temporary:
        rows._lock = RLock()


os.register_at_fork(after_in_child=_renew_in_child)
