"""Damage to the pages of LMDB is told before LMDB follows it out of the file."""

import os
import struct

import lmdb
import numpy as np
import pytest
from soundness import TINY

import simdb
from simdb.storage.pages import problems_of_pages

PAGE = os.sysconf("SC_PAGE_SIZE")
LEAF, BIG_DATA = 2, 1


@pytest.fixture
def data_file(tmp_path):
    """The data file of a closed database with values on pages of their own."""
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(2000), np.arange(2000, dtype=np.uint64), [{"n": 1}] * 2000)
        database.insert("loose", 5)
        database.delete_many(range(100))
    return tmp_path / "db" / "data.mdb"


def problems(path):
    return list(problems_of_pages(str(path), is_whole=True))


def big_nodes(content):
    """Positions of the page numbers in leaves that lead to values on pages of their own."""
    for start in range(2 * PAGE, len(content), PAGE):
        number, _, flags, lower, _ = struct.unpack_from("<QHHHH", content, start)
        if number == start // PAGE and flags == LEAF:
            for place in struct.unpack_from(f"<{(lower - 16) // 2}H", content, start + 16):
                _, _, kind, key_bytes = struct.unpack_from("<HHHH", content, start + place)
                if kind == BIG_DATA:
                    yield start + place + 8 + key_bytes


def put(path, position, form, value):
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(struct.pack(form, value))


def test_pages_are_sound_after_every_commit(database):
    data_file = os.path.join(database.path, "data.mdb")
    assert problems(data_file) == []
    for number in range(60):
        ids = range(number * 100, number * 100 + number)
        database.insert_many(ids, ids, [None, "m"] * (number // 2) + [3] * (number % 2))
        database.delete_many(range(number * 7))
        assert problems(data_file) == []
    database.compact()
    assert problems(data_file) == []


def test_a_page_number_outside_the_file_is_refused_when_opening(data_file):
    # LMDB followed it, and the system ended the process.
    for position in big_nodes(data_file.read_bytes()):
        put(data_file, position, "<Q", 1 << 20)

    with pytest.raises(simdb.CorruptError, match=r"has page 1048576.*restore"):
        simdb.open(data_file.parent)
    assert problems(data_file) != []


def test_a_file_that_lost_its_end_is_refused_when_opening(data_file):
    os.truncate(data_file, os.stat(data_file).st_size // 2)

    with pytest.raises(simdb.CorruptError, match="behind the end of the file"):
        simdb.open(data_file.parent, "r")


def test_two_values_on_the_same_page_are_found(data_file):
    one, other = list(big_nodes(data_file.read_bytes()))[-2:]
    content = data_file.read_bytes()
    put(data_file, one, "<Q", struct.unpack_from("<Q", content, other)[0])

    assert problems(data_file) != []


def test_meta_pages_that_are_not_of_neighbouring_commits_are_found(data_file):
    put(data_file, 16 + 128, "<Q", 1000)

    (problem,) = problems(data_file)
    assert "the meta pages are of the transactions" in problem


def test_what_lmdb_finds_damaged_is_a_corrupt_error(database, monkeypatch):
    # It came out as lmdb.CorruptedError.
    database.insert_many(range(20), range(20), ["m"] * 20)

    class Damaged:
        def __init__(self, transaction):
            self.transaction = transaction

        def __getattr__(self, name):
            if name in ("get", "cursor"):
                raise lmdb.CorruptedError("MDB_CORRUPTED")
            return getattr(self.transaction, name)

    with database.read() as snapshot:
        holder = snapshot._source._holder
        holder.transaction = Damaged(holder.transaction)
        with pytest.raises(simdb.CorruptError, match="restore the database"):
            snapshot.get(3)
        holder.transaction = holder.transaction.transaction


def test_a_file_that_is_cut_off_while_it_is_open_is_told_before_a_commit(data_file):
    # LMDB would write after the hole, and reading ended the process.
    with simdb.open(data_file.parent) as database:
        os.truncate(data_file, os.stat(data_file).st_size // 2)

        with pytest.raises(simdb.CorruptError, match=r"was cut off from \d+ to \d+ bytes"):
            database.insert("later", 1)
