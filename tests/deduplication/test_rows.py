"""Every kind of data, alone and as splits, gives survivors of its kind: the same rows for all.

Fields of rows are paths, joined fields or the first that exists; ids differ.
"""

import json
import random
from itertools import compress
from pathlib import Path

import datasets
import kinds
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from kinds import rows_in
from over import over

import simdb
from simdb.jobs.deduplication.rows import RowTexts, rows_of

CHANCE = random.Random(5)
BASES = [" ".join(f"w{CHANCE.randrange(300)}" for _ in range(40)) for _ in range(6)]
TEXTS = [f"{CHANCE.choice(BASES)} {row}" for row in range(40)]
TEXTS[7] = TEXTS[23] = None
TEXTS[9] = f"{BASES[0]} gr\u00f6\u00dfer \u732b"
NUMBERS = [CHANCE.randrange(50) for _ in TEXTS]
NAMES = [f"row {row}" for row in range(len(TEXTS))]
COLUMNS = {"name": NAMES, "text": TEXTS, "number": NUMBERS}
RECORDS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


PLACES = np.argsort(NAMES, kind="stable")
TABLE = pyarrow.table(COLUMNS)
FRAME = pandas.DataFrame(COLUMNS, index=[f"label {row}" for row in range(len(TEXTS))])
DATASET = datasets.Dataset.from_dict(COLUMNS)
TABLES = [
    TABLE,
    pyarrow.concat_tables([TABLE.slice(0, 13), TABLE.slice(13, 0), TABLE.slice(13)]),
    pyarrow.record_batch(COLUMNS),
    FRAME,
    FRAME.assign(text=np.array([text or float("nan") for text in TEXTS], object)),
    FRAME.assign(text=np.array([text or pandas.NA for text in TEXTS], object)),
    FRAME.astype({"text": "category"}),
    polars.DataFrame(COLUMNS),
    DATASET,
    DATASET.select(PLACES).select(np.argsort(PLACES)),
]
SERIES = [
    *(make(TEXTS) for make in kinds.TEXTS.values()),
    np.array(TEXTS, object),
    pyarrow.chunked_array([TEXTS[:5], TEXTS[5:]]),
    pyarrow.array(TEXTS).cast("string_view"),
    pandas.Series(TEXTS, index=range(90, 130)),
]


def named(data):
    return [row["name"] for row in rows_in(data)]


@over("data", TABLES)
def test_every_table_keeps_the_same_rows(data):
    wanted = simdb.deduplicate(RECORDS, id="name", keep="max:number")

    found = simdb.deduplicate(data, id="name", keep="max:number")

    assert type(found.data) is type(data)
    assert named(found.data) == [row["name"] for row in wanted.data]
    assert found.kept.tolist() == wanted.kept.tolist()
    assert found.removed_ids.tolist() == wanted.removed_ids.tolist()
    assert found.representatives.tolist() == wanted.representatives.tolist()
    assert found.null_count == 2
    by_function = simdb.deduplicate(data, keep=lambda row: row["number"])
    assert by_function.kept.tolist() == wanted.kept.tolist()


@over("data", SERIES)
def test_texts_without_fields_stay_what_they_are(data):
    found = simdb.deduplicate(data, keep="longest", on_null="drop")

    assert type(found.data) is type(data)
    wanted = simdb.deduplicate(RECORDS, keep="longest", on_null="drop")
    assert rows_in(found.data) == [row["text"] for row in wanted.data]


@pytest.mark.parametrize("data", [TABLES[1], TABLES[6], TABLES[9]], ids=lambda data: type(data))
def test_every_table_goes_into_a_database_and_is_seen_again(data, tmp_path):
    wanted = simdb.deduplicate(RECORDS, id="name", db=tmp_path / "wanted", on_null="drop")
    found = simdb.deduplicate(data, id="name", db=tmp_path / "found", on_null="drop")

    again = simdb.deduplicate(data, id="name", db=tmp_path / "found", on_null="drop")
    other = simdb.deduplicate(data, id="name", db=tmp_path / "found", on_null="drop", run="b")

    assert found.kept.tolist() == wanted.kept.tolist()
    assert again.kept.tolist() == found.kept.tolist()
    assert not other.kept.any()
    assert len(other.data) == 0


@over("data", TABLES)
def test_an_unknown_column_is_named(data):
    with pytest.raises(simdb.OptionError, match="no field 'body' in data; its fields are 'name'"):
        simdb.deduplicate(data, text="body")


def test_strings_of_numpy_and_generators_are_texts():
    texts = [text for text in TEXTS if text]
    wanted = simdb.deduplicate(texts)

    assert simdb.deduplicate(np.array(texts)).data.tolist() == wanted.data
    assert simdb.deduplicate(iter(texts)).data == wanted.data
    assert simdb.deduplicate(iter(RECORDS), on_null="drop").data == [
        row for row in RECORDS if row["text"] in wanted.data
    ]
    encoded = simdb.deduplicate([text.encode() for text in texts])
    assert encoded.kept.tolist() == wanted.kept.tolist()


def odd_columns():
    """Return columns that pyarrow itself does not filter, of ten rows."""
    view = pyarrow.string_view()
    tags = [["a tag longer than a view holds", None], None, [], ["b"], ["c"]] * 2
    people = [{"name": "a name longer than a view holds", "tags": ["x"]}, None] * 5
    person = pyarrow.struct([("name", view), ("tags", pyarrow.large_list(view))])
    runs = pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([4, 10]), pyarrow.array(["x", "y"]))
    return {
        "tags": pyarrow.array(tags, pyarrow.list_(view)), "people": pyarrow.array(people, person),
        "runs": runs, "inside": pyarrow.StructArray.from_arrays([runs], ["runs"]),
    }  # fmt: skip


def test_columns_that_pyarrow_does_not_filter_stay_what_they_are(tmp_path):
    # A table that polars gives has views of texts in its lists.  The search ended with an error of
    # pyarrow, with db= after all was stored.
    texts = [BASES[0], f"{BASES[0]} a", BASES[1], BASES[2], *BASES[:3], BASES[3], *BASES[2:4]]
    columns = {"text": pyarrow.array(texts), **odd_columns()}
    table = pyarrow.table(columns)
    for data in (table, table.slice(0, 4), pyarrow.record_batch(columns), table.slice(0, 0)):
        found = simdb.deduplicate(data, db=tmp_path / "db", run=str(len(data)))

        wanted = list(compress(data.to_pylist(), found.kept))
        assert found.data.schema == data.schema
        assert found.data.to_pylist() == wanted
        found.data.validate(full=True)


def test_pandas_keeps_the_labels_of_the_index():
    found = simdb.deduplicate(FRAME)

    assert found.data.index.tolist() == [f"label {row}" for row in np.flatnonzero(found.kept)]


def test_a_lazy_frame_gives_a_lazy_frame():
    data = TABLES[7].lazy()
    wanted = simdb.deduplicate(RECORDS, id="name", keep="max:number")

    found = simdb.deduplicate(data, id="name", keep="max:number")

    assert type(found.data) is type(data)
    assert named(found.data.collect()) == [row["name"] for row in wanted.data]
    cut = simdb.deduplicate(data, unit="line", on_null="drop")
    assert type(cut.data) is type(data)


@pytest.mark.parametrize("kind", ["relation", "reader"])
def test_a_stream_of_arrow_gives_a_table(kind):
    data = pyarrow.table(COLUMNS)
    wanted = simdb.deduplicate(data, id="name", keep="max:number")

    if kind == "relation":
        stream = pytest.importorskip("duckdb").sql("from data")
    else:
        stream = data.to_reader(max_chunksize=7)
    found = simdb.deduplicate(stream, id="name", keep="max:number")

    assert found.data == wanted.data
    assert found.kept.tolist() == wanted.kept.tolist()


def test_a_dict_gives_a_dict_and_its_keys_are_ids(tmp_path):
    data = dict(zip(NAMES, TEXTS, strict=True))
    wanted = simdb.deduplicate(RECORDS, id="name", keep="longest")

    found = simdb.deduplicate(data, keep="longest")

    assert found.data == {row["name"]: row["text"] for row in wanted.data}
    assert found.removed_ids.tolist() == wanted.removed_ids.tolist()
    by_id = simdb.deduplicate(RECORDS, id="name", keep="max:name")
    assert list(simdb.deduplicate(data, keep="max:id").data) == [row["name"] for row in by_id.data]
    with pytest.raises(simdb.OptionError, match="no field 'date' in data; its fields are 'id', 't"):
        simdb.deduplicate(data, keep="max:date")


def test_a_dict_is_stored_by_its_keys_and_written_with_them(tmp_path):
    data = {"a": f"{BASES[0]} x", "b": BASES[1], "c": f"{BASES[0]} y"}

    found = simdb.deduplicate(data, db=tmp_path / "db")
    found.write(tmp_path / "kept.jsonl")

    with simdb.open(tmp_path / "db", "r") as database:
        assert sorted(database) == ["a", "b"]
    lines = (tmp_path / "kept.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"id": id, "text": data[id]} for id in ("a", "b")
    ]
    lines = {"a": f"{BASES[0]}\n{BASES[1]}", "b": f"{BASES[1]}\n{BASES[2]}"}
    assert simdb.deduplicate(lines, unit="line").data == {**lines, "b": BASES[2]}


def test_a_list_of_texts_that_are_all_paths_of_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(BASES[0], encoding="utf-8")

    with pytest.raises(simdb.InputError, match=r"the path of a file, such as 'a.txt'; to r"):
        simdb.deduplicate(["a.txt", "b.txt"])

    assert simdb.deduplicate(["a.txt", "no file"]).data == ["a.txt", "no file"]
    assert len(simdb.deduplicate([{"text": "a.txt"}, {"text": "b.txt"}]).data) == 2
    assert len(simdb.deduplicate([Path("a.txt"), Path("b.txt")])) == 1


class OtherFrame:
    """A frame of another library, which iterates over the names of its columns."""

    columns = ("text",)

    def __iter__(self):
        return iter(self.columns)


def doubled():
    return FRAME.set_axis(["text", "text", "number"], axis="columns")


@over(
    ("make", "settings", "message"),
    [
        (OtherFrame, {}, r"convert the \w+.OtherFrame to one of these"),
        (doubled, {}, "several columns"),
        (lambda: TABLE, {"text": "number"}, r"row 0 has \d+ \(int\)"),
        (lambda: np.array([["a", "b"]]), {}, "shape"),
        (lambda: DATASET.to_iterable_dataset(), {}, r"datasets.IterableDataset; give iter\(data"),
    ],
)
def test_what_cannot_be_rows_is_refused_with_the_remedy(make, settings, message):
    with pytest.raises(simdb.Error, match=message):
        simdb.deduplicate(make(), **settings)


def test_what_has_no_places_gives_a_list():
    for give in (iter, set, lambda texts: dict.fromkeys(texts).keys()):
        assert sorted(simdb.deduplicate(give(["a", "b"])).data) == ["a", "b"]


def test_no_rows_can_be_rows_with_any_fields(tmp_path):
    found = simdb.deduplicate((), id="name", keep="max:number", db=tmp_path / "seen")

    assert len(found.data) == 0
    assert simdb.deduplicate([], id="name", keep="min:number").data == []


def test_each_row_with_a_text_has_a_name_that_follows_from_the_text():
    alike, other = RowTexts(["a", "b", "a", None, "a"]), RowTexts(["a", "a", "b"])

    first, second, third, none, fourth = alike.digests()

    assert [third, fourth, none] == [f"{first}-2", f"{first}-3", ""]
    assert other.digests() == [first, third, second]
    assert first != second


BOOK = "a page of a book about birds and their nests in the high trees beside the wide river"
TRAIN = [
    f"{BOOK} one",
    "a text of its own",
    f"{BOOK} two",
    None,
    "the last text of the first split",
]
TEST = ["a text of its own", f"{BOOK} three and four", "a new text that nobody has written before"]


def split(texts, name):
    return datasets.Dataset.from_dict({"text": texts, "n": list(range(len(texts))), name: texts})


def both():
    return datasets.DatasetDict({"train": split(TRAIN, "one"), "test": split(TEST, "other")})


def numbers(data):
    return {name: data[name]["n"][:] for name in data}


def test_a_field_of_all_rows_is_divided_among_the_splits():
    values = [f"value {at}" for at in range(len(TRAIN) + len(TEST))]

    made = rows_of(both()).with_field("n", values)

    assert numbers(made) == {"train": values[: len(TRAIN)], "test": values[len(TRAIN) :]}


def test_splits_are_compared_with_each_other():
    dataset = both()

    found = simdb.deduplicate(dataset, similarity=0.7)

    assert type(found.data) is datasets.DatasetDict
    assert numbers(found.data) == {"train": [0, 1, 3, 4], "test": [2]}
    assert found.kept.tolist() == simdb.deduplicate(TRAIN + TEST, similarity=0.7).kept.tolist()
    assert found.data["train"].column_names == dataset["train"].column_names
    assert found.data["test"].column_names == dataset["test"].column_names
    assert found.null_count == 1


def test_a_field_or_a_function_can_prefer_rows_of_any_split():
    longest = simdb.deduplicate(both(), keep="longest", similarity=0.7)

    assert numbers(longest.data) == {"train": [1, 3, 4], "test": [1, 2]}
    function = simdb.deduplicate(both(), keep=lambda row: len(row["text"] or ""), similarity=0.7)
    assert function.kept.tolist() == longest.kept.tolist()
    greatest = simdb.deduplicate(both(), keep="max:n", similarity=0.7)
    assert numbers(greatest.data) == {"train": [1, 2, 3, 4], "test": [2]}


def test_empty_splits_and_no_splits_give_the_same_back():
    dataset = datasets.DatasetDict(
        {"a": split([], "x"), "b": split(TEST, "x"), "c": split([], "x")}
    )

    found = simdb.deduplicate(dataset)

    assert numbers(found.data) == {"a": [], "b": [0, 1, 2], "c": []}
    none = simdb.deduplicate(datasets.DatasetDict())
    assert type(none.data) is datasets.DatasetDict
    assert len(none.kept) == 0


def test_the_texts_of_splits_are_read_without_an_object_for_each():
    rows = simdb.jobs.deduplication.rows.rows_of(both())

    assert type(rows.texts("text")).__name__ == "ByteColumn"
    assert np.array_equal(rows.texts("text").lengths < 0, [text is None for text in TRAIN + TEST])


@pytest.mark.parametrize("form", ["numpy", "pandas", "arrow", "polars"])
def test_the_format_of_a_dataset_does_not_change_what_is_written(form, tmp_path):
    # A dataset with a format of tables gave a table for each row: lists of single values.
    dataset = split(TEST, "other").with_format(form)
    seen = []

    found = simdb.deduplicate(dataset, keep=lambda row: seen.append(row) or row["n"])
    found.write(tmp_path / "kept.jsonl")

    rows = [{"text": text, "n": at, "other": text} for at, text in enumerate(TEST)]
    assert seen == rows
    lines = (tmp_path / "kept.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows


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
