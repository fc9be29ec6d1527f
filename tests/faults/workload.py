"""Transactions made from numbers alone, so that two processes know them without talking.

`changes(seed, step)` is what the transaction `step` does; `play` does it to a database and `replay`
to the oracle.  Every transaction that changes something replaces one document that holds the number
of the step.  So a state shows its step, and half a transaction cannot look like a whole one.
"""

import random
from dataclasses import dataclass
from functools import cache
from typing import Any

from oracle import Oracle

import simdb
from simdb.database.write import commit
from simdb.plan import compaction
from simdb.storage import layout
from simdb.storage.contents import table_names
from simdb.storage.metadata import read_all

OPTIONS = simdb.Options(delta_documents=12, growth=2)
LOGGED_SEED = 10
IDF_OPTIONS = simdb.Options(delta_documents=4, growth=2, sketch=simdb.Simhash(weighting="tf-idf"))
IDF_DOCUMENTS = [f"the weighted document number {number} of few" for number in range(10)]
MARKER = "the last step"
POOL = [*range(20), *(f"name {number}" for number in range(20)), *(b"%03d" % n for n in range(20))]
WORDS = [f"word{number}" for number in range(30)]


@dataclass(frozen=True)
class Kept:
    """A document of the oracle, with what it was made from: a number or a text."""

    bits: int
    document: int | str
    metadata: Any


def merge_slowly():
    """Make merges take several commits in this process, even if they merge a few documents.

    Compactions, and runs of two dozen documents, are written ahead in commits of their own.
    """
    compaction.AT_ONCE_DELTAS = compaction.PACE = 1
    compaction.AHEAD_LEAST, compaction.STAGED_MOST, compaction.COMPACTED_MOST = 24, 16, 32
    commit.WAITING_BYTES = 400


def changes(seed, step):
    """Return a list of (verb, ...): what the transaction `step` of the workload `seed` does."""
    chance = random.Random(f"{seed} {step}")
    if chance.random() < 0.06:
        return [("compact",)]
    return [
        *(_change(chance, step, at) for at in range(chance.choice([1, 1, 1, 2, 3]))),
        ("replace", [MARKER], [step], [{"step": step}]),
    ]


def play(database, todo):
    """Do the changes in one transaction of the database."""
    if todo == [("compact",)]:
        database.compact()
        return
    with database.write() as transaction:
        for verb, ids, *others in todo:
            if verb == "delete":
                transaction.delete_many(ids)
            elif verb == "claim":
                transaction.add_many_if_new(ids, *others, distance=3)
            else:
                transaction.insert_many(
                    ids, *others, on_conflict="replace" if verb == "replace" else "error"
                )


def replay(oracle: Oracle, todo):
    """Return a new oracle with the changes; the given oracle stays as it is."""
    after = oracle.copy()
    for verb, *columns in todo:
        if verb == "delete":
            for id in columns[0]:
                after.delete(id)
        elif verb != "compact":
            for id, document, metadata in zip(*columns, strict=True):
                stored = Kept(bits_of(document), document, metadata)
                if verb == "claim":
                    after.add_if_new(id, stored, 3)
                else:
                    after.insert(id, stored)
    return after


def step_of(oracle):
    """Return the last step that changed the state, or -1."""
    return oracle.documents[MARKER].metadata["step"] if oracle.documents else -1


def state(database):
    """Return (id, bits, metadata) of every document by age, for comparing."""
    ids = list(database)
    found = [] if not ids else database.get_many(ids)
    return [(each.id, each.fingerprint.bits, each.metadata) for each in found]


def expected(oracle):
    """Return (id, bits, metadata) of every document of the oracle by age."""
    return [(id, stored.bits, stored.metadata) for id, stored in oracle.documents.items()]


def assert_rebuildable(path, oracle, scratch):
    """Check that all columns equal those of a new database of the oracle's documents."""
    with simdb.open(path, "r") as database:
        database.copy(scratch / "copy")
    with simdb.open(scratch / "again", options=OPTIONS, durability="none") as database:
        with database.write() as transaction:
            for id, stored in oracle.documents.items():
                transaction.insert(id, stored.document, stored.metadata)
        assert _columns(database) == _columns(simdb.open(scratch / "copy", durability="none"))


@cache
def bits_of(document):
    """Return the fingerprint of a document of the workload; all documents have features."""
    return document if isinstance(document, int) else simdb.fingerprint(document).bits


def _change(chance, step, at):
    count = chance.choice([1, 2, 5, 30])
    fresh = [f"{step}.{at}.{number}" for number in range(count)]
    verb = chance.choice(["insert", "insert", "replace", "replace", "delete", "claim"])
    if verb == "delete":
        olds = [f"{chance.randrange(step + 1)}.0.{number}" for number in range(count)]
        return verb, chance.sample(POOL, min(count, 8)) + olds
    ids = chance.sample(POOL, count) if verb == "replace" else fresh
    if chance.random() < 0.3:
        documents = [" ".join(chance.choices(WORDS, k=12)) for _ in ids]
    else:
        near = chance.getrandbits(64) if chance.random() < 0.5 else 0x0123456789ABCDEF
        documents = [near ^ (1 << chance.randrange(64)) for _ in ids]
    metadata = [chance.choice([None, number, {"text": "x" * 5000}]) for number in range(count)]
    return verb, ids, documents, metadata


def _columns(database):
    """Return the bytes of all columns of a database, compacted; metadata by ordinal.

    The table of ids is left out: its hashes have a key of the database's own.
    """
    with database:
        database.compact()
        store = database._store
        names = table_names(store.options)
        with store.source() as source:
            columns = {
                (name, bytes(key)[4:]): bytes(value)[48:]
                for name in [*names, layout.DOCUMENTS, layout.VOLATILITY]
                for key, value in source.every(name)
            }
            return columns, list(read_all(source))
