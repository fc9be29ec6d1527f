"""A database with one table of fingerprints answers like a double loop, however it is asked."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from over import over
from soundness import TINY, assert_sound

import simdb
from simdb.storage import environment, layout

ONE = replace(TINY, blocks=1, leading=1, sketch=simdb.Simhash(store_volatility=False))
COUNT = 260
DISTANCE = 3


def bits_of(count, seed):
    """Return fingerprints around a few centres, many of them within some bits of each other."""
    chance = np.random.default_rng(seed)
    centres = chance.integers(0, 2**64, 12, np.uint64)[chance.integers(0, 12, count)]
    flipped = chance.integers(0, 64, (count, 3), np.uint64)
    some = np.uint64(1) << flipped * (flipped < np.uint64(40))
    return centres ^ np.bitwise_xor.reduce(some, axis=1)


STORED, QUERIES = bits_of(COUNT, 1), bits_of(50, 2)
GONE = frozenset(range(0, COUNT, 9))
LIVE = [at for at in range(COUNT) if at not in GONE]


def fill(database, stop=COUNT):
    for start in range(0, stop, 13):
        database.insert_many(range(start, min(start + 13, stop)), STORED[start : start + 13])
    database.delete_many(GONE)


def matches_of(query, ids, distance=DISTANCE):
    """Return (distance, id) of the documents `ids` within a distance of a query, best first."""
    every = ((int(query ^ STORED[id]).bit_count(), id) for id in ids)
    return sorted(match for match in every if match[0] <= distance)


def expected(ids=LIVE):
    return [matches_of(query, ids) for query in QUERIES]


def found_by(database, **asked):
    found = database.query_many(QUERIES, distance=DISTANCE, recall=1.0, **asked)
    return [[(match.distance, match.id) for match in row] for row in found]


@pytest.fixture(autouse=True)
def short_segments(monkeypatch):
    """Cut runs into several segments."""
    monkeypatch.setattr(layout, "SEGMENT_ORDINALS", 32)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "db"
    with simdb.open(path, options=ONE) as database:
        fill(database)
        assert len(database.stats().runs) > 1
    yield path
    assert_sound(path)


@pytest.mark.parametrize("threads", [1, 2])
@over("method", ["auto", "bphs", "exhaustive"])
@over("limit", [None, 1, 5000])
def test_a_batch_finds_what_a_double_loop_finds(path, method, limit, threads):
    search = simdb.Search(method=method, memory_limit=limit)
    with simdb.open(path, "r") as database:
        assert found_by(database, search=search, threads=threads) == expected()


@over("method", ["auto", "bphs", "exhaustive"])
def test_a_single_query_finds_what_a_double_loop_finds(path, method):
    with simdb.open(path, "r") as database:
        found = [
            [
                (match.distance, match.id)
                for match in database.query(
                    int(query), distance=DISTANCE, recall=1.0, search=simdb.Search(method=method)
                )
            ]
            for query in QUERIES
        ]

    assert found == expected()


@pytest.mark.parametrize("method", ["auto", "exhaustive", "bphs", "rotation"])
def test_all_pairs_are_those_of_a_double_loop(path, method):
    with simdb.open(path, "r") as database:
        recall = 0.9 if method == "rotation" else 1.0
        pairs = database.find_all(
            distance=2, recall=recall, search=simdb.Search(method=method)
        ).chunks()
        found = {
            tuple(sorted(pair))
            for chunk in pairs
            for pair in zip(chunk.left, chunk.right, strict=True)
        }

    every = {
        (left, right) for right in LIVE for _, left in matches_of(STORED[right], LIVE, 2)
        if left < right
    }  # fmt: skip
    assert len(every) > 50
    assert found <= every
    assert found == every or method == "rotation"


def test_the_nearest_are_those_of_a_double_loop(path):
    with simdb.open(path, "r") as database:
        one = [[(each.distance, each.id) for each in database.nearest(int(q), 7)] for q in QUERIES]
        many = [
            [(each.distance, each.id) for each in row] for row in database.nearest_many(QUERIES, 7)
        ]

    assert one == many == [matches_of(query, LIVE, 64)[:7] for query in QUERIES]


@pytest.mark.parametrize("method", ["bphs", "exhaustive"])
def test_more_queries_than_fit_the_memory_pass_through_it_in_chunks(path, method, monkeypatch):
    monkeypatch.setattr(environment, "memory_bytes", lambda: 4000)
    with simdb.open(path, "r") as database:
        assert found_by(database, search=method) == expected()


def test_a_transaction_sees_what_it_has_staged_and_others_do_not(open_database):
    database = open_database(options=ONE)
    fill(database, 91)
    before = [id for id in LIVE if id < 91]
    with database.read() as snapshot:
        with database.write() as writing:
            for start in range(91, COUNT, 11):
                stop = min(start + 11, COUNT)
                writing.insert_many(range(start, stop), STORED[start:stop])
            writing.delete_many(GONE)
            for method in ("bphs", "exhaustive"):
                assert found_by(writing, search=method) == expected()
                assert found_by(database, search=method) == expected(before)
        database.compact()
        assert found_by(snapshot) == expected(before)
        assert found_by(snapshot, search="exhaustive") == expected(before)
    assert found_by(database) == expected()


READER = """
import sys, numpy, simdb
from simdb.storage import layout
layout.SEGMENT_ORDINALS = 32
with simdb.open(sys.argv[1], "r") as database:
    asked = numpy.array([int(sys.argv[2])], "u8")
    print(database.query_many(asked, distance=3, recall=1).ids.tolist())
"""


def test_another_process_reads_it(path):
    command = [sys.executable, "-c", READER, str(path), str(QUERIES[0])]

    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert found.strip() == str([id for _, id in expected()[0]])


@pytest.mark.slow
def test_a_run_of_several_segments_is_gathered_across_them(tmp_path, monkeypatch):
    monkeypatch.undo()
    count = layout.SEGMENT_ORDINALS + 1000
    bits = np.random.default_rng(4).integers(0, 2**64, count, np.uint64)
    bits[-500:] = bits[:500] ^ np.uint64(1 << 63)
    asked = np.arange(0, count, 997)
    with simdb.open(tmp_path / "db", options=replace(ONE, delta_documents=4096)) as database:
        for start in range(0, count, 1 << 18):
            stop = min(start + (1 << 18), count)
            database.insert_many(range(start, stop), bits[start:stop])
        for _ in range(2):
            found = database.query_many(bits[asked], distance=0, recall=1.0)
            assert found.ids.tolist() == asked.tolist()
            pairs = database.find_all(distance=1, recall=1.0)
            assert sorted(pairs.left.tolist()) == list(range(500))
            database.compact()
    assert_sound(tmp_path / "db")
