"""A task that is repeated returns the same rows, in whatever order its input comes.

A task that was lost is made again, and after a shuffle its rows come in another order.  If what it
packs differed, Spark would have to repeat all that was made of it, or give up.
"""

from itertools import groupby, permutations

import numpy as np
import pytest

from simdb.spark import packing, pairing, sketching
from simdb.spark.frames import HeldFrames

arrow = pytest.importorskip("pyarrow")
FAR = np.int64(0x1E3779B97F4A7C15)  # its multiples are far from each other


def sent(count, width, chunks=1):
    """Return three batches, as three tasks have packed them, for one task."""
    generator = np.random.default_rng(3)
    keys = np.arange(count, dtype=np.int64) * FAR
    rows = generator.integers(0, 4, (count, width), np.uint8)
    parts = np.array_split(generator.permutation(count), 3)
    return [
        packing.packed(
            np.zeros(len(part), np.int64), keys[part], rows[part], generator.integers(0, chunks, 1)
            .repeat(len(part)),
        )
        for part in parts
    ]  # fmt: skip


def as_found(batches):
    return [batch.to_pydict() for batch in batches]


TASKS = {
    "collapse": (4, 1, lambda batches: packing._collapse(4, batches)),
    "share": (packing.HASH_BYTES, 2, lambda batches: packing._pack_shared(3, batches)),
    "join": (
        8, 1,
        lambda batches: pairing._join_some(
            arrow.RecordBatch.from_arrays(
                [arrow.array(blob.keys), arrow.array(blob.rows.view(np.int64).ravel())],
                names=["left_key", "right_key"],
            )
            for batch in batches for blob in packing.blobs(batch, 8)
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_what_a_task_returns_does_not_depend_on_the_order_of_its_input(task):
    width, chunks, work = TASKS[task]
    batches = sent(200, width, chunks)

    found = [as_found(work(iter(order))) for order in permutations(batches)]

    assert any(any(len(each) for each in one.values()) for one in found[0])
    assert all(each == found[0] for each in found)


def test_rows_reach_the_tasks_that_pack_them_by_key_in_every_partition(spark):
    functions = pytest.importorskip("pyspark.sql.functions")
    texts = [(f"id {at}", f"red {at} green {at % 7} blue grey {at % 5}") for at in range(300)]
    rows = spark.createDataFrame(texts, ["id", "text"]).repartition(3)
    sketches = sketching.fingerprints(rows)

    with HeldFrames() as held:
        settings = pairing.Settings(None, 3, None, None, 2, None, pairing.DRIVER_LINKS)
        packed = pairing.rows_of(pairing.job_of(sketches, settings, None, held))
        numbered = packed.select(functions.spark_partition_id().alias("part"), "key").collect()

    parts = [[row["key"] for row in each] for _, each in groupby(numbered, lambda row: row["part"])]
    assert len(parts) == 3
    assert all(part == sorted(part) for part in parts)
