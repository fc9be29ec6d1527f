"""Damage of every kind: derived values are made again, and every other loss is reported."""

import errno

import numpy as np
import pytest
from soundness import TINY, assert_sound, everything

import simdb
from simdb.database.maintenance import rebuild
from simdb.storage import codec, layout

OPTIONS = simdb.Options(delta_documents=30, growth=2, blocks=4, sketch=simdb.Simhash(shingle=1))
FAR = np.uint64(0x9E3779B97F4A7C15)  # its multiples are far from each other
WORDS = ["red", "green", "blue", "grey", "pink", "white", "black", "brown"]


@pytest.fixture
def path(tmp_path):
    """Runs of 100 and 41 documents, and a delta of 3 and 2; metadata, deletions, calibration."""
    with simdb.open(tmp_path / "db", options=OPTIONS) as database:
        bits = np.arange(100, dtype=np.uint64) << np.uint64(20)
        database.insert_many(range(100), bits, [{"n": at} for at in range(100)])
        database.compact()
        texts = [" ".join(WORDS[at % 3 : 3 + at % 6]) for at in range(41)]
        database.insert_many([f"t{at}" for at in range(41)], texts)
        database.insert_many(["d1", "d2", "d3"], [5, "red", ""], [1, None, 3])
        database.delete_many([3, "t7", "d1"])
        database.calibrate()
        database.insert_many(["d4", b"d5"], ["blue pink", 9])
        assert len(database.stats().runs) == 2
    return tmp_path / "db"


def edit(path, name, change):
    """Replace the values of a sub-database by those that `change` makes of (key, value) pairs."""
    with simdb.open(path, "w") as database:
        environment = database._store.environment

        def write(transaction):
            handle = environment.subdatabase(name)
            stored = [(bytes(key), bytes(value)) for key, value in transaction.cursor(handle)]
            for key, value in stored:
                changed = change(key, value)
                if changed is None:
                    transaction.delete(key, db=handle)
                elif changed != value:
                    transaction.put(key, changed, db=handle)

        environment.write(write)


def flip(path, name, kind):
    """Flip a bit of the last payload byte in every value of a kind in a sub-database."""

    def change(key, value):
        return value[:-1] + bytes([value[-1] ^ 4]) if kind_of(key, value) == kind else value

    edit(path, name, change)


def remove(path, name, kind):
    edit(path, name, lambda key, value: None if kind_of(key, value) == kind else value)


def spoil_first(path, name):
    """End the first value of a sub-database with another byte."""
    first = []
    edit(path, name, lambda key, value: value if first else first.append(key) or value[:-1] + b"\0")


def kind_of(key, value):
    """Return the kind of a value; of evenly spaced numbers and ints, that of their column."""
    kind = codec.HEADER.unpack_from(value)[1]
    if kind in (codec.EVEN_KIND, codec.INTEGERS_KIND):
        return layout.COLUMN_KINDS[layout.segment_key_parts(key)[1]]
    return kind


def said(path):
    with simdb.open(path, "r") as database:
        return everything(database)


def dropped(path, message):
    """Assert that a rebuild refuses to lose anything; return the report of one that may."""
    with simdb.open(path, "w") as database:
        with pytest.raises(simdb.CorruptError, match=message):
            database.rebuild()
        return database.rebuild(drop_damaged=True)


COLUMNS = [
    (layout.VOLATILITY if kind == b"vect" else layout.DOCUMENTS, kind)
    for kind in layout.COLUMN_KINDS.values()
]


@pytest.mark.parametrize("harm", [flip, remove])
def test_damaged_and_missing_tables_are_made_anew(path, harm):
    expected = said(path)
    for name in (layout.table_name(0), layout.table_name(3), layout.IDS):
        for kind in layout.TABLE_KINDS.values():
            harm(path, name, kind)
    with simdb.open(path, "w") as database:
        assert list(database.check(deep=True))

        report = database.rebuild()

    assert (report.losses, report.dropped, report.unknown_count) == ((), (), 0)
    assert report.document_count == len(expected["ids"])
    assert said(path) == expected
    assert_sound(path)


def test_tables_that_are_well_formed_and_wrong_are_made_anew(path):
    expected = said(path)

    def swap(key, value):
        if value[4:8] != b"ords":
            return value
        array = codec.decode_array(b"ords", key, value, "<u4")[::-1]
        return codec.encode_array(b"ords", key, array).tobytes()

    edit(path, layout.table_name(1), swap)
    edit(path, layout.IDS, swap)
    with simdb.open(path, "w") as database:
        database.rebuild()

    assert said(path) == expected
    assert_sound(path)


@pytest.mark.few(2)
@pytest.mark.parametrize("harm", [flip, remove])
@pytest.mark.parametrize(("name", "kind"), COLUMNS)
def test_lost_columns_are_refused_by_name_and_dropped_when_asked(path, name, kind, harm):
    expected = said(path)
    known = {id for _, id in expected["ids"]}
    harm(path, name, kind)
    before = (path / "data.mdb").read_bytes()
    message = f"'({kind.decode()}|even|inte)'.*drop_damaged=True"

    with simdb.open(path, "w") as database, pytest.raises(simdb.CorruptError, match=message):
        database.rebuild()
    assert (path / "data.mdb").read_bytes() == before
    report = dropped(path, message)
    left = {id for _, id in said(path)["ids"]}

    assert left == {"d2", "d3", "d4", b"d5"} or kind == b"vect"
    assert report.losses
    assert left < known
    if kind in (b"offs", b"iden"):
        assert report.unknown_count == len(known) - len(left)
    else:
        assert set(report.dropped) == known - left
        assert report.unknown_count == 0
    assert_sound(path)


def test_a_damaged_part_of_the_delta_is_dropped_alone(path):
    known = {id for _, id in said(path)["ids"]}
    spoil_first(path, layout.DELTA)
    report = dropped(path, "delta")

    assert {id for _, id in said(path)["ids"]} == known - {"d2", "d3"}
    assert report.unknown_count == 2
    assert_sound(path)


def test_documents_stay_when_only_their_metadata_is_lost(path):
    expected = said(path)
    flip(path, layout.METADATA, b"meta")

    report = dropped(path, "lose their metadata")

    found = said(path)
    assert found["ids"] == expected["ids"]
    assert found["fingerprints"] == expected["fingerprints"]
    assert set(map(str, found["metadata"])) == {"None"}
    assert report.dropped == ()
    assert len(report.losses) == 2
    assert_sound(path)


def test_deletions_that_are_lost_bring_no_document_back(path):
    known = {id for _, id in said(path)["ids"]}
    flip(path, layout.DELETED, b"dead")

    report = dropped(path, "are not known")

    assert said(path)["ids"] == []
    assert known < set(report.dropped)
    assert_sound(path)


def test_a_lost_manifest_is_made_anew(path):
    expected = said(path)
    remove(path, layout.MANIFEST, b"mani")

    with simdb.open(path, "w") as database:
        with pytest.raises(simdb.CorruptError, match="mani"):
            len(database)
        report = database.rebuild()

    assert "found by their columns" in report.notes[0]
    assert said(path) == expected
    assert_sound(path)


def test_without_manifest_and_states_nothing_is_guessed(path):
    flip(path, layout.MANIFEST, b"mani")
    remove(path, layout.DOCUMENTS, b"stat")

    with simdb.open(path, "w") as database, pytest.raises(simdb.CorruptError, match="from a copy"):
        database.rebuild(drop_damaged=True)


def test_a_damaged_calibration_is_removed_and_said(path):
    expected = said(path)
    flip(path, layout.META, b"cali")

    with simdb.open(path, "w") as database:
        report = database.rebuild()
        assert database.plan(similarity=0.8)

    assert "calibrate again" in report.notes[0]
    assert said(path)["ids"] == expected["ids"]
    assert_sound(path)


@pytest.mark.parametrize(("kind", "is_harmed"), [("distance", True), ("similarity", False)])
def test_kept_clusters_are_made_anew(tmp_path, kind, is_harmed):
    path = tmp_path / "db"
    sketch = simdb.Simhash(shingle=1)
    options = simdb.Options(delta_documents=4, growth=2, sketch=sketch, keep_clusters=kind,
                            similarity=0.5)  # fmt: skip
    with simdb.open(path, options=options) as database:
        texts = [" ".join(WORDS[at % 3 : 3 + at % 6]) for at in range(40)]
        database.insert_many(range(40), texts)
        database.delete_many([1, 2, 30])
        expected = [database.cluster(id) for id in database]
    if is_harmed:
        flip(path, layout.CLUSTERS, b"clus")

    with simdb.open(path, "w") as database:
        database.rebuild()

        assert [database.cluster(id) for id in database] == expected
        assert max(map(len, expected)) > 1
    assert_sound(path)


def test_clusters_that_a_search_below_recall_1_found_stay(tmp_path, monkeypatch):
    def search(*_):
        raise AssertionError("another search may connect others")

    clusters = {"keep_clusters": "similarity", "similarity": 0.5, "recall": 0.9}
    settings = simdb.Options(sketch=simdb.Simhash(shingle=1), **clusters)
    with simdb.open(tmp_path / "db", options=settings) as database:
        database.insert_many(range(40), [" ".join(WORDS[at % 3 : 3 + at % 6]) for at in range(40)])
        expected = [database.cluster(id) for id in database]
        monkeypatch.setattr(rebuild, "connected_labels", search)

        database.rebuild()

        assert [database.cluster(id) for id in database] == expected
        assert max(map(len, expected)) > 1


def test_who_was_connected_by_a_lost_document_is_not_connected_any_more(tmp_path):
    clusters = {"keep_clusters": "similarity", "similarity": 0.6, "recall": 0.9}
    settings = simdb.Options(sketch=simdb.Simhash(shingle=1), **clusters)
    with simdb.open(tmp_path / "db", options=settings) as database:
        database.insert("link", "red green blue grey pink white")
        database.insert_many(["a", "b"], ["red green blue grey", "blue grey pink white"])
        assert len(database.cluster("a")) == 3
    spoil_first(tmp_path / "db", layout.DELTA)

    with simdb.open(tmp_path / "db", "w") as database:
        database.rebuild(drop_damaged=True)

        assert set(database) == {"a", "b"}
        assert len(database.cluster("a")) == 1
    assert_sound(tmp_path / "db")


def test_a_value_under_a_key_of_something_else_is_named_and_dropped_when_asked(path):
    # Once, it raised struct.error.
    expected = said(path)
    for name in (layout.DELETED, layout.METADATA, layout.DELTA):
        with simdb.open(path, "w") as database:
            environment = database._store.environment
            handle = environment.subdatabase(name)
            environment.write(lambda writer, at=handle: writer.put(b"abc", b"value", db=at))
        if name == layout.DELETED:
            with (
                simdb.open(path, "r") as database,
                pytest.raises(simdb.CorruptError, match="616263 is too short for a number"),
            ):
                database.get("d2")

        report = dropped(path, f"{name.decode()} has a value under 6162")

        assert report.dropped == ()
        assert said(path) == expected
        assert_sound(path)


@pytest.fixture
def clustered(tmp_path):
    """A database with maintained clusters, some of which lost a member."""
    settings = simdb.Options(delta_documents=4, growth=2, keep_clusters="distance")
    with simdb.open(tmp_path / "db", options=settings) as database:
        database.insert_many(range(60), np.arange(60, dtype=np.uint64) // 3 * FAR)
        database.delete_many([1, 30])
        yield database
    assert_sound(tmp_path / "db")


def test_a_rebuild_that_fails_while_it_finds_clusters_changes_nothing(clustered, monkeypatch):
    # Once, the documents were committed before, and their clusters were lost.
    expected = [clustered.cluster(id) for id in clustered]

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(rebuild, "connected_labels", fail)
    with pytest.raises(MemoryError):
        clustered.rebuild()

    assert [clustered.cluster(id) for id in clustered] == expected
    assert list(clustered.check(deep=True)) == []


@pytest.mark.parametrize("module", ["os.replace", "os.unlink", "sync_directory"])
def test_a_rebuild_whose_file_cannot_be_shrunk_says_so_and_is_done(clustered, monkeypatch, module):
    # Once, it raised an error that said that nothing was changed.
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    is_own = module == "sync_directory"
    where = "simdb.storage.files.sync_directory" if is_own else module
    monkeypatch.setattr(where, fail)
    report = clustered.rebuild()
    monkeypatch.undo()
    clustered.insert("later", 3 * int(FAR) % 2**64)

    assert report.document_count == 58
    assert "the file was not shrunk, and nothing in it is lost" in report.note
    assert clustered.cluster(0) == [0, 2]
    assert clustered.cluster(10) == [9, 10, 11, "later"]
    assert clustered.stats().cluster_count == 20
    assert list(clustered.check(deep=True)) == []


def test_what_is_open_elsewhere_goes_on_with_its_snapshot(open_database):
    database = open_database(options=TINY)
    database.insert_many(range(20), range(20))
    other = open_database()
    snapshot = other.read()

    report = database.rebuild()

    assert "snapshots" in report.note
    assert list(snapshot) == list(range(20))
    snapshot.close()
    assert [each.id for each in other.query(3, distance=0)] == [3]
