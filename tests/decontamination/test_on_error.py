"""on_error="skip": documents and items that cannot be read end no search, and are named."""

import json
import random

import pytest
from over import over

import simdb

WORDS = [f"w{at}" for at in range(400)]


def text(at):
    return " ".join(random.Random(at).sample(WORDS, 30))


DATA = [text(0), b"\x81 words", text(1), 5, None, "half \ud800 of", text(2)]
NAMES = list("abcdefg")


@over("action", ["drop", "cut", "mark"])
def test_documents_that_cannot_be_read_are_neither_kept_nor_searched(action):
    rows = [{"id": id, "text": each} for id, each in zip(NAMES, DATA, strict=True)]

    found = simdb.decontaminate(rows, against=[text(1)], id="id", action=action, on_error="skip")

    assert found.skipped["id"].to_pylist() == ["b", "d", "f"]
    kept = ["a", "e", "g"] if action != "mark" else ["a", "c", "e", "g"]
    assert [row["id"] for row in found.data] == kept
    assert found.leaks["id"].to_pylist() == ["c"]
    assert "3 documents skipped" in repr(found)
    with pytest.raises(simdb.InputError):
        simdb.decontaminate(rows, against=[text(1)], action=action)


def test_items_that_cannot_be_read_are_passed_over_with_a_warning():
    items = [{5}, text(1), "half \ud800 of an item of many words", {"a": 1}]

    with pytest.warns(RuntimeWarning, match="3 documents of against left out, the first in row 0"):
        found = simdb.decontaminate([text(0), text(1)], against=items, on_error="skip")

    assert found.data == [text(0)]
    with pytest.raises(simdb.InputError, match="item 0 has set"):
        simdb.decontaminate([text(0)], against=items[:3])
    with pytest.raises(simdb.InputError, match="item 0 has set"):
        simdb.decontaminate([text(0)], against=items[:1], on_error="skip")


def test_records_of_files_are_left_out_with_file_and_line(tmp_path):
    lines = [{"id": "a", "text": text(0)}, {"id": "b", "text": {}}, {"id": "c", "text": text(1)}]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join([*map(json.dumps, lines), "no json"]))

    found = simdb.decontaminate(path, against=[text(1)], on_error="skip")

    assert found.skipped["id"].to_pylist() == [f"{path}:2", f"{path}:4"]
    assert found.data["id"].to_pylist() == ["a"]
    with pytest.warns(RuntimeWarning, match=r"2 documents of against"):
        found = simdb.decontaminate([text(1), text(5)], against=path, on_error="skip")
    assert found.data == [text(5)]
