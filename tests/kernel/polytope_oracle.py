"""The contract of cross-polytope keys in plain loops over Python integers."""

import math
from functools import cache
from itertools import islice

import numpy as np
import search_oracle

MASK = 0xFFFF_FFFF_FFFF_FFFF
SLICES = ((0, 64, 7, 239), (64, 32, 6, 222), (96, 16, 5, 202), (112, 8, 4, 181))
WIDTHS = (7, 13, 18, 22)
CODE_BITS, TAG_BITS = 22, 42
PROBES_MAX, CUT_MAX = 16384, 32767
RATE = 4
TRANSFORM = np.array([[(-1) ** (i & j).bit_count() for j in range(128)] for i in range(128)])


def mixed(word):
    """Return the word through the finaliser of MurmurHash3_x64_128."""
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return word ^ word >> 33


@cache
def signs(turn):
    """Return the 128 signs of one turn: 0 for all tables, then one for each table."""
    return [-1 if bit else 1 for bit in drawn_bits(turn)]


@cache
def drawn_bits(row):
    """Return 128 bits of the words that are drawn: rows 0 .. 16 are signs, 17 .. 24 choices."""
    words = [mixed((2 * row + half + 1) * 0x9E3779B97F4A7C15 & MASK) for half in (0, 1)]
    return [words[i // 64] >> i % 64 & 1 for i in range(128)]


def transformed(values):
    """Return the Walsh-Hadamard transform of 128 numbers, in natural order."""
    return (TRANSFORM @ np.array(values)).tolist()


@cache
def rotated(vector, table):
    """Return a packed vector, given as bytes, as the table sees it."""
    weights = search_oracle.unpacked(vector)
    halves = 1 if len(weights) <= 128 else 2
    padded = weights + [0] * (128 * halves - len(weights))
    first = transformed([s * x for s, x in zip(signs(0), padded[:128], strict=True)])
    if halves == 2:
        second = transformed([s * x for s, x in zip(signs(0), padded[128:], strict=True)])
        choices = drawn_bits(17 + table // 2)
        is_odd = table % 2 == 1
        first = [b if bit != is_odd else a
                 for a, b, bit in zip(first, second, choices, strict=True)]  # fmt: skip
    return transformed([s * y for s, y in zip(signs(table + 1), first, strict=True)])


@cache
def code(vector, table):
    """Return the code of a packed vector."""
    result = 0
    for start, dimensions, bits, _ in SLICES:
        part = rotated(vector, table)[start : start + dimensions]
        best = max(range(dimensions), key=lambda i: (abs(part[i]), -i))
        result = result << bits | 2 * best + (part[best] < 0)
    return result


@cache
def fingerprint(vector):
    """Return the fingerprint of a packed vector."""
    return sum(1 << i for i, weight in enumerate(search_oracle.unpacked(vector)[:64]) if weight > 0)


@cache
def key(vector, table):
    """Return the key of a packed vector."""
    return code(vector, table) << TAG_BITS | fingerprint(vector) % 2**TAG_BITS


@cache
def vertex_costs(vector, table, number):
    """Return what each vertex of one slice costs, seen from a packed vector."""
    start, dimensions, _, ratio = SLICES[number]
    part = rotated(vector, table)[start : start + dimensions]
    values = [sign * value for value in part for sign in (1, -1)]
    return [(max(values) - value) * ratio >> 8 for value in values]


def vertices(header, width):
    """Return the numbers of the vertices of a header."""
    result, shift = [], width
    for _, _, bits, _ in SLICES[: WIDTHS.index(width) + 1]:
        shift -= bits
        result.append(header >> shift & 2**bits - 1)
    return result


@cache
def cost(vector, table, header, width):
    """Return what a header costs, seen from a packed vector."""
    chosen = enumerate(vertices(header, width))
    vertices_cost = sum(vertex_costs(vector, table, number)[vertex] for number, vertex in chosen)
    return vertices_cost + normaliser(vector, table, width) if vertices_cost else 0


@cache
def normaliser(vector, table, width):
    """Return what all headers but the nearest cost beside their vertices."""
    product, slices = 1, SLICES[: WIDTHS.index(width) + 1]
    for start, dimensions, _, ratio in slices:
        sizes = [abs(value) for value in rotated(vector, table)[start : start + dimensions]]
        step = min(int(32768 * 3 * RATE / 256 * ratio / deviation(vector)), 32767)
        places = [(max(sizes) - size) * step + 2**14 >> 15 for size in sizes]
        product *= sum(round(255 * math.exp(-place / 3)) for place in places if place < 15)
    return int(math.log(product / 255 ** len(slices)) / RATE * deviation(vector))


@cache
def deviation(vector):
    """Return the standard deviation of a rotated coordinate."""
    norm = sum(weight**2 for weight in search_oracle.unpacked(vector))
    return math.sqrt(128.0 * norm / (1 if len(vector) <= 64 else 2))


def cut_of(vector, threshold):
    """Return what a header may cost at most; the threshold is rounded to float32."""
    unit = deviation(vector) if len(vector) > 32 else 1.05 * deviation(vector)
    limit = float(np.float32(threshold)) * unit
    return math.floor(limit) if limit < CUT_MAX else CUT_MAX


@cache
def headers(vector, table, width, limit):
    """Return the set of headers, which cost at most `limit`, that a packed vector looks up."""
    return near_headers(vector, table, width, max(limit - normaliser(vector, table, width), 0))


@cache
def near_headers(vector, table, width, cut):
    """Return the set of headers whose vertices cost at most `cut`, or less if they are too many."""
    if cut < 0:
        return {code(vector, table) >> CODE_BITS - width}
    found = {0: 0}
    for number, (_, _, bits, _) in enumerate(SLICES[: WIDTHS.index(width) + 1]):
        near = [(v, c) for v, c in enumerate(vertex_costs(vector, table, number)) if c <= cut]
        longer = (
            (header << bits | vertex, total + each)
            for header, total in found.items()
            for vertex, each in near
            if total + each <= cut
        )
        # Each header goes on with at least one vertex, the one that costs nothing.
        found = dict(islice(longer, PROBES_MAX + 1))
        if len(found) > PROBES_MAX:
            return near_headers(vector, table, width, cut - cut // 8 - 1)
    return set(found)


def reaches(left, right, threshold, width, tables):
    """Return the first table in which a search from `left` looks up `right`, or None."""
    for table in range(tables):
        header = code(right, table) >> CODE_BITS - width
        if header in headers(left, table, width, cut_of(left, threshold)):
            return table
    return None


def columns(vectors, ordinals, width, tables):
    """Return the columns of a run: keys, ordinals and directory for each table."""
    result = []
    for table in range(tables):
        pairs = zip(vectors, ordinals, strict=True)
        rows = sorted((key(vector.tobytes(), table), ordinal) for vector, ordinal in pairs)
        keys = np.array([each for each, _ in rows], np.uint64)
        heads = [each >> 64 - width for each, _ in rows]
        directory = np.searchsorted(heads, np.arange((1 << width) + 1)).astype(np.uint32)
        column = keys, np.array([ordinal for _, ordinal in rows], np.uint32), directory
        result.append(tuple(map(search_oracle.displaced, column)))
    return result


def delta(vectors, ordinals):
    """Return the fingerprints and ordinals of documents in no run."""
    return search_oracle.pair(
        [(fingerprint(v.tobytes()), n) for v, n in zip(vectors, ordinals, strict=True)]
    )


def fingerprints(vectors, ordinals, chosen):
    """Return the fingerprints of the documents with some ordinals: uint64[n]."""
    own = {
        number: fingerprint(vector.tobytes())
        for vector, number in zip(vectors, ordinals, strict=True)
    }
    return np.array([own[number] for number in chosen.tolist()], np.uint64)


def limits(distance=15, delta_distance=24, flipped=1.0, firm=None):
    """Return the limits of a search; `firm`: those of queries that are not all firm, if others."""
    every = distance, delta_distance, flipped
    return every, every if firm is None else firm


def firm(query):
    """Return which of the first 64 signs are firm, as bits; all if nearly all are."""
    sizes = [abs(weight) for weight in search_oracle.unpacked(query)[:64]]
    signs = sum(1 << at for at, size in enumerate(sizes) if size > 1)
    return signs if 64 - signs.bit_count() >= 8 else 2**64 - 1


def are_few(query, other, signs, distance, flipped):
    """Return whether few of the lowest firm signs differ, and those of few weights of the query."""
    counted = firm(query) % 2**signs
    sizes = [abs(weight) for weight in search_oracle.unpacked(query)[:signs]]
    sizes = [size * (counted >> at & 1) for at, size in enumerate(sizes)]
    differing = (fingerprint(query) ^ fingerprint(other)) & counted
    lost = sum(size for at, size in enumerate(sizes) if differing >> at & 1)
    every = [abs(weight) > 1 for weight in search_oracle.unpacked(query)]
    share = float(np.float32(flipped)) if 8 * sum(every) >= 5 * len(every) else 1.0
    return differing.bit_count() <= distance and lost <= int(share * sum(sizes))


def matches(
    query, runs, recent, tables, *,
    similarity, signs=TAG_BITS, dead=(), after=-1, **given,
):  # fmt: skip
    """Return (ordinal, distance, similarity) of each match of one query, the best first.

    Each of `runs` is vectors, ordinals, width and threshold; `recent` is vectors and ordinals.
    `signs`: the bits of fingerprints in keys.  `given`: as for `limits`.
    """
    found = {}
    own = query.tobytes()
    distance, delta_distance, flipped = limits(**given)[firm(own) != 2**64 - 1]
    stored = [
        (vector, ordinal, width, threshold)
        for vectors, ordinals, width, threshold in runs
        for vector, ordinal in zip(vectors, ordinals, strict=True)
    ]
    for vector, ordinal, width, threshold in stored:
        other = vector.tobytes()
        is_near = are_few(own, other, signs, distance, flipped)
        if is_near and reaches(own, other, threshold, width, tables) is not None:
            found[ordinal] = other
    for vector, ordinal in zip(*recent, strict=True):
        other = vector.tobytes()
        if ((fingerprint(own) ^ fingerprint(other)) & firm(own)).bit_count() <= delta_distance:
            found[ordinal] = other
    measured = [
        (-search_oracle.cosine_of_bytes(own, other), ordinal, fingerprint(own) ^ fingerprint(other))
        for ordinal, other in found.items()
        if ordinal not in dead and ordinal > after
    ]
    return [
        (ordinal, bin(difference).count("1"), -far)
        for far, ordinal, difference in sorted(measured)
        if -far >= np.float32(similarity)
    ]


def rows(found):
    """Return the result of a batch as lists of (ordinal, distance, similarity)."""
    offsets, ordinals, distances, similarities = found
    assert similarities.dtype == np.float32
    assert len(similarities) == len(ordinals)
    nearness = iter(similarities.tolist())
    return [
        [(ordinal, distance, next(nearness)) for ordinal, distance in row]
        for row in search_oracle.rows((offsets, ordinals, distances))
    ]


def near_vectors(seed, count, width=64):
    """Make vectors in a few neighbourhoods, some of them equal."""
    generator = np.random.default_rng(seed)
    centres = generator.integers(0, 256, (5, width), np.uint8)
    change = generator.integers(0, 256, (count, width), np.uint8)
    change[generator.random((count, width)) < generator.random((count, 1)) * 0.5 + 0.5] = 0
    return centres[generator.integers(0, 5, count)] ^ change
