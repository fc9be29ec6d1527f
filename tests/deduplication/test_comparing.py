"""Candidates are decided by their texts; those that surely do not match are not read."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import simdb
from simdb.core.stored_options import Resources
from simdb.jobs.deduplication import alike
from simdb.jobs.deduplication.alike import ByTexts, Comparing
from simdb.jobs.deduplication.minima import COMPARED_MINIMA, Minima
from simdb.plan.banding import Banding
from simdb.sketch.exact_similarity import ExactSimilarity

SKETCH = simdb.Simhash()
WORDS = [f"w{at}" for at in range(40)]
# The last text shares nothing with the others.
TEXTS = [
    " ".join([*WORDS[:at], *(f"v{at}x{i}" for i in range(40 - at))]) for at in range(40, -1, -4)
]


def jaccard(one, other):
    first, second = (
        {tuple(words[at : at + 3]) for at in range(len(words) - 2)}
        for words in (TEXTS[one].split(), TEXTS[other].split())
    )
    return len(first & second) / len(first | second)


@pytest.mark.parametrize("part", [1, 3, 1 << 15])
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_pairs_have_their_exact_similarity_unless_they_surely_do_not_match(
    monkeypatch, part, is_reversed, threads
):
    monkeypatch.setattr(alike, "PART_PAIRS", part)
    asked = set()

    def texts(positions):
        asked.update(positions.tolist())
        return [TEXTS[at] for at in positions.tolist()]

    with Minima(SKETCH, Banding(2, 2)) as kept:
        kept.add(kept.sign(TEXTS))
        rows = kept.rows()
    order = np.arange(len(TEXTS))[::-1] if is_reversed else None
    exact = ExactSimilarity(SKETCH, Resources(), ())
    measure = ByTexts(exact, 0.8, None)
    measure.begin(len(TEXTS), texts, threads)
    compare = Comparing(measure, rows, order, threads)
    left, right = np.triu_indices(len(TEXTS), 1)

    found = compare(left.astype(np.uint32), right.astype(np.uint32))

    place = range(len(TEXTS)) if order is None else order.tolist()
    truth = np.array(
        [jaccard(place[one], place[other]) for one, other in zip(left, right, strict=True)]
    )
    np.testing.assert_allclose(found[truth >= 0.8], truth[truth >= 0.8], rtol=1e-6)
    assert (found[truth < 0.8] < 0.8).all()
    assert measure.counts.judged < len(left)
    assert len(TEXTS) - 1 not in asked


@dataclass
class Certain:
    """A measure that finds every pair alike."""

    alike: float
    recall: float
    least: float = 0.0
    counts: None = None

    def begin(self, count, texts, threads):
        """Take no texts."""

    def similarities(self, left, right):
        """Return 1 for each pair."""
        return np.ones(len(left), np.float32)

    def distances(self, left, right):
        """Return nothing."""


def test_minima_lose_nearly_no_pair_just_as_similar_as_asked():
    # The number of equal minima is binomial, with a long lower tail near 1: by standard deviations
    # 7 pairs of 100,000 were lost at .95, 50 at .99 and 190 at .999.
    chance = np.random.default_rng(1)
    lost = {}
    for similarity, recall in itertools.product((0.5, 0.8, 0.95, 0.99, 0.999, 1.0), (0.9999, 1.0)):
        differs = chance.random((100_000, COMPARED_MINIMA)) >= similarity
        minima = np.concatenate([np.zeros((1, COMPARED_MINIMA), np.uint8), differs])
        compare = Comparing(Certain(similarity, recall), minima, None, 1)
        others = np.arange(1, len(minima), dtype=np.uint32)
        found = compare(np.zeros_like(others), others)
        lost[similarity, recall] = np.count_nonzero(found == 0)

    # A loss of one in a million finds 5 or more among 100,000 pairs once in 10 million times.
    assert max(lost.values()) < 5, lost
