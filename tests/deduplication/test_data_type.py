"""A type checker knows the type of the survivors, and it is the type that they have."""

from pathlib import Path

import pytest
from type_checking import checked

import simdb

PROGRAM = """\
from collections.abc import Iterator
from pathlib import Path

import simdb


def rows() -> Iterator[dict[str, int]]:
    yield {"text": 1}


texts: list[str] = simdb.deduplicate(["a"], keep="longest").data
several: tuple[str, ...] = simdb.deduplicate(("a", "b")).data
records: list[dict[str, str]] = simdb.deduplicate([{"text": "a"}], similarity=0.9).at(0.95).data
read: list[dict[str, int]] = simdb.deduplicate(rows()).data
distinct: list[str] = simdb.deduplicate({"a"}).data
values: list[str] = simdb.deduplicate({"id": "a"}.values()).data
named: dict[str, str] = simdb.deduplicate({"id": "a"}, db="path").data
table = simdb.deduplicate("a.jsonl").data
tables = simdb.deduplicate([Path("a.jsonl")]).data
print(table.num_rows, tables.num_rows)


def text_of(found: simdb.Deduplicated[list[str]]) -> str:
    return found.data[0]


def unnamed(found: simdb.Deduplicated) -> int:
    count: int = found.data
    return count


print(text_of(simdb.deduplicate(data=["a"])), unnamed(simdb.deduplicate(["a"])))
"""
WRONG = [
    "simdb.deduplicate(['a']).data + 1",
    "simdb.deduplicate(('a',)).data.append('b')",
    "simdb.deduplicate(rows()).data[0].upper()",
    "simdb.deduplicate({'id': 'a'}).data[0]",
    "text_of(simdb.deduplicate([1]))",
    "simdb.deduplicate(['a'], similarty=0.9)",
]


@pytest.mark.more
def test_a_strict_program_has_survivors_of_the_type_that_it_gave(tmp_path):
    assert checked(tmp_path, PROGRAM) == []


@pytest.mark.more
def test_a_type_checker_finds_survivors_used_as_another_type(tmp_path):
    first = PROGRAM.count("\n") + 1

    errors = checked(tmp_path, PROGRAM + "\n".join(WRONG) + "\n")

    lines = {int(error.split(":")[1]) for error in errors if " error: " in error}
    assert sorted(lines) == list(range(first, first + len(WRONG)))


@pytest.mark.more
def test_a_type_checker_knows_frames(tmp_path):
    pytest.importorskip("polars")
    pytest.importorskip("numpy.typing")
    program = """\
import numpy as np
import polars as pl

import simdb

frame = pl.DataFrame({"text": ["a"]})
found: pl.DataFrame = simdb.deduplicate(frame, text="text").data
column: pl.Series = simdb.deduplicate(frame["text"]).data
lazy: pl.LazyFrame = simdb.deduplicate(frame.lazy()).data
vectors = simdb.deduplicate(np.zeros((3, 4), np.float32)).data
print(vectors.shape[1] + 1, lazy.collect(), found.height, column.len())
"""

    assert checked(tmp_path, program) == []


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
