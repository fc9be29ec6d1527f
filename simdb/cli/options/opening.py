"""Opening: opens the database of a command for reading or writing.

A database to read may be sharded.  A database to write to may not exist yet.  It is then created
and announced when the first document has been read.  If the command fails afterwards, the database
is kept, since another process may have opened it, and a note says that it is empty.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import simdb
from simdb import storage
from simdb.cli.output.progress import Progress

if TYPE_CHECKING:
    from simdb.cli.options.intake import Intake


@contextmanager
def open_or_create(
    path: str,
    *,
    make_options: Callable[[], simdb.Options],
    try_out: Callable[[simdb.Database], object],
    intake: Intake,
    allow: Collection[str],
    must_exist: bool,
) -> Iterator[simdb.Database]:
    """Open or create the database at `path`, for writing in a `with` block.

    A new database is created when `intake` has its first document, and a note announces it.  If the
    block ends with an exception and the new database is empty, another note says so.

    Before anything is read, `try_out` is called with the database, or with one in memory that has
    the options of the new one.  So wrong options are found early and leave nothing behind.  With
    `must_exist`, a missing database raises NotFoundError.
    """
    try:
        database = simdb.open(path, "w", allow=allow)
    except simdb.NotFoundError:
        if must_exist:
            raise
    except simdb.FormatError:
        # A run that was killed while it created the database leaves a directory without contents.
        if must_exist or not os.path.isdir(path):
            raise
    else:
        with database:
            try_out(database)
            intake.expect(database.options.sketch)
            yield database
        return
    storage.check_name(path)
    options = make_options()
    with simdb.open(None, options=options, allow=allow) as other:
        try_out(other)
    intake.expect(options.sketch)
    intake.begin()
    with simdb.open(path, "c", options=options, allow=allow) as database:
        intake.progress.note(f"created the database {path}")
        try:
            yield database
        except BaseException:
            with suppress(simdb.Error):
                if not len(database):
                    intake.progress.note(
                        f"the new database {path} is empty; run the command again to fill it, or"
                        " remove the directory"
                    )
            raise


def begin_write(database: simdb.Database, progress: Progress) -> simdb.WriteTransaction:
    """Begin a write transaction; print a note while another writer holds it up."""
    with progress.waiting(f"waiting until another process has written to {database.path}"):
        return database.write()


def open_idle(path: str, allow: Collection[str] = ()) -> simdb.Database:
    """Open an existing database for writing, after its present writers have finished.

    The verbs of the command then begin at once, or wait briefly for a writer that came in between.
    """
    database = simdb.open(path, "w", allow=allow)
    try:
        with Progress("waiting") as progress:
            begin_write(database, progress).abort()
    except BaseException:
        database.close()
        raise
    return database


def open_either(path: str, allow: Collection[str] = ()) -> simdb.Database | simdb.ShardedDatabase:
    """Open the database or the sharded database at `path` for reading."""
    if os.path.lexists(os.path.join(path, storage.SHARDS_FILE)):
        return simdb.open_sharded(path, allow=allow)
    return simdb.open(path, "r", allow=allow)


def stored_bits(path: str | None) -> int | None:
    """Return the bits of each hash in a database; None if it has texts or cannot be opened."""
    if path is not None and os.path.isdir(path):
        with suppress(simdb.Error), open_either(path) as database:
            return database.options.bits if database.options.is_hashes else None
    return None


def one_state(
    database: simdb.Database | simdb.ShardedDatabase,
) -> AbstractContextManager[simdb.Snapshot | simdb.ShardedDatabase]:
    """Return a snapshot of a database; or a sharded database itself, which never changes."""
    return database.read() if isinstance(database, simdb.Database) else nullcontext(database)
