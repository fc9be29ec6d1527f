"""Writing: opens the database that a command writes to, and waits for other writers.

It may not exist yet: it is then made, and announced, when the first document has been read.
"""

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import simdb
from simdb.cli.output.progress import Progress
from simdb.cli.reading.intake import Intake
from simdb.storage.files.location import check_name

if TYPE_CHECKING:
    from simdb.database import Database


def open_or_create(
    path: str,
    *,
    make_options: Callable[[], simdb.Options],
    try_out: Callable[["Database"], object],
    intake: Intake,
    progress: Progress,
    allow: Collection[str],
    must_exist: bool,
) -> "Database":
    """Open the database at `path` for writing; if there is none, make it with new options.

    A new database is made when `intake` has its first document, and a note announces it.  Before
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
        try:
            try_out(database)
        except BaseException:
            database.close()
            raise
        return database
    check_name(path)
    options = make_options()
    with simdb.open(None, options=options, allow=allow) as other:
        try_out(other)
    intake.begin()
    database = simdb.open(path, "c", options=options, allow=allow)
    progress.note(f"created the database {path}")
    return database


def begin_write(database: "Database", progress: Progress) -> simdb.WriteTransaction:
    """Begin a write transaction; a note says so if another writer keeps it waiting."""
    with progress.waiting(f"waiting until another process has written to {database.path}"):
        return database.write()


def open_idle(path: str, allow: Collection[str] = ()) -> "Database":
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
