"""Which documents stay, against a double loop, whatever the buckets and the rounds are."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from simdb.jobs.deduplication import stars
from simdb.jobs.deduplication.minima import BandBuckets
from simdb.jobs.deduplication.stars import find_connected, find_stars

COUNT = 24
LEAST = 0.8
BANDS = st.lists(
    st.lists(st.integers(0, 6), min_size=COUNT, max_size=COUNT), min_size=1, max_size=4
)


def buckets_of(bands):
    """Returns buckets from a key for each document, of each band."""
    found = []
    for keys in bands:
        inside = [[at for at, each in enumerate(keys) if each == key] for key in sorted(set(keys))]
        shared = [bucket for bucket in inside if len(bucket) > 1]
        sizes = np.array([len(bucket) for bucket in shared], np.uint32)
        found.append(BandBuckets.of(sizes, np.array([*chain(*shared)], np.uint32)))
    return found


def similar(one, other, seed):
    return 0.9 if hash((min(one, other), max(one, other), seed)) % 3 == 0 else 0.1


def expected(bands, alike, leading=0):
    """Returns what stands for each document: the first that stays, is a candidate and matches.

    The `leading` first ones stay.
    """
    leader = {}
    for place in range(len(bands[0])):
        before = [
            each for each in range(place)
            if leader[each] == each
            and any(keys[each] == keys[place] for keys in bands)
            and alike(each, place) >= LEAST
        ]  # fmt: skip
        leader[place] = before[0] if before and place >= leading else place
    return leader


@given(
    bands=BANDS,
    seed=st.integers(0, 1000),
    share=st.sampled_from([0.125, 2.0]),
    window=st.sampled_from([(1, 1, 1), (2, 2, 1 << 22), (64, 8, 1 << 22)]),
    part=st.sampled_from([1, 10, 1 << 22]),
    leading=st.sampled_from([0, 0, 1, 5, 16, COUNT]),
)
@settings(max_examples=10 * settings.default.max_examples, deadline=None)
def test_a_document_goes_if_one_that_stays_matches_it(bands, seed, share, window, part, leading):
    asked = []

    def compare(left, right):
        pairs = list(zip(left.tolist(), right.tolist(), strict=True))
        asked.extend(pairs)
        return np.array([similar(*pair, seed) for pair in pairs], np.float32)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stars, "HEADS_SHARE", share)
        patch.setattr(stars, "PART_MEMBERS", part)
        names = ("WINDOW_FIRST", "WINDOW_GROWTH", "WINDOW_PAIRS")
        for name, value in zip(names, window, strict=True):
            patch.setattr(stars, name, value)
        found = find_stars(buckets_of(bands), COUNT, LEAST, compare, leading=leading)

    leader = expected(bands, lambda one, other: similar(one, other, seed), leading)
    assert found.removed.tolist() == [place for place in leader if leader[place] != place]
    stayed = set(range(COUNT)) - set(found.removed.tolist())
    for place, chosen, value in zip(*map(np.ndarray.tolist, (
        found.removed, found.leaders, found.similarities)), strict=True):  # fmt: skip
        assert chosen in stayed
        assert chosen == leader[place] or leader[place] >= leading
        assert value == pytest.approx(similar(chosen, place, seed))
    assert len(asked) == len(set(asked))
    assert not leading or all(max(pair) >= leading for pair in asked)


@given(
    bands=BANDS,
    seed=st.integers(0, 1000),
    sizes=st.lists(st.integers(0, 3), min_size=COUNT, max_size=COUNT),
    leading=st.sampled_from([0, 0, 1, 5]),
)
@settings(max_examples=5 * settings.default.max_examples, deadline=None)
def test_the_larger_documents_come_first(bands, seed, sizes, leading):
    order = [*range(leading), *sorted(range(leading, COUNT), key=lambda at: -sizes[at])]

    def compare(left, right):
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([similar(*pair, seed) for pair in pairs], np.float32)

    def size_of(places):
        return np.array(sizes, np.float64)[places]

    found = find_stars(buckets_of(bands), COUNT, LEAST, compare, leading=leading, sizes=size_of)

    ordered = [[keys[at] for at in order] for keys in bands]
    leader = expected(ordered, lambda one, other: similar(order[one], order[other], seed), leading)
    stays = {order[at]: order[one] for at, one in leader.items() if at != one}
    assert found.removed.tolist() == sorted(stays)
    for place, chosen in zip(found.removed.tolist(), found.leaders.tolist(), strict=True):
        assert chosen not in stays
        assert order.index(chosen) < order.index(place)
        assert similar(chosen, place, seed) >= LEAST


@given(bands=BANDS, part=st.sampled_from([1, 3, 1 << 22]))
def test_a_bucket_of_several_bands_is_kept_once(bands, part):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stars, "PART_MEMBERS", part)
        found = [*stars._distinct(buckets_of(bands))]

    cut = [np.split(each.members, np.cumsum(each.sizes))[:-1] for each in found]
    kept = [bucket.tolist() for buckets in cut for bucket in buckets]
    wanted = {
        tuple(at for at, each in enumerate(keys) if each == key) for keys in bands for key in keys
    }
    assert sorted(kept) == sorted(list(each) for each in wanted if len(each) > 1)


@pytest.mark.parametrize(
    ("find", "leading", "each"),
    [(find_stars, 0, 1), (find_stars, 500, stars.WINDOW_FIRST), (find_connected, 0, 1)],
)
def test_copies_of_one_page_are_compared_with_few_of_them(find, leading, each):
    asked = []

    def compare(left, right):
        asked.append(len(left))
        return np.ones(len(left), np.float32)

    more = {"leading": leading} if leading else {}
    found = find(buckets_of([[0] * 1000, [0] * 1000]), 1000, LEAST, compare, **more)

    assert found.removed.tolist() == list(range(leading or 1, 1000))
    assert set(found.leaders.tolist()) == {0}
    assert sum(asked) == each * len(found.removed)


@given(bands=BANDS, seed=st.integers(0, 1000), apart=st.sampled_from([2, 3, 9]))
@settings(max_examples=10 * settings.default.max_examples, deadline=None)
def test_of_documents_that_matches_connect_the_first_stays(bands, seed, apart):
    def alike(one, other):
        return 0.9 if hash((min(one, other), max(one, other), seed)) % apart == 0 else 0.1

    asked = []

    def compare(left, right):
        pairs = list(zip(left.tolist(), right.tolist(), strict=True))
        asked.extend(pairs)
        return np.array([alike(*pair) for pair in pairs], np.float32)

    found = find_connected(buckets_of(bands), COUNT, LEAST, compare)

    first = list(range(COUNT))
    for place in range(COUNT):
        for other in range(place):
            is_candidate = any(keys[other] == keys[place] for keys in bands)
            if is_candidate and alike(other, place) >= LEAST:
                low, high = sorted((first[other], first[place]))
                first = [low if each == high else each for each in first]
    assert found.removed.tolist() == [place for place in range(COUNT) if first[place] != place]
    assert found.leaders.tolist() == [first[place] for place in found.removed.tolist()]
    pairs = zip(found.leaders.tolist(), found.removed.tolist(), strict=True)
    for pair, value in zip(pairs, found.similarities.tolist(), strict=True):
        matches = pair in asked and alike(*pair) >= LEAST
        assert value == pytest.approx(0.9) if matches else np.isnan(value)
    assert len(asked) == len(set(asked))
