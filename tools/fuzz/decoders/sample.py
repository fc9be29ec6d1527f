"""Sample: makes small databases with every kind of value, from which harnesses start."""

import io
import os
import tempfile
from functools import cache

import lmdb

import simdb
from simdb.database.maintenance import calibration
from simdb.database.state import staged
from simdb.plan.calibration import USUAL_DELAYS
from simdb.storage import codec, layout
from simdb.storage.files import DATA_FILE, IDF_FILE

OPTIONS = {
    "blocks": 3, "delta_documents": 4, "growth": 2, "keep_clusters": "distance",
    "keep_times": "seen", "texts": True,
}  # fmt: skip
WORDS = ("red", "green", "blue", "grey", "pink", "black", "white")
# Of the database with passages.
TEXTS = [" ".join(f"w{at}" for at in range(start, start + 40)) for start in range(0, 48, 3)]


@cache
def sample():
    """Return the bytes of the data file and of the IDF table."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "db")
        fill(path)
        return tuple(open_bytes(os.path.join(path, name)) for name in (DATA_FILE, IDF_FILE))


def fill(path):
    """Make runs, a delta, deletions, metadata, times, clusters, a calibration and an IDF table."""
    measured, calibration.measured_delays = calibration.measured_delays, lambda: USUAL_DELAYS
    clock, staged.time = staged.time, lambda: 10**9
    texts = [" ".join(WORDS[at % 3 : 3 + at % 5]) for at in range(30)]
    table = simdb.fit_idf(texts, simdb.Simhash(shingle=1))
    sketch = simdb.Simhash(shingle=1, weighting="tf-idf", idf=table)
    try:
        with simdb.open(path, options=simdb.Options(**OPTIONS, sketch=sketch)) as database:
            database.insert_many(range(30), texts, [{"at": at} for at in range(30)])
            database.insert_many(["a", b"b", 2**64 - 1], ["", 7, "red"])
            database.insert_many(range(40, 46), range(40, 46))
            database.delete_many([3, 4, 20])
            database.calibrate(texts)
            database.insert("later", "green grass", [None, 1.5])
    finally:
        calibration.measured_delays = measured
        staged.time = clock


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


@cache
def with_passages():
    """Return the bytes of a data file with two runs of passages."""
    with tempfile.TemporaryDirectory() as path:
        options = simdb.Options(passages=True, delta_documents=4, growth=2)
        with simdb.open(os.path.join(path, "db"), options=options) as database:
            database.insert_many(range(16), TEXTS)
            database.delete_many([2, 3])
            database.insert("later", "three short words")
        return open_bytes(os.path.join(path, "db", DATA_FILE))


def dumps():
    """Return the dumps of both databases."""
    with tempfile.TemporaryDirectory() as path:
        fill(os.path.join(path, "db"))
        other = os.path.join(path, "other")
        os.mkdir(other)
        with open(os.path.join(other, DATA_FILE), "wb") as file:
            file.write(with_passages())
        found = []
        for name in ("db", "other"):
            stream = io.BytesIO()
            with simdb.open(os.path.join(path, name), "r") as database:
                database.dump(stream)
            found.append(stream.getvalue())
        return found


@cache
def values():
    """Return (sub-database, key, value) of all stored values, in order."""
    return values_of(sample()[0])


@cache
def passage_values():
    """Return the same of the passages and the manifest of the database with passages."""
    names = layout.PASSAGES, layout.MANIFEST
    return [row for row in values_of(with_passages()) if row[0] in names]


def values_of(content):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, DATA_FILE)
        with open(path, "wb") as file:
            file.write(content)
        with (
            lmdb.open(path, subdir=False, lock=False, readonly=True, max_dbs=64) as environment,
            environment.begin() as transaction,
        ):
            names = [bytes(name) for name, _ in transaction.cursor()]
            handles = [environment.open_db(name, transaction, create=False) for name in names]
            return [
                (name, bytes(key), bytes(value))
                for name, handle in zip(names, handles, strict=True)
                for key, value in transaction.cursor(db=handle)
            ]


def payloads(kind):
    """Return the stored values of one kind, without headers."""
    return [value[codec.HEADER_BYTES :] for _, _, value in values() if value[4:8] == kind]
