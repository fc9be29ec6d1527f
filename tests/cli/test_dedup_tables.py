"""The survivors of CSV files: rows are copied as they are wherever the columns allow it."""

import csv
import json
from pathlib import Path

import pytest
from pyarrow import parquet

from simdb.jobs.deduplication.job import DedupRun

FOX = "the quick brown fox jumps over the lazy dog near the river bank today"
SKY = "a completely different sentence about clouds, weather and the blue sky"
SEA = "waves roll in from the open sea and break on the old harbour wall at dawn"
DB = [(), ("--db", "seen")]
HEADER = b'"id",text,n\r\n'
ROWS = [
    b'1,"' + FOX.encode() + b'","a\nb"\r\n',
    b'"2",' + FOX.encode() + b",x\r\n",
    b'3,"' + SKY.encode() + b'\n""q""",\n',
    b"4," + SEA.encode() + b',"last"',
]  # fmt: skip


@pytest.mark.parametrize("options", DB)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_rows_that_stay_are_copied_byte_for_byte(simdb_run, tmp_path, options, mark):
    (tmp_path / "a.csv").write_bytes(mark + HEADER + b"\r\n".join([ROWS[0], *ROWS[1:]]))

    simdb_run("dedup", "a.csv", "-o", "k.csv", *options)

    assert Path("k.csv").read_bytes() == HEADER + ROWS[0] + ROWS[2] + ROWS[3] + b"\n"


def test_files_with_the_same_columns_become_one_table(simdb_run, tmp_path):
    (tmp_path / "a.csv").write_bytes(HEADER + ROWS[0])
    (tmp_path / "b.csv").write_bytes(b"id,text,n\n" + ROWS[2] + ROWS[1])

    simdb_run("dedup", "a.csv", "b.csv", "-o", "k.csv")
    simdb_run("dedup", "a.csv", "b.csv", "-o", "out/")

    assert Path("k.csv").read_bytes() == HEADER + ROWS[0] + ROWS[2]
    assert Path("out/a.csv").read_bytes() == HEADER + ROWS[0]
    assert Path("out/b.csv").read_bytes() == b"id,text,n\n" + ROWS[2]


def test_rows_that_only_the_standard_library_reads_keep_their_place(simdb_run, tmp_path):
    rows = [f"1,{FOX},a\n", f'2,"{SKY}"\r\r', f'3,{SEA},"c\r"\n', '4,"no, end']
    (tmp_path / "a.csv").write_text("id,text,n\n" + "".join(rows), newline="")

    simdb_run("dedup", "a.csv", "-o", "k.csv")

    with open("k.csv", newline="") as file:
        assert list(csv.reader(file)) == [["id", "text", "n"], ["1", FOX, "a"], ["3", SEA, "c\r"]]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["k.jsonl", "k.parquet", "k.tsv", "both.csv"])
def test_rows_of_a_table_are_written_in_every_format(simdb_run, tmp_path, name):
    (tmp_path / "a.csv").write_bytes(HEADER + b"".join(ROWS))
    (tmp_path / "b.csv").write_text("text,id,more\nshort and unlike the others,5,m\n")
    sources = ["a.csv", "b.csv"] if name == "both.csv" else ["a.csv"]

    simdb_run("dedup", *sources, "-o", name)

    wanted = [("1", FOX, "a\nb"), ("3", SKY + '\n"q"', ""), ("4", SEA, "last")]
    found = [(row["id"], row["text"], row["n"]) for row in rows_in(name)]
    assert found[:3] == wanted
    assert len(found) == 2 + len(sources)


def rows_in(name):
    """Return the rows of an output."""
    if name.endswith(".parquet"):
        return parquet.read_table(name).to_pylist()
    with open(name, newline="") as file:
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in file]
        return list(csv.DictReader(file, delimiter="\t" if name.endswith(".tsv") else ","))


def test_a_table_that_was_changed_is_refused(simdb_run, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(HEADER + b"".join(ROWS))
    original = DedupRun.decide

    def change(run):
        found = original(run)
        path.write_bytes((HEADER + b"".join(ROWS)).replace(b"sky", b"sea"))
        return found

    monkeypatch.setattr(DedupRun, "decide", change)

    ran = simdb_run("dedup", "a.csv", "-o", "k.csv")

    assert ran.code != 0
    assert "a.csv was changed while it was read" in ran.notes
