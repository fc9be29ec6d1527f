"""Database first: commands take the database before other arguments, as they did not always.

The earlier forms are accepted, with a note that shows the new one.
"""

import os
import sys

from simdb.cli.output.render import plain
from simdb.cli.reading.content import STANDARD_INPUT
from simdb.storage.files.names import DATA_FILE


def is_database(path: str) -> bool:
    """Return whether there is a database at `path`."""
    return os.path.lexists(os.path.join(path, DATA_FILE))


def in_order(command: str, db: str, source: str) -> tuple[str, str]:
    """Return the path of a new database and that of the file to read, given in either order.

    They are taken as given unless only the first one can be the file.
    """
    if _is_input(source) or not _is_input(db):
        return db, source
    note_form(f"{command} {source} {db}")
    return source, db


def note_form(form: str) -> None:
    """Write the usual form of a command to standard error."""
    print(f"note: the database comes first: simdb {plain(form)}", file=sys.stderr)


def _is_input(path: str) -> bool:
    return path == STANDARD_INPUT or (os.path.exists(path) and not os.path.isdir(path))
