"""Threads that search the same objects at the same time get the answers that one thread gets."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier

import numpy as np
import polytope_oracle
import pytest
import search_oracle as oracle
from over import over

from simdb.core.bits import ALL_BITS, leading_masks

THREADS = 4
STORED, ASKED = 4000, 1200
MASKS = leading_masks(4, 1)
NOTHING = oracle.pair([])
COSTS = np.arange(256).astype(np.uint8)


def threaded(call, parts, repeats):
    """Return what each thread got from `call` for each of `parts`, `repeats` times in a row."""
    barrier = Barrier(THREADS)

    def calls(thread):
        barrier.wait()
        turns = [(thread + turn) % len(parts) for turn in range(repeats * len(parts))]
        return [(number, plain(call(parts[number]))) for number in turns]

    with ThreadPoolExecutor(THREADS) as pool:
        return [entry for found in pool.map(calls, range(THREADS)) for entry in found]


def plain(answer):
    """Return an answer as something that can be compared."""
    if isinstance(answer, np.ndarray):
        return answer.tobytes()
    return tuple(map(plain, answer)) if isinstance(answer, tuple | list) else answer


@cache
def fingerprints(seed, count):
    """Make fingerprints a few bits from one of 300."""
    generator = np.random.default_rng(seed)
    flips = np.uint64(1) << generator.integers(0, 64, (3, count), np.uint64)
    centres = np.random.default_rng(1).integers(0, 2**64, 300, np.uint64)
    near = centres[generator.integers(0, 300, count)]
    return near ^ np.bitwise_xor.reduce(flips, axis=0)


@cache
def vectors(seed, count):
    """Make packed vectors that differ from one of 50 in a few bytes."""
    generator = np.random.default_rng(seed)
    noise = generator.integers(0, 256, (count, 64), np.uint8)
    noise[generator.random((count, 64)) < 0.9] = 0
    centres = np.random.default_rng(2).integers(0, 256, (50, 64), np.uint8)
    return centres[generator.integers(0, 50, count)] ^ noise


@cache
def columns(masks, header_bits):
    """Return the columns of one run in each table."""
    entries = [(int(each), number) for number, each in enumerate(fingerprints(0, STORED))]
    return [oracle.column(entries, mask, header_bits) for mask in masks]


@cache
def polytope_columns():
    """Return the columns of cross-polytope keys of one run."""
    return polytope_oracle.columns(vectors(0, 400), range(400), 7, 2)


def tables(search, masks=MASKS, header_bits=8):
    return search.Tables(list(masks), [columns(tuple(masks), header_bits)], NOTHING, None)


def asked(count=ASKED):
    return [fingerprints(seed, count) for seed in range(1, 4)]


def lookup(search):
    many = {"distance": 9, "flips": 1, "first": False, "after": None}
    stored = tables(search)
    return lambda queries: stored.lookup(queries, **many), asked()


def lookup_first(search):
    stored = tables(search)
    few = {"distance": 9, "flips": 0, "first": True, "after": None}
    return lambda queries: np.diff(stored.lookup(queries, **few)[0]), asked()


def lookup_one(search):
    stored = tables(search)
    return lambda queries: [stored.lookup_one(q, 9, 1, False) for q in queries.tolist()], asked(20)


def probe(search):
    stored = tables(search, header_bits=4)
    levels = np.random.default_rng(3).integers(0, 40, (ASKED, 64), np.uint8)
    some = {"costs": COSTS, "theta": 30, "cap": 4, "distance": 9, "first": False, "after": None}
    return lambda queries: stored.probe(queries, levels, tables=3, **some), asked()


def scan(search):
    stored = tables(search)
    return lambda queries: stored.scan(queries, distance=9, first=False, after=None), asked(50)


def lookup_bands(search):
    bands = [tables(search, [ALL_BITS]) for _ in range(5)]
    parts = [fingerprints(0, STORED)[start : start + 5] for start in (0, 5, 10)]
    return lambda keys: search.lookup_bands(bands, keys, 10_000), parts


def sweep(search):
    keys, ordinals, _ = columns(tuple(MASKS), 8)[0]

    def call(start):
        pairs, distances = np.zeros((2, 500), np.uint32), np.zeros(500, np.uint8)
        end = search.sweep(keys, ordinals, MASKS, 0, 9, (start, start + 1), *pairs, distances)
        return end, pairs, distances

    return call, [0, 500, 1000]


def similarity(search):
    stored = search.Vectors(64, [(0, vectors(0, STORED))])
    offsets = np.arange(0, 401, 10)
    ordinals = np.random.default_rng(4).integers(0, STORED, 400).astype(np.uint32)
    parts = [vectors(seed, 40) for seed in range(1, 4)]
    return lambda queries: stored.similarity(queries, offsets, ordinals), parts


def between(search):
    stored = search.Vectors(64, [(0, vectors(0, STORED))])
    generator = np.random.default_rng(5)
    parts = [generator.integers(0, STORED, (2, 300)).astype(np.uint32) for _ in range(3)]
    return lambda pairs: stored.between(*pairs), parts


def gather(search):
    stored = search.Vectors(64, [(0, vectors(0, STORED))])
    generator = np.random.default_rng(6)
    parts = [generator.integers(0, STORED, 900).astype(np.uint32) for _ in range(3)]
    return stored.gather, parts


def scan_vectors(search):
    stored = search.Vectors(64, [(0, vectors(0, 500))])
    parts = [vectors(seed, 20) for seed in range(1, 4)]
    return lambda queries: stored.scan(queries, similarity=0.8, skip=None, after=None), parts


def polytopes(search):
    stored = search.Polytopes(64, [(0, vectors(0, 400))], [polytope_columns()], NOTHING, None)
    some = {"similarity": 0.5, "limits": ((20, 20, 1.0),) * 2, "first": False, "after": None}
    limits = np.array([1.0], np.float32)
    parts = [vectors(seed, 30) for seed in range(1, 4)]
    return lambda queries: stored.search(queries, thresholds=limits, **some), parts


def polytopes_one(search):
    stored = search.Polytopes(64, [(0, vectors(0, 400))], [polytope_columns()], NOTHING, None)
    limits = np.array([1.0], np.float32)
    parts = [vectors(seed, 10) for seed in range(1, 4)]
    return lambda queries: [
        stored.search_one(query, limits, 0.5, ((20, 20, 1.0),) * 2, False, 1000)
        for query in queries
    ], parts


def polytope_keys(search):
    parts = [vectors(seed, 100) for seed in range(1, 4)]
    return lambda queries: search.polytope_keys(queries, 3), parts


def levels(search):
    return search.levels_of_vectors, [vectors(seed, 100) for seed in range(1, 4)]


SEARCHES = [
    lookup, lookup_first, lookup_one, probe, scan, lookup_bands, sweep, similarity, between,
    gather, scan_vectors, polytopes, polytopes_one, polytope_keys, levels,
]  # fmt: skip


@pytest.mark.few(1)
@over("make", SEARCHES)
def test_threads_get_the_answers_of_one_thread(search, make):
    call, parts = make(search)
    alone = [plain(call(part)) for part in parts]

    found = threaded(call, parts, repeats=1)

    assert all(answer == alone[number] for number, answer in found)


def test_threads_gather_the_ids_that_one_thread_gathers(arrange):
    ids = [f"document {number}" for number in range(STORED)]
    offsets, content, _ = arrange.encode_ids(ids)
    stored = arrange.Identifiers([(0, offsets.astype(np.uint32), content)])
    parts = [
        np.random.default_rng(seed).permutation(STORED)[:900].astype(np.uint32)
        for seed in (1, 2, 3)
    ]
    alone = [plain(stored.gather(part)) for part in parts]

    found = threaded(stored.gather, parts, repeats=20)

    assert all(answer == alone[number] for number, answer in found)
