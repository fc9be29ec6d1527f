"""Notes: what a program stores beside the documents is part of the commit, and stays."""

import io

import pytest
from stored_values import change_value

import simdb
from simdb.core.errors import InputError
from simdb.storage import layout

CONTENT = {"kept": b"\x00\xff", "names": ["a", 1, None, 0.5, True], "inner": {"x": {}}}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "db")


def write_note(path, name, content, count=0):
    with simdb.open(path) as database, database.write() as transaction:
        start = len(transaction)
        transaction.insert_many(range(start, start + count), [f"text {n}" for n in range(count)])
        transaction.set_note(name, content)


def note_of(path, name):
    with simdb.open(path, "r") as database, database.read() as snapshot:
        assert list(database.check(deep=True)) == []
        return snapshot.note(name)


def test_a_note_is_part_of_its_transaction(path):
    write_note(path, "n", 1, count=2)
    with simdb.open(path) as database:
        aborted = database.write()
        aborted.set_note("n", 2)
        seen = aborted.note("n")
        aborted.abort()
        with database.read() as before:
            with database.write() as transaction:
                kept = transaction.note("n")
                transaction.set_note("n", 3)
                with pytest.raises(simdb.ExistsError):
                    transaction.insert(1, "a taken id")

            assert (seen, kept) == (2, 1)
            assert before.note("n") == 1
        assert database.note("n") == 3
        with database.write() as transaction:
            transaction.set_note("n", None)
            assert transaction.note("n") is None
    assert note_of(path, "n") is None


def test_notes_stay_when_a_database_is_compacted_rebuilt_copied_and_dumped(path, tmp_path):
    write_note(path, "n", CONTENT, count=50)
    write_note(path, "m" * 500, "more")
    dumped = io.BytesIO()
    with simdb.open(path) as database:
        database.delete_many(range(25))
        database.compact()
        database.copy(str(tmp_path / "copied"))
        database.dump(dumped)
        database.rebuild()
    dumped.seek(0)
    simdb.load(dumped, str(tmp_path / "loaded"))

    for each in (path, str(tmp_path / "copied"), str(tmp_path / "loaded")):
        assert note_of(each, "n") == CONTENT
        assert note_of(each, "m" * 500) == "more"


def test_what_cannot_be_noted_is_refused(path):
    with simdb.open(path) as database, database.write() as transaction:
        for name in ("", 5, None, b"n", "x" * 501, "\ud800"):
            with pytest.raises(InputError, match="name of a note"):
                transaction.set_note(name, 1)
            with pytest.raises(InputError, match="name of a note"):
                transaction.note(name)
        for content in (object(), {1, 2}, (1, 2), 1 << 70):
            with pytest.raises(InputError, match="plain types"):
                transaction.set_note("n", content)

        assert transaction.note("n") is None


def test_a_damaged_note_is_found_and_a_rebuild_removes_it(path):
    write_note(path, "n", CONTENT, count=5)
    write_note(path, "m", 1)
    with simdb.open(path) as database:
        key = layout.NOTE_PREFIX + b"n"
        with database._store.begin_write():
            change_value(database, layout.META, key, lambda value: value[:-1] + b"\xff")
        with pytest.raises(simdb.CorruptError):
            database.note("n")
        damaged = [each.place for each in database.check(deep=True)]
        rebuilt = database.rebuild()

    assert damaged == ["meta"]
    assert any("'n' was removed" in each for each in rebuilt.notes)
    assert note_of(path, "n") is None
    assert note_of(path, "m") == 1
