"""Rows of table files are chosen by their numbers; every line that is made of a row is JSON."""

import csv
import io
import json
import math
import random

import numpy as np
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

import simdb
from simdb.files import row_files
from simdb.files.pieces import RowRange, merged
from simdb.files.row_files import chosen_rows
from simdb.files.rows import as_line, waiting_line
from simdb.files.table_file import loaded, write_parquet

TABLE = pyarrow.table({"id": range(100), "text": [f"text {at}" * (at % 4) for at in range(100)]})


def rows_at(path, chosen):
    places = np.array(chosen, np.int64)
    return RowRange(str(path), *merged(places, places + 1), len(chosen))


@pytest.mark.parametrize("group_rows", [1, 7, 100])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_chosen_rows_come_back_in_order(tmp_path, monkeypatch, group_rows, threads):
    monkeypatch.setattr(row_files, "PORTION_ROWS", 3)
    monkeypatch.setenv("SIMDB_THREADS", threads)
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet", row_group_size=group_rows)

    for size in (1, 5, 50, 99, 100):
        chosen = sorted(random.Random(size).sample(range(100), size))
        found = pyarrow.Table.from_batches(chosen_rows(rows_at(tmp_path / "a.parquet", chosen)))
        assert found.equals(TABLE.take(chosen))


def test_row_groups_without_a_chosen_row_are_not_read(tmp_path, monkeypatch):
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet", row_group_size=10)
    read = []
    one_group = row_files._group_batches
    monkeypatch.setattr(
        row_files, "_group_batches", lambda *given: read.append(given[2]) or one_group(*given)
    )

    list(chosen_rows(rows_at(tmp_path / "a.parquet", [25, 26, 99])))

    assert read == [2, 9]


@pytest.mark.parametrize("make", [pyarrow.ipc.new_file, pyarrow.ipc.new_stream])
def test_rows_of_an_arrow_file_are_chosen_in_order(tmp_path, make):
    with make(str(tmp_path / "a.arrow"), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=7)

    found = pyarrow.Table.from_batches(chosen_rows(rows_at(tmp_path / "a.arrow", [3, 6, 7, 98])))

    assert found.equals(TABLE.take([3, 6, 7, 98]))
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet")
    with pytest.raises(simdb.InputError, match=r"a.parquet was changed while it was read"):
        list(chosen_rows(rows_at(tmp_path / "a.parquet", [3, 100])))
    with pytest.raises(simdb.InputError, match=r"a.arrow was changed while it was read"):
        list(chosen_rows(rows_at(tmp_path / "a.arrow", [3, 100])))


def test_rows_of_one_file_in_several_parts_are_written_as_one_table(tmp_path):
    pyarrow.parquet.write_table(TABLE, tmp_path / "a.parquet", row_group_size=10)
    parts = [rows_at(tmp_path / "a.parquet", some) for some in ([1, 2], [5], [40, 99])]
    file = io.BytesIO()

    assert write_parquet(lambda: iter(parts), file) == 5

    assert pyarrow.parquet.read_table(file).equals(TABLE.take([1, 2, 5, 40, 99]))


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_line_that_is_nested_too_deeply_for_a_table_is_refused_with_a_remedy(tmp_path, name):
    # Its text is read without the other fields, and writing it as a row raised RecursionError.
    deep = "[" * 100_000 + "]" * 100_000
    path = tmp_path / "deep.jsonl"
    path.write_text(f'{{"id": "a", "text": "one two three", "field": {deep}}}\n')
    result = simdb.deduplicate(path)

    with pytest.raises(simdb.InputError, match=r'"a".* is nested too deeply .*; write \.jsonl'):
        result.write(tmp_path / name)

    result.write(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == path.read_bytes()
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["kept.csv", "kept.jsonl"])
def test_texts_in_binary_columns_are_texts(tmp_path, name):
    # CSV had the hexadecimal digits of every text, JSON lines the spelling of what is no UTF-8.
    texts = ["caf\u00e9 one two".encode(), b"caf\xe9 three four", None]
    table = pyarrow.table({"text": pyarrow.array(texts, pyarrow.binary())})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    wanted = ["caf\u00e9 one two", {"bytes": texts[1].hex()}]

    for data in (table, tmp_path / "a.parquet"):
        simdb.deduplicate(data, errors="replace").write(tmp_path / name)

        lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        if name == "kept.csv":
            cells = [row[0] for row in csv.reader(lines[1:])][:2]
            assert [cells[0], json.loads(cells[1])] == wanted
        else:
            assert [json.loads(line)["text"] for line in lines] == [*wanted, None]
        (tmp_path / name).unlink()


NAN, INFINITE = math.nan, math.inf
FORMS = [
    (NAN, None), (INFINITE, None), (-INFINITE, None), (np.float64(INFINITE), None),
    (np.float32(NAN), None), ([NAN, 1, "x"], [None, 1, "x"]), ({"a": (INFINITE,)}, {"a": [None]}),
    (np.array([1.0, NAN]), [1.0, None]), ({NAN: 1}, {"nan": 1}), ([b"x", None], ["x", None]),
    (1.5, 1.5),
]  # fmt: skip


def strict(line):
    """Read JSON as every other program does."""

    def refuse(name):
        raise ValueError(name)

    return json.loads(line, parse_constant=refuse)


@pytest.mark.parametrize(("value", "expected"), FORMS)
def test_numbers_for_which_json_has_no_form_are_null(value, expected):
    assert strict(as_line({"v": value, "é": "漢"})) == {"v": expected, "é": "漢"}


def test_a_line_that_waits_keeps_every_number():
    assert loaded(waiting_line({"v": -INFINITE})) == {"v": -INFINITE}
