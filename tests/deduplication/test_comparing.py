"""Candidates are decided by texts, or by estimates, which are those of a database.

Those that surely do not match are not read.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from families import jaccard

import simdb
from simdb.core.options import Options
from simdb.core.stored_options import Resources
from simdb.jobs.deduplication import alike
from simdb.jobs.deduplication.alike import ByEstimates, ByTexts, Comparing
from simdb.jobs.deduplication.minima import COMPARED_MINIMA, Minima
from simdb.plan.banding import Banding
from simdb.sketch.exact_similarity import ExactSimilarity
from simdb.sketch.sketcher import sketcher_of

SKETCH = simdb.Simhash()
WORDS = [f"w{at}" for at in range(40)]
# The last text shares nothing with the others.
TEXTS = [
    " ".join([*WORDS[:at], *(f"v{at}x{i}" for i in range(40 - at))]) for at in range(40, -1, -4)
]


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
        [
            jaccard(TEXTS[place[one]], TEXTS[place[other]])
            for one, other in zip(left, right, strict=True)
        ]
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


SIXTY_WORDS = [f"w{at}" for at in range(60)]
# From equal to unlike, one after the other.
FADING = [
    " ".join([*SIXTY_WORDS[:at], *(f"v{at}x{i}" for i in range(60 - at))])
    for at in range(60, 8, -3)
]
SKETCHES = [
    simdb.Simhash(),
    simdb.Simhash(dimensions=256),
    simdb.Minhash(permutations=128),
    simdb.Minhash(permutations=128, stored_bits=8),
    simdb.Minhash(permutations=512, stored_bits=2),
]


@pytest.mark.parametrize("sketch", SKETCHES, ids=["64", "256", "32 bits", "8 bits", "2 bits"])
@pytest.mark.parametrize("part", [1, 5, 1 << 14])
def test_documents_compare_as_in_a_database(monkeypatch, sketch, part):
    monkeypatch.setattr(alike, "SKETCHED_DOCUMENTS", part)
    monkeypatch.setattr(alike, "COMPARED_PAIRS", part)
    options = simdb.Options(sketch=sketch)
    left, right = np.triu_indices(len(FADING), 1)
    measure = ByEstimates(options, sketcher_of(sketch, Resources(), ()), None, None)
    measure.begin(len(FADING), lambda at: [FADING[each] for each in at.tolist()], 2)

    found = measure.similarities(left.astype(np.uint32), right.astype(np.uint32))

    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(len(FADING)), FADING)
        truth = database.compare(left.tolist(), right.tolist())
    np.testing.assert_array_equal(found, truth.similarity)
    np.testing.assert_array_equal(measure.distances(left, right), truth.distance)


@pytest.mark.parametrize("sketch", SKETCHES[:1] + SKETCHES[2:3], ids=["simhash", "minhash"])
def test_each_document_is_read_once(sketch):
    asked = []

    def texts(positions):
        asked.extend(positions.tolist())
        return [FADING[at] for at in positions.tolist()]

    options = simdb.Options(sketch=sketch)
    measure = ByEstimates(options, sketcher_of(sketch, Resources(), ()), None, None)
    measure.begin(len(FADING), texts, 1)

    measure.similarities(np.array([0, 1], np.uint32), np.array([1, 2], np.uint32))
    measure.similarities(np.array([0], np.uint32), np.array([2], np.uint32))

    assert sorted(asked) == [0, 1, 2]


def test_candidates_may_be_less_alike_than_matches():
    options = Options()
    least = 0.9 / (2 - 0.9)  # the cosine .9
    measure = ByEstimates(options, sketcher_of(simdb.Simhash(), Resources(), ()), least, 0.8)

    assert (measure.least, measure.recall) == (least, 0.8)
    # Two standard deviations, .0168 each, below .9, and one set in the other.
    assert measure.alike == pytest.approx((0.9 - 2 * (1 - 0.81) / 128**0.5) ** 2)
