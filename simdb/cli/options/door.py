"""Door: opens the database that a command was given for reading, which may be sharded."""

import os
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import simdb
from simdb.storage.files.names import SHARDS_FILE

if TYPE_CHECKING:
    from simdb.database import Database
    from simdb.engine.snapshot import Snapshot
    from simdb.sharding.sharded_database import ShardedDatabase


def open_either(path: str, allow: Collection[str] = ()) -> "Database | ShardedDatabase":
    """Open the database or the sharded database at `path` for reading."""
    if os.path.lexists(os.path.join(path, SHARDS_FILE)):
        return simdb.open_sharded(path, allow=allow)
    return simdb.open(path, "r", allow=allow)


def one_state(
    database: "Database | ShardedDatabase",
) -> "AbstractContextManager[Snapshot | ShardedDatabase]":
    """Return a snapshot of a database; a sharded one is written once, and is read as it is."""
    return database.read() if isinstance(database, simdb.Database) else nullcontext(database)


def one_database(database: "Database | ShardedDatabase", option: str) -> "Database":
    """Return a database that is not sharded; OptionError, naming the option, for a sharded one."""
    if isinstance(database, simdb.Database):
        return database
    raise simdb.OptionError(
        f"{option} does not apply to a sharded database, which has no passages; use a database that"
        " simdb create --passages has made"
    )
