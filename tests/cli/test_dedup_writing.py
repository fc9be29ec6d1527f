"""-o: what is kept of sources of all kinds together, and what an end in the middle leaves."""

import errno
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pyarrow.parquet
import pytest
from forked import run
from led_files import read, write

import simdb
from simdb.files import pieces, read_again, survivors, table_file

NAMES = ["a.jsonl", "b.jsonl.gz", "c.csv", "d.parquet", "e.txt", "f.jsonl", "g.parquet"]


def text(number):
    return " ".join(f"word{number}of{at}" for at in range(20))


def record(name, at, number):
    return {"id": f"{name}{at}", "text": text(number), "at": str(at)}


def kept_of(sources, *, first):
    """Return the records with another text than all before them, or than all after them."""
    every = [each for source in sources.values() for each in source]
    found = {each["text"]: each for each in (reversed(every) if first else every)}
    return [each for each in every if found[each["text"]] is each]


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Files of all kinds with ten documents each, of which each text is in three of them."""
    monkeypatch.chdir(tmp_path)
    found = {}
    for first, name in enumerate(NAMES):
        numbers = range(4 * first, 4 * first + 10)
        found[name] = [record(name, at, number) for at, number in enumerate(numbers)]
        if name.endswith(".txt"):
            found[name] = [{"id": name, "text": text(first)}]
            Path(name).write_text(text(first))
        else:
            write(name, found[name], end="")
    return found


@pytest.mark.parametrize(
    ("name", "options"),
    [("k.csv", []), ("k.parquet", ["--db", "d", "--keep", "last"]), ("-", ["--keep", "last"])],
)
def test_what_is_kept_of_all_kinds_of_sources_is_in_their_order(
    simdb_run, sources, monkeypatch, options, name
):
    for module, size in ((read_again, "READ_DOCUMENTS"), (pieces, "BLOCK_BYTES")):
        monkeypatch.setattr(module, size, 7)

    ran = simdb_run("dedup", *NAMES, "-o", name, *options)

    assert ran.code == 0, ran.notes
    wanted = kept_of(sources, first="last" not in options)
    found = ran.rows if name == "-" else read(name)
    assert [(each["id"], each["text"], each.get("at") or None) for each in found] == [
        (each["id"], each["text"], each.get("at")) for each in wanted
    ]


def test_shards_of_all_kinds_have_their_own_documents(simdb_run, sources):
    names = [name for name in NAMES if name != "e.txt"]
    own = {name: sources[name] for name in names}

    ran = simdb_run("dedup", *reversed(names), names[-1], "-o", "out/", "--db", "d")

    assert ran.code == 0, ran.notes
    kept = kept_of(dict(reversed(own.items())), first=True)
    for name in names:
        wanted = [each for each in kept if each["id"].startswith(name)]
        assert read(f"out/{name}") == wanted


@pytest.mark.parametrize("name", ["k.jsonl.gz", "k.parquet", "out/"])
def test_an_interruption_while_writing_leaves_no_file(simdb_run, sources, monkeypatch, name):
    monkeypatch.setattr(pieces, "BLOCK_BYTES", 100)
    monkeypatch.setattr(pieces, "COPIED_BYTES", 100)
    whole, write, calls = survivors.contents, os.pwrite, count()

    def interrupted(lines):
        for at, block in enumerate(whole(lines)):
            if at == 3:
                raise KeyboardInterrupt
            yield block

    def interrupted_write(descriptor, block, place):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return write(descriptor, block, place)

    monkeypatch.setattr(survivors, "contents", interrupted)
    monkeypatch.setattr(table_file, "contents", interrupted)
    monkeypatch.setattr(pieces.os, "pwrite", interrupted_write)

    ran = simdb_run("dedup", "a.jsonl", "f.jsonl", "-o", name, "--db", "d")

    assert ran.code == 130
    assert sorted(set(os.listdir()) - {"d"}) == NAMES


def test_a_pipe_that_is_closed_early_ends_the_command(tmp_path):
    lines = [json.dumps(record("a", at, at)) for at in range(3000)]
    (tmp_path / "long.jsonl").write_text("\n".join(lines))
    command = ["dedup", "long.jsonl", "-o", "-", "--verify", "estimate"]

    with subprocess.Popen(
        [sys.executable, "-m", "simdb", *command], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        head = process.stdout.readline()
        process.stdout.close()
        notes = process.stderr.read().decode()

    assert json.loads(head) == json.loads(lines[0])
    assert process.returncode == 141, notes
    assert "Error" not in notes


@pytest.mark.parametrize(
    "command",
    [
        ["dedup", "a.jsonl", "-o", "a.jsonl"], ["dedup", "a.jsonl", "-o", "link.jsonl"],
        ["dedup", "a.jsonl", "--db", "d", "-o", "./a.jsonl"],
        ["dedup", "a.jsonl", "--unit", "line", "-o", "a.jsonl"],
        ["lookup", "stored", "a.jsonl", "--new", "a.jsonl"],
        ["decontaminate", "a.jsonl", "--against", "test.jsonl", "-o", "a.jsonl"],
    ],
)  # fmt: skip
def test_a_source_that_is_replaced_is_kept_if_some_of_it_was_skipped(command, simdb_run):
    """A run that wrote over its own input lost the lines that it could not read."""
    kept = json.dumps(record("a", 1, 1)) + "\n"
    Path("a.jsonl").write_text(f"{kept}no JSON\n{kept.replace('a1', 'a2')}")
    Path("test.jsonl").write_text(json.dumps(record("t", 9, 9)))
    os.symlink("a.jsonl", "link.jsonl")
    simdb.open("stored").close()
    before = Path("a.jsonl").read_bytes()

    ran = simdb_run(*command, "--in-place")

    assert ran.code == 1
    output = command[-1]
    kept_as = os.path.realpath(output) if os.path.islink(output) else output
    note = f"{output} was read, and some of it was skipped; what it held before is in {kept_as}"
    assert f"{note}.before" in ran.notes
    assert Path("a.jsonl.before").read_bytes() == before
    assert Path("a.jsonl").read_bytes().startswith(kept.encode())
    assert b"no JSON" not in Path("a.jsonl").read_bytes()


@pytest.mark.parametrize("target", ["kept/b.jsonl", None])
@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "which has no room (No space left on device); free some"),
        (errno.EACCES, "(Permission denied); name another folder"),
    ],
)
def test_what_keeps_compressed_lines_from_waiting_is_no_fault_of_the_source(
    target, number, told, simdb_run, monkeypatch
):
    """If the folder was removed meanwhile, the source was said not to exist, and any error of a
    disk was a lack of room."""

    def refused(*arguments, **options):
        raise OSError(number, os.strerror(number))

    if target is None and number == errno.EACCES:
        made = SimpleNamespace(TemporaryFile=refused, tempdir=tempfile.gettempdir())
        monkeypatch.setattr("simdb.files.origins.tempfile", made)
    else:
        monkeypatch.setattr("simdb.files.pieces.write_at", refused)
    Path("kept").mkdir()
    Path("a.jsonl.gz").write_bytes(gzip.compress(json.dumps(record("a", 1, 1)).encode()))

    ran = simdb_run("dedup", "a.jsonl.gz", *([] if target is None else ["-o", target]))

    assert ran.code == 3
    folder = os.path.abspath("kept") if target else tempfile.gettempdir()
    assert f"wait in {folder}" in ran.notes
    assert told in ran.notes
    assert os.listdir("kept") == []


def refuse(name):
    raise ValueError(name)


def test_lines_that_are_made_are_valid_json_and_parquet_keeps_every_number(simdb_run):
    """Readers such as pyarrow and browsers refuse the words NaN and Infinity.

    An array of JSON on its way to Parquet, or to `.data`, lost them.
    """
    values = [math.nan, math.inf, 1.5]
    rows = [{**record("a", at, at), "v": value} for at, value in enumerate(values)]
    write("a.parquet", rows)
    Path("array.json").write_text(json.dumps(rows, indent=1))

    simdb.deduplicate(rows).write("memory.jsonl")
    simdb_run("dedup", "a.parquet", "-o", "file.jsonl")
    simdb_run("dedup", "a.parquet", "a.parquet", "--unit", "line", "-o", "parts.parquet")
    simdb_run("dedup", "array.json", "-o", "array.parquet")
    simdb_run("dedup", "array.json", "-o", "array.jsonl")

    for name in ("memory.jsonl", "file.jsonl", "array.jsonl"):
        lines = Path(name).read_text().splitlines()
        found = [json.loads(line, parse_constant=refuse)["v"] for line in lines]
        assert found == [None, None, 1.5]
    for name in ("parts.parquet", "array.parquet"):
        kept = pyarrow.parquet.read_table(name).column("v").to_pylist()
        assert str(kept) == str(values)
    assert str(simdb.deduplicate(Path("array.json")).data.column("v").to_pylist()) == str(values)


LIMITED = """
import resource
from simdb.cli.app import main
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
main()
"""


def test_a_run_needs_few_open_files(tmp_path, monkeypatch):
    """Each source had an open file until the limit of the process, and most were skipped."""
    lines = [json.dumps(record("a", at, at)) + "\n" for at in range(100)]
    for at, line in enumerate(lines):
        (tmp_path / f"{at:03}.jsonl").write_text(line)
    (tmp_path / "kept").mkdir()
    monkeypatch.chdir(tmp_path)

    code, _, notes = run(LIMITED, "dedup", "*.jsonl", "--db", "d", "-o", "kept/all.jsonl")

    assert code == 0, notes
    assert (tmp_path / "kept/all.jsonl").read_text() == "".join(lines)
