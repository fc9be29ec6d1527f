"""Folders: those of records stand for their files, and hidden entries are left out of all."""

import json
import os
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
from batches import records_of
from over import over

import simdb
from simdb.files.records import Batch, SourceOptions
from simdb.files.sources import check_sources, expanded, left_out_note, read_sources

LINES = b'{"id": "a", "text": "one"}\n'
TABLE = pyarrow.table({"id": ["a"], "text": ["one"]})


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    left_out_note()


def write(*names, content=LINES):
    for name in names:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        Path(name).write_bytes(content)


def ids(*sources):
    found = read_sources(sources, SourceOptions())
    return [each.id for batch in found if isinstance(batch, Batch) for each in records_of(batch)]


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
    write("f/part-0.json", "f/part-1.json", content=LINES)
    write("g/part-0.json", content=LINES)

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
