"""python-threatexchange: an index of PDQ hashes in a database, with the package's interface.

    index = PDQDatabaseIndex("photos.simdb")  # opened, or created
    index.add(pdq, {"bank": 7})
    index.query(pdq)  # within 31 bits, nearest first

The answers are equal to the answers of the package's `PDQIndex`: every match within the distance,
with distance and entry.  An entry is on disk when `add` returns, several processes can use the
directory at the same time, and opening loads nothing.

Entries are metadata of the database, so they are plain objects.  Nothing is pickled: `serialize`
writes the path of the directory.
"""

import os
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, BinaryIO, ClassVar, TypeAlias
from uuid import uuid4

from threatexchange.signal_type import index as package

from simdb.compat.rows import opened_at
from simdb.core.documents import Document
from simdb.core.errors import InputError, OptionError
from simdb.core.options import Bits, Options
from simdb.database import Database, WriteTransaction, open as open_database
from simdb.storage import metadata

Place: TypeAlias = str | os.PathLike[str] | Database[bytes]
Entries: TypeAlias = Iterable[tuple[str, Any]]

PDQ_BITS = 256
SERIALIZED = b"simdb directory "


class PDQDatabaseIndex(package.SignalTypeIndex[Any]):  # type: ignore[misc]
    """An index of PDQ hashes in a directory; `database` is the simdb database.

    `get_index_cls` of a `SignalType` can return a subclass with a `PATH`, since the package makes
    an index without arguments.
    """

    PATH: ClassVar[Place | None] = None

    def __init__(self, path: Place | None = None, entries: Entries = ()) -> None:
        """Open or create the index at `path`, and add `entries`.

        `path` is a directory or an open `Database` of `simdb.Bits(256)`, which may have another
        distance than 31, a mode and a durability.  Raises OptionError for any other database.
        """
        path = self.PATH if path is None else path
        if path is None:
            raise OptionError(f"{type(self).__name__} needs path=, or a subclass with a PATH")
        if not isinstance(path, Database):
            path = opened_at(path, "c", "full", Options(sketch=Bits(PDQ_BITS)))
        if path.options.bits != PDQ_BITS:
            raise OptionError(f"{path.path} has no hashes of {PDQ_BITS} bits, as PDQ")
        self.database = path
        if entries:
            self.add_all(entries)

    @classmethod
    def build(cls, entries: Entries, path: Place | None = None) -> "PDQDatabaseIndex":
        """Open or create the index at `path`, and replace its entries in one commit.

        Until the commit, other processes find the old entries.
        """
        index = cls(path)
        with index.database.write() as transaction:
            transaction.delete_many(list(transaction))
            _insert(transaction, entries)
        return index

    def add(self, signal_str: str, entry: Any) -> None:
        """Add an entry; an equal stored entry is also kept."""
        self.add_all([(signal_str, entry)])

    def add_all(self, entries: Entries) -> None:
        """Add many entries in one commit, all or none."""
        _insert(self.database, entries)

    def delete(self, signal_str: str, where: Callable[[Any], bool] | None = None) -> int:
        """Delete the entries of a hash, or only those with `where(entry)`; return their number."""
        with self.database.write() as transaction:
            found = transaction.query(signal_str, distance=0, where=where)
            return transaction.delete_many([match.id for match in found])

    def query(self, query: str) -> list[Any]:
        """Return an `IndexMatch` for each entry within the distance, nearest first."""
        with self.database.read() as snapshot:
            found = snapshot.query(query)
            documents = snapshot.get_many([match.id for match in found])
        return list(map(_match, [match.distance for match in found], documents))

    def query_many(self, queries: Iterable[str]) -> list[list[Any]]:
        """Return the result of `query` for each of many hashes, faster than one by one."""
        with self.database.read() as snapshot:
            matches = snapshot.query_many(list(queries))
            documents = snapshot.get_many(matches.ids)
        found = list(map(_match, matches.distances.tolist(), documents))
        return [found[start:stop] for start, stop in pairwise(matches.offsets.tolist())]

    def serialize(self, fout: BinaryIO) -> None:
        """Write the path of the directory, which holds the index."""
        fout.write(SERIALIZED + os.fsencode(os.path.abspath(self.database.path)))

    @classmethod
    def deserialize(cls, fin: BinaryIO) -> "PDQDatabaseIndex":
        """Open the directory that `serialize` named; raise NotFoundError if it is gone."""
        written = fin.read()
        if not written.startswith(SERIALIZED):
            raise InputError(f"{cls.__name__} did not write this; build() takes the entries")
        return cls(open_database(os.fsdecode(written.removeprefix(SERIALIZED)), "w"))

    def dispose(self) -> None:
        """Close the database."""
        self.database.close()

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.database)


def _match(distance: int, document: Document[bytes]) -> Any:
    bits = package.SignalSimilarityInfoWithIntDistance(distance)
    return package.IndexMatchUntyped(bits, document.metadata)


def _insert(target: "Database[bytes] | WriteTransaction[bytes]", entries: Entries) -> None:
    """Store entries under new ids; raise InputError, naming the hash, if that is impossible."""
    every = list(entries)
    hashes, values = [signal for signal, _ in every], [entry for _, entry in every]
    try:
        target.insert_many([uuid4().bytes for _ in every], hashes, values)
    except InputError:
        for signal, entry in every:
            metadata.pack_metadata(entry, f"hash {signal}")
        raise
