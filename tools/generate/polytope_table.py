"""Write `simdb/plan/polytope_costs.txt`: distances of cross-polytope headers of similar pairs.

    python tools/generate/polytope_table.py

Weights of two documents at cosine s, projected onto the coordinates of a random rotation, are
jointly normal with correlation s, for any documents.  So one simulation with normal vectors serves
every collection.  The stored vectors have 4 bits for each weight; the simulated
pairs are chosen by the cosine of their 4-bit vectors, since that is what a search measures.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.core import kernel
from simdb.core.bits import SECOND_WORD, fmix64
from simdb.core.vector_form import unpack

TARGET = Path(__file__).parents[2] / "simdb/plan/polytope_costs.txt"
WIDTHS = (7, 13, 18, 22)
# Documents are exchanged by headers of this width alone, see `simdb/spark/distributed/plan.py`.
MEETING_WIDTH = 7
SIMILARITIES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.84, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 0.99)
SHARES = (
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
    0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999,
)  # fmt: skip
THRESHOLD_STEP = 0.125
THRESHOLDS = 41
DIMENSIONS = 128
PAIRS = 30_000
# Pairs from this much above a similarity count as pairs at it: a little too easy, by less than
# the error of the sample.
BAND = 0.002
QUERIES = 1_000
SLICE = 4096  # vectors that are rotated at a time, to bound memory
FIRST_SLICE = 64  # the coordinates of a rotated vector that give the first vertex
FIRST_RATIO = 239  # what makes the costs of slices comparable, in 1/256
RATE = 4  # how fast vertices become less likely with their costs
VERTEX_SHARES = np.append(np.rint(255 * np.exp(-np.arange(15) / 3)), 0)

U8 = npt.NDArray[np.uint8]
I64 = npt.NDArray[np.int64]
Costs = list[npt.NDArray[np.float64]]
Widths = dict[int, Costs]


def main() -> None:
    generator = np.random.default_rng(2011)
    sides = [pairs_at(similarity, generator) for similarity in SIMILARITIES]
    costs: Widths = {}
    least: Widths = {}
    for width in WIDTHS:
        forward = [kernel.polytope_costs(left, right, width, 1) for left, right in sides]
        backward = [kernel.polytope_costs(right, left, width, 1) for left, right in sides]
        both = [np.minimum(*each) for each in zip(forward, backward, strict=True)]
        costs[width] = falling([continued(each) for each in forward])
        smaller = falling([continued(each) for each in both])
        least[width] = list(map(np.minimum, smaller, costs[width]))
    normal = generator.standard_normal((QUERIES, DIMENSIONS)).astype(np.float32)
    queries = kernel.quantise(normal)[1]
    thresholds = [step * THRESHOLD_STEP for step in range(THRESHOLDS)]
    probes = {
        width: [
            len(kernel.polytope_headers(queries, width, each, 1)[1]) / QUERIES
            for each in thresholds
        ]
        for width in WIDTHS
    }
    meeting = {MEETING_WIDTH: falling([continued(meeting_costs(*each)) for each in sides])}
    TARGET.write_text(written(costs, least, meeting, probes))


def continued(costs: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the maximal costs of shares of the pairs, to be interpolated.

    The nearest header costs nothing, and all others at least the normaliser.  Between them, down to
    0, costs follow the straight line through the least two costs.
    """
    found = np.quantile(costs, SHARES)
    first = min(int(np.count_nonzero(found == 0)), len(found) - 2)
    slope = (found[first + 1] - found[first]) / (SHARES[first + 1] - SHARES[first])
    line = found[first] + slope * (np.array(SHARES) - SHARES[first])
    return np.maximum(np.where(np.arange(len(found)) < first, line, found), 0)


def falling(rows: Costs) -> Costs:
    """Return costs by rising similarity, none smaller than a later one."""
    return list(np.maximum.accumulate(rows[::-1])[::-1])


def pairs_at(similarity: float, generator: np.random.Generator) -> tuple[U8, U8]:
    """Return the packed vectors of `PAIRS` pairs whose 4-bit cosine is `similarity`."""
    lefts, rights, count = [], [], 0
    while count < PAIRS:
        left = generator.standard_normal((PAIRS, DIMENSIONS))
        other = generator.standard_normal((PAIRS, DIMENSIONS))
        # The 4-bit cosine scatters around a value that is a little below the true one.
        true = np.clip(similarity + generator.uniform(-0.01, 0.03, (PAIRS, 1)), 0, 0.9999)
        right = true * left + np.sqrt(1 - true**2) * other
        packed = [kernel.quantise(side.astype(np.float32))[1] for side in (left, right)]
        cosines = cosine(*(unpack(side).astype(np.float64) for side in packed))
        chosen = (cosines >= similarity) & (cosines < similarity + BAND)
        lefts.append(packed[0][chosen])
        rights.append(packed[1][chosen])
        count += int(chosen.sum())
    return np.concatenate(lefts)[:PAIRS], np.concatenate(rights)[:PAIRS]


def meeting_costs(left: U8, right: U8) -> npt.NDArray[np.float64]:
    """Return the least threshold with which both documents of a pair look up one header."""
    found = [np.empty(0)]
    for start in range(0, len(left), SLICE):
        sides = [each[start : start + SLICE] for each in (left, right)]
        each = [vertex_costs(side) for side in sides]
        found.append(np.maximum(*each).min(axis=1))
    return np.concatenate(found)


def vertex_costs(vectors: U8) -> npt.NDArray[np.float64]:
    """Return the cost of each vertex of the first slice, in standard deviations: [n, 128]."""
    weights = unpack(vectors).astype(np.int64)
    turned = transformed(signs(1) * transformed(signs(0) * weights))[:, :FIRST_SLICE]
    both = np.concatenate([turned, -turned], axis=1)
    distances = both.max(axis=1, keepdims=True) - both
    deviations = np.sqrt(DIMENSIONS * (weights * weights).sum(axis=1, keepdims=True))
    steps = (32768 * 3 * RATE / 256 * FIRST_RATIO / deviations).astype(np.int64)
    nearer = np.minimum(*np.split(distances, 2, axis=1))
    sums = VERTEX_SHARES[np.minimum(nearer * steps + (1 << 14) >> 15, 15)].sum(axis=1)
    normalisers = np.log(sums / 255)[:, None] / RATE * deviations
    costs = distances * FIRST_RATIO >> 8
    costs += np.where(costs > 0, normalisers.astype(np.int64), 0)
    return np.asarray(costs / deviations, np.float64)


def signs(turn: int) -> I64:
    """Return the signs by which a turn multiplies coordinates: simdb_ext/search/polytope.h."""
    numbers = np.arange(2 * turn + 1, 2 * turn + 3, dtype=np.uint64)
    words = fmix64(numbers * SECOND_WORD)
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return 1 - 2 * bits.astype(np.int64)


def transformed(values: I64) -> I64:
    """Return the Walsh-Hadamard transform of each row, in natural order."""
    for half in (1 << np.arange(DIMENSIONS.bit_length() - 1)).tolist():
        left, right = np.moveaxis(values.reshape(-1, DIMENSIONS // (2 * half), 2, half), 2, 0)
        values = np.stack([left + right, left - right], axis=2).reshape(-1, DIMENSIONS)
    return values


def cosine(
    left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    norms = (left * left).sum(axis=1) * (right * right).sum(axis=1)
    return np.asarray((left * right).sum(axis=1) / np.sqrt(norms))


def written(costs: Widths, least: Widths, meeting: Widths, probes: dict[int, list[float]]) -> str:
    """Return the text of the file, with a row of numbers in a line; see `simulated`."""
    lines = [
        line("similarities", 0, SIMILARITIES),
        line("shares", 0, SHARES),
        line("threshold_step", 0, [THRESHOLD_STEP]),
    ]
    for name, tables in (("costs", costs), ("least_costs", least), ("meeting_costs", meeting)):
        for width, rows in tables.items():
            lines += [line(name, width, np.ceil(row * 1000) / 1000) for row in rows]
    lines += [line("probes", width, counts, 4) for width, counts in probes.items()]
    return "\n".join([*lines, ""])


def line(name: str, width: int, values: Iterable[float], digits: int = 6) -> str:
    return f"{name} {width} {' '.join(f'{value:.{digits}g}' for value in values)}"


if __name__ == "__main__":
    main()
