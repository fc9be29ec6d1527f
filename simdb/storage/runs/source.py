"""Source: a read transaction, from which the values of stored runs are fetched."""

from collections.abc import Iterator
from threading import Lock
from typing import Any

import numpy.typing as npt

from simdb.core.errors import ClosedError
from simdb.core.memory import memory_bytes
from simdb.storage import codec, layout
from simdb.storage.environment.environment import Environment
from simdb.storage.environment.file_map import FileMap, Pages, find_map
from simdb.storage.environment.gate import Holder
from simdb.storage.environment.subdatabases import get_value, values_from
from simdb.storage.records.delta import Keying


class Source:
    """A read transaction, from which the values of stored runs are fetched."""

    __slots__ = (
        "_environment", "_file_map", "_is_lent", "_reading", "header_offset", "holder", "keying",
        "width",
    )  # fmt: skip

    def __init__(
        self,
        environment: Environment,
        keying: Keying,
        width: int,
        header_offset: int,
        holder: Holder | None,
        *,
        is_lent: bool = False,
    ) -> None:
        """Read in the transaction of `holder`, which ends with the source; None if it has ended.

        `keying`: the keys of tables.  `width`: the bytes of a volatility vector.  `header_offset`:
        sets the width of the directories of tables of keys, see `header_bits`.  `is_lent`: it is a
        write transaction whose own changes are read; its owner ends it, and must write nothing
        while fetched arrays are in use.
        """
        self._environment = environment
        self.keying = keying
        self.width = width
        self.header_offset = header_offset
        self.holder = holder
        self._reading = Lock() if holder is None else holder.reading
        self._is_lent = is_lent
        self._file_map: FileMap | None = None  # once it is known

    def __enter__(self) -> "Source":
        """Return the source itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the transaction."""
        self.end()

    @property
    def transaction(self) -> Any:
        """The LMDB transaction; None after `end`, and in a forked child."""
        return None if self.holder is None else self.holder.transaction

    def end(self) -> None:
        """End the transaction; a second call does nothing.

        Arrays that were fetched through it may not be used any more.
        """
        holder, self.holder = self.holder, None
        if holder is not None and not self._is_lent:
            self._environment.end(holder)

    def check_open(self) -> None:
        """Raise ClosedError after `end`, ForkedError in a child of the process that began."""
        self._environment.check_usable()
        if self.transaction is None:
            raise ClosedError(
                "the snapshot or transaction that this comes from has ended; read all of it before,"
                " or ask again"
            )

    def fetch(self, name: bytes, kind: bytes, key: bytes, dtype: npt.DTypeLike) -> Any:
        """Return the array stored under `key`; if it is large, its pages are not read yet.

        It may be stored as evenly spaced numbers.  CorruptError if it is missing.
        """
        with self._reading:
            # LMDB notes in the transaction what it has read, and threads may share a verb's work.
            file_map, handle = self._map(), self.handle(name)
            if file_map is None:
                found = get_value(self.transaction, handle, key)
            else:
                found = file_map.value(self.transaction, handle, key)
        return codec.decode_column(kind, key, codec.present(kind, key, found, name), dtype)

    def pages_of(self, array: npt.NDArray[Any]) -> Pages | None:
        """Return the whole pages of an array that lie in the map; None if it is elsewhere.

        So is all that was fetched from inside a write transaction.
        """
        with self._reading:
            file_map = self._map()
        return None if file_map is None else file_map.pages_of(array)

    @property
    def data_bytes(self) -> int:
        """The size of the data file up to its last page in use."""
        return self._environment.used_bytes

    @property
    def memory_bytes(self) -> int:
        """The memory that this process may use."""
        return memory_bytes()

    @property
    def is_larger_than_memory(self) -> bool:
        """Whether the data file is larger than the memory that this process may use."""
        return self.data_bytes > self.memory_bytes

    def value(self, name: bytes, kind: bytes, key: bytes) -> Any:
        """Return the bytes stored under `key` of a sub-database; CorruptError if missing."""
        return codec.present(kind, key, self.find(name, key), name)

    def _map(self) -> FileMap | None:
        """Return the map of the data file; None inside a write transaction.

        The caller has `_reading`.
        """
        if self._file_map is None and not self._is_lent:
            self._file_map = find_map(
                self.transaction,
                self.handle(layout.MANIFEST),
                layout.MANIFEST_KEY,
                self._environment.used_bytes,
            )
        return self._file_map

    def find(self, name: bytes, key: bytes) -> Any:
        """Return the bytes stored under `key` of a sub-database; None if there are none."""
        with self._reading:
            return get_value(self.transaction, self.handle(name), key)

    def handle(self, name: bytes) -> Any:
        """Return LMDB's handle of a sub-database."""
        return self._environment.subdatabase(name)

    def every(self, name: bytes) -> Iterator[tuple[bytes, Any]]:
        """Yield every key of a sub-database, in order, with the bytes stored under it."""
        return values_from(self.transaction, self._environment.subdatabase(name))
