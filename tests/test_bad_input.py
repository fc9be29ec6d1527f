"""Bad input is refused with its name and the remedy, and no stored document is lost."""

import numpy as np
import pytest
from over import over

import simdb


@pytest.fixture
def filled(database):
    """Return a database of ten documents, which the test must not change."""
    database.insert_many(range(10), np.arange(10, dtype=np.uint64) << np.uint64(32))
    yield database
    assert list(database) == list(range(10))


GOOD = [1, 2, 3]
HUGE = simdb.Features(np.arange(2, dtype=np.uint64), np.full(2, 3e38, np.float32))


@over(
    ("documents", "message"),
    [
        ([1, b"caf\xe9", 3], "document 1"),
        ([1, 2, "lone \ud800 surrogate"], "document 2"),
        ([1, None, 3], r"document 1 is NoneType \(a null\); leave nulls out, or fill"),
        (["a", float("nan"), "c"], r"document 1 is nan \(a null\); leave nulls out, or fill"),
        ([1, HUGE, 3], "weights of document 1 add up to more than float32 can hold"),
        *(
            ([1, document, 3], f"document 1 is {words}")
            for document, words in (
                (2.5, "float"), (True, "a bool"), (-1, "-1"), (2**64, "18446744073709551616"),
                ({"a": 1}, "dict"), (np.zeros((1, 128), np.float32), "an array of float32"),
            )
        ),
        ([1, ["token", 5], 3], "document 1"),
        (np.arange(3), "int64"),
        (np.zeros(3), "float64"),
        *((np.zeros((3, size), kind), "shape") for size, kind in ((2, np.uint64), (64, np.int32))),
        (np.array(3, np.uint64), "documents must be"),
        ("one text for three", "documents must be a list, array or iterator"),
        (7, "documents must be a list, array or iterator"),
        (None, "documents are missing; give ids and documents, or a mapping"),
        ([1, 2], "3 ids but 2 documents"),
        ([1, 2, 3, 4], "3 ids but more than 3 documents"),
        (iter([1]), "3 ids but 1 documents"),
        ([], "3 ids but 0 documents"),
    ],
)  # fmt: skip
def test_documents_that_cannot_be_are_refused_and_none_is_stored(filled, documents, message):
    with pytest.raises(simdb.InputError, match=message):
        filled.insert_many(["a", "b", "c"], documents)


WRONG_IDS = [
    None, 1.5, True, "", b"", ("b",), ["b"], 2**64, -(2**63) - 1, 10**400, "x" * 2000, b"x" * 2000,
    "lone \udcff surrogate",
]  # fmt: skip


@over(
    ("ids", "message"),
    [
        (["a", "b", "a"], r"'a' is given twice.*at positions 0 and 2"),
        ([1, 2, np.int64(1)], "is given twice"),
        *((["a", id, "c"], "id 1") for id in WRONG_IDS),
        *((ids, "ids must be a list, array or iterator") for ids in ("abc", 5, None)),
        *((ids, "id 0") for ids in (np.zeros(3), np.zeros((3, 3), np.int64))),
        *((ids, "ids must be") for ids in (np.array(5), object())),
    ],
)
def test_ids_that_cannot_be_are_refused_and_none_is_stored(filled, ids, message):
    with pytest.raises(simdb.InputError, match=message):
        filled.insert_many(ids, GOOD)
    with pytest.raises(simdb.InputError, match=message):
        filled.add_many_if_new(ids, GOOD, on_conflict="error")


@pytest.mark.parametrize(
    "id",
    ["a\0b", b"\0", "x" * 600, b"\xff" * 1023, "\u00e9" * 511, -(2**63), 2**63, 2**64 - 1, -1, 0],
)
def test_odd_ids_are_kept_as_they_are(database, id):
    database.insert(id, 1)
    database.compact()

    assert [(type(each), each) for each in database] == [(type(id), id)]
    assert database.query(1)[0].id == id
    assert id in database


def test_a_taken_id_is_refused_with_the_remedy(filled):
    with pytest.raises(simdb.ExistsError, match=r"id 5 is stored already.*on_conflict='replace'"):
        filled.insert_many(["new", 5, 6], GOOD)


def test_an_unknown_id_is_named(filled):
    for verb in (
        lambda: filled["none"],
        lambda: filled.delete("none"),
        lambda: filled.query(id="none"),
        lambda: filled.first(id="none"),
        lambda: filled.query_many(ids=[1, "none"]),
        lambda: filled.update_metadata("none", 1),
    ):
        with pytest.raises(simdb.NotFoundError) as caught:
            verb()
        assert str(caught.value) == "no document has the id 'none'"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ([None, object(), None], "document 'b'"),
        ([None, {1, 2}, None], "document 'b'"),
        ([None, 2**64, None], "document 'b'"),
        ([None, "\ud800", None], "document 'b'"),
        ([None], "3 ids but metadata of 1"),
        ("abc", "metadata must be a list, array or iterator"),
        ({"a": 1, "b": 2, "c": 3}, "a list with an object or None for each"),
    ],
)
def test_metadata_that_cannot_be_stored_is_refused(filled, metadata, message):
    with pytest.raises(simdb.InputError, match=message):
        filled.insert_many(["a", "b", "c"], GOOD, metadata)


def test_metadata_without_end_is_refused(filled):
    endless = []
    endless.append(endless)

    with pytest.raises(simdb.InputError, match="metadata of document 'a'"):
        filled.insert("a", 1, endless)


def test_an_iterator_that_fails_leaves_nothing_behind(filled):
    def documents():
        yield 1
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="source is gone"):
        filled.insert_many(["a", "b"], documents())


def test_zero_documents_are_zero_documents(filled):
    assert filled.insert_many([], []) == 0
    assert filled.delete_many([]) == 0
    assert len(filled.query_many([])) == 0
    assert len(filled.query_many(np.empty(0, np.uint64))) == 0
    assert len(filled.query_many(ids=[])) == 0


def test_an_empty_document_is_stored_and_matches_nothing(database):
    database.insert_many(["a", "b", "c", "d"], ["", "\u3000 ", [], 5])

    assert database.get("a").fingerprint.is_empty
    assert database.query("") == []
    assert database.query("", distance=64) == []
    assert database.first("") is None
    assert [match.id for match in database.query(5, distance=64)] == ["d"]
    assert list(database.find_all(distance=64)) == []
    assert list(database.find_clusters(distance=64)) == []
    assert database.stats().empty_count == 3


@pytest.mark.parametrize("errors", ["ignore", None, 5])
def test_another_error_treatment_is_refused(filled, errors):
    with pytest.raises(simdb.InputError, match="'strict' or 'replace'"):
        filled.insert("a", "text", errors=errors)


@over(
    "bounds",
    [
        *({"distance": each} for each in (-1, 65, 2.0, "3", True, [3])),
        *({"recall": each} for each in (0, 1.5, float("nan"), "all")),
        *({"search": each} for each in ("psm2", 5, ["bphs"])),
    ],
)
def test_bounds_that_cannot_be_are_refused_by_every_verb(filled, bounds):
    name = next(iter(bounds))
    for verb in (
        lambda: filled.query(1, **bounds),
        lambda: filled.query("text", **bounds),
        lambda: filled.first(1, **bounds),
        lambda: filled.query_many([1, 2], **bounds),
        lambda: filled.query(id=1, **bounds),
        lambda: filled.find_all(**bounds),
        lambda: filled.find_clusters(**bounds),
        lambda: filled.plan(**bounds),
        lambda: filled.add_if_new("new", 1, **bounds),
    ):
        with pytest.raises(simdb.OptionError, match=name):
            verb()


@over("similarity", [0, -0.5, 1.01, float("nan"), "0.9", True])
def test_similarities_that_cannot_be_are_refused(filled, similarity):
    with pytest.raises(simdb.OptionError, match="similarity must be above 0 and at most 1"):
        filled.query("text", similarity=similarity)


@over("limit", [0, -1, 1.5, "2", True])
def test_limits_that_cannot_be_are_refused(filled, limit):
    for verb in (
        lambda: filled.query(1, limit=limit),
        lambda: filled.query("text", limit=limit),
        lambda: filled.query_many([1], limit=limit),
    ):
        with pytest.raises(simdb.OptionError, match="limit"):
            verb()


def test_a_query_takes_a_document_or_an_id(filled):
    with pytest.raises(simdb.InputError, match="needs a document"):
        filled.query()
    with pytest.raises(simdb.InputError, match="not both"):
        filled.query("text", id=1)
    with pytest.raises(simdb.InputError, match="document 0 is object"):
        filled.query(object())
    with pytest.raises(simdb.InputError, match="documents must be a list, array or iterator"):
        filled.query_many("text")


def test_similarity_of_a_ready_fingerprint_is_refused_with_the_remedy(filled):
    with pytest.raises(simdb.OptionError, match="use distance="):
        filled.query(5, similarity=0.9)
    with pytest.raises(simdb.OptionError, match="use distance="):
        filled.query_many([5, "text"], similarity=0.9)


def test_similarity_without_stored_volatility_is_refused_with_the_remedy(open_database):
    sketch = simdb.Simhash(store_volatility=False)
    database = open_database(options=simdb.Options(sketch=sketch))
    database.insert("a", "some text of a few words")

    for verb in (
        lambda: database.query("some text", similarity=0.9),
        lambda: database.find_all(similarity=0.9),
        lambda: database.find_clusters(similarity=0.9),
    ):
        with pytest.raises(simdb.OptionError, match="distance="):
            verb()
    assert database.query("some text of a few words") == [simdb.Match("a", 0)]


def test_weights_that_contradict_their_bits_are_refused(filled):
    weights = np.ones((3, 64), np.float32)
    bits = np.full(3, 2**64 - 1, np.uint64)
    bits[1] = 0

    with pytest.raises(simdb.InputError, match="fingerprint 1"):
        filled.insert_many(["a", "b", "c"], simdb.Fingerprints(bits, weights))
