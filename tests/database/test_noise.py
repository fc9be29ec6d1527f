"""calibrate(noise=): how documents differ is said by hand, and holds for all documents."""

import math

import numpy as np
import pytest
from binomial import chance_of
from over import over
from weighted import fingerprints, found_pairs

import simdb
from simdb.core import bits
from simdb.plan.calibration import decode_calibration, encode_calibration
from simdb.plan.recall import distances, needs, sampled_pairs

OPTIONS = simdb.Options(blocks=1, leading=1, header_offset=0)
ASKED = {"distance": 3, "recall": 0.95, "search": "psm"}


def noisy(generator, weights, noise):
    return weights + noise * generator.standard_normal(weights.shape)


@over("noise", [0.05, 0.12, 0.3])
@over("store_volatility", [True, False])
def test_the_share_of_such_changes_is_found_in_documents_that_come_later(noise, store_volatility):
    generator = np.random.default_rng(4)
    weights = generator.standard_normal((4000, 128))
    sketch = simdb.Simhash(store_volatility=store_volatility)
    with simdb.open(None, options=simdb.Options(sketch=sketch, blocks=1, leading=1)) as database:
        database.insert_many(range(100), fingerprints(weights[:100]))
        database.calibrate(noise=noise)
        database.insert_many(range(100, 4000), fingerprints(weights[100:]))
        database.compact()
        questions = fingerprints(noisy(generator, weights, noise))

        plan = database.plan(**ASKED)
        found = found_pairs(database.query_many(questions, **ASKED))
        every = database.query_many(questions, distance=3, recall=1.0)

    differ = np.flatnonzero(every.distances > 0)
    queries = np.repeat(np.arange(len(every)), np.diff(every.offsets))
    wanted = {(int(queries[at]), every.ids[at]) for at in differ}
    assert f"noise {noise:g} as given" in plan.reason
    assert plan.method == "psm"
    assert len(wanted) > 100
    # The promised share is .95; fewer are found by chance once in 1e6 searches.
    assert chance_of(len(found & wanted), len(wanted), 0.95) >= 1e-6


@over("header_bits", [16, 20, 24])
@over("noise", [0.08, 0.12])
def test_the_attempts_of_a_plan_are_those_of_the_data(noise, header_bits):
    """The plan's k is within 1.3 of the least that finds .95 of 6,000 pairs within 3 bits."""
    generator = np.random.default_rng(6)
    weights = generator.standard_normal((20_000, 128))
    pairs = sampled_pairs(noisy(generator, weights, noise), weights)
    found = distances(pairs)
    pairs = pairs.taken(np.flatnonzero((found > 0) & (found <= 3))[:6000])
    with simdb.open(None, options=OPTIONS) as database:
        database.insert_many(range(1000), fingerprints(weights[:1000]))
        database.calibrate(noise=noise)

        plan = database.plan(2.0**header_bits, **ASKED)

    costs, header_bits = plan.probing.costs, plan.header_bits
    needed = np.sort(needs(pairs, costs, [bits.ALL_BITS], header_bits))
    theta = int(needed[math.ceil(0.95 * len(needed)) - 1])
    least = plan_count(pairs, costs, header_bits, theta)
    assert round(least / 1.3) <= plan.probes <= round(least * 1.3)


def plan_count(pairs, costs, header_bits, theta):
    """Return the mean number of flip sets of a query within theta, counted one by one."""
    total = 0
    for levels in pairs.levels[:200, 64 - header_bits :].astype(int):
        sums = [0]
        for price in sorted(costs[levels].astype(int).tolist()):
            sums += [each + price for each in sums if each + price <= theta]
        total += len(sums)
    return total / 200


def test_it_covers_all_documents_and_survives_compaction_copies_and_dumps(open_database, tmp_path):
    database = open_database(options=OPTIONS)
    weights = np.random.default_rng(3).standard_normal((3000, 128))
    database.insert_many(range(1000), fingerprints(weights[:1000]))
    made = database.calibrate(noise=np.float32(0.1))
    database.insert_many(range(1000, 3000), fingerprints(weights[1000:]))
    covered = database.stats().calibrated_count

    database.compact()
    database.dump(tmp_path / "dump")
    simdb.load(tmp_path / "dump", tmp_path / "loaded")
    database.copy(tmp_path / "copied")

    assert covered == database.stats().calibrated_count == 3000
    again = decode_calibration(encode_calibration(made))
    assert np.array_equal(again.model.probabilities, made.model.probabilities)
    for name in ("loaded", "copied"):
        other = open_database(tmp_path / name)
        assert "noise 0.1 as given" in other.plan(**ASKED).reason
        other.insert("new", fingerprints(weights[:1])[0])
        assert other.stats().calibrated_count == 3001


def test_a_sample_replaces_a_noise_and_a_noise_a_sample(open_database):
    generator = np.random.default_rng(3)
    database = open_database(options=OPTIONS)
    weights = generator.standard_normal((1000, 128))
    database.insert_many(range(1000), fingerprints(weights))
    sample = fingerprints(noisy(generator, weights, 0.1))

    database.calibrate(noise=0.1)
    database.calibrate(sample)
    sampled = database.plan(**ASKED)
    database.calibrate(noise=0.1)
    by_hand = database.plan(**ASKED)

    assert "sampled pairs" in sampled.reason
    assert "noise 0.1 as given" in by_hand.reason


@pytest.mark.parametrize("noise", [0, 0.04, 0.31, -0.1, float("nan"), "0.1", True, None])
def test_a_noise_out_of_its_range_is_refused_with_the_remedy(open_database, noise):
    database = open_database(options=OPTIONS)
    if noise is None:
        with pytest.raises(simdb.OptionError, match="either sample= or noise="):
            database.calibrate(10, noise=0.1)
        return

    with pytest.raises(simdb.OptionError, match=r"from 0.05 to 0.3, got .*sample="):
        database.calibrate(noise=noise)


def test_a_stored_noise_out_of_its_range_is_not_read(open_database):
    database = open_database(options=OPTIONS)
    stored = encode_calibration(database.calibrate(noise=0.1))

    assert decode_calibration(stored).noise == 0.1
    with pytest.raises(simdb.CorruptError, match="noise"):
        decode_calibration(stored | {"noise": 7})
