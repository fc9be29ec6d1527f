"""Opening: the database that a command was given, to read it or to write to it.

One to read may be sharded.  One to write to may not exist yet: it is then made, and announced, when
the first document has been read.  If the command then fails, the database stays, since another
process may have opened it, and a note says that it is empty.
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
    """Open the database at `path` for writing, for a `with` statement; if there is none, make it.

    A new database is made when `intake` has its first document, and a note announces it.  If the
    statement ends with an exception, another note says so if the new database is empty.  Before
    anything is read, `try_out` is called with the database, or with one that is as the new one will
    be; so wrong options are found early and leave nothing behind.  With `must_exist`, NotFoundError
    instead of a new database.
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
    """Begin a write transaction; a note says so if another writer keeps it waiting."""
    with progress.waiting(f"waiting until another process has written to {database.path}"):
        return database.write()


def open_idle(path: str, allow: Collection[str] = ()) -> simdb.Database:
    """Open an existing database for writing, after all who are writing to it now.

    The verbs of the command then begin at once, or wait a little for who comes in between.
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
    """Return the bits of each hash in a database; None for texts, and if none can be opened."""
    if path is not None and os.path.isdir(path):
        with suppress(simdb.Error), open_either(path) as database:
            return database.options.bits if database.options.is_hashes else None
    return None


def one_state(
    database: simdb.Database | simdb.ShardedDatabase,
) -> AbstractContextManager[simdb.Snapshot | simdb.ShardedDatabase]:
    """Return a snapshot of a database; a sharded one is written once, and is read as it is."""
    return database.read() if isinstance(database, simdb.Database) else nullcontext(database)
