"""CSV as people have it: with another delimiter, without a header, with short rows."""

import csv
import gzip
import io
from pathlib import Path

from over import over

from simdb.files import table_records

FOX = "the quick brown fox jumps over the lazy dog near the river bank today"
SKY = "a completely different sentence about clouds, weather; and the blue sky"
SEA = "waves roll in from the open sea and break on the old harbour wall at dawn"
ROWS = [["1", FOX, "a;b"], ["2", FOX, "x"], ["3", f'{SKY}\n"q"', ""], ["4", SEA, "y,z"]]
KEPT = [ROWS[0], ROWS[2], ROWS[3]]
# By column and record by record, in UTF-8 and in another encoding, as it is and compressed.
WAYS = [("utf-16", False, ("--encoding", "utf-16")), ("utf-8", True, ()),
        ("utf-8", False, ("--keep", "max:3"))]  # fmt: skip


def write(name, rows, delimiter, encoding="utf-8"):
    made = io.StringIO(newline="")
    csv.writer(made, delimiter=delimiter, lineterminator="\n").writerows(rows)
    content = made.getvalue().encode(encoding)
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


def rows_in(name, delimiter):
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=delimiter))


@over(("encoding", "is_packed", "options"), WAYS)
def test_without_a_header_fields_are_numbers_and_outputs_have_none(
    simdb_run, encoding, is_packed, options
):
    source = "a.csv.gz" if is_packed else "a.csv"
    write(source, ROWS, ",", encoding)
    asked = ("--no-header", "--text-field", "2", "--id-field", "1", *options)
    kept = ROWS[1:] if "--keep" in options else KEPT

    for output in ("k.csv", "k.tsv", "k.jsonl"):
        ran = simdb_run("dedup", source, "-o", output, *asked)

        assert ran.code == 0, ran.notes
        if output == "k.jsonl":
            assert '{"1": "3", "2": ' in Path(output).read_text()
        else:
            assert rows_in(output, "\t" if output == "k.tsv" else ",") == kept


def test_no_survivors_leave_no_header(simdb_run):
    write("a.csv", ROWS, ",")
    write("b.csv", ROWS, ",")

    simdb_run(
        "dedup", "a.csv", "--against", "b.csv", "-o", "k.csv", "--no-header", "--text-field", "2"
    )  # fmt: skip

    assert Path("k.csv").read_bytes() == b""


@over("given", [";", "tab", r"\t", " "])
def test_another_delimiter_is_read_and_written_back(simdb_run, given):
    own = {"tab": "\t", r"\t": "\t"}.get(given, given)
    header = ["id", "text", "note"]
    write("a.csv", [header, *ROWS], own)
    before = Path("a.csv").read_bytes()

    simdb_run("dedup", "a.csv", "-o", "k.csv", "--delimiter", given)
    simdb_run("dedup", "a.csv", "-o", "k.tsv", "--delimiter", given)

    assert rows_in("k.csv", own) == [header, *KEPT]
    assert rows_in("k.tsv", "\t") == [header, *KEPT]
    lines = before.splitlines(keepends=True)
    assert Path("k.csv").read_bytes() == b"".join([*lines[:2], *lines[3:]])


@over(("options", "mark"), [((), b"\xef\xbb\xbf"), (("--db", "seen"), b"")])
def test_rows_that_stay_are_copied_byte_for_byte(simdb_run, options, mark):
    header, *rows = (
        line.encode()
        for line in (
            '"id",text,n\r\n', f'1,"{FOX}","a\nb"\r\n', f'"2",{FOX},x\r\n',
            f'3,"{SKY}\n""q""",\n', f'4,{SEA},"last"',
        )
    )  # fmt: skip
    Path("a.csv").write_bytes(mark + header + b"\r\n".join(rows))

    simdb_run("dedup", "a.csv", "-o", "k.csv", *options)

    assert Path("k.csv").read_bytes() == header + rows[0] + rows[2] + rows[3] + b"\n"


@over("refused", [0, 1 << 14])
def test_short_rows_get_empty_cells_if_asked_for(simdb_run, monkeypatch, refused):
    monkeypatch.setattr(table_records, "REFUSED_BYTES", refused)
    rows = [["id", "text", "note", "more"], ["1", FOX], ["2", SKY, "n"], ["3", SEA, "n", "m"],
            ["4", FOX, "n", "m", "too long"], ["5"]]  # fmt: skip
    write("a.csv", rows, ",")

    plain = simdb_run("dedup", "a.csv", "-o", "plain.csv")
    padded = simdb_run("dedup", "a.csv", "-o", "k.csv", "--pad-rows")

    assert plain.code == padded.code == 1
    assert rows_in("plain.csv", ",") == [rows[0], rows[3]]
    assert rows_in("k.csv", ",") == [
        rows[0], ["1", FOX, "", ""], ["2", SKY, "n", ""], rows[3], ["5", "", "", ""]
    ]  # fmt: skip
    assert "a.csv:5: 5 fields, but 4 columns" in padded.notes


def test_rows_are_numbered_alike_by_column_and_one_by_one(simdb_run):
    Path("a.csv").write_bytes(b'\n"1";"a\nb c d e f"\n\n2;x y z\n3\n')
    asked = ("--no-header", "--delimiter", ";", "--text-field", "2")
    write("b.csv", [["1", "t"]], ",")

    for options in ((), ("--errors", "replace"), ("--encoding", "utf-8")):
        ran = simdb_run("fingerprint", "a.csv", *asked, *options)

        assert [row["id"] for row in ran.rows] == ["a.csv:2", "a.csv:5"]
        assert "a.csv:6: 1 fields, but 2 columns" in ran.notes
    ran = simdb_run("fingerprint", "b.csv", *asked)
    assert "no column '2'" in ran.notes
    assert "(found: '1')" in ran.notes


def test_every_verb_that_reads_takes_the_options(simdb_run):
    write("a.csv", ROWS, ";")
    write("test.csv", [["t", SEA]], ";")
    asked = ("--no-header", "--delimiter", ";", "--text-field", "2", "--id-field", "1")

    assert simdb_run("insert", "d.simdb", "a.csv", *asked).code == 0
    found = simdb_run(
        "lookup", "d.simdb", "test.csv", "--new", "new.csv", "--found", "old.csv", *asked
    )
    clean = simdb_run(
        "decontaminate", "a.csv", "--against", "test.csv", "--mark", "-o", "c.csv", *asked
    )
    simdb_run("decontaminate", "a.csv", "--against", "test.csv", "-o", "out/", *asked)

    assert [row["match"] for row in found.rows] == ["4"]
    assert rows_in("old.csv", ";") == [["t", SEA]]
    assert Path("new.csv").read_bytes() == b""
    assert [row["id"] for row in clean.rows] == ["4"]
    assert [row[:3] for row in rows_in("c.csv", ";")] == ROWS
    assert rows_in("out/a.csv", ";") == ROWS[:3]
    assert simdb_run("tune", "a.csv", *asked).code == 0
