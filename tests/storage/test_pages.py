"""Damaged pages are reported before LMDB follows them out of the file."""

import os
import struct

import lmdb
import numpy as np
import pytest
from soundness import TINY

import simdb
from flips import verdict
from simdb.storage.pages import META, META_PAGES, PAGE as META_HEAD, problems_of_pages

PAGE = os.sysconf("SC_PAGE_SIZE")
BRANCH, LEAF, BIG_DATA = 1, 2, 1


@pytest.fixture
def data_file(tmp_path):
    """The data file of a closed database with values on pages of their own."""
    with simdb.open(tmp_path / "db", options=TINY) as database:
        database.insert_many(range(2000), np.arange(2000, dtype=np.uint64), [{"n": 1}] * 2000)
        database.insert("delta", 5)
        database.delete_many(range(100))
    return tmp_path / "db" / "data.mdb"


def problems(path):
    return list(problems_of_pages(str(path)))


def big_nodes(content):
    """Positions of the page numbers in leaves that lead to values on pages of their own."""
    for start in range(2 * PAGE, len(content), PAGE):
        number, _, flags, lower, _ = struct.unpack_from("<QHHHH", content, start)
        if number == start // PAGE and flags == LEAF:
            for place in struct.unpack_from(f"<{(lower - 16) // 2}H", content, start + 16):
                _, _, kind, key_bytes = struct.unpack_from("<HHHH", content, start + place)
                if kind == BIG_DATA:
                    yield start + place + 8 + key_bytes


def put(path, position, form, *values):
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(struct.pack(form, *values))


def pages_of(content, flags):
    """Positions of the pages of a kind."""
    for start in range(2 * PAGE, len(content), PAGE):
        number, _, found, lower, upper = struct.unpack_from("<QHHHH", content, start)
        if number == start // PAGE and found == flags and (flags == 4 or 16 < lower <= upper):
            yield start


def harm_heads(path, offset, form, value):
    """Change every head of values on pages of their own."""
    content = path.read_bytes()
    for position in big_nodes(content):
        first = struct.unpack_from("<Q", content, position)[0]
        put(path, first * PAGE + offset, form, value)


HEADS = [
    pytest.param(0, "<Q", 2, id="number"),
    pytest.param(10, "<H", 2, id="kind"),
    pytest.param(12, "<I", 0, id="no page"),
    pytest.param(12, "<I", 0xFFFFFFFF, id="all pages"),
]


@pytest.mark.parametrize(("offset", "form", "value"), HEADS)
def test_a_damaged_head_of_a_value_is_refused_when_opening(data_file, offset, form, value):
    # LMDB aborted the process when it dropped the value, or freed pages that are in use.
    harm_heads(data_file, offset, form, value)

    with pytest.raises(simdb.CorruptError, match=r"does not start a value of \d+ page"):
        simdb.open(data_file.parent)


def test_a_value_may_have_more_pages_than_it_fills(data_file):
    # LMDB writes a list of free pages into the room that it has reserved for a longer one, and a
    # sound database was refused.
    with lmdb.open(str(data_file), subdir=False, max_dbs=64, map_size=1 << 30) as environment:
        tree = environment.open_db(b"spare")
        with environment.begin(write=True) as transaction:
            transaction.put(b"key", bytes(5 * PAGE), db=tree)
            transaction.put(b"key", bytes(3 * PAGE), db=tree)

    with simdb.open(data_file.parent) as database:
        assert problems(data_file) == []
        assert len(database) == 1901


def rebuild(path):
    return damage_and(path, lambda database: database.rebuild(drop_damaged=True))


def seal(path):
    return damage_and(path, lambda database: database.insert_many(range(9000, 9050), range(50)))


def damage_and(path, verb):
    """Damage the heads of an open database within a tick of its last commit, and go on."""
    with simdb.open(path, "w") as database:
        database.insert("last", 3)
        harm_heads(path / "data.mdb", 10, "<H", 0)
        database._store.environment.watch._stamp = database._store.environment.watch._now()
        verb(database)


@pytest.mark.parametrize("verb", [rebuild, seal])
def test_a_head_damaged_while_open_is_told_before_anything_is_dropped(data_file, verb):
    # LMDB aborted the process.
    ended, said = verdict(verb, data_file.parent)

    assert ended == "refused"
    assert "does not start a value" in said


def test_a_main_tree_that_counts_no_entries_is_refused_and_not_made_anew(data_file):
    # Mode "c" took the database for an empty directory, and made a new one in its place.
    put(data_file, 16 + 72 + 32, "<Q", 0)
    put(data_file, PAGE + 16 + 72 + 32, "<Q", 0)

    with pytest.raises(simdb.CorruptError, match="the main tree says that it has"):
        simdb.open(data_file.parent, "c")


def test_a_branch_of_one_page_is_refused(data_file):
    # LMDB aborted the process.
    with simdb.open(data_file.parent, durability="process") as database:
        for number in range(40):
            database.insert(f"more {number}", number, "x" * 300)
    content = data_file.read_bytes()
    for start in pages_of(content, BRANCH):
        put(data_file, start + 12, "<HH", 18, *struct.unpack_from("<H", content, start + 16))

    with pytest.raises(simdb.CorruptError, match="has a wrong number, kind or count"):
        simdb.open(data_file.parent)


def test_nodes_that_lie_upon_each_other_and_leave_a_gap_are_refused(data_file):
    # Deleting one of them moved the other, and its length became any number.
    content = data_file.read_bytes()
    start = next(
        start for start in pages_of(content, LEAF)
        if struct.unpack_from("<H", content, start + 12)[0] >= 20
    )  # fmt: skip
    put(data_file, start + 16, "<H", struct.unpack_from("<H", content, start + 18)[0])

    with pytest.raises(simdb.CorruptError, match=r"overlap|do not fill it"):
        simdb.open(data_file.parent)


def test_free_pages_out_of_order_are_refused(data_file):
    # LMDB merges lists of them as if they were in order, and took pages in use for free.
    content = data_file.read_bytes()
    meta = max((0, PAGE), key=lambda at: struct.unpack_from("<Q", content, at + 144)[0])
    root = struct.unpack_from("<Q", content, meta + 16 + 24 + 40)[0] * PAGE
    (node,) = struct.unpack_from("<H", content, root + 16)
    first = root + node + 8 + 8 + 8
    put(data_file, first, "<QQ", *struct.unpack_from("<QQ", content, first)[::-1])

    with pytest.raises(simdb.CorruptError, match="a list of free pages is out of order"):
        simdb.open(data_file.parent)


def test_a_newest_commit_on_the_page_of_another_is_refused(data_file):
    # LMDB takes the meta page by the number, whatever stands there.
    content = data_file.read_bytes()
    meta = max((0, PAGE), key=lambda at: struct.unpack_from("<Q", content, at + 144)[0])
    put(data_file, meta + 144, "<Q", struct.unpack_from("<Q", content, meta + 144)[0] + 1)

    with pytest.raises(simdb.CorruptError, match="the meta pages are of the transactions"):
        simdb.open(data_file.parent)


def test_a_page_number_outside_the_file_is_refused_when_opening(data_file):
    # LMDB followed it, and the system ended the process.
    for position in big_nodes(data_file.read_bytes()):
        put(data_file, position, "<Q", 1 << 20)

    with pytest.raises(simdb.CorruptError, match=r"has page 1048576.*restore"):
        simdb.open(data_file.parent)
    assert problems(data_file) != []


@pytest.mark.parametrize("mode", ["r", "w"])
@pytest.mark.parametrize("last_page", [1 << 40, 1 << 52, 1 << 63, (1 << 64) - 1])
def test_a_last_page_outside_the_map_is_refused_when_opening(
    data_file, mode, last_page, monkeypatch
):
    # LMDB called it a map that had grown, or a lack of address space.
    monkeypatch.setattr("simdb.storage.file_map.OPEN_TRIES", 1)
    for meta in range(META_PAGES):
        put(data_file, meta * PAGE + META_HEAD.size + META.size - 16, "<Q", last_page)

    with pytest.raises(simdb.CorruptError, match=f"last page is said to be {last_page}.*restore"):
        simdb.open(data_file.parent, mode)


def test_a_file_that_lost_its_end_is_refused_when_opening(data_file):
    os.truncate(data_file, os.stat(data_file).st_size // 2)

    with pytest.raises(simdb.CorruptError, match="behind the end of the file"):
        simdb.open(data_file.parent, "r")


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
        holder = snapshot._base.source.holder
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


def test_two_threads_may_check_while_the_file_grows(data_file, monkeypatch):
    with simdb.open(data_file.parent) as database:
        presence = database._store.environment.presence
        true_status, is_first = os.fstat, [True]

        def slow_status(descriptor):
            status = true_status(descriptor)
            if is_first.pop():  # another thread checks before this one has its answer
                is_first.append(False)
                with data_file.open("ab") as file:
                    file.write(bytes(4096))
                presence.check_readable()
            is_first.append(False)
            return status

        monkeypatch.setattr(os, "fstat", slow_status)
        presence._check_length()
        monkeypatch.undo()
        presence.check_readable()
        os.truncate(data_file, os.stat(data_file).st_size // 2)
        with pytest.raises(simdb.CorruptError, match="was cut off from"):
            presence.check_readable()


@pytest.mark.parametrize("version", [2, 3, 999])
@pytest.mark.parametrize("head", [16, 24])
def test_a_file_of_another_lmdb_is_no_damage(data_file, version, head):
    content = bytearray(data_file.read_bytes())
    for page in range(META_PAGES):
        meta = content[page * PAGE + 16 : page * PAGE + 16 + META.size]
        struct.pack_into("<I", meta, 4, version)
        content[page * PAGE + 16 : page * PAGE + head + META.size] = bytes(head - 16) + meta
    data_file.write_bytes(content)

    with pytest.raises(simdb.FormatError, match=rf"has format {version} of LMDB.*name the Python"):
        simdb.open(data_file.parent)


def test_one_meta_page_of_another_version_is_damage(data_file):
    content = bytearray(data_file.read_bytes())
    struct.pack_into("<I", content, PAGE + 20, 3)
    data_file.write_bytes(content)

    with pytest.raises(simdb.Error, match="rebuild --drop-damaged"):
        simdb.open(data_file.parent)
