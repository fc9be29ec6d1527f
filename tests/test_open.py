"""Opening: modes, options, several processes that create at once, paths of every kind.

Paths and files without a database of this version are refused and not changed.
"""

import os
import shutil
import threading

import lmdb
import numpy as np
import pytest
from forked import run
from over import over
from soundness import TINY

import simdb
from simdb.storage import codec, contents, layout


@pytest.mark.parametrize("mode", ["r", "w"])
def test_a_missing_database_is_not_made_by_modes_that_must_find_it(tmp_path, mode):
    with pytest.raises(simdb.NotFoundError, match="mode 'c' creates"):
        simdb.open(tmp_path / "none", mode)

    assert not (tmp_path / "none").exists()


def test_x_refuses_an_existing_database(open_database, tmp_path):
    open_database().insert(1, 1)

    with pytest.raises(simdb.ExistsError, match="mode 'w' opens it"):
        simdb.open(tmp_path / "db", "x")


def test_other_options_than_stored_are_refused_each_by_name(open_database, tmp_path):
    open_database(options=simdb.Options(blocks=5, sketch=simdb.Simhash(shingle=2)))

    with pytest.raises(simdb.OptionError) as caught:
        simdb.open(tmp_path / "db", options=simdb.Options(distance=4))

    for part in ("blocks is 5, not 1", "sketch.shingle is 2, not 3", "distance is 3, not 4"):
        assert part in str(caught.value)
    assert "similarity" not in str(caught.value)


def test_a_path_may_have_any_bytes(tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9 \xff"

    with simdb.open(path) as database:
        database.insert(1, 1)
        assert database.stats().document_count == 1
        with simdb.open(os.fsdecode(path), "r") as same:
            assert list(same) == [1]
    assert os.path.exists(path + b"/data.mdb")


def test_a_link_leads_to_the_same_database(tmp_path):
    with simdb.open(tmp_path / "db") as database:
        os.symlink(tmp_path / "db", tmp_path / "link")
        with simdb.open(tmp_path / "link") as linked:
            linked.insert(1, 1)

        assert list(database) == [1]


def test_two_that_create_at_once_make_one_database(open_database, tmp_path, monkeypatch):
    # Both see an empty directory; the second writer must not erase what the first one stored.
    create = contents.create
    script = (
        "import simdb, sys\n"
        "with simdb.open(sys.argv[1], options=simdb.Options(blocks=5)) as database:\n"
        "    database.insert('theirs', 1)\n"
    )

    def create_late(environment, transaction, options):
        return create(environment, transaction, options)

    def after_another(environment, change):
        monkeypatch.undo()
        assert run(script, environment.path) == (0, "", "")
        return environment.write(change)

    monkeypatch.setattr(contents, "create", create_late)
    monkeypatch.setattr("simdb.storage.environment.Environment.write", after_another)
    database = open_database()

    assert list(database) == ["theirs"]
    assert database.options.blocks == 5


def test_many_threads_that_open_a_new_path_at_once_get_one_database(tmp_path):
    barrier = threading.Barrier(8)
    opened = []

    def open_and_insert(number):
        barrier.wait()
        database = simdb.open(tmp_path / "db", options=TINY)
        database.insert(number, number)
        opened.append(database)

    threads = [threading.Thread(target=open_and_insert, args=[at]) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(opened[0]) == list(range(8))
    for database in opened:
        database.close()


def test_a_database_made_in_the_place_of_a_removed_one_is_empty(tmp_path):
    # The new directory may have the inode of the old one, which this process still has open.
    old = simdb.open(tmp_path / "db")
    old.insert(1, 1)
    os.rename(tmp_path / "db" / "data.mdb", tmp_path / "data.mdb.away")
    for left in os.listdir(tmp_path / "db"):
        os.unlink(tmp_path / "db" / left)

    new = simdb.open(tmp_path / "db")
    new.insert(2, 2)

    assert list(new) == [2]
    assert list(old) == [1]
    old.close()
    new.close()
    with simdb.open(tmp_path / "db") as again:
        assert list(again) == [2]


def test_a_creation_that_fails_can_be_repeated(tmp_path, monkeypatch):
    def fail(environment, transaction, options, resources):
        environment.create_subdatabases([b"meta"], transaction)
        raise RuntimeError("power failure")

    monkeypatch.setattr(contents, "create", fail)
    with pytest.raises(RuntimeError, match="power failure"):
        simdb.open(tmp_path / "db")
    monkeypatch.undo()

    with pytest.raises(simdb.FormatError, match="empty"):
        simdb.open(tmp_path / "db", "w")
    with simdb.open(tmp_path / "db") as database:
        database.insert(1, 1)
        assert list(database) == [1]


@over(
    "odd",
    [
        {"mode": np.array(["r", "w"])},
        {"mode": "a"},
        {"mode": ["r"]},
        {"durability": np.zeros(2)},
        {"durability": None},
        {"durability": "some"},
        {"allow": None},
        {"allow": 7},
        *({"map_size": size} for size in (0, -1, 2**19, 2.5e9, "1 GB", True, 2**70, 10**5000)),
        {"timeout": "soon"},
        *({"timeout": seconds} for seconds in (-1, float("nan"), "1", True, -(10**5000))),
        {"options": {"blocks": 4}},
    ],
)
def test_odd_arguments_of_opening_are_refused_by_name(tmp_path, odd):
    # Some of these once raised a TypeError or ValueError of numpy, or were too long to print.
    with pytest.raises(simdb.OptionError, match=next(iter(odd))):
        simdb.open(tmp_path / "db", **odd)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_can_be_read_and_not_written(open_database, tmp_path):
    with open_database() as database:
        database.insert(1, 1)
    os.chmod(tmp_path / "db", 0o500)
    os.chmod(tmp_path / "db" / "data.mdb", 0o400)

    with pytest.raises(simdb.ReadOnlyError):
        simdb.open(tmp_path / "db", "w")
    with simdb.open(tmp_path / "db", "r") as reader:
        assert list(reader) == [1]
    shutil.rmtree(tmp_path / "db", ignore_errors=True)


def test_a_program_that_ends_without_closing_prints_nothing(tmp_path):
    script = """
import sys
import simdb
database = simdb.open(sys.argv[1], "c")
database.insert(1, "some text")
"""

    assert run(script, tmp_path / "db") == (0, "", "")


def test_a_file_and_a_directory_with_other_files_are_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("text")

    for mode in "rwcx":
        with pytest.raises(simdb.FormatError, match="is a file"):
            simdb.open(tmp_path / "thesis.txt", mode)
    with pytest.raises(simdb.FormatError, match=r"thesis.txt.*directory of its own"):
        simdb.open(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_path_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("text")

    for name in ("file/db", "a\0b", "x" * 300):
        with pytest.raises(simdb.InputError):
            simdb.open(f"{tmp_path}/{name}")
    with pytest.raises(simdb.InputError, match="int"):
        simdb.open(5)
    with pytest.raises(simdb.NotFoundError, match="empty"):
        simdb.open("")


def test_a_name_that_means_something_else_makes_no_directory_and_opens_one_that_is_there(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    for path, remedy in (
        (":memory:", r"simdb.open\(None\)"), ("s3://bucket/pages", "local disk"),
        ("file:///tmp/pages", "local disk"),
    ):  # fmt: skip
        for mode in "cx":
            with pytest.raises(simdb.OptionError, match=remedy):
                simdb.open(path, mode)
    assert list(tmp_path.iterdir()) == []
    for path, name in ((":memory:", ":memory:"), ("s3://", "s3:")):
        simdb.open("made").close()
        (tmp_path / "made").rename(tmp_path / name)
        with simdb.open(path) as database:
            assert len(database) == 0


@pytest.mark.parametrize("content", [b"text" * 5000, bytes(20_000)])
def test_a_data_file_of_something_else_is_refused(tmp_path, content):
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "data.mdb").write_bytes(content)

    for mode in "rwc":
        with pytest.raises(simdb.FormatError):
            simdb.open(tmp_path / "db", mode)


@pytest.mark.parametrize("name", [None, b"meta", b"other"])
def test_an_lmdb_directory_of_somebody_else_is_refused(tmp_path, name):
    for place, put, key in (("db", name, b"format"), ("plain", None, b"meta")):
        with lmdb.open(str(tmp_path / place), max_dbs=4) as environment:
            handle = environment.open_db(put)
            with environment.begin(write=True) as transaction:
                transaction.put(key, b"theirs", db=handle)

    for mode in "rwc":
        with pytest.raises((simdb.FormatError, simdb.CorruptError)):
            simdb.open(tmp_path / "db", mode)
    with pytest.raises(simdb.FormatError, match="not a simdb database"):
        simdb.open(tmp_path / "plain")


@pytest.mark.parametrize("version", [2, 99, "1", None])
def test_a_newer_format_version_is_refused_with_the_remedy(tmp_path, version):
    simdb.open(tmp_path / "db").close()
    stored = codec.encode_object(layout.FORMAT_KIND, layout.FORMAT_KEY, {"version": version})
    with lmdb.open(str(tmp_path / "db"), max_dbs=64) as environment:
        handle = environment.open_db(layout.META)
        with environment.begin(write=True) as transaction:
            transaction.put(layout.FORMAT_KEY, stored, db=handle)

    with pytest.raises(simdb.FormatError, match=f"version {version}.*newer simdb"):
        simdb.open(tmp_path / "db")
