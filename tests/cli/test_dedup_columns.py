"""Every column of a record is kept: by its position, whatever its name is."""

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow
import pytest
from led_files import read
from pyarrow import parquet

import simdb
from simdb.core.fields import distinct

FOX = "the quick brown fox jumps over the lazy dog near the river bank today"
SKY = "a completely different sentence about clouds, weather and the blue sky"
SEA = "waves roll in from the open sea and break on the old harbour wall at dawn"
NAMES = ["", "note", "text", "note", "id", "", "note_2", "", "note"]
# What the fields of an object are called.
FIELDS = ["", "note", "text", "note_3", "id", "column_6", "note_2", "column_8", "note_4"]
ROWS = [
    ["0", "first", FOX, "second", "1", "", 'a "quoted" one', "\u660e", "x"],
    ["1", "", FOX, "gone", "2", "", "", "", ""],
    ["2", "two\nlines", SKY, ", and a comma", "3", " ", "7", "null", "\ttab"],
    ["3", "NaN", SEA, "\u00e9", "4", "[1]", "", "true", "last"],
]
KEPT = [ROWS[0], ROWS[2], ROWS[3]]
SOURCES = ["a.csv", "a.tsv", "a.csv.gz", "wide.csv", "a.jsonl", "a.json", "a.parquet"]
OUTPUTS = ["k.csv", "k.tsv", "k.csv.gz", "k.csv.zst", "k.jsonl", "k.parquet"]


def write(name, names=NAMES, rows=ROWS):
    """Write a table with the standard library, or with pyarrow."""
    if name.endswith(".parquet"):
        columns = list(map(pyarrow.array, zip(*rows, strict=True)))
        parquet.write_table(pyarrow.Table.from_arrays(columns, names), name)
        return
    if ".json" in name:
        pairs = (zip(map(json.dumps, names), map(json.dumps, row), strict=True) for row in rows)
        lines = [f"{{{', '.join(map(': '.join, each))}}}" for each in pairs]
        text = f"[{', '.join(lines)}]" if name.endswith(".json") else "\n".join([*lines, ""])
    else:
        made = io.StringIO(newline="")
        delimiter = "\t" if ".tsv" in name else ","
        csv.writer(made, delimiter=delimiter, lineterminator="\n").writerows([names, *rows])
        text = made.getvalue()
    content = text.encode("utf-16" if name.startswith("wide") else "utf-8")
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


def table_in(name):
    """Return the names of the columns in an output, and its rows."""
    if name.endswith(".parquet"):
        with parquet.ParquetFile(name) as file:
            table = file.read()
        columns = [column.to_pylist() for column in table.columns]
        return table.column_names, [list(row) for row in zip(*columns, strict=True)]
    kind = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
    with pyarrow.input_stream(name, compression=kind) as file:
        text = file.read().decode()
    if ".jsonl" in name:
        pairs = [json.loads(line, object_pairs_hook=list) for line in text.splitlines()]
        return [n for n, _ in pairs[0]], [[value for _, value in each] for each in pairs]
    delimiter = "\t" if ".tsv" in name else ","
    names, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return names, rows


@pytest.mark.parametrize("source", SOURCES)
def test_every_column_of_every_reader_reaches_every_writer(simdb_run, source):
    write(source)

    for output in OUTPUTS:
        options = ["--encoding", "utf-16"] if source.startswith("wide") else []
        simdb_run("dedup", source, "-o", output, *options)
        names, rows = table_in(output)

        assert rows == KEPT, (source, output)
        assert names == names_of(source, output), (source, output)


def names_of(source, output):
    """Return what an output calls the columns of a source."""
    has_header = ".csv" in source or ".tsv" in source or source.endswith(".parquet")
    if ".csv" in output or ".tsv" in output:
        return NAMES if has_header else FIELDS
    is_copied = source.rpartition(".")[2] == output.removesuffix(".gz").rpartition(".")[2]
    return NAMES if is_copied else FIELDS


def test_tables_with_other_columns_become_one_by_name_and_repetition(simdb_run):
    write("a.csv", ["id", "text", "note", "note"], [["1", FOX, "a", "b"]])
    write("b.csv", ["note", "id", "text"], [["c", "2", SKY]])
    write("c.tsv", ["id", "text", "note_2"], [["3", SEA, "d"]])

    simdb_run("dedup", "a.csv", "b.csv", "-o", "two.csv")
    simdb_run("dedup", "a.csv", "b.csv", "c.tsv", "-o", "three.csv")
    simdb_run("dedup", "c.tsv", "a.csv", "-o", "other.csv")
    simdb_run("dedup", "a.csv", "b.csv", "-o", "out/")

    assert table_in("two.csv") == (
        ["id", "text", "note", "note"],
        [["1", FOX, "a", "b"], ["2", SKY, "c", ""]],
    )
    assert table_in("three.csv") == (
        ["id", "text", "note", "note_2"],
        [["1", FOX, "a", "b"], ["2", SKY, "c", ""], ["3", SEA, "", "d"]],
    )
    assert table_in("other.csv")[0] == ["id", "text", "note_2", "note"]
    assert table_in("out/a.csv")[0] == ["id", "text", "note", "note"]
    assert table_in("out/b.csv")[0] == ["note", "id", "text"]


@pytest.mark.parametrize("source", ["a.csv", "a.tsv", "a.csv.gz", "a.parquet"])
def test_records_that_change_keep_their_columns(simdb_run, source):
    write(source)
    write("t.csv", ["id", "text"], [["t", SKY]])

    lines = [[*row[:2], f"{FOX}\n{row[2]}", *row[3:]] for row in ROWS[2:]]
    write(f"u{source[1:]}", rows=lines)

    simdb_run("dedup", f"u{source[1:]}", "--unit", "line", "-o", "left.csv")
    simdb_run("decontaminate", source, "--against", "t.csv", "--cut", "-o", "cut.csv")
    simdb_run("decontaminate", source, "--against", "t.csv", "--mark", "-o", "mark.csv")
    simdb_run("dedup", source, "--keep", "max:note_2", "-o", "max.csv")

    cut = [row for row in ROWS if row[2] != SKY]
    assert table_in("left.csv") == (NAMES, [lines[0], ROWS[3]])
    assert table_in("cut.csv") == (NAMES, cut)
    assert table_in("mark.csv")[0] == [*NAMES, "leaks"]
    assert [row[:9] for row in table_in("mark.csv")[1]] == ROWS
    assert table_in("max.csv") == (NAMES, KEPT)


def test_structs_with_fields_of_one_name_keep_all_of_them(simdb_run):
    """It ended with a traceback of pyarrow."""
    fields = [pyarrow.array([1, 2]), pyarrow.array([3, 4])]
    inner = pyarrow.StructArray.from_arrays(fields, names=["a", "a"])
    texts = pyarrow.array([FOX, SKY])
    table = pyarrow.Table.from_arrays([texts, inner], ["text", "m"])
    parquet.write_table(table, "a.parquet")

    simdb_run("dedup", "a.parquet", "-o", "k.jsonl")

    rows = read("k.jsonl")
    assert [row["m"] for row in rows] == [{"a": 1, "a_2": 3}, {"a": 2, "a_2": 4}]


@pytest.mark.parametrize("asked", ["text", "id"])
def test_only_an_asked_field_must_be_one(simdb_run, asked):
    names = [asked if name == "note_2" else name for name in NAMES]
    write("a.csv", names)
    write("a.jsonl", names)
    write("a.parquet", names)

    for source in ("a.csv", "a.jsonl", "a.parquet"):
        ran = simdb_run("dedup", source, "-o", "k.csv")
        assert ran.code == 2, source
        assert f"are called '{asked}'" in ran.notes, source
        assert not Path("k.csv").exists()


def test_tables_in_memory_keep_their_columns(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    columns = list(map(pyarrow.array, zip(*ROWS, strict=True)))
    table = pyarrow.Table.from_arrays(columns, NAMES)
    frame = pandas.DataFrame(ROWS, columns=NAMES)

    for data in (table, frame):
        found = simdb.deduplicate(data)
        for name in ("k.csv", "k.tsv", "k.jsonl", "k.parquet"):
            found.write(name)
            is_table = name.endswith("sv")
            assert table_in(name) == (NAMES if is_table else FIELDS, KEPT), name


def test_distinct_names_pass_over_names_that_occur():
    assert distinct(["a", "b"]) == ["a", "b"]
    assert distinct(["a", "a", "a_2", "a", "a_2"]) == ["a", "a_3", "a_2", "a_4", "a_2_2"]
    assert distinct(["", "", "column_2", ""]) == ["", "column_3", "column_2", "column_4"]
    assert distinct(["", "", "column", "column"]) == ["", "column_2", "column", "column_3"]
    assert distinct(["", "a", "", "b", ""]) == ["", "a", "column_3", "b", "column_5"]
    assert distinct([1, 1, "1_2"]) == [1, "1_3", "1_2"]


@pytest.mark.parametrize("part", ["header", "values"])
def test_a_damaged_column_that_is_not_compared_leaves_the_output_as_it_was(
    simdb_run, tmp_path, part
):
    path, output = tmp_path / "a.parquet", tmp_path / "out.jsonl"
    rows = [{"text": f"a text about number {at} and more", "n": at} for at in range(500)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, use_dictionary=False)
    column = parquet.read_metadata(path).row_group(0).column(1)
    start = column.data_page_offset + (0 if part == "header" else column.total_compressed_size // 3)
    content = bytearray(path.read_bytes())
    content[start : start + 40] = b"\xff" * 40
    path.write_bytes(content)
    output.write_bytes(b"an earlier result\n")

    ran = simdb_run("dedup", str(path), "-o", str(output))

    assert ran.code == 2
    assert f"{path}: a column is damaged" in ran.notes
    assert output.read_bytes() == b"an earlier result\n"


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_string_that_is_not_utf_8_is_kept_as_its_bytes(simdb_run, tmp_path, ending):
    path, output = tmp_path / "a.parquet", tmp_path / f"out.{ending}"
    notes = pyarrow.array([b"whole", b"torn \xce", b"", None]).view(pyarrow.string())
    texts = pyarrow.array([FOX, SKY, SEA, FOX])
    parquet.write_table(pyarrow.table({"text": texts, "note": notes}), path)

    ran = simdb_run("dedup", str(path), "-o", str(output))

    assert ran.code == 0
    if ending == "jsonl":
        found = [json.loads(line)["note"] for line in output.read_text().splitlines()]
        assert found == ["whole", {"bytes": "746f726e20ce"}, ""]
    elif ending == "csv":
        found = [row["note"] for row in csv.DictReader(output.open(newline=""))]
        assert found == ["whole", '{"bytes": "746f726e20ce"}', ""]
    else:
        found = parquet.read_table(output).column("note").cast("binary").to_pylist()
        assert found == [b"whole", b"torn \xce", b""]
