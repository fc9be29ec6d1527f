"""--keep-by: which document of each group survives."""

import csv
import json
from pathlib import Path

import pytest

BASE = " ".join(f"w{number}" for number in range(60))
OTHER = " ".join(f"v{number}" for number in range(60))


@pytest.fixture
def survivors(simdb_run, write_lines):
    """Returns the ids that dedup keeps of records in a file."""

    def run(rule, *records, options=()):
        write_lines("a.jsonl", *records)
        ran = simdb_run("dedup", "a.jsonl", "--keep-by", rule, "--keep", "k.jsonl", *options)
        assert ran.code == 0, ran.notes
        kept = [json.loads(line)["id"] for line in Path("k.jsonl").read_text().splitlines()]
        assert {row["representative"] for row in ran.rows} <= set(kept)
        left = [each["id"] for row in ran.rows for each in row["duplicates"]]
        assert sorted(kept + left) == sorted(record["id"] for record in records)
        return kept

    return run


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


@pytest.mark.parametrize("policy", ["star", "connected"])
@pytest.mark.parametrize(
    ("rule", "kept"),
    [("first", "0"), ("last", "3"), ("longest", "2"), ("max:score", "1"), ("min:score", "3")],
)
def test_each_rule_keeps_another_document(survivors, rule, kept, policy):
    given = records(5, 7, 1, -2.5)
    given[2]["text"] = BASE + " much longer"
    given.insert(2, {"id": "x", "text": OTHER, "score": 99})

    assert sorted(survivors(rule, *given, options=["--policy", policy])) == sorted([kept, "x"])


@pytest.mark.parametrize(
    ("rule", "values", "kept"),
    [
        ("max:score", [None, ..., 0, float("nan")], "2"),
        ("max:score", [3, 8, 8, 2], "1"),
        ("min:score", [3, 2, 8, 2], "1"),
        ("max:score", [2**70, 2**64, -(2**70)], "0"),
        ("min:score", [2**63, -(2**63), 1], "1"),
        ("max:score", [True, False], "0"),
        ("max:score", ["9", "10", "8.5"], "1"),
        ("min:score", ["9", 10, "8.5"], "2"),
        ("max:score", ["2024-01-02", "2024-11-01", "2023-12-31"], "1"),
        ("min:score", ["2024-01-02", "2024-11-01", "2023-12-31"], "2"),
        ("max:score", ["a", "ab", "aa", ""], "1"),
        ("min:score", ["b", "", "ab", None], "2"),
        ("max:score", ["9", "10", "x"], "2"),
        ("max:score", ["z", "\u00e9", "\U0001f600", "\uffff"], "2"),
    ],
)
def test_values_are_sorted_as_numbers_or_as_text(survivors, rule, values, kept):
    assert survivors(rule, *records(*values)) == [kept]


def test_the_columns_of_a_table_are_sorted_as_numbers(simdb_run):
    with open("a.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "text", "views"])
        table.writerows([[at, BASE, views] for at, views in enumerate((9, 80, 700, ""))])

    simdb_run("dedup", "a.csv", "--keep-by", "max:views", "--keep", "k.csv")

    assert [row["id"] for row in csv.DictReader(Path("k.csv").read_text().splitlines())] == ["2"]


def test_the_rows_of_parquet_have_their_fields(simdb_run):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"id": [1, 2, 3], "text": [BASE] * 3, "n": [4, None, 6]})
    parquet.write_table(table, "a.parquet")

    ran = simdb_run("dedup", "a.parquet", "--keep-by", "max:n", "--keep", "k.parquet")

    assert ran.code == 0, ran.notes
    assert parquet.read_table("k.parquet").to_pylist() == [{"id": 3, "text": BASE, "n": 6}]


def test_records_that_were_renamed_keep_their_values(survivors, simdb_run, write_lines):
    write_lines("a.jsonl", *({"id": "x", "text": BASE, "n": n} for n in (1, 3, 2)))

    ran = simdb_run("dedup", "a.jsonl", "--keep-by", "max:n", "--keep", "k.jsonl")

    assert [json.loads(line)["n"] for line in Path("k.jsonl").read_text().splitlines()] == [3]
    assert ran.rows[0]["representative"] == "a.jsonl:x"


@pytest.mark.parametrize(
    ("rule", "values", "message"),
    [
        ("max:score", ["a", 5], "numbers and text, which have no order"),
        ("min:score", [5, [1]], "a.jsonl:2: --keep-by min:score needs numbers or text"),
        ("min:other", [5, 6], "no document has a field 'other'"),
        ("longer", [1, 2], "--keep-by must be first, last, longest, max:FIELD or min:FIELD"),
        ("max:", [1, 2], "--keep-by must be first"),
    ],
)
def test_what_cannot_be_sorted_is_wrong_use(simdb_run, write_lines, rule, values, message):
    write_lines("a.jsonl", *records(*values))
    Path("k.jsonl").write_text("as before")

    ran = simdb_run("dedup", "a.jsonl", "--keep-by", rule, "--keep", "k.jsonl")

    assert ran.code == 2
    assert message in ran.notes
    assert Path("k.jsonl").read_text() == "as before"


def test_with_a_database_the_first_is_kept(simdb_run, write_lines):
    write_lines("a.jsonl", *records(1, 2))

    ran = simdb_run("dedup", "a.jsonl", "--db", "d", "--keep-by", "last")

    assert ran.code == 2
    assert "--keep-by last works only without --db" in ran.notes
    assert simdb_run("dedup", "a.jsonl", "--db", "d", "--keep-by", "first").code == 0


def test_no_documents_have_no_order(survivors):
    assert survivors("max:score") == []
