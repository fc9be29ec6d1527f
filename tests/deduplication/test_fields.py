"""Fields of rows in memory: paths, joined ones, the first that exists; and ids that differ."""

import kinds
import pandas
import pyarrow
import pytest
from kinds import rows_in
from over import over

import simdb

FOX = "the quick brown fox jumps over the lazy dog near the river bank today"
SKY = "a completely different sentence about clouds, weather and the blue sky"
ROWS = [
    {"id": "a", "title": "one", "doc": {"body": FOX}, "text": None, "score": {"n": 1}},
    {"id": "b", "title": "two", "doc": {"body": SKY}, "text": None, "score": {"n": 2}},
    {"id": "c", "title": "one", "doc": {"body": FOX}, "text": None, "score": {"n": 3}},
]


@pytest.mark.parametrize("make", kinds.RECORDS.values(), ids=kinds.RECORDS)
@over(
    ("settings", "kept"),
    [
        ({"text": "doc.body"}, "ab"),
        ({"text": "doc.body", "id": "id", "keep": "max:score.n"}, "bc"),
        ({"text": ("title", "doc.body")}, "ab"),
        ({"text": ["title", "doc.body"], "id": ("id", "title")}, "ab"),
        ({"text": "text|doc.body"}, "ab"), ({"text": "nothing|doc.body"}, "ab"),
    ],
)  # fmt: skip
def test_every_kind_of_rows_has_fields_of_every_form(make, settings, kept):
    found = simdb.deduplicate(make(ROWS), **settings)

    assert [row["id"] for row in rows_in(found.data)] == list(kept)


@pytest.mark.parametrize("make", kinds.RECORDS.values(), ids=kinds.RECORDS)
def test_a_field_that_no_row_has_is_named_with_those_there_are(make):
    for settings in (
        {"text": "doc.bdy"},
        {"text": ("titel", "doc.body")},
        {"text": "title", "id": "nr"},
    ):
        with pytest.raises(simdb.OptionError, match="'doc'"):
            simdb.deduplicate(make(ROWS), **settings)


def test_files_have_the_fields_of_rows(tmp_path):
    simdb.deduplicate(ROWS, text="title").write(tmp_path / "a.jsonl")

    found = simdb.deduplicate(tmp_path / "a.jsonl", text=("title", "doc.body"), id="id")

    assert found.data.column("id").to_pylist() == ["a", "b"]
    with pytest.raises(simdb.InputError, match=r"no field 'nr'; use id= .*found: 'id', 'title'"):
        simdb.deduplicate(tmp_path / "a.jsonl", text="title", id="nr")
    with pytest.raises(simdb.InputError, match="no field 'titel'; use text="):
        simdb.deduplicate(tmp_path / "a.jsonl", text=("titel", "title"))


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_what_is_null_is_left_out_of_joined_fields(tmp_path, ending):
    rows = [{"title": None, "body": FOX}, {"title": "", "body": FOX}, {"title": "t", "body": SKY}]
    path = tmp_path / f"a.{ending}"
    simdb.deduplicate(rows, text="title").write(path)

    for data in (rows, path):
        assert len(simdb.deduplicate(data, text=("title", "body"))) == 2


def test_ids_of_rows_differ():
    with pytest.raises(simdb.InputError, match="the id 'a' of row 1 is that of an earlier row"):
        simdb.deduplicate([FOX, SKY], id=["a", "a"])
    with pytest.raises(simdb.InputError, match="the id 'one' of row 2"):
        simdb.deduplicate(ROWS, text="doc.body", id="title")
    assert len(simdb.deduplicate([FOX, SKY, FOX], id=("a", "b", "c"))) == 2
    some = [{"text": FOX}, {"text": SKY, "id": 1}, {"text": "a third text"}]
    assert len(simdb.deduplicate(some, id="id")) == 3


def test_parts_leave_the_field_that_has_them():
    lines = [{"doc": {"body": f"{FOX}\n{SKY}", "n": 1}}, {"doc": {"body": f"{FOX}\nnew", "n": 2}}]

    found = simdb.deduplicate(lines, text="doc.body", unit="line")

    assert found.data[1] == {"doc": {"body": "new", "n": 2}}
    with pytest.raises(simdb.OptionError, match="changes one field"):
        simdb.deduplicate(ROWS, text=("title", "doc.body"), unit="line")
    with pytest.raises(simdb.OptionError, match="one column"):
        simdb.deduplicate(pandas.DataFrame(lines), text="doc.body", unit="line")


def test_items_are_numbers_and_joined_fields_too(tmp_path):
    item = {"ask": "what is the sum of the angles in a flat triangle", "answer": 180}
    text = f"{item['ask']} 180"

    for against in ([item], pandas.DataFrame([item]), pyarrow.Table.from_pylist([item])):
        found = simdb.decontaminate([text], against=against, fields=[("ask", "answer"), "answer"])

        assert [leak.field for leak in found.found] == ["ask,answer"]
        assert found.short == 1
    with pytest.raises(simdb.OptionError, match="changes one field"):
        simdb.decontaminate(ROWS, against=[text], text=("title", "doc.body"), action="cut")
