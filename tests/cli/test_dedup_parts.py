"""dedup --unit: parts that occurred before leave the documents, in files of all kinds."""

import json

import pytest
from led_files import read
from over import over

A, B, C = (f"{name} one two three four five" for name in "abc")
RECORDS = [
    {"id": "x", "text": f"{A}\n{B}", "n": 1},
    {"id": "y", "text": f"{B.upper()}!\n{C}\nshort", "n": 2},
    {"id": "z", "text": f"{A}\n\n{C}\n", "n": 3},
]
LEFT = {"x": f"{A}\n{B}", "y": f"{C}\nshort"}


@pytest.fixture
def source(write_lines):
    return write_lines("a.jsonl", *RECORDS)


def test_rows_say_what_was_dropped(simdb_run, source):
    ran = simdb_run("dedup", source, "--unit", "line")

    assert ran.rows == [
        {"id": "y", "parts": 3, "dropped": 1, "left": 2},
        {"id": "z", "parts": 2, "dropped": 2, "left": 0},
    ]
    assert "3 documents, 7 lines, 3 dropped from 2 documents, 1 left out" in ran.notes
    assert ran.code == 0


@over("name", ["k.csv", "k.parquet", "-", "folder/"])
def test_what_is_left_is_written(simdb_run, source, name):
    ran = simdb_run("dedup", source, "--unit", "line", "-o", name)

    rows = ran.rows
    if name == "k.parquet":
        rows = read(name)
    elif name != "-":
        place = {"folder/": "folder/a.jsonl"}.get(name, name)
        again = simdb_run("dedup", place, "--unit", "line", "-o", "-")
        rows = again.rows
        assert "0 dropped" in again.notes
    assert {row["id"]: row["text"] for row in rows} == LEFT
    assert [int(row["n"]) for row in rows] == [1, 2]


def test_standard_input_is_another_run_each_time(simdb_run):
    given = json.dumps(RECORDS[0]) + "\n"

    runs = [simdb_run("dedup", "-", "--unit", "line", "--db", "db", given=given) for _ in "12"]

    assert [len(ran.rows) for ran in runs] == [0, 1]


def test_exit_code_says_that_parts_were_dropped(simdb_run, source):
    assert simdb_run("dedup", source, "--unit", "line", "--exit-code", "--quiet").code == 1
    assert simdb_run("dedup", source, "--unit", "line", "--min-words", "9", "--exit-code").code == 0
