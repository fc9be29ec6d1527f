"""A sharded database answers queries as one database with the same documents does.

`test_readings` asks both by every verb; here are fingerprints without weights, threads, limits of
memory, and what only shards have.
"""

import numpy as np
import pytest

import simdb

pytestmark = pytest.mark.usefixtures("any_limit")


def test_fingerprints_that_are_asked_for_by_their_bits(both):
    kind, many, one, texts = both
    if kind == "minhash":
        pytest.skip("signatures have no bits that can be asked for")
    bits = one.sketcher.fingerprints(list(texts.values())).bits

    found = many.query_many(bits, distance=6)
    nearest = many.nearest_many(bits, 4, threads=3)

    assert list(found) == list(one.query_many(bits, distance=6))
    assert list(nearest) == list(one.nearest_many(bits, 4))
    assert [many.query(each, distance=6) for each in bits.tolist()[::5]] == [*found][::5]
    assert [many.nearest(each, 4) for each in bits.tolist()[::5]] == [*nearest][::5]
    assert found.offsets[-1] == len(found.ids) == len(found.ordinals) == len(found.distances)
    given = {"shard_by": many.shard_by}
    own = found.ids if many.shard_by == "id" else many.bits_many(found.ids)[1]
    shards = simdb.shard_of(own, many.shard_count, **given)
    assert (found.ordinals >> np.uint64(32)).tolist() == shards.tolist()


@pytest.mark.few(1)
def test_queries_of_many_documents_are_those_of_each(both):
    _, many, _, texts = both
    ids, texts = list(texts), list(texts.values())
    given = {"search": "exhaustive"}
    by_text = [many.query(text, **given) for text in texts]
    by_id = [many.query(id=id, **given) for id in ids]
    limited = simdb.Search(method="exhaustive", memory_limit=2000)

    for more in ({"limit": 2}, {"threads": 1}, {"threads": 3}, {"search": limited}):
        part = slice(more.get("limit"))
        found = many.query_many(texts, **given | more)
        assert list(found) == [each[part] for each in by_text]
        found = many.query_many(ids=ids, **given | more)
        assert list(found) == [each[part] for each in by_id]


def test_the_numbers_of_all_shards(both):
    _, many, one, texts = both

    found = many.stats()

    assert found.document_count == len(many) == len(texts)
    assert found.empty_count == one.stats().empty_count == [*texts.values()].count("")
    assert found.shard_count == len(found.shards) == many.shard_count
    counts = [each.document_count for each in found.shards]
    assert (sum(counts), max(counts), min(counts)) == (
        len(texts), found.largest_count, found.smallest_count
    )  # fmt: skip
    assert found.file_bytes == sum(each.file_bytes for each in found.shards)
    assert found.options == one.stats().options
    assert many.options == one.options
    assert list(many.check()) == list(many.check(deep=True)) == []
    with pytest.raises(simdb.OptionError, match="keeps no times of documents"):
        many.times_many([])


def test_bad_arguments_are_refused_as_by_one_database(both):
    _, many, one, texts = both
    ids, texts = list(texts), list(texts.values())

    for verb, given in [
        ("query", {"document": texts[0], "limit": 0}),
        ("query", {"document": texts[0], "accept": 1}),
        ("query", {"document": b"\xff"}),
        ("query", {"id": "unknown"}),
        ("first", {"id": 3.5}),
        ("nearest", {"document": texts[0], "id": ids[0]}),
        ("query_many", {"documents": "text"}),
        ("query_many", {"documents": texts, "search": simdb.Search(memory_limit=0)}),
        ("query_many", {"ids": [ids[0], 77777, "unknown"]}),
        ("nearest_many", {}),
        ("get_many", {"ids": [ids[0], 77777, "unknown"]}),
        ("contains_many", {"ids": [None]}),
        ("find_all", {"where": 3}),
        ("find_all", {"verify": "exact"}),
        ("find_all", {"threads": 0}),
        ("find_clusters", {"keep": "max:unknown"}),
        ("compare", {"left": ids[:2], "right": ids[:1]}),
        ("compare", {"left": ["unknown"], "right": ids[:1]}),
        ("explain", {"id": ids[0], "other_id": "unknown"}),
        ("draw_ids", {"count": -1}),
        ("plan", {"n": -1}),
    ]:
        with pytest.raises(simdb.Error) as wanted:
            getattr(one, verb)(**given)
        with pytest.raises(type(wanted.value)) as found:
            getattr(many, verb)(**given)
        assert str(found.value) == str(wanted.value)
