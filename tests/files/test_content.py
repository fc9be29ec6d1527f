"""Content: how much of the sources has been read, and which text begins like a page."""

import gzip
import io
import json
import os
import sys
import time

import pyarrow
import pytest
from over import over

from simdb.cli.options.intake import BATCH_DOCUMENTS
from simdb.core.decoding import text_column
from simdb.files.content import AMOUNT, MAY_BEGIN, CountedFile, page_position
from simdb.files.records import SourceOptions
from simdb.files.sources import read_sources, read_texts

COUNT = 3 * BATCH_DOCUMENTS
ROWS = [{"id": str(at), "text": f"text {at} " * 20} for at in range(COUNT)]


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMDB_THREADS", "1")
    monkeypatch.chdir(tmp_path)


def write(name, rows=ROWS):
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    with open(name, "wb") as file:
        file.write(gzip.compress(lines, 1) if name.endswith(".gz") else lines)


def test_texts_are_counted_together():
    for name in ("a.txt", "b.txt", "c.txt"):
        with open(name, "w") as file:
            file.write("some words " * 1000)
    AMOUNT.begin()

    found = read_texts(["a.txt", "b.txt", "c.txt"], SourceOptions(), by_lines=False)

    assert [round(AMOUNT.share(), 2) for _ in found] == [0.33, 0.67, 1.0]


def test_more_than_was_expected_is_no_share():
    write("a.jsonl", ROWS[:10])
    AMOUNT.begin()

    list(read_sources(["a.jsonl"], SourceOptions()))
    assert AMOUNT.share() == 1.0
    list(read_sources(["a.jsonl"], SourceOptions()))

    assert AMOUNT.share() is None


@over("size", [0, 1, 65_535, 65_536, 200_000])
def test_a_counted_file_reads_like_any_other(size):
    content = os.urandom(size)
    with open("file", "wb") as file:
        file.write(content)
    AMOUNT.begin()

    with io.BufferedReader(CountedFile("file")) as file:
        parts = file.peek(10)[:10], file.read(7), file.readline(), file.read()

    assert b"".join(parts[1:]) == content
    assert content.startswith(parts[0])
    assert AMOUNT.read_bytes == size


def test_a_text_that_can_begin_like_html_is_looked_at_by_its_first_byte():
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]

    assert all(MAY_BEGIN[(space + "<p>").encode()[0]] for space in [*spaces, ""])
    assert not MAY_BEGIN[list(b"aZ0>\xc3\xe4\xf0")].any()


@over("kind", [pyarrow.string(), pyarrow.binary()])
def test_the_first_page_of_a_column_is_found(kind):
    texts = ["a < b", " \u3000<html><p>one", "\u3042", "", None, "<div>two"]
    column = text_column(pyarrow.array(texts, pyarrow.string()).cast(kind))

    assert page_position(column) == page_position([text or "" for text in texts]) == 1
    assert page_position(column[2:]) == 3
    assert page_position(column[2:5]) is None


def test_comments_before_a_page_cost_no_power_of_their_number():
    """30 comments before a text kept a run busy for minutes, which only asks if it is HTML."""
    comments = "<!--x-->" * 400

    start = time.process_time()
    found = [page_position([f"{comments}{rest}"]) for rest in ("text", "<p>text", " <!-- --><p>")]

    assert found == [None, 0, 0]
    assert time.process_time() - start < 1
