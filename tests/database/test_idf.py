"""The IDF table of a database: set once, stored beside it, never replaced."""

import os
import pickle
from dataclasses import replace

import pytest
from soundness import assert_sound

import simdb
from simdb.database.write import idf
from simdb.storage import idf_file
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


def test_a_database_weighs_by_its_table_whenever_it_is_opened(path):
    bits = simdb.fingerprints(TEXTS, WEIGHTED.sketch).bits.tolist()

    with simdb.open(path, options=LACKING) as database:
        assert database.options == WEIGHTED
        assert not database.options.sketch.idf.entries.flags.owndata
        assert [database.get(id).fingerprint.bits for id in range(5)] == bits
        assert database.query(TEXTS[1])[0].id == 1
        database.insert("again", TEXTS[1])
        assert database.get("again").fingerprint.bits == bits[1]
        shown = database.stats().options["sketch"]["idf"]
        size = TABLE.entries.nbytes + TABLE.directory.nbytes
        assert shown == {"features": len(TABLE), "documents": 5, "bytes": size}
        assert database.compact().note == ""
        with pickle.loads(pickle.dumps(database)) as again:
            assert again.options == WEIGHTED
        database.copy(f"{path}.copy")
    with simdb.open(f"{path}.copy") as copied:
        assert copied.options == WEIGHTED
        assert copied.query(TEXTS[1])[0].id == 1
    assert bits != simdb.fingerprints(TEXTS, PLAIN).bits.tolist()
    assert_sound(path)


def test_options_with_an_equal_table_fit_and_with_another_do_not(path):
    simdb.open(path, options=WEIGHTED).close()
    wanted = replace(WEIGHTED, sketch=replace(WEIGHTED.sketch, idf=OTHER))

    with pytest.raises(simdb.OptionError, match=r"sketch\.idf is <IdfTable of .*, not <IdfTable"):
        simdb.open(path, options=wanted)
    with pytest.raises(simdb.OptionError, match="weighting"):
        simdb.open(path, options=simdb.Options(sketch=PLAIN))


def test_texts_are_refused_while_the_table_is_missing(lacking):
    for verb in (
        lambda: lacking.insert(1, TEXT),
        lambda: lacking.insert_many([1, 2], ["a", ["b"]]),
        lambda: lacking.add_if_new(1, TEXT),
        lambda: lacking.query(TEXT),
        lambda: lacking.first(TEXT.split()),
        lambda: lacking.query_many([TEXT]),
    ):
        with pytest.raises(simdb.OptionError, match="set_idf"):
            verb()

    assert len(lacking) == 0
    assert lacking.options == LACKING


def test_a_table_that_is_fitted_serves_everybody_who_has_the_database_open(lacking, open_database):
    reader = open_database(mode="r")
    writer = open_database(mode="w")
    with lacking.read() as snapshot:
        assert lacking.fit_idf(iter(TEXTS)) == TABLE

        writer.insert(1, TEXT)
        assert snapshot.query(TEXT) == []
    expected = simdb.fingerprint(TEXT, WEIGHTED.sketch).bits
    assert lacking.get(1).fingerprint.bits == expected
    assert [match.id for match in reader.query(TEXT)] == [1]
    assert lacking.options == reader.options == WEIGHTED


def test_the_same_table_again_changes_nothing_and_another_is_refused(lacking):
    lacking.set_idf(TABLE)
    lacking.insert(1, TEXT)

    lacking.set_idf(simdb.fit_idf(TEXTS, PLAIN))

    with pytest.raises(simdb.OptionError, match=r"has an IDF table already.*cannot change"):
        lacking.set_idf(OTHER)
    assert lacking.options == WEIGHTED


def test_no_table_is_set_and_no_document_read_once_something_was_inserted(lacking):
    def documents():
        raise AssertionError("read")
        yield

    lacking.insert("ready", 5)

    with pytest.raises(simdb.OptionError, match="inserted"):
        lacking.set_idf(TABLE)
    with pytest.raises(simdb.OptionError, match="inserted"):
        lacking.fit_idf(documents())
    lacking.delete("ready")
    lacking.compact()
    with pytest.raises(simdb.OptionError, match="inserted"):
        lacking.set_idf(TABLE)
    assert not os.path.exists(f"{lacking.path}/idf.table")


def test_a_table_must_fit_and_only_who_may_write_sets_it(lacking, open_database, tmp_path):
    with pytest.raises(simdb.OptionError, match="shingle was 3, not 1"):
        lacking.set_idf(simdb.fit_idf(TEXTS))
    with pytest.raises(simdb.OptionError, match="IdfTable"):
        lacking.set_idf("words.idf")
    plain = open_database(tmp_path / "plain")
    with pytest.raises(simdb.OptionError, match="takes no idf"):
        plain.set_idf(TABLE)
    assert not os.path.exists(f"{plain.path}/idf.table")
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


def test_a_lost_another_or_cut_off_table_is_damage(path):
    with simdb.open(path, "r") as database:
        os.unlink(path / "idf.table")

        assert [finding.place for finding in database.check()] == ["idf.table"]
        assert database.query(TEXTS[0])[0].id == 0
    with pytest.raises(simdb.CorruptError, match=r"lost its IDF table.*idf\.table"):
        simdb.open(path)
    simdb.save_idf(OTHER, path / "idf.table")
    with pytest.raises(simdb.CorruptError, match="another IDF table"):
        simdb.open(path, "r")
    for size in (100, 63, 0):
        os.truncate(path / "idf.table", size)
        with pytest.raises(simdb.CorruptError, match=r"idf\.table"):
            simdb.open(path)
    simdb.save_idf(TABLE, path / "idf.table")
    assert_sound(path)


def test_the_check_finds_a_changed_weight_and_a_copy_is_not_made_of_it(path, tmp_path):
    content = bytearray((path / "idf.table").read_bytes())
    content[-8] ^= 1
    (path / "idf.table").write_bytes(content)

    with simdb.open(path, "r") as database:
        for deep in (False, True):
            (finding,) = database.check(deep=deep)
            assert finding.place == "idf.table"
            assert "checksum differs" in finding.message
        with pytest.raises(simdb.CorruptError, match="checksum"):
            database.copy(tmp_path / "copy")

    assert not (tmp_path / "copy").exists()


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


@pytest.mark.parametrize(
    "sketch", [simdb.TextSketch(shingle=1), simdb.TextSketch(unit="characters")]
)
@pytest.mark.parametrize("kind", [simdb.Simhash, simdb.Minhash])
def test_a_table_of_a_plain_sketch_serves_sketches_with_the_same_options(kind, sketch):
    table = simdb.fit_idf(TEXTS, sketch)

    user = kind(shingle=sketch.shingle, unit=sketch.unit, weighting="tf-idf", idf=table)

    assert user.feature_settings == sketch.feature_settings == table.settings


def test_a_plain_sketch_refuses_what_no_sketch_can_do():
    with pytest.raises(simdb.OptionError, match="shingle"):
        simdb.TextSketch(shingle=0)
