"""Exact plans flip different numbers of header bits in different tables, and miss nothing."""

import numpy as np
import pytest
from empty import planned
from oracle import distances
from pricing import serves, tables_first

import simdb

COUNT = 600


def near_each_other(seed, *, crowded):
    """Make fingerprints near a few centres; `crowded`: most have the same 20 highest bits."""
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 2**64, 40, dtype=np.uint64)
    if crowded:
        centres[:36] &= np.uint64(2**44 - 1)
    bits = centres[generator.integers(0, 40, COUNT)]
    for _ in range(8):
        places = generator.integers(0, 64, COUNT, dtype=np.uint64)
        bits ^= generator.integers(0, 2, COUNT, dtype=np.uint64) << places
    return bits


def filled(tmp_path, bits, shape, growth=2):
    """Store `bits` in several runs and a delta, and delete every seventh."""
    options = simdb.Options(
        blocks=shape[0], leading=shape[1], delta_documents=90, growth=growth,
        sketch=simdb.Simhash(store_volatility=False),
    )  # fmt: skip
    database = simdb.open(tmp_path / "db", options=options, durability="none")
    for start in range(0, COUNT, 80):
        database.insert_many(range(start, min(start + 80, COUNT)), bits[start : start + 80])
    database.delete_many(range(0, COUNT, 7))
    return database


def live_matches(asked, bits, distance):
    """Return (query, id) of all matches, by comparing all."""
    measured = distances(asked, bits)
    measured[:, ::7] = 99
    return sorted(zip(*(part.tolist() for part in np.nonzero(measured <= distance)), strict=True))


def rows_of(matches):
    return sorted((query, match.id) for query, row in enumerate(matches) for match in row)


@pytest.mark.parametrize(
    ("shape", "distance", "crowded"),
    [((7, 2), 6, True), ((5, 2), 4, False), ((1, 1), 3, False), ((8, 1), 8, False)],
)
def test_every_verb_finds_what_comparing_all_finds(tmp_path, shape, distance, crowded):
    bits = near_each_other(distance, crowded=crowded)
    asked = np.concatenate([bits[::25], near_each_other(99, crowded=crowded)[:20]])
    expected = live_matches(asked, bits, distance)
    with tables_first(), filled(tmp_path, bits, shape) as database:
        plan = database.plan(distance=distance)

        many = database.query_many(asked, distance=distance)
        alone = [database.query(int(each), distance=distance) for each in asked]
        first = [database.first(int(each), distance=distance) for each in asked]
        in_chunks = database.query_many(
            asked, distance=distance, search=simdb.Search(memory_limit=4000)
        )
        pairs = database.find_all(distance=distance)
        found_pairs = sorted(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
        told = [database.explain(*pair, distance=distance) for pair in found_pairs[::50]]

    assert (plan.method, plan.recall, plan.flips) == ("bphs", 1.0, max(plan.table_flips))
    assert serves(*shape, plan.table_flips, distance)
    assert all(each.is_found and each.probe for each in told)
    assert rows_of(many) == expected
    assert rows_of(alone) == expected
    assert rows_of(in_chunks) == expected
    assert {query for query, each in enumerate(first) if each} == {query for query, _ in expected}
    assert {(query, each.id) for query, each in enumerate(first) if each} <= set(expected)
    assert found_pairs == [
        (left, right)
        for left, right in live_matches(bits, bits, distance)
        if left < right and left % 7
    ]


def test_a_table_whose_headers_are_crowded_is_left_out(tmp_path):
    bits = near_each_other(1, crowded=True)
    with tables_first(), filled(tmp_path, bits, (4, 1), growth=100) as database:
        database.compact()

        equal = database.plan(distance=0)
        near = database.plan(distance=2)
        pairs = database.plan(distance=2, pairs=True)

    assert equal.table_flips[0] == near.table_flips[0] == pairs.table_flips[0] == -1
    assert (near.tables, near.table_flips) == (3, (-1, 0, 0, 0))


def test_a_plan_says_which_tables_are_read_and_with_how_many_flips():
    options = simdb.Options(blocks=4)
    plan = planned(1e7, options, distance=5, has_weights=False)

    assert (plan.tables, plan.flips, plan.table_flips) == (4, 1, (1, 1, 0, 0))
    assert plan.probes == 17 + 17 + 1 + 1
    assert "4 tables find all within distance 5 for certain, with flipped header" in plan.reason
    equal = planned(1e7, options, distance=0, has_weights=False)
    assert (equal.tables, equal.table_flips, equal.probes) == (1, (0, -1, -1, -1), 1)
    assert (equal.header_bits, plan.header_bits) == (22, 16)
