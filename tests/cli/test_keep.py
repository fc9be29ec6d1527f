"""--keep: which document of each group survives."""

import csv
from pathlib import Path

from led_files import ids_in

BASE = " ".join(f"w{number}" for number in range(60))
OTHER = " ".join(f"v{number}" for number in range(60))


def records(*values, name="score", text=BASE):
    """Returns near-duplicates with these values in a field, `...` for no value."""
    return [
        {
            "id": str(at),
            "text": text + " more" * (at % 2),
            **({} if value is ... else {name: value}),
        }
        for at, value in enumerate(values)
    ]


def test_one_word_among_the_numbers_of_a_table_is_noted_and_changes_no_other_group(simdb_run):
    rows = [("a", BASE, 9), ("b", BASE, 10), ("c", OTHER, "n/a")]
    with open("a.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "text", "score"), *rows])

    ran = simdb_run("dedup", "a.csv", "--keep", "max:score", "-o", "k.jsonl")

    assert ran.code == 0
    assert ids_in("k.jsonl") == ["b", "c"]
    assert "1 of 3 values of 'score' are not numbers, such as 'n/a'" in ran.notes


def test_what_an_earlier_run_stored_is_kept_and_that_is_said(simdb_run, write_lines):
    old, worse, better = records(5, 1, 9)
    write_lines("a.jsonl", old)
    write_lines("b.jsonl", worse, better)
    simdb_run("dedup", "a.jsonl", "--db", "d", "--keep", "max:score")

    ran = simdb_run("dedup", "b.jsonl", "--db", "d", "--keep", "max:score", "-o", "k.jsonl")

    assert [(row["id"], row["match"]) for row in ran.rows] == [("1", "0"), ("2", "0")]
    assert Path("k.jsonl").read_text() == ""
    assert (
        "--keep max:score chose only among the documents of this run; 2 documents of it match"
        " documents of earlier runs, which are kept"
    ) in ran.notes


def test_a_dash_writes_rows_once_to_standard_output(simdb_run, write_lines):
    write_lines("a.jsonl", *records(1, 2))
    simdb_run("insert", "d", "a.jsonl")

    for words, count in (
        (["pairs", "d"], 1),
        (["clusters", "d"], 2),
        (["lookup", "d", "a.jsonl"], 2),
    ):
        ran = simdb_run(*words, "-o", "-", "--exit-code")

        assert ran.code == 1, ran.notes
        assert len(ran.rows) == count
