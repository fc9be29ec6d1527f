"""One document in thousands of near copies makes neither many links nor one long task."""

import json

import numpy as np
import pytest

import simdb
from simdb import spark as ss
from simdb.spark import packing, pairing, sketching
from simdb.spark.distributed import plan_pairs

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


def tasks_of(bits, limit):
    """Return the plan, its tasks, and the packed rows of each partition."""
    plan = plan_pairs(len(bits), distance=3, tasks=PARTITIONS)
    batch = arrow.RecordBatch.from_arrays(
        [arrow.array(np.arange(len(bits))), arrow.array(bits.view(np.int64))], ["key", "row"]
    )
    sizes = np.diff(plan.split(plan.rows(bits)).offsets)
    shared = pairing.make_tasks(plan, sizes, PARTITIONS, limit or plan.cell_documents)
    packed = arrow.Table.from_batches(list(pairing._pack_parts(plan, shared, [batch])))
    packed = packed.sort_by([("task", "ascending"), ("chunk", "ascending")])
    places = packed.column("place").to_numpy()
    inputs = [packed.filter(arrow.array(places == at)).to_batches() for at in range(PARTITIONS)]
    return plan, shared, inputs


def sent(batches):
    """Count the documents that a partition gets."""
    return sum(len(blob.keys) for batch in batches for blob in packing.blobs(batch))


def links_of(plan, shared, inputs):
    found = pairing._find_links(plan, shared, inputs)
    (batch,) = pairing._join_some(found)
    return list(zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True))


def components_of(links):
    """Return the components, by a forest in a dict."""
    parents = {}

    def root(key):
        while parents.setdefault(key, key) != key:
            key = parents[key]
        return key

    for left, right in links:
        left, right = sorted((root(left), root(right)))
        parents[right] = left
    found = {}
    for key in parents:
        found.setdefault(root(key), set()).add(key)
    return {frozenset(members) for members in found.values()}


def test_a_task_makes_fewer_links_than_it_has_documents(bits):
    plan, shared, inputs = tasks_of(bits, None)

    found = [links_of(plan, shared, each) for each in inputs]
    pairs = sum(len(batch) for each in inputs for batch in pairing._find_pairs(plan, shared, each))

    assert all(len(links) < sent(each) for links, each in zip(found, inputs, strict=True))
    links = [link for each in found for link in each]
    assert len(links) <= pairs / 4
    assert max(map(len, components_of(links))) > COPIES // 2


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


@pytest.mark.few(1)
@pytest.mark.parametrize(("limit", "forests"), [(None, 2), (LIMIT, 32)])
def test_links_that_leave_a_job_are_fewer_than_documents(
    spark, bits, sent_links, monkeypatch, limit, forests
):
    monkeypatch.setattr(pairing, "FORESTS", forests)
    table = {
        "id": np.arange(len(bits)),
        "fp": bits.view(np.int64),
        "is_empty": np.zeros(len(bits), np.bool_),
    }
    frame = spark.createDataFrame(arrow.table(table)).repartition(4)
    note = json.dumps(["Simhash", {}])
    sketches = frame.withMetadata("fp", {sketching.METADATA: note}).cache()

    found = ss.clusters(sketches, distance=3, partitions=PARTITIONS, block_limit=limit)

    single = [sorted(map(int, each)) for each in simdb.find_clusters(bits, 5, 3)]
    assert clusters_of(found) == {members[0]: members for members in single}
    members = sum(map(len, single))
    assert members >= COPIES
    # The tasks make more links than there are documents, and what they connect needs so many.
    assert sent_links["_in_one"] > len(bits)
    assert sent_links["_by_driver"] == members - len(single) < len(bits)
