"""How many flip sets are tried until one finds a near-duplicate, by volatility and at random?

Repeats Figure 3 of Sood & Loguinov 2011 on any corpus.  Takes pairs whose fingerprints differ in
exactly 1, 2 or 3 bits, and counts the sets of that many bits that `simdb.vosh` tries, in its order,
until it comes to the set that leads from the first document to the second.  Trying at random,
without repetition, finds a share r of the pairs after r * C(64, distance) sets.  The paper is
faster than random by 16, 37 and 347 times for half of the pairs, by 151 times for 80 % at distance
3, and by 3.7, 13 and 61 times for all pairs.

A volatility model of one half of the pairs gives the order; the other half is searched.  Pairs with
equal fingerprints count once, so that a page with many copies does not dominate.  The pairs that
take longest are mostly short texts and texts that are near by accident; `--characters` and
`--similarity` leave them out.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from corpus import read_corpus
from record import Record, amount, number, options
from simdb.ground.bits import FINGERPRINT_BITS, set_bits
from simdb.plan import volatility
from simdb.plan.recall import stored_weights
from workload import scratch

DISTANCES = (1, 2, 3)
SHARES = (0.5, 0.8, 0.95, 1.0)
PAIRS_MIN = 10  # the median of fewer pairs says little
Arrays = npt.NDArray[Any]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("corpus", nargs="+", help="JSON lines with id and text, gzipped or not")
    parser.add_argument(
        "--pairs", type=number, default=4000, help="largest number of pairs of each distance"
    )
    parser.add_argument(
        "--characters",
        type=int,
        default=0,
        help="leave out texts with fewer characters; the paper: 5000",
    )
    parser.add_argument(
        "--similarity", type=float, default=0.0, help="leave out pairs of smaller similarity"
    )
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    for path in arguments.corpus:
        texts = [text for text in read_corpus(path)[1] if len(text) >= arguments.characters]
        name = Path(path).name.partition(".")[0]
        if not texts:
            print(f"{name}: no text of {arguments.characters} characters")
            continue
        frequencies = simdb.fit_idf(texts, simdb.Simhash.paper())
        for kind, sketch in (
            ("tf-idf of words", simdb.Simhash.paper(frequencies)),
            ("default", simdb.Simhash()),
        ):
            found = simdb.fingerprints(texts, sketch)
            pairs = near_pairs(found, arguments)
            for weights, step in (
                (found.weights, 0.0),
                (stored_weights(found.weights), volatility.STORED_STEP),
            ):
                precision = "exact" if step == 0 else "stored"
                ask(record, f"{name}, {kind}, {precision} weights", weights, pairs, step, arguments)
    record.finish()


def near_pairs(found: simdb.Fingerprints, arguments: argparse.Namespace) -> Arrays:
    """Find pairs: positions of two documents and their distance, in random order, int64[k, 3]."""
    generator = np.random.default_rng(arguments.seed)
    present = np.flatnonzero(found.weights.any(axis=1))
    with scratch(arguments.directory) as directory, simdb.open(directory / "x", "x") as database:
        database.insert_many(present.tolist(), simdb.Fingerprints(found.bits[present]))
        pairs = database.find_all(distance=max(DISTANCES), recall=1.0)
        rows = np.stack([pairs.left, pairs.right, pairs.distance], axis=1).astype(np.int64)
    rows = rows[rows[:, 2] > 0]
    generator.shuffle(rows)
    _, first = np.unique(found.bits[rows[:, :2]], axis=0, return_index=True)
    rows = rows[np.sort(first)]
    turned = generator.random(len(rows)) < 0.5
    rows[turned, :2] = rows[turned, 1::-1]
    alike = [simdb.similarity(found[left], found[right]) for left, right in rows[:, :2]]
    return rows[np.array(alike) >= arguments.similarity]


def ask(
    record: Record,
    what: str,
    weights: Arrays,
    pairs: Arrays,
    step: float,
    arguments: argparse.Namespace,
) -> None:
    """Add the rows of one kind of weights."""
    learnt, asked = pairs[::2], pairs[1::2]
    if len(asked) < PAIRS_MIN:
        print(f"{what}: only {len(pairs)} pairs")
        return
    model = volatility.fit(
        weights[learnt[:, 0]],
        weights[learnt[:, 1]],
        documents=len(weights),
        distance=max(DISTANCES),
        step=step,
    )
    for distance in DISTANCES:
        chosen = asked[asked[:, 2] == distance][: arguments.pairs]
        if len(chosen) < PAIRS_MIN:
            print(f"{what}: only {len(chosen)} pairs at distance {distance}")
            continue
        levels = volatility.levels(weights[chosen[:, 0]])
        differing = (weights[chosen[:, 0]] >= 0) != (weights[chosen[:, 1]] >= 0)
        packed = np.packbits(differing[:, :FINGERPRINT_BITS], axis=1, bitorder="little")
        counted = np.sort(
            [
                attempts(model.probabilities[row], set(set_bits(int(mask))), distance)
                for row, mask in zip(levels, packed.view("<u8")[:, 0], strict=True)
            ],
            axis=0,
        )
        tell(record, f"{what}, distance {distance}", counted, distance)


def attempts(chances: Arrays, wanted: set[int], distance: int) -> tuple[int, int]:
    """Count the sets of `distance` bits up to the wanted set, and the sets of any size up to it."""
    same = 0
    for every, chosen in enumerate(simdb.vosh(chances, distance)):
        same += len(chosen) == distance
        if len(chosen) == distance and wanted.issuperset(chosen):
            return same, every
    raise SystemExit(f"the set {sorted(wanted)} never came")


def tell(record: Record, what: str, counted: Arrays, distance: int) -> None:
    """Add how many times fewer attempts suffice than at random, for each share of the pairs."""
    for share in SHARES:
        rank = math.ceil(share * len(counted)) - 1
        by_order, of_any = (int(value) for value in counted[rank])
        by_chance = math.ceil(share * math.comb(FINGERPRINT_BITS, distance))
        note = (
            f"{by_order} attempts, at random {amount(by_chance)};"
            f" {of_any} with smaller sets; {len(counted)} pairs"
        )
        facts = {
            "attempts": by_order,
            "attempts_at_random": by_chance,
            "attempts_of_any_size": of_any,
            "pairs": len(counted),
            "distance": distance,
            "share": share,
        }
        record.add(
            f"{what}, {share:.0%} found", by_chance / by_order, "times", note=note, facts=facts
        )


if __name__ == "__main__":
    main()
