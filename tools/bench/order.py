"""In which order does PSM find pairs with the fewest look-ups, and does it hold elsewhere?

It searches for pairs of `flips.py`, of every corpus of a folder with several weightings, by three
headers of 22 bits, since all bits are equivalent.  The attempts of a pair are the place of its
differing header bits among all sets of up to 3 bits, in the order of VOSH.  Orders:

prior       The mean over cosines c of .9 to .999 of Phi(-c |w| / sqrt(1 - c^2)).

product     `MATCH_SHARE` of it, by exact weights, or by 4 bits, uniform or geometric.

weight      Logistic in the weight.

features    Logistic in the weight, its rank, the length and the third smallest weight.

calibrated  The chances that a calibration learns from changes of weights, and `MATCH_SHARE` of it.

"halves": learned on half of the clusters of pairs, measured on the others.  "elsewhere": learned on
all other corpora.  Figures are ratios to the product for 95 % of the pairs.  They are attempts, +-
a standard error (clusters drawn again), and mean look-ups of a document by one cost threshold.
"""

import math
from collections.abc import Iterator
from itertools import combinations, cycle
from pathlib import Path
from typing import Any

import numpy as np

from flips import F64, I64, Questions, read
from record import Record, markdown, options, recorded
from simdb.plan import volatility

FOUND, DISTANCE, HEADER, STARTS = 0.95, 3, 22, (42, 21, 0)
DRAWN, LEARNED = 200, 300  # draws of clusters; documents of each other corpus
EDGES = {"uniform": 0.335 * np.arange(1, 8), "geometric": 1.6 ** np.arange(-5.0, 2.0)}
CHOSEN = [each for size in range(DISTANCE + 1) for each in combinations(range(HEADER), size)]
SETS = np.array([[bit in each for bit in range(HEADER)] for each in CHOSEN], np.float64).T
GRID = np.linspace(0, 8, 1601)
SLOPES = [c / math.sqrt(2 - 2 * c * c) for c in np.linspace(0.9, 0.999, 50)]
MEAN = np.array([sum(math.erfc(w * slope) for slope in SLOPES) for w in GRID]) / 2 / len(SLOPES)


def prior(weights: F64) -> F64:
    return np.interp(np.abs(weights), GRID, MEAN)


def rounded(weights: F64, kind: str) -> F64:
    """Return |weights| in 4 bits: the mean of a normal weight in each interval."""
    normal, cells = np.exp(-GRID * GRID / 2), np.searchsorted(EDGES[kind], GRID, "right")
    centres = np.bincount(cells, normal * GRID) / np.bincount(cells, normal)
    return np.asarray(centres[np.searchsorted(EDGES[kind], np.abs(weights), "right")])


def calibrated(learnt: list[Questions], asked: Questions) -> F64:
    left, right = np.split(learnt[0].weights, 2)
    chances = volatility.fit(left, right).probabilities
    levels = np.minimum(np.abs(asked.weights) * volatility.LEVEL_UNIT, 255)
    return chances[levels.astype(np.int64)].astype(np.float64)


def features(asked: Questions, is_full: bool) -> F64:
    weights = np.abs(asked.weights)
    columns = [weights**0, weights, np.sqrt(weights), np.log(weights + 0.02)]
    if is_full:
        rank = np.argsort(np.argsort(weights, axis=1), axis=1)
        third = np.log(np.sort(weights, axis=1)[:, 2:3] + 0.02)
        columns += [np.log1p(rank), rank / 64, third * weights, third * weights**0]
        columns += [np.log(asked.lengths)[:, None] * each for each in columns[:2]]
    return np.stack(columns, axis=-1)


def logistic(learnt: list[Questions], asked: Questions, is_full: bool) -> F64:
    """Learn chances by Newton's half steps; each part has equal weight."""
    rows = [features(each, is_full).reshape(each.differs.size, -1) for each in learnt]
    counts = np.concatenate([np.full(len(each), 1 / len(each)) for each in rows])
    flips, table = np.concatenate([each.differs.ravel() for each in learnt]), np.concatenate(rows)
    scale, found = np.abs(table).max(axis=0) + 1e-9, np.zeros(table.shape[1])
    table, ridge = table / scale, 1e-6 * len(learnt)
    for _ in range(30):
        chances = 1 / (1 + np.exp(-np.clip(table @ found, -20, 20)))
        bend = (table * (counts * chances * (1 - chances))[:, None]).T @ table
        slope = table.T @ (counts * (flips - chances)) - ridge * found
        found += np.linalg.solve(bend + ridge * np.eye(len(found)), slope) / 2
    return np.asarray(1 / (1 + np.exp(-features(asked, is_full) @ (found / scale))))


def costs_of(chances: F64) -> F64:
    """Return the costs of the bits of each header; equal costs are in random order."""
    likely = np.clip(chances, 1e-9, 0.4999)
    costs = np.log((1 - likely) / likely) + np.random.default_rng(0).random(likely.shape) * 1e-6
    return np.concatenate([costs[:, start : start + HEADER] for start in STARTS])


def attempts(asked: Questions, chances: F64) -> tuple[I64, float]:
    """Return the place of the differing bits in each header, and a sufficient threshold."""
    costs = costs_of(chances)
    needs = (costs * np.concatenate([asked.differs[:, at : at + HEADER] for at in STARTS])).sum(1)
    enough = np.quantile(needs, FOUND, method="inverted_cdf")
    return 1 + (costs @ SETS < needs[:, None] - 1e-9).sum(axis=1), float(enough) + 1e-9


def look_ups(others: F64, enough: float) -> float:
    """Return the mean number of sets of bits that a document looks up, by one threshold."""
    return float((costs_of(others) @ SETS <= enough).sum(axis=1).mean())


def ratio(asked: Questions, base: I64, found: I64, drawn: I64) -> float:
    """Return the attempts of `found` divided by `base`; cluster i counts drawn[i] times."""
    weights, figures = np.tile(drawn[asked.clusters], len(STARTS)), []
    for places in (found, base):
        order = np.argsort(places)
        share = np.cumsum(weights[order])
        figures.append(places[order][np.searchsorted(share, FOUND * share[-1])])
    return float(figures[0] / figures[1])


def orders(asked: Questions, all_asked: list[Questions], halves: int) -> Iterator[tuple[Any, ...]]:
    """Yield the name of each order, chances of the questions, and of others if they are known."""
    given, others, share = asked.weights, asked.others, volatility.MATCH_SHARE
    yield "prior", prior(given), prior(others)
    for kind in EDGES:
        each, drawn = (share * prior(rounded(weights, kind)) for weights in (given, others))
        yield f"product, {kind}", each, drawn
    chance, elsewhere = np.random.default_rng(1), [e for e in all_asked if e.name != asked.name]
    parts = [e.taken(chance.permutation(len(e.weights))[:LEARNED]) for e in elsewhere]
    for name, is_full in (("weight", False), ("features", True)):
        yield f"{name}, elsewhere", logistic(parts, asked, is_full), None
    learners = {
        "weight, halves": lambda *both: logistic(*both, False),
        "features, halves": lambda *both: logistic(*both, True),
        "calibrated, halves": calibrated,
        "calibrated and share, halves": lambda *both: share * calibrated(*both),
    }
    for _ in range(halves):
        count = asked.clusters.max() + 1
        is_first = (chance.permutation(count) < count / 2)[asked.clusters]
        for name, learn in learners.items():
            chances = np.empty(given.shape)
            for half in (is_first, ~is_first):
                chances[~half] = learn([asked.taken(half)], asked.taken(~half))
            yield name, chances, None


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path, help="folder of NAME.jsonl.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of corpora; default: all")
    parser.add_argument("--hashes", type=int, default=12, help="seeds of the hash, at most")
    parser.add_argument("--pairs", type=int, default=500, help="of each corpus, at most")
    parser.add_argument("--least", type=int, default=30, help="clusters of pairs, at least")
    parser.add_argument("--halves", type=int, default=20, help="divisions into halves")
    with recorded(__doc__, parser) as record:
        all_asked = list(read(record.arguments, DISTANCE))
        for asked in all_asked:
            measure(record, asked, all_asked)
        print_table(record.rows)


def measure(record: Record, asked: Questions, all_asked: list[Questions]) -> None:
    """Add a row for each order: attempts for `FOUND`, the ratio to the product, and its error."""
    share = volatility.MATCH_SHARE
    base, enough = attempts(asked, share * prior(asked.weights))
    fewest = look_ups(share * prior(asked.others), enough)
    found: dict[str, list[I64]] = {}
    facts: dict[str, float] = {}
    for name, chances, others in orders(asked, all_asked, record.arguments.halves):
        places, enough = attempts(asked, chances)
        found.setdefault(name, []).append(places)
        if others is not None:
            facts[name] = look_ups(others, enough) / fewest
    count, chance = asked.clusters.max() + 1, np.random.default_rng(0)
    draws = [np.bincount(chance.integers(0, count, count), minlength=count) for _ in range(DRAWN)]
    whole = np.ones(count, np.int64)
    of = f"{asked.name}, {asked.weighting}"
    record.add(
        f"{of}: product", float(np.quantile(base, FOUND)), "attempts", note=f"{fewest:.0f} look-ups"
    )
    for name, all_places in found.items():
        figure = float(np.mean([ratio(asked, base, places, whole) for places in all_places]))
        again = [ratio(asked, base, *each) for each in zip(cycle(all_places), draws, strict=False)]
        row = {"order": name, "error": float(np.std(again)), "look_ups": facts.get(name)}
        record.add(f"{of}: {name}", figure, "x", note=f"+- {np.std(again):.3f}", facts=row)


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print the geometric mean of each order, and in how many collections it is better or worse."""
    lines = []
    for name in dict.fromkeys(row["order"] for row in rows if "order" in row):
        chosen = [row for row in rows if row.get("order") == name]
        figures = np.array([row["figure"] for row in chosen])
        sure = 2 * np.array([row["error"] for row in chosen])
        seen = [row["look_ups"] for row in chosen if row["look_ups"]]
        counts = [(figures <= 0.9), (figures < 1 - sure), (figures > 1 + sure)]
        cells = [f"{math.exp(np.log(figures).mean()):.2f}", *(f"{each.sum()}" for each in counts)]
        lines.append([name, *cells, f"{math.exp(np.log(seen).mean()):.2f}" if seen else ""])
    head = ["order", "attempts", "a tenth fewer", "surely fewer", "surely more", "look-ups"]
    print(f"\n{len(chosen)} collections\n\n{markdown(head, lines)}")


if __name__ == "__main__":
    main()
