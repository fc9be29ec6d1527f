"""A worked example: the figures of a lecture on finding similar items, computed again.

"Analysis of Massive Data Sets: Finding Similar Items", FER, University of Zagreb (M. Silic): the
shingles of a string, the similarity of three documents, signatures by explicit permutations, and
the misses and candidates of 20 bands of 5 rows.
"""

import random

import numpy as np
import pytest

import simdb
from simdb.plan.banding import Banding, candidate_probability
from simdb.sketch.minhash_sketcher import MinHashSketcher

STRING = "abeabe"
# Rows are shingles, columns are documents; then the position of each row in three orders.
ROWS = [[1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 0]]
ORDERS = [[0, 3, 4, 1, 2, 5], [1, 5, 3, 2, 4, 0], [3, 2, 0, 5, 4, 1]]
DOCUMENTS = [{row for row, has in enumerate(ROWS) if has[each]} for each in range(4)]


def shingles(text, **options):
    named = MinHashSketcher(simdb.Minhash(unit="characters", **options)).features(text)
    return dict(zip(named.shingles, named.weights.tolist(), strict=True))


def jaccard(left, right):
    return len(left & right) / len(left | right)


def agreement(left, right):
    return sum(map(int.__eq__, left, right)) / len(left)


def signature(document, orders):
    """Return, for each order, the first position of a row that the document has."""
    return [min(order[row] for row in document) for order in orders]


def test_shingles_of_a_string_as_a_set():
    assert shingles(STRING, shingle=3) == {"abe": 1, "bea": 1, "eab": 1}
    assert shingles(STRING, shingle=2) == {"ab": 1, "be": 1, "ea": 1}


def test_shingles_of_a_string_as_a_bag():
    assert shingles(STRING, shingle=3, weighting="bag") == {"abe": 2, "bea": 1, "eab": 1}
    assert shingles(STRING, shingle=2, weighting="bag") == {"ab": 2, "be": 2, "ea": 1}


def test_three_documents_share_two_thirds_and_one_third():
    # Five deviations of 1024 minima: .074; chance fails them for one seed in a million.
    sketch = simdb.Minhash(unit="characters", permutations=1024)
    first, third = (set(shingles(each, shingle=3)) for each in (STRING, "eab"))
    second = {"abe", "eab"}
    hashes = {
        each: MinHashSketcher(sketch).features(each).hashes for each in ("abe", "eab")
    }  # two strings of one shingle each
    left, right = simdb.signatures([STRING, "eab"], sketch)
    both = simdb.signature(simdb.Features(np.concatenate(list(hashes.values()))), sketch)

    assert (jaccard(first, second), jaccard(first, third)) == (2 / 3, 1 / 3)
    assert simdb.similarity(left, both) == pytest.approx(2 / 3, abs=0.074)
    assert simdb.similarity(left, right) == pytest.approx(1 / 3, abs=0.074)


@pytest.mark.parametrize(
    ("left", "right", "truth", "estimate"),
    [(1, 2, 0.67, 0.67), (3, 4, 0.75, 1.0), (2, 4, 0.0, 0.0)],
)
def test_signatures_by_explicit_permutations_are_as_similar_as_in_the_lecture(
    left, right, truth, estimate
):
    """Three minima, eight times each, since a signature has a multiple of eight."""
    sketch = simdb.Minhash(permutations=24)
    one, other = (
        simdb.Signature(
            np.repeat(signature(DOCUMENTS[at - 1], ORDERS), 8).astype(np.uint32), sketch
        )
        for at in (left, right)
    )

    assert round(jaccard(DOCUMENTS[left - 1], DOCUMENTS[right - 1]), 2) == truth
    assert round(simdb.similarity(one, other), 2) == estimate


def test_our_permutations_agree_as_often_as_true_ones():
    """512 drawn orders of six rows, and 1024 minima: both within five deviations of the truth."""
    chance = random.Random(1)
    orders = [chance.sample(range(6), 6) for _ in range(512)]
    sketch = simdb.Minhash(permutations=1024)
    ours = simdb.signatures(
        [simdb.Features(np.array(sorted(each), np.uint64)) for each in DOCUMENTS], sketch
    )

    for one in range(4):
        for other in range(4):
            truth = jaccard(DOCUMENTS[one], DOCUMENTS[other])
            drawn = agreement(
                signature(DOCUMENTS[one], orders), signature(DOCUMENTS[other], orders)
            )
            assert drawn == pytest.approx(truth, abs=0.111)
            assert simdb.similarity(ours[one], ours[other]) == pytest.approx(truth, abs=0.079)


def test_twenty_bands_of_five_rows_miss_few_similar_documents():
    """The lecture prints (1 - 0.75)^20 there, which is 1e-12; its 0.0044 is (1 - 0.75^5)^20."""
    found = float(candidate_probability(0.75, Banding(20, 5)))

    assert float(candidate_probability(0.75, Banding(1, 5))) == pytest.approx(0.2373, abs=5e-5)
    assert 1 - found == pytest.approx(0.0044, abs=5e-5)
    assert found == pytest.approx(0.9956, abs=5e-5)


def test_twenty_bands_of_five_rows_take_few_others():
    assert float(candidate_probability(0.2, Banding(1, 5))) == pytest.approx(0.00032, abs=1e-8)
    assert float(candidate_probability(0.2, Banding(20, 5))) == pytest.approx(0.0064, abs=5e-5)


def test_ten_bands_of_ten_rows_miss_more_and_take_less():
    usual, steeper = Banding(20, 5), Banding(10, 10)

    for similarity in (0.2, 0.75):
        assert candidate_probability(similarity, steeper) < candidate_probability(similarity, usual)
