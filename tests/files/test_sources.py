"""Sources of every kind, valid and broken, read as records and problems."""

import codecs
import csv
import gzip
import json
import os
import resource
import sys
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow
import pytest
from batches import records_of
from over import over
from pyarrow import parquet

import simdb
from simdb.core.decoding import hint, known_encoding
from simdb.files import content, json_records
from simdb.files.records import Batch, InputProblem, SourceOptions
from simdb.files.sources import check_sources, read_sources

SONG = "\u660e\u6708\u5e7e\u6642\u6709\u3000\u628a\u9152\u554f\u9752\u5929"
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(*names, **settings):
    """Returns the records and the problems of sources."""
    reading = replace(SourceOptions(), **settings)
    found = list(read_sources(names, reading))
    batches = [each for each in found if isinstance(each, Batch)]
    records = [record for batch in batches for record in records_of(batch)]
    problems = [each for each in found if isinstance(each, InputProblem)]
    return records, problems


def ids_and_texts(records):
    return [(record.id, record.text) for record in records]


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)


def test_a_text_file_is_one_document_named_by_its_path_and_read_once():
    write("a.txt", "h\u00e9llo\nworld\n".encode())

    records, problems = read("a.txt")

    assert ids_and_texts(records) == [("a.txt", "h\u00e9llo\nworld\n")]
    assert json.loads(records[0].line) == {"id": "a.txt", "text": "h\u00e9llo\nworld\n"}
    assert records[0].size_bytes == 13
    assert problems == []
    os.makedirs("f")
    write("f/a\nb", b"")
    (found,) = read("f", "./f", has_paths=True)[0]
    assert (found.id, found.text, found.line) == ("f/a\nb", "", b"f/a\0b")


def test_a_folder_is_one_document_for_each_file_in_order_and_links_are_not_followed():
    os.makedirs("f/b/deep")
    os.makedirs("other")
    for name in ("f/c.jsonl", "f/b/deep/x", "f/b/a", "f/a.txt", "other/secret"):
        write(name, b'{"id": 1}')
    os.symlink("../other", "f/link")
    os.symlink("a.txt", "f/alias")

    records, problems = read("f")

    assert [record.id for record in records] == ["f/a.txt", "f/b/a", "f/b/deep/x", "f/c.jsonl"]
    assert records[3].text == '{"id": 1}'
    assert problems == []


@over(
    ("name", "content", "reason"),
    [
        ("latin1.txt", "na\u00efve caf\u00e9 ".encode("latin-1"), "encoding="),
        ("gb.txt", SONG.encode("gb18030"), "encoding="),
        ("cut.txt", SONG.encode()[:-1], "cut off"),
        ("binary.mo", b"\xde\x12\x04\x95\0\0\0\0text", "binary"),
        ("nul.txt", b"text" * 100 + b"\0", "binary"),
        ("utf16.txt", ("prose, " + SONG).encode("utf-16-le"), "use encoding='utf-16-le'"),
        ("utf16be.txt", ("prose, " + SONG).encode("utf-16-be"), "use encoding='utf-16-be'"),
        ("utf32.txt", SONG.encode("utf-32-le"), "use encoding='utf-32-le'"),
        ("torn.txt.gz", gzip.compress(b"text" * 1000, mtime=0)[:-12], "damaged gzip"),
        ("false.txt.gz", b"no gzip at all", "damaged gzip"),
        ("wrong.txt.gz", gzip.compress(b"text" * 100, mtime=0)[:-8] + b"\1" * 8, "damaged gzip"),
    ],
)
def test_a_binary_file_is_one_problem_with_a_remedy(name, content, reason):
    write(name, content)

    records, problems = read(name)

    assert records == []
    assert [problem.where for problem in problems] == [name]
    assert reason in problems[0].reason


@over(
    ("encoding", "content"),
    [
        ("UTF8", SONG.encode()),
        ("utf-16-le", SONG.encode("utf-16-le")),
        ("gb18030", SONG.encode("gb18030")),
        ("gb18030", ("\ufeff" + SONG).encode("gb18030")),
        ("utf-16", SONG.encode("utf-16")),
        ("utf-16-le", codecs.BOM_UTF16_BE + SONG.encode("utf-16-be")),
        ("utf-8", SONG.encode("utf-32")),
        ("latin-1", codecs.BOM_UTF32_BE + SONG.encode("utf-32-be")),
        ("latin-1", codecs.BOM_UTF8 + SONG.encode()),
    ],
)
def test_a_mark_sets_the_encoding_or_else_the_given_one_is_used(encoding, content):
    write("song.txt", content)

    records, problems = read("song.txt", encoding=known_encoding(encoding))

    assert ids_and_texts(records) == [("song.txt", SONG)]
    assert problems == []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_sets_the_encoding_of_records(encoding):
    write("a.jsonl", f'{{"id": 1, "text": "{SONG}"}}\n{{"id": 2, "text": "b"}}\n'.encode(encoding))
    write("b.json", f'[{{"id": 3, "text": "{SONG}"}}]'.encode(encoding))
    write("c.csv", f"id,text\n4,{SONG}\n".encode(encoding))

    records, problems = read("a.jsonl", "b.json", "c.csv")

    assert ids_and_texts(records) == [("1", SONG), ("2", "b"), ("3", SONG), ("4", SONG)]
    assert problems == []


def test_undecodable_records_name_the_place_and_a_likely_encoding():
    write("a.jsonl", b'{"text": "ok"}\n{"text": "caf\xe9"}\n{"text": "\\ud800"}\n')
    write("b.csv", b"text\nok\ncaf\xe9\n")

    records, problems = read("a.jsonl", "b.csv")

    remedy = hint(b"caf\xe9", 3)
    assert [record.text for record in records] == ["ok", "ok"]
    assert [(each.where, each.reason) for each in problems] == [
        ("a.jsonl:2", f"invalid utf-8 at byte 13; {remedy}"),
        ("a.jsonl:3", "the field 'text' holds half of a character (a lone surrogate); use"
                      " errors='replace'"),
        ("b.csv:3", f"the field 'text' holds invalid utf-8 at byte 3; {remedy}"),
    ]  # fmt: skip
    write("c.txt", codecs.BOM_UTF8 + b"caf\xe9 au lait")
    assert "invalid utf-8 at byte 6;" in read("c.txt")[1][0].reason


def test_undecodable_bytes_are_replaced_with_errors_replace():
    write("a.txt", b"caf\xe9 au lait")
    write("b.jsonl", b'{"id": "x", "text": "caf\xe9"}\n{"id": "y", "text": "\\ud800!"}\n')
    write("c.csv", b"id,text\nz,caf\xe9\n")

    records, problems = read("a.txt", "b.jsonl", "c.csv", errors="replace")

    assert [record.text for record in records] == [
        "caf\ufffd au lait", "caf\ufffd", "\ufffd!", "caf\ufffd"
    ]  # fmt: skip
    assert problems == []


def test_json_lines_give_records_and_bad_lines_are_problems_with_their_number():
    lines = [
        b'\xef\xbb\xbf{"id": "a", "text": "one", "more": [1, 2]}',
        b"",
        b'{"id": 7, "text": "two"}',
        b'{"text": "three"}',
        b'{"id": "b", "text": "caf\xe9"}',
        b'{"id": "c"',
        b'{"id": "d"}',
        b'{"id": "e", "text": null}',
        b'["text"]',
        b'{"id": "f", "text": "\\ud800"}',
        b'{"id": "\\udfff", "text": "x"}',
        b'{"id": true, "text": "x"}',
        b"[" * 100_000,
        b'{"id": "g", "text": ""}',
        b'{"id": "' + b"x" * 1024 + b'", "text": "x"}',
        b'{"body": "x"}',
        b'{"id": "last", "text": "four"}',
    ]
    write("a.jsonl", b"\n".join(lines))

    records, problems = read("a.jsonl")

    assert ids_and_texts(records) == [
        ("a", "one"), ("7", "two"), ("a.jsonl:4", "three"), ("g", ""), ("last", "four")
    ]  # fmt: skip
    assert records[0].line == b'{"id": "a", "text": "one", "more": [1, 2]}'
    assert records[0].fields == {"more": [1, 2]}
    numbers = [5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16]
    assert [problem.where for problem in problems] == [f"a.jsonl:{each}" for each in numbers]
    assert "no field 'text'" in problems[-1].reason
    assert "'body'" in problems[-1].reason


def test_ids_and_texts_of_other_fields_are_read_and_ids_may_have_to_be_whole_numbers():
    odd = [f'{{"key": {id}, "body": "x"}}\n' for id in ("Infinity", "NaN", "1e999", "1.5", '"x"')]
    write("a.ndjson", b'{"key": 7, "body": "one"}\n{"key": "8", "body": "two"}\n')
    write("b.json", "".join(odd).encode())

    records, problems = read(
        "a.ndjson", "b.json", id_field="key", text_field="body", has_int_ids=True
    )

    assert ids_and_texts(records) == [(7, "one"), (8, "two")]
    assert ["not a whole number" in each.reason for each in problems] == [True] * 5


def test_what_a_field_holds_in_place_of_a_text_is_named():
    held = {"null": None, "true or false": True, "a number": 1, "a list": ["x"], "an object": {}}
    write("a.jsonl", "".join(json.dumps({"text": each}) + "\n" for each in held.values()).encode())

    _, problems = read("a.jsonl")

    reasons = [problem.reason for problem in problems]
    assert [kind in reason for kind, reason in zip(held, reasons, strict=True)] == [True] * 5


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_a_json_array_gives_its_elements_wherever_the_buffer_ends(monkeypatch, indent, count):
    monkeypatch.setattr(json_records, "PARSED_CHARACTERS", 7)
    values = [{"id": str(at), "text": "x" * (at % 50), "n": [{}, "],"]} for at in range(count)]
    write("a.json", b" \n" + json.dumps(values, indent=indent).encode() + b"\n")

    records, problems = read("a.json")

    assert ids_and_texts(records) == [(each["id"], each["text"]) for each in values]
    assert problems == []


@over(
    ("content", "count", "reason"),
    [
        (b'[{"text": "a"}', 0, "does not end with ]"),
        (b'[{"text": "a"},', 1, "does not end with ]"),
        (b'[{"text": "a"}, {"text"', 1, "Expecting ':'"),
        (b'[{"text": "a"} {"text": "b"}]', 1, "instead of a comma"),
        (b'[{"text": "a"}, {"text": b}]', 1, "Expecting value"),
        (b'[{"text": "a"}, 3, {"text": "b"}, ]', 2, "Expecting value"),
        (b"[", 0, "does not end with ]"),
        (b"[[[[[", 0, "Expecting value"),
    ],
)
def test_a_broken_json_array_gives_the_elements_before_the_break(content, count, reason):
    write("a.json", content)

    records, problems = read("a.json")

    assert len(records) == count
    assert problems[-1].where.startswith("a.json:")
    assert "invalid JSON array" in problems[-1].reason
    assert reason in problems[-1].reason


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t")])
def test_a_table_gives_a_record_for_each_row(name, delimiter):
    rows = [["id", "text", "x"], ["a", "one,\ttwo\nthree", "1"], ["", "f\u00fcnf", "2"]]
    with open(name, "w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)

    records, problems = read(name)

    assert ids_and_texts(records) == [("a", "one,\ttwo\nthree"), (f"{name}:4", "f\u00fcnf")]
    assert json.loads(records[0].line) == {"id": "a", "text": "one,\ttwo\nthree", "x": "1"}
    assert problems == []


def test_bad_rows_of_a_table_are_problems_and_the_rest_is_read():
    write("a.csv", b"id,text\na,one\nb,caf\xe9\nc\nd,x,y\n\ne," + b"long " * 50_000 + b"\n")

    records, problems = read("a.csv")

    assert [record.id for record in records] == ["a", "e"]
    assert [problem.where for problem in problems] == ["a.csv:3", "a.csv:4", "a.csv:5"]
    write("b.csv", b"id,body\n1,x\n2,y\n")
    records, [problem] = read("b.csv")
    assert (records, "'body'" in problem.reason) == ([], True)


@over("name", ["a.jsonl", "a.json", "a.csv", "a.txt"])
def test_compressed_sources_are_read_by_the_name_before_gz(name):
    content = b"text\n" if name.endswith(("csv", "txt")) else b""
    write(name + ".gz", gzip.compress(content + b'{"text": "hello world"}\n', mtime=0))

    records, problems = read(name + ".gz", text_field="text")

    assert len(records) == 1
    assert "hello world" in records[0].text
    assert problems == []


ODD_IDS = [
    (b"key 1", "key 1"), (b"\xff\x01", "ff01"), (b"\0z", "007a"), (b"", "a.parquet:1"),
    (date(2026, 11, 28), "2026-11-28"), (datetime(2026, 11, 28, 5), "2026-11-28 05:00:00"),
    (Decimal("1.50"), "1.50"), (2.5, "2.5"),
]  # fmt: skip


@over(("id", "expected"), ODD_IDS)
def test_ids_of_a_parquet_file_that_are_no_text_become_text(id, expected):
    # They were refused as "an object", though the same ids in CSV, or in memory, are texts.
    parquet.write_table(pyarrow.table({"id": [id], "text": ["one"]}), "a.parquet")

    for has_fields in (False, True):
        records, problems = read("a.parquet", has_lines=False, has_fields=has_fields)
        assert (ids_and_texts(records), problems) == ([(expected, "one")], [])
        records, problems = read("a.parquet", has_lines=False, has_int_ids=True)
        assert (records, len(problems)) == ([], 1)


def test_parquet_columns_give_what_single_rows_give():
    texts = ["one", "\u660e", "", None, "caf\xe9", "x" * 5000]
    ids = ["a", "", None, "d", "\u660e" * 400, "f"]
    names = ["string", "large", "dictionary", "binary", "number"]
    columns = [pyarrow.array(texts), pyarrow.array(texts, pyarrow.large_string()),
               pyarrow.array(texts).dictionary_encode(),
               pyarrow.array([each and each.encode() for each in texts], pyarrow.binary()),
               pyarrow.array([1, 2, 3, 4, 5, 6])]  # fmt: skip
    table = pyarrow.table([*columns, pyarrow.array(ids)], names=[*names, "id"])
    parquet.write_table(table, "whole.parquet", row_group_size=4)
    parquet.write_table(table.slice(4), "part.parquet")

    for name in names:
        for source in ("whole.parquet", "part.parquet"):
            quick = read(source, text_field=name, has_lines=False, has_fields=False)
            slow = read(source, text_field=name, has_lines=True, has_fields=False)

            assert [replace(each, line=None) for each in slow[0]] == quick[0]
            assert slow[1] == quick[1]


def test_parquet_texts_that_are_not_utf8_are_problems():
    texts = pyarrow.array([b"one", b"caf\xe9", b"three"]).view(pyarrow.string())
    parquet.write_table(pyarrow.table({"text": texts}), "a.parquet")

    for has_fields in (False, True):
        records, problems = read("a.parquet", has_lines=False, has_fields=has_fields)

        assert ids_and_texts(records) == [("a.parquet:1", "one"), ("a.parquet:3", "three")]
        assert [problem.where for problem in problems] == ["a.parquet:2"]


def test_table_columns_give_what_single_rows_give():
    lines = ["id,n,text,n", "a,-,one,1", ',-,"two\nlines",2', "c,-,caf\xe9,3", "\u660e,-,four,x"]
    wrong = ["e,-,x", "\xe9" * 600 + ",-,x,4", '"f,-', "g,-,six,5"]
    write("a.csv", "\n".join(lines).encode())
    write("b.csv", "\n".join([*lines, *wrong]).encode())
    write("c.csv", "\n".join(lines).encode("latin-1", "replace"))

    for source in ("a.csv", "b.csv", "c.csv"):
        quick = read(source, has_lines=False, has_fields=False)
        slow = read(source, has_lines=True, has_fields=False)

        assert [replace(each, line=None) for each in slow[0]] == quick[0]
        assert slow[1] == quick[1]
    assert ids_and_texts(quick[0])[:2] == [("a", "one"), ("c.csv:3", "two\nlines")]


def test_an_invalid_parquet_file_and_a_missing_column_are_problems():
    parquet.write_table(pyarrow.table({"body": ["x"]}), "b.parquet")
    write("a.parquet", b"PAR1 no parquet at all")

    records, problems = read("a.parquet", "b.parquet")

    assert records == []
    assert [problem.where for problem in problems] == ["a.parquet", "b.parquet"]


def test_a_source_that_does_not_exist_is_wrong_use_and_a_dangling_link_a_problem():
    os.symlink("nowhere", "link.txt")

    check_sources(["link.txt", "-"], SourceOptions())
    with pytest.raises(simdb.InputError, match="no file or folder missing"):
        check_sources(["missing.txt"], SourceOptions())
    assert [problem.where for problem in read("link.txt")[1]] == ["link.txt"]


def test_invalid_unicode_in_names_is_escaped_in_ids():
    os.makedirs("f")
    write(b"f/caf\xe9.txt", b"one")
    write(b"f/\xff.txt", b"\xff")

    records, problems = read("f", has_paths=True)

    assert [record.id for record in records] == ["f/caf\\xe9.txt"]
    assert records[0].line == b"f/caf\xe9.txt"
    assert [problem.where for problem in problems] == ["f/\\xff.txt"]


def test_a_pipe_in_a_folder_is_a_problem_and_does_not_block():
    os.makedirs("f")
    os.mkfifo("f/pipe")

    assert [problem.where for problem in read("f")[1]] == ["f/pipe"]


@pytest.mark.skipif(IS_ROOT, reason="root may read everything")
def test_an_unreadable_file_is_a_problem():
    os.makedirs("f/closed")
    write("f/a", b"text")
    os.chmod("f/a", 0)
    os.chmod("f/closed", 0)

    assert [problem.where for problem in read("f")[1]] == ["f/a", "f/closed"]


@over("name", ["a.jsonl", "a.txt", "a", "a.parquet", "f", "g"])
def test_a_process_that_may_open_no_more_files_blames_no_source(name):
    """Most sources were skipped, and the output had the records of the others."""
    for folder in "fg":
        os.makedirs(folder, exist_ok=True)
    for path in ("a.jsonl", "a.txt", "a", "a.parquet", "f/a.txt", "g/a.jsonl"):
        write(path, b'{"id": "a", "text": "x"}\n')
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, usual[1]))

    try:
        with pytest.raises(simdb.FullError, match="ulimit -n"):
            read(name)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


def test_a_document_or_line_that_is_too_large_is_a_problem_and_the_rest_is_read(monkeypatch):
    for module in (content, json_records):
        monkeypatch.setattr(module, "DOCUMENT_BYTES_MAX", 100)
    write("a.txt", b"x" * 101)
    write("b.jsonl", b'{"text": "' + b"x" * 350 + b'"}\n{"id": "b", "text": "y"}\n')

    records, problems = read("a.txt", "b.jsonl")

    assert ids_and_texts(records) == [("b", "y")]
    assert [problem.where for problem in problems] == ["a.txt", "b.jsonl:1"]


LETTER = (
    "Die gr\u00f6\u00dfte Universit\u00e4t f\u00fchrt f\u00fcr Studierende"
    " \u00fcber hundert F\u00e4cher."
)


def test_with_guess_each_source_is_decoded_in_its_own_encoding():
    pytest.importorskip("charset_normalizer")
    write("a.txt", LETTER.encode("latin-1"))
    write("b.jsonl", json.dumps({"id": "b", "text": LETTER}, ensure_ascii=False).encode("latin-1"))
    write("c.csv", f'id,text\nc,"{LETTER}"\n'.encode())
    write("d.txt", LETTER.encode("utf-16-le"))
    write("e.txt", LETTER.encode("utf-16"))
    texts = [LETTER.encode(), LETTER.encode("latin-1")]
    parquet.write_table(pyarrow.table({"id": ["f", "g"], "text": texts}), "f.parquet")

    records, problems = read(
        "a.txt", "b.jsonl", "c.csv", "d.txt", "e.txt", "f.parquet", encoding=known_encoding("guess")
    )

    assert [record.text for record in records] == [LETTER] * 7
    assert problems == []


def test_with_guess_damaged_utf8_is_still_a_problem_and_binary_content_too():
    pytest.importorskip("charset_normalizer")
    write("a.txt", LETTER.encode() + b"\xff" + LETTER.encode())
    write("b.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    encoding = known_encoding("guess")

    _, problems = read("a.txt", "b.png", encoding=encoding)
    replaced, _ = read("a.txt", encoding=encoding, errors="replace")

    assert "valid elsewhere" in problems[0].reason
    assert "binary content" in problems[1].reason
    assert replaced[0].text == f"{LETTER}\ufffd{LETTER}"


def test_what_needs_a_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write("a.parquet", b"")

    with pytest.raises(simdb.OptionError, match="pip install charset-normalizer"):
        known_encoding("guess")
    with pytest.raises(simdb.OptionError, match="pip install pyarrow"):
        check_sources(["a.parquet"], SourceOptions())
    for name in ("base64", "rot13", "nonsense", "a\0b"):
        with pytest.raises(simdb.OptionError, match="no text encoding"):
            known_encoding(name)


@pytest.mark.parametrize("size", [1, 3, 64])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_files_of_a_folder_come_in_their_order_however_many_are_read_at_once(
    tmp_path, monkeypatch, size, threads
):
    monkeypatch.setattr("simdb.files.sources.FOLDER_FILES", size)
    monkeypatch.setenv("SIMDB_THREADS", threads)
    for at in range(10):
        (tmp_path / f"{at}.txt").write_bytes(b"\xff" if at == 4 else b"text %d" % at)

    records, problems = read(str(tmp_path))

    assert [record.text for record in records] == [f"text {at}" for at in range(10) if at != 4]
    assert [problem.where for problem in problems] == [str(tmp_path / "4.txt")]


def test_an_arrow_file_whose_texts_lie_outside_of_its_memory_is_a_problem():
    """Reading the rows one by one ended the process."""
    offsets, content = np.array([0, 3, 1 << 30, 6], np.int32), b"abcdef"
    buffers = [pyarrow.py_buffer(each) for each in (offsets, content)]
    texts = pyarrow.StringArray.from_buffers(3, *buffers)
    batch = pyarrow.record_batch({"id": ["a", "b", "c"], "text": texts})
    with pyarrow.OSFile("bad.arrow", "wb") as file, pyarrow.ipc.new_file(file, batch.schema) as out:
        out.write(batch)

    records, problems = read("bad.arrow")
    assert records == []
    assert ["not a valid Arrow file" in problem.reason for problem in problems] == [True]
