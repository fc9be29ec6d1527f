"""Damage done while a database is open is reported before LMDB follows it."""

import os
import time

import numpy as np
import pytest
from forked import run
from soundness import TINY, assert_sound

import simdb
from flips import verdict
from simdb.storage import open_files

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK_SECONDS = 0.02  # the system's clock notes no shorter times
INSERT = "import simdb, sys; simdb.open(sys.argv[1], 'w').insert(int(sys.argv[2]), 7)"


@pytest.fixture
def path(tmp_path):
    """A closed database with runs, metadata and a delta."""
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(500), np.arange(500, dtype=np.uint64), [{"n": 1}] * 500)
        database.insert("delta", 5)
    return tmp_path / "db"


@pytest.fixture
def walks(monkeypatch):
    """The names of sub-databases of every walk of the pages, None for one of all."""
    found = []
    check_pages = open_files.check_pages

    def checked(descriptor, path, *, least, only):
        found.append(only)
        return check_pages(descriptor, path, least=least, only=only)

    monkeypatch.setattr(open_files, "check_pages", checked)
    return found


def overwrite(path, pages):
    """Write zeroes over pages of the data file, later than the last tick."""
    time.sleep(TICK_SECONDS)
    with open(path / "data.mdb", "r+b") as file:
        for page in pages:
            file.seek(page * PAGE)
            file.write(bytes(PAGE))


def all_pages(path):
    return range(os.stat(path / "data.mdb").st_size // PAGE)


@pytest.mark.parametrize(
    ("verb", "first"),
    [
        (lambda database: database.get(3), 0),
        (lambda database: database.insert_many(range(900, 950), range(50)), 2),
        (lambda database: database.rebuild(drop_damaged=True), 2),
    ],
    ids=["get", "insert_many", "rebuild"],
)
def test_pages_damaged_while_open_are_a_corrupt_error(path, verb, first):
    # LMDB aborted the process, or the system ended it.
    def damage_and_go_on(path):
        with simdb.open(path, "w") as database:
            database.query(5, distance=0)
            overwrite(path, all_pages(path)[first:])
            verb(database)

    ended, said = verdict(damage_and_go_on, path)

    assert ended == "refused"
    assert said.startswith("CorruptError: ")


def test_commits_of_ones_own_and_of_others_walk_no_page(path, walks):
    with simdb.open(path, "w", durability="process") as database:
        walks.clear()
        for number in range(3):
            database.insert(f"own {number}", number)
            assert run(INSERT, path, 1000 + number) == (0, "", "")
            time.sleep(TICK_SECONDS)
            assert database.get(1000 + number).fingerprint.bits == 7
            database.delete(f"own {number}")

        assert None not in walks
    assert_sound(path)


def test_before_changes_of_metadata_walks_take_a_small_part_of_the_time(path, walks, monkeypatch):
    with simdb.open(path, "w") as database:
        walks.clear()
        monkeypatch.setattr(open_files, "REST", 10**9)

        for number in range(20):
            database.update_metadata(number, {"n": number})

        assert walks == [frozenset({b"metadata"})]

    with simdb.open(path, "w") as database:
        walks.clear()
        database.update_metadata(3, "opened again")

        assert walks == [frozenset({b"metadata"})]
