"""Command mcp: serves a database to agents, over standard input and output."""

from typing import TYPE_CHECKING

import simdb
from simdb import compat
from simdb.core.checks import installed

if TYPE_CHECKING:
    from simdb.database import Database

# Seconds to wait while another agent stores a note.
TIMEOUT = 30.0


def mcp(db: str, *, read_only: bool = False) -> None:
    """Serve the notes of a database to an agent, and make the database if there is none."""
    door = installed("simdb.compat.mcp", "simdb mcp needs the package mcp: pip install mcp")
    with _opened(db, read_only) as database:
        door.server_of(database, read_only=read_only).run()


def _opened(path: str, read_only: bool) -> "Database":
    """Open a database; a new one is for short notes."""
    if read_only:
        return simdb.open(path, "r")
    try:
        return simdb.open(path, "w", timeout=TIMEOUT)
    except (simdb.NotFoundError, simdb.FormatError):  # another agent may be making it
        return simdb.open(path, options=compat.NOTES, timeout=TIMEOUT)
