"""Remote sources and outputs, in the memory of fsspec."""

import gzip
import json
import sys

import pytest
from over import over

from simdb.files import content
from simdb.files.records import Batch, SourceOptions
from simdb.files.sources import check_sources, read_sources

fsspec = pytest.importorskip("fsspec")
FOX = " ".join(f"w{number}" for number in range(40))
SEA = " ".join(f"v{number}" for number in range(40))
LINES = b"".join(
    b'{"id": "%d", "text": "%s"}\n' % (at, text.encode()) for at, text in enumerate((FOX, SEA, FOX))
)


@pytest.fixture
def remote():
    """The files of the memory of fsspec, by their names."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]

    class Files:
        def __setitem__(self, name, written):
            system.pipe_file(f"/{name}", written)

        def __getitem__(self, name):
            return system.cat_file(f"/{name}")

        def __iter__(self):
            return (name.lstrip("/") for name in system.store)

    return Files()


def read(*names):
    found = read_sources(names, SourceOptions())
    return [id for each in found if isinstance(each, Batch) for id in each.ids]


def test_every_format_is_read(remote, simdb_run):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"id": ["p"], "text": ["x"]}), "p.parquet")
    with open("p.parquet", "rb") as file:
        remote["in/p.parquet"] = file.read()
    remote["in/a.jsonl"] = LINES
    remote["in/b.jsonl.gz"] = gzip.compress(b'{"id": "gz", "text": "y"}')
    remote["in/c.csv"] = b"id,text\nc,x\n"
    remote["in/d.txt"] = b"a text"
    names = [f"memory://in/{name}" for name in
             ("a.jsonl", "b.jsonl.gz", "c.csv", "p.parquet", "d.txt")]  # fmt: skip

    check_sources(names, "text")

    assert read(*names) == ["0", "1", "2", "gz", "c", "p", "memory://in/d.txt"]


def test_a_pattern_stands_for_the_remote_files_that_match(remote):
    for number in (2, 10, 1):
        remote[f"in/part-{number}.jsonl"] = b'{"id": "%d", "text": "x"}' % number
    remote["in/deep/part-3.jsonl"] = b'{"id": "3", "text": "x"}'

    assert read("memory://in/part-*.jsonl") == ["1", "10", "2"]
    assert read("memory://in/**/part-[3-9].jsonl") == ["3"]


def test_survivors_are_written_to_remote_files(remote, simdb_run):
    remote["in/a.jsonl"] = LINES

    ran = simdb_run("dedup", "memory://in/*.jsonl", "-o", "memory://out/k.jsonl.gz",
                    "--groups", "memory://out/g.csv", "--db", "d")  # fmt: skip

    assert ran.code == 0, ran.notes
    assert gzip.decompress(remote["out/k.jsonl.gz"]) == b"".join(LINES.splitlines(True)[:2])
    assert remote["out/g.csv"].startswith(b"id,match,distance,similarity\n2,0,0,1.0")
    assert sorted(remote) == ["in/a.jsonl", "out/g.csv", "out/k.jsonl.gz"]
    again = simdb_run("dedup", "memory://in/a.jsonl", "-o", "again.jsonl", "--db", "d")
    assert "2 kept again" in again.notes


def test_remote_parquet_keeps_its_schema(remote, simdb_run):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"text": [FOX, SEA, FOX], "n": pyarrow.array([1, 2, 3], "int8")})
    parquet.write_table(table, "a.parquet")
    with open("a.parquet", "rb") as file:
        remote["a.parquet"] = file.read()

    simdb_run("dedup", "memory://a.parquet", "-o", "memory://k.parquet")

    assert parquet.read_table(fsspec.open("memory://k.parquet").open()).equals(table[:2])


def test_an_empty_output_does_not_destroy_a_remote_one(remote, simdb_run):
    remote["in/a.jsonl"] = LINES
    remote["in/none.jsonl"] = b""
    simdb_run("dedup", "memory://in/a.jsonl", "-o", "memory://k.jsonl")
    before = remote["k.jsonl"]

    ran = simdb_run("dedup", "memory://in/none.jsonl", "-o", "memory://k.jsonl")

    assert "what it held before is in memory://k.jsonl.before" in ran.notes
    assert remote["k.jsonl.before"] == before
    assert remote["k.jsonl"] == b""
    remote["k.jsonl"] = b"another result"
    ran = simdb_run("dedup", "memory://in/none.jsonl", "-o", "memory://k.jsonl")
    assert "what it held before is in memory://k.jsonl.before.2" in ran.notes
    assert remote["k.jsonl.before"] == before
    assert remote["k.jsonl.before.2"] == b"another result"


def test_a_remote_source_that_is_replaced_is_kept_if_some_of_it_was_skipped(remote, simdb_run):
    remote["a.jsonl"] = LINES + b"no JSON"

    ran = simdb_run("dedup", "memory://a.jsonl", "-o", "memory://a.jsonl", "--in-place")

    assert "what it held before is in memory://a.jsonl.before" in ran.notes
    assert remote["a.jsonl.before"] == LINES + b"no JSON"
    assert remote["a.jsonl"].count(b"\n") == 2


@over(
    ("arguments", "message"),
    [
        (["memory://in/no.jsonl"], "there is no file memory://in/no.jsonl"),
        (["memory://in/no-*.jsonl"], "there is no file memory://in/no-*.jsonl"),
        (["memory://in"], "memory://in is a remote folder; name its files, or memory://in/*"),
        (["nowhere://in/a.jsonl"], "nowhere://in/a.jsonl cannot be reached: Protocol not known"),
        (["memory://in/a.jsonl.br"], "ends in .br, which is not read"),
        (["memory://in/a.jsonl", "-o", "memory://o/"], "a remote folder cannot be written"),
        (["memory://in/a.jsonl", "-o", "memory://o"], "the output must end in"),
        (["memory://in/a.txt", "-o", "o/"], "is remote, and cannot be copied"),
    ],
)
def test_what_cannot_be_read_or_written_is_wrong_use(remote, simdb_run, arguments, message):
    for name in ("a.jsonl", "a.jsonl.br"):
        remote[f"in/{name}"] = LINES
    remote["in/a.txt"] = b"words"

    ran = simdb_run("dedup", *arguments)

    assert ran.code == 2
    assert message in ran.notes


def test_a_file_that_cannot_be_read_to_its_end_is_a_problem(remote, simdb_run, monkeypatch):
    remote["in/a.jsonl"] = LINES
    given = content.open_remote

    def cut(path):
        file = given(path)
        read = file._file.read

        def failing(size):
            if file._file.tell():
                raise RuntimeError("the connection was reset")
            return read(200)

        monkeypatch.setattr(file._file, "read", failing, raising=False)
        return file

    monkeypatch.setattr(content, "open_remote", cut)

    ran = simdb_run("dedup", "memory://in/a.jsonl", "-o", "k.jsonl")

    assert ran.code == 1
    told = "memory://in/a.jsonl: cannot be read (RuntimeError: the connection was reset)"
    assert told in ran.notes


def test_without_the_package_the_remedy_is_named(monkeypatch, simdb_run):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)

    ran = simdb_run("dedup", "memory://a.jsonl")

    assert ran.code == 2
    assert "needs the package fsspec: pip install fsspec" in ran.notes


def test_a_local_file_with_a_remote_name_is_read(remote, simdb_run, tmp_path):
    (tmp_path / "memory:").mkdir()
    (tmp_path / "memory:" / "a.jsonl").write_bytes(json.dumps({"id": 1, "text": "x"}).encode())

    assert "1 document," in simdb_run("dedup", "memory://a.jsonl").notes
