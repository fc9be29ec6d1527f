"""A fixed number of flip sets (attempts=) and shorter headers (header_bits=) for PSM."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
from over import over

import simdb
from simdb.core import bits
from simdb.plan import volatility

DISTANCE = 4
STORED = 600
HEADER_BITS = 9


def made(generator: np.random.Generator, count: int) -> simdb.Fingerprints:
    weights = generator.normal(size=(count, 128)).astype(np.float32)
    packed = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    return simdb.Fingerprints(packed.view("<u8")[:, 0].astype(np.uint64), weights)


@pytest.fixture
def queries() -> simdb.Fingerprints:
    return made(np.random.default_rng(7), 40)


@pytest.fixture
def database(queries: simdb.Fingerprints) -> Iterator[simdb.Database]:
    """Copies of the queries with up to four flipped bits, among others."""
    generator = np.random.default_rng(8)
    flips = generator.integers(0, 64, (STORED, DISTANCE), np.uint64)
    masks = np.bitwise_xor.reduce(np.uint64(1) << flips, axis=1)
    copies = queries.bits[np.arange(STORED) % len(queries)] ^ masks
    options = simdb.Options(sketch=simdb.Simhash(store_volatility=False), blocks=1, leading=1)
    with simdb.open(None, options=options) as opened:
        opened.insert_many(range(STORED), copies)
        opened.compact()
        yield opened
        assert list(opened.check(deep=True)) == []


def likely(levels: np.ndarray, costs: np.ndarray, attempts: int, header: list[int]) -> set[int]:
    """The masks of the first sets of header bits by `simdb.vosh`, and of the empty set."""
    price = costs[levels[header]].astype(float) / volatility.COST_UNIT
    chances = np.where(price < 255 / volatility.COST_UNIT, 1 / (1 + np.exp(price)), 0.0)
    sets = islice(simdb.vosh(chances, DISTANCE), attempts + 1)
    return {
        sum(1 << header[place] for place in chosen) for chosen in sets if all(chances[[*chosen]])
    }


@over("attempts", [0, 3, 5000])
def test_attempts_look_up_exactly_the_first_headers_of_vosh(
    database: simdb.Database, queries: simdb.Fingerprints, attempts: int
) -> None:
    search = simdb.Search(method="psm", attempts=attempts, header_bits=8)
    given: dict[str, Any] = {"distance": DISTANCE, "search": search}
    plan = database.plan(**given)
    assert plan.probing is not None
    mask = bits.leading_masks(database.options.blocks, database.options.leading)[0]
    header = bits.key_order(mask)[: plan.header_bits]
    levels = volatility.levels(queries.weights)
    stored = database.bits_many(range(STORED))[1]

    found = database.query_many(queries, **given)

    for place, asked in enumerate(queries.bits.tolist()):
        masks = likely(levels[place], plan.probing.costs, attempts, header)
        lead = sum(1 << bit for bit in header)
        expected = {
            at for at, other in enumerate(stored.tolist())
            if (asked ^ other).bit_count() <= DISTANCE and (asked ^ other) & lead in masks
        }  # fmt: skip
        assert {match.id for match in found[place]} == expected


def test_the_plan_predicts_the_recall_of_so_many_attempts() -> None:
    generator = np.random.default_rng(5)
    base = made(generator, 4000)
    weights = base.weights + 0.1 * generator.normal(size=base.weights.shape).astype(np.float32)
    packed = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    asked = simdb.Fingerprints(packed.view("<u8")[:, 0].astype(np.uint64), weights)
    options = simdb.Options(sketch=simdb.Simhash(store_volatility=False), blocks=1, leading=1)
    with simdb.open(None, options=options) as database:
        database.insert_many(range(4000), base.bits)
        database.compact()
        database.calibrate(asked)
        exact = len(database.query_many(asked, distance=3, recall=1.0).ordinals)
        for attempts in (0, 2, 8):
            search = simdb.Search(method="psm", attempts=attempts)
            given: dict[str, Any] = {"distance": 3, "search": search}
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
def test_what_cannot_be_followed_is_refused(
    database: simdb.Database, queries: simdb.Fingerprints, given: dict[str, Any], message: str
) -> None:
    asked = {name: given[name] for name in given if name == "recall"}
    how = {name: given[name] for name in given if name != "recall"}
    many, one = partial(database.query_many, queries), partial(database.query, queries[0])
    for verb in (many, one, database.plan):
        with pytest.raises(simdb.OptionError, match=message):
            verb(distance=DISTANCE, search=simdb.Search(**how), **asked)


def test_one_query_looks_up_as_many_headers_as_a_batch(
    database: simdb.Database, queries: simdb.Fingerprints
) -> None:
    search = simdb.Search(method="psm", attempts=3, header_bits=HEADER_BITS)

    together = database.query_many(queries, distance=DISTANCE, search=search)

    for place in range(len(queries)):
        one = database.query(queries[place], distance=DISTANCE, search=search)
        assert one == together[place]


def test_header_bits_alone_keep_the_recall(
    database: simdb.Database, queries: simdb.Fingerprints
) -> None:
    exact = len(database.query_many(queries, distance=DISTANCE, recall=1.0).ordinals)
    plan = database.plan(
        distance=DISTANCE, search=simdb.Search(method="psm", header_bits=4), recall=0.9
    )

    found = database.query_many(
        queries, distance=DISTANCE, search=simdb.Search(method="psm", header_bits=4), recall=0.9
    )

    assert plan.header_bits <= 4 or plan.method == "bphs"
    assert len(found.ordinals) >= 0.8 * exact
