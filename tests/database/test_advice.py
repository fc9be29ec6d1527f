"""Advice is given where it helps, names a remedy, and changes nothing."""

import os
from pathlib import Path

import forked
import numpy as np
import pytest
from over import over
from soundness import TINY

import simdb
from simdb.database.maintenance import advice as advising, calibration as calibrating
from simdb.storage import files

KILLED_READER = """
import os, signal, sys
import simdb
database = simdb.open(sys.argv[1], "r")
snapshot = database.read()
print(os.getpid(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def topics(database):
    found = list(database.advice())
    assert all(each.message and each.reason and each.remedy for each in found)
    return [each.topic for each in found]


@pytest.fixture
def disk(monkeypatch):
    """A disk whose file system and free space a test may set."""
    monkeypatch.setattr(advising, "file_system", lambda path: "ext4")
    return monkeypatch


def test_a_reader_that_was_killed_is_named_and_stays_until_stats(disk, database):
    database.insert("before", 1)
    _, process, _ = forked.run(KILLED_READER, database.path)
    with simdb.open(database.path, "r") as asking:
        first, second = list(asking.advice()), list(asking.advice())

        asking.stats()

        assert f"process {process.strip()} has ended" in first[0].message
        assert second == first
        assert list(asking.advice()) == []


def test_many_deleted_documents_are_compacted_and_asking_changes_nothing(disk, database):
    database.insert_many(range(4000), range(4000))
    database.delete_many(range(1500))
    path = Path(database.path, files.DATA_FILE)
    before = path.read_bytes()
    assert topics(database) == ["deleted documents"]
    assert path.read_bytes() == before

    database.compact()

    assert topics(database) == []


def test_many_runs_are_compacted(disk, open_database):
    disk.setattr(advising, "RUNS_MANY", 2)
    database = open_database(options=TINY)
    for count in (100, 40, 15, 6):
        first = len(database)
        database.insert_many(range(first, first + count), range(count))

    assert "runs" in topics(database)


def test_a_file_that_is_mostly_empty_is_compacted(disk, database):
    disk.setattr(advising, "FREE_LEAST_BYTES", 1 << 16)
    database.insert_many(range(20000), range(20000))
    database.delete_many(range(100, 20000))
    snapshot = database.read()
    note = database.compact().note
    snapshot.close()
    assert note
    assert topics(database) == ["size"]

    with simdb.open(database.path) as other:
        other.insert("more", 1)
        other.compact()

    assert topics(database) == []


def test_a_map_that_is_nearly_full_and_a_full_disk_are_told(disk, database):
    database.insert("a", 1)
    disk.setattr(
        database._store.environment,
        "sizes",
        lambda transaction: (1000 << 20, 900 << 20, 1050 << 20),
    )
    disk.setattr(
        advising.shutil, "disk_usage", lambda path: advising.shutil._ntuple_diskusage(9, 9, 100)
    )

    assert topics(database) == ["size", "disk"]


def test_a_header_that_many_share_is_named(disk, database):
    disk.setattr(advising, "HEADER_DOCUMENTS", 50)
    generator = np.random.default_rng(1)
    database.insert_many(range(400), generator.integers(0, 2**64, 400, np.uint64))
    assert topics(database) == []

    database.insert_many(range(1000, 1100), [7] * 100)

    assert topics(database) == ["headers"]


@over(
    ("polytopes", "missing", "reason"),
    [
        (0, ["calibration"], "each query by similarity probes more"),
        (4, [], "each query by search='psm' or 'multiprobe'"),
    ],
)
def test_a_calibration_that_is_missing_or_old_is_due(disk, polytopes, missing, reason):
    disk.setattr(calibrating, "DUE_DOCUMENTS", 20)
    with simdb.open(None, options=simdb.Options(polytopes=polytopes)) as database:
        database.insert_many(range(30), [f"some words {at}" for at in range(30)])
        assert topics(database) == missing
        assert all("no calibration" in each.message for each in database.advice())
        database.calibrate()
        assert topics(database) == []

        database.insert_many(range(30, 60), [f"some words {at}" for at in range(30, 60)])

        (old,) = database.advice()
        assert "does not cover 30 documents" in old.message
        assert old.reason.startswith(reason)


def test_modes_that_let_others_in_are_told(disk, database, tmp_path):
    os.chmod(tmp_path / "db" / "data.mdb", 0o644)
    os.chmod(tmp_path / "db", 0o770)

    found = list(database.advice())

    assert "data.mdb 0644" in found[0].message
    assert "0770" in found[1].message
    assert found[1].remedy.startswith("chmod 700")
    os.chmod(tmp_path / "db", 0o755)
    os.chmod(tmp_path / "db" / "data.mdb", 0o600)
    assert topics(database) == []


def test_packages_of_other_versions_are_told(disk, open_database):
    pytest.importorskip("selectolax")
    database = open_database(options=simdb.Options(sketch=simdb.Simhash(markup="html")))
    disk.setattr(advising, "installed_versions", lambda options: {"selectolax": "99.0"})

    (found,) = database.advice()

    assert "version 99.0 is installed" in found.message
    disk.setattr(advising, "installed_versions", lambda options: {})
    (found,) = database.advice()
    assert "is not installed" in found.message


@over("kind", ["nfs4", "fuse.sshfs", "fuse.unheard", "tmpfs"])
def test_file_systems_that_are_not_safe_are_told(disk, database, kind):
    disk.setattr(advising, "file_system", lambda path: kind)

    assert topics(database) == ["file system"]
