"""Plans for a database that is larger than the memory read fewer pages; others are unchanged."""

from dataclasses import replace

import pytest
from over import over

from simdb.core.bits import leading_masks
from simdb.core.options import Minhash, Options
from simdb.database.state.store import settled
from simdb.plan import planner
from simdb.plan.banding import bands_of
from simdb.plan.bands import BandedPopulation
from simdb.plan.pigeonhole import tables_read
from simdb.plan.problem import (
    Criterion,
    Paging,
    PolytopeRun,
    Population,
    Problem,
    distinct_bits,
    pays_in_windows,
)

COUNT = 10_000_000
STORED = Population(
    COUNT, 4, 1, 23, True, vector_bytes=64, polytope_tables=4,
    polytope_runs=(PolytopeRun(COUNT, 22),),
)  # fmt: skip
BANDS = bands_of(settled(Options(sketch=Minhash())))
SIGNED = BandedPopulation(COUNT, BANDS, 23, 128)
CRITERIA = [
    Criterion(None, 0, 0.95, "auto"),
    Criterion(None, 3, 0.95, "auto", is_weighted=True),
    Criterion(None, 6, 1.0, "auto"),
    Criterion(0.9, None, 0.95, "auto", is_weighted=True),
    Criterion(0.97, 5, 0.8, "auto", is_weighted=True),
    Criterion(0.9, None, 1.0, "auto", is_weighted=True),
]


def choose(criterion, population):
    return planner.choose(Problem(criterion, population))


def considered(criterion, population):
    return planner.considered(Problem(criterion, population))


def in_memory_of(size, population=STORED, data=4e9, runs=1):
    return replace(population, paging=Paging(data, size, runs))


@over("criterion", CRITERIA[1:3])
def test_a_database_that_fits_into_memory_is_planned_without_pages(criterion):
    plans = considered(criterion, in_memory_of(4e9))

    assert plans == considered(criterion, STORED)
    assert {plan.page_reads for plan in plans} == {0.0}
    assert choose(criterion, in_memory_of(4e9)) == choose(criterion, STORED)


@over("criterion", CRITERIA)
def test_every_plan_of_a_database_larger_than_memory_reads_pages(criterion):
    cheap = {(plan.method, plan.table_flips): plan for plan in considered(criterion, STORED)}
    plans = considered(criterion, in_memory_of(1e9))

    assert all(plan.page_reads > 0 for plan in plans)
    for plan in plans:
        known = cheap.get((plan.method, plan.table_flips))
        assert known is None or plan.cost_seconds > known.cost_seconds


def test_the_pages_are_those_of_directories_and_keys_of_every_run():
    plan = choose(CRITERIA[1], in_memory_of(1e9, runs=5))

    entries = 1 + COUNT / 2**16
    assert (plan.method, plan.tables, plan.flips) == ("bphs", 4, 0)
    assert plan.page_reads == pytest.approx(0.75 * 4 * (2 * 5 + entries * 8 / 4096))


def test_a_plan_gives_way_to_one_that_reads_fewer_pages():
    criterion = Criterion(None, 6, 0.95, "auto", is_weighted=True)
    paged_of = in_memory_of(1e9)

    usual, paged = choose(criterion, STORED), choose(criterion, paged_of)

    assert (usual.method, paged.method) == ("multiprobe", "multiprobe")
    # Shorter headers, of which fewer are looked up.
    assert paged.header_bits < usual.header_bits
    assert paged.probes < usual.probes
    assert paged.recall >= 0.95


def test_signatures_are_read_where_the_bands_lead():
    criterion = Criterion(0.8, None, 0.95, "banding")

    one = choose(criterion, in_memory_of(2e9, SIGNED))
    few = choose(criterion, in_memory_of(1e9, SIGNED))

    assert choose(criterion, SIGNED).page_reads == 0
    assert few.page_reads == pytest.approx(1.5 * one.page_reads)
    assert one.page_reads >= 0.5 * 2 * BANDS.table_count


def test_headers_that_differ_in_their_last_bits_share_pages():
    assert distinct_bits(22, 1) == 13
    assert distinct_bits(22, 100) == 20
    assert distinct_bits(5, 1) == 0


def test_reading_everything_pays_for_many_queries_only():
    plan = choose(CRITERIA[1], in_memory_of(1e9))
    searched = COUNT * plan.bytes_per_document

    assert not pays_in_windows(plan, 10, searched)
    assert pays_in_windows(plan, 100_000, searched)
    assert not pays_in_windows(choose(CRITERIA[1], STORED), 10**9, searched)


def test_of_tables_with_the_same_headers_one_is_read():
    masks = tuple(leading_masks(6, 3))

    def read(flips, bits, distance=3):
        return tables_read(masks, flips, distance=distance, directory_bits=bits)

    assert read((0,) * 20, 22) == (0, 4, 7, 9, 10, 13, 15, 16, 18, 19)
    assert len(read((0,) * 20, 11)) == 4
    assert read((0,) * 20, 0) == (0,)
    # With flips, each table has buckets of its own; so it is if the leading bits are too few.
    assert read((1,) * 20, 22) == tuple(range(20))
    assert len(read((0,) * 20, 40)) == 20
    assert len(read((0,) * 20, 40, distance=0)) == 20
    assert read((-1, 0, *[-1] * 18), 22) == (1,)
