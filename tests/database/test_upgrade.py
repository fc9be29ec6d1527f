"""An upgrade makes a database anew of what another process dumps, and keeps the old one."""

import json
import os
import random
import shutil
import struct
from collections import namedtuple
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import stored
from forked import Child, run_until_killed
from soundness import TINY, assert_sound, everything

import simdb
from cases import KILLED, outcome_of
from injecting import CAN_INJECT, NEVER, Injector
from simdb.database.maintenance import dump
from simdb.storage.pages import META, META_PAGES

FORMATS = Path(__file__).parents[1] / "format"
VERSIONS = sorted(path.name for path in FORMATS.glob("v*") if path.is_dir())
PAGE = os.sysconf("SC_PAGE_SIZE")
SECONDS = 120
READER = """
import simdb, sys
with simdb.open(sys.argv[1], "r"):
    print("open", flush=True)
    sys.stdin.read()
"""
NAMED = """
import os, signal, sys, simdb
from simdb.storage import files
count = 0
def counted(call):
    def run(*names, **places):
        global count
        count += sys._getframe(1).f_code.co_name in ("make", "_upgraded", "_has_moved")
        if count == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*names, **places)
    return run
os.rename, os.link, os.unlink = map(counted, (os.rename, os.link, os.unlink))
simdb.upgrade(sys.argv[1])
"""
WRITER = """
import simdb, sys
with simdb.open(sys.argv[1], "w") as database:
    print("open", flush=True)
    sys.stdin.read()
    database.insert(sys.argv[2], 77)
"""
STOPPED = """
import os, signal, sys, simdb
from simdb.storage import open_files
put = open_files.OpenFiles.put_in_place
def put_or_die(self, path):
    if path.endswith("data.mdb.new"):
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, path)
open_files.OpenFiles.put_in_place = put_or_die
simdb.upgrade(sys.argv[1])
"""
DONE = """
import os, signal, sys, simdb
from simdb.storage import open_files
put = open_files.OpenFiles.put_in_place
def put_and_die(self, path):
    put(self, path)
    if path.endswith("data.mdb.new"):
        os.kill(os.getpid(), signal.SIGKILL)
open_files.OpenFiles.put_in_place = put_and_die
simdb.upgrade(sys.argv[1])
"""


@pytest.fixture
def path(tmp_path):
    """A database with runs, a delta, deleted documents, metadata and a note."""
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(30), np.arange(30, dtype=np.uint64) << np.uint64(9), ["m"] * 30)
        database.delete_many([3, 4])
        with database.write() as transaction:
            transaction.set_note("a", [1, 2])
    return tmp_path / "db"


def contents(path):
    with simdb.open(path, "r") as database:
        return everything(database), database.note("a")


def names_in(folder):
    return sorted(os.listdir(folder))


def of_another_lmdb(path, head):
    """Give a data file the meta pages of LMDB 1.0: format 2, behind a longer head of the page."""
    content = bytearray((path / "data.mdb").read_bytes())
    for page in range(META_PAGES):
        meta = content[page * PAGE + 16 : page * PAGE + 16 + META.size]
        struct.pack_into("<I", meta, 4, 2)
        content[page * PAGE + 16 : page * PAGE + head + META.size] = bytes(head - 16) + meta
    (path / "data.mdb").write_bytes(content)


def script(place, content):
    place.write_text(f"#!/bin/sh\n{content}\n")
    place.chmod(0o700)
    return str(place)


@pytest.mark.few(3)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_database_of_every_kind_answers_as_before_and_the_old_one_stays(version, tmp_path):
    path = tmp_path / "db"
    path.mkdir()
    for name in ("data.mdb", "idf.table"):
        if (FORMATS / version / name).exists():
            shutil.copyfile(FORMATS / version / name, path / name)
    answers = json.loads((FORMATS / version / "answers.json").read_text())
    before = (path / "data.mdb").read_bytes()

    old = simdb.upgrade(path)

    assert old == f"{path}.old"
    assert Path(old, "data.mdb").read_bytes() == before
    for each in (path, old):
        with simdb.open(each, "r") as database:
            assert json.loads(json.dumps(stored.answers(database))) == answers
        assert_sound(each)
    assert names_in(tmp_path) == ["db", "db.old"]


def test_both_can_be_written_afterwards_and_the_next_upgrade_waits_until_the_old_is_gone(path):
    simdb.upgrade(path)
    shown = []
    for each in (path, f"{path}.old"):
        with simdb.open(each, "w") as database:
            database.insert("new", 5)
        assert_sound(each)
    with pytest.raises(
        simdb.ExistsError, match=r"db is upgraded already; remove .*db\.old, the old"
    ):
        simdb.upgrade(path)
    shutil.rmtree(f"{path}.old")

    simdb.upgrade(path, progress=shown.append)

    assert shown[-1] == 29


@pytest.mark.parametrize("head", [16, 24])
def test_a_file_of_another_lmdb_is_moved_by_a_python_that_reads_it(path, head, tmp_path):
    before = contents(path)
    with simdb.open(path, "r") as database:
        database.dump(tmp_path / "dump")
    of_another_lmdb(path, head)
    kept = (path / "data.mdb").read_bytes()

    with pytest.raises(simdb.FormatError, match=r"format 2 of LMDB.*simdb\.upgrade\(path, python="):
        simdb.open(path)
    with pytest.raises(simdb.FormatError, match=r"not upgraded: .*format 2 of LMDB.*--python"):
        simdb.upgrade(path)
    simdb.upgrade(path, python=script(tmp_path / "python", f"exec cat {tmp_path}/dump"))

    assert contents(path) == before
    assert Path(f"{path}.old", "data.mdb").read_bytes() == kept
    assert_sound(path)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("echo simdb: it is broken >&2; exit 3", simdb.FormatError, "not upgraded: .*it is broken"),
        ("head -c 900 DUMP; echo no more >&2; exit 3", simdb.FormatError, "upgraded: no more"),
        ("head -c 900 DUMP", simdb.FormatError, "not upgraded: .*cut off"),
        ("head -c 900 DUMP; cat DUMP DUMP", simdb.Error, "dump"),
        ("exit 3", simdb.Error, "dump"),
        ("cat DUMP | tr m n; echo dumped >&2", simdb.FormatError, "not upgraded: the dump"),
    ],
)
def test_a_dump_that_fails_leaves_everything_as_it_was(content, error, message, path, tmp_path):
    before = contents(path)
    with simdb.open(path, "r") as database:
        database.dump(tmp_path / "dump")
    python = script(tmp_path / "python", content.replace("DUMP", f"{tmp_path}/dump"))

    with pytest.raises(error, match=message):
        simdb.upgrade(path, python=python)
    for nothing in ("/no/python", str(tmp_path), str(path / "data.mdb")):
        with pytest.raises(simdb.OptionError, match=f"no program at {nothing} can be run; name a"):
            simdb.upgrade(path, python=nothing)

    assert contents(path) == before
    assert names_in(tmp_path) == ["db", "dump", "python"]


def test_what_is_damaged_after_loading_does_not_take_the_place(path, tmp_path, monkeypatch):
    before = contents(path)
    finding = simdb.Finding("table/00", "is not sorted", "rebuild")
    monkeypatch.setattr(dump, "check", lambda store, deep: iter([finding]))

    with pytest.raises(simdb.CorruptError, match=r"damaged, try again: .*is not sorted"):
        simdb.upgrade(path)

    assert contents(path) == before
    assert names_in(tmp_path) == ["db"]


def test_without_room_on_the_disk_nothing_begins(path, tmp_path, monkeypatch):
    usage = namedtuple("Usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1000))

    with pytest.raises(simdb.FullError, match=r"needs \d+ free bytes"):
        simdb.upgrade(path)

    assert names_in(tmp_path) == ["db"]


def test_who_has_the_database_open_is_not_disturbed(path, tmp_path):
    reader = Child(READER, path)
    assert reader.stdout.readline() == "open\n"

    with pytest.raises(simdb.BusyError, match="close the database everywhere"):
        simdb.upgrade(path)

    reader.rest()
    assert names_in(tmp_path) == ["db"]
    simdb.upgrade(path)


@pytest.mark.parametrize("missing", ["none", "file", "sharded"])
def test_what_is_no_database_is_refused(missing, tmp_path):
    path = tmp_path / missing
    if missing == "file":
        path.write_text("text")
    if missing == "sharded":
        path.mkdir()
        (path / "shards.json").write_text("{}")

    with pytest.raises((simdb.NotFoundError, simdb.FormatError), match=missing):
        simdb.upgrade(path)


def test_where_nothing_is_no_database_is_to_be_created(tmp_path):
    with pytest.raises(simdb.NotFoundError) as caught:
        simdb.upgrade(tmp_path / "none")

    assert str(caught.value) == f"there is no database at {tmp_path}/none to upgrade"
    assert caught.value.at_command == str(caught.value)
    assert names_in(tmp_path) == []


def test_killed_after_the_last_step_it_says_that_the_upgrade_is_complete(path, tmp_path):
    before = contents(path)
    run_until_killed(DONE, path)

    with pytest.raises(simdb.ExistsError, match=r"is upgraded already; remove .*if not needed"):
        simdb.upgrade(path)

    assert contents(path) == contents(f"{path}.old") == before
    assert names_in(tmp_path) == ["db", "db.old"]


def test_killed_before_the_last_step_only_readers_come_in_until_it_is_done(path, tmp_path):
    before = contents(path)
    run_until_killed(STOPPED, path)
    assert contents(path) == before
    with pytest.raises(simdb.FormatError, match="hard links"):
        simdb.open(path, "w")

    simdb.upgrade(path)

    assert names_in(f"{path}.old") == ["data.mdb"]
    assert contents(path) == contents(f"{path}.old") == before
    assert_sound(path)


@pytest.mark.parametrize("number", range(1, 7))
def test_killed_before_a_file_gets_its_name_it_works_again(path, number, tmp_path):
    before = contents(path)
    run_until_killed(NAMED, path, number)
    assert contents(path) == before

    simdb.upgrade(path)

    assert contents(path) == contents(f"{path}.old") == before
    assert names_in(tmp_path) == ["db", "db.old"]


def test_what_another_process_writes_after_a_kill_is_not_lost(path, tmp_path):
    writer = Child(WRITER, path, "late")
    assert writer.stdout.readline() == "open\n"
    child = Child(STOPPED, path)
    assert child.rest()[1].endswith("close the database everywhere, then try again\n")
    assert names_in(tmp_path) == ["db"]
    writer.rest()
    run_until_killed(STOPPED, path)
    os.unlink(f"{path}.old/data.mdb")  # and then it can be opened to write
    assert Child(WRITER, path, "later").rest() == ("open\n", "")

    simdb.upgrade(path)

    with simdb.open(path, "r") as database:
        assert {"late", "later"} <= set(database)


def test_a_database_that_was_given_a_copy_of_its_own_instead_is_not_replaced(path, tmp_path):
    run_until_killed(STOPPED, path)
    shutil.copyfile(path / "data.mdb", tmp_path / "data")
    os.replace(tmp_path / "data", path / "data.mdb")
    with simdb.open(path, "w") as database:
        database.insert("new", 5)

    with pytest.raises(simdb.ExistsError, match=r"db\.old exists already; remove it"):
        simdb.upgrade(path)

    with simdb.open(path, "r") as database:
        assert "new" in database


@pytest.mark.skipif(not CAN_INJECT, reason="places are instructions of CPython 3.11")
@pytest.mark.parametrize("count", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_anywhere_it_is_the_old_or_the_new_database_and_works_again(path, tmp_path, count):
    with simdb.open(path, "r") as database:
        database.dump(tmp_path / "dump")
    python = script(tmp_path / "python", f"exec cat {tmp_path}/dump")
    shutil.copytree(path, tmp_path / "first")
    before, injector, chance = contents(path), Injector(NEVER), random.Random(2)
    upgrade = partial(simdb.upgrade, path, python=python)

    def places():
        injector.run(upgrade)
        return list(injector.places.values())

    seen = outcome_of(places, SECONDS).get()
    for _ in range(count):
        for each in (path, f"{path}.old"):
            shutil.rmtree(each)
        shutil.copytree(tmp_path / "first", path)
        place = chance.choice(chance.choice(seen))
        outcome = outcome_of(partial(Injector(place, kills=True).run, upgrade), SECONDS)
        assert outcome.error in (KILLED, ""), outcome.error
        assert contents(path) == before
        is_new = names_in(tmp_path) == ["db", "db.old", "dump", "first", "python"]
        if not (is_new and "data.mdb.new" not in names_in(f"{path}.old")):
            upgrade()

        assert contents(path) == contents(f"{path}.old") == before
        assert names_in(tmp_path) == ["db", "db.old", "dump", "first", "python"]
        assert_sound(path)
