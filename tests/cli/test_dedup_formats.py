"""Command dedup: survivors and rows in the format that the end of a file name says."""

import csv
import gzip
import json
import os
import sys
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from led_files import read
from over import over

from simdb.files import table_file

FOX = "the quick brown fox jumps over the lazy dog and then it runs home to sleep until the morning"
SEA = "she sells sea shells on the sea shore and the shells that she sells are sea shells for sure"
SKY = 'nothing but "blue" skies, from now on\nsaid the singer to the band and the band played it'

LINES = (
    b'{"id": "x", "text": "' + FOX.encode() + b'", "n": 1e2}\n'
    b'  {"text":"' + SEA.encode() + b'","id":"s\\u00e9a", "more": {"a": [1, null]}}\r\n'
    b'{"id": "y", "text": "' + FOX.encode() + b'", "n": 2}\n'
    b'{"id": "z", "text": "' + SKY.replace("\n", "\\n").replace('"', '\\"').encode() + b'"}'
)


def unpacked(name):
    content = Path(name).read_bytes()
    if name.endswith(".gz"):
        return gzip.decompress(content)
    if name.endswith(".zst"):
        zstandard = pytest.importorskip("zstandard")
        return zstandard.ZstdDecompressor().decompressobj().decompress(content)
    return content


@over(
    ("encoding", "name", "options"),
    [
        ("utf-8", "K.NDJSON", []), ("utf-8", "k.jsonl.zst", ["--db", "d"]),
        ("utf-16", "a16.jsonl", []), ("utf-32-le", "a32.jsonl", ["--verify", "estimate"]),
    ],
)  # fmt: skip
def test_json_lines_survive_byte_for_byte_in_utf8(simdb_run, tmp_path, encoding, name, options):
    (tmp_path / "a.jsonl").write_bytes(LINES.decode().encode(encoding))

    simdb_run("dedup", "a.jsonl", "-o", name, "--encoding", encoding, *options)

    parts = LINES.splitlines(keepends=True)
    assert unpacked(name) == parts[0] + parts[1] + parts[3] + b"\n"


def test_records_as_a_table_have_the_columns_of_all(simdb_run, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(LINES)

    simdb_run("dedup", "a.jsonl", "-o", "k.csv")

    with open(tmp_path / "k.csv", newline="") as file:
        assert list(csv.reader(file)) == [
            ["id", "text", "n", "more"],
            ["x", FOX, "100.0", ""],
            ["s\u00e9a", SEA, "", '{"a": [1, null]}'],
            ["z", SKY, "", ""],
        ]


def words(first, number):
    return " ".join(f"word{first}of{number}at{at}" for at in range(20))


def parquet_source(name, first=0):
    table = pyarrow.table(
        {
            "id": [f"{first}", f"{first + 1}", f"{first + 2}"],
            "text": [words(first, 0), words(first, 0), words(first, 1)],
            "when": pyarrow.array([datetime(2020, 1, 2 + at) for at in range(3)]),
            "price": pyarrow.array([Decimal("1.10"), None, Decimal("9.99")]),
            "raw": pyarrow.array([b"\xff", b"", None]),
            "kind": pyarrow.array(["a", "b", "a"]).dictionary_encode(),
        }
    ).replace_schema_metadata({"made": "by hand"})
    pyarrow.parquet.write_table(table, name)
    return table


@pytest.mark.parametrize(("rows", "options"), [(1, ["--db", "seen"]), (1024, [])])
def test_rows_of_parquet_survive_with_their_schema(simdb_run, monkeypatch, options, rows):
    monkeypatch.setattr(table_file, "PORTION_ROWS", rows)
    monkeypatch.setattr(table_file, "GROUP_ROWS", rows)
    first, second = parquet_source("a.parquet", 10), parquet_source("b.parquet", 20)

    ran = simdb_run("dedup", "a.parquet", "b.parquet", "-o", "k.parquet", *options)

    kept = pyarrow.parquet.read_table("k.parquet")
    assert ran.code == 0
    assert kept.schema.equals(first.schema, check_metadata=True)
    assert kept.to_pylist() == first.take([0, 2]).to_pylist() + second.take([0, 2]).to_pylist()


def test_records_and_rows_together_have_the_columns_of_all(simdb_run, tmp_path, monkeypatch):
    monkeypatch.setattr(table_file, "PORTION_ROWS", 1)
    table = parquet_source("a.parquet")
    (tmp_path / "b.jsonl").write_bytes(LINES + b'\n{"id": 7, "text": "a b", "n": "x", "raw": 1}')

    kept = simdb_run("dedup", "a.parquet", "b.jsonl", "-o", "k.parquet")

    rows = read("k.parquet")
    assert kept.code == 0
    assert [row["id"] for row in rows] == ["0", "2", "x", "s\u00e9a", "z", "7"]
    assert [row["n"] for row in rows] == [None, None, "100.0", None, None, "x"]
    assert rows[0]["when"] == table.column("when")[0].as_py()
    assert rows[3]["more"] == {"a": [1, None]}
    assert [row["raw"] for row in rows][4:] == [None, "1"]


@over("name", ["g.jsonl.gz", "g.tsv", "g.parquet"])
def test_groups_are_written_in_every_format(simdb_run, tmp_path, name):
    (tmp_path / "a.jsonl").write_bytes(LINES + b'\n{"id": "w", "text": "' + FOX.encode() + b'"}')

    ran = simdb_run("dedup", "a.jsonl", "--groups", name)

    if ".jsonl" in name:
        assert read(name) == ran.rows
        return
    rows = [["x", "3", id, "", "1.0"] for id in ("w", "y")]
    found = [["" if cell is None else str(cell) for cell in row.values()] for row in read(name)]
    assert sorted(found, key=lambda row: row[2]) == rows


def test_without_the_package_zstd_is_an_error_that_names_it(simdb_run, monkeypatch):
    Path("a.jsonl").write_bytes(LINES)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)

    ran = simdb_run("dedup", "a.jsonl", "-o", "k.jsonl.zst")

    assert ran.code == 2
    assert "pip install zstandard" in ran.notes


@pytest.fixture
def folder(tmp_path, simdb_run):
    files = {"a.txt": FOX, "b/a.txt": FOX, "b/c.txt": SEA, "b/d\n.txt": SKY, "b/\udcff": "other"}
    for name, text in files.items():
        path = tmp_path / "f" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return simdb_run


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*.*"))


@pytest.mark.parametrize("options", [[], ["--db", "seen"]])
def test_surviving_files_are_copied_into_a_folder(folder, options):
    ran = folder("dedup", "f", "-o", "out/", *options)

    assert ran.code == 0
    assert tree("out") == ["a.txt", "b/c.txt", "b/d\n.txt"]
    assert Path("out/b/\udcff").read_text() == "other"
    assert Path("out/b/c.txt").read_text() == SEA
    assert not os.path.samefile("out/b/c.txt", "f/b/c.txt")


def test_surviving_files_of_several_sources_are_in_a_folder_for_each(folder):
    os.mkdir("out")

    folder("dedup", "f/b/", "f/a.txt", "-o", "out", "--link")

    assert tree("out") == ["b/a.txt", "b/c.txt", "b/d\n.txt"]
    assert os.path.samefile("out/b/c.txt", "f/b/c.txt")


def test_files_of_one_name_keep_their_paths_below_the_folder_that_they_share(folder):
    """A user took the pages of a manual by a pattern, and each part had an index.html."""
    os.makedirs("f/deep/er")
    Path("f/deep/er/a.txt").write_text("an entirely different text about birds and their nests")

    ran = folder("dedup", "f/**/*.txt", "f/../f/a.txt", "-o", "out/")

    assert ran.code == 0
    assert tree("out") == ["a.txt", "b/c.txt", "b/d\n.txt", "deep/er/a.txt"]


def test_the_folder_of_survivors_is_new_and_no_source(folder):
    first = folder("dedup", ".", "-o", "f/out/", "--in-place")
    again = folder("dedup", ".", "-o", "f/out/", "--in-place")

    assert first.code == 0
    assert tree("f/out") == ["f/a.txt", "f/b/c.txt", "f/b/d\n.txt"]
    assert again.code == 2
    assert "is not empty" in again.notes


def test_surviving_files_are_listed_by_path_or_as_records(folder):
    folder("dedup", "f", "-o", "k.txt")
    folder("dedup", "f", "-o", "k.csv")

    assert Path("k.txt").read_bytes() == b"f/a.txt\nf/b/c.txt\nf/b/d\\n.txt\nf/b/\xff\n"
    with open("k.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["id", "text"]
    assert rows[1:4] == [["f/a.txt", FOX], ["f/b/c.txt", SEA], ["f/b/d\n.txt", SKY]]


@over(
    ("options", "header"),
    [
        (["--show", "9"], "representative,size,representative_text,id,distance,similarity,text"),
        (["--db", "d"], "id,match,distance,similarity"),
        (["--db", "e", "--show", "9"], "id,match,distance,similarity,text,match_text"),
    ],
)
def test_the_header_of_a_table_without_rows_is_that_of_one_with_rows(simdb_run, options, header):
    Path("one.jsonl").write_bytes(LINES.splitlines(keepends=True)[0])
    Path("all.jsonl").write_bytes(LINES)

    simdb_run("dedup", "one.jsonl", "--groups", "none.csv", *options)
    simdb_run("dedup", "all.jsonl", "--groups", "some.csv", *options)
    simdb_run("dedup", "one.jsonl", "--groups", "none.tsv.gz", *options)

    assert Path("none.csv").read_text() == header + "\n"
    assert Path("some.csv").read_text().startswith(header + "\n")
    assert unpacked("none.tsv.gz").decode() == header.replace(",", "\t") + "\n"


def test_without_survivors_a_table_has_the_columns_of_its_sources(simdb_run):
    Path("a.csv").write_text(f"url,text,lang\nu,{FOX},en\n")
    Path("b.tsv").write_text(f"url\ttext\tyear\nv\t{FOX}\t1\n")
    Path("c.jsonl").write_text(json.dumps({"url": "w", "text": FOX}) + "\n")
    run = ["--db", "seen", "--id-field", "url"]
    simdb_run("dedup", "a.csv", *run)

    outputs = {"both.csv": "a.csv b.tsv", "lines.tsv": "c.jsonl", "out/": "b.tsv c.jsonl"}
    for keep, sources in outputs.items():
        ran = simdb_run("dedup", *sources.split(), *run, "-o", keep)
        assert ran.code == 0, ran.notes

    assert Path("both.csv").read_text() == "url,text,lang,year\n"
    assert Path("lines.tsv").read_text() == "url\ttext\n"
    assert Path("out/b.tsv").read_text() == "url\ttext\tyear\n"
    assert Path("out/c.jsonl").read_text() == ""


def test_rows_in_a_file_that_is_shorter_than_a_header_are_kept(simdb_run):
    Path("empty.jsonl").write_bytes(b"")
    Path("k.csv").write_text("id\n1\n")

    ran = simdb_run("dedup", "empty.jsonl", "-o", "k.csv")
    again = simdb_run("dedup", "empty.jsonl", "-o", "k.csv")

    assert Path("k.csv").read_text() == "id,text\n"
    assert Path("k.csv.before").read_text() == "id\n1\n"
    assert "k.csv.before" in ran.notes
    assert "k.csv.before" not in again.notes


def test_a_parquet_file_without_rows_has_columns_and_can_be_read_again(simdb_run):
    Path("empty.csv").write_text("text,id,page\n", encoding="utf-8")

    made = simdb_run("dedup", "empty.csv", "-o", "k.parquet", "--groups", "g.parquet")
    again = simdb_run("dedup", "k.parquet", "-o", "again.csv")

    assert (made.code, again.code) == (0, 0)
    assert Path("again.csv").read_text(encoding="utf-8") == "text,id,page\n"
    groups = pyarrow.parquet.read_table("g.parquet")
    assert groups.column_names == ["representative", "size", "id", "distance", "similarity"]
    assert groups.num_rows == 0


def test_without_survivors_parquet_keeps_the_schema_and_a_broken_file_is_only_reported(simdb_run):
    table = parquet_source("a.parquet")
    Path("broken.parquet").write_bytes(b"hello")
    simdb_run("dedup", "a.parquet", "--db", "seen")

    again = ["--db", "seen", "--run", "2", "-o", "k.parquet"]
    ran = simdb_run("dedup", "a.parquet", "broken.parquet", *again)

    assert ran.code == 1
    assert "broken.parquet: not a valid Parquet file" in ran.notes
    assert "k.parquet is empty: none of 3 documents is new" in ran.notes
    assert pyarrow.parquet.read_table("k.parquet").schema.equals(table.schema)


def test_encodings_that_were_guessed_are_noted(simdb_run, tmp_path):
    pytest.importorskip("charset_normalizer")
    text = "Die gr\u00f6\u00dfte Universit\u00e4t f\u00fchrt f\u00fcr Studierende F\u00e4cher."
    mail = tmp_path / "mail"
    mail.mkdir()
    (mail / "a.txt").write_bytes(text.encode("latin-1"))
    (mail / "b.txt").write_bytes(text.encode())
    (mail / "c.txt").write_bytes(b"nothing of the sort in these words at all")

    plain = simdb_run("dedup", "mail")
    guessed = simdb_run("dedup", "mail", "--encoding", "guess")
    again = simdb_run("dedup", "mail/b.txt", "--encoding", "guess")

    assert (plain.code, plain.rows) == (1, [])
    assert "a guess" in plain.notes
    assert (guessed.code, [row["representative"] for row in guessed.rows]) == (0, ["mail/a.txt"])
    assert [each["id"] for each in guessed.rows[0]["duplicates"]] == ["mail/b.txt"]
    assert "--encoding guess: read 1 as cp1252; all else as utf-8" in guessed.notes
    assert "--encoding guess" not in again.notes
