"""A table or a mapping where many documents or ids belong is refused by name, with the remedy."""

import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from over import over

import simdb

ROWS = {"id": ["a", "b"], "text": ["red green blue white", "one two three four"]}


class Relation:
    """Stands for what a query of DuckDB gives: it has columns, and its rows can be iterated."""

    columns = ("id", "text")

    def __iter__(self):
        return iter(zip(*ROWS.values(), strict=True))


TABLES = {
    "pandas.DataFrame": lambda: pandas.DataFrame(ROWS),
    "polars.DataFrame": lambda: polars.DataFrame(ROWS),
    "polars.LazyFrame": lambda: polars.LazyFrame(ROWS),
    "pyarrow.Table": lambda: pyarrow.table(ROWS),
    "pyarrow.RecordBatch": lambda: pyarrow.RecordBatch.from_pydict(ROWS),
    "pyarrow.RecordBatchReader": lambda: pyarrow.table(ROWS).to_reader(),
    "Relation": Relation,
}
MAPPING = dict(zip(*ROWS.values(), strict=True))
TEXTS = ROWS["text"]
DOCUMENTS = [
    lambda verbs, many: verbs.query_many(many),
    lambda verbs, many: verbs.nearest_many(many, 2),
    lambda verbs, many: verbs.insert_many(["c", "d"], many),
    lambda verbs, many: verbs.add_many_if_new(["c", "d"], many),
    lambda verbs, many: verbs.add_many_if_new(["c", "d"], many, verify="exact", texts=MAPPING),
    lambda verbs, many: verbs.insert_batch(["c", "d"], many),
]
IDS = [
    lambda verbs, many: verbs.query_many(ids=many),
    lambda verbs, many: verbs.nearest_many(ids=many),
    lambda verbs, many: verbs.get_many(many),
    lambda verbs, many: verbs.contains_many(many),
    lambda verbs, many: verbs.insert_many(many, TEXTS),
    lambda verbs, many: verbs.add_many_if_new(many, TEXTS),
    lambda verbs, many: verbs.insert_batch(many, TEXTS),
    lambda verbs, many: verbs.delete_many(many),
]
FUNCTIONS = [
    simdb.fingerprints, simdb.signatures, simdb.fit_idf,
    lambda many: simdb.find_all(many, 4, 3), lambda many: simdb.find_clusters(many, 4, 3),
    lambda many: simdb.write_sharded("shards", [(["c", "d"], many)], shards=2),
]  # fmt: skip
REFUSED = "must be a list, array or iterator, got the (table|mapping) .*{}; give "


@pytest.fixture
def filled(database):
    database.insert_many(ROWS["id"], TEXTS)
    return database


@over("name", TABLES)
def test_every_verb_and_function_refuses_a_table_by_its_name(filled, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with filled.write() as transaction:
        for call in (*DOCUMENTS, *IDS):
            with pytest.raises(simdb.InputError, match=REFUSED.format(name)):
                call(transaction, TABLES[name]())
        for verb in (transaction.insert_many, transaction.add_many_if_new):
            with pytest.raises(simdb.InputError, match=r"give both columns: table\['id'\], table"):
                verb(TABLES[name]())
        assert len(transaction) == 2
    for call in FUNCTIONS:
        with pytest.raises(simdb.InputError, match=REFUSED.format(name)):
            call(TABLES[name]())


def test_a_sharded_database_refuses_a_table_by_its_name(tmp_path):
    simdb.write_sharded(tmp_path / "shards", [tuple(ROWS.values())], shards=2)

    with simdb.open_sharded(tmp_path / "shards") as sharded:
        for call in (*DOCUMENTS[:2], *IDS[:4]):
            with pytest.raises(simdb.InputError, match=REFUSED.format("pandas.DataFrame")):
                call(sharded, TABLES["pandas.DataFrame"]())


def test_a_mapping_is_no_list_of_documents_and_gives_its_keys_as_ids(filled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with filled.write() as transaction:
        for call in DOCUMENTS:
            with pytest.raises(simdb.InputError, match=REFUSED.format("dict")):
                call(transaction, MAPPING)
        assert len(transaction) == 2
    for call in FUNCTIONS:
        with pytest.raises(simdb.InputError, match=REFUSED.format("dict")):
            call(MAPPING)
    assert [document.id for document in filled.get_many(MAPPING)] == ["a", "b"]
    assert filled.delete_many(MAPPING) == 2


@pytest.mark.parametrize("verb", ["insert_many", "add_many_if_new", "insert_batch"])
def test_a_mapping_from_ids_to_documents_is_stored(database, verb):
    getattr(database, verb)(MAPPING)

    assert [match.id for match in database.query(ROWS["text"][1])] == ["b"]
    assert len(database) == 2


def test_a_column_of_a_table_is_taken(filled):
    for table in (pandas.DataFrame(ROWS), polars.DataFrame(ROWS), pyarrow.table(ROWS)):
        found = filled.query_many(table["text"])

        assert [[match.id for match in row] for row in found] == [["a"], ["b"]]


@pytest.mark.parametrize(
    "document",
    [
        [ROWS["text"][0]],
        (ROWS["text"][0].encode(),),
        ["two words here", "another text"],
        ["two words here", "", b"another text"],
        ["two\twords", "another\nline"],
    ],
)
def test_a_list_of_texts_is_no_list_of_tokens(filled, document):
    minhash = simdb.Minhash()

    for call in (
        lambda: filled.query(document),
        lambda: filled.query_many([["a"], document]),
        lambda: filled.first(document),
        lambda: filled.nearest(document),
        lambda: filled.insert("c", document),
        lambda: filled.insert_many(["d", "c"], [["a"], document]),
        lambda: filled.add_if_new("c", document),
        lambda: simdb.fingerprint(document),
        lambda: simdb.signature(document, minhash),
        lambda: simdb.fit_idf([document]),
    ):
        with pytest.raises(simdb.InputError, match=r"is a list of texts, .*Give the text itself"):
            call()
    assert "c" not in filled


VECTORS = np.arange(24.0).reshape(3, 8) + 1


def of_texts(db):
    db.insert("first", "the text of one page")


def of_vectors(db):
    db.insert("first", VECTORS[0])


SETTLED = [
    (of_texts, [VECTORS[1], VECTORS[1:]], "first document was a text, .* vector of 8 coordinates"),
    (of_vectors, ["a text", ["a text"]], "was a vector of 8 coordinates, and this is a text"),
    (of_vectors, [np.ones(7), np.ones((2, 7))], "of 8 coordinates, .* a vector of 7 coordinates"),
]


@pytest.mark.parametrize(("settle", "others", "message"), SETTLED)
def test_the_first_document_settles_whether_a_database_takes_texts_or_vectors(
    open_database, tmp_path, settle, others, message
):
    database = open_database()
    settle(database)
    one, many = others
    ids = range(len(many))
    fresh = open_database(tmp_path / "staged")

    for call in (
        lambda: database.insert("a", one),
        lambda: database.insert_many(ids, many),
        lambda: database.insert_many(ids, iter(many)),
        lambda: database.insert_batch(ids, many),
        lambda: database.add_if_new("a", one),
        lambda: database.add_many_if_new(ids, many),
        lambda: database.query(one),
        lambda: database.first(one),
        lambda: database.nearest(one),
        lambda: database.query_many(many),
        lambda: database.nearest_many(many),
    ):
        with pytest.raises(simdb.InputError, match=message):
            call()
    with fresh.write() as transaction:
        settle(transaction)
        with pytest.raises(simdb.InputError, match=message):
            transaction.insert("a", one)
        with pytest.raises(simdb.InputError, match=message):
            transaction.query(one)
    assert list(database) == list(fresh) == ["first"]


@pytest.mark.parametrize(("settle", "others", "message"), SETTLED)
def test_what_the_first_document_settles_outlives_the_process_compaction_and_a_dump(
    open_database, tmp_path, settle, others, message
):
    settle(open_database())
    again = open_database(mode="w")
    again.compact()
    again.rebuild()

    with pytest.raises(simdb.InputError, match=message):
        again.query(others[0])
    again.dump(tmp_path / "dump")
    simdb.load(tmp_path / "dump", tmp_path / "loaded")
    with pytest.raises(simdb.InputError, match=message):
        open_database(tmp_path / "loaded").insert("a", others[0])

    again.delete("first")
    again.insert("other", others[0])
    assert again.query(others[0], similarity=0.9)[0].id == "other"


def test_ready_fingerprints_and_features_go_with_texts_and_with_vectors(open_database, tmp_path):
    for number, document in enumerate(["a text", VECTORS[0]]):
        database = open_database(tmp_path / f"{number}")
        database.insert("first", document)
        database.insert("bits", 7)
        database.insert("ready", simdb.fingerprint(document))
        database.insert("features", simdb.Features(np.arange(3, dtype=np.uint64)))

        assert {match.id for match in database.query(document)} == {"first", "ready"}


def test_a_failed_first_insertion_settles_nothing(open_database):
    database = open_database()
    with database.write() as transaction:
        transaction.insert("a", "a text")
        transaction.abort()
    with database.write() as transaction:
        with pytest.raises(simdb.InputError):
            transaction.insert_many(["a", "b"], ["a text", "lone \ud800"])
        transaction.insert("c", VECTORS[0])

    assert list(database) == ["c"]


def test_tokens_and_vectors_are_taken_without_a_warning(filled):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for document in (["one"], ["New York", "Paris"], ["e q", "qu", "ui"], [], [b"one"], ()):
            filled.query(document)
        simdb.fingerprints(np.ones((2, 8)))
