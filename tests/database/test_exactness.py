"""Exact means exact: by distance every method finds the matches of a double loop, and no more."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from oracle import Oracle, Stored, distances
from over import over
from pricing import tables_first
from strategies import SHAPES, fingerprints

import simdb
from simdb.core.bits import distance_served
from simdb.plan.tables import FLIPS_MAX


def open_with(tmp_path_factory, blocks, leading, **settings):
    options = simdb.Options(blocks=blocks, leading=leading, delta_documents=5, growth=2, **settings)
    path = tmp_path_factory.mktemp("exact") / "db"
    return simdb.open(path, options=options, durability="none")


def neighbourhood(seed, count, centres=20, flips=6):
    """Make random fingerprints near a few centres."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2**64, centres, dtype=np.uint64)[
        generator.integers(0, centres, count)
    ]
    for _ in range(flips):
        places = generator.integers(0, 64, count, dtype=np.uint64)
        bits ^= (generator.integers(0, 2, count, dtype=np.uint64)) << places
    return bits


def sorted_rows(left, right):
    return sorted(zip(left.tolist(), right.tolist(), strict=True))


def rows_of(matches):
    return [[(match.id, match.distance) for match in row] for row in matches]


@given(
    shape=st.sampled_from(SHAPES),
    stored=st.lists(fingerprints, max_size=40),
    asked=st.lists(fingerprints, min_size=1, max_size=8),
    distance=st.integers(0, 12),
    method=st.sampled_from([None, "auto", "exhaustive", "bphs"]),
    recall=st.sampled_from([None, 0.5, 1.0]),
    prefers_tables=st.booleans(),
    most=st.sampled_from([3, 1000]),
)
def test_every_method_equals_the_oracle(
    tmp_path_factory, shape, stored, asked, distance, method, recall, prefers_tables, most
):
    oracle = Oracle({id: Stored(bits) for id, bits in enumerate(stored)})
    with (
        pytest.MonkeyPatch.context() as patch,
        tables_first(prefers_tables),
        open_with(tmp_path_factory, *shape) as database,
    ):
        for name in ("lookup.PART_QUERIES", "couples.CHUNK_PAIRS", "couples.LOOKUP_QUERIES"):
            patch.setattr(f"simdb.database.search.{name}", most)
        patch.setattr("simdb.database.search.lookup.PART_MEASURED", min(most, 4))
        for start in range(0, len(stored), 7):
            part = stored[start : start + 7]
            database.insert_many(range(start, start + len(part)), part)
        bounds = {"distance": distance, "search": method, "recall": recall}
        if method == "bphs" and distance > distance_served(*shape, FLIPS_MAX):
            for verb in (
                lambda: database.query(asked[0], **bounds),
                lambda: database.query_many(asked, **bounds),
                lambda: database.find_all(**bounds),
            ):
                with pytest.raises(simdb.OptionError, match="blocks="):
                    verb()
            return

        expected = [oracle.query(bits, distance) for bits in asked]
        pairs = database.find_all(**bounds)
        clusters = database.find_clusters(**bounds)

        assert rows_of(database.query_many(asked, **bounds)) == expected
        assert rows_of(database.query(bits, **bounds) for bits in asked) == expected
        for bits, row in zip(asked, expected, strict=True):
            first = database.first(bits, **bounds)
            assert (first and (first.id, first.distance)) in (row or [None])
        assert {(pair.left, pair.right): pair.distance for pair in pairs} == oracle.find_all(
            distance
        )
        assert [cluster.ids for cluster in clusters] == oracle.find_clusters(distance)


@over(("blocks", "leading", "distance"), [(1, 1, 3), (8, 1, 8)])
def test_thousands_of_documents_are_found_exactly(tmp_path_factory, blocks, leading, distance):
    bits = neighbourhood(blocks * 100 + distance, 1500)
    asked = np.concatenate([bits[::100], neighbourhood(1, 50)])
    live = np.flatnonzero(np.arange(1500) % 7)
    with tables_first(), open_with(tmp_path_factory, blocks, leading) as database:
        for start in range(0, 1500, 400):
            database.insert_many(range(start, min(start + 400, 1500)), bits[start : start + 400])
        database.delete_many(range(0, 1500, 7))

        found = database.query_many(asked, distance=distance)
        pairs = database.find_all(distance=distance)
        clusters = database.find_clusters(distance=distance)
        left, right = pairs.left.astype(int), pairs.right.astype(int)

    rows, columns = np.nonzero(distances(asked, bits[live]) <= distance)
    queries = np.repeat(np.arange(len(asked)), np.diff(found.offsets))
    assert sorted_rows(queries, found.ids.astype(int)) == sorted_rows(rows, live[columns])
    differing = distances(bits, bits)
    rows, columns = np.nonzero(np.triu(differing[np.ix_(live, live)] <= distance, 1))
    assert sorted_rows(left, right) == sorted_rows(live[rows], live[columns])
    assert np.array_equal(pairs.distance, differing[left, right])
    assert {id for cluster in clusters for id in cluster} == {*left.tolist(), *right.tolist()}


def test_mixed_documents_are_asked_by_distance(tmp_path_factory):
    texts = ["red green blue", "red green grey", ""]
    options = {"sketch": simdb.Simhash(shingle=1)}
    with open_with(tmp_path_factory, 4, 1, **options) as database:
        database.insert_many(["t0", "t1", "t2", "b"], [*texts, 5])
        bits = simdb.fingerprint(texts[0], database.options.sketch).bits

        found = database.query_many([texts[0], bits, "", 5], distance=0)

        assert [[match.id for match in row] for row in found] == [["t0"], ["t0"], [], ["b"]]
        assert found[0][0].similarity == pytest.approx(1, abs=1e-6)
        assert found[1][0].similarity is None
        with pytest.raises(simdb.InputError, match="similarity= or distance="):
            database.query_many([texts[0], bits])
