"""A database that is larger than the memory: batches pass through it in chunks by themselves."""

import numpy as np
import pytest

import simdb
from simdb.database.search import many
from simdb.storage import environment, file_map

COUNT = 20_000
RANDOM = np.random.default_rng(5)
WEIGHTS = RANDOM.standard_normal((COUNT, 128)).astype(np.float32)
SIGNS = np.packbits(WEIGHTS[:, :64] >= 0, axis=1, bitorder="little").view(np.uint64).reshape(-1)
MEMORY = 400_000


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("larger") / "stored"
    with simdb.open(path, options=simdb.Options(blocks=4), durability="none") as database:
        database.insert_many(range(COUNT), simdb.Fingerprints(SIGNS, WEIGHTS))
    return path


@pytest.fixture
def chunk_counts(monkeypatch):
    """The number of chunks of each search that was cut into chunks."""
    counts, chunks_of = [], many.chunks_of

    def counted(*arguments):
        found = chunks_of(*arguments)
        counts.append(len(found))
        return found

    monkeypatch.setattr(many, "chunks_of", counted)
    return counts


def test_a_few_queries_are_looked_up_one_by_one(stored, monkeypatch, chunk_counts):
    monkeypatch.setattr(environment, "memory_bytes", lambda: MEMORY)
    with simdb.open(stored, "r") as database:
        found = database.query_many(SIGNS[:1], distance=3, search="bphs")

    assert found.ids.tolist() == [0]
    assert chunk_counts == []


def test_a_batch_to_insert_is_searched_in_chunks_too(stored, monkeypatch, chunk_counts):
    monkeypatch.setattr(environment, "memory_bytes", lambda: MEMORY)
    reported = []
    with simdb.open(stored, "w", durability="none") as database:
        found = database.insert_batch(
            range(COUNT, COUNT + 4000), SIGNS[:4000], distance=3, match="first",
            progress=reported.append,
        )  # fmt: skip

        assert found.ids.tolist() == list(range(4000))
        assert len(database) == COUNT + 4000
    assert chunk_counts[0] > 1
    assert reported == sorted(reported)
    assert reported[-1] == 4000


def test_only_the_tables_that_are_read_are_fetched(tmp_path, monkeypatch):
    options = simdb.Options(blocks=6, leading=3, polytopes=0)
    queries, fetched = SIGNS[:500] ^ np.uint64(5), set()
    with simdb.open(tmp_path / "twenty", options=options, durability="none") as database:
        database.insert_many(range(COUNT), SIGNS)
        whole = database.query_many(queries, distance=3)
        with database._store.state() as state:
            (run,) = state.runs
            starts = [run.table(at, state.source).keys.ctypes.data for at in range(20)]

        def note(pages):
            inside = (at for at in range(20) if 0 <= pages.start - starts[at] < 8 * COUNT)
            fetched.update(inside)

        monkeypatch.setattr(file_map, "fetch", note)
        found = database.query_many(queries, distance=3, search=simdb.Search(memory_limit=10**6))

    # The directories have fewer bits than two blocks, so ten tables have the same headers.
    assert len(fetched) == 10
    assert list(found) == list(whole)
    assert len(found.ids) >= 500
