"""Searches of cross-polytope tables answer like a double loop, whatever runs and variant."""

from functools import cache
from itertools import pairwise

import numpy as np
import polytope_oracle as oracle
import pytest
import search_oracle
from over import over

from simdb.core.bits import bitmap
from simdb.core.errors import CorruptError

TABLES = 3
# So many queries are looked up in the order of the tables, and more are not looked up together.
BATCH, BATCHES = 2048 + 5, (1 << 14) + 700
USUAL, NEAR = oracle.limits(), oracle.limits(17, 24)
NOTHING = search_oracle.pair([])
WIDTHS = [(7,), (13,), (18,), (22,), (13, 7), (18, 13, 7)]


def options(**given):
    """Return the arguments of a search."""
    of_limits = ("distance", "delta_distance", "flipped", "firm")
    limits = {name: given.pop(name) for name in of_limits if name in given}
    usual = {"similarity": 0.3, "first": False, "after": None}
    return usual | given | {"limits": oracle.limits(**limits)}


@cache
def search_case(widths, vector_width=64, count=90):
    """Return the arguments of `Polytopes`, thresholds, queries, and runs for the oracle."""
    vectors = oracle.near_vectors(sum(widths) + vector_width, count, vector_width)
    generator = np.random.default_rng(1)
    ordinals = np.sort(generator.choice(300, count, replace=False)).astype(np.uint32)
    bounds = np.linspace(0, count, len(widths) + 2).astype(int)
    parts = [slice(start, stop) for start, stop in pairwise(bounds)]
    thresholds = np.array([1.1 + 0.4 * number for number in range(len(widths))], np.float32)
    runs = [
        (vectors[part], ordinals[part].tolist(), width, threshold)
        for part, width, threshold in zip(parts, widths, thresholds, strict=False)
    ]
    segments = [
        (int(ordinal), vectors[number : number + 1]) for number, ordinal in enumerate(ordinals)
    ]
    columns = [oracle.columns(run[0], run[1], run[2], TABLES) for run in runs]
    recent = vectors[parts[-1]], ordinals[parts[-1]].tolist()
    queries = np.concatenate([vectors[::9], oracle.near_vectors(77, 4, vector_width)])
    return (
        (vector_width, segments, columns, oracle.delta(*recent)),
        thresholds,
        queries,
        runs,
        recent,
    )


@cache
def looped(widths, vector_width, **given):
    """Return what a double loop finds for the queries of a case."""
    _, _, queries, runs, recent = search_case(widths, vector_width)
    given = {"similarity": 0.3, "delta_distance": 24} | given
    return [oracle.matches(query, runs, recent, TABLES, **given) for query in queries]


@cache
def left_out_case(widths, vector_width):
    """Return the dead documents, where the answers of each query begin, and the answers."""
    _, _, queries, runs, recent = search_case(widths, vector_width)
    dead = {ordinal for run in runs for ordinal in run[1][::5]} | set(recent[1][::4])
    after = np.arange(len(queries), dtype=np.uint32) * 13
    expected = [
        oracle.matches(query, runs, recent, TABLES, similarity=0.3, distance=15, delta_distance=24,
                       dead=dead, after=start)
        for query, start in zip(queries, after.tolist(), strict=True)
    ]  # fmt: skip
    return bitmap(np.array(sorted(dead)), 300), after, expected


CASES = [*((each, 64) for each in WIDTHS), ((18, 13, 7), 128)]
CASES += [((13, 7), vector_width) for vector_width in (1, 31, 33)]


@over(("widths", "vector_width"), CASES)
def test_a_search_finds_what_a_double_loop_finds(search, widths, vector_width):
    arguments, thresholds, queries, *_ = search_case(widths, vector_width)
    marks, after, expected = left_out_case(widths, vector_width)
    tables = search.Polytopes(*arguments, marks)

    found = tables.search(queries, thresholds=thresholds, **options(after=after))

    assert sum(map(len, expected)) > 20
    assert oracle.rows(found) == expected


@over(("widths", "vector_width"), CASES)
def test_many_queries_find_what_a_double_loop_finds(search, widths, vector_width):
    arguments, thresholds, queries, *_ = search_case(widths, vector_width)
    marks, after, expected = left_out_case(widths, vector_width)
    tables = search.Polytopes(*arguments, marks)
    every = np.arange(BATCH) % len(queries)

    found = tables.search(queries[every], thresholds=thresholds, **options(after=after[every]))

    assert oracle.rows(found) == [expected[number] for number in every.tolist()]


@pytest.mark.few(1)
@over("widths", [(7,), (13, 7)])
def test_more_queries_than_there_is_room_for_find_what_each_finds(search, widths):
    arguments, _, queries, *_ = search_case(widths)
    tables = search.Polytopes(*arguments, None)
    every = np.arange(BATCHES) % len(queries)
    # Hundreds of headers of each query, and in them dozens of keys that are near enough.
    given = {"thresholds": np.array([9.0, 3.0][-len(widths) :], np.float32)}
    given |= options(similarity=0.6, distance=42, delta_distance=64)
    few = tables.search(queries, **given)

    found = tables.search(queries[every], **given)

    counts = np.diff(few[0])[every]
    assert counts.sum() > BATCHES
    assert np.diff(found[0]).tolist() == counts.tolist()
    rows = np.concatenate([np.arange(*few[0][number : number + 2]) for number in every.tolist()])
    for column, own in zip(found[1:], few[1:], strict=True):
        assert (column == own[rows]).all()


@over(("widths", "vector_width"), CASES[: len(WIDTHS)])
def test_one_query_is_answered_as_in_a_batch_and_the_first_is_one_of_all(
    search, widths, vector_width
):
    arguments, thresholds, queries, *_ = search_case(widths, vector_width)
    tables = search.Polytopes(*arguments, None)
    every = oracle.rows(tables.search(queries, thresholds=thresholds, **options()))

    alone, firsts = (
        [tables.search_one(query, thresholds, 0.3, USUAL, is_first, 1000) for query in queries]
        for is_first in (False, True)
    )
    some = oracle.rows(tables.search(queries, thresholds=thresholds, **options(first=True)))

    assert alone == every
    for most in (1, 2, 3, 64):
        best = [
            tables.search_one(query, thresholds, 0.3, USUAL, 0, 1000, most) for query in queries
        ]
        assert best == [row[:most] for row in every]
    assert max(map(len, every)) > 3
    for found in (some, firsts):
        assert [len(row) for row in found] == [min(1, len(row)) for row in every]
        assert all(set(row) <= set(others) for row, others in zip(found, every, strict=True))


@over(("vector_width", "flipped"), [(32, 0.2), (64, 0.0), (64, 0.15), (64, 0.3), (128, 0.2)])
def test_signs_of_large_weights_may_not_differ(search, vector_width, flipped):
    arguments, thresholds, queries, *_ = search_case((18, 7), vector_width)
    given = {"distance": 30, "delta_distance": 24}
    tables = search.Polytopes(*arguments, None)

    found = tables.search(queries, thresholds=thresholds, **options(**given, flipped=flipped))

    expected, all_of_them = (
        looped((18, 7), vector_width, **given, **more) for more in ({"flipped": flipped}, {})
    )
    assert oracle.rows(found) == expected
    assert sum(map(len, all_of_them)) > sum(map(len, expected)) > 0
    for query, row in zip(queries, expected, strict=True):
        one = tables.search_one(query, thresholds, 0.3, oracle.limits(30, 24, flipped), False, 99)
        assert [match[:2] for match in one] == [match[:2] for match in row]


@over("vector_width", [16, 32, 64, 128])
def test_queries_with_weights_near_zero_have_limits_of_their_own(search, vector_width):
    arguments, thresholds, queries, *_ = search_case((18, 7), vector_width)
    tables = search.Polytopes(*arguments, None)
    given = {"distance": 30, "delta_distance": 40, "flipped": 0.5, "firm": (12, 16, 0.3)}

    found = tables.search(queries, thresholds=thresholds, **options(**given))

    expected = looped((18, 7), vector_width, **given)
    assert oracle.rows(found) == expected
    assert sum(map(len, expected)) > 0


def test_firm_signs_are_those_of_all_weights_but_the_least(search):
    for width in (1, 16, 31, 32, 33, 63, 64, 128):
        vectors = oracle.near_vectors(width, 60, width)
        vectors[::3] = np.random.default_rng(width).choice([0x17, 0x88, 0xF1], vectors[::3].shape)

        found = search.firm_signs(vectors)

        assert found.tolist() == [oracle.firm(each.tobytes()) for each in vectors]


def test_whole_fingerprints_in_place_of_keys_are_compared_by_all_their_bits(search):
    (*arguments, columns, delta), thresholds, queries, runs, _ = search_case((18, 7))
    whole = [
        [
            (oracle.fingerprints(vectors, ordinals, own), own, directory)
            for _, own, directory in tables
        ]
        for (vectors, ordinals, *_), tables in zip(runs, columns, strict=True)
    ]
    given = {"distance": 18, "delta_distance": 24, "flipped": 0.3}

    tables = search.Polytopes(*arguments, whole, delta, None, are_whole=True)
    found = tables.search(queries, thresholds=thresholds, **options(**given))

    expected, by_keys = (looped((18, 7), 64, **given, **more) for more in ({"signs": 64}, {}))
    assert oracle.rows(found) == expected
    assert sum(map(len, by_keys)) > sum(map(len, expected)) > 20
    with pytest.raises(ValueError, match="distance is 65, not from 0 to 64"):
        tables.search(queries, thresholds=thresholds, **options(distance=65))


@over("vector_width", [64, 128])
def test_tables_that_are_searched_one_by_one_find_together_what_all_find(search, vector_width):
    (_, segments, columns, delta), thresholds, queries, *_ = search_case((13, 7), vector_width)
    whole = search.Polytopes(vector_width, segments, columns, delta, None)

    parts = [
        search.Polytopes(
            vector_width, segments, [run[first : first + 1] for run in columns], delta, None,
            first_table=first,
        )
        for first in range(TABLES)
    ]  # fmt: skip

    found = [
        oracle.rows(each.search(queries, thresholds=thresholds, **options())) for each in parts
    ]
    together = [set().union(*rows) for rows in zip(*found, strict=True)]
    expected = oracle.rows(whole.search(queries, thresholds=thresholds, **options()))
    assert together == [set(row) for row in expected]
    assert found[0] != found[1]


def test_the_delta_the_tombstones_and_the_vectors_can_be_exchanged(search):
    arguments, thresholds, queries, _, recent = search_case((13, 7))
    vector_width, segments, columns, delta = arguments
    marks = bitmap(np.array(sorted(recent[1][::4])), 300)
    whole = search.Polytopes(vector_width, segments, columns, delta, marks)
    runs_only = search.Polytopes(vector_width, [], columns, oracle.delta([], []), None)
    vectors = search.Vectors(vector_width, segments)

    found = (
        runs_only.over(delta, None, vectors)
        .over(delta, marks, vectors)
        .search(queries, thresholds=thresholds, **options())
    )

    expected = whole.search(queries, thresholds=thresholds, **options())
    assert oracle.rows(found) == oracle.rows(expected)
    assert sum(map(len, oracle.rows(found))) > 20


@over("similarity", [-1.0, 0.5, 0.9, 1.0, 1.5])
@over("distance", [0, 5, 42])
def test_similarity_and_distances_are_limits(search, similarity, distance):
    arguments, thresholds, queries, *_ = search_case((18, 13, 7))
    tables = search.Polytopes(*arguments, None)
    limits = {"similarity": similarity, "distance": distance, "delta_distance": distance + 20}

    found = tables.search(queries, thresholds=thresholds, **options(**limits))

    assert oracle.rows(found) == looped((18, 13, 7), 64, **limits)


@over("width", [7, 13])
@over("places", [(), (1,), (33, 64, 65), tuple(range(1, 128))])
@over("count", [9, BATCH])
def test_searches_in_all_windows_are_one_search(search, width, places, count):
    vectors = oracle.near_vectors(5, 60)
    queries = vectors[np.arange(count) * 7 % 60]
    columns = oracle.columns(vectors, range(60), width, TABLES)
    segments, thresholds = [(0, vectors)], np.array([1.5], np.float32)
    bounds = [each << (width - 7) for each in (0, *places, 128)]

    def found(columns, windows):
        tables = search.Polytopes(64, segments, [columns], NOTHING, None, windows)
        return oracle.rows(tables.search(queries, thresholds=thresholds, **options()))

    parts, alone = (
        [found(some, [window]) for window in pairwise(bounds)] for some in (columns, columns[:1])
    )

    expected = found(columns, None)
    # A match that one table reaches is in one window.
    assert [sum(map(len, rows)) for rows in zip(*alone, strict=True)] == [
        len(row) for row in found(columns[:1], None)
    ]
    # A match that several tables reach may be in several windows.
    merged = [
        sorted(set().union(*rows), key=lambda row: (-row[2], row[0]))
        for rows in zip(*parts, strict=True)
    ]
    assert merged == expected


def test_thousands_of_equal_documents_are_found_once_each(search):
    vectors = np.repeat(oracle.near_vectors(6, 2), 3000, axis=0)
    columns = oracle.columns(vectors, range(6000), 13, TABLES)
    tables = search.Polytopes(64, [(0, vectors)], [columns], NOTHING, None)
    thresholds = np.array([2.0], np.float32)

    offsets, ordinals, distances, similarities = tables.search(
        vectors[[5999, 0]], thresholds=thresholds, **options(similarity=0.99)
    )

    assert offsets.tolist() == [0, 3000, 6000]
    assert ordinals.tolist() == [*range(3000, 6000), *range(3000)]
    assert not distances.any()
    assert (similarities == 1).all()
    one = tables.search_one(vectors[0], thresholds, 0.99, NEAR, False, 3000)
    assert one == [(ordinal, 0, 1.0) for ordinal in range(3000)]
    assert tables.search_one(vectors[0], thresholds, 0.99, NEAR, False, 2999) is None
    assert tables.search_one(vectors[0], thresholds, 0.99, NEAR, False, 20) is None
    for most in (1, 5, 64):
        assert tables.search_one(vectors[0], thresholds, 0.99, NEAR, 0, 64, most) == one[:most]
    assert tables.search_one(vectors[0], thresholds, 0.99, NEAR, 0, 2999, 65) is None


@pytest.mark.few(1)
def test_a_delta_of_many_documents_is_compared_one_by_one(search):
    vectors = oracle.near_vectors(8, 700)
    ordinals = np.random.default_rng(8).permutation(700)
    recent = vectors[ordinals], ordinals.tolist()
    tables = search.Polytopes(64, [(0, vectors)], [], oracle.delta(*recent), None)

    found = tables.search(
        vectors[:17], thresholds=np.empty(0, np.float32), **options(delta_distance=20)
    )

    assert oracle.rows(found) == [
        oracle.matches(query, [], recent, 0, similarity=0.3, distance=0, delta_distance=20)
        for query in vectors[:17]
    ]


def test_nothing_stored_and_nothing_asked_give_empty_results(search):
    vectors = oracle.near_vectors(9, 20)
    empty = oracle.columns(vectors[:0], [], 13, TABLES)
    columns = oracle.columns(vectors, range(20), 13, TABLES)
    thresholds = np.array([1.0, 1.0], np.float32)
    nothing = search.Polytopes(64, [], [empty, empty], NOTHING, None)
    some = search.Polytopes(64, [(0, vectors)], [empty, columns], NOTHING, None)

    found = nothing.search(vectors, thresholds=thresholds, **options())
    unasked = some.search(vectors[:0], thresholds=thresholds, **options())

    assert oracle.rows(found) == [[]] * 20
    assert oracle.rows(unasked) == []
    assert nothing.search_one(vectors[0], thresholds, 0.3, USUAL, False, 10) == []
    assert all(oracle.rows(some.search(vectors, thresholds=thresholds, **options())))


@over("is_many", [False, True])
@over("place", range(0, 130, 9))
def test_any_directory_gives_an_answer_or_none(search, place, is_many):
    vectors = oracle.near_vectors(10, 50)
    (keys, ordinals, directory), *others = oracle.columns(vectors, range(50), 7, TABLES)
    wrong = directory.copy()
    wrong[place % 129], wrong[(place + 40) % 129] = 2**32 - 1, 60
    tables = search.Polytopes(
        64, [(0, vectors)], [[(keys, ordinals, wrong), *others]], NOTHING, None
    )

    queries = np.concatenate([vectors, *[vectors[::10]] * is_many * 400])
    found = tables.search(queries, thresholds=np.array([2.0], np.float32), **options())

    assert all(0 <= row[0] < 50 for rows in oracle.rows(found) for row in rows)


def test_an_ordinal_without_a_vector_is_refused_by_name(search):
    vectors = oracle.near_vectors(12, 40)
    columns = oracle.columns(vectors, range(40), 13, TABLES)
    thresholds = np.array([1.0], np.float32)
    delta = oracle.delta(vectors[:1], [77])
    missing = search.Polytopes(64, [(0, vectors[:39])], [columns], NOTHING, None)
    recent = search.Polytopes(64, [(0, vectors)], [columns], delta, None)
    dead = search.Polytopes(64, [(0, vectors)], [columns], delta, bitmap(np.array([77]), 80))

    with pytest.raises(CorruptError, match="ordinal 39 has no vector"):
        missing.search(vectors, thresholds=thresholds, **options())
    with pytest.raises(CorruptError, match="ordinal 39 has no vector"):
        missing.search(np.tile(vectors, (60, 1)), thresholds=thresholds, **options())
    with pytest.raises(CorruptError, match="ordinal 39 has no vector"):
        missing.search_one(vectors[39], thresholds, 0.3, USUAL, False, 10)
    with pytest.raises(CorruptError, match="ordinal 77 has no vector"):
        recent.search(vectors[:1], thresholds=thresholds, **options())

    assert oracle.rows(dead.search(vectors[:1], thresholds=thresholds, **options()))[0]


def test_wrong_arguments_are_refused(search):
    vectors = oracle.near_vectors(13, 10)
    columns = oracle.columns(vectors, range(10), 7, TABLES)
    other = oracle.columns(vectors, range(10), 13, TABLES)
    six = [(keys, ordinals, directory[::2].copy()) for keys, ordinals, directory in columns]
    segments, thresholds = [(0, vectors)], np.array([1.0], np.float32)
    tables = search.Polytopes(64, segments, [columns], NOTHING, None)

    for width, runs, windows in (
        (129, [columns], None),
        (32, [columns], None),
        (64, [columns, columns[:2]], None),
        (64, [six], None),
        (64, [[columns[0], other[1], columns[2]]], None),
        (64, [[(columns[0][0][:5], *columns[0][1:]), *columns[1:]]], None),
        (64, [columns * 6], None),
        (64, [columns], [(0, 129)]),
        (64, [columns], [(5, 5)]),
    ):
        with pytest.raises((ValueError, TypeError)):
            search.Polytopes(width, segments, runs, NOTHING, None, windows)
    for given in (
        {"thresholds": np.array([1.0, 1.0], np.float32)},
        {"thresholds": np.array([np.nan], np.float32)},
        {"distance": 43},
        {"delta_distance": 65},
        {"flipped": 1.1},
        {"flipped": np.nan},
        {"after": np.zeros(3, np.uint32)},
    ):
        with pytest.raises((ValueError, TypeError)):
            tables.search(vectors, **options(**{"thresholds": thresholds} | given))
    with pytest.raises((ValueError, TypeError)):
        tables.search(vectors[:, :32].copy(), thresholds=thresholds, **options())
    with pytest.raises(ValueError, match="32 bytes; they need 64"):
        tables.over(oracle.delta([], []), None, search.Vectors(32, []))
