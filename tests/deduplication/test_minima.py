"""Candidates of one run from their minima: which pairs share a bucket, and how they are kept.

A set of keys in sorted arrays answers as a set does.
"""

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from over import over

import simdb
from simdb.core import memory
from simdb.core.stored_options import Resources
from simdb.jobs.deduplication import minima
from simdb.jobs.deduplication.minima import (
    COMPARED_MINIMA,
    Minima,
    SortedKeys,
    background_in,
    banding_for,
    parts_of_keys,
    signer_of,
)
from simdb.plan.banding import Banding, candidate_probability

SKETCH = simdb.Simhash()


def texts_of(count, seed=1):
    chance = random.Random(seed)
    made = [" ".join(f"w{chance.randrange(50)}" for _ in range(12)) for _ in range(count)]
    return [made[chance.randrange(count)] if chance.random() < 0.4 else each for each in made]


def members_of(buckets):
    """Returns the members of each bucket: pairs, and then the larger ones."""
    assert buckets.sizes.sum() == len(buckets.members)
    assert (buckets.sizes > 2).all()
    pairs = buckets.pairs.tolist()
    assert pairs == sorted(pairs)
    larger = np.split(buckets.members, np.cumsum(buckets.sizes))[:-1]
    return [[pair >> 32, pair % 2**32] for pair in pairs] + [each.tolist() for each in larger]


def pairs_of(bands, count):
    """Returns the pairs of members of a bucket, of each of `count` bands of equally many parts."""
    found = [set() for _ in range(count)]
    every = list(bands)
    for at, part in enumerate(every):
        for inside in members_of(part):
            assert inside == sorted(inside)
            found[at * count // len(every)] |= {*combinations(inside, 2)}
    return found


@pytest.mark.parametrize("held", [1 << 28, 100, 0])
@pytest.mark.parametrize("order", [None, "reversed", "some"])
@pytest.mark.parametrize(("threads", "part"), [(1, 1 << 23), (3, 20), (2, 1)])
def test_documents_with_the_key_of_a_band_share_a_bucket(monkeypatch, held, order, threads, part):
    monkeypatch.setattr(memory, "COLUMN_BYTES", held)
    monkeypatch.setattr(minima, "SORTED_KEYS", part)
    monkeypatch.setattr(minima, "SCANNED_KEYS", 7)
    texts = [*texts_of(60), "", "   "]
    banding = Banding(5, 2)
    places = {None: None, "reversed": np.arange(62)[::-1], "some": np.arange(3, 40)}[order]

    with Minima(SKETCH, banding) as kept:
        for start in range(0, 62, 7):
            kept.add(kept.sign(texts[start : start + 7]))
        found = pairs_of(kept.buckets(places, threads), 5)
        rows = kept.rows()

    signatures = signer_of(SKETCH, 10, Resources(), ()).signatures(texts).minima
    chosen = range(62) if places is None else places.tolist()
    for band, pairs in enumerate(found):
        part = slice(2 * band, 2 * band + 2)
        assert pairs == {
            (one, other)
            for one, left in enumerate(chosen) for other, right in enumerate(chosen)
            if one < other and left < 60 and right < 60
            and (signatures[left, part] == signatures[right, part]).all()
        }  # fmt: skip
    assert rows.shape == (62, COMPARED_MINIMA)


def test_many_keys_are_cut_into_128_parts_at_most(monkeypatch):
    monkeypatch.setattr(minima, "SORTED_KEYS", 1)
    keys = np.random.default_rng(1).integers(0, 1 << 32, 300, np.uint32).repeat(2)

    parts = [part.shared() for part in parts_of_keys(keys, np.array([0, 7]))]

    assert len(parts) == 128
    found = sorted(bucket for part in parts for bucket in members_of(part))
    assert found == [[at, at + 1] for at in range(0, 600, 2) if at not in (0, 6)]


@pytest.mark.parametrize("similarity", [0.3, 0.5, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("recall", [0.5, 0.99999, 1.0])
def test_the_bands_make_candidates_of_what_is_alike(similarity, recall):
    banding = banding_for(similarity, 1e6, recall)

    assert candidate_probability(similarity, banding) >= min(recall, minima.RECALL_MOST)
    assert banding.bands * banding.rows <= 1024


def test_texts_that_share_much_need_longer_bands():
    unlike = [f"{at} " + " ".join(f"w{at}x{i}" for i in range(30)) for at in range(600)]
    alike = [f"{at} " + " ".join(f"w{i if i < 20 else at * 40 + i}" for i in range(30))
             for at in range(600)]  # fmt: skip
    signer = signer_of(SKETCH, 128, Resources(), ())

    few = banding_for(0.8, 1e6, 0.9999, background_in(unlike, signer, 1))
    many = banding_for(0.8, 1e6, 0.9999, background_in(alike, signer, 2))

    assert few.rows < many.rows
    assert background_in(unlike[:100], signer, 1) is None


KEYS = st.integers(0, 30) | st.integers(2**64 - 3, 2**64 - 1)


@given(st.lists(st.lists(KEYS, max_size=12), max_size=12))
def test_what_is_new_is_what_a_set_does_not_have(batches):
    seen, known = SortedKeys(), set()

    for batch in batches:
        expected = []
        for key in batch:
            expected.append(key not in known)
            known.add(key)
        assert seen.add(np.array(batch, np.uint64)).tolist() == expected
        assert len(seen) == len(known)

    assert seen.all().tolist() == sorted(known)


@over("seed", range(5))
def test_keys_are_held_once_they_were_appended(seed):
    generator = random.Random(seed)
    every, known = SortedKeys(), set()

    for size in generator.choices([0, 1, 2, 7, 50, 400], k=40):
        some = [generator.randrange(3000) for _ in range(size)]
        every.append(np.sort(np.array(some, np.uint64)))
        known.update(some)
        asked = [generator.randrange(3000) for _ in range(50)]

        assert every.holds(np.array(asked, np.uint64)).tolist() == [at in known for at in asked]

    every.append(np.array(sorted(known), np.uint64))
    assert every.all().tolist() == sorted(known)
