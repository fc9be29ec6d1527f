"""A sharded database answers every verb as one database with the same documents does."""

import numpy as np
import pytest
import sharded

import simdb

pytestmark = pytest.mark.usefixtures("any_limit")

OPTIONS = {"simhash": sharded.SIMHASH, "bare": sharded.BARE, "minhash": sharded.MINHASH}
# With so many shards, some have no document.
SHARDS = [1, 2, 5, 14]
QUICK = {("simhash", 2), ("bare", 14), ("minhash", 5)}
SETUPS = [
    pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow)
    for each in [(kind, n) for kind in OPTIONS for n in SHARDS]
]


@pytest.fixture(scope="module", params=SETUPS, ids=str)
def both(request, tmp_path_factory):
    """Return the sharded database, the single one, ids and texts."""
    kind, shards = request.param
    ids, texts = sharded.corpus()
    tmp_path = tmp_path_factory.mktemp("answers")
    options = OPTIONS[kind]
    count = simdb.write_sharded(
        tmp_path / "sharded", sharded.batches(ids, texts, 8), shards, options=options
    )
    assert count == len(ids)
    with (
        simdb.open_sharded(tmp_path / "sharded") as many,
        sharded.single(tmp_path / "single", ids, texts, shards, options) as one,
    ):
        yield many, one, ids, texts


def ranked(many, matches):
    """Return the matches of the single database, equally good ones in the order of the shards.

    A single database tells apart similarities that are equal as numbers of 32 bits.
    """

    def far(match):
        return match.distance if match.similarity is None else -match.similarity

    return sorted(matches, key=lambda match: (far(match), shard(many, match)))


def shard(many, match):
    return simdb.shard_of([match.id], many.shard_count)[0]


def questions(many):
    """Return arguments of queries whose answer is exact."""
    if many.options.is_minhash:
        return [{"search": "exhaustive"}, {"similarity": 0.3, "search": "exhaustive"}]
    bits = [{"distance": 3}, {"distance": 12, "recall": 1.0}]
    if not many.options.sketch.vector_bytes:
        return [{}, *bits]
    similar = [{"similarity": 0.5, "recall": 1.0}, {"similarity": 0.8, "search": "exhaustive"}]
    return [*bits, *similar, {"similarity": 0.6, "distance": 20, "recall": 1.0}]


LIMITED = object()


def limited(given):
    """Return the method of a question with a limit of memory."""
    return {"search": simdb.Search(method=given.get("search"), memory_limit=2000)}


@pytest.mark.few(1)
def test_a_query_by_document(both):
    many, one, _, texts = both

    for given in questions(many):
        for text in texts:
            every = one.query(text, **given)
            by_distance = "distance" in given and "similarity" not in given
            wanted = every if by_distance else ranked(many, every)
            assert many.query(text, **given, threads=2) == wanted
            assert many.query(text, **given, limit=2) == wanted[:2]
            found = many.first(text, **given)
            assert (found in every) if every else found is None


@pytest.mark.few(1)
def test_a_query_by_id(both):
    many, one, ids, _ = both

    for given in questions(many):
        for id in ids[::2]:
            every = one.query(id=id, **given)
            by_distance = not many.options.is_minhash and "similarity" not in given
            wanted = every if by_distance else ranked(many, every)
            assert many.query(id=id, **given) == wanted
            assert many.query(id=id, **given, limit=1) == wanted[:1]
            found = many.first(id=id, **given)
            assert (found in every) if every else found is None


@pytest.mark.few(1)
def test_queries_of_many_documents_are_those_of_each(both):
    many, _, ids, texts = both

    for given in questions(many):
        by_text = [many.query(text, **given) for text in texts]
        by_id = [many.query(id=id, **given) for id in ids]
        for more in ({}, {"limit": 2}, {"threads": 1}, {"threads": 3}, LIMITED):
            more = limited(given) if more is LIMITED else more
            part = slice(more.get("limit"))
            found = many.query_many(texts, **given | more)
            assert list(found) == [each[part] for each in by_text]
            found = many.query_many(ids=ids, **given | more)
            assert list(found) == [each[part] for each in by_id]


def test_the_arrays_of_many_queries_fit_together(both):
    many, _, _, texts = both
    given = questions(many)[0]

    found = many.query_many(texts, **given)

    assert found.offsets[-1] == len(found.ids) == len(found.ordinals) == len(found.distances)
    shards = simdb.shard_of(list(found.ids), many.shard_count)
    assert (found.ordinals >> np.uint64(32)).tolist() == shards.tolist()


def test_the_first_match_of_many_documents(both):
    many, one, ids, texts = both

    for given in questions(many):
        for found, every in [
            (many.query_many(texts, match="first", **given), one.query_many(texts, **given)),
            (many.query_many(ids=ids, match="first", **given), one.query_many(ids=ids, **given)),
        ]:
            for some, all_of_it in zip(found, every, strict=True):
                assert len(some) == min(len(all_of_it), 1)
                assert set(some) <= set(all_of_it)


@pytest.mark.few(1)
def test_the_nearest(both):
    many, one, ids, texts = both

    def wanted(k, every, **asked):
        if not many.options.sketch.vector_bytes:
            return one.nearest(**asked, k=k, recall=1.0)
        return ranked(many, every)[:k]

    for verb, asked in (("document", texts), ("id", ids)):
        every = [one.nearest(**{verb: each}, k=100, recall=1.0) for each in asked]
        for k in (1, 3, 100):
            alone = [many.nearest(**{verb: each}, k=k, recall=1.0) for each in asked]
            together = many.nearest_many(**{f"{verb}s": asked}, k=k, recall=1.0, threads=3)
            assert alone == [
                wanted(k, row, **{verb: each}) for row, each in zip(every, asked, strict=True)
            ]
            assert list(together) == alone


@pytest.mark.few(1)
def test_matches_that_a_function_confirms(both):
    many, _, _, texts = both
    given = questions(many)[-1]

    def verify(id):
        return str(id).endswith(("1", "3", "5", "7", "9"))

    for text in texts:
        wanted = [match for match in many.query(text, **given) if verify(match.id)]
        assert many.query(text, **given, accept=verify) == wanted
        assert many.query(text, **given, accept=verify, limit=1) == wanted[:1]
        assert many.first(text, **given, accept=verify) == (wanted[0] if wanted else None)
    found = many.query_many(texts, **given, accept=lambda _, id: verify(id))
    assert list(found) == [many.query(text, **given, accept=verify) for text in texts]
    first = many.query_many(texts, **given, match="first", accept=lambda _, id: verify(id))
    assert list(first) == [some[:1] for some in found]


def test_documents_by_id(both):
    many, one, ids, _ = both
    asked = [*ids[::-1], "unknown", 77777, b"unknown"]

    assert many.get_many(ids) == one.get_many(ids)
    assert [many.get(id) for id in ids] == one.get_many(ids)
    assert [many[id] for id in ids] == one.get_many(ids)
    assert many.get("unknown", 5) == one.get("unknown", 5) == 5
    assert many.get("unknown") is None
    with pytest.raises(simdb.NotFoundError):
        many["unknown"]
    assert many.contains_many(asked).tolist() == one.contains_many(asked).tolist()
    assert [id in many for id in asked] == [id in one for id in asked]
    for mine, theirs in zip(many.bits_many(asked), one.bits_many(asked), strict=True):
        assert mine.tolist() == theirs.tolist()
    for verb in ("get_many", "query_many"):
        with pytest.raises(simdb.NotFoundError, match="no document has the id 77777"):
            getattr(many, verb)(ids=[ids[0], 77777, "unknown"])


def test_all_documents(both):
    many, one, ids, _ = both

    assert len(many) == len(one) == len(ids)
    assert list(many) == list(one)
    assert many.options == one.options
    assert many


@pytest.mark.few(1)
def test_ready_fingerprints(both):
    many, one, _, texts = both
    if many.options.is_minhash:
        pytest.skip("signatures have no fingerprints that can be asked for")
    bits = one.sketcher.fingerprints(texts).bits

    for each in bits.tolist():
        assert many.query(each, distance=3) == one.query(each, distance=3)
        assert many.nearest(each, 4) == one.nearest(each, 4)
        assert many.query(each, distance=3, limit=1) == one.query(each, distance=3, limit=1)
    assert list(many.query_many(bits, distance=6)) == list(one.query_many(bits, distance=6))


@pytest.mark.few(1)
def test_the_numbers_of_all_shards(both):
    many, one, ids, texts = both

    found = many.stats()

    assert found.document_count == len(ids)
    assert found.empty_count == one.stats().empty_count == texts.count("")
    assert found.shard_count == len(found.shards) == many.shard_count
    assert sum(each.document_count for each in found.shards) == len(ids)
    assert found.largest_count == max(each.document_count for each in found.shards)
    assert found.smallest_count == min(each.document_count for each in found.shards)
    assert (found.smallest_count == 0) == (many.shard_count == 14)
    assert found.file_bytes == sum(each.file_bytes for each in found.shards)
    assert found.options == one.stats().options
    assert list(many.check()) == list(many.check(deep=True)) == []


def test_bad_arguments_are_refused_as_by_one_database(both):
    many, one, ids, texts = both

    for verb, given in [
        ("query", {"document": texts[0], "limit": 0}),
        ("query", {"document": texts[0], "similarity": 2.0}),
        ("query", {"document": texts[0], "search": "none"}),
        ("query", {"document": texts[0], "accept": 1}),
        ("query", {"document": b"\xff"}),
        ("query", {"id": "unknown"}),
        ("first", {"id": 3.5}),
        ("nearest", {"document": texts[0], "k": 0}),
        ("nearest", {"document": texts[0], "id": ids[0]}),
        ("query_many", {"documents": "text"}),
        ("query_many", {"documents": texts, "threads": 0}),
        ("query_many", {"documents": texts, "search": simdb.Search(memory_limit=0)}),
        ("nearest_many", {}),
        ("get_many", {"ids": "text"}),
        ("contains_many", {"ids": [None]}),
    ]:
        with pytest.raises(simdb.Error) as wanted:
            getattr(one, verb)(**given)
        with pytest.raises(type(wanted.value)) as found:
            getattr(many, verb)(**given)
        assert str(found.value) == str(wanted.value)


@pytest.mark.few(1)
def test_filters_by_metadata(both):
    many, one, ids, texts = both

    def is_short(metadata):
        return metadata is not None and len(metadata["text"]) < 150

    for at in range(0, len(ids), 3):
        for asked in ({"document": texts[at]}, {"id": ids[at]}):
            expected = one.query(**asked, limit=3, where=is_short)
            assert many.query(**asked, limit=3, where=is_short) == expected
            assert (many.first(**asked, where=is_short) is None) == (not expected)
            nearest = one.nearest(**asked, k=4, where=is_short)
            assert many.nearest(**asked, k=4, where=is_short) == nearest
    for asked in ({"documents": texts}, {"ids": ids}):
        expected = one.query_many(**asked, where=is_short)
        assert list(many.query_many(**asked, where=is_short)) == list(expected)
        first = many.query_many(**asked, match="first", where=is_short)
        assert [len(row) for row in first] == [min(len(row), 1) for row in expected]
        nearest = one.nearest_many(**asked, k=4, where=is_short)
        assert list(many.nearest_many(**asked, k=4, where=is_short)) == list(nearest)
