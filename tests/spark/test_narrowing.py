"""A signature goes to the parts of the bands that another one shares, and to no others."""

from collections import Counter

import numpy as np
import pytest

import simdb
from simdb.spark import frames, packing
from simdb.spark.distributed import plan_pairs

arrow = pytest.importorskip("pyarrow")

PARTITIONS = 3


@pytest.fixture(scope="module")
def plan():
    return plan_pairs(200, simdb.Minhash(stored_bits=8), similarity=0.8, tasks=2)


@pytest.fixture(scope="module")
def rows(plan):
    """Rows of 200 signatures: of each three, the second is near the first, the third unrelated."""
    generator = np.random.default_rng(7)
    made = generator.integers(0, 256, (200, plan.row_bytes), np.uint8)
    near = made[::3][: len(made[1::3])].copy()
    changed = generator.random(near.shape) < 0.1
    near[changed] = generator.integers(0, 256, int(changed.sum()), np.uint8)
    made[1::3] = near
    return made


def narrowed(plan, keys, rows):
    """Run the tasks of `packing.narrowed`: the keys and narrowed rows of all partitions."""

    def exchanged(*frames_of_batches):
        table = arrow.Table.from_batches([each for some in frames_of_batches for each in some])
        places = table.column("place").to_numpy()
        return [table.filter(arrow.array(places == at)).to_batches() for at in range(PARTITIONS)]

    batches = [
        arrow.RecordBatch.from_arrays(
            [arrow.array(keys[at : at + 50]), frames.binary_column(rows[at : at + 50])],
            ["key", "row"],
        )
        for at in range(0, len(keys), 50)
    ]
    hashes = exchanged(packing._pack_hashes(plan, PARTITIONS, batches))
    shared = [each for some in hashes for each in packing._pack_shared(PARTITIONS, some)]
    both = exchanged(packing._pack_signatures(plan, PARTITIONS, batches), shared)
    made = [each for some in both for each in packing._with_masks(plan, some)]
    gathered = list(packing.gathered(made, plan.row_bytes))
    return np.concatenate([each for each, _ in gathered]), np.concatenate(
        [each for _, each in gathered]
    )


def test_a_document_goes_to_the_parts_of_bands_that_it_shares(plan, rows):
    keys = 5 * np.arange(len(rows)) - 300
    found_keys, found = narrowed(plan, keys, rows)

    bands = plan.exchange.band_keys(rows)
    counts = [Counter(column.tolist()) for column in bands.T]
    parts = {
        (int(key), int(part))
        for key, row, numbers in zip(
            keys, bands, plan.exchange.parts(rows)[1].reshape(bands.shape), strict=True
        )
        for each, part, count in zip(row.tolist(), numbers, counts, strict=True)
        if count[each] > 1
    }
    given, split = packing.split_rows(plan, found)
    sent = {
        (int(found_keys[at]), part)
        for part in range(plan.part_count)
        for at in split.positions[split.offsets[part] : split.offsets[part + 1]]
    }
    assert len(parts) > 100
    assert sent == parts
    assert len(split.positions) == len(parts)
    originals = {key: row.tobytes() for key, row in zip(keys.tolist(), rows, strict=True)}
    for key, row in zip(found_keys.tolist(), given, strict=True):
        assert row.tobytes() == originals[key]


def test_rows_that_were_not_narrowed_go_to_all_parts(plan, rows):
    given, split = packing.split_rows(plan, rows)

    assert given is rows
    assert len(split.positions) == len(rows) * plan.exchange.bands.table_count
