"""A database of each format version is stored here; it must open and answer as it did, for ever."""

import json
import shutil
from pathlib import Path

import older
import polytope_tables
import pytest
import stored
from soundness import assert_sound

import simdb
from simdb.storage.codec import FORMAT_VERSION

HERE = Path(__file__).parent
VERSIONS = sorted(path.name for path in HERE.glob("v*") if path.is_dir())


def plain(answers):
    return json.loads(json.dumps(answers))


@pytest.fixture(params=VERSIONS)
def version(request, tmp_path):
    """Return a copy of a stored database, and its answers."""
    (tmp_path / "db").mkdir()
    shutil.copyfile(HERE / request.param / "data.mdb", tmp_path / "db" / "data.mdb")
    return tmp_path / "db", json.loads((HERE / request.param / "answers.json").read_text())


def test_a_stored_database_answers_as_it_did(version):
    path, answers = version

    with simdb.open(path, "r") as database:
        found = plain(stored.answers(database))

    assert found == answers
    assert_sound(path)


def test_a_stored_threshold_means_the_cosine_that_it_did(version):
    path, _ = version
    with simdb.open(path, "r") as database:
        options = database.options

        estimate = options.scale.to_cosine(options.similarity)

        is_newer = options.texts or options.fields  # before, the version took 0.8 for 0.889
        usual = 8 / 9 if is_newer else 0.889
        assert estimate == pytest.approx(0.7 if options.is_minhash else usual, abs=1e-9)


def test_a_stored_database_can_be_written_and_compacted(version):
    path, answers = version
    with simdb.open(path, "w") as database:
        options = database.options
        takes_texts = options.is_minhash or options.passages or options.features or options.texts
        made = [f"new {at}" for at in range(50)] if takes_texts else range(50)
        database.insert_many([f"new{at}" for at in range(50)], made)
        database.delete_many([f"new{at}" for at in range(50)])
        database.compact()

        assert plain(stored.answers(database)) == answers
    assert_sound(path)


@pytest.mark.parametrize("verb", ["compact", "rebuild"])
def test_a_stored_database_of_fingerprints_gets_cross_polytope_tables(version, verb):
    path, answers = version
    with simdb.open(path, "w") as database:
        if database.options.is_minhash:
            pytest.skip("signatures have no such tables")
        before = database.options.polytopes
        getattr(database, verb)()

        assert database.options.polytopes == before or before is None
        assert database.options.polytope_count >= 3
        assert polytope_tables.stored(database) == polytope_tables.expected(database)
        assert plain(stored.answers(database)) == answers
    assert_sound(path)


@pytest.mark.parametrize(
    ("name", "count"),
    [("v1", 4), ("v1-clusters", 4), ("v1-minhash", None), ("v1-polytopes", 3)],
)
def test_reading_a_stored_database_leaves_the_number_of_its_tables(name, count, tmp_path):
    shutil.copyfile(HERE / name / "data.mdb", tmp_path / "data.mdb")
    with simdb.open(tmp_path, "w") as database:
        database.insert("new", "x")
        number = database.options.polytopes
        is_named = older.has_number(database)

    assert number == count
    assert is_named == (count is not None)


@pytest.mark.parametrize("name", stored.STORED)
def test_the_same_documents_give_the_same_answers_today(name, tmp_path):
    answers = json.loads((HERE / name / "answers.json").read_text())
    stored.fill(tmp_path / "today", stored.STORED[name])

    with simdb.open(tmp_path / "today") as database:
        assert plain(stored.answers(database)) == answers


def test_a_database_that_an_unreleased_version_stored_is_moved_by_rebuild(tmp_path):
    # Its runs with weights alone have no tables by distance, and its options say so.
    answers = json.loads((HERE / "v1-keyed" / "answers.json").read_text())
    shutil.copyfile(HERE / "unreleased" / "data.mdb", tmp_path / "data.mdb")
    with pytest.raises(simdb.FormatError, match="simdb rebuild"):
        simdb.open(tmp_path)

    report = simdb.rebuild(tmp_path)

    with simdb.open(tmp_path) as database:
        assert (report.lost_count, database.options.blocks) == (0, 1)
        assert plain(stored.answers(database)) == answers
    assert_sound(tmp_path)


def test_every_version_and_every_option_that_adds_to_it_has_a_stored_database():
    versions = [f"v{number}" for number in range(1, FORMAT_VERSION + 1)]

    assert sorted({*versions, *stored.STORED}) == VERSIONS


def test_a_dump_of_version_1_is_loaded_and_answers_as_it_did(tmp_path):
    answers = json.loads((HERE / "dump-v1" / "answers.json").read_text())

    count = simdb.load(HERE / "dump-v1" / "data.dump", tmp_path / "new")

    with simdb.open(tmp_path / "new", "r") as database:
        found = stored.answers(database) | {"note": repr(database.note("name"))}
        assert count == len(database) == 41
    assert plain(found) == answers
    assert_sound(tmp_path / "new")
