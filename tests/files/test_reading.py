"""Sources by patterns, endings and folders: which files they stand for, and which are refused."""

import bz2
import gzip
import json
import lzma
import os
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
from batches import records_of
from over import over

import simdb
from simdb.core.arrow import rows_with_bytes
from simdb.core.errors import InputError
from simdb.files.records import Batch, InputProblem, SourceOptions
from simdb.files.sources import check_sources, expanded, left_out_note, read_sources

LINES = b'{"id": "a", "text": "one"}\n{"id": "b", "text": "two"}\n'


@pytest.fixture(autouse=True)
def _in_folder_without_notes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left_out_note()


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


def test_damaged_zstd_is_a_problem_after_the_records_before_it():
    lines = b"".join(b'{"id": "%d", "text": "%s"}\n' % (at, os.urandom(40).hex().encode())
                     for at in range(9000))  # fmt: skip
    Path("a.jsonl.zst").write_bytes(zst(lines)[:-4])

    ids, (problem,) = read("a.jsonl.zst")

    assert ids == [str(at) for at in range(len(ids))]
    assert len(ids) > 1000
    assert "damaged zstd data" in problem


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
    assert ".jsonl, .ndjson, .jl, .jsonlines, .json, .csv, .tsv, .warc" in str(caught.value)
    assert ".gz, .zst, .bz2 or .xz" in str(caught.value)


@over("name", ["a.txt", "README", "a.c", "a.b.c", "x.2024", "notes.md"])
def test_other_files_are_documents(name):
    Path(name).write_bytes(b"some words\nof text\n")

    check_sources([name], SourceOptions())

    assert read(name) == ([name], [])


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


ONE_LINE = b'{"id": "a", "text": "one"}\n'
TABLE = pyarrow.table({"id": ["a"], "text": ["one"]})


def write(*names, content=ONE_LINE):
    for name in names:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        Path(name).write_bytes(content)


def ids(*sources):
    return read(*sources)[0]


def test_a_folder_of_records_is_read_as_its_files_in_the_order_of_their_paths():
    write("f/b.jsonl", "f/a/c.ndjson", "f/d.jl", "f/e.jsonl.gz/x.jsonl")

    assert expanded(["f"]) == ["f/a/c.ndjson", "f/b.jsonl", "f/d.jl", "f/e.jsonl.gz/x.jsonl"]
    assert ids("f") == ["a"] * 4


def test_what_spark_leaves_beside_data_is_left_out_and_counted():
    hidden = [".part-0.parquet.crc", "._SUCCESS.crc", "_SUCCESS", "_committed_1", "_started_1"]
    write(*(f"f/{name}" for name in [*hidden, "_metadata", "_delta_log/0.json"]), content=b"\0")
    os.makedirs("f/day=2024-01-01")
    pyarrow.parquet.write_table(TABLE, "f/day=2024-01-01/data.parquet")

    assert ids("f") == ["a"]
    assert left_out_note() == "f: 7 hidden files or folders left out, such as ._SUCCESS.crc"
    assert left_out_note() is None


def test_lines_that_spark_calls_json_are_records():
    write("f/_SUCCESS", content=b"")
    write("f/part-0.json", "f/part-1.json", content=ONE_LINE)
    write("g/part-0.json", content=ONE_LINE)

    assert ids("f") == ["a", "a"]
    assert ids("g") == ["g/part-0.json"]


def test_what_datasets_saves_is_read_as_records():
    for part in ("f/train", "f/test"):
        write(f"{part}/dataset_info.json", f"{part}/state.json", content=b"{}")
        write(f"{part}/cache-0123.arrow", content=b"of another process")
        with pyarrow.ipc.new_stream(f"{part}/data-00000-of-00001.arrow", TABLE.schema) as writer:
            writer.write_table(TABLE)
    write("f/dataset_dict.json", content=b"{}")

    assert ids("f") == ["a", "a"]


@over("name", ["f/b.txt", "f/c/README", "f/b.json", "f/state.json.txt"])
def test_a_folder_in_which_not_all_files_hold_records_is_one_of_documents(name):
    folder = str(len(os.listdir()))
    other = name.replace("f/", f"{folder}/", 1)
    write(f"{folder}/a.jsonl", other)

    assert ids(folder) == sorted([f"{folder}/a.jsonl", other])


def test_hidden_entries_are_left_out_of_folders_of_documents():
    write(
        "f/a.txt", "f/.git/config", "f/.DS_Store", "f/b/.hidden", "f/b/_notes.txt", "f/__init__.py"
    )

    assert ids("f") == ["f/__init__.py", "f/a.txt", "f/b/_notes.txt"]
    assert left_out_note() == "f: 3 hidden files or folders left out, such as .DS_Store"


def test_a_hidden_entry_that_is_named_is_read():
    write(".hidden/a.txt", ".b.txt")

    assert ids(".hidden", ".b.txt") == [".hidden/a.txt", ".b.txt"]


def test_a_database_is_no_source_and_is_left_out_of_folders():
    write("f/a.txt")
    with simdb.open("f/seen.simdb") as database:
        database.insert("x", "a text")

    assert ids("f") == ["f/a.txt"]
    with pytest.raises(simdb.InputError, match=r"f/seen\.simdb is a database of simdb"):
        check_sources(["f/seen.simdb"], SourceOptions())


def test_links_to_files_of_records_are_read_as_these_files():
    """The cache of a hub has a link for each file of a data set, to a file without an ending."""
    write("blobs/0123")
    os.makedirs("f/data")
    os.symlink("../../blobs/0123", "f/data/train.jsonl")
    os.symlink("nowhere", "f/data/test.jsonl")
    os.symlink("data", "f/latest")

    assert expanded(["f"]) == ["f/data/train.jsonl"]
    assert ids("f") == ["a"]


def test_a_folder_of_records_is_a_source_in_python():
    rows = [{"id": str(at), "text": f"text {at // 2} " * 9} for at in range(6)]
    os.makedirs("f/.git")
    for at in range(3):
        content = b"".join(json.dumps(row).encode() + b"\n" for row in rows[2 * at : 2 * at + 2])
        Path(f"f/{at}.jsonl").write_bytes(content)

    with pytest.warns(RuntimeWarning, match=r"f: 1 hidden file left out, such as \.git"):
        found = simdb.deduplicate(Path("f"))

    assert found.data.column("id").to_pylist() == ["0", "2", "4"]


def test_beside_a_string_that_is_no_utf8_other_columns_are_as_they_were():
    # Numbers were to be decoded, too, which ended reading a damaged Parquet file.
    texts = pyarrow.array([b"caf\xe9", b"good", None], pyarrow.binary()).view(pyarrow.string())
    raw = pyarrow.array([b"\xff", b"ab", None], pyarrow.binary())
    rows = pyarrow.record_batch({"text": texts, "n": [1, 2, None], "raw": raw})

    assert rows_with_bytes(rows) == [
        {"text": b"caf\xe9", "n": 1, "raw": b"\xff"},
        {"text": "good", "n": 2, "raw": b"ab"},
        {"text": None, "n": None, "raw": None},
    ]
