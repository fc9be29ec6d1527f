"""A type checker knows the type of the survivors, and it is the type that they have."""

from pathlib import Path

import pytest

import simdb


@pytest.mark.parametrize("data", [["a"], ("a", "b"), [{"text": "a"}]])
def test_at_run_time_survivors_have_that_type(data):
    found: simdb.Deduplicated[list[str]] = simdb.deduplicate(data)

    assert type(found.data) is type(data)


@pytest.mark.parametrize("give", [iter, set, lambda texts: dict.fromkeys(texts).keys()])
def test_what_has_no_places_gives_a_list(give):
    assert sorted(simdb.deduplicate(give(["a", "b"])).data) == ["a", "b"]


@pytest.mark.parametrize("has_database", [False, True])
def test_files_give_a_table(tmp_path, has_database):
    arrow = pytest.importorskip("pyarrow")
    path = Path(tmp_path, "a.jsonl")
    path.write_text('{"id": "a", "text": "one two", "n": 3}\n', encoding="utf-8")

    found = simdb.deduplicate([path], db=tmp_path / "db" if has_database else None)

    assert isinstance(found.data, arrow.Table)
    assert found.data.to_pylist() == [{"id": "a", "text": "one two", "n": 3}]
