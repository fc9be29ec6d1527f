"""Timing: the costs of the operations of a search on this machine, for the planner.

A table of random fingerprints, larger than most caches, is probed and scanned in the kernel, with
new queries each time.  Every workload is fixed and a few milliseconds long, and its least time
counts, as other processes can only lengthen it.  Probing for one header and for many differs by the
cost of a header, and so on: `Delays` are such differences, kept within sane bounds.
"""

import math
import time
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from simdb.ground.bits import ALL_BITS, FINGERPRINT_BITS, leading_masks
from simdb.ground.dtypes import U8
from simdb.plan import volatility
from simdb.plan.cost import USUAL_DELAYS, Delays
from simdb.running import kernel

REPEATS = 5
DEPTH = 22  # log2 of the entries of the table
QUERIES = 1 << 12
SCANS = 4
VECTORS = 1 << 17
SORTED = 1 << 18
VECTOR_BYTES = 64
HEADER_ENTRIES = 2
# Levels of Laplace weights are exponential, with this mean; theta makes some dozens of headers.
LEVEL_MEAN = 45.0
SIMILARITY = 0.9
THETA = 24
CAP = 1 << 12
# A time further from the default than these factors is a disturbance, or a clock that stood still;
# an emulator of the processor is up to some hundred times slower.
LEAST, MOST = 1 / 20, 1000


def measured_delays() -> Delays:
    """Measure the delays of this machine, in about a fifth of a second."""
    generator = np.random.default_rng(0)
    tables = _table(generator)
    return _bounded({**_probing(tables, generator), **_arranging(generator)})


def _bounded(found: dict[str, float]) -> Delays:
    """Return delays within sane bounds; the usual delay for any that was not measured."""
    bounded = {}
    for each in fields(Delays):
        usual: float = getattr(USUAL_DELAYS, each.name)
        bounded[each.name] = min(max(found.get(each.name, usual), LEAST * usual), MOST * usual)
    return Delays(**bounded)


def _table(generator: np.random.Generator) -> Any:
    """Return one table of 2^DEPTH random fingerprints, HEADER_ENTRIES of them in each header."""
    count = 1 << DEPTH
    keys = np.arange(count, dtype=np.uint64) << np.uint64(FINGERPRINT_BITS - DEPTH)
    keys |= generator.integers(0, 1 << (FINGERPRINT_BITS - DEPTH), count, np.uint64)
    directory = np.arange(0, count + 1, HEADER_ENTRIES, dtype=np.uint32)
    ordinals = np.arange(count, dtype=np.uint32)
    nothing = np.empty(0, np.uint64), np.empty(0, np.uint32)
    return kernel.Tables([ALL_BITS], [[(keys, ordinals, directory)]], nothing, None)


def _probing(tables: Any, generator: np.random.Generator) -> dict[str, float]:
    """Measure the costs of comparing, a header, a flip set, preparing a table and a candidate."""
    queries = generator.integers(0, 2**FINGERPRINT_BITS, (REPEATS + 1, QUERIES), np.uint64)
    levels = generator.exponential(LEVEL_MEAN, (QUERIES, FINGERPRINT_BITS))
    query_levels = np.minimum(levels, 255).astype(np.uint8)
    costs = volatility.costs(volatility.prior(similarity=SIMILARITY))
    vectors, weights = _vectors(generator)

    def look_up(run: int) -> None:
        tables.lookup(queries[run], distance=0, flips=0, first=False, after=None)

    def probe(run: int, theta: int, distance: int = 0) -> Any:
        return tables.probe(
            queries[run], query_levels, costs=costs, theta=theta, cap=CAP, distance=distance,
            first=False, after=None, tables=1,
        )  # fmt: skip

    def count(run: int, theta: int) -> Any:
        return tables.count_probes(query_levels, costs=costs, theta=theta, cap=CAP, tables=1)

    def hand_on(run: int) -> None:
        offsets, ordinals, _ = probe(run, 0, FINGERPRINT_BITS)
        ordinals %= np.uint32(VECTORS)
        measured = vectors.similarity(weights, offsets, ordinals)
        np.lexsort((ordinals, -measured, np.repeat(np.arange(QUERIES), np.diff(offsets))))

    def compare(run: int) -> None:
        tables.scan(queries[run, :SCANS], distance=0, first=False, after=None)

    def measure(run: int) -> None:
        vectors.scan(weights[:SCANS], similarity=1.0, skip=None, after=None)

    headers = float(count(0, THETA).mean())
    one, many = _seconds(partial(probe, theta=0)), _seconds(partial(probe, theta=THETA))
    flipping = _seconds(partial(count, theta=THETA)) - _seconds(partial(count, theta=0))
    return {
        "memory": (many - one) / (QUERIES * (headers - 1)),
        "prepare": (one - _seconds(look_up)) / QUERIES,
        "flip": flipping / (QUERIES * headers * math.log2(headers)),
        "candidate": (_seconds(hand_on) - one) / (QUERIES * HEADER_ENTRIES),
        "compare": _seconds(compare) / (SCANS << DEPTH),
        "measure": _seconds(measure) / (SCANS * VECTORS),
    }


def _vectors(generator: np.random.Generator) -> tuple[Any, U8]:
    """Return random volatility vectors: stored ones, and those of queries."""
    stored = generator.integers(0, 256, (VECTORS, VECTOR_BYTES), np.uint8)
    return kernel.Vectors(VECTOR_BYTES, [(0, stored)]), stored[:QUERIES] ^ np.uint8(0x55)


def _arranging(generator: np.random.Generator) -> dict[str, float]:
    """Measure the costs to make a key, and to sort it, for each doubling of the number of keys."""
    values = generator.integers(0, 2**FINGERPRINT_BITS, SORTED, np.uint64)
    keys, ordinals = np.empty_like(values), np.arange(SORTED, dtype=np.uint32)
    mask = leading_masks(4, 1)[1]

    def make(run: int) -> None:
        kernel.permute(values, mask, keys)

    def sort(run: int) -> None:
        kernel.sort(values.copy(), ordinals)

    return {
        "permute": _seconds(make) / SORTED,
        "sort": _seconds(sort) / (SORTED * math.log2(SORTED)),
    }


def _seconds(work: Callable[[int], object]) -> float:
    """Return the least time of several calls of `work(run)`; call 0 only warms up."""
    work(0)
    times = []
    for run in range(1, REPEATS + 1):
        started = time.perf_counter()
        work(run)
        times.append(time.perf_counter() - started)
    return min(times)
