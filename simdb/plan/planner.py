"""The planner: which way to search answers a criterion at the lowest cost, and why.

There are three ways.  Exhaustive search compares with every stored fingerprint.  Search by tables
(BPHS) asks in each of them for the query's own header and, where that does not reach far enough,
for all headers with up to `flips` flipped bits.  By the pigeonhole principle the tables find
everything within some distance for certain (`bits.distance_served`); for a similarity the share of
matches that they reach follows from the angle between the documents.  Probing asks for the headers
that are likely, as the query's weights have it: PSM in one table, volatility multi-probe in
several; how many it takes for a recall follows from a calibration (`plan/probing.py`).

Costs are seconds of one core, those of a machine with AVX-512 unless others were measured
(`cost.Delays`); for the choice only their ratios matter.
"""

from dataclasses import replace

from simdb import bits
from simdb.errors import OptionError
from simdb.options import PROBING_METHODS, Simhash
from simdb.plan import bands
from simdb.plan.calibration import Calibration
from simdb.plan.chance import (
    binomial_below,
    filter_distance,
    reach,
    share_of_reached,
    share_within,
)
from simdb.plan.cost import USUAL_DELAYS, Delays
from simdb.plan.probing import by_probing, is_mostly_comparing
from simdb.plan.question import BandedPopulation, Criterion, Population
from simdb.plan.rotation import by_rotation
from simdb.reports import Plan
from simdb.text_sketch import TextSketch

SWEPT_SECONDS = 0.075e-9  # comparing two fingerprints of one table that is walked once
SORTED_SECONDS = 15e-9  # putting one document in its place in a table, and finding its group
FLIPS_MAX = 4
# Shares of matches that the filter by distance may lose, where some loss is allowed at all.
FILTER_LOSSES = (1e-3, 1e-2, 3e-2)
# A plan with better recall is taken as long as it costs no more than so many times the cheapest.
RECALL_WORTH = 1.5

STEPS_IN_WORDS = {
    "markup": "HTML to text",
    "normalisation": "normalisation of texts that are not ASCII",
    "tokeniser": "a tokeniser of your own",
    "stemming": "stems, once for each distinct word",
}


def choose(
    criterion: Criterion,
    population: Population | BandedPopulation,
    calibration: Calibration | None = None,
    delays: Delays = USUAL_DELAYS,
) -> Plan:
    """The cheapest plan that satisfies `criterion`; OptionError when there is none."""
    if isinstance(population, BandedPopulation):
        if criterion.method != "auto":
            return bands.named(criterion, population)
        return _cheapest(criterion, bands.ways(criterion, population))
    if criterion.similarity is not None and not population.has_vectors:
        raise OptionError(
            "similarity= needs stored volatility, and this database has none; create it with"
            " Simhash(store_volatility=True), or ask by distance="
        )
    if criterion.method == "exhaustive":
        return _exhaustive(criterion, population, _distances(criterion)[0], delays)
    if criterion.method == "bphs":
        return _named_bphs(criterion, population, delays)
    if criterion.method in PROBING_METHODS:
        return _named_probing(criterion, population, calibration, delays)
    if criterion.method == "rotation":
        if not population.is_swept:
            raise OptionError(
                "method='rotation' finds all pairs: give it to find_all, to find_clusters with"
                " policy='connected', or to plan with pairs=True"
            )
        return by_rotation(criterion, population, _distances(criterion)[0], calibration)
    return _cheapest(criterion, _ways(criterion, population, calibration, delays))


def considered(
    criterion: Criterion,
    population: Population | BandedPopulation,
    calibration: Calibration | None = None,
    delays: Delays = USUAL_DELAYS,
) -> list[Plan]:
    """Every way to answer `criterion`, whatever its method: the able ones first, by cost.

    After them those that do not reach the recall, by recall.  Of ways that differ only in the
    distance of their candidates the best is taken.
    """

    def rank(plan: Plan) -> tuple[bool, float, float]:
        is_able = plan.recall >= criterion.recall
        return (not is_able, plan.cost_seconds if is_able else -plan.recall, plan.cost_seconds)

    best: dict[tuple[str, int, int], Plan] = {}
    if isinstance(population, BandedPopulation):
        every = bands.ways(criterion, population)
    else:
        every = _ways(replace(criterion, method="auto"), population, calibration, delays)
    for plan in sorted(every, key=rank):
        best.setdefault((plan.method, plan.tables, plan.flips), plan)
    return list(best.values())


def explained(plan: Plan, criterion: Criterion, ways: list[Plan], sketch: TextSketch) -> Plan:
    """The plan with the `ways` that were considered, and in words why it and not another.

    It also says where a text becomes a sketch.
    """
    steps = [STEPS_IN_WORDS[name] for name in sketch.python_steps]
    sketches = "fingerprints" if isinstance(sketch, Simhash) else "signatures"
    words = f"texts become {sketches} in the kernel"
    if steps:
        words += f", but slowly in Python: {', '.join(steps)}"
    return replace(
        plan, sketching=words, choice=_choice(plan, criterion, ways), considered=tuple(ways)
    )


def _choice(plan: Plan, criterion: Criterion, ways: list[Plan]) -> str:
    """Why the plan was taken, of all `ways`, the best of which is the first."""
    able = [way for way in ways if way.recall >= criterion.recall]
    words = f"{len(able)} of {len(ways)} ways reach recall {criterion.recall:g}"
    times = plan.cost_seconds / able[0].cost_seconds if able[0].cost_seconds else 1.0
    cost = f"{times:.3g} times the cost of the cheapest, {able[0].method}"
    if plan.recall < criterion.recall:
        words += f", but method={criterion.method!r} reaches only {plan.recall:.3g}"
    elif criterion.method == plan.method:
        words += f"; this is the one by method={plan.method!r}, at {cost}"
    elif criterion.method != "auto":
        words += f", but none by method={criterion.method!r}"
    elif times > 1.0:
        words += f"; this one finds more, at {cost}"
    else:
        words += ", and this is the cheapest of them"
    if any(way.method == "banding" for way in ways):
        return words
    if criterion.recall >= 1.0:
        return words + "; probing by volatility is never certain"
    if not criterion.is_weighted:
        return words + "; without weights nothing can be probed by volatility"
    if not any(way.method in PROBING_METHODS for way in ways):
        return words + "; probing by volatility does not reach it"
    return words


def _cheapest(criterion: Criterion, ways: list[Plan]) -> Plan:
    """Of the ways that reach the recall the cheapest, or one that finds more at little cost."""
    able = [plan for plan in ways if plan.recall >= criterion.recall]
    dearest = RECALL_WORTH * min(plan.cost_seconds for plan in able)
    worthy = [plan for plan in able if plan.cost_seconds <= dearest]
    return max(worthy, key=lambda plan: (plan.recall, -plan.cost_seconds))


def _ways(
    criterion: Criterion,
    population: Population,
    calibration: Calibration | None,
    delays: Delays,
) -> list[Plan]:
    """Plans of all kinds, whether they reach the recall or not."""
    return [
        plan
        for limit in _distances(criterion)
        for plan in (
            _exhaustive(criterion, population, limit, delays),
            *(
                _by_tables(criterion, population, limit, flips, delays)
                for flips in range(FLIPS_MAX + 1)
            ),
            *by_probing(criterion, population, limit, calibration, delays),
        )
    ]


def _distances(criterion: Criterion) -> list[int]:
    """Distances beyond which candidates need not be measured, the safest first."""
    if criterion.distance is not None:
        return [criterion.distance]
    if criterion.recall >= 1.0 or criterion.similarity is None:
        return [bits.FINGERPRINT_BITS]
    losses = [loss for loss in FILTER_LOSSES if loss < 1.0 - criterion.recall]
    found = [filter_distance(criterion.similarity, loss) for loss in losses]
    return found or [bits.FINGERPRINT_BITS]


def _exhaustive(criterion: Criterion, population: Population, limit: int, delays: Delays) -> Plan:
    count = population.count
    if population.is_swept:
        count = -(-count // 2)
    if criterion.distance is None and limit == bits.FINGERPRINT_BITS:
        return Plan(
            "exhaustive", 0, 0, 0, limit, criterion.similarity, 1.0, count * delays.measure,
            f"every stored volatility vector is measured ({population.count} documents)",
            bytes_per_document=population.bytes_of(0, has_headers=False, is_measured=True),
        )  # fmt: skip
    share = binomial_below(bits.FINGERPRINT_BITS, 0.5, limit)
    compare = SWEPT_SECONDS if population.is_swept else delays.compare
    cost = count * (compare + share * delays.candidate)
    is_measured = criterion.similarity is not None
    recall = share_within(criterion.similarity, criterion.distance, limit)
    return Plan(
        "exhaustive", 0, 0, 0, limit, criterion.similarity, recall, cost,
        f"each of {population.count} fingerprints is compared, those within distance {limit} are"
        " candidates",
        bytes_per_document=population.bytes_of(1, has_headers=False, is_measured=is_measured),
    )  # fmt: skip


def _by_tables(
    criterion: Criterion, population: Population, limit: int, flips: int, delays: Delays
) -> Plan:
    known_bits = min(population.header_bits, max(population.directory_bits, 1))
    probes = population.tables * bits.flip_count(known_bits, flips)
    compared = probes * population.entries_of(known_bits)
    share = share_of_reached(known_bits, flips, limit)
    cost = probes * delays.memory + compared * (delays.compare + share * delays.candidate)
    cost += population.asking_seconds
    if population.is_swept and flips == 0:
        cost = probes * SORTED_SECONDS + compared / 2 * SWEPT_SECONDS
    served = bits.distance_served(population.blocks, population.leading, flips)
    if criterion.distance is not None and criterion.distance <= served:
        recall = 1.0
        why = f"{population.tables} tables find all within distance {served} for certain"
    elif criterion.similarity is not None and criterion.recall < 1.0:
        recall = reach(criterion.similarity, population.blocks, population.leading, flips)
        recall *= share_within(criterion.similarity, criterion.distance, limit)
        why = (
            f"{population.tables} tables reach {recall:.3f} of the documents at similarity"
            f" {criterion.similarity:g}"
        )
    else:
        recall = 0.0
        why = f"{population.tables} tables serve distances up to {served} only"
    if flips:
        why += f" with up to {flips} flipped header bits"
    return Plan(
        "bphs", population.tables, flips, probes, limit, criterion.similarity, recall, cost, why,
        header_bits=min(known_bits, population.directory_bits),
        bytes_per_document=population.bytes_of(
            population.tables, has_headers=True, is_measured=criterion.similarity is not None
        ),
    )  # fmt: skip


def _named_probing(
    criterion: Criterion,
    population: Population,
    calibration: Calibration | None,
    delays: Delays,
) -> Plan:
    """The plan for method="psm" or "multiprobe"; an exact one, which says so, if none is able."""
    if not criterion.is_weighted:
        raise OptionError(
            f"method={criterion.method!r} needs queries with weights, and a ready fingerprint has"
            " none; give simdb.Fingerprint with weights, or ask with method='bphs'"
        )
    plans = [
        plan
        for limit in _distances(criterion)
        for plan in by_probing(criterion, population, limit, calibration, delays)
    ]
    cheapest = min(plans, key=lambda plan: plan.cost_seconds, default=None)
    if cheapest is not None and not is_mostly_comparing(cheapest, delays):
        return cheapest
    bare = replace(criterion, method="auto", is_weighted=False)
    exact = choose(bare, population, None, delays)
    why = f"cannot reach recall {criterion.recall:g}"
    if cheapest is not None:
        if cheapest.cost_seconds <= exact.cost_seconds:
            return cheapest
        why = f"would compare {cheapest.compared:,} documents that the calibration does not cover"
    reason = f"{criterion.method} {why}, so: {exact.reason}"
    return replace(exact, reason=reason)


def _named_bphs(criterion: Criterion, population: Population, delays: Delays) -> Plan:
    """The plan for method="bphs": exact for a distance, flips for a similarity.

    Where no number of flips gives the recall asked for, the best there is; the plan tells it.
    """
    served = bits.distance_served(population.blocks, population.leading, 0)
    if criterion.distance is not None and criterion.distance > served:
        raise OptionError(
            f"distance={criterion.distance} is more than the {population.tables} tables of"
            f" blocks={population.blocks}, leading={population.leading} serve exactly ({served});"
            f" create the database with blocks={criterion.distance + population.leading}, or ask"
            " with method='auto' or 'exhaustive'"
        )
    plans = [
        _by_tables(criterion, population, limit, flips, delays)
        for flips in range(FLIPS_MAX + 1 if criterion.distance is None else 1)
        for limit in _distances(criterion)
    ]
    able = [plan for plan in plans if plan.recall >= criterion.recall]
    if able:
        return min(able, key=lambda plan: plan.cost_seconds)
    if criterion.recall >= 1.0:
        raise OptionError(
            f"method='bphs' cannot promise to find every document at"
            f" similarity={criterion.similarity:g}; ask with method='exhaustive', or for recall"
            " below 1"
        )
    return max(plans, key=lambda plan: plan.recall)
