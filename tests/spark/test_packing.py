"""Documents come out of packed rows as they went in, by task and side."""

import numpy as np
import pytest
from over import over

from simdb.spark import packing

pytest.importorskip("pyarrow")


@over(("tasks", "sides"), [(1, 1), (7, 3), (300, 400), (70_000, 1)])
@over("count", [0, 1, 2000])
def test_packed_documents_are_those_of_each_task_and_side(tasks, sides, count):
    generator = np.random.default_rng(11)
    numbers = generator.integers(0, tasks, count)
    chunks = generator.integers(0, sides, count)
    keys = generator.integers(-(2**63), 2**63, count, np.int64)
    rows = generator.integers(0, 256, (count, 5), np.uint8)

    batch = packing.packed(numbers, keys, rows, chunks)

    expected = {}
    for at in range(count):
        of_blob = expected.setdefault((int(numbers[at]), int(chunks[at])), [])
        of_blob.append((int(keys[at]), rows[at].tobytes()))
    found = {
        (blob.task, blob.chunk): [
            (key, row.tobytes()) for key, row in zip(blob.keys.tolist(), blob.rows, strict=True)
        ]
        for blob in packing.blobs(batch, 5)
    }
    assert found == expected
    assert batch.column("place").to_pylist() == [task for task, _ in sorted(expected)]
