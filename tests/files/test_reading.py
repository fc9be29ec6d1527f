"""Sources by patterns and endings: which files they stand for, and which are refused."""

import bz2
import gzip
import json
import lzma
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from batches import records_of
from over import over

from simdb.core.errors import InputError
from simdb.files.records import Batch, InputProblem, SourceOptions
from simdb.files.sources import check_sources, read_sources

LINES = b'{"id": "a", "text": "one"}\n{"id": "b", "text": "two"}\n'


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(*names, **settings):
    """Returns the ids of the records, and the problems of sources."""
    found = list(read_sources(names, replace(SourceOptions(), **settings)))
    batches = [each for each in found if isinstance(each, Batch)]
    ids = [record.id for batch in batches for record in records_of(batch)]
    return ids, [each.reason for each in found if isinstance(each, InputProblem)]


def zst(content):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(content)


def test_zstd_is_read_by_frames_as_if_it_were_not_compressed():
    many = b"".join(b'{"id": "%d", "text": "%s"}\n' % (at, b"x" * 99) for at in range(3000))
    Path("a.jsonl.zst").write_bytes(zst(LINES) + zst(b"") + zst(many))
    Path("b.csv.zst").write_bytes(zst(b"id,text\nc,three\n"))
    Path("c.txt.zst").write_bytes(zst(b"words"))

    ids, problems = read("a.jsonl.zst", "b.csv.zst", "c.txt.zst")

    assert ids == ["a", "b", *map(str, range(3000)), "c", "c.txt.zst"]
    assert problems == []


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda whole: whole[:-4], "damaged zstd data"),
        (lambda whole: whole + b"more", "damaged zstd data"),
        (lambda whole: whole[: len(whole) // 2] + bytes(9), "zstd data"),
    ],
)
def test_damaged_zstd_is_a_problem_after_the_records_before_it(change, reason):
    lines = b"".join(b'{"id": "%d", "text": "%s"}\n' % (at, os.urandom(40).hex().encode())
                     for at in range(9000))  # fmt: skip
    Path("a.jsonl.zst").write_bytes(change(zst(lines)))

    ids, (problem,) = read("a.jsonl.zst")

    assert ids == [str(at) for at in range(len(ids))]
    assert len(ids) > 1000
    assert reason in problem


@over("pack", [zst, gzip.compress, bz2.compress, lzma.compress])
def test_compressed_records_under_another_name_are_read(pack):
    Path("a.jsonl").write_bytes(pack(LINES))

    assert read("a.jsonl") == (["a", "b"], [])


def test_zstd_is_read_without_a_package_that_writes_it(monkeypatch):
    Path("a.jsonl.zst").write_bytes(zst(LINES))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)

    check_sources(["a.jsonl.zst"], SourceOptions())
    ids, problems = read("a.jsonl.zst")

    assert ids == ["a", "b"]
    assert problems == []


def test_a_pattern_stands_for_its_matches_in_order_each_once():
    os.makedirs("d/e")
    for name in ("part-2.jsonl", "part-10.jsonl", "part-1.jsonl", "d/e/part-3.jsonl", "other"):
        Path(name).write_text(json.dumps({"id": name, "text": "x"}) + "\n")

    assert read("part-?.jsonl")[0] == ["part-1.jsonl", "part-2.jsonl"]
    assert read("part-2*", "part-*")[0] == ["part-2.jsonl", "part-1.jsonl", "part-10.jsonl"]
    assert read("**/part-[3-9].jsonl")[0] == ["d/e/part-3.jsonl"]
    with pytest.raises(InputError, match=r"x-\*\.jsonl, and none matches it as a pattern"):
        check_sources(["x-*.jsonl"], SourceOptions())


def test_a_name_that_exists_is_no_pattern():
    Path("a[1].jsonl").write_bytes(LINES)
    Path("a1.jsonl").write_bytes(b"")

    check_sources(["a[1].jsonl"], SourceOptions())

    assert read("a[1].jsonl")[0] == ["a", "b"]


@over("name", ["a.jsonl.br", "a.csv.old", "b.xlsx", "c.tar", "a.parquet.gz", "A.JSON.7Z", "a.lz4"])
def test_an_ending_that_is_not_read_is_an_error_that_names_the_known_ones(name):
    Path(name).write_bytes(LINES)

    with pytest.raises(InputError) as caught:
        check_sources([name], SourceOptions())

    assert f"ends in {os.path.splitext(name)[1]}, which is not read" in str(caught.value)
    assert ".jsonl, .ndjson, .jl, .jsonlines, .json, .csv, .tsv, .parquet" in str(caught.value)
    assert ".gz, .zst, .bz2 or .xz" in str(caught.value)


@over(
    ("name", "content"),
    [
        ("a.txt", LINES),
        ("part-00000", LINES),
        ("part-00000", b'{"id": "a", "body": "one"}\n{"id": "b", "body": "two"}\n'),
        ("a.dat", b'[{"id": "a", "text": "one"},\n {"id": "b", "text": "two"}]'),
        ("a.txt", b"id,text\na,one\nb,two\n"),
        ("rows", b"text\tid\none\ta\ntwo\tb\n"),
    ],
)
def test_records_under_a_name_that_does_not_say_so_are_read(name, content):
    Path(name).write_bytes(content)

    ids, problems = read(name)

    assert ids == ["a", "b"] or (len(problems) == 2 and "no field 'text'" in problems[0])


@over(
    "content",
    [
        b'{"text": "a single object"}\n',
        b'{"text": "one"}\nand then words\n',
        b"[1]\n[2]\n",
        b'{"a": 1}\n{"a": 2}\n',
        b'{"text": "one"}\n{"text": 5\n',
        b"text, and then more\nof the text, and\nmore, of it, and, more\nand more\n",
        b"text\na\nb\n",
        b"id,body\na,one\nb,two\n",
        b"[1] A text\n",
        b'[{"type": "text", "words": "of a chat"}]',
        b'{"text": "one",\n "n": 1}\n{"text": "two",\n "n": 2}\n',
        b"",
    ],
)
def test_a_document_that_resembles_json_is_a_document(content):
    Path("a.txt").write_bytes(content)

    assert read("a.txt") == (["a.txt"], [])
