"""The probe that finds a match: `explain` reports what a query does."""

import numpy as np
import pytest
from weighted import fingerprints

import simdb
from simdb.core.bits import header_mask, leading_masks, set_bits
from simdb.core.reports import Plan, Probing
from simdb.database.search.methods.probing import probe_of

STORED = 300


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    generator = np.random.default_rng(3)
    weights = generator.laplace(size=(STORED // 3, 128))
    near = [weights + 0.2 * generator.laplace(size=weights.shape) for _ in range(2)]
    options = simdb.Options(blocks=4, delta_documents=10, sketch=simdb.Simhash(dimensions=128))
    path = tmp_path_factory.mktemp("trace") / "db"
    with simdb.open(path, options=options) as database:
        database.insert_many(range(STORED), fingerprints(np.concatenate([weights, *near])))
        database.compact()
        yield database


def test_the_probe_is_the_header_that_leads_from_one_to_the_other(database):
    asked = {"search": "psm", "distance": 6, "recall": 0.9}
    plan = database.plan(**asked)
    masks = leading_masks(4, 1)
    header_bits = plan.probing.header_bits
    tables = set()

    for left in range(100):
        told = database.explain(left, left + 100, **asked)
        if not told.is_found:
            continue
        pair = [database.get(id).fingerprint.bits for id in (left, left + 100)]
        header = header_mask(masks[told.probe.table], header_bits)
        assert told.probe.flipped == tuple(set_bits((pair[0] ^ pair[1]) & header))
        assert f"in table {told.probe.table} " in told.reason
        tables.add(told.probe.table)

    assert tables == {*range(plan.tables)}


def test_the_rank_is_the_place_in_the_order_of_vosh():
    # Bit j of the header costs j + 1, so sums have many orders; levels are positions.
    costs = np.full(256, 255, np.uint8)
    costs[:64] = np.arange(64) + 1
    levels = np.arange(64, dtype=np.uint8)[::-1].copy()  # bit 63 costs 1, bit 62 costs 2, ...
    plan = Plan(
        "psm", 1, 0, 0, 64, None, 0.9, 1e-6, "", probing=Probing(1, 8, 20, 4096, costs)
    )  # fmt: skip
    ordered = sorted(
        (sum(64 - bit for bit in chosen), chosen)
        for chosen in (tuple(set_bits(each << 56)) for each in range(256))
    )

    for cost, chosen in ordered:
        stored = sum(1 << bit for bit in chosen)
        probe = probe_of(plan.probing, 0, stored, levels, leading_masks(1, 1))
        if cost > 20:
            assert probe is None
            continue
        assert probe.flipped == chosen
        assert probe.rank == 1 + sum(other < cost for other, _ in ordered)


def test_a_header_beyond_the_cap_is_not_asked_for():
    costs = np.ones(256, np.uint8)
    levels = np.zeros(64, np.uint8)
    plan = Plan("psm", 1, 0, 0, 64, None, 0.9, 1e-6, "", probing=Probing(1, 8, 2, 9, costs))
    masks = leading_masks(1, 1)

    # 9 headers differ in at most one bit; 28 more in two.
    assert probe_of(plan.probing, 0, 1 << 60, levels, masks).rank == 2
    assert probe_of(plan.probing, 0, 3 << 60, levels, masks) is None
    assert probe_of(plan.probing, 0, 3, levels, masks) == simdb.Probe(0, (), 1)
