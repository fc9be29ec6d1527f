"""Following: reads the stored values of a copy and its database, to compare them."""

import shutil
from pathlib import Path

import lmdb

from simdb.storage import layout


def values(path):
    """Return every value of a database, except the note of a copy; no thread may be writing."""
    found = {}
    with lmdb.open(str(path), readonly=True, lock=False, max_dbs=99) as opened:
        with opened.begin() as transaction:
            names = [bytes(key) for key, _ in transaction.cursor()]
        for name in names:
            handle = opened.open_db(name, create=False)
            with opened.begin() as transaction:
                found |= {(name, key): value for key, value in transaction.cursor(handle)}
    found.pop((layout.META, layout.COPY_KEY), None)
    return found


def values_of(database):
    """Return the same for an open database."""
    folder = Path(database.path).parent / "held"
    folder.mkdir()
    with database._store.environment.reading():
        shutil.copy(Path(database.path) / "data.mdb", folder)
    found = values(folder)
    shutil.rmtree(folder)
    return found
