"""Block tables (BPHS): their keys, and plans that look up the query's header and flipped headers.

Block permutations are the tables of block-permuted Hamming search; see Manku, Jain & Das Sarma
2007.  The key of a table is the fingerprint with some blocks of its bits moved to the front.  If
few bits differ, none of them leads in some table.  There, the leading bits of the stored key and of
the query agree, so the table's directory gives a short range of keys with the stored fingerprint.
Other plans compare all fingerprints, or measure all volatility vectors.

By the pigeonhole principle, some flips of each table are certain to find all fingerprints within a
distance; `pigeonhole.py` chooses the cheapest.  For a similarity, every table gets the same flips.
The share of matches that they find follows from the angle between the documents.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from simdb.core import bits, kernel
from simdb.core.dtypes import U8, U64
from simdb.core.errors import OptionError
from simdb.core.options import BPHS, EXHAUSTIVE, USUAL_BLOCKS, USUAL_LEADING
from simdb.core.previews import counted
from simdb.core.reports import Plan
from simdb.plan import chance, pigeonhole
from simdb.plan.pigeonhole import Flips, tables_read
from simdb.plan.polytopes import Polytopes
from simdb.plan.problem import (
    ALL_IN_MEMORY,
    FINGERPRINT_BYTES,
    Criterion,
    Population,
    Problem,
    candidate_distances,
    distinct_bits,
)

METHODS = (EXHAUSTIVE, BPHS)
SORTED_SECONDS = 15e-9  # sorting one document into a table and finding its header's group
SWEPT_SECONDS = 0.075e-9  # comparing two fingerprints during a walk over one table


class Permutations:
    """The block permutations of a database: one table each."""

    def __init__(self, blocks: int, leading: int, polytope_count: int = 0) -> None:
        """Make C(`blocks`, `leading`) tables: one for each choice of leading blocks.

        The database also has `polytope_count` cross-polytope tables.
        """
        self.blocks = blocks
        self.leading = leading
        self.polytopes = Polytopes(polytope_count)
        self.masks = bits.leading_masks(blocks, leading)

    @property
    def table_count(self) -> int:
        """Number of tables."""
        return len(self.masks)

    @property
    def has_header_table(self) -> bool:
        """Whether there is only one table, whose keys are the fingerprints."""
        return self.table_count == 1

    def searchable(self, fingerprints: U64, vectors: U8) -> U64:
        """Return the fingerprints of documents, from which their keys are made."""
        return fingerprints

    def write_keys(self, searchable: U64, keys: U64, table: int) -> None:
        """Write the keys of one table into `keys`, in the order of the fingerprints."""
        kernel.permute(searchable, self.masks[table], keys)


def swept_masks(masks: Sequence[int]) -> Sequence[int]:
    """Return the leading bits of the tables that a search for all pairs walks.

    A single table does not help it, so the default tables are made for the search.
    """
    return bits.leading_masks(USUAL_BLOCKS, USUAL_LEADING) if len(masks) == 1 else masks


def plans(problem: Problem[Population]) -> list[Plan]:
    """Return plans that compare all documents, and plans that look up headers in tables."""
    return [*comparing(problem), *looking_up(_as_walked(problem))]


def comparing(problem: Problem[Population]) -> list[Plan]:
    """Return a plan that compares all documents for each distance limit of candidates."""
    criterion = problem.criterion
    both = (
        candidate_distances(criterion, limit)
        for limit in (chance.odd_distance, chance.firm_distance)
    )
    return [_by_comparing(problem, *each) for each in zip(*both, strict=True)]


def looking_up(problem: Problem[Population]) -> list[Plan]:
    """Return the exact plan, if any, and a plan for each number of flips and distance limit."""
    distance, population = problem.criterion.distance, problem.population
    shape = population.blocks, population.leading
    found = [
        _even(problem, limit, flips)
        for limit in candidate_distances(problem.criterion)
        for flips in range(pigeonhole.FLIPS_MAX + 1)
        if distance is None or bits.distance_served(*shape, flips) < distance
    ]
    exact = _exact(problem)
    return found if exact is None else [exact, *found]


def named(problem: Problem[Population], best: Callable[[Criterion], Plan]) -> Plan:
    """Return the plan for search="bphs": exact for a distance, with flips for a similarity.

    For a distance beyond the tables' own, header bits are flipped, in unequal numbers if that is
    cheaper.  If no number of flips reaches the recall of a similarity, the plan has the best
    recall.  For search="exhaustive", return the plan that loses the fewest matches.
    """
    criterion = problem.criterion
    if criterion.method == EXHAUSTIVE:
        return comparing(problem)[0]
    if problem.population.is_swept or _exact(problem) is not None:
        problem = _as_walked(problem)
    population, exact = problem.population, _exact(problem)
    if exact is not None:
        return exact
    if criterion.distance is not None:
        raise OptionError(
            f"distance={criterion.distance} is more than blocks={population.blocks},"
            f" leading={population.leading} serve for certain with up to"
            f" {pigeonhole.FLIPS_MAX} flipped header bits in each table; create the database with"
            f" blocks={criterion.distance + population.leading}, or use search='auto' or"
            " 'exhaustive'"
        )
    plans = looking_up(problem)
    able = [plan for plan in plans if plan.recall >= criterion.recall]
    if able:
        return min(able, key=lambda plan: plan.cost_seconds)
    if criterion.recall >= 1.0:
        raise OptionError(
            f"search='bphs' cannot promise to find every document at"
            f" similarity={criterion.asked_similarity:g}; use search='exhaustive' or a recall below"
            " 1"
        )
    return max(plans, key=lambda plan: plan.recall)


def remark(criterion: Criterion, plans: Sequence[Plan]) -> str:
    """Return "", since the plans themselves say what the tables find."""
    return ""


def _as_walked(problem: Problem[Population]) -> Problem[Population]:
    """Return the problem as it is with the tables of `swept_masks`, if these are in memory."""
    population = problem.population
    if not (population.is_swept or population.is_cut) or population.tables > 1:
        return problem
    walked = replace(
        population, blocks=USUAL_BLOCKS, leading=USUAL_LEADING, crowds=(), paging=ALL_IN_MEMORY
    )
    return replace(problem, population=walked)


def _by_comparing(problem: Problem[Population], limit: int, firm: int) -> Plan:
    """Return the plan with candidates within the distance `limit`, or `firm` by firm signs."""
    criterion, population, delays = problem.criterion, problem.population, problem.delays
    count, paging = population.count, population.paging
    if population.is_swept:
        count = -(-count // 2)
    if criterion.distance is None and limit == bits.FINGERPRINT_BITS:
        plan = Plan(
            EXHAUSTIVE, 0, 0, 0, limit, criterion.asked_similarity, 1.0, count * delays.measure,
            f"every stored volatility vector is measured ({population.count} documents)",
            bytes_per_document=population.bytes_of(0, criterion),
        )  # fmt: skip
        return paging.charged(plan, row_bytes=count * population.vector_bytes)
    firm_limit = firm if criterion.distance is None else None
    share = unlike_share(limit, firm_limit)
    compare = SWEPT_SECONDS if population.is_swept else delays.compare
    cost = count * (compare + share * delays.candidate)
    similarity = criterion.similarity
    recall, where = 1.0, f"those within distance {limit}"
    if similarity is not None and firm_limit is not None:
        recall = min(
            chance.share_within(similarity, None, limit), chance.firm_within(similarity, firm_limit)
        )
        where = f"those that differ in at most {counted(firm_limit, 'sign')} of its larger weights"
    plan = Plan(
        EXHAUSTIVE, 0, 0, 0, limit, criterion.asked_similarity, recall, cost,
        f"each of {population.count} documents is compared; {where} are candidates",
        firm_distance=firm_limit,
        bytes_per_document=population.bytes_of(1, criterion, has_headers=False),
    )  # fmt: skip
    measured = 0.0 if similarity is None else count * share
    return paging.charged(plan, measured=measured, row_bytes=count * FINGERPRINT_BYTES)


def unlike_share(limit: int, firm_limit: int | None) -> float:
    """Return the share of unrelated fingerprints that are candidates of most queries."""
    if firm_limit is not None:
        return chance.firm_within(0.0, firm_limit)
    return chance.binomial_below(bits.FINGERPRINT_BITS, 0.5, limit)


def _exact(problem: Problem[Population]) -> Plan | None:
    """Return the cheapest plan that finds all matches within the distance; None if none does."""
    distance, population, delays = problem.criterion.distance, problem.population, problem.delays
    if distance is None:
        return None
    entries = [_entries(population, table, distance) for table in range(population.tables)]
    paging = population.paging
    probe_costs = [
        delays.memory + each * delays.visit + paging.seconds(paging.pages_of(1, each))
        for each in entries
    ]
    if population.is_swept:
        probe_costs = [(pigeonhole.VISITED_SECONDS + each * SWEPT_SECONDS) / 2 for each in entries]
    flips = pigeonhole.cheapest_flips(
        population.blocks, population.leading, distance,
        widths=population.widths, probe_costs=probe_costs,
        table_cost=SORTED_SECONDS if population.is_swept else 0.0,
    )  # fmt: skip
    if flips is None:
        return None
    read = sum(each != pigeonhole.NOT_READ for each in flips)
    why = f"{counted(read, 'table')} find{'s' if read == 1 else ''} all within distance {distance}"
    return _plan(problem, flips, distance, 1.0, f"{why} for certain{_in_words(flips)}")


def _even(problem: Problem[Population], limit: int, flips: int) -> Plan:
    """Return the plan with equal flips in all tables, which can miss matches."""
    criterion, population = problem.criterion, problem.population
    recall = 0.0
    served = bits.distance_served(population.blocks, population.leading, flips)
    why = f"{population.tables} tables serve distances up to {served} only"
    if criterion.similarity is not None and criterion.recall < 1.0:
        recall = chance.reach(criterion.similarity, population.blocks, population.leading, flips)
        recall *= chance.share_within(criterion.similarity, criterion.distance, limit)
        why = (
            f"{population.tables} tables reach {recall:.3f} of the documents at similarity"
            f" {criterion.asked_similarity:g}"
        )
    of_tables = (flips,) * population.tables
    return _plan(problem, of_tables, limit, recall, f"{why}{_in_words(of_tables)}")


def _plan(problem: Problem[Population], flips: Flips, limit: int, recall: float, why: str) -> Plan:
    """Return the plan with these flips of each table, for candidates within `limit`."""
    criterion, population = problem.criterion, problem.population
    tables = [table for table, each in enumerate(flips) if each != pigeonhole.NOT_READ]
    probes = sum(bits.flip_count(population.widths[table], flips[table]) for table in tables)
    known_bits = min(_known_bits(population, table, limit) for table in tables)
    seconds = sum(_seconds(problem, table, flips[table], limit) for table in tables)
    plan = Plan(
        BPHS, len(tables), max(flips), probes, limit, criterion.asked_similarity, recall,
        seconds, why,
        header_bits=min(known_bits, population.directory_bits),
        bytes_per_document=population.bytes_of(len(tables), criterion),
        table_flips=flips,
    )  # fmt: skip
    pages, reached = _read(population, flips, limit)
    measured = reached if criterion.similarity is not None else 0.0
    return population.paging.charged(plan, pages=pages, measured=measured)


def _seconds(problem: Problem[Population], table: int, flips: int, limit: int) -> float:
    """Return the seconds of one table for a query."""
    population, delays = problem.population, problem.delays
    width = population.widths[table]
    probes = bits.flip_count(width, flips)
    compared = probes * _entries(population, table, limit)
    candidates = delays.candidate * chance.share_of_reached(width, flips, limit)
    if population.is_swept:
        walking = SORTED_SECONDS + (probes - 1) / 2 * pigeonhole.VISITED_SECONDS
        return walking + compared / 2 * (SWEPT_SECONDS + candidates)
    return probes * delays.memory + compared * (delays.visit + candidates)


def _read(population: Population, flips: Flips, limit: int) -> tuple[float, float]:
    """Return the number of pages with the entries for a query, and the number of candidates."""
    pages, reached = 0.0, 0.0
    masks = tuple(bits.leading_masks(population.blocks, population.leading))
    directory_bits = population.directory_bits
    for table in tables_read(masks, flips, distance=limit, directory_bits=directory_bits):
        width, entries = population.widths[table], _entries(population, table, limit)
        headers = bits.flip_count(distinct_bits(width, entries), flips[table])
        pages += population.paging.pages_of(headers, entries)
        compared = bits.flip_count(width, flips[table]) * entries
        reached += compared * chance.share_of_reached(width, flips[table], limit)
    return pages, reached


def _entries(population: Population, table: int, limit: int) -> float:
    """Return the number of entries of a table that are compared for each header."""
    return population.entries_of(_known_bits(population, table, limit), table)


def _known_bits(population: Population, table: int, limit: int) -> int:
    """Return the number of header bits by which a look-up finds entries.

    For the distance 0, all bits of the directory agree, not only the leading bits.
    """
    return population.widths[table] if limit else max(population.directory_bits, 1)


def _in_words(flips: Flips) -> str:
    """Describe the numbers of flipped header bits and of their tables; "" without flips."""
    counts = Counter(each for each in flips if each > 0)
    parts = [f"{each} in {counted(counts[each], 'table')}" for each in sorted(counts, reverse=True)]
    return f", with flipped header bits: up to {' and '.join(parts)}" if parts else ""
