"""Harnesses: change values of databases on purpose, with correct checksums.

The fuzzer's bytes are a list of changes; then every verb is called, reading and writing.
"""

import os
import tempfile
from contextlib import suppress
from itertools import islice

import lmdb

import simdb
from decoding import with_checksum
from sample import TEXTS, passage_values, sample, values, with_passages
from simdb.storage import codec
from simdb.storage.files import DATA_FILE, IDF_FILE
from taking import Taking, harness

CHANGES = 3
LENGTHS = (0, 1, 4, 8)


@harness(lambda: [bytes([1, at, 1, 2, 3, 9]) for at in range(40)])
def database(data):
    """Change any values of a database with everything, and call all verbs one after the other."""
    files = dict(zip((DATA_FILE, IDF_FILE), sample(), strict=True))
    change_and_ask(data, files, values(), [VERBS])


@harness(lambda: [bytes([1, at, 1, 2, 3, 9]) for at in range(20)])
def passages(data):
    """Change passages or the manifest, and call each verb on the database opened anew."""
    files = {DATA_FILE: with_passages()}
    change_and_ask(data, files, passage_values(), [[verb] for verb in PASSAGE_VERBS])


def change_and_ask(data, files, stored, groups):
    """Write `files`, change some values, and call groups of verbs, each in one opening.

    If a verb finds something wrong, the next verb is called nevertheless.
    """
    taking = Taking(data)
    with tempfile.TemporaryDirectory(prefix="simdb-fuzz-") as path:
        for name, content in files.items():
            with open(os.path.join(path, name), "wb") as file:
                file.write(content)
        change(os.path.join(path, DATA_FILE), stored, taking)
        for verbs in groups:
            with suppress(simdb.Error), simdb.open(path, "w", durability="none") as opened:
                for verb in verbs:
                    with suppress(simdb.Error):
                        verb(opened)


def change(path, stored, taking):
    """Change or delete some of the stored values."""
    with (
        lmdb.open(path, subdir=False, lock=False, sync=False, max_dbs=64) as environment,
        environment.begin(write=True) as transaction,
    ):
        for _ in range(1 + taking.number(CHANGES)):
            name, key, value = stored[taking.number(len(stored))]
            handle = environment.open_db(name, transaction, create=False)
            if taking.number(16) == 0:
                transaction.delete(key, db=handle)
            else:
                transaction.put(key, changed(key, value, taking), db=handle)


def changed(key, value, taking):
    """Return the value with some of its bytes overwritten, inserted or removed."""
    payload = bytearray(value[codec.HEADER_BYTES :])
    for _ in range(1 + taking.number(4)):
        at = taking.number(len(payload) + 1)
        new = taking.bytes(LENGTHS[taking.number(len(LENGTHS))])
        kept = LENGTHS[taking.number(len(LENGTHS))] if taking.number(4) == 0 else len(new)
        payload[at : at + kept] = new
    return with_checksum(value[4:8], key, payload)


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
PASSAGE_VERBS = (
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
