"""A fixed number of flip sets (attempts=) and shorter headers (header_bits=) for PSM."""

import json
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
from click.testing import CliRunner
from over import over
from weighted import fingerprints

import simdb
from simdb.cli.app import app
from simdb.core import bits
from simdb.plan import volatility

DISTANCE = 4
STORED = 600
ONE_TABLE = simdb.Options(sketch=simdb.Simhash(store_volatility=False), blocks=1, leading=1)


def made(generator, count):
    return fingerprints(generator.normal(size=(count, 128)).astype(np.float32))


@pytest.fixture
def queries():
    return made(np.random.default_rng(7), 40)


@pytest.fixture
def database(queries):
    """Copies of the queries with up to four flipped bits, among others."""
    flips = np.random.default_rng(8).integers(0, 64, (STORED, DISTANCE), np.uint64)
    masks = np.bitwise_xor.reduce(np.uint64(1) << flips, axis=1)
    with simdb.open(None, options=ONE_TABLE) as opened:
        opened.insert_many(range(STORED), queries.bits[np.arange(STORED) % len(queries)] ^ masks)
        opened.compact()
        yield opened


def likely(levels, costs, attempts, header):
    """The masks of the first sets of header bits by `simdb.vosh`, and of the empty set."""
    price = costs[levels[header]].astype(float) / volatility.COST_UNIT
    chances = np.where(price < 255 / volatility.COST_UNIT, 1 / (1 + np.exp(price)), 0.0)
    sets = islice(simdb.vosh(chances, DISTANCE), attempts + 1)
    return {
        sum(1 << header[place] for place in chosen) for chosen in sets if all(chances[[*chosen]])
    }


@over("attempts", [0, 3, 5000])
def test_attempts_look_up_exactly_the_first_headers_of_vosh(database, queries, attempts):
    search = simdb.Search(method="psm", attempts=attempts, header_bits=8)
    asked = {"distance": DISTANCE, "search": search}
    plan = database.plan(**asked)
    header = bits.key_order(bits.leading_masks(1, 1)[0])[: plan.header_bits]
    lead = sum(1 << bit for bit in header)
    levels = volatility.levels(queries.weights)
    stored = database.bits_many(range(STORED))[1].tolist()

    found = database.query_many(queries, **asked)

    for place, one in enumerate(queries.bits.tolist()):
        masks = likely(levels[place], plan.probing.costs, attempts, header)
        expected = {
            at for at, other in enumerate(stored)
            if (one ^ other).bit_count() <= DISTANCE and (one ^ other) & lead in masks
        }  # fmt: skip
        assert {match.id for match in found[place]} == expected
        assert database.query(queries[place], **asked) == found[place]


def test_the_plan_predicts_the_recall_of_so_many_attempts():
    generator = np.random.default_rng(5)
    base = made(generator, 4000)
    asked = fingerprints(base.weights + 0.1 * generator.normal(size=base.weights.shape))
    with simdb.open(None, options=ONE_TABLE) as database:
        database.insert_many(range(4000), base.bits)
        database.compact()
        database.calibrate(asked)
        exact = len(database.query_many(asked, distance=3, recall=1.0).ordinals)
        for attempts in (0, 2, 8):
            given = {"distance": 3, "search": simdb.Search(method="psm", attempts=attempts)}
            share = len(database.query_many(asked, **given).ordinals) / exact

            # 256 sampled pairs: four standard errors are at most .125.
            assert database.plan(**given).recall == pytest.approx(share, abs=0.125)


@over(
    ("given", "message"),
    [
        ({"attempts": 5}, "search='psm'"),
        ({"header_bits": 5}, "search='psm'"),
        ({"attempts": 5, "method": "bphs"}, "search='psm'"),
        ({"attempts": -1, "method": "psm"}, "from 0 to 65535, got -1"),
        ({"attempts": True, "method": "psm"}, "got True"),
        ({"attempts": 2.0, "method": "psm"}, "got 2.0"),
        ({"header_bits": 0, "method": "psm"}, "from 1 to 64, got 0"),
        ({"header_bits": 65, "method": "multiprobe"}, "from 1 to 64, got 65"),
        ({"attempts": 5, "method": "psm", "recall": 0.9}, "leave out"),
    ],
)
def test_what_cannot_be_followed_is_refused(database, queries, given, message):
    asked = {name: given[name] for name in given if name == "recall"}
    how = {name: given[name] for name in given if name != "recall"}
    many, one = partial(database.query_many, queries), partial(database.query, queries[0])
    for verb in (many, one, database.plan):
        with pytest.raises(simdb.OptionError, match=message):
            verb(distance=DISTANCE, search=simdb.Search(**how), **asked)


GROUPS = 12
# No header but the query's own: what differs in its bits, 8 or fewer, is not found.
OWN = {"distance": 2, "search": simdb.Search(method="psm", attempts=0, header_bits=8)}
IDS = [str(at) for at in range(2 * GROUPS)]
FOUND = [(IDS[at], IDS[at + GROUPS]) for at in range(1, GROUPS, 2)]  # these differ elsewhere


@pytest.fixture
def groups(open_database):
    """Two near documents of each group, which differ in two bits: ids at and at + GROUPS."""
    weights = np.random.default_rng(4).normal(size=(2 * GROUPS, 128))
    weights[GROUPS:] = weights[:GROUPS]
    for group in range(GROUPS):
        weights[GROUPS + group, [63, 60] if group % 2 == 0 else [0, 9]] *= -1
    database = open_database(options=simdb.Options(blocks=1, leading=1, header_offset=0))
    database.insert_many(IDS, fingerprints(weights))
    database.compact()
    return database


def test_pairs_clusters_and_explanations_look_up_so_many_headers(groups):
    pairs = groups.find_all(**OWN)
    plans = [groups.plan(**OWN, pairs=pairs) for pairs in (False, True)]
    told = [
        groups.explain(left, right, **OWN).is_found
        for left, right in zip(IDS[:GROUPS], IDS[GROUPS:], strict=True)
    ]

    assert len(groups.find_all(distance=2)) == GROUPS
    assert sorted(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == sorted(FOUND)
    assert pairs.plan.method == "psm"
    for policy in ("connected", "star"):
        found = groups.find_clusters(**OWN, policy=policy)
        assert sorted(map(tuple, found)) == sorted(FOUND)
    assert [(plan.method, plan.probes, plan.header_bits) for plan in plans] == [("psm", 1, 4)] * 2
    assert all(plan.theta is None and "as attempts= asks" in plan.reason for plan in plans)
    assert told == [at % 2 == 1 for at in range(GROUPS)]
    for attempts in (2, 6, 10):
        asked = {"distance": 2, "search": replace(OWN["search"], attempts=attempts)}
        for left, right in zip(IDS[:GROUPS], IDS[GROUPS:], strict=True):
            found = [match.id for match in groups.query(id=left, **asked)]
            assert groups.explain(left, right, **asked).is_found == (right in found)


def test_a_claim_looks_up_so_many_headers(groups):
    copies = fingerprints(np.array([groups[id].fingerprint.weights for id in IDS[GROUPS:]]))
    groups.delete_many(IDS[GROUPS:])

    rows = groups.add_many_if_new([f"copy {at}" for at in range(GROUPS)], copies, **OWN)

    assert [len(row) > 0 for row in rows] == [at % 2 == 1 for at in range(GROUPS)]


def test_commands_look_up_and_explain_so_many_headers(groups):
    def command(verb, *words):
        call = [verb, str(groups.path), *words, "--distance", "2", "--json"]
        return [json.loads(line) for line in CliRunner().invoke(app, call).stdout.splitlines()]

    own = ("--search", "psm,attempts=0,header-bits=8")
    [told] = command("explain", "0", IDS[GROUPS], *own)

    assert (len(command("pairs")), len(command("pairs", *own))) == (GROUPS, GROUPS // 2)
    assert [len(command("query", "--id", "0", *how)) for how in ((), own)] == [1, 0]
    assert (told["is_match"], told["is_found"]) == (True, False)
