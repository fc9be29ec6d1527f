"""Threads that search the same objects at the same time get the answers that one thread gets."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier

import numpy as np
import polytope_oracle
import search_oracle as oracle
from over import over

from simdb.core.bits import leading_masks

THREADS = 4
STORED, ASKED = 4000, 1200
MASKS = leading_masks(4, 1)
NOTHING = oracle.pair([])
COSTS = np.arange(256).astype(np.uint8)


def threaded(call, parts, repeats=1):
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
    return tuple(map(plain, answer)) if isinstance(answer, tuple) else answer


def fingerprints(seed, count):
    """Make fingerprints a few bits from one of 300."""
    generator = np.random.default_rng(seed)
    flips = np.uint64(1) << generator.integers(0, 64, (3, count), np.uint64)
    centres = np.random.default_rng(1).integers(0, 2**64, 300, np.uint64)
    near = centres[generator.integers(0, 300, count)]
    return near ^ np.bitwise_xor.reduce(flips, axis=0)


@cache
def columns(header_bits):
    """Return the columns of one run in each table."""
    entries = [(int(each), number) for number, each in enumerate(fingerprints(0, STORED))]
    return [oracle.column(entries, mask, header_bits) for mask in MASKS]


def lookup(search):
    many = {"distance": 9, "flips": 1, "first": False, "after": None}
    stored = search.Tables(MASKS, [columns(8)], NOTHING, None)
    parts = [fingerprints(seed, ASKED) for seed in range(1, 4)]
    return lambda queries: stored.lookup(queries, **many), parts


def probe(search):
    stored = search.Tables(MASKS, [columns(4)], NOTHING, None)
    levels = np.random.default_rng(3).integers(0, 40, (ASKED, 64), np.uint8)
    some = {"costs": COSTS, "theta": 30, "cap": 4, "distance": 9, "first": False, "after": None}
    parts = [fingerprints(seed, ASKED) for seed in range(1, 4)]
    return lambda queries: stored.probe(queries, levels, tables=3, **some), parts


def similarity(search):
    vectors = polytope_oracle.near_vectors(0, STORED)
    stored = search.Vectors(64, [(0, vectors)])
    offsets = np.arange(0, 401, 10)
    ordinals = np.random.default_rng(4).integers(0, STORED, 400).astype(np.uint32)
    parts = [vectors[start : start + 40] for start in (0, 40, 80)]
    return lambda queries: stored.similarity(queries, offsets, ordinals), parts


def polytopes(search):
    vectors = polytope_oracle.near_vectors(0, 400)
    run = polytope_oracle.columns(vectors, range(400), 7, 2)
    stored = search.Polytopes(64, [(0, vectors)], [run], NOTHING, None)
    some = {"similarity": 0.5, "limits": ((20, 20, 1.0),) * 2, "first": False, "after": None}
    limits = np.array([1.0], np.float32)
    parts = [vectors[start : start + 30] for start in (0, 30, 60)]
    return lambda queries: stored.search(queries, thresholds=limits, **some), parts


@over("make", [lookup, probe, similarity, polytopes])
def test_threads_get_the_answers_of_one_thread(search, make):
    call, parts = make(search)
    alone = [plain(call(part)) for part in parts]

    found = threaded(call, parts)

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
