"""Database rows: the rows of an index in a database, found by its tables of bands."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import database
from simdb.compat.row_form import RowForm
from simdb.database import Database
from simdb.engine.reading import Reading
from simdb.ground.choices import DurabilityName, ModeName
from simdb.ground.errors import NotFoundError, OptionError
from simdb.settings.options import Options
from simdb.values.arrays import Id, describe

# Less than the share of one minimum, so every document that agrees in a band matches.
ANY_SIMILARITY = 1e-6
ANY_RECALL = 0.5
READ_ROWS = 1 << 14  # at a time

U32 = npt.NDArray[np.uint32]
Rows = Mapping[Id, U32]


class DatabaseRows:
    """Rows of minima by id, each a document of a database; each change is a commit."""

    def __init__(self, database: Database, form: RowForm) -> None:
        """Take an open database whose rows have this form."""
        self.database = database
        self.form = form

    def write(self, new: Rows, replacing: Rows) -> None:
        """Insert new rows, and rows that replace those of the same id, with one commit.

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
        """Insert parts of rows, each new or replacing, with one commit."""
        with self.database.write() as transaction:
            for part, is_replacing in parts:
                if part:
                    signatures = self.form.signatures(np.stack(list(part.values())))
                    transaction.insert_many(
                        list(part), signatures, on_conflict="replace" if is_replacing else "error"
                    )

    def delete(self, ids: Collection[Id]) -> None:
        """Delete the rows of ids, with one commit; raise NotFoundError if one does not exist."""
        if len(ids) == 1:
            self.database.delete(next(iter(ids)))
        elif self.database.delete_many(list(ids)) != len(ids):
            raise NotFoundError("a key is not in the index")

    def find(self, row: U32, bands: int | None = None) -> list[Id]:
        """Return the ids whose rows agree in one of the first `bands`, or of all."""
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
        found = self.database.query_many(
            self.form.signatures(np.stack(rows)),
            similarity=ANY_SIMILARITY, recall=ANY_RECALL, search="banding",
        )  # fmt: skip
        return [[each.id for each in found[at]] for at in range(len(rows))]

    def parts(self, ids: Iterable[Id] | None = None) -> Iterator[tuple[list[Id], U32]]:
        """Yield ids, all or those that exist, and their rows uint32[n, minima], in parts."""
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
        found = reading.query(
            self.form.signature(row),
            similarity=ANY_SIMILARITY, recall=ANY_RECALL, search="banding",
        )  # fmt: skip
        return [each.id for each in found]

    def __contains__(self, id: Id) -> bool:
        """Return whether an id has a row."""
        return id in self.database

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.database)


def _row(reading: Reading, id: Id, minima: int) -> U32:
    signature = reading[id].signature
    assert signature is not None
    row: U32 = signature.minima[:minima]
    return row


def check_storage(storage_config: Any, hashfunc: Any) -> None:
    """Raise OptionError for a storage or a hash of bands that simdb does not have."""
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


def opened_at(
    path: str | os.PathLike[str], mode: ModeName, durability: DurabilityName, options: Options
) -> database.Database:
    """Open the database with its own options, or create a new one with `options`."""
    if mode != "x":
        try:
            return database.open(path, "r" if mode == "r" else "w", durability=durability)
        except NotFoundError:
            if mode != "c":
                raise
    return database.open(path, mode, options=options, durability=durability)
