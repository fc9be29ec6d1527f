"""Estimates of a run are those that a database makes of the same documents."""

import numpy as np
import pytest

import simdb
from simdb.core.options import Options
from simdb.core.stored_options import Resources
from simdb.jobs.deduplication import alike
from simdb.jobs.deduplication.alike import ByEstimates
from simdb.sketch.sketcher import sketcher_of

WORDS = [f"w{at}" for at in range(60)]
# From equal to unlike, one after the other.
TEXTS = [
    " ".join([*WORDS[:at], *(f"v{at}x{i}" for i in range(60 - at))]) for at in range(60, 8, -3)
]
SKETCHES = [
    simdb.Simhash(),
    simdb.Simhash(dimensions=256),
    simdb.Minhash(permutations=128),
    simdb.Minhash(permutations=128, stored_bits=8),
]


@pytest.mark.parametrize("sketch", SKETCHES, ids=["64", "256", "32 bits", "8 bits"])
@pytest.mark.parametrize("part", [1, 5, 1 << 14])
def test_documents_compare_as_in_a_database(monkeypatch, sketch, part):
    monkeypatch.setattr(alike, "SKETCHED_DOCUMENTS", part)
    monkeypatch.setattr(alike, "COMPARED_PAIRS", part)
    options = simdb.Options(sketch=sketch)
    left, right = np.triu_indices(len(TEXTS), 1)
    measure = ByEstimates(options, sketcher_of(sketch, Resources(), ()), None, None)
    measure.begin(len(TEXTS), lambda at: [TEXTS[each] for each in at.tolist()], 2)

    found = measure.similarities(left.astype(np.uint32), right.astype(np.uint32))

    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(len(TEXTS)), TEXTS)
        truth = database.compare(left.tolist(), right.tolist())
    np.testing.assert_array_equal(found, truth.similarity)
    np.testing.assert_array_equal(measure.distances(left, right), truth.distance)


@pytest.mark.parametrize("sketch", SKETCHES[:1] + SKETCHES[2:3], ids=["simhash", "minhash"])
def test_each_document_is_read_once(sketch):
    asked = []

    def texts(positions):
        asked.extend(positions.tolist())
        return [TEXTS[at] for at in positions.tolist()]

    options = simdb.Options(sketch=sketch)
    measure = ByEstimates(options, sketcher_of(sketch, Resources(), ()), None, None)
    measure.begin(len(TEXTS), texts, 1)

    measure.similarities(np.array([0, 1], np.uint32), np.array([1, 2], np.uint32))
    measure.similarities(np.array([0], np.uint32), np.array([2], np.uint32))

    assert sorted(asked) == [0, 1, 2]


def test_candidates_may_be_less_alike_than_matches():
    options = Options()
    measure = ByEstimates(options, sketcher_of(simdb.Simhash(), Resources(), ()), 0.9, 0.8)

    assert (measure.least, measure.recall) == (0.9, 0.8)
    # Two standard deviations, .0168 each, below .9, and one set in the other.
    assert measure.alike == pytest.approx((0.9 - 2 * (1 - 0.81) / 128**0.5) ** 2)


@pytest.mark.parametrize(
    ("name", "value"), [("similarity", 0), ("similarity", 1.5), ("recall", -1)]
)
def test_what_is_no_share_is_refused(name, value):
    with pytest.raises(simdb.OptionError, match=f"{name} must be above 0"):
        simdb.deduplicate(["a text", "a text"], verify="estimate", **{name: value})
