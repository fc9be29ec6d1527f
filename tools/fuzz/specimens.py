"""Specimens: makes small databases of several kinds and versions, to be damaged."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import simdb
from cases import outcome_of
from simdb.plan import compaction
from simdb.storage.files import DATA_FILE

MAKING_SECONDS = 60
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
    asked: list
    criterion: dict
    fresh: Callable[[int], list]


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


def hashes(count, seed):
    """Make hashes of 256 bits, some of which are near each other."""
    found = np.random.default_rng(seed).integers(0, 256, (count, 32), np.uint8)
    found[1::3] = found[::3][: len(found[1::3])] ^ np.uint8([1, 0, 0, 128] * 8)
    return [bytes(row) for row in found]


def kinds():
    """Return {name: (options, maker of documents, their number, a criterion)} of all specimens."""
    plain, tiny = simdb.Simhash(shingle=1), {"delta_documents": 30, "growth": 2}
    alike, near = {"similarity": 0.8}, {"distance": 3}
    weighted = simdb.Simhash(shingle=1, weighting="tf-idf")
    by_texts = {
        "weights": tiny,
        "signatures": tiny | {"sketch": simdb.Minhash(shingle=1)},
        "idf": tiny | {"sketch": weighted},
        "passages": tiny | {"passages": True},
        "features": tiny | {"features": True},
        "texts": tiny | {"texts": True},
        "delta only": {},
        "times": {"keep_times": "inserted"},
        "fields": tiny | {"fields": ("n", "at")},
        "similar clusters": {"keep_clusters": "similarity"},
        "unfinished merge": tiny,
    }
    made = {
        name: (simdb.Options(**({"sketch": plain} | chosen)), texts, 150, alike)
        for name, chosen in by_texts.items()
    }
    clustered = simdb.Options(**tiny, keep_clusters="distance")
    many = simdb.Options(sketch=plain, features=True)
    wide = simdb.Options(sketch=simdb.Bits(256), **tiny)
    kept = simdb.Options(sketch=simdb.Bits(256), keep_clusters="distance", keep_times="seen")
    return made | {
        "clusters": (clustered, bits, 500, near),
        "hashes": (wide, hashes, 300, {"distance": 31}),
        "clusters of hashes": (kept, hashes, 300, {"distance": 31}),
        "many documents": (many, texts, 900, alike),
        "many bits": (simdb.Options(delta_documents=500), bits, 3000, near),
        "large": (simdb.Options(delta_documents=5000, growth=2), bits, 20_000, near),
    }


def drawn(chance, directory):
    """Draw a kind of specimen, and make it in a child: this process has opened nothing."""
    name = chance.choice(list(kinds()))
    made = outcome_of(lambda: make(directory, name), MAKING_SECONDS).get()
    _, documents, _, _ = kinds()[name]
    return Specimen(name, *made, lambda wanted: documents(wanted, 6))


def make(directory, name):
    """Make a database with runs, a delta, metadata small and large, and deleted documents."""
    options, documents, count, criterion = kinds()[name]
    if name == "unfinished merge":
        compaction.AT_ONCE_DELTAS, compaction.PACE = 1, 1
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
    return path, old, new, asked, criterion


def contained(database):
    """Return the pairs of which one document is in the other; none without passages."""
    return database.find_all(contained=0.3) if database.options.passages else []


def of_value(database, specimen):
    """Return the nearest documents of one value of a field; none without fields."""
    return (
        database.nearest(specimen.asked[0], 9, where={"at": 5}) if database.options.fields else []
    )


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
        [str(each) for each in of_value(database, specimen)],
        database.texts_many(some) if database.options.texts else [],
    ))  # fmt: skip
