"""Worked examples: figures that others have published, computed again.

A blog entry on simhash of 2012 (Huang Yanzhi, on blog.sina.com.cn/netreview) projects five features
to three bits; a report by S. Biswas ("Near Duplicate Detection Using Simhash", 2017) looks for near
pairs among eight fingerprints; a lecture ("Analysis of Massive Data Sets: Finding Similar Items",
FER, University of Zagreb, M. Silic) has the shingles of a string, the similarity of documents by
signatures, and the misses and candidates of 20 bands of 5 rows.
"""

import numpy as np
import pytest
from over import over

import simdb
from simdb.plan.banding import Banding, candidate_probability
from simdb.sketch.minhash_sketcher import MinHashSketcher

# The three bits of each feature of the blog, the first bit first.
FEATURES = {"w1": (1, -1, 1), "w2": (-1, 1, 1), "w4": (-1, -1, 1)}
# The report's fingerprints, of 16 bits, by their numbers there.
REPORT = {1: 37586, 2: 50086, 3: 2648, 4: 934, 5: 40957, 6: 2650, 7: 64475, 8: 40955}


def weights_and_bits(frequencies):
    """Return the first three weights and bits of a document of the blog's features."""
    bits = [
        sum(1 << place for place, sign in enumerate(FEATURES[name]) if sign > 0) | 0xABCDEF << 40
        for name in frequencies
    ]
    counts = np.array(list(frequencies.values()), np.float32)
    made = simdb.fingerprint(simdb.Features(np.array(bits, np.uint64), counts))
    return made.weights[:3].tolist(), [made.bits >> place & 1 for place in range(3)]


def test_the_blogs_document_has_the_bits_001_and_a_weight_of_0_sets_its_bit():
    """The second is line 10 of the report's algorithm 1; the blog would not set the bit."""
    assert weights_and_bits({"w1": 1, "w2": 2, "w4": 3}) == ([-4, -2, 6], [0, 0, 1])
    assert weights_and_bits({"w1": 1, "w2": 1}) == ([0, 0, 2], [1, 1, 1])


@pytest.mark.parametrize("turn", [False, True])
def test_the_reports_near_pairs_are_found_wherever_their_bits_differ(database, turn):
    """H(3, 6) = 1, H(8, 5) = 2 and H(4, 2) = 2, which sorting alone does not bring together."""
    bits = [(each << 2 | each >> 14) & 0xFFFF if turn else each for each in REPORT.values()]
    database.insert_many(list(REPORT), np.array(bits, np.uint64))

    pairs = sorted((each.left, each.right, each.distance) for each in database.find_all(distance=3))
    clusters = sorted(each.ids for each in database.find_clusters(distance=3))

    assert pairs == [(2, 4, 2), (3, 6, 1), (5, 8, 2)]
    assert clusters == [[2, 4], [3, 6], [5, 8]]


@over(
    ("shingle", "weighting", "expected"),
    [
        (3, "set", {"abe": 1, "bea": 1, "eab": 1}),
        (2, "set", {"ab": 1, "be": 1, "ea": 1}),
        (3, "bag", {"abe": 2, "bea": 1, "eab": 1}),
        (2, "bag", {"ab": 2, "be": 2, "ea": 1}),
    ],
)
def test_shingles_are_those_of_the_lecture(shingle, weighting, expected):
    sketch = simdb.Minhash(unit="characters", shingle=shingle, weighting=weighting)

    named = MinHashSketcher(sketch).features("abeabe")

    assert dict(zip(named.shingles, named.weights.tolist(), strict=True)) == expected


def test_permutations_agree_as_often_as_the_lectures_documents_are_similar():
    """1024 minima: five deviations are .079; chance fails one of six for one seed in 300,000."""
    documents = [{0, 2, 5}, {2, 5}, {0, 1, 3, 4}, {0, 1, 3}]
    sketch = simdb.Minhash(permutations=1024)
    made = simdb.signatures(
        [simdb.Features(np.array(sorted(each), np.uint64)) for each in documents], sketch
    )

    for at, one in enumerate(documents):
        for other, signature in zip(documents, made, strict=True):
            truth = len(one & other) / len(one | other)
            assert simdb.similarity(made[at], signature) == pytest.approx(truth, abs=0.079)


@over(
    ("similarity", "bands", "expected"),
    [(0.75, 1, 0.2373), (0.75, 20, 0.9956), (0.2, 1, 0.00032), (0.2, 20, 0.0064)],
)
def test_bands_of_five_rows_take_the_candidates_of_the_lecture(similarity, bands, expected):
    """The lecture prints (1 - 0.75)^20, which is 1e-12; its 0.0044 missed are (1 - 0.75^5)^20."""
    found = float(candidate_probability(similarity, Banding(bands, 5)))

    assert found == pytest.approx(expected, abs=5e-5)
