"""Many queries are probed in the order of their headers, and answered like single ones."""

import numpy as np
import probe_oracle as probes
import search_oracle as oracle
from over import over

from simdb.core.bits import leading_masks

QUERIES = 1100


def crowds(seed, count):
    """Make entries around a few fingerprints: headers hold many, most queries find hundreds."""
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 2**64, 3, np.uint64)
    flipped = np.uint64(1) << generator.integers(0, 64, (3, count), np.uint64)
    near = generator.choice(centres, count) ^ np.bitwise_xor.reduce(flipped, axis=0)
    ordinals = generator.permutation(4 * count)[:count]
    return list(zip(near.tolist(), ordinals.tolist(), strict=True))


@over(("blocks", "header_bits", "counts"), [
    (1, None, (5, 90, 270)),
    (2, None, (300, 40, 0)),
    (3, 2, (129, 7, 30)),
])  # fmt: skip
@over(("theta", "cap"), [(60, 64), (None, 6)])
def test_a_crowd_of_queries_is_answered_like_one_at_a_time(
    search, blocks, header_bits, counts, theta, cap
):
    masks = leading_masks(blocks, 1)
    parts = [crowds(seed, count) for seed, count in enumerate(counts, start=blocks)]
    widths = (4, 2, 4)
    columns = [
        [oracle.column(part, mask, width) for mask in masks]
        for part, width in zip(parts, widths, strict=True)
    ]
    tables = search.Tables(masks, columns, oracle.pair(crowds(9, 11)), None)
    queries = np.array([bits for part in parts for bits, _ in part], np.uint64)
    queries = np.resize(queries, QUERIES)
    levels = probes.random_levels(blocks, QUERIES)
    costs = probes.cost_table(blocks, 90)

    found = tables.probe(
        queries, levels, costs=costs, theta=theta, cap=cap, distance=12, first=False, after=None,
        tables=None, header_bits=header_bits,
    )  # fmt: skip

    sample = range(0, QUERIES, 37)
    single = [
        tables.probe_one(
            int(queries[at]), levels[at].tobytes(), costs.tobytes(), theta, cap, 12, False,
            header_bits=header_bits,
        )
        for at in sample
    ]  # fmt: skip
    rows = oracle.rows(found)
    assert [rows[at] for at in sample] == single
    assert sum(map(len, single)) > len(single)


def test_more_probes_than_are_ordered_together_are_all_answered(search):
    masks, entries = leading_masks(1, 1), crowds(1, 300)
    tables = search.Tables(masks, [[oracle.column(entries, masks[0], 4)]], oracle.pair([]), None)
    # All 16 sets of the bits of a header: some 280,000 probes; 2**18 are ordered together.
    queries = np.resize(np.array([bits for bits, _ in entries], np.uint64), 17_500)
    levels, costs = np.zeros((len(queries), 64), np.uint8), np.full(256, 1, np.uint8)

    found = tables.probe(
        queries, levels, costs=costs, theta=4, cap=16, distance=1, first=False, after=None,
        tables=None,
    )  # fmt: skip

    expected = [
        oracle.matches(bits, entries, [], None, distance_max=1, flips=0) for bits, _ in entries
    ]
    assert oracle.rows(found) == [expected[at % 300] for at in range(len(queries))]
