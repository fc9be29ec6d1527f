"""Clusters by policy: stars equal those of a double loop, in every order."""

import hypothesis.strategies as st
import pytest
from hypothesis import given
from oracle import Oracle, Stored, stars
from pricing import tables_first
from strategies import SHAPES, fingerprints

import simdb


def open_with(tmp_path_factory, blocks=4, leading=1, **settings):
    options = simdb.Options(blocks=blocks, leading=leading, delta_documents=5, growth=2, **settings)
    path = tmp_path_factory.mktemp("clusters") / "db"
    return simdb.open(path, options=options, durability="none")


def ids_of(clusters):
    return [cluster.ids for cluster in clusters]


@given(
    shape=st.sampled_from(SHAPES),
    stored=st.lists(fingerprints, max_size=40),
    ranks=st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=40, max_size=40),
    distance=st.integers(0, 12),
    batch=st.sampled_from([1, 3, 1000]),
    compared=st.sampled_from([1, 4, 256]),
    prefers_tables=st.booleans(),
)
def test_stars_are_those_of_the_definition(
    tmp_path_factory, shape, stored, ranks, distance, batch, compared, prefers_tables
):
    oracle = Oracle({id: Stored(bits) for id, bits in enumerate(stored)})
    pairs = oracle.find_all(distance)
    metadata = [{"rank": rank} for rank in ranks[: len(stored)]]
    asked = {"distance": distance, "policy": "star"}
    with pytest.MonkeyPatch.context() as patch, tables_first(prefers_tables):
        patch.setattr("simdb.database.clusters.find.BATCH_DOCUMENTS", batch)
        patch.setattr("simdb.database.clusters.find.COMPARED_MAX", compared)
        patch.setattr("simdb.database.clusters.find.COMPARED_PAIRS", 5)
        patch.setattr("simdb.database.search.couples.CHUNK_PAIRS", 3)
        with open_with(tmp_path_factory, *shape) as database:
            for start in range(0, len(stored), 7):
                part = slice(start, start + 7)
                ids = range(start, min(start + 7, len(stored)))
                database.insert_many(ids, stored[part], metadata[part])

            by_age = database.find_clusters(**asked)
            database.insert("ranked", 1 << 63 | 0x5555, metadata={"rank": 9})
            database.delete("ranked")
            if any(each["rank"] is not None for each in metadata):
                by_rank = database.find_clusters(keep="min:rank", **asked)
            else:
                by_rank = by_age

    ordered = sorted(oracle.documents, key=lambda id: (ranks[id] is None, ranks[id] or 0, id))
    assert ids_of(by_age) == stars(list(oracle.documents), pairs)
    assert ids_of(by_rank) == stars(ordered, pairs)


def test_of_documents_of_tokens_the_longest_stays(tmp_path_factory):
    words = [f"word{number}" for number in range(40)]
    tokens = {"a": words[:39], "b": words, "c": words[1:]}
    with open_with(tmp_path_factory) as database:
        database.insert_many(list(tokens), list(tokens.values()))

        found = database.find_clusters(
            similarity=0.7, keep="longest", texts=lambda ids: [tokens[id] for id in ids]
        )

        assert [each.representative for each in found] == ["b"]


def test_fields_that_give_no_order_are_refused(tmp_path_factory):
    with open_with(tmp_path_factory) as database:
        assert len(database.find_clusters(keep="min:date")) == 0
        database.insert_many(list("abc"), [1, 2, 3], [{"n": 1, "m": [1]}, {"n": b"x"}, None])

        with pytest.raises(simdb.OptionError, match="no document has a field 'date'"):
            database.find_clusters(keep="min:date")
        with pytest.raises(simdb.InputError, match="'b' holds a bytes, and document 'a' a number"):
            database.find_clusters(keep="min:n")
        with pytest.raises(simdb.InputError, match=r"document 'a': keep=.* holds a list"):
            database.find_clusters(keep="min:m")
        with pytest.raises(simdb.OptionError, match="keep must be 'first', 'last'"):
            database.find_clusters(keep="date")
        with pytest.raises(simdb.OptionError, match=r"keep='longest' .* texts="):
            database.find_clusters(keep="longest")
        with pytest.raises(simdb.OptionError, match="'connected', 'star', got 'chain'"):
            database.find_clusters(policy="chain")
