"""Command mcp: serves a database to agents, over standard input and output."""

from __future__ import annotations

import simdb
from simdb import compat, core
from simdb.cli.options import option_groups
from simdb.core.values import replace

# Seconds to wait while another agent stores a note.
TIMEOUT = 30.0


def mcp(db: str, *, read_only: bool = False, where: list[str] | None = None) -> None:
    """Serve the notes of a database to an agent; create the database if there is none."""
    need = "simdb mcp needs the package mcp: pip install mcp"
    door = core.checks.installed("simdb.compat.mcp", need)
    fields = tuple(each.partition("=")[0] for each in where or ())
    with _opened(db, read_only, fields) as database:
        condition = option_groups.given_where(where, database.options.fields)
        if callable(condition):
            raise simdb.OptionError(
                f"--where names fields of {db} (create --fields), got {', '.join(fields)}"
            )
        door.server_of(database, read_only=read_only, where=condition).run()


def _opened(path: str, read_only: bool, fields: tuple[str, ...]) -> simdb.Database:
    """Open a database, or create one for short notes with `fields` in their metadata."""
    if read_only:
        return simdb.open(path, "r")
    try:
        return simdb.open(path, "w", timeout=TIMEOUT)
    except (simdb.NotFoundError, simdb.FormatError):  # another agent may be making it
        return simdb.open(path, options=replace(compat.NOTES, fields=fields), timeout=TIMEOUT)
