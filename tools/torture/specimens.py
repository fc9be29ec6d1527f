"""Specimens: small databases of several kinds and versions, to be damaged."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import simdb
from simdb.storage.files import DATA_FILE

FAR = np.uint64(0x9E3779B97F4A7C15)  # its multiples are far from each other
WORDS = ["red", "green", "blue", "grey", "pink", "white", "black", "brown", "cyan", "olive", "plum"]


@dataclass(frozen=True)
class Specimen:
    """A closed database: `old` is its data file before the last commits, `new` after them.

    `fresh` makes documents that it does not hold; `criterion` is used in queries.
    """

    name: str
    path: str
    old: bytes
    new: bytes
    fresh: Callable[[int], list]
    asked: list
    criterion: dict


def texts(count, seed):
    """Make texts of a few words, some of which are similar."""
    numbers = np.random.default_rng(seed).integers(0, len(WORDS), (count, 9))
    numbers[1::3] = numbers[::3][: len(numbers[1::3])]
    numbers[1::3, 4] = 0
    return [" ".join(WORDS[at] for at in row) for row in numbers.tolist()]


def bits(count, seed):
    """Make ready fingerprints, some of which are near each other."""
    found = (np.arange(count, dtype=np.uint64) + np.uint64(seed * 10_000)) * FAR
    found[1::3] = found[::3][: len(found[1::3])] ^ np.uint64(5)
    return found.tolist()


def make_all(directory):
    """Make one specimen of every kind, in `directory`."""
    plain, tiny = simdb.Simhash(shingle=1), {"delta_documents": 30, "growth": 2}
    by_texts = {
        "weights": {"sketch": plain},
        "signatures": {"sketch": simdb.Minhash(shingle=1)},
        "idf": {"sketch": simdb.Simhash(shingle=1, weighting="tf-idf")},
        "passages": {"sketch": plain, "passages": True},
        "features": {"sketch": plain, "features": True},
    }
    by_bits = {
        "clusters": (500, {"keep_clusters": "distance"}),
        "large": (20_000, {"delta_documents": 5000}),
    }
    return [
        *(make(directory, name, simdb.Options(**tiny | chosen), texts, 150, {"similarity": 0.8})
          for name, chosen in by_texts.items()),
        *(make(directory, name, simdb.Options(**tiny | chosen), bits, count, {"distance": 3})
          for name, (count, chosen) in by_bits.items()),
    ]  # fmt: skip


def make(directory, name, options, documents, count, criterion):
    """Make a database with runs, a delta, metadata small and large, and deleted documents."""
    path = os.path.join(directory, name)
    os.makedirs(directory, exist_ok=True)
    file = os.path.join(path, DATA_FILE)
    first, second = documents(count, 1), documents(count // 2, 2)
    with simdb.open(path, options=options, durability="none") as database:
        if name == "idf":
            database.fit_idf(first)
        database.insert_many(range(count), first, [{"n": at} for at in range(count)])
        database.insert_many(["long", b"b"], documents(2, 3), ["x" * 9000, None])
        old = Path(file).read_bytes()
        database.delete_many(range(0, count, 9))
        database.insert_many(range(count, count + len(second)), second)
        if name == "weights":
            database.calibrate(20)
        for at, document in enumerate(documents(8, 4)):
            database.insert(f"delta {at}", document, {"at": at})
        database.delete("delta 3")
    new = Path(file).read_bytes()
    asked = first[3:9] + documents(3, 5)
    return Specimen(name, path, old, new, lambda wanted: documents(wanted, 6), asked, criterion)


def contained(database):
    """Return the pairs of which one document is in the other; none without passages."""
    return database.find_all(contained=0.3) if database.options.passages else []


def everything(database, specimen):
    """Return everything that a reader gets, as one string: equal for equal databases."""
    ids = list(database)
    some = ids[:: 1 + len(ids) // 200]
    return repr((
        ids,
        [str(row) for row in database.query_many(specimen.asked, **specimen.criterion)],
        [(each.fingerprint, each.metadata) for each in database.get_many(some)],
        [str(pair) for pair in database.find_all(**specimen.criterion)],
        [str(pair) for pair in contained(database)],
    ))  # fmt: skip
