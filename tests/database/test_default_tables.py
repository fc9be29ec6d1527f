"""The tables that a database has by default, and what it answers by distance."""

import numpy as np
import pytest
from weighted import bits_of

import simdb
from simdb.core.stored_options import check_same

COUNT = 240
CHANCE = np.random.default_rng(9)
WEIGHTS = CHANCE.normal(size=(COUNT, 128)).astype(np.float32)
WEIGHTS[COUNT // 2 :] = WEIGHTS[: COUNT // 2]
FLIPPED = CHANCE.integers(0, 64, size=(COUNT // 2, 3))
np.put_along_axis(
    WEIGHTS[COUNT // 2 :], FLIPPED, -np.take_along_axis(WEIGHTS[: COUNT // 2], FLIPPED, 1), 1
)
BITS = bits_of(WEIGHTS)
DISTANCES = np.bitwise_count(BITS[:, None] ^ BITS[None, :])
BARE = range(0, COUNT, 7)  # documents that are stored without weights
GONE = {3, 50, 119, 200}
READY = simdb.Simhash(store_volatility=False)


def filled(open_database, **options):
    database = open_database(options=simdb.Options(delta_documents=16, growth=2, **options))
    for start in range(0, COUNT, 24):
        some = np.arange(start, start + 24)
        weighted = some[some % 7 > 0]
        database.insert_many(weighted, simdb.Fingerprints(BITS[weighted], WEIGHTS[weighted]))
        database.insert_many(some[some % 7 == 0], BITS[some[some % 7 == 0]])
    database.delete_many(GONE)
    return database


def within(distance, among=range(COUNT)):
    live = [at for at in among if at not in GONE]
    return {at: {other for other in live if DISTANCES[at, other] <= distance} for at in live}


def ids_of(rows):
    return [{match.id for match in row} for row in rows]


def check_exact(database, distance):
    expected = within(distance)
    asked = list(expected)
    weighted = simdb.Fingerprints(BITS[asked], WEIGHTS[asked])

    for queries in (BITS[asked], weighted):
        rows = database.query_many(queries, distance=distance, recall=1.0)
        assert ids_of(rows) == list(expected.values())
    for at in asked[::9]:
        for query in (int(BITS[at]), weighted[asked.index(at)]):
            assert {each.id for each in database.query(query, distance=distance, recall=1.0)} == (
                expected[at]
            )
        assert database.first(int(BITS[at]), distance=distance) is not None
    pairs = database.find_all(distance=distance, recall=1.0)
    found = {*map(frozenset, zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))}
    assert found == {frozenset((a, b)) for a in expected for b in expected[a] if a != b}


@pytest.mark.parametrize(
    ("options", "tables", "polytopes"),
    [
        (simdb.Options(), 1, 4),
        (simdb.Options(polytopes=2), 1, 2),
        (simdb.Options(keep_clusters="similarity"), 1, 4),
        (simdb.Options(sketch=simdb.Simhash(dimensions=64, weighting="tf")), 1, 4),
        (simdb.Options(keep_clusters="distance"), 4, 4),
        (simdb.Options(polytopes=0), 4, 0),
        (simdb.Options(sketch=READY), 4, 0),
        (simdb.Options(blocks=5), 5, 4),
        (simdb.Options(blocks=5, leading=3), 10, 4),
        (simdb.Options(sketch=READY, blocks=1), 1, 0),
        (simdb.Options(sketch=simdb.Minhash(), bands=3, rows=2), 3, 0),
    ],
)
def test_a_new_database_has_these_tables(open_database, options, tables, polytopes):
    database = open_database(options=options)
    database.insert("a", "some words of a text" if options.sketch != READY else 5)
    database.compact()

    names = database.stats().section_bytes

    assert sum(name.startswith("table/") for name in names) == tables
    assert sum(name.startswith("polytope/") for name in names) == polytopes


def test_leading_blocks_without_blocks_are_refused_where_one_block_is_usual():
    with pytest.raises(simdb.OptionError, match="leading"):
        simdb.Options(leading=2)
    assert simdb.Options(sketch=READY, leading=2).blocks == 4


def test_the_usual_options_open_a_database_with_four_blocks_and_others_do_not():
    four, one, usual = simdb.Options(blocks=4), simdb.Options(blocks=1), simdb.Options()

    check_same(four, usual, "here")
    check_same(one, usual, "here")
    for stored, wanted in ((one, four), (simdb.Options(blocks=6), usual)):
        with pytest.raises(simdb.OptionError, match="blocks is"):
            check_same(stored, wanted, "here")
    assert repr(usual) == "Options()"
    assert repr(simdb.Options(polytopes=0, blocks=4)) == "Options(polytopes=0)"


@pytest.mark.parametrize("blocks", [1, 4])
def test_answers_by_distance_are_those_of_a_double_loop(open_database, blocks):
    database = filled(open_database, blocks=blocks)

    for distance in (0, 3, 12):
        check_exact(database, distance)
    with database.read() as snapshot:
        database.compact()
        check_exact(snapshot, 3)
    check_exact(database, 3)


def test_at_the_default_recall_nothing_is_found_that_does_not_match(open_database):
    # Of some 230 pairs, found with .95 or more each, fewer than .85 are found once in 10^9 times.
    database = filled(open_database)
    expected, asked = within(3), [at for at in within(3) if at not in BARE]

    rows = ids_of(database.query_many(ids=asked, distance=3))

    assert all(row <= expected[at] - {at} for at, row in zip(asked, rows, strict=True))
    most = sum(len(expected[at]) - 1 for at in asked)
    assert sum(map(len, rows)) >= 0.85 * most > 100


def test_clusters_and_claims_by_distance_are_those_of_a_double_loop(open_database):
    database = filled(open_database)
    pairs = {frozenset((a, b)) for a, others in within(3).items() for b in others if a != b}

    clusters = {frozenset(each) for each in database.find_clusters(distance=3, recall=1.0)}
    claims = database.add_many_if_new(["x", "y"], [int(BITS[7]) ^ 1, int(~BITS[7])], distance=3)

    assert clusters == pairs  # no document is in two pairs
    assert ("x" in database, "y" in database) == (False, True)
    assert len(claims) == 2


def test_the_table_has_each_document_with_features_once(open_database):
    database = filled(open_database)
    database.insert("empty", "")
    database.compact()
    ids = [id for id in database if id != "empty"]

    with database._store.state() as state:
        (run,) = state.runs
        table = run.table(0, state.source)
        expected = np.argsort(BITS[ids], kind="stable")
        assert table.ordinals.tolist() == expected.tolist()
