"""Streams: what pipes and standard input hold is read as in a file, and never as one document."""

import bz2
import gzip
import io
import json
import lzma
import os
import threading
from dataclasses import replace

import pyarrow
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest
from batches import records_of
from over import over

import simdb
from simdb.files.content import opened
from simdb.files.formats import CSV, JSONL, PARQUET
from simdb.files.origins import Origins
from simdb.files.records import Batch, InputProblem, SourceOptions
from simdb.files.sources import read_sources, stream_kind

TABLE = pyarrow.table({"id": ["a", "b", "c"], "text": ["one", "two, 2", "three\tthree"]})
ROWS = TABLE.to_pylist()


def lines():
    return b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def separated(delimiter):
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    file = io.BytesIO()
    pyarrow.csv.write_csv(TABLE, file, options)
    return file.getvalue()


def parquet():
    file = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, file)
    return file.getvalue()


def arrow(make):
    file = io.BytesIO()
    with make(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return file.getvalue()


FORMATS = {
    "JSON lines": lines(),
    "one line": lines().splitlines()[0],
    "JSON array": json.dumps(ROWS, indent=1).encode(),
    "UTF-16": lines().decode().encode("utf-16"),
    "CSV": separated(","),
    "TSV": separated("\t"),
    "Parquet": parquet(),
    "Arrow file": arrow(pyarrow.ipc.new_file),
    "Arrow stream": arrow(pyarrow.ipc.new_stream),
}
PACKS = [bytes, gzip.compress, bz2.compress, lzma.compress]


def zst(content):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(content)


def piped(content):
    """Return the name of a pipe that holds some bytes, with the thread that writes them."""
    reads, writes = os.pipe()

    def write():
        with open(writes, "wb") as file:
            file.write(content)

    thread = threading.Thread(target=write)
    thread.start()
    return f"/dev/fd/{reads}", thread, reads


def read(source, **settings):
    """Return the ids and texts of a source, and its problems."""
    found = list(read_sources([source], replace(SourceOptions(), **settings)))
    records = [each for batch in found if isinstance(batch, Batch) for each in records_of(batch)]
    problems = [each.reason for each in found if isinstance(each, InputProblem)]
    return [(each.id, each.text) for each in records], problems


def read_pipe(content, **settings):
    name, thread, reads = piped(content)
    try:
        return read(name, **settings)
    finally:
        os.close(reads)
        thread.join()


@over("name", FORMATS)
@over("pack", [*PACKS, zst])
@over("has_fields", [False, True])
def test_a_pipe_is_read_as_what_it_holds(name, pack, has_fields):
    found, problems = read_pipe(pack(FORMATS[name]), has_fields=has_fields)

    count = 1 if name == "one line" else len(ROWS)
    assert found == [(row["id"], row["text"]) for row in ROWS[:count]]
    assert problems == []


@over("name", FORMATS)
@over("pack", PACKS)
def test_standard_input_is_read_as_what_it_holds(name, pack, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(FORMATS[name]))))

    found, problems = read("-")

    assert found[0] == ("a", "one")
    assert problems == []


def test_nothing_of_a_large_stream_is_lost():
    """The bytes that show what a pipe holds belong to its first records, however long these are."""
    rows = [{"id": str(at), "text": f"{at} " * (at % 900)} for at in range(3000)]
    rows = [{"id": "long", "text": "word " * 50_000}, *rows]
    content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    found, _ = read_pipe(content)

    assert found == [(row["id"], row["text"]) for row in rows]


@over(
    "content",
    [b"A text.\nIts second line.\n", b"no line feed", b"[1] a note\n", b"body,id\none,a\n",
     b"text\na\nb\n", b"<html><p>A page</p></html>", b"{\n  a b c\n}\n"],
)  # fmt: skip
def test_a_stream_whose_kind_does_not_show_asks_for_it(content):
    with pytest.raises(simdb.OptionError, match="copy it into a file") as raised:
        read_pipe(content)

    assert "or text; say which by --format jsonl, csv" in raised.value.at_command


def test_the_kind_of_a_stream_can_be_given():
    text = b"text of a line\nand of another\n"

    assert read_pipe(text, format="text")[0][0][1] == text.decode()
    assert [each for _, each in read_pipe(text, format="lines")[0]] == [
        "text of a line", "and of another",
    ]  # fmt: skip
    assert read_pipe(b"text\none\ntwo\n", format="csv")[0][1][1] == "two"
    assert read_pipe(b"{\n", format="jsonl")[1]
    assert read_pipe(b"") == ([], [])
    found, [problem] = read_pipe(b"\x7fELF\0\0\0\0" * 9)
    assert (found, "binary content" in problem) == ([], True)


@over("pack", PACKS[1:])
def test_a_torn_stream_gives_what_can_be_read(pack):
    rows = [{"id": str(at), "text": os.urandom(60).hex()} for at in range(4000)]
    content = pack(b"".join(json.dumps(row).encode() + b"\n" for row in rows))

    found, problems = read_pipe(content[: len(content) // 2])

    assert found == [(row["id"], row["text"]) for row in rows[: len(found)]]
    assert "data (" in problems[0]


@over(("content", "kind"), [(lines(), JSONL), (b"id,text\n", CSV), (parquet()[:99], PARQUET)])
def test_what_a_slow_pipe_has_is_enough_to_decide(content, kind):
    """The other end of the pipe stays open and writes nothing more."""
    reads, writes = os.pipe()
    os.write(writes, content)

    with opened(f"/dev/fd/{reads}") as stream:
        found = stream_kind(stream, "pipe", SourceOptions())
        os.close(writes)
        rest = stream.read()

    os.close(reads)
    assert (found, rest) == (kind, content)


def test_a_first_line_can_come_in_pieces():
    reads, writes = os.pipe()
    os.write(writes, b"id,")
    timer = threading.Timer(0.2, lambda: (os.write(writes, b"text\na,one\n"), os.close(writes)))
    timer.start()

    found, _ = read(f"/dev/fd/{reads}")

    os.close(reads)
    timer.join()
    assert found == [("a", "one")]


def test_rows_of_a_stream_wait_in_a_file_until_the_run_ends():
    with Origins() as origins:
        name, thread, reads = piped(parquet())
        list(read_sources([name], SourceOptions(origins=origins)))
        os.close(reads)
        thread.join()
        place = origins.place(name)

        assert pyarrow.parquet.read_table(place).equals(TABLE)
        assert origins.place("other") == "other"
    assert not os.path.exists(place)
