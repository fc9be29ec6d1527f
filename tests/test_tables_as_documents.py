"""A table or a mapping where many documents or ids belong is refused by name, with the remedy."""

import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest

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
READING = {
    "query_many": lambda reader, many: reader.query_many(many),
    "nearest_many": lambda reader, many: reader.nearest_many(many, 2),
}
BY_ID = {
    "query_many": lambda reader, many: reader.query_many(ids=many),
    "nearest_many": lambda reader, many: reader.nearest_many(ids=many),
    "get_many": lambda reader, many: reader.get_many(many),
    "contains_many": lambda reader, many: reader.contains_many(many),
}
WRITING = {
    "insert_many": lambda writer, many: writer.insert_many(["c", "d"], many),
    "add_many_if_new": lambda writer, many: writer.add_many_if_new(["c", "d"], many),
    "add_many_if_new of texts": lambda writer, many: writer.add_many_if_new(
        ["c", "d"], many, verify="exact", texts=MAPPING
    ),
    "insert_batch": lambda writer, many: writer.insert_batch(["c", "d"], many),
}
WRITING_IDS = {
    "insert_many": lambda writer, many: writer.insert_many(many, ROWS["text"]),
    "add_many_if_new": lambda writer, many: writer.add_many_if_new(many, ROWS["text"]),
    "insert_batch": lambda writer, many: writer.insert_batch(many, ROWS["text"]),
    "delete_many": lambda writer, many: writer.delete_many(many),
}
FUNCTIONS = {
    "fingerprints": simdb.fingerprints,
    "signatures": simdb.signatures,
    "fit_idf": simdb.fit_idf,
    "find_all": lambda many: simdb.find_all(many, 4, 3),
    "find_clusters": lambda many: simdb.find_clusters(many, 4, 3),
    "write_sharded": lambda many: simdb.write_sharded("shards", [(["c", "d"], many)], shards=2),
}
REFUSED = "must be a list, array or iterator, got the (table|mapping) .*{}; give "


@pytest.fixture
def filled(database):
    database.insert_many(ROWS["id"], ROWS["text"])
    return database


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TABLES)
def test_every_verb_refuses_a_table_by_its_name(filled, name):
    with filled.read() as snapshot, filled.write() as transaction:
        for reader in (filled, snapshot, transaction):
            for call in (READING | BY_ID).values():
                with pytest.raises(simdb.InputError, match=REFUSED.format(name)):
                    call(reader, TABLES[name]())
        for call in (*WRITING.values(), *WRITING_IDS.values()):
            with pytest.raises(simdb.InputError, match=REFUSED.format(name)):
                call(transaction, TABLES[name]())
        assert len(transaction) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TABLES)
def test_a_sharded_database_refuses_a_table_by_its_name(tmp_path, name):
    simdb.write_sharded(tmp_path / "shards", [tuple(ROWS.values())], shards=2)

    with simdb.open_sharded(tmp_path / "shards") as sharded:
        for call in (READING | BY_ID).values():
            with pytest.raises(simdb.InputError, match=REFUSED.format(name)):
                call(sharded, TABLES[name]())


@pytest.mark.parametrize("name", TABLES)
def test_every_function_refuses_a_table_by_its_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)

    for call in FUNCTIONS.values():
        with pytest.raises(simdb.InputError, match=REFUSED.format(name)):
            call(TABLES[name]())


def test_a_mapping_is_no_list_of_documents(filled, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with filled.write() as transaction:
        for call in (*READING.values(), *WRITING.values()):
            with pytest.raises(simdb.InputError, match=REFUSED.format("dict")):
                call(transaction, MAPPING)
        assert len(transaction) == 2
    for call in FUNCTIONS.values():
        with pytest.raises(simdb.InputError, match=REFUSED.format("dict")):
            call(MAPPING)


def test_a_mapping_gives_its_keys_where_ids_are_wanted(filled):
    assert [document.id for document in filled.get_many(MAPPING)] == ["a", "b"]
    assert filled.delete_many(MAPPING) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_place_of_ids_and_documents_is_refused_with_both_columns(filled, name):
    for verb in (filled.insert_many, filled.add_many_if_new, filled.insert_batch):
        with pytest.raises(simdb.InputError, match=r"give both columns: table\['id'\], table"):
            verb(TABLES[name]())


@pytest.mark.parametrize("verb", ["insert_many", "add_many_if_new", "insert_batch"])
def test_a_mapping_from_ids_to_documents_is_stored(database, verb):
    getattr(database, verb)(MAPPING)

    assert [match.id for match in database.query(ROWS["text"][1])] == ["b"]
    assert len(database) == 2


def test_a_column_of_a_table_is_taken(filled):
    for table in (pandas.DataFrame(ROWS), polars.DataFrame(ROWS), pyarrow.table(ROWS)):
        found = filled.query_many(table["text"])

        assert [[match.id for match in row] for row in found] == [["a"], ["b"]]


@pytest.mark.parametrize("document", [[ROWS["text"][0]], (ROWS["text"][0].encode(),)])
def test_a_text_in_a_list_is_warned_of_as_one_token(filled, document):
    minhash = simdb.Minhash()

    for call in (
        lambda: filled.query(document),
        lambda: filled.query_many([document, document]),
        lambda: filled.nearest(document),
        lambda: filled.insert("c", document),
        lambda: simdb.fingerprint(document),
        lambda: simdb.signature(document, minhash),
        lambda: simdb.fit_idf([document]),
    ):
        with pytest.warns(RuntimeWarning, match="a list with one token, .*Give the text itself"):
            call()


def test_tokens_and_vectors_are_taken_without_a_warning(filled):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for document in (["one"], ["the first line", "the second line"], [], [b"one"], ()):
            filled.query(document)
        simdb.fingerprints(np.ones((2, 8)))
