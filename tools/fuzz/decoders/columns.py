"""Harnesses: hand columns of runs, damaged in any way, to the kernel.

Only a deep check verifies the checksums of columns, so the kernel must be safe with any content.
"""

import struct
from contextlib import suppress

import numpy as np

from simdb.core import kernel
from simdb.core.bits import header_mask, leading_masks
from taking import Taking, harness

WIDTH = 32


@harness(lambda: [bytes(range(256)) * 8, b"\1\7" * 900])
def tables(data):
    """Look up, probe and sweep runs with arbitrary keys, ordinals and directories."""
    taking = Taking(data)
    masks = leading_masks(3, 1)
    runs = [[a_table(taking) for _ in masks] for _ in range(taking.number(3))]
    delta = taking.array(np.uint64, taking.number(5))
    dead = taking.array(np.uint8, taking.number(40)) if taking.flag() else None
    windows = [a_window(taking, run) for run in runs] if taking.flag() else None
    own = np.arange(len(delta), dtype=np.uint32)
    found = kernel.Tables(masks, runs, (delta, own), dead, windows)
    ask(found, taking)
    for run in runs:
        sweep(taking, run[0], masks)


def a_table(taking):
    """Take columns of matching lengths, as the store has checked."""
    count = taking.number(40)
    bits = taking.number(7)
    keys = taking.array(np.uint64, count)
    if taking.flag():
        keys.sort()
    directory = taking.array(np.uint32, (1 << bits) + 1)
    if taking.flag():
        kernel.directory(keys, bits, directory)
    return keys, taking.array(np.uint32, count), directory


def a_window(taking, run):
    slots = min(len(directory) for _, _, directory in run) - 1
    start = taking.number(slots)
    return start, start + 1 + taking.number(slots - start)


def ask(found, taking):
    """Ask every question."""
    queries = taking.array(np.uint64, 1 + taking.number(9))
    after = taking.array(np.uint32, len(queries)) if taking.flag() else None
    levels = taking.array(np.uint8, 64 * len(queries)).reshape(-1, 64)
    costs = taking.array(np.uint8, 256)
    shared = {"distance": taking.number(65), "first": taking.flag()}
    flipping = {"costs": costs, "theta": taking.number(1 << 16), "tables": None}
    found.lookup(queries, flips=taking.number(3), after=after, **shared)
    found.lookup(queries, flips=[taking.number(4) - 1 for _ in range(3)], after=after, **shared)
    found.scan(queries, after=after, **shared)
    found.probe(queries, levels, cap=1 + taking.number(300), after=after, **shared, **flipping)
    found.lookup_one(int(queries[0]), shared["distance"], 0, shared["first"])
    found.probe_one(
        int(queries[0]), levels[0], costs, flipping["theta"], 8, shared["distance"], False
    )
    found.count_probes(levels, cap=20, **flipping)


def sweep(taking, table, masks):
    keys, ordinals, _ = table
    left, right = np.empty(16, np.uint32), np.empty(16, np.uint32)
    distances = np.empty(16, np.uint8)
    cursor = (0, 1)
    width = taking.number(65)
    flipped = header_mask(masks[0], width) & taking.number(1 << 64)
    for _ in range(20):
        written, *cursor = kernel.sweep(
            keys, ordinals, masks, 0, taking.number(65), tuple(cursor), left, right, distances,
            taking.number(3), flipped, width,
        )  # fmt: skip
        if not written:
            return


@harness(lambda: [bytes(range(256)) * 4])
def vectors(data):
    """Compare arbitrary volatility vectors of ordinals, some of which do not exist."""
    taking = Taking(data)
    segments, first = [], 0
    for _ in range(1 + taking.number(3)):
        first += taking.number(5)
        count = taking.number(9)
        segments.append((first, taking.array(np.uint8, WIDTH * count).reshape(count, WIDTH)))
        first += count
    found = kernel.Vectors(WIDTH, segments)
    queries = taking.array(np.uint8, 2 * WIDTH).reshape(2, WIDTH)
    ordinals = taking.array(np.uint8, taking.number(9)).astype(np.uint32)
    skip = taking.array(np.uint8, taking.number(9)) if taking.flag() else None
    kernel.levels_of_vectors(queries)
    found.scan(queries, similarity=taking.number(256) / 255, skip=skip, after=None)
    found.gather(ordinals)
    found.between(ordinals, ordinals[::-1].copy())
    found.similarity(queries, np.array([0, len(ordinals) // 2, len(ordinals)]), ordinals)


@harness(lambda: [b"\3\2\2\2\0\1\0" + b"sai" + struct.pack("<q", 5)])
def ids(data):
    """Read ids whose offsets and bytes do not fit each other."""
    taking = Taking(data)
    offsets = np.cumsum(taking.array(np.uint8, 1 + taking.number(9)), dtype=np.uint32)
    if taking.flag():
        offsets = taking.array(np.uint32, len(offsets))
    asked = taking.array(np.uint8, taking.number(5)).astype(np.uint32) % (len(offsets) + 1)
    content = np.frombuffer(taking.rest(), np.uint8)
    found = kernel.Identifiers([(0, offsets, content)])
    found.decode_one(len(data) % len(offsets))
    forms = found.gather(asked)
    found.find(asked, np.arange(len(asked) + 1), *forms)
    found.decode(asked)
    with suppress(ValueError):  # offsets that the engine itself would not make
        kernel.encode_ids(kernel.decode_ids(offsets.astype(np.int64), content))


@harness(lambda: [bytes(range(256)) * 4])
def merging(data):
    """Merge tables that are not sorted, drop some of their documents and index them."""
    taking = Taking(data)
    (left, left_ordinals, _), (right, right_ordinals, _) = a_table(taking), a_table(taking)
    keys = np.empty(len(left) + len(right), np.uint64)
    ordinals = np.empty(len(keys), np.uint32)
    kernel.merge(left, left_ordinals, right, right_ordinals, keys, ordinals)
    bits = taking.number(9)
    kernel.directory(keys, bits, np.empty((1 << bits) + 1, np.uint32))
    kernel.first_descent(keys)
    forest = kernel.Forest(taking.number(300))
    dead = taking.array(np.uint8, taking.number(300))
    kernel.keep(keys, ordinals % np.uint32(1200), dead, np.empty_like(keys), ordinals.copy())
    with suppress(ValueError):  # numbers that the forest does not have
        forest.join(ordinals % np.uint32(300), ordinals[::-1] % np.uint32(300))
    forest.labels()
