"""Similarities of packed vectors are equal to the bit in every variant."""

from itertools import pairwise

import numpy as np
import pytest
import search_oracle as oracle
from over import over

from simdb.core.bits import bitmap
from simdb.core.errors import CorruptError
from simdb.core.vector_form import unpack_minima

WIDTHS = (1, 3, 7, 15, 31, 32, 33, 63, 64, 65, 100, 128, 200)


def random_vectors(seed, count, width):
    """Make vectors that are noisy copies of a few, between vectors of zeros and of ones."""
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 256, (3, width), np.uint8)
    noise = generator.integers(0, 256, (count, width), np.uint8)
    noise[generator.random((count, width)) < 0.8] = 0
    vectors = centres[generator.integers(0, 3, count)] ^ noise
    vectors[:1], vectors[1:2] = 0, 255
    return vectors


def segmented(vectors, limits, displacement=0):
    """Make segments with a gap of 10 ordinals before each; return them and all ordinals."""
    segments, ordinals = [], []
    for number, (start, stop) in enumerate(pairwise(limits)):
        begin = start + 10 * (number + 1)
        segments.append((begin, oracle.displaced(vectors[start:stop], displacement)))
        ordinals += range(begin, begin + stop - start)
    return segments, np.array(ordinals, np.uint32)


@over("width", WIDTHS)
def test_similarity_is_the_cosine_of_the_integers(search, width):
    vectors = random_vectors(width, 90, width)
    segments, ordinals = segmented(vectors, [0, 1, 9, 9, 90], 3)
    stored = search.Vectors(width, segments)
    # 70 queries with one match each, more than are measured together; then with none and with many.
    offsets = np.array([*range(71), 71, 77, 77, 110], np.int64)
    order = np.random.default_rng(1).integers(0, 90, 110)

    found = stored.similarity(vectors[:74], offsets, ordinals[order])

    numbers = np.repeat(np.arange(74), np.diff(offsets))
    assert found.dtype == np.float32
    assert found.tolist() == [
        oracle.cosine(vectors[number], vectors[position])
        for number, position in zip(numbers, order, strict=True)
    ]


@over("width", WIDTHS)
def test_similarity_between_stored_vectors(search, width):
    vectors = random_vectors(2, 60, width)
    segments, ordinals = segmented(vectors, [0, 30, 60])
    stored = search.Vectors(width, segments)
    left, right = np.random.default_rng(2).integers(0, 60, (2, 200))

    found = stored.between(ordinals[left], ordinals[right])

    assert found.tolist() == [
        oracle.cosine(vectors[one], vectors[other]) for one, other in zip(left, right, strict=True)
    ]


@over("width", [64, 32, 5])
@over("similarity", [-1.0, 0.0, 0.5, 0.9, 1.0, 1.5])
def test_a_scan_returns_all_that_are_similar_enough(search, width, similarity):
    vectors = random_vectors(3, 150, width)
    segments, ordinals = segmented(vectors, [0, 70, 71, 150], 1)
    stored = search.Vectors(width, segments)
    after = np.array([0, 50, 80, 5000], np.uint32)
    skipped = ordinals[::6]

    offsets, found, scores = stored.scan(
        vectors[:4], similarity=similarity, skip=bitmap(skipped, 200), after=after
    )

    least = np.float32(similarity)
    for number in range(4):
        measured = [(-oracle.cosine(vectors[number], vectors[p]), ordinals[p]) for p in range(150)]
        expected = sorted(
            row
            for row in measured
            if -row[0] >= least and row[1] not in skipped and row[1] > after[number]
        )
        part = slice(offsets[number], offsets[number + 1])
        assert list(zip((-scores[part]).tolist(), found[part].tolist(), strict=True)) == expected


def test_equal_vectors_by_the_thousand_come_in_order_of_ordinal(search):
    vectors = np.repeat(random_vectors(5, 3, 64), 4000, axis=0)
    stored = search.Vectors(64, [(0, vectors[:5000]), (5000, vectors[5000:])])

    offsets, found, scores = stored.scan(vectors[-2:], similarity=0.99, skip=None, after=None)

    assert offsets.tolist() == [0, 4000, 8000]
    assert (found.reshape(2, -1) == np.arange(8000, 12_000)).all()
    assert (scores == 1).all()


def test_gather_copies_vectors_in_the_order_asked(search):
    vectors = random_vectors(6, 100, 33)
    segments, ordinals = segmented(vectors, [0, 10, 100], 5)
    stored = search.Vectors(33, segments)
    order = np.random.default_rng(6).integers(0, 100, 300)

    copies = stored.gather(ordinals[order])

    assert (copies == vectors[order]).all()
    assert copies.flags.writeable


def test_nothing_stored_and_nothing_asked_give_empty_results(search):
    stored = search.Vectors(64, [])
    queries, nothing = np.zeros((2, 64), np.uint8), np.empty(0, np.uint32)

    offsets, found, scores = stored.scan(queries, similarity=-1.0, skip=None, after=None)

    assert offsets.tolist() == [0, 0, 0]
    assert len(found) == len(scores) == 0
    assert stored.gather(nothing).shape == (0, 64)
    assert len(stored.similarity(queries, np.zeros(3, np.int64), nothing)) == 0
    assert len(stored.similarity(queries[:0], np.zeros(1, np.int64), nothing)) == 0
    assert len(stored.between(nothing, nothing)) == 0
    assert stored.scan(queries[:0], similarity=0.0, skip=None, after=None)[0].tolist() == [0]


@over("missing", [0, 2, 5, 8, 13, 4_294_967_295])
def test_an_ordinal_without_a_vector_is_refused(search, missing):
    vectors = random_vectors(7, 6, 32)
    stored = search.Vectors(32, [(3, vectors[:2]), (9, vectors[2:])])
    ordinals = np.array([3, missing], np.uint32)

    for ask in (
        lambda: stored.gather(ordinals),
        lambda: stored.between(ordinals, ordinals),
        lambda: stored.similarity(vectors[:1], np.array([0, 2], np.int64), ordinals),
        lambda: stored.measure_one(vectors[:1], [(3, 0), (missing, 0)], 0.5),
        lambda: stored.agree_one(vectors[:1], ordinals, 32, 0),
    ):
        with pytest.raises(CorruptError, match=f"ordinal {missing} has no vector"):
            ask()


def test_wrong_arguments_are_refused(search):
    vectors = random_vectors(8, 4, 32)
    stored = search.Vectors(32, [(0, vectors)])
    ordinals = np.arange(4, dtype=np.uint32)

    for width, segments in (
        (0, []),
        (64, [(0, vectors)]),
        (32, [(0, vectors), (3, vectors)]),
        (32, [(-1, vectors)]),
        (32, [(4_294_967_295, vectors)]),
        (32, [(0, vectors.ravel())]),
    ):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            search.Vectors(width, segments)
    for offsets in ([0, 4], [0, 1, 2, 3, 5], [1, 1, 2, 3, 4], [0, 3, 2, 3, 4]):
        with pytest.raises((ValueError, TypeError)):
            stored.similarity(vectors, np.array(offsets, np.int64), ordinals)
    for call in (
        lambda: stored.similarity(vectors[:, :16], np.array([0, 1, 2, 3, 4]), ordinals),
        lambda: stored.between(ordinals, ordinals[:2]),
        lambda: stored.scan(vectors, similarity=0.5, skip=None, after=ordinals[:2]),
        lambda: stored.measure_one(np.zeros((1, 31), np.uint8), [(3, 0)], 0.5),
        lambda: stored.agree_one(vectors[:1], ordinals, 4, 0),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()


def test_vectors_followed_by_a_segment_measure_all_segments(search):
    vectors = random_vectors(1, 9, 7)
    earlier = search.Vectors(7, [(0, vectors[:4])])

    found = earlier.followed_by(4, vectors[4:]).followed_by(20, vectors[:2])

    assert (found.gather(np.array([3, 8, 21], np.uint32)) == vectors[[3, 8, 1]]).all()


@over("width", WIDTHS)
def test_measuring_one_query_keeps_the_similar_documents_best_first(search, width):
    vectors = random_vectors(width, 90, width)
    stored = search.Vectors(width, [(4, vectors[:50]), (60, vectors[50:])])
    ordinals = [*range(4, 54), *range(60, 100)]
    similar = {
        ordinal: oracle.cosine(vectors[0], vectors[at]) for at, ordinal in enumerate(ordinals)
    }

    found = stored.measure_one(vectors[:1], [(each, each % 3) for each in ordinals[::-1]], 0.5)

    expected = [(at, at % 3, value) for at, value in similar.items() if value >= 0.5]
    assert found == sorted(expected, key=lambda row: (-row[2], row[0]))
    assert stored.measure_one(vectors[:1], [], 0.5) == []


@over("bits", [1, 2, 8, 32])
@over("width", [4, 12, 64, 96])
@over("count", [0, 1, 8, 256])
def test_the_equal_minima_of_one_signature_are_counted(search, count, width, bits):
    vectors = random_vectors(count, 256, width)
    stored = search.Vectors(width, [(9, oracle.displaced(vectors, 3))])
    ordinals = np.arange(9, 9 + count, dtype=np.uint32)

    found = stored.agree_one(vectors[3:4], ordinals, bits, 9)

    places = unpack_minima(vectors, bits).tolist()
    counts = [
        sum(left == right for left, right in zip(places[at], places[3], strict=True))
        for at in range(count)
    ]
    similar = [(at + 9, counts[at]) for at in range(count) if counts[at] >= 9]
    assert found == sorted(similar, key=lambda row: -row[1])
