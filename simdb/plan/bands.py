"""Plans for signatures: by bands, or by comparing with all.

Bands find documents with a probability that depends on their similarity alone, so the recall of a
plan is known before anything is stored.  Costs are seconds of one core with AVX-512.
"""

from simdb.errors import OptionError
from simdb.plan.question import BandedPopulation, Criterion
from simdb.reports import Plan

LOOKUP_SECONDS = 90e-9  # one band of one query
MEASURED_SECONDS = 150e-9  # fetching and comparing one candidate
SCANNED_BYTE_SECONDS = 0.05e-9  # comparing signatures that follow each other
SORTED_SECONDS = 20e-9  # putting one document in its place in a table, and finding its group
UNLIMITED_DISTANCE = 64


def ways(criterion: Criterion, population: BandedPopulation) -> list[Plan]:
    """Both plans, whether they reach the recall or not."""
    return [_by_bands(criterion, population), _exhaustive(criterion, population)]


def named(criterion: Criterion, population: BandedPopulation) -> Plan:
    """The plan by `criterion.method`; the best there is where it does not reach the recall."""
    if criterion.method == "exhaustive":
        return _exhaustive(criterion, population)
    plan = _by_bands(criterion, population)
    if criterion.recall >= 1.0 and plan.recall < 1.0:
        raise OptionError(
            f"method='banding' cannot promise to find every document at"
            f" similarity={criterion.similarity:g}; ask with method='exhaustive', or for recall"
            " below 1"
        )
    return plan


def _by_bands(criterion: Criterion, population: BandedPopulation) -> Plan:
    curve, count = population.curve, population.count
    assert criterion.similarity is not None
    candidates = curve.candidates(count)
    cost = curve.table_count * LOOKUP_SECONDS + candidates * MEASURED_SECONDS
    if population.is_swept:
        cost = curve.table_count * SORTED_SECONDS + candidates / 2 * MEASURED_SECONDS
    recall = curve.recall(criterion.similarity)
    return Plan(
        "banding", curve.table_count, 0, curve.table_count, UNLIMITED_DISTANCE,
        criterion.similarity, recall, cost,
        f"{curve.table_count} bands of {curve.rows} minima find"
        f" {curve.reach(criterion.similarity):.4f} of the documents at similarity"
        f" {criterion.similarity:g}, {recall:.4f} of those at least so similar, and measure about"
        f" {candidates:.3g} of {count} in vain",
        header_bits=population.directory_bits,
        bytes_per_document=population.bytes_of(curve.table_count),
    )  # fmt: skip


def _exhaustive(criterion: Criterion, population: BandedPopulation) -> Plan:
    count = -(-population.count // 2) if population.is_swept else population.count
    cost = count * population.vector_bytes * SCANNED_BYTE_SECONDS
    return Plan(
        "exhaustive", 0, 0, 0, UNLIMITED_DISTANCE, criterion.similarity, 1.0, cost,
        f"every stored signature is measured ({population.count} documents)",
        bytes_per_document=population.bytes_of(0),
    )  # fmt: skip
