"""Databases that are too damaged to be opened, or that no rebuild in place makes sound."""

import os
import struct

import numpy as np
import pytest
from soundness import assert_sound

import simdb
from rescues import stored
from simdb.core import kernel
from simdb.database.maintenance import rebuild
from simdb.storage import layout, pages
from simdb.storage.files import DATA_FILE, IDF_FILE

PAGE = 4096
OPTIONS = simdb.Options(delta_documents=40, growth=2, sketch=simdb.Simhash(shingle=1))
WORDS = ["red", "green", "blue", "grey", "pink", "white", "black", "brown"]


def texts(count):
    return [" ".join(WORDS[(at >> shift) % 8] for shift in range(6)) for at in range(count)]


@pytest.fixture
def path(tmp_path):
    """Runs, a delta, metadata in several values, deleted documents and a note."""
    with simdb.open(tmp_path / "db", options=OPTIONS, durability="none") as database:
        database.insert_many(range(100), texts(100), [{"n": at} for at in range(100)])
        database.insert_many(["long", b"b"], texts(2), ["x" * 9000, None])
        database.delete_many([3, 50])
        database.insert("last", "red blue", {"n": "last"})
    return tmp_path / "db"


def harm(path, page, content=bytes(PAGE)):
    with open(path / DATA_FILE, "r+b") as file:
        file.seek(page * PAGE)
        file.write(content)


def opens(path):
    try:
        simdb.open(path, "r").close()
    except (simdb.CorruptError, simdb.FormatError):
        return False
    return True


def leaf_of(path, name):
    """Return the page that holds the values of a small sub-database."""
    with open(path / DATA_FILE, "rb") as file:
        main = pages.newest_meta(file.fileno(), is_whole=True, least=0).main
        content = file.read()
    for at in struct.unpack_from("<64H", content, main.root * PAGE + pages.PAGE.size):
        start = main.root * PAGE + at
        key_bytes = pages.NODE.unpack_from(content, start)[3]
        key = content[start + pages.NODE.size :][:key_bytes]
        if key == name:
            return pages.TREE.unpack_from(content, start + pages.NODE.size + key_bytes)[7]
    raise AssertionError(name)


def assert_rescued(path, before, *, page):
    told = simdb.rebuild(path, drop_damaged=True)

    left = stored(path)
    lost = before.keys() - left.keys()
    with simdb.open(path, "r") as database:
        assert list(database.check(deep=True)) == [], page
    assert left.keys() <= before.keys(), page
    assert told.lost_count == len(lost), page
    assert bool(told.losses) or not lost, page
    assert {id: each[0] for id, each in left.items()} == {id: before[id][0] for id in left}, page


@pytest.mark.few(1)
@pytest.mark.parametrize("part", [0, 1, 2])
def test_whichever_page_is_zeroed_the_rest_is_rescued_and_what_is_lost_is_counted(path, part):
    before, whole = stored(path), (path / DATA_FILE).read_bytes()
    refused = 0

    for page in range(part, len(whole) // PAGE, 3):
        harm(path, page)
        refused += not opens(path)
        assert_rescued(path, before, page=page)
        (path / DATA_FILE).write_bytes(whole)

    assert refused > 1


@pytest.mark.parametrize("name", [layout.META, layout.MANIFEST])
def test_no_document_is_lost_with_a_page_that_others_can_replace(path, name, monkeypatch):
    monkeypatch.setattr(rebuild, "WRITTEN_BYTES", 2000)
    before = stored(path)
    harm(path, leaf_of(path, name))
    assert not opens(path)

    told = simdb.rebuild(path)

    assert told.lost_count == 0
    assert stored(path) == before
    assert_sound(path)


@pytest.mark.parametrize("name", [layout.DOCUMENTS, layout.DELTA])
def test_values_on_pages_of_their_own_outlive_the_page_with_their_keys(tmp_path, name, monkeypatch):
    # The layout of the pages depends on the key of the ids, and is the same in every run with one.
    monkeypatch.setattr(kernel, "new_id_key", lambda: b"k" * kernel.ID_KEY_BYTES)
    path, options = tmp_path / "db", simdb.Options(delta_documents=2000)
    bits = np.arange(2700, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    with simdb.open(path, options=options, durability="none") as database:
        database.insert_many(range(2200), bits[:2200])
        database.insert_many(range(2200, 2700), bits[2200:])
    before = stored(path)
    harm(path, leaf_of(path, name))

    told = simdb.rebuild(path, drop_damaged=True)

    kept = stored(path)
    assert told.lost_count == len(before) - len(kept)
    assert kept == before
    assert_sound(path)


def test_notes_outlive_the_page_above_them_whatever_their_names(path):
    names = [f"{'n' * (at % 12)}{at}" for at in range(400)]
    with simdb.open(path, durability="none") as database, database.write() as transaction:
        for name in names:
            transaction.set_note(name, [name] * 5)
    harm(path, leaf_of(path, layout.META))  # which is a branch now
    assert not opens(path)

    simdb.rebuild(path, drop_damaged=True)

    with simdb.open(path, "r") as database:
        assert [name for name in names if database.note(name) != [name] * 5] == []


def test_a_lost_meta_page_does_not_take_the_last_commit_with_it(path):
    before = stored(path)
    with open(path / DATA_FILE, "rb") as file:
        newest = pages.last_commit(file.fileno()) % 2
    harm(path, newest)

    told = simdb.rebuild(path, drop_damaged=True)

    assert "last" in before
    assert stored(path) == before
    assert any("meta page" in note for note in told.notes)


def test_lost_documents_are_said_in_words_and_without_leave_nothing_changes(path):
    before = stored(path)
    harm(path, leaf_of(path, layout.VOLATILITY))
    content = bytearray((path / DATA_FILE).read_bytes())
    for at in range(2 * PAGE, len(content), PAGE):  # and the values that lay below it
        if content[at + 20 : at + 24] == layout.COLUMN_KINDS[layout.VECTOR]:
            content[at + 64 : at + 128] = bytes(64)
    (path / DATA_FILE).write_bytes(content)

    with pytest.raises(simdb.CorruptError, match="drop_damaged=True"):
        simdb.rebuild(path)
    assert (path / DATA_FILE).read_bytes() == content
    told = simdb.rebuild(path, drop_damaged=True)

    lost = len(before.keys() - stored(path).keys())
    assert 0 < lost == told.lost_count
    assert told.losses[0].startswith(f"{lost} documents were lost: {len(told.dropped)} ids in")
    assert_sound(path)


def test_deletions_that_are_lost_with_their_page_bring_no_document_back(path):
    before = stored(path)
    harm(path, leaf_of(path, layout.DELETED))

    told = simdb.rebuild(path, drop_damaged=True)

    assert stored(path).keys() <= before.keys()
    assert told.lost_count == len(before) - len(stored(path))


def test_values_under_strange_keys_of_manifest_and_meta_are_gone_after_a_rebuild(path):
    with simdb.open(path, "w") as database:
        environment = database._store.environment

        def put(writer):
            for name in (layout.MANIFEST, layout.META):
                writer.put(b"\2\0\0\0\0\0\0\0", b"x" * 24, db=environment.subdatabase(name))

        environment.write(put)
        assert len(list(database.check(deep=True))) == 2

        database.rebuild(drop_damaged=True)

        assert list(database.check(deep=True)) == []


@pytest.mark.parametrize("harm_table", ["body", "head", "gone"])
def test_a_damaged_idf_table_is_used_as_far_as_it_can_be_read(tmp_path, harm_table):
    path, words = tmp_path / "db", [f"word{at} word{at + 1} word{at + 2}" for at in range(4000)]
    sketch = simdb.Simhash(shingle=1, weighting="tf-idf")
    with simdb.open(path, options=simdb.Options(sketch=sketch), durability="none") as database:
        table = database.fit_idf(words)
        database.insert_many(range(200), words[:200])
    before, file = stored(path), path / IDF_FILE
    content = bytearray(file.read_bytes())
    if harm_table == "gone":
        file.unlink()
    else:
        at = 0 if harm_table == "head" else len(content) // 2 // PAGE * PAGE
        content[at : at + PAGE] = np.random.default_rng(1).bytes(PAGE)
        file.write_bytes(content)

    told = simdb.rebuild(path, drop_damaged=True)

    assert any("IDF table" in each or "idf.table" in each for each in told.losses)
    assert stored(path) == before
    assert_sound(path)
    with simdb.open(path, "w") as database:
        if harm_table == "body":
            kept = len(database.options.sketch.idf)
            assert len(table) - 520 <= kept < len(table)
        else:
            with pytest.raises(simdb.OptionError):
                database.insert("new", words[1])
            database.set_idf(table)
        assert database.insert("new", words[1]) is None
        assert 1 in [match.id for match in database.query(words[1])]


def test_options_that_are_lost_are_not_guessed_and_nothing_is_changed(path):
    content = (path / DATA_FILE).read_bytes()
    harmed = content.replace(b"smdbopti", b"smdbXXXX")
    (path / DATA_FILE).write_bytes(harmed)

    with pytest.raises(simdb.CorruptError, match="options"):
        simdb.rebuild(path, drop_damaged=True)

    assert (path / DATA_FILE).read_bytes() == harmed


def test_what_is_no_database_is_refused_as_opening_refuses_it(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / DATA_FILE).write_bytes(os.urandom(5 * PAGE))

    with pytest.raises(simdb.FormatError):
        simdb.rebuild(tmp_path / "other", drop_damaged=True)


def test_a_damaged_database_that_is_open_elsewhere_is_left_alone(path):
    with simdb.open(path, "r"):
        harm(path, leaf_of(path, layout.META))
        content = (path / DATA_FILE).read_bytes()

        with pytest.raises((simdb.BusyError, simdb.CorruptError)):
            simdb.rebuild(path, drop_damaged=True)

        assert (path / DATA_FILE).read_bytes() == content


def test_an_empty_data_file_is_damage_that_nothing_is_saved_of(tmp_path):
    """The rescue ended in a traceback of mmap."""
    simdb.open(tmp_path / "db").close()
    (tmp_path / "db" / DATA_FILE).write_bytes(b"")

    with pytest.raises(simdb.Error, match="is empty"):
        simdb.rebuild(tmp_path / "db", drop_damaged=True)
