"""Every verb with search= follows attempts= and header_bits=, and so does the command line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import simdb
from simdb.cli.app import app

GROUPS = 12
# No header but the query's own: what differs in its bits, 8 or fewer, is not found.
OWN = simdb.Search(method="psm", attempts=0, header_bits=8)
BY_NAME = "psm,attempts=0,header-bits=8"
PLACES = range(GROUPS)
IDS = [str(at) for at in range(2 * GROUPS)]
FOUND = [(IDS[at], IDS[at + GROUPS]) for at in range(1, GROUPS, 2)]  # these differ elsewhere
OPTIONS = simdb.Options(blocks=1, leading=1, header_offset=0)


def made() -> tuple[simdb.Fingerprints, simdb.Fingerprints]:
    """Two near documents of each group, which differ in two bits: ids at and at + GROUPS."""
    weights = np.random.default_rng(4).normal(size=(GROUPS, 128)).astype(np.float32)
    copies = weights.copy()
    for group in range(GROUPS):
        copies[group, [63, 60] if group % 2 == 0 else [0, 9]] *= -1
    return of_weights(weights), of_weights(copies)


def of_weights(weights: np.ndarray) -> simdb.Fingerprints:
    packed = np.packbits(weights[:, :64] >= 0, axis=1, bitorder="little")
    return simdb.Fingerprints(packed.view("<u8")[:, 0].astype(np.uint64), weights)


def fill(database: Any) -> None:
    originals, copies = made()
    database.insert_many(IDS[:GROUPS], originals)
    database.insert_many(IDS[GROUPS:], copies)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[simdb.Database]:
    with simdb.open(tmp_path / "db", options=OPTIONS) as opened:
        fill(opened)
        opened.compact()
        yield opened
        assert list(opened.check(deep=True)) == []


def test_pairs_and_clusters_look_up_so_many_headers(database: simdb.Database) -> None:
    pairs = database.find_all(distance=2, search=OWN)
    clusters = database.find_clusters(distance=2, search=OWN)
    stars = database.find_clusters(distance=2, search=OWN, policy="star")
    with database.read() as snapshot:
        seen = sorted(snapshot.find_all(distance=2, search=OWN).left.tolist())

    assert len(database.find_all(distance=2)) == GROUPS
    assert sorted(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == sorted(FOUND)
    assert pairs.plan.method == "psm"
    assert seen == sorted(left for left, _ in FOUND)
    for found in (clusters, stars):
        assert sorted(map(tuple, found)) == sorted(FOUND)


def test_a_claim_looks_up_so_many_headers(database: simdb.Database) -> None:
    copies = made()[1]
    database.delete_many(IDS[GROUPS:])

    rows = database.add_many_if_new(
        [f"copy {at}" for at in range(GROUPS)], copies, distance=2, search=OWN
    )

    assert [len(row) > 0 for row in rows] == [at % 2 == 1 for at in PLACES]


def test_a_plan_and_an_explanation_say_so(database: simdb.Database) -> None:
    plans = [database.plan(distance=2, search=OWN, pairs=pairs) for pairs in (False, True)]
    told = [
        database.explain(left, right, distance=2, search=OWN).is_found
        for left, right in zip(IDS[:GROUPS], IDS[GROUPS:], strict=True)
    ]

    assert [(plan.method, plan.probes, plan.header_bits) for plan in plans] == [("psm", 1, 4)] * 2
    assert all(plan.theta is None and "as attempts= asks" in plan.reason for plan in plans)
    assert told == [at % 2 == 1 for at in PLACES]


def test_commands_look_up_and_explain_so_many_headers(database: simdb.Database) -> None:
    every = command(database, ["pairs"])
    followed = command(database, ["pairs", "--search", BY_NAME])
    [told] = command(database, ["explain", "0", IDS[GROUPS], "--search", BY_NAME])

    assert (len(every), len(followed)) == (GROUPS, GROUPS // 2)
    assert (told["is_match"], told["is_found"]) == (True, False)


def command(database: simdb.Database, words: list[str]) -> list[dict[str, Any]]:
    """Run a command for distance 2; return the rows that it prints."""
    call = [words[0], str(database.path), *words[1:], "--distance", "2", "--json"]
    return [json.loads(line) for line in CliRunner().invoke(app, call).stdout.splitlines()]
