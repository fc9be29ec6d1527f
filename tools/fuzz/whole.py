"""Harness: a database with values changed on purpose, and with correct checksums.

The fuzzer's bytes are a list of changes; then every verb is called, reading and writing.
"""

import os
import tempfile
from itertools import islice

import lmdb

import simdb
from decoding import with_checksum
from sample import sample, values
from simdb.storage import codec
from simdb.storage.files.plain import IDF_FILE
from taking import Taking

CHANGES = 3
LENGTHS = (0, 1, 4, 8)


def database(data):
    taking = Taking(data)
    with tempfile.TemporaryDirectory(prefix="simdb-fuzz-") as path:
        for name, content in zip(("data.mdb", IDF_FILE), sample(), strict=True):
            with open(os.path.join(path, name), "wb") as file:
                file.write(content)
        change(os.path.join(path, "data.mdb"), taking)
        try:
            with simdb.open(path, "w", durability="none") as opened:
                ask_all(opened)
        except simdb.Error:
            return


def change(path, taking):
    """Change some values of the data file."""
    with (
        lmdb.open(path, subdir=False, lock=False, sync=False, max_dbs=64) as environment,
        environment.begin(write=True) as transaction,
    ):
        for _ in range(1 + taking.number(CHANGES)):
            name, key, value = values()[taking.number(len(values()))]
            handle = environment.open_db(name, transaction, create=False)
            if taking.number(32) == 0:
                transaction.delete(key, db=handle)
            else:
                transaction.put(key, changed(key, value, taking), db=handle)


def changed(key, value, taking):
    """Return the value with some of its bytes overwritten, inserted or left out."""
    payload = bytearray(value[codec.HEADER_BYTES :])
    for _ in range(1 + taking.number(4)):
        at = taking.number(len(payload) + 1)
        new = taking.bytes(LENGTHS[taking.number(len(LENGTHS))])
        kept = LENGTHS[taking.number(len(LENGTHS))] if taking.number(4) == 0 else len(new)
        payload[at : at + kept] = new
    return with_checksum(value[4:8], key, payload)


def ask_all(database):
    """Call every verb; if one finds something wrong, the next verb is called all the same."""
    for verb in VERBS:
        try:
            verb(database)
        except simdb.Error:
            continue


def look(database):
    for id in islice(database, 100):
        database.get(id)


def ask_by_id(database):
    database.query_many(ids=[0, 1, "a"], distance=3)
    database.query(id=1, similarity=0.8, recall=1.0)


def add(database):
    database.insert_many(range(100, 112), [f"green {at}" for at in range(12)], range(12))
    database.add_if_new("new", "some new grass", distance=2)


VERBS = (
    lambda database: list(database.check()),
    lambda database: list(database.check(deep=True)),
    look,
    lambda database: database.stats(),
    lambda database: database.query(5, distance=3),
    lambda database: database.query("red green blue", similarity=0.5),
    lambda database: database.query_many(["red", "blue grey"] * 9, similarity=0.7, recall=1.0),
    lambda database: database.first("pink", distance=9),
    ask_by_id,
    lambda database: list(islice(database.find_all(distance=2), 1000)),
    lambda database: len(database.find_all(similarity=0.9)),
    lambda database: database.find_clusters(distance=3),
    lambda database: database.cluster(1),
    lambda database: database.explain(0, 1),
    lambda database: database.plan(),
    lambda database: database.get_many(["a", b"b", 2**64 - 1, "later"]),
    lambda database: database.delete_many([0, "a"]),
    add,
    lambda database: database.compact(),
    look,
)
