"""All pairs of a database by rotation, planned and explained."""

from functools import partial

import numpy as np
import pytest
from weighted import fingerprints

import simdb


@pytest.fixture
def stored(tmp_path):
    generator = np.random.default_rng(2)
    bits = generator.integers(0, 2**64, 300, np.uint64)
    near = bits[:40] ^ (np.uint64(1) << generator.integers(0, 64, 40, np.uint64))
    options = simdb.Options(sketch=simdb.Simhash(store_volatility=False), delta_documents=50)
    with simdb.open(tmp_path / "x", "x", options=options) as database:
        for start in range(0, 340, 68):
            part = np.concatenate([bits, near])[start : start + 68]
            database.insert_many(range(start, start + len(part)), part)
        database.delete_many([3, 301])
        yield database


def test_rotation_finds_what_exact_search_finds_among_few(stored):
    exact = stored.find_all(distance=3, recall=1.0)
    pairs = stored.find_all(distance=3, search=simdb.Search(method="rotation", rotations=8))

    assert pairs.plan.method == "rotation"
    assert pairs.plan.recall > 0.999
    assert "8 rotation(s)" in pairs.plan.reason
    assert set(zip(pairs.left, pairs.right, strict=True)) == set(
        zip(exact.left, exact.right, strict=True)
    )
    assert len(pairs) == 38


def test_the_fewest_rotations_that_give_the_recall_are_planned(stored):
    few = stored.plan(10**6, distance=3, search="rotation", pairs=True, recall=0.5)
    many = stored.plan(10**6, distance=3, search="rotation", pairs=True, recall=0.999)

    assert few.recall >= 0.5
    assert many.recall >= 0.999
    assert few.tables < many.tables


def test_rotation_is_of_pairs_and_rotations_of_rotation(stored):
    for rotations in (0, 65, 1.5, True, "8"):
        with pytest.raises(simdb.OptionError, match="rotations must be"):
            stored.find_all(distance=3, search=simdb.Search(method="rotation", rotations=rotations))
    with pytest.raises(simdb.OptionError, match="finds all pairs"):
        stored.query(5, search="rotation")
    with pytest.raises(simdb.OptionError, match="policy='connected'"):
        stored.find_clusters(distance=3, search="rotation", policy="star")
    with pytest.raises(simdb.OptionError, match="search='rotation'"):
        stored.find_all(distance=3, search=simdb.Search(rotations=8))
    with pytest.raises(simdb.OptionError, match="rotations of search= does not apply"):
        stored.plan(distance=3, search=simdb.Search(rotations=8))
    with pytest.raises(simdb.OptionError, match="search='rotation'"):
        stored.plan(distance=3, search=simdb.Search(rotations=8), pairs=True)


@pytest.fixture
def scattered(tmp_path):
    """Make so many documents that no rotations find most pairs that differ in many bits."""
    bits = np.random.default_rng(2).integers(0, 2**64, 3000, np.uint64)
    options = simdb.Options(sketch=simdb.Simhash(store_volatility=False))
    with simdb.open(tmp_path / "x", "x", options=options) as database:
        database.insert_many(range(3000), bits)
        yield database


def test_a_recall_that_no_rotations_give_is_refused(scattered):
    asked = {"distance": 24, "search": "rotation", "recall": 0.9}

    for verb in (scattered.find_all, scattered.find_clusters, partial(scattered.plan, pairs=True)):
        with pytest.raises(simdb.OptionError, match=r"64 .* miss 0\.3.*search='auto'"):
            verb(**asked)


def test_rotations_that_are_given_run_and_the_plan_says_what_they_miss(scattered):
    pairs = scattered.find_all(
        distance=24, search=simdb.Search(method="rotation", rotations=64), recall=0.9
    )

    assert pairs.plan.recall < 0.9
    assert "misses 0.3" in pairs.plan.reason
    assert "misses the recall 0.9 that was asked for" in pairs.plan.reason


def test_rotations_are_not_chosen_by_a_calibration_that_has_not_seen_all(open_database):
    weights = np.random.default_rng(1).laplace(size=(4000, 128))
    copies = weights[:2000] + 0.03 * np.random.default_rng(2).laplace(size=(2000, 128))
    database = open_database()
    database.insert_many(range(6000), fingerprints(np.concatenate([weights, copies])))
    database.calibrate()
    asked = {"similarity": 0.9, "search": "rotation", "pairs": True, "recall": 0.8}
    before = database.plan(**asked)
    database.insert("new", "a text of another kind")

    after = database.plan(**asked)

    assert "prior" not in before.reason
    assert "the prior alone" in after.reason
    assert after.tables > before.tables


def test_rotation_does_not_promise_all_pairs(stored):
    """It planned recall 1 and found 406 of 532, where many documents were equal."""
    with pytest.raises(simdb.OptionError, match=r"predicted to miss .*many equal ones"):
        stored.find_all(distance=3, search="rotation", recall=1.0)
