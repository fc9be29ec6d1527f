"""One document in thousands of near copies makes neither many links nor one long task."""

import json

import numpy as np
import pytest

import simdb
from simdb import spark as ss
from simdb.spark import pairing, sketching

arrow = pytest.importorskip("pyarrow")

COPIES, OTHERS, PARTITIONS, LIMIT = 20_000, 10_000, 6, 4_000


@pytest.fixture(scope="module")
def bits():
    """Fingerprints of near copies, of which no two are equal, and of others."""
    generator = np.random.default_rng(3)
    others = generator.integers(0, 2**64, OTHERS + 1, np.uint64)
    copies = np.full(4 * COPIES, others[0])
    for _ in range(3):
        copies ^= np.uint64(1) << generator.integers(0, 64, len(copies)).astype(np.uint64)
    distinct = np.unique(copies)
    return np.concatenate([generator.permutation(distinct)[:COPIES], others[1:]])


def clusters_of(frame):
    """Return the members of each cluster, by its representative."""
    found = {}
    for row in frame.collect():
        found.setdefault(row["representative"], []).append(row["id"])
    return {least: sorted(ids) for least, ids in found.items()}


@pytest.fixture
def sent_links(monkeypatch):
    """Count the links of all tasks together, and those that the driver gets."""
    counts = {}

    def counting(name, original):
        def call(forests, *arguments):
            counts[name] = forests.count()
            return original(forests, *arguments)

        return call

    for name in ("_in_one", "_by_driver"):
        monkeypatch.setattr(pairing, name, counting(name, getattr(pairing, name)))
    return counts


def test_links_that_leave_a_job_are_fewer_than_documents(spark, bits, sent_links, monkeypatch):
    monkeypatch.setattr(pairing, "FORESTS", 2)
    table = {
        "id": np.arange(len(bits)),
        "fp": bits.view(np.int64),
        "is_empty": np.zeros(len(bits), np.bool_),
    }
    frame = spark.createDataFrame(arrow.table(table)).repartition(4)
    note = json.dumps(["Simhash", {}])
    sketches = frame.withMetadata("fp", {sketching.METADATA: note}).cache()

    found = ss.clusters(sketches, distance=3, partitions=PARTITIONS, block_limit=LIMIT)

    single = [sorted(map(int, each)) for each in simdb.find_clusters(bits, 5, 3)]
    assert clusters_of(found) == {members[0]: members for members in single}
    members = sum(map(len, single))
    assert members >= COPIES
    # The tasks make more links than there are documents, and what they connect needs so many.
    assert sent_links["_in_one"] > len(bits)
    assert sent_links["_by_driver"] == members - len(single) < len(bits)
