"""The nearest fingerprints and vectors of every variant are those of a full sort."""

import random

import numpy as np
import pytest
import search_oracle as oracle
from over import over
from test_search_vectors import random_vectors, segmented

from simdb.core.bits import bitmap, leading_masks

KS = (1, 2, 7, 63, 10_000)


def expected(rows, k):
    """Return the ordinals and nearness of the first `k` of (nearness, ordinal) in order."""
    best = sorted(rows)[:k]
    return [ordinal for _, ordinal in best], [near for near, _ in best]


def answers(found):
    """Return the ordinals and nearness of each query as lists."""
    offsets, ordinals, nearness = found
    ends = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    return [(ordinals[a:b].tolist(), nearness[a:b].tolist()) for a, b in ends]


def tables_of(search, stored, delta, dead):
    """Return tables of the stored fingerprints in two runs, and of a delta."""
    masks = leading_masks(4, 1)
    half = len(stored) // 2
    runs = [
        [oracle.column(part, mask, 5) for mask in masks] for part in (stored[:half], stored[half:])
    ]
    return search.Tables(masks, runs, oracle.pair(delta), dead)


@over("k", KS)
def test_nearest_fingerprints_are_the_first_of_all_sorted(search, k):
    # Few centres: many fingerprints are equally near, and the first tiles fill up.
    prints = oracle.neighbourhood(5, 3000, 6, 9)
    entries = list(zip(prints, random.Random(1).sample(range(5000), 3000), strict=True))
    gone = {ordinal for _, ordinal in entries[::7]}
    dead = bitmap(np.array(sorted(gone)), 5000)
    tables = tables_of(search, entries[:2800], entries[2800:], dead)
    queries = [*prints[:3], 0, 2**64 - 1]

    found = answers(tables.nearest(np.array(queries, np.uint64), k))

    assert found == [
        expected(
            [
                (oracle.distance(query, bits), ordinal)
                for bits, ordinal in entries
                if ordinal not in gone
            ],
            k,
        )
        for query in queries
    ]


def test_nearest_of_nothing(search):
    tables = tables_of(search, [], [], None)
    vectors = search.Vectors(8, [])

    offsets, ordinals, distances = tables.nearest(np.array([1, 2], np.uint64), 3)
    _, none, similarities = vectors.nearest(np.zeros((2, 8), np.uint8), 3, None)

    assert offsets.tolist() == [0, 0, 0]
    assert len(ordinals) == len(distances) == len(none) == len(similarities) == 0
    assert (distances.dtype, similarities.dtype) == (np.uint8, np.float32)


@over("k", KS)
@over("width", [1, 33, 64])
def test_nearest_vectors_are_the_first_of_all_sorted(search, width, k):
    vectors = random_vectors(width, 700, width)
    vectors[300:340] = vectors[5]
    segments, ordinals = segmented(vectors, [0, 3, 300, 300, 700], 3)
    skipped = set(ordinals[::5].tolist())
    stored = search.Vectors(width, segments)
    queries = vectors[:8]

    found = answers(stored.nearest(queries, k, bitmap(np.array(sorted(skipped)), 1000)))

    for query, (got, similarities) in zip(queries, found, strict=True):
        rows = [
            (-oracle.cosine(query, vector), ordinal)
            for vector, ordinal in zip(vectors, ordinals.tolist(), strict=True)
            if ordinal not in skipped
        ]
        best, far = expected(rows, k)
        assert got == best
        assert similarities == [-each for each in far]


def test_many_queries_with_a_large_k_are_searched_in_groups(search):
    # 300 queries are more than are searched together, and as many as all documents are wanted.
    vectors = random_vectors(3, 300, 16)
    prints = np.random.default_rng(2).integers(0, 2**64, 300, np.uint64)
    entries = [(int(bits), at) for at, bits in enumerate(prints)]
    tables = tables_of(search, entries[:200], entries[200:], None)

    offsets, ordinals, _ = search.Vectors(16, [(0, vectors)]).nearest(vectors, 2**40, None)
    others, found, _ = tables.nearest(prints, 2**40)

    assert offsets.tolist() == others.tolist() == list(range(0, 90_001, 300))
    assert (np.sort(ordinals.reshape(300, 300), axis=1) == np.arange(300)).all()
    assert (np.sort(found.reshape(300, 300), axis=1) == np.arange(300)).all()
    assert (found[::300] == np.arange(300)).all()


@over("k", [0, -1])
def test_nearest_needs_a_positive_k(search, k):
    with pytest.raises(ValueError, match="below 1"):
        tables_of(search, [(5, 0)], [], None).nearest(np.array([1], np.uint64), k)
    with pytest.raises(ValueError, match="below 1"):
        search.Vectors(8, []).nearest(np.zeros((1, 8), np.uint8), k, None)
