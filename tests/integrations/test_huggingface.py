"""Datasets of Hugging Face, alone and as splits, against `simdb.deduplicate` of one list."""

import inspect

import numpy as np
import pytest

import simdb

datasets = pytest.importorskip("datasets")

from simdb.integrations import huggingface  # noqa: E402

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


@pytest.mark.parametrize("deduplicate", [huggingface.deduplicate, simdb.deduplicate])
def test_splits_are_compared_with_each_other(deduplicate):
    dataset = both()

    found = deduplicate(dataset, similarity=0.7)

    assert type(found.data) is datasets.DatasetDict
    assert numbers(found.data) == {"train": [0, 1, 3, 4], "test": [2]}
    assert found.kept.tolist() == simdb.deduplicate(TRAIN + TEST, similarity=0.7).kept.tolist()
    assert found.data["train"].column_names == dataset["train"].column_names
    assert found.data["test"].column_names == dataset["test"].column_names
    assert found.null_count == 1


@pytest.mark.parametrize("prefer", ["test", ["test"], ["test", "train"]])
def test_preferred_splits_keep_their_rows(prefer):
    found = huggingface.deduplicate(both(), prefer=prefer, similarity=0.7)

    assert list(found.data) == ["train", "test"]
    assert numbers(found.data) == {"train": [3, 4], "test": [0, 1, 2]}
    assert found.kept.tolist() == [False, False, False, True, True, True, True, True]
    assert found.removed_ids.tolist() == ["train/0", "train/1", "train/2"]
    assert found.representatives.tolist() == ["test/1", "test/0", "test/1"]


def test_a_field_or_a_function_can_prefer_rows_of_any_split():
    longest = huggingface.deduplicate(both(), keep="longest", similarity=0.7)

    assert numbers(longest.data) == {"train": [1, 3, 4], "test": [1, 2]}
    function = huggingface.deduplicate(
        both(), keep=lambda row: len(row["text"] or ""), similarity=0.7
    )
    assert function.kept.tolist() == longest.kept.tolist()
    greatest = huggingface.deduplicate(both(), keep="max:n", similarity=0.7)
    assert numbers(greatest.data) == {"train": [1, 2, 3, 4], "test": [2]}


def test_one_dataset_is_deduplicated_as_it_is():
    dataset = split(TRAIN, "one")

    found = huggingface.deduplicate(dataset, similarity=0.7, on_null="drop")

    assert type(found.data) is datasets.Dataset
    assert found.data["n"][:] == [0, 1, 4]
    assert found.removed_ids.tolist() == [2]


def test_splits_go_into_a_database_and_are_seen_again(tmp_path):
    first = huggingface.deduplicate(both(), db=tmp_path / "seen.simdb", on_null="drop")

    again = huggingface.deduplicate(both(), db=tmp_path / "seen.simdb", on_null="drop")

    assert len(first) == 4
    assert numbers(again.data) == {"train": [], "test": []}
    with simdb.open(tmp_path / "seen.simdb") as db:
        assert len(db) == 4


def test_empty_splits_and_no_splits_give_the_same_back():
    dataset = datasets.DatasetDict(
        {"a": split([], "x"), "b": split(TEST, "x"), "c": split([], "x")}
    )

    found = huggingface.deduplicate(dataset, prefer="c")

    assert numbers(found.data) == {"a": [], "b": [0, 1, 2], "c": []}
    none = huggingface.deduplicate(datasets.DatasetDict())
    assert type(none.data) is datasets.DatasetDict
    assert len(none.kept) == 0


def test_what_is_no_dataset_or_no_split_is_refused():
    with pytest.raises(simdb.InputError, match="deduplicate takes other data"):
        huggingface.deduplicate(["a text"])
    with pytest.raises(simdb.InputError, match="got IterableDataset"):
        huggingface.deduplicate(split(TEST, "x").to_iterable_dataset())
    with pytest.raises(simdb.OptionError, match=r"names the split 'dev'; the splits are \['train'"):
        huggingface.deduplicate(both(), prefer=["dev"])
    with pytest.raises(simdb.OptionError, match="a Dataset has none"):
        huggingface.deduplicate(split(TEST, "x"), prefer="test")
    with pytest.raises(simdb.OptionError, match="no field 'one'"):
        huggingface.deduplicate(both(), text="one")


def test_it_has_the_arguments_of_the_function_for_all_data():
    own = inspect.signature(huggingface.deduplicate).parameters
    wanted = inspect.signature(simdb.deduplicate).parameters

    assert [*own][2:] == [*wanted][1:]
    assert all(own[name].default == wanted[name].default for name in [*wanted][1:])


def test_the_texts_of_splits_are_read_without_an_object_for_each():
    rows = simdb.deduplication.rows.rows_of(both())

    assert type(rows.texts("text")).__name__ == "TextColumn"
    assert np.array_equal(rows.texts("text").lengths < 0, [text is None for text in TRAIN + TEST])
