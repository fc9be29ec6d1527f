"""Copying: a copy of the database, made whole or brought up to date.

A copy that follows its database gets the values that have changed, in one transaction: so whatever
happens, it is the database as it was or as it is.  LMDB keeps in memory what a transaction writes;
if very much has changed, as after `compact`, a whole new data file takes the place of the old one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from simdb.core.errors import OptionError
from simdb.core.memory import memory_bytes
from simdb.database.maintenance.compaction import copied, file_bytes, replaced
from simdb.database.state.store import Access, Store, open_store
from simdb.database.write.commit import Writer
from simdb.database.write.idf import copy_idf
from simdb.storage import (
    DATA_FILE,
    contents,
    following,
    is_database,
    layout,
    made_beside,
)

UNFINISHED = ".copying"
# So much is written in one transaction in any case, and a part of the memory at most.
AT_ONCE_BYTES = 1 << 26
MEMORY_PERCENT = 12


def copy(store: Store, target: str, *, incremental: bool = False) -> int:
    """Write a copy without free pages to the new directory `target`; returns its bytes.

    `incremental`: an earlier copy may be there; it is brought up to date.  The bytes are then those
    of the values that it lacked.
    """
    if not incremental or not is_database(target):
        return made_beside(target, UNFINISHED, lambda directory: _copy_into(store, directory))
    if os.path.samefile(target, store.environment.path):
        raise OptionError(f"{target} is the database itself; name another directory for its copy")
    earlier = open_store(target, "w", None, Access("full", None, store.timeout, store.allowed))
    try:
        return _follow(store, earlier)
    finally:
        earlier.close()


@contextmanager
def _made(store: Store, directory: str, path: str) -> Iterator[None]:
    """Make a data file `path` and the IDF table for the copy in `directory`, for a `with` block."""
    with copied(store.environment, path):
        following.note_new_copy(path)
        copy_idf(store, directory)
        yield


def _copy_into(store: Store, directory: str) -> int:
    path = os.path.join(directory, DATA_FILE)
    store.environment.copy_to(path)
    following.note_new_copy(path)
    copy_idf(store, directory)
    return os.path.getsize(path)


def _follow(store: Store, earlier: Store) -> int:
    """Bring a copy up to date; returns the bytes of the values that it lacked."""
    with earlier.begin_write() as right, store.state() as state:
        source, environment = state.source, earlier.environment
        options = contents.with_stored(store.environment, source.transaction, store.options)
        names, stored = contents.all_names(options), contents.all_names(earlier.options)
        with earlier.source() as old:
            following.check_follows(source, old)
            found = list(following.changes(source, names, old, stored))
            if contents.idf_checksum(environment, old.transaction) is None:
                copy_idf(store, environment.path)  # before the options that name it
        if not found:
            return 0
        size = sum(len(value) for _, _, value in found if value is not None)
        whole = min(file_bytes(store) // 2, memory_bytes() * MEMORY_PERCENT // 100)
        made = partial(_made, store, environment.path)
        if size > max(whole, AT_ONCE_BYTES) and not replaced(earlier, right, made):
            return file_bytes(earlier)
        missing = [name for name in names if name not in environment.handles]
        earlier.with_room(lambda: _write(earlier, found, missing), right, size)
        return size


def _write(earlier: Store, changes: list[following.Change], missing: list[bytes]) -> None:
    """Write changes in one transaction; `MapFull` if the map has no space for them."""
    environment = earlier.environment

    def write(transaction: Any) -> None:
        environment.create_subdatabases(missing, transaction)
        # LMDB frees the pages of the values that are replaced.
        environment.watch.walk()
        writer = Writer(earlier, transaction)
        for name, key, value in changes:
            writer.put_all(name, [(key, value)])
        handles = (environment.subdatabase(name) for name in (layout.META, layout.MANIFEST))
        following.note_copy(transaction, *handles)

    try:
        environment.write(write)
    except BaseException:
        environment.handles.forget(missing)
        raise
