"""Harness: a database with passages, whose passages and manifest are changed on purpose."""

import os
import tempfile
from functools import cache
from itertools import islice

import lmdb

import simdb
from sample import open_bytes
from simdb.storage import layout
from simdb.storage.files.plain import DATA_FILE
from taking import Taking
from whole import changed

WORDS = [f"w{number}" for number in range(90)]
TEXTS = [" ".join(WORDS[start : start + 40]) for start in range(0, 48, 3)]
CHANGES = 3
CHANGED = (layout.PASSAGES, layout.MANIFEST)


@cache
def sample():
    """Return the bytes of a data file with two passage runs."""
    with tempfile.TemporaryDirectory() as path:
        options = simdb.Options(passages=True, delta_documents=4, growth=2)
        with simdb.open(os.path.join(path, "db"), options=options) as database:
            database.insert_many(range(16), TEXTS)
            database.delete_many([2, 3])
            database.insert("later", "three short words")
        return open_bytes(os.path.join(path, "db", DATA_FILE))


def passages(data):
    taking = Taking(data)
    with tempfile.TemporaryDirectory(prefix="simdb-fuzz-") as path:
        file = os.path.join(path, DATA_FILE)
        with open(file, "wb") as stream:
            stream.write(sample())
        change(file, taking)
        for verb in VERBS:
            try:
                with simdb.open(path, "w", durability="none") as database:
                    verb(database)
            except simdb.Error:
                continue


def change(path, taking):
    """Change some values of the passages, or the manifest."""
    with (
        lmdb.open(path, subdir=False, lock=False, sync=False, max_dbs=64) as environment,
        environment.begin(write=True) as transaction,
    ):
        handles = [environment.open_db(name, transaction, create=False) for name in CHANGED]
        stored = [
            (handle, bytes(key), bytes(value))
            for handle in handles
            for key, value in transaction.cursor(db=handle)
        ]
        for _ in range(1 + taking.number(CHANGES)):
            handle, key, value = stored[taking.number(len(stored))]
            if taking.number(16) == 0:
                transaction.delete(key, db=handle)
            else:
                transaction.put(key, changed(key, value, taking), db=handle)


VERBS = (
    lambda database: list(database.check(deep=True)),
    lambda database: database.query(TEXTS[5], contained=0.1),
    lambda database: database.query(TEXTS[5], contained=0.1, texts=dict(enumerate(TEXTS))),
    lambda database: database.query(id=1, contained=0.1),
    lambda database: list(islice(database.find_all(contained=0.1), 1000)),
    lambda database: database.dump(os.path.join(database.path, "dump")),
    lambda database: database.insert("more", TEXTS[1]),
    lambda database: database.delete_many([0, 1]),
    lambda database: database.compact(),
    lambda database: database.rebuild(drop_damaged=True),
    lambda database: list(database.check(deep=True)),
)
