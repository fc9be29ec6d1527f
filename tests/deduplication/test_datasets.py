"""Datasets of Hugging Face, alone and as splits, against one list of texts."""

import json

import numpy as np
import pytest

import simdb
from simdb.jobs.deduplication.rows import rows_of

datasets = pytest.importorskip("datasets")

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


def test_splits_go_into_a_database_and_are_seen_again(tmp_path):
    first = simdb.deduplicate(both(), db=tmp_path / "seen.simdb", on_null="drop")

    again = simdb.deduplicate(both(), db=tmp_path / "seen.simdb", on_null="drop")
    other = simdb.deduplicate(both(), db=tmp_path / "seen.simdb", on_null="drop", run="other")

    assert len(first) == 4
    assert numbers(again.data) == numbers(first.data)
    assert numbers(other.data) == {"train": [], "test": []}
    with simdb.open(tmp_path / "seen.simdb") as db:
        assert len(db) == 4


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
    pytest.importorskip("polars" if form == "polars" else "pandas")
    dataset = split(TEST, "other").with_format(form)
    seen = []

    found = simdb.deduplicate(dataset, keep=lambda row: seen.append(row) or row["n"])
    found.write(tmp_path / "kept.jsonl")

    rows = [{"text": text, "n": at, "other": text} for at, text in enumerate(TEST)]
    assert seen == rows
    lines = (tmp_path / "kept.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
