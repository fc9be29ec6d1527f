"""A search that wants some codes leaves out what bits of all other documents leave out."""

import numpy as np
import polytope_oracle
import pytest
import search_oracle as oracle
from over import over

from simdb.core.bits import ALL_BITS, bitmap, leading_masks

COUNT, ANY = 400, 2**64 - 1


def both_forms(seed, wanted, dead_share=0.1, coded=COUNT):
    """Return what leaves documents out by their codes, and the same as bits."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 4, (coded, len(wanted))).astype(np.uint64)
    dead = np.flatnonzero(generator.random(COUNT) < dead_share)
    bits = bitmap(dead, COUNT) if len(dead) else None
    is_other = (codes != np.array(wanted, np.uint64)) & (np.array(wanted, np.uint64) != ANY)
    others = [*np.flatnonzero(is_other.any(axis=1)), *range(coded, COUNT)]
    return (bits, codes, np.array(wanted, np.uint64)), bitmap(np.array([*dead, *others]), COUNT)


def answers(found):
    return [each.tolist() for each in found]


WANTED = [([1], 0.1), ([3], 0.0), ([9], 0.1), ([1, ANY], 0.1), ([ANY, 2, 1], 0.1), ([ANY], 0.2)]


@over(("wanted", "dead_share"), WANTED)
def test_tables(search, wanted, dead_share):
    for coded in (COUNT, 300):
        by_codes, by_bits = both_forms(len(wanted), wanted, dead_share, coded)
        masks = leading_masks(3, 1)
        entries = [*zip(oracle.neighbourhood(7, COUNT, 5, 4), range(COUNT), strict=True)]
        parts = entries[:200], entries[200:360]
        runs = [[oracle.column(part, mask, 5) for mask in masks] for part in parts]
        delta = oracle.pair(entries[360:])
        tables = search.Tables(masks, runs, delta, None)
        queries = np.array([key for key, _ in entries[::29]], np.uint64)
        levels = np.full((len(queries), 64), 90, np.uint8)
        probing = {"costs": np.ones(256, np.uint8), "theta": 2, "cap": 200, "tables": 3}
        found = []
        for left_out in (by_codes, by_bits):
            made = tables.over(delta, left_out), search.Tables(masks, runs, delta, left_out)
            for each in made:
                found.append(
                    [
                        answers(each.lookup(queries, distance=8, flips=1, first=0, after=None)),
                        answers(each.lookup(queries, distance=8, flips=1, first=1, after=None)),
                        answers(each.scan(queries, distance=8, first=0, after=None)),
                        answers(each.scan(queries, distance=8, first=3, after=None)),
                        answers(each.nearest(queries, 7)),
                        answers(each.probe(queries, levels, **probing, distance=8, first=False,
                                           after=None)),
                        each.lookup_one(int(queries[0]), 8, 1, 0),
                        each.probe_one(int(queries[0]), levels[0], probing["costs"], 2, 200, 8,
                                       False, 3),
                    ]
                )  # fmt: skip
        assert found[0] == found[1] == found[2] == found[3]


@over(("wanted", "dead_share"), WANTED)
def test_bands(search, wanted, dead_share):
    by_codes, by_bits = both_forms(5, wanted, dead_share)
    entries = [(at % 6 << 60, at) for at in range(COUNT)]
    nothing = np.empty(0, np.uint64), np.empty(0, np.uint32)
    rows = [[oracle.column(entries, ALL_BITS, 3)]]
    bands = [search.Tables([ALL_BITS], rows, nothing, None)] * 3
    keys = np.array([1 << 60, 2 << 60, 1 << 60], np.uint64)

    found = [search.lookup_bands(bands, keys, COUNT, each).tolist() for each in (by_codes, by_bits)]

    assert found[0] == found[1]
    assert search.lookup_bands(bands, keys, 3 * len(found[0]), by_codes) is not None


@over(("wanted", "dead_share"), WANTED)
@over("width", [32, 64])
def test_vectors(search, wanted, dead_share, width):
    by_codes, by_bits = both_forms(width, wanted, dead_share)
    vectors = polytope_oracle.near_vectors(width, COUNT, width)
    segments = [(0, vectors[:190]), (190, vectors[190:])]
    stored, queries = search.Vectors(width, segments), vectors[::41].copy()
    after = np.arange(len(queries), dtype=np.uint32) * 30

    for skips in [
        lambda skip: stored.scan(queries, similarity=0.3, skip=skip, after=None),
        lambda skip: stored.scan(queries, similarity=0.3, skip=skip, after=after),
        lambda skip: stored.nearest(queries, 9, skip),
        lambda skip: stored.within(queries, distance=6 * width, skip=skip, after=after, first=2),
        lambda skip: stored.within(queries, distance=6 * width, skip=skip, after=None),
        lambda skip: stored.closest(queries, 9, skip),
    ]:
        assert answers(skips(by_codes)) == answers(skips(by_bits))


@over(("wanted", "dead_share"), WANTED)
def test_polytopes(search, wanted, dead_share):
    by_codes, by_bits = both_forms(8, wanted, dead_share)
    vectors = polytope_oracle.near_vectors(3, COUNT, 64)
    runs = [polytope_oracle.columns(vectors[:350], [*range(350)], 13, 3)]
    delta = polytope_oracle.delta(vectors[350:], [*range(350, COUNT)])
    whole = search.Polytopes(64, [(0, vectors)], runs, delta, None)
    limits = polytope_oracle.limits()
    thresholds = np.array([1.3], np.float32)
    found = []
    for left_out in (by_codes, by_bits):
        for tables in (
            search.Polytopes(64, [(0, vectors)], runs, delta, left_out),
            whole.over(delta, left_out, search.Vectors(64, [(0, vectors)])),
        ):
            rows = tables.search(
                vectors[::17].copy(), thresholds=thresholds, similarity=0.3, limits=limits, first=0,
                after=None,
            )  # fmt: skip
            one = tables.search_one(vectors[5], thresholds, 0.3, limits, 0, 1000)
            found.append((answers(rows), one))

    assert found[0] == found[1] == found[2] == found[3]


def test_codes_of_another_width_are_refused(search):
    stored = search.Vectors(4, [(0, np.zeros((5, 4), np.uint8))])
    codes = np.zeros((5, 2), np.uint64)

    with pytest.raises(ValueError, match="1 codes are wanted, but documents have 2"):
        stored.nearest(np.zeros((1, 4), np.uint8), 1, (None, codes, codes[0, :1].copy()))
