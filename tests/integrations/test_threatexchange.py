"""The index of PDQ hashes for python-threatexchange, beside the package's own, with the package."""

import io
import pickle
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

import pytest

import simdb

pytest.importorskip("threatexchange", reason="needs pip install threatexchange")

from threatexchange.cli.cli_state import CliIndexStore
from threatexchange.signal_type.pdq.pdq_index import PDQIndex
from threatexchange.signal_type.pdq.pdq_utils import simple_distance
from threatexchange.signal_type.pdq.signal import PdqSignal

from simdb.integrations.threatexchange import PDQDatabaseIndex

BITS, NEAR = 256, 31
HASHES = PdqSignal.get_examples()
WRITER = """
import sys
from simdb.integrations.threatexchange import PDQDatabaseIndex
index = PDQDatabaseIndex(sys.argv[1])
index.add(sys.argv[2], "of another process")
index.dispose()
"""


@dataclass
class Entry:
    bank: int


@pytest.fixture
def path(tmp_path):
    """The directory of an index, which is sound when the test ends."""
    yield tmp_path / "photos.simdb"
    with simdb.open(tmp_path / "photos.simdb", "r") as database:
        assert list(database.check(deep=True)) == []


def flipped(draw, pdq, count):
    """Return a hash that differs in `count` bits."""
    number = int(pdq, 16)
    for bit in draw.sample(range(BITS), count):
        number ^= 1 << bit
    return f"{number:064x}"


def found(matches):
    """Return the distances and the entries of matches, in any order."""
    return Counter((match.similarity_info.distance, str(match.metadata)) for match in matches)


def test_answers_equal_those_of_the_package_and_of_a_double_loop(path):
    draw = random.Random(1)
    stored = [f"{draw.getrandbits(BITS):064x}" for _ in range(200)]
    stored += [flipped(draw, stored[at], draw.randrange(50)) for at in range(100)] + HASHES
    entries = [(pdq, {"number": at}) for at, pdq in enumerate(stored)]
    queries = [flipped(draw, draw.choice(stored), count) for count in range(NEAR + 10)] + HASHES
    theirs = PDQIndex.build(entries)

    index = PDQDatabaseIndex(path, entries)

    many = index.query_many(queries)
    assert many == [index.query(query) for query in queries]
    for query, matches in zip(queries, many, strict=True):
        distances = [match.similarity_info.distance for match in matches]
        assert distances == sorted(distances)
        assert found(matches) == found(theirs.query(query))
        assert found(matches) == Counter(
            (simple_distance(query, pdq), str(entry))
            for pdq, entry in entries
            if simple_distance(query, pdq) <= NEAR
        )
    assert sum(map(len, many)) > len(queries)
    assert len(index) == len(theirs)
    index.dispose()


def test_a_hash_has_several_entries_and_equal_ones_stay(path):
    index = PDQDatabaseIndex(path, [(HASHES[0], 7), (HASHES[-1], None)])

    index.add(HASHES[0], 7)
    index.add_all((HASHES[0], entry) for entry in ("bank", [1, {"a": 2.5}]))

    entries = [match.metadata for match in index.query(HASHES[0])]
    assert entries == [7, 7, "bank", [1, {"a": 2.5}]]
    assert [match.metadata for match in index.query(HASHES[-1])] == [None]
    index.dispose()


def test_entries_are_deleted_by_their_hash_and_by_what_they_hold(path):
    index = PDQDatabaseIndex(path, [(HASHES[0], bank) for bank in (1, 2, 3)])
    index.add(HASHES[1], 1)

    some = index.delete(HASHES[0], where=lambda bank: bank == 2)
    nothing = index.delete(HASHES[-1])
    left = found(index.query(HASHES[0]))
    rest = index.delete(HASHES[0])

    near = simple_distance(HASHES[0], HASHES[1])
    assert (some, nothing, rest) == (1, 0, 2)
    assert left == Counter([(0, "1"), (0, "3"), (near, "1")])
    assert found(index.query(HASHES[0])) == Counter([(near, "1")])
    index.dispose()


def test_build_replaces_all_entries_or_leaves_them_as_they_were(path):
    reader = PDQDatabaseIndex(path, [(HASHES[0], "old"), (HASHES[-1], "old")])

    with pytest.raises(simdb.InputError):
        PDQDatabaseIndex.build([(HASHES[0], "new"), ("no hash", "new")], path)
    before = len(reader.query(HASHES[-1]))
    built = PDQDatabaseIndex.build([(HASHES[0], "new")], path)

    assert before == 1
    assert reader.query(HASHES[-1]) == []
    assert found(reader.query(HASHES[0])) == found(built.query(HASHES[0])) == {(0, "new"): 1}
    built.dispose()
    reader.dispose()


def test_what_another_process_adds_is_found_at_once(path):
    index = PDQDatabaseIndex(path, [(HASHES[0], "of this process")])

    subprocess.run([sys.executable, "-c", WRITER, path, HASHES[0]], check=True, timeout=60)

    entries = [match.metadata for match in index.query(HASHES[0])]
    assert entries == ["of this process", "of another process"]
    index.dispose()


def test_an_index_is_serialized_and_pickled_as_its_directory(path, tmp_path):
    index = PDQDatabaseIndex(path, [(HASHES[0], 7)])
    written = io.BytesIO()

    index.serialize(written)
    again = PDQDatabaseIndex.deserialize(io.BytesIO(written.getvalue()))
    unpickled = pickle.loads(pickle.dumps(index))
    again.add(HASHES[0], 8)

    assert len(written.getvalue()) < 200
    for each in (index, again, unpickled):
        assert [match.metadata for match in each.query(HASHES[0])] == [7, 8]
        each.dispose()
    gone = written.getvalue().replace(b"photos", b"absent")
    with pytest.raises(simdb.NotFoundError):
        PDQDatabaseIndex.deserialize(io.BytesIO(gone))
    with pytest.raises(simdb.InputError, match="did not write this; build"):
        PDQDatabaseIndex.deserialize(io.BytesIO(pickle.dumps(PDQIndex())))


@pytest.mark.parametrize("entry", [Entry(7), (1, 2), {"banks": {7}}, 1 << 80])
def test_an_entry_that_would_not_come_back_equal_is_refused_with_its_hash(path, entry):
    index = PDQDatabaseIndex(path)

    with pytest.raises(simdb.InputError, match=f"hash {HASHES[1]}.* cannot be stored: .*; use "):
        index.add_all([(HASHES[0], 1), (HASHES[1], entry)])

    assert len(index) == 0
    index.dispose()


@pytest.mark.parametrize("pdq", ["", "00" * 16, "0" * 63, "g" * 64, "00" * 33])
def test_what_is_no_pdq_hash_is_neither_stored_nor_asked_for(path, pdq):
    index = PDQDatabaseIndex(path)

    with pytest.raises(simdb.InputError):
        index.add_all([(HASHES[0], 1), (pdq, 2)])
    with pytest.raises(simdb.InputError):
        index.query(pdq)

    assert len(index) == 0
    index.dispose()


def test_an_open_database_brings_its_own_distance_and_mode(path):
    options = simdb.Options(sketch=simdb.Bits(BITS), distance=52)
    PDQDatabaseIndex(simdb.open(path, options=options), [(HASHES[0], 7)]).dispose()
    query = flipped(random.Random(2), HASHES[0], 50)

    index = PDQDatabaseIndex(simdb.open(path, "r"))

    assert found(index.query(query)) == {(50, "7"): 1}
    with pytest.raises(simdb.ReadOnlyError):
        index.add(HASHES[0], 8)
    index.dispose()
    stored = PDQDatabaseIndex(path)
    assert found(stored.query(query)) == {(50, "7"): 1}
    stored.dispose()


def test_an_index_needs_a_directory_of_pdq_hashes(path):
    simdb.open(path, options=simdb.Options(sketch=simdb.Bits(128))).close()

    with pytest.raises(simdb.OptionError, match="needs path=, or a subclass with a PATH"):
        PDQDatabaseIndex.build([(HASHES[0], 7)])
    with pytest.raises(simdb.OptionError, match="has no hashes of 256 bits"):
        PDQDatabaseIndex(path)


def test_the_command_line_of_the_package_stores_and_loads_an_index_with_a_path(path, tmp_path):
    class PhotoIndex(PDQDatabaseIndex):
        PATH = path

    class PhotoSignal(PdqSignal):
        @classmethod
        def get_index_cls(cls):
            return PhotoIndex

    store = CliIndexStore(tmp_path)
    built = PhotoSignal.get_index_cls().build([(pdq, at) for at, pdq in enumerate(HASHES)])

    store.store(PhotoSignal, built)
    built.dispose()
    loaded = store.load(PhotoSignal)

    assert type(loaded) is PhotoIndex
    assert found(loaded.query(HASHES[-1])) == {(0, str(len(HASHES) - 1)): 1}
    loaded.dispose()
