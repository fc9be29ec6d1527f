"""The IDF table of a database: set once, stored beside it, never replaced."""

import os
import pickle
from dataclasses import replace

import pytest
from soundness import assert_sound

import simdb
from simdb.database.write import idf
from simdb.storage import idf_file, layout
from simdb.storage.codec import decode_object
from simdb.storage.environment import MapFull

PLAIN = simdb.Simhash(shingle=1)
TEXTS = ["the red fox", "the the green fox", "the blue hare", "a hare and a fox", "the the the"]
TABLE = simdb.fit_idf(TEXTS, PLAIN)
OTHER = simdb.fit_idf(TEXTS[:3], PLAIN)
LACKING = simdb.Options(sketch=replace(PLAIN, weighting="tf-idf"), polytopes=4)
WEIGHTED = simdb.Options(sketch=replace(PLAIN, weighting="tf-idf", idf=TABLE), polytopes=4)
TEXT = "the hare and the red fox"


@pytest.fixture
def path(tmp_path):
    """A database with a table and the texts."""
    with simdb.open(tmp_path / "db", options=WEIGHTED) as database:
        database.insert_many(range(5), TEXTS)
    return tmp_path / "db"


@pytest.fixture
def lacking(open_database):
    """An empty database without its table."""
    return open_database(options=LACKING)


def stored_options(database):
    with database._store.environment.reading() as transaction:
        handle = database._store.environment.subdatabase(layout.META)
        value = transaction.get(layout.OPTIONS_KEY, db=handle)
        return decode_object(layout.OPTIONS_KIND, layout.OPTIONS_KEY, value)


def test_a_database_weighs_by_its_table_whenever_it_is_opened(path):
    bits = simdb.fingerprints(TEXTS, WEIGHTED.sketch).bits.tolist()

    with simdb.open(path) as database:
        assert database.options == WEIGHTED
        assert [database.get(id).fingerprint.bits for id in range(5)] == bits
        assert database.query(TEXTS[1])[0].id == 1
        database.insert("again", TEXTS[1])
        assert database.get("again").fingerprint.bits == bits[1]
    assert bits != simdb.fingerprints(TEXTS, PLAIN).bits.tolist()
    assert_sound(path)


def test_the_table_lies_in_a_file_and_the_options_name_its_checksum(path):
    with simdb.open(path, "r") as database:
        named = stored_options(database)["sketch"]["idf"]

    assert simdb.load_idf(path / "idf.table") == TABLE
    assert named == int.from_bytes((path / "idf.table").read_bytes()[56:64], "little")


def test_the_table_is_read_in_place_by_who_creates_and_by_who_opens(open_database):
    created = open_database(options=WEIGHTED)
    opened = open_database(mode="r")

    for database in (created, opened):
        assert not database.options.sketch.idf.entries.flags.owndata


def test_options_without_a_table_mean_the_stored_one(path):
    with simdb.open(path, options=LACKING) as database:
        assert database.options == WEIGHTED


def test_options_with_an_equal_table_fit_and_with_another_do_not(path):
    simdb.open(path, options=WEIGHTED).close()
    wanted = replace(WEIGHTED, sketch=replace(WEIGHTED.sketch, idf=OTHER))

    with pytest.raises(simdb.OptionError, match=r"sketch\.idf is <IdfTable of .*, not <IdfTable"):
        simdb.open(path, options=wanted)
    with pytest.raises(simdb.OptionError, match="weighting"):
        simdb.open(path, options=simdb.Options(sketch=PLAIN))


@pytest.mark.parametrize(
    "verb",
    [
        lambda database: database.insert(1, TEXT),
        lambda database: database.insert_many([1, 2], ["a", ["b"]]),
        lambda database: database.add_if_new(1, TEXT),
        lambda database: database.query(TEXT),
        lambda database: database.first(TEXT.split()),
        lambda database: database.query_many([TEXT]),
    ],
)
def test_texts_are_refused_while_the_table_is_missing(lacking, verb):
    with pytest.raises(simdb.OptionError, match="set_idf"):
        verb(lacking)

    assert len(lacking) == 0
    assert lacking.options == LACKING


def test_a_table_that_is_set_serves_everybody_who_has_the_database_open(lacking, open_database):
    reader = open_database(mode="r")
    writer = open_database(mode="w")

    lacking.set_idf(TABLE)

    writer.insert(1, TEXT)
    expected = simdb.fingerprint(TEXT, WEIGHTED.sketch).bits
    assert lacking.get(1).fingerprint.bits == expected
    assert [match.id for match in reader.query(TEXT)] == [1]
    assert lacking.options == reader.options == WEIGHTED


def test_a_snapshot_taken_before_the_table_was_set_goes_on(lacking):
    with lacking.read() as snapshot:
        lacking.set_idf(TABLE)
        lacking.insert(1, TEXT)

        assert snapshot.query(TEXT) == []
    assert lacking.query(TEXT)[0].id == 1


def test_a_table_is_fitted_by_the_options_of_the_database(lacking):
    table = lacking.fit_idf(iter(TEXTS))

    assert table == TABLE
    assert lacking.options == WEIGHTED


def test_no_document_is_read_for_a_table_that_could_not_be_set(lacking, open_database):
    def documents():
        raise AssertionError("read")
        yield

    lacking.insert("ready", 5)

    with pytest.raises(simdb.OptionError, match="inserted"):
        lacking.fit_idf(documents())
    with pytest.raises(simdb.ReadOnlyError):
        open_database(mode="r").fit_idf(documents())


def test_the_same_table_again_changes_nothing_and_another_is_refused(lacking):
    lacking.set_idf(TABLE)
    lacking.insert(1, TEXT)

    lacking.set_idf(simdb.fit_idf(TEXTS, PLAIN))

    with pytest.raises(simdb.OptionError, match=r"has an IDF table already.*cannot change"):
        lacking.set_idf(OTHER)
    assert lacking.options == WEIGHTED


def test_a_table_that_is_set_before_anything_was_inserted_stays_too(lacking):
    lacking.set_idf(TABLE)

    with pytest.raises(simdb.OptionError, match="cannot change"):
        lacking.set_idf(OTHER)


def test_no_table_is_set_once_something_was_inserted(lacking):
    lacking.insert("ready", 5)

    with pytest.raises(simdb.OptionError, match="inserted"):
        lacking.set_idf(TABLE)
    lacking.delete("ready")
    lacking.compact()
    with pytest.raises(simdb.OptionError, match="inserted"):
        lacking.set_idf(TABLE)
    assert not os.path.exists(f"{lacking.path}/idf.table")


def test_a_table_of_other_options_is_refused(lacking):
    with pytest.raises(simdb.OptionError, match="shingle was 3, not 1"):
        lacking.set_idf(simdb.fit_idf(TEXTS))
    with pytest.raises(simdb.OptionError, match="IdfTable"):
        lacking.set_idf("words.idf")


def test_a_weighting_without_idf_takes_no_table(database):
    with pytest.raises(simdb.OptionError, match="takes no idf"):
        database.set_idf(TABLE)


def test_only_who_may_write_sets_a_table(lacking, open_database):
    with pytest.raises(simdb.ReadOnlyError):
        open_database(mode="r").set_idf(TABLE)
    with lacking.write(), pytest.raises(simdb.BusyError):
        lacking.set_idf(TABLE)
    lacking.close()
    with pytest.raises(simdb.ClosedError):
        lacking.set_idf(TABLE)


def test_a_map_that_is_full_grows_for_the_options(lacking, monkeypatch):
    put_options = idf.contents.put_options
    failures = [MapFull()]

    def fail_once(*arguments):
        if failures:
            raise failures.pop()
        put_options(*arguments)

    monkeypatch.setattr(idf.contents, "put_options", fail_once)
    lacking.set_idf(TABLE)

    assert lacking.options == WEIGHTED


def test_a_full_disk_leaves_the_database_as_it_was(lacking, monkeypatch):
    def fail(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(idf_file.os, "fsync", fail)
        with pytest.raises(simdb.FullError, match=r"idf\.table"):
            lacking.set_idf(TABLE)

    assert lacking.options == LACKING
    lacking.set_idf(TABLE)
    lacking.insert(1, TEXT)


def test_a_lost_table_is_damage(path):
    os.unlink(path / "idf.table")

    with pytest.raises(simdb.CorruptError, match=r"lost its IDF table.*idf\.table"):
        simdb.open(path)
    simdb.save_idf(TABLE, path / "idf.table")
    assert_sound(path)


def test_another_table_is_damage(path):
    simdb.save_idf(OTHER, path / "idf.table")

    with pytest.raises(simdb.CorruptError, match="another IDF table"):
        simdb.open(path, "r")


@pytest.mark.parametrize("size", [0, 63, 64, 100])
def test_a_table_that_was_cut_off_is_damage(path, size):
    os.truncate(path / "idf.table", size)

    with pytest.raises(simdb.CorruptError, match=r"idf\.table"):
        simdb.open(path)


@pytest.mark.parametrize("deep", [False, True])
def test_the_check_finds_a_changed_weight(path, deep):
    content = bytearray((path / "idf.table").read_bytes())
    content[-8] ^= 1
    (path / "idf.table").write_bytes(content)

    with simdb.open(path, "r") as database:
        findings = list(database.check(deep=deep))

    assert [finding.place for finding in findings] == ["idf.table"]
    assert "checksum differs" in findings[0].message


def test_the_check_finds_a_table_that_went_away(path):
    with simdb.open(path, "r") as database:
        os.unlink(path / "idf.table")

        findings = list(database.check())

        assert [finding.place for finding in findings] == ["idf.table"]
        assert database.query(TEXTS[0])[0].id == 0


def test_a_copy_has_the_table(path, tmp_path):
    with simdb.open(path, "r") as database:
        database.copy(tmp_path / "copy")

    with simdb.open(tmp_path / "copy") as copied:
        assert copied.options == WEIGHTED
        assert copied.query(TEXTS[0])[0].id == 0
    assert_sound(tmp_path / "copy")


def test_a_copy_of_a_database_without_a_table_has_none(lacking, tmp_path):
    lacking.copy(tmp_path / "copy")

    with simdb.open(tmp_path / "copy") as copied:
        assert copied.options == LACKING
        copied.set_idf(OTHER)
        assert copied.options.sketch.idf == OTHER
    assert lacking.options == LACKING


def test_a_damaged_table_is_not_copied_on(path, tmp_path):
    content = bytearray((path / "idf.table").read_bytes())
    content[-8] ^= 1
    (path / "idf.table").write_bytes(content)

    with simdb.open(path, "r") as database, pytest.raises(simdb.CorruptError, match="checksum"):
        database.copy(tmp_path / "copy")

    assert not (tmp_path / "copy").exists()


def test_compaction_keeps_the_table(path):
    with simdb.open(path) as database:
        database.delete(2)
        assert database.compact().note == ""

        assert database.options == WEIGHTED
        database.insert("new", TEXT)
    assert_sound(path)


def test_a_pickled_database_has_its_table(path):
    with simdb.open(path) as database, pickle.loads(pickle.dumps(database)) as again:
        assert again.options == WEIGHTED


def test_statistics_say_how_large_the_table_is(path, lacking):
    with simdb.open(path, "r") as database:
        shown = database.stats().options["sketch"]["idf"]

    size = TABLE.entries.nbytes + TABLE.directory.nbytes
    assert shown == {"features": len(TABLE), "documents": 5, "bytes": size}


def test_a_database_without_weights_of_features_has_no_file(database):
    database.insert(1, TEXT)

    assert not os.path.exists(f"{database.path}/idf.table")
    assert database.stats().options["sketch"]["idf"] is None


def test_strays_of_a_failed_creation_are_in_nobodys_way(tmp_path):
    (tmp_path / "db").mkdir()
    for name in ("idf.table", "idf.table.new"):
        (tmp_path / "db" / name).write_bytes(b"half")

    with simdb.open(tmp_path / "db", options=LACKING) as database:
        database.set_idf(TABLE)

    with simdb.open(tmp_path / "db") as database:
        assert database.options == WEIGHTED
    assert sorted(os.listdir(tmp_path / "db")) == [
        "data.mdb", "idf.table", "lock.mdb", "presence.lock", "writer.lock",
    ]  # fmt: skip
