"""Plans explained: of a database, of more documents than it holds, and without any database."""

from itertools import product

import numpy as np
import pytest
from empty import planned
from over import over

import simdb


def test_a_plan_says_why_it_was_chosen_and_what_else_was_considered():
    plan = planned(1e7, simdb.Options(blocks=4), distance=3, has_weights=False)

    assert (plan.method, plan.tables, plan.probes, plan.header_bits) == ("bphs", 4, 4, 16)
    assert "cheapest of them" in plan.choice
    assert "without weights" in plan.choice
    assert [way.method for way in plan.considered].count("exhaustive") == 1
    assert plan.considered[0].cost_seconds == plan.cost_seconds
    assert plan.queries_per_second == pytest.approx(1 / plan.cost_seconds)


def test_a_plan_says_that_documents_in_no_run_are_compared(tmp_path):
    # It was "about 0.0 headers find 0.5 of the documents", at a 37th of the time.
    vectors = np.random.default_rng(4_000_020).standard_normal((300, 128)).astype(np.float32)
    options = simdb.Options(sketch=simdb.Simhash(vector_length=128), delta_documents=300)
    asked = {"similarity": 0.7, "recall": 0.5, "search": "polytope"}

    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many(range(300), vectors)
        recent = database.plan(**asked)
        compared = database.plan(**{**asked, "search": "exhaustive"})
        database.compact()
        database.insert_many(range(300, 310), vectors[:10])
        both = database.plan(**asked)

    assert recent.reason == "the documents in no run yet (300) are compared one by one"
    assert recent.recall > 0.99
    assert compared.cost_seconds / 4 < recent.cost_seconds < compared.cost_seconds
    assert both.reason.endswith("; the documents in no run yet (10) are compared one by one")
    assert both.recall == 0.5


def test_a_wider_header_takes_more_memory_and_less_time():
    wide, narrow = (
        planned(1e8, simdb.Options(blocks=2, header_offset=offset), distance=1, search="bphs")
        for offset in (0, -4)
    )

    assert wide.bytes_per_document > narrow.bytes_per_document
    assert wide.cost_seconds < narrow.cost_seconds


def test_what_a_query_could_not_ask_a_plan_refuses_too():
    with pytest.raises(simdb.OptionError, match="weights"):
        planned(10, distance=3, search="psm", has_weights=False)
    with pytest.raises(simdb.OptionError, match="store_volatility"):
        planned(10, simdb.Options(sketch=simdb.Simhash(store_volatility=False)), similarity=0.9)


def test_a_named_method_that_reaches_less_says_how_much():
    named = planned(1e6, simdb.Options(blocks=2), similarity=0.8, search="bphs")
    unable = planned(1e7, simdb.Options(blocks=1), similarity=0.8, recall=0.99, search="psm")

    assert f"search='bphs' reaches only {named.recall:.3g}" in named.choice
    assert unable.method != "psm"
    assert "none with search='psm'" in unable.choice


def test_one_table_by_psm_is_the_better_choice_where_four_do_not_fit_into_memory():
    plan = planned(8e9, simdb.Options(blocks=4), distance=3, memory=128e9)

    assert plan.method in ("psm", "multiprobe")
    assert plan.smallest.method == "psm"
    assert plan.page_reads > 20 > plan.smallest.page_reads == 0
    assert plan.smallest.bytes_per_document < 16
    assert plan.smallest.cost_seconds < plan.cost_seconds / 100
    assert plan.smallest.recall >= 0.95
    assert "takes 114 GB where the tables of these options take 393 GB" in plan.smallest.choice
    assert plan.smallest.choice.endswith("times as fast, so it is the better choice")
    assert "in each of 2 databases" in plan.smallest.reason
    assert "the prior alone" in plan.smallest.reason


@over("distance", range(1, 9))
@over("recall", [0.8, 0.95, 0.99])
def test_the_reasons_of_a_plan_and_its_smallest_database_agree(distance, recall):
    """It said that probing does not reach the recall, and that one table finds .959."""
    for documents in (1e4, 1e6, 6e7, 8e9):
        options = simdb.Options(blocks=4)
        plan = planned(documents, options, distance=distance, recall=recall, memory=1e13)

        able = [way for way in plan.considered if way.recall >= recall]
        by_psm = [way for way in able if way.method == "psm"]
        assert ("probing by volatility does not reach it" in plan.choice) == (
            not any(way.probing for way in plan.considered)
        )
        assert (plan.smallest is None) == (not by_psm)
        if plan.smallest is not None:
            assert plan.smallest.recall >= recall
        # Only what finds clearly more is chosen in place of the cheapest.
        cheapest = min(able, key=lambda way: way.cost_seconds)
        assert plan.cost_seconds <= 1.5 * cheapest.cost_seconds


def test_exact_search_is_not_recommended_where_one_table_by_psm_is_cheaper():
    for documents, blocks in product((6e7, 1e9, 8e9), (1, 4)):
        plan = planned(documents, simdb.Options(blocks=blocks), distance=3, memory=1e13)

        exact = next(way for way in plan.considered if way.method == "bphs")
        assert plan.method in ("psm", "multiprobe")
        assert plan.cost_seconds < exact.cost_seconds / 3


@pytest.mark.parametrize("asked", [{"distance": 3}, {"similarity": 0.9}], ids=str)
@pytest.mark.parametrize("sketch", [simdb.Simhash(), simdb.Minhash()], ids=str)
def test_what_does_not_fit_into_memory_is_read_from_disk(asked, sketch):
    options = simdb.Options(sketch=sketch)
    if options.is_minhash:
        asked = {"similarity": 0.8}

    small, large = (planned(1e9, options, memory=size, **asked) for size in (1e9, 1e12))

    assert small.page_reads > 0 == large.page_reads
    assert small.cost_seconds > large.cost_seconds


@pytest.mark.parametrize("store_volatility", [True, False])
def test_probing_is_planned_for_queries_with_weights_where_none_are_stored(
    tmp_path, store_volatility
):
    options = simdb.Options(sketch=simdb.Simhash(store_volatility=store_volatility))
    with simdb.open(tmp_path / "db", options=options) as database:
        database.insert_many(range(100), np.arange(100, dtype=np.uint64))

        named = database.plan(search="psm", distance=3, recall=0.9)
        usual = database.plan(distance=3, recall=0.9)

    assert named.method == "psm"
    assert usual.method != "psm"


@pytest.mark.parametrize(
    ("sketch", "similarity"), [(simdb.Simhash(), 2 / 3), (simdb.Minhash(), 0.8)]
)
def test_an_index_of_a_million_is_faster_than_an_exhaustive_search_which_has_no_tables(
    sketch, similarity
):
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        for pairs in (False, True):
            asked = {"similarity": similarity, "pairs": pairs}
            chosen = database.plan(10**6, **asked)
            exhaustive = database.plan(10**6, search="exhaustive", **asked)

            assert exhaustive.tables == 0
            assert chosen.tables > 0
            assert 1e-7 < chosen.cost_seconds < 1e-3 < 2 * exhaustive.cost_seconds


def test_the_header_bits_are_not_those_of_the_directory_where_fewer_are_asked_for():
    options = simdb.Options(blocks=1, header_offset=-3)

    plans = [
        planned(2**20, options, distance=3, search=simdb.Search(method="psm", header_bits=asked))
        for asked in (13, None)
    ]

    assert [plan.header_bits for plan in plans] == [plan.probing.header_bits for plan in plans]
    assert [plan.header_bits for plan in plans] == [13, 17]


def test_where_a_surer_way_is_chosen_the_smallest_is_better_only_for_its_size():
    """At 10M it said of one database both that exact search and that PSM was the better choice."""
    plan = planned(1e7, simdb.Options(blocks=4), distance=3, memory=1e12)

    assert plan.method == "bphs"
    assert plan.smallest.cost_seconds < plan.cost_seconds
    assert "so it is the better choice where 157 MB fit into memory" in plan.smallest.choice


def test_one_table_looks_up_whole_headers_where_no_page_must_be_read():
    """A shorter header is as many whole ones, and the search took three times as long."""
    options = simdb.Options(blocks=1)

    assert planned(1e7, options, distance=3, memory=1e12).header_bits == 19
