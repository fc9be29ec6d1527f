"""The parts that all figures rest on: exact cosines, the paper's programs, the generator."""

import importlib
import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from over import over

import simdb

DISTANCE = 3


@pytest.fixture(scope="module")
def planted(world: Any) -> tuple[Any, Any, Any]:
    """Stored fingerprints, queries, and prices of flips."""
    generated = importlib.import_module("generated")
    bits, queries = generated.world_of(world.model, 1 << 12, 300, seed=3)
    return bits, queries, world.generated_prices


def near(bits: np.ndarray, query: int) -> list[int]:
    return [at for at, each in enumerate(bits.tolist()) if (each ^ query).bit_count() <= DISTANCE]


def test_cosines_are_those_of_all_features(world: Any) -> None:
    collection = world.collection
    bags = [
        dict(zip(collection.hashes[a:b].tolist(), collection.shares[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(collection.offsets.tolist())
    ]
    left, right = np.array([0, 0, 7, 12, 3]), np.array([1, 5, 8, 290, 3])

    found = collection.cosines(left, right)

    for one, other, cosine in zip(left, right, found, strict=True):
        dot = sum(bags[one][each] * bags[other].get(each, 0.0) for each in bags[one])
        lengths = [math.sqrt(sum(w * w for w in bags[each].values())) for each in (one, other)]
        assert cosine == pytest.approx(dot / lengths[0] / lengths[1], abs=1e-5)


def test_fingerprints_are_those_of_simdb(world: Any, texts: list[str]) -> None:
    table = simdb.fit_idf(texts, simdb.Simhash.paper())

    expected = simdb.fingerprints(texts, simdb.Simhash.paper(table))

    assert (world.collection.bits == expected.bits).all()


@over("layout", ["by_blocks(5, 2)", "nested(4)"])
def test_bphs_finds_every_match_once(planted: tuple[Any, Any, Any], layout: str) -> None:
    paper = importlib.import_module("paper")
    bits, queries, _ = planted
    tables = paper.Bphs(bits, eval(layout, vars(paper)))

    found = tables.search(queries.bits).found
    first = tables.search(queries.bits, first=True).found

    expected = [len(near(bits, query)) for query in queries.bits.tolist()]
    assert found.tolist() == expected
    assert first.tolist() == [min(count, 1) for count in expected]


def test_psm_tries_flip_sets_in_the_order_of_vosh(planted: tuple[Any, Any, Any]) -> None:
    paper = importlib.import_module("paper")
    bits, queries, prices = planted
    width = 9
    psm = paper.Psm(bits, header_bits=width)

    curve = psm.curve(paper.Asked(queries.bits, queries.levels, prices), most=20)

    counts = Counter()
    for query, levels in zip(queries.bits.tolist(), queries.levels, strict=True):
        chances = 1 / (1 + np.exp(prices[levels[::-1][:width]]))
        order = list(itertools.islice(simdb.vosh(chances, DISTANCE), 21))
        ranks = {frozenset(each): rank for rank, each in enumerate(order)}
        for at in near(bits, query):
            differing = int(bits[at]) ^ query
            flipped = frozenset(i for i in range(width) if differing >> (63 - i) & 1)
            if flipped in ranks:
                counts[ranks[flipped]] += 1
    expected = np.cumsum([counts[rank] for rank in range(21)])
    # Sets of equal cost may come in another order.
    assert np.abs(curve - expected).max() <= 0.02 * expected[-1]


@over(("attempts", "first"), [(0, False), (2, True), (7, False), (175, False), (175, True)])
def test_a_batch_finds_in_chunks_what_its_queries_find_in_each(
    planted: tuple[Any, Any, Any], attempts: int, first: bool
) -> None:
    paper = importlib.import_module("paper")
    bits, queries, prices = planted
    file = np.random.default_rng(4).permutation(bits)
    chunks = [paper.Psm(np.sort(each), header_bits=10) for each in np.array_split(file, 5)]
    asked = paper.Asked(queries.bits, queries.levels, prices)
    batch = paper.Batch(asked, header_bits=10, attempts=attempts, first=first)

    left = []
    for chunk in chunks:
        batch.look_up(chunk)
        left.append(batch.left)

    single = [chunk.search(asked, attempts=attempts).found for chunk in chunks]
    reached = np.cumsum(single, axis=0)
    if first:
        assert batch.found.tolist() == np.minimum(reached[-1], 1).tolist()
        assert left == (reached == 0).sum(axis=1).tolist()
    else:
        assert batch.found.tolist() == reached[-1].tolist()
        assert left == [len(queries)] * 5
    if attempts == 175:  # all sets of up to 3 of 10 bits
        near_counts = [len(near(bits, query)) for query in queries.bits.tolist()]
        assert reached[-1].tolist() == near_counts


def test_planted_matches_are_the_true_ones(planted: tuple[Any, Any, Any]) -> None:
    bits, queries, _ = planted

    assert len(bits) == 1 << 12
    assert (np.diff(bits.astype(object)) >= 0).all()
    for query, count in zip(queries.bits.tolist(), queries.matches.tolist(), strict=True):
        assert len(near(bits, query)) == count
    assert 0 < (queries.matches > 0).sum() < len(queries)


def test_a_network_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = importlib.import_module("corpus")
    monkeypatch.setattr(corpus, "_local_pages", lambda: iter(["words " * 400, "other " * 400]))

    found = corpus.read(10, tmp_path, is_offline=True)

    assert found.origin == corpus.OFFLINE
    assert len(found.texts) == 2
    assert corpus.read(10, tmp_path, is_offline=True) == found


def test_a_page_with_a_section_run_again_keeps_all_others() -> None:
    evaluation, claims = map(importlib.import_module, ("evaluation", "claim"))
    sections = []
    for name in "abc":
        section = claims.Section(f"Table {name} (1)", f"setting {name}", pictures=[("p", "q")])
        section.table(["n"], [["1"]])
        section.judge(
            claims.Claim(f"where {name}", "x * 2", "y"), theirs="1", ours="2", holds=True, why="z"
        )
        sections.append(section)
    before = evaluation.page(sections, "words of all.")
    again = claims.Section("Table b (1)", r"setting \1 of later")
    again.judge(
        claims.Claim("where b", "x * 2", "y"), theirs="1", ours="3", holds=False, why="later"
    )

    found = evaluation.renewed(before, [again], "words of one.")

    assert "Of 3 claims, 3 agree, 0 agree in part and 0 do not." in before
    assert "Of 3 claims, 2 agree, 0 agree in part and 1 do not." in found
    assert found.count("| where b |") == 1 == found.count("## Table b")
    assert r"setting \1 of later" in found
    assert "words of one." in found
    assert "setting b" not in found
    kept = [
        line for line in before.splitlines() if "where b" not in line and "setting b" not in line
    ]
    gone = [line for line in kept if line not in found.splitlines()]
    assert gone == ["Of 3 claims, 3 agree, 0 agree in part and 0 do not."]


def test_only_the_whole_record_has_rules_reasons_and_details() -> None:
    evaluation, claims = map(importlib.import_module, ("evaluation", "claim"))
    section = claims.Section("Table 1", "setting")
    section.table(["shown"], [["1"]])
    section.table(["detail"], [["2"]], is_detail=True)
    for where, holds in (("kept", True), ("lost", False)):
        claim = claims.Claim(f"Sood & Loguinov, {where}", "says", f"rule {where}")
        section.judge(claim, theirs="1", ours="2", holds=holds, why=f"reason {where}")

    short = evaluation.page([section], "words.")
    whole = evaluation.page([section], "words.", is_whole=True)

    everything = ("shown", "reason lost", "detail", "rule kept", "rule lost", "reason kept")
    assert [each for each in everything if each in short] == ["shown", "reason lost"]
    assert all(each in whole for each in everything)
    assert "| kept | says |" in short
