"""Keys are compared alike whatever the lengths of their ranges, the distance and the variant."""

import random
from functools import cache

import numpy as np
import search_oracle as oracle
from over import over

MASK = 0xFF << 56
HEADERS = 24
LENGTHS = [(0, 1), (0, 8), (9, 16), (17, 24), (25, 32), (33, 64), (0, 100)]
NOTHING = oracle.pair([])


def made_key(generator, query):
    """Make a key with the header of the query: near, near in its lower half only, or random."""
    kind = generator.randrange(4)
    if kind == 0:
        return oracle.flipped(query, *generator.sample(range(56), generator.randint(0, 13)))
    if kind == 1:
        return oracle.flipped(query, *generator.sample(range(32, 56), generator.randint(9, 16)))
    return query & MASK | generator.getrandbits(56)


@cache
def range_case(lengths):
    """Return queries, one for each header, and entries in ranges of these lengths."""
    generator = random.Random(str(lengths))
    queries = [header << 56 | generator.getrandbits(56) for header in range(HEADERS)]
    keys = [
        made_key(generator, query) for query in queries for _ in range(generator.randint(*lengths))
    ]
    return queries, [(key, ordinal) for ordinal, key in enumerate(keys)]


@cache
def measured_rows(lengths):
    """Return what each query finds in its range, at any distance."""
    queries, entries = range_case(lengths)
    return [
        oracle.matches(query, entries, [], [MASK], distance_max=64, flips=0) for query in queries
    ]


def expected_rows(lengths, distance):
    return [[match for match in row if match[1] <= distance] for row in measured_rows(lengths)]


def made_tables(search, lengths):
    columns = [oracle.column(range_case(lengths)[1], MASK, 8)]
    return search.Tables([MASK], [columns], NOTHING, None)


@over("lengths", LENGTHS)
@over("distance", [0, 3, 7, 8, 13])
def test_ranges_of_any_length_are_compared_key_by_key(search, lengths, distance):
    queries = np.array(range_case(lengths)[0], np.uint64)
    tables = made_tables(search, lengths)

    found = tables.lookup(queries, distance=distance, flips=0, first=False, after=None)

    assert oracle.rows(found) == expected_rows(lengths, distance)


@over("lengths", LENGTHS)
@over("distance", [3, 8])
def test_many_queries_are_compared_with_the_ranges_of_their_neighbours(search, lengths, distance):
    queries = np.array(range_case(lengths)[0] * 50, np.uint64)
    tables = made_tables(search, lengths)

    found = tables.lookup(queries, distance=distance, flips=0, first=False, after=None)

    assert oracle.rows(found) == expected_rows(lengths, distance) * 50
