"""A dump that is loaded is the same database, or nothing."""

import errno
import io
import os
import random
import threading
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pyarrow
import pytest
from dumps import dumped, parts_of, rewritten, summed
from hypothesis import given
from over import over
from pyarrow import ipc
from soundness import assert_sound, everything
from strategies import fingerprints, ids, metadata, options, texts

import simdb
from simdb.database.maintenance import dump as dumping
from simdb.storage import codec, transfer

entries = st.tuples(ids, st.one_of(fingerprints, texts), metadata)
batches = st.lists(entries, max_size=20, unique_by=lambda entry: (type(entry[0]), entry[0]))


@pytest.fixture
def small_groups(monkeypatch):
    """Make batches of a few documents, and commits of a few batches."""
    monkeypatch.setattr(dumping, "GROUP_DOCUMENTS", 3)
    monkeypatch.setattr(dumping, "COMMIT_DOCUMENTS", 7)


@pytest.fixture
def filled(database):
    """Runs, a delta, deleted documents, metadata and ids of several kinds."""
    bits = np.arange(40, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    database.insert_many(range(40), bits, [{"n": at} for at in range(40)])
    database.insert_many(["red", b"blue", "e"], ["red green", "blue grey", ""])
    database.delete_many([0, 17, 39, "red"])
    database.insert("red", "red green blue", ["again", None, b"\0", 2.5])
    return database


@given(
    chosen=options(),
    keeps=st.sampled_from(["none", "distance"]),
    first=batches,
    second=batches,
    gone=st.lists(ids, max_size=8),
)
def test_a_loaded_database_answers_as_the_dumped_one(
    tmp_path_factory, chosen, keeps, first, second, gone
):
    path, chosen = tmp_path_factory.mktemp("dump"), replace(chosen, keep_clusters=keeps)
    with simdb.open(path / "db", options=chosen, durability="none") as database:
        for batch in (first, second):
            columns = [list(column) for column in zip(*batch, strict=True)] or [[], [], []]
            database.insert_many(*columns, on_conflict="replace")
        database.delete_many(gone)
        content, expected = dumped(database), everything(database)
        clusters = [database.cluster(id) for id in database if keeps != "none"]

    count = simdb.load(io.BytesIO(content), path / "new")

    with simdb.open(path / "new", "r") as database:
        assert everything(database) == expected
        assert [database.cluster(id) for id in database if keeps != "none"] == clusters
        assert count == len(database)
    assert_sound(path / "new")


@over(("permutations", "stored_bits"), [(24, 1), (24, 2), (17, 8), (3, 32)])
@over("count", [1, 7, 15, 40])
def test_signatures_that_fill_no_words_are_loaded(
    tmp_path, monkeypatch, permutations, stored_bits, count
):
    """Arrow pads the rows of a part of a batch to words; 7 signatures of 6 bytes did not load."""
    monkeypatch.setattr(transfer, "BATCH_BYTES", 200)
    sketch = simdb.Minhash(permutations=permutations, stored_bits=stored_bits, shingle=1)
    options = simdb.Options(sketch=sketch, bands=1, rows=1)
    with simdb.open(None, options=options) as database:
        database.insert_many(range(count), [f"word{at} and more" for at in range(count)])
        content = dumped(database)
        expected = [database.get(id).signature for id in range(count)]
    place = tmp_path / f"{permutations} {stored_bits} {count}"

    simdb.load(io.BytesIO(content), place)

    with simdb.open(place, "r") as database:
        assert [database.get(id).signature for id in range(count)] == expected


def test_small_groups_and_metadata_larger_than_a_commit_are_the_same_database(
    filled, tmp_path, monkeypatch, small_groups
):
    monkeypatch.setattr(dumping, "COMMIT_BYTES", 100)
    filled.delete_many([3, 4, 5])  # a whole group
    filled.insert_many(range(100, 150), range(50), ["x" * 70] * 50)
    expected, counts = everything(filled), ([], [])

    filled.dump(tmp_path / "dump", counts[0].append)
    simdb.load(tmp_path / "dump", tmp_path / "new", progress=counts[1].append)

    with simdb.open(tmp_path / "new", "r") as database:
        assert everything(database) == expected
    assert counts[0][-1] == counts[1][-1] == len(filled)
    assert len(counts[1]) > 10
    assert_sound(tmp_path / "new")


def test_the_calibration_the_idf_table_and_the_stop_words_are_kept(open_database, tmp_path):
    sketch = simdb.Simhash(shingle=1, weighting="tf-idf", stop_words=["the"])
    database = open_database(options=simdb.Options(sketch=sketch))
    chance = random.Random(3)
    texts = [" ".join(chance.sample([f"w{at}" for at in range(30)], 25)) for _ in range(100)]
    database.fit_idf([*texts, "red green the", "green blue"])
    database.insert_many(range(100), texts)
    database.insert("a", "red green blue the")
    database.calibrate()
    expected = database.plan(similarity=0.8)

    simdb.load(io.BytesIO(dumped(database)), tmp_path / "new")

    with simdb.open(tmp_path / "new", "r") as loaded:
        assert loaded.options == database.options
        assert loaded.plan(similarity=0.8) == expected
        assert loaded.query("red green blue")[0].similarity > 0.99
    assert_sound(tmp_path / "new")


def test_a_dump_shows_one_state_while_others_write(database):
    class Slow(io.BytesIO):
        """A stream that inserts a document whenever a frame is written."""

        def write(self, content):
            thread = threading.Thread(target=database.insert, args=(f"late{self.tell()}", 1))
            thread.start()
            thread.join()
            return super().write(content)

    database.insert_many(range(10), range(10))
    stream = Slow()

    count = database.dump(stream)

    assert count == 10
    assert len(database) > 15


def test_a_stream_that_takes_and_gives_little_at_a_time_is_dumped_and_loaded(filled, tmp_path):
    class Narrow(io.BytesIO):
        """A stream that takes and gives a few bytes at a time, like a pipe."""

        def write(self, content):
            return super().write(bytes(content[:7]))

        def read(self, size=-1):
            return super().read(min(size, 5))

    stream = Narrow()
    filled.dump(stream)
    stream.seek(0)

    assert simdb.load(stream, tmp_path / "new") == len(filled)


def test_every_cut_of_a_dump_is_refused_and_leaves_nothing(filled, tmp_path):
    content = dumped(filled)

    for size in [*range(0, 100, 3), *range(100, len(content), 101), len(content) - 1]:
        with pytest.raises((simdb.CorruptError, simdb.FormatError), match=r"byte \d+|not a dump"):
            simdb.load(io.BytesIO(content[:size]), tmp_path / "new")
        (tmp_path / "cut").write_bytes(content[:size])
        with pytest.raises((simdb.CorruptError, simdb.FormatError), match=r"cut|a dump|byte \d+"):
            simdb.load(tmp_path / "cut", tmp_path / "new")
    with pytest.raises(simdb.CorruptError, match="goes on after its end"):
        simdb.load(io.BytesIO(content + b"x"), tmp_path / "new")

    assert sorted(os.listdir(tmp_path)) == ["cut", "db"]


def test_every_flipped_byte_is_refused_and_leaves_nothing(filled, tmp_path):
    content = dumped(filled)
    chance = random.Random(5)
    for at in [*range(80), *chance.sample(range(len(content)), 80)]:
        flipped = bytearray(content)
        flipped[at] ^= 1 << chance.randrange(8)

        with pytest.raises((simdb.CorruptError, simdb.FormatError)):
            simdb.load(io.BytesIO(flipped), tmp_path / "new")

    assert os.listdir(tmp_path) == ["db"]


def with_head(**changes):
    """Return a change of the head of a dump."""

    def change(found):
        return [("head", {**found[0][1], **changes}), *found[1:]]

    return change


def with_rows(change):
    """Return a change of each batch of documents."""

    def changed(found):
        return [(kind, change(each) if kind == "documents" else each) for kind, each in found]

    return changed


def with_column(name, make):
    """Return a change of one column: `make` makes it of its values."""

    def change(batch):
        at, field = batch.schema.names.index(name), batch.schema.field(name)
        changed = pyarrow.array(make(batch.column(name).to_pylist()), field.type)
        return batch.set_column(at, field, changed)

    return with_rows(change)


def with_text(schema, name):
    """Return the schema in which one column is of texts."""
    return schema.set(schema.names.index(name), pyarrow.field(name, pyarrow.string()))


def with_part(kind, payload):
    """Return a change that puts another part behind the head."""
    return lambda found: [found[0], (kind, payload), *found[1:]]


@over(
    "change",
    [
        with_part("calibration", codec.pack({"model": 1})),
        with_part("note", codec.pack(["name", b"\xc1"])),
        with_part("idf", b"some bytes"),
        with_part("what", b""),
        with_part("head", b""),
        lambda found: [*found, ("note", codec.pack(["name", b"\1"]))],
        lambda found: found[:-1],
        with_head(options={"sketch": {"idf": 1}}),
        with_head(options={"sketch": {"idf": None, "shingle": -1}}),
        with_head(resources={"stop_words": [1]}),
        with_head(documents=-1),
        with_column("state", lambda states: [9, *states[1:]]),
        with_column("id", lambda ids: [ids[1], *ids[1:]]),
        with_column("id", lambda ids: [b"", *ids[1:]]),
        with_column("metadata", lambda every: [b"\x81\x90\1", *every[1:]]),
        with_column("metadata", lambda every: [b"\xdd\xff\xff\xff\xff", *every[1:]]),
        with_rows(lambda batch: batch.cast(with_text(batch.schema, "fingerprint"))),
        with_rows(lambda batch: batch.drop_columns(["vector"])),
        with_rows(lambda batch: batch.append_column("time", pyarrow.array([0] * len(batch)))),
        with_rows(lambda batch: batch.rename_columns([f"{name}2" for name in batch.schema.names])),
    ],
)  # fmt: skip
def test_a_well_formed_dump_of_nonsense_is_refused_and_leaves_nothing(filled, tmp_path, change):
    content = rewritten(dumped(filled), change)

    with pytest.raises((simdb.CorruptError, simdb.FormatError)):
        simdb.load(io.BytesIO(content), tmp_path / "new")

    assert os.listdir(tmp_path) == ["db"]


@pytest.fixture(scope="module")
def all_parts(tmp_path_factory):
    """A dump that has a part of every kind, and every column."""
    words = [f"red green {at} blue grey" for at in range(40)]
    settings = simdb.Options(
        sketch=simdb.Simhash(shingle=1, weighting="tf-idf"), passages=True, features=True,
        keep_times="inserted", keep_clusters="similarity",
    )  # fmt: skip
    with simdb.open(tmp_path_factory.mktemp("all") / "db", options=settings) as database:
        database.fit_idf(words)
        database.insert_many(range(40), words, [{"n": at} for at in range(40)])
        database.calibrate(5)
        with database.write() as transaction:
            transaction.set_note("name", [1, 2])
        return dumped(database)


def test_a_dump_is_a_stream_of_arrow_with_a_row_for_each_document(all_parts):
    table = ipc.open_stream(all_parts).read_all()

    assert table.num_rows == 40
    assert {kind for kind, _ in parts_of(all_parts)} == {
        "head", "idf", "calibration", "note", "documents",
    }  # fmt: skip
    assert set(table.column_names) == {
        "id", "fingerprint", "state", "vector", "metadata", "cluster", "time", "passages",
        "features",
    }  # fmt: skip


@over(
    ("name", "make"),
    [
        ("passages", lambda every: [[5, 3], *every[1:]]),
        ("passages", lambda every: [[5, 5], *every[1:]]),
        ("passages", lambda every: [None, *every[1:]]),
        ("features", lambda every: [every[0][1:], *every[1:]]),
        ("features", lambda every: [None, *every[1:]]),
        ("time", lambda every: [None, *every[1:]]),
        ("cluster", lambda every: [None, *every[1:]]),
        ("cluster", lambda every: [7, *every[1:]]),
    ],
)
def test_what_is_beside_the_documents_is_refused_by_name_if_it_cannot_be(
    all_parts, tmp_path, name, make
):
    changed = rewritten(all_parts, with_column(name, make))
    without = rewritten(all_parts, with_rows(lambda batch: batch.drop_columns([name])))

    with pytest.raises(simdb.CorruptError, match="dump"):
        simdb.load(io.BytesIO(changed), tmp_path / "new")
    with pytest.raises(simdb.CorruptError, match="other columns"):
        simdb.load(io.BytesIO(without), tmp_path / "new")

    assert os.listdir(tmp_path) == []


@given(data=st.data())
def test_streams_of_any_bytes_give_only_errors_of_simdb(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any")
    settings = simdb.Options(delta_documents=4, keep_clusters="distance")
    with simdb.open(path / "db", options=settings, durability="none") as database:
        database.insert_many(range(6), [1, 1, 2, 3, 4, 5], ["m"] * 6)
        content = dumped(database)[:-8]
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, min(start + 4, len(content))))
    middle = data.draw(st.binary(max_size=6))

    try:
        changed = summed(content[:start] + middle + content[stop:])
        simdb.load(io.BytesIO(changed), path / "new")
    except simdb.Error:
        assert os.listdir(path) == ["db"]
    else:
        with simdb.open(path / "new", "r") as loaded:
            assert list(loaded.check(deep=False)) == []


def test_a_load_that_a_full_disk_ends_late_names_the_database_that_was_not_made(
    filled, tmp_path, monkeypatch
):
    # The message said that everything was stored, and nothing was.
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    content = dumped(filled)
    monkeypatch.setattr("simdb.storage.files.sync_directory", fail)
    with pytest.raises(
        simdb.FullError, match="new was not made, and nothing of it remains"
    ) as told:
        simdb.load(io.BytesIO(content), tmp_path / "new")

    assert "stored" not in str(told.value)
    assert os.listdir(tmp_path) == ["db"]


def test_a_dump_is_not_called_unreadable_for_want_of_a_descriptor(filled, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    filled.dump(tmp_path / "dump")
    monkeypatch.setattr(dumping, "open", refuse, raising=False)

    with pytest.raises(simdb.FullError, match="may open no more files"):
        simdb.load(tmp_path / "dump", tmp_path / "new")

    assert sorted(os.listdir(tmp_path)) == ["db", "dump"]


def test_a_dump_that_fails_leaves_the_older_one(filled, tmp_path, monkeypatch):
    filled.dump(tmp_path / "dump")
    before = (tmp_path / "dump").read_bytes()
    filled.insert("more", 1)
    monkeypatch.setattr(transfer.DumpWriter, "put_documents", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        filled.dump(tmp_path / "dump")

    assert (tmp_path / "dump").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["db", "dump"]


def test_what_is_no_dump_or_no_place_for_one_is_named(filled, tmp_path, monkeypatch):
    content = dumped(filled)
    (tmp_path / "empty").mkdir()
    for name in ("db", "empty"):
        with pytest.raises(simdb.ExistsError, match="give another path"):
            simdb.load(io.BytesIO(content), tmp_path / name)
    newer = content.replace(b"\1\0\0\0002\0", b"\1\0\0\0003\0")
    with pytest.raises(simdb.FormatError, match="newer simdb"):
        simdb.load(io.BytesIO(newer), tmp_path / "new")
    for other in (b"", b"simd", b"simdbidf" + bytes(60), b"PK\3\4" * 50):
        with pytest.raises((simdb.FormatError, simdb.CorruptError)):
            simdb.load(io.BytesIO(other), tmp_path / "new")
    with pytest.raises(simdb.NotFoundError, match="no dump"):
        simdb.load(tmp_path / "none", tmp_path / "new")
    for source in (tmp_path, 17.5):
        with pytest.raises(simdb.InputError):
            simdb.load(source, tmp_path / "new")
    with pytest.raises(simdb.InputError):
        filled.dump(17.5)
    with pytest.raises(simdb.Error):
        filled.dump(tmp_path / "none" / "dump")
    monkeypatch.setattr(transfer, "MESSAGE_BYTES_MAX", 600)
    with pytest.raises(simdb.CorruptError, match="bytes can follow byte"):
        simdb.load(io.BytesIO(content), tmp_path / "new")
