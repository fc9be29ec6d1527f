"""Cross-polytope keys and costs are what plain loops make of them, whatever the variant."""

import math

import numpy as np
import polytope_oracle as oracle
import pytest
from over import over

from simdb.core.vector_form import pack

VECTOR_WIDTHS = (1, 2, 7, 31, 32, 33, 63, 64, 65, 96, 127, 128)
# Keys as databases have stored them.
GOLDEN = [
    [0xB7272A9AC27B09EC, 0xCBFBA6F21ACA6B29, 0xFABE6096D25B496D],
    [0xEEB3EA9AC27B09EC, 0xED0AEEF21ACA6B29, 0x20E25C96D25B496D],
    [0x5EDB2E9AC27B09EC, 0x47F5C6F21ACA6B29, 0xEC93D096D25B496D],
]
WIDE_GOLDEN = [
    [0x88E2669AC27B09EC, 0x14B9CC96D25B496D, 0x2471CD94D613D84F],
    [0x7810DA9AC27B09EC, 0xB2257096D25B496D, 0xA0BB0594D613D84F],
    [0xAAA3869AC27B09EC, 0x37434096D25B496D, 0x372D4194D613D84F],
]


def probes(search, vectors, width, threshold, table_count):
    """How many headers each vector looks up, in all tables."""
    offsets, _ = search.polytope_headers(vectors, width, threshold, table_count)
    return np.diff(offsets).reshape(len(vectors), table_count).sum(axis=1)


def near_vectors(seed, count, width, noise=0.5):
    """Make vectors that are noisy copies of a few; among them equal ones, zeros and ones."""
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 256, (4, width), np.uint8)
    change = generator.integers(0, 256, (count, width), np.uint8)
    change[generator.random((count, width)) < noise] = 0
    vectors = centres[generator.integers(0, 4, count)] ^ change
    vectors[:1], vectors[1:2], vectors[2:3] = 0, 255, vectors[3:4]
    return vectors


def level_vector():
    """Make the vector whose rotated coordinates are all equally large."""
    signs = (np.array(oracle.signs(0)) > 0).astype(np.uint8) * 15
    return signs[:64] | signs[64:] << 4


def concentrated(table, size):
    """Make a vector of 256 weights -`size` or `size` that this table turns to coordinate 5."""
    wanted = oracle.transformed([int(place == 5) for place in range(128)])
    seen = [sign * value for sign, value in zip(oracle.signs(table + 1), wanted, strict=True)]
    choices = [bit != table % 2 for bit in oracle.drawn_bits(17 + table // 2)]
    halves = []
    for half in (False, True):
        kept = [value if bit == half else 0 for value, bit in zip(seen, choices, strict=True)]
        before = oracle.transformed(kept)
        signs = [sign * value for sign, value in zip(oracle.signs(0), before, strict=True)]
        halves += [size if value >= 0 else -size for value in signs]
    return pack(np.array(halves, np.int8))


@over("width", VECTOR_WIDTHS)
def test_a_key_is_the_code_and_the_low_bits_of_the_fingerprint(search, width):
    vectors = near_vectors(width, 70 if width == 33 else 9, width)

    keys = search.polytope_keys(vectors, 16)

    assert keys.dtype == np.uint64
    assert keys.tolist() == [
        [oracle.key(vector.tobytes(), table) for vector in vectors] for table in range(16)
    ]
    for first, stop in ((1, 3), (5, 5), (15, 16)):
        assert (search.polytope_keys(vectors, stop - first, first) == keys[first:stop]).all()
    with pytest.raises(ValueError, match="table_count is 3, not from 0 to 2"):
        search.polytope_keys(vectors, 3, 14)


@over(("width", "expected"), [(64, GOLDEN), (128, WIDE_GOLDEN)])
def test_the_keys_of_stored_tables_never_change(search, width, expected):
    vectors = (np.arange(3 * width).reshape(3, width) * 37 % 251).astype(np.uint8)

    keys = search.polytope_keys(vectors, 3)

    assert keys.tolist() == expected


@over("table_count", [2, 16])
def test_the_largest_possible_coordinate_fits(search, table_count):
    """All weights as large as they can be, so that one rotated coordinate has them all."""
    size, tables = 15, range(table_count)
    vectors = np.stack([concentrated(table, size) for table in tables])

    keys = search.polytope_keys(vectors, table_count)

    largest = [max(map(abs, oracle.rotated(vectors[t].tobytes(), t))) for t in tables]
    assert min(largest) > 2**13
    assert keys.tolist() == [
        [oracle.key(vector.tobytes(), table) for vector in vectors] for table in tables
    ]


def test_no_vectors_and_no_tables_have_no_keys(search):
    vectors = near_vectors(2, 5, 64)

    assert search.polytope_keys(vectors[:0], 3).shape == (3, 0)
    assert search.polytope_keys(vectors, 0).shape == (0, 5)
    assert probes(search, vectors[:0], 13, 1.0, 2).shape == (0,)
    assert probes(search, vectors, 13, 1.0, 0).tolist() == [0] * 5
    assert search.polytope_costs(vectors[:0], vectors[:0], 7, 1).shape == (0,)
    assert search.polytope_reaches(vectors[:0], vectors[:0], 1.0, 7, 1).shape == (0,)


def test_of_equally_large_coordinates_the_first_is_the_vertex(search):
    vector = level_vector()
    turned = vector ^ np.uint8(255)

    keys = search.polytope_keys(np.stack([vector, turned]), 5)

    rotated = [oracle.rotated(vector.tobytes(), table) for table in range(5)]
    assert {abs(value) for values in rotated for value in values} == {1920}
    assert keys.tolist() == [
        [oracle.key(each.tobytes(), table) for each in (vector, turned)] for table in range(5)
    ]


@over("width", oracle.WIDTHS)
@over("vector_width", [5, 32, 64, 128])
def test_the_cost_is_the_least_threshold_that_reaches(search, width, vector_width):
    left, right = np.split(near_vectors(width, 24, vector_width), 2)

    costs = search.polytope_costs(left, right, width, 3)

    below = np.nextafter(costs, np.float32(-1))
    is_positive = costs > 0
    least = [
        min(oracle.cost(a.tobytes(), t, oracle.code(b.tobytes(), t) >> 22 - width, width)
            for t in range(3))
        for a, b in zip(left, right, strict=True)
    ]  # fmt: skip
    cuts = [oracle.cut_of(a.tobytes(), cost) for a, cost in zip(left, costs, strict=True)]
    lower = [
        oracle.cut_of(a.tobytes(), cost)
        for a, cost in zip(left[is_positive], below[is_positive], strict=True)
    ]
    assert costs.dtype == np.float32
    assert (np.array(cuts) >= least).all()
    assert (np.array(lower) < np.array(least)[is_positive]).all()
    assert (np.array(least)[~is_positive] == 0).all()


@over("threshold", [0.0, 1.5, 2.5])
def test_reaching_is_looking_up_the_header_in_some_table(search, threshold):
    left, right = np.split(near_vectors(6, 48, 64, noise=0.7), 2)
    widths = np.array([7, 13, 18, 13] * 6, np.uint8)

    reached = search.polytope_reaches(left, right, threshold, widths, 2)

    assert reached.dtype == np.bool_
    assert reached.tolist() == [
        oracle.reaches(a.tobytes(), b.tobytes(), threshold, width, 2) is not None
        for a, b, width in zip(left, right, widths.tolist(), strict=True)
    ]


@over("width", oracle.WIDTHS)
@over("threshold", [0.0, 0.5, 1.3, 2.5])
def test_headers_are_listed_table_by_table(search, width, threshold):
    vectors = near_vectors(8, 6, 64)

    offsets, headers = search.polytope_headers(vectors, width, threshold, 3)

    assert (offsets.dtype, headers.dtype) == (np.int64, np.uint32)
    assert [part.tolist() for part in np.split(headers, offsets[1:-1])] == [
        sorted(oracle.headers(v.tobytes(), table, width, oracle.cut_of(v.tobytes(), threshold)))
        for v in vectors
        for table in range(3)
    ]


@over("width, threshold", [(18, math.inf), (22, 4.0)])
def test_a_query_never_looks_up_too_many_headers(search, width, threshold):
    vectors = np.concatenate([near_vectors(9, 2, 64), level_vector()[None]])

    counts = probes(search, vectors, width, threshold, 1)

    assert counts.tolist() == [
        len(oracle.headers(v.tobytes(), 0, width, oracle.cut_of(v.tobytes(), threshold)))
        for v in vectors
    ]
    # All headers of the last vector with the same signs cost nothing, and they are too many.
    assert counts[-1] == 1
    assert counts.max() <= oracle.PROBES_MAX
