"""Exact means exact: by distance every method finds the matches of a double loop, and no more."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from oracle import Oracle, Stored
from pricing import tables_first
from strategies import SHAPES, fingerprints

import simdb
from simdb.core.bits import distance_served
from simdb.plan.pigeonhole import FLIPS_MAX


def open_with(tmp_path_factory, blocks, leading, **settings):
    options = simdb.Options(blocks=blocks, leading=leading, delta_documents=5, growth=2, **settings)
    path = tmp_path_factory.mktemp("exact") / "db"
    return simdb.open(path, options=options, durability="none")


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
