"""How well do stored weights tell true near-duplicates, beside the Hamming distance of 64 bits?

Compares all pairs of a corpus, so that the measure is judged and not a search.  Gives F1 at the
best threshold and at the default threshold.
"""

from dataclasses import replace

import numpy as np

import simdb
from corpus import LABELS, MEASURES, Couple, Curve, couple, curve, read_corpus, read_truth
from record import Record, options
from workload import scratch

FLOOR = 0.6  # no useful threshold is below this similarity
FAR = 16  # nor above this distance


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("corpus", help="JSON lines with id and text, gzipped or not")
    parser.add_argument("truth", help="table of truly similar pairs")
    parser.add_argument("--shingles", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--dimensions", type=int, help="number of weights; default: the usual one")
    parser.add_argument(
        "--floor", type=float, default=FLOOR, help="smallest similarity that is compared"
    )
    arguments = parser.parse_args()
    record = Record(__doc__, arguments)
    ids, texts = read_corpus(arguments.corpus)
    for shingle in arguments.shingles:
        sketch = simdb.Simhash(shingle=shingle)
        if arguments.dimensions is not None:
            sketch = replace(sketch, dimensions=arguments.dimensions)
        chosen = simdb.Options(sketch=sketch)
        with (
            scratch(arguments.directory) as directory,
            simdb.open(directory / "stored", "x", options=chosen) as database,
        ):
            database.insert_many(ids, texts)
            by_similarity = database.find_all(
                similarity=arguments.floor, search="exhaustive", recall=1.0
            )
            by_distance = database.find_all(distance=FAR, search="exhaustive", recall=1.0)
            similar, near = couples(by_similarity), couples(by_distance)
            similarities = by_similarity.similarity.astype(np.float64)
            closeness = -by_distance.distance.astype(np.float64)
        for name, (_, least) in MEASURES.items():
            truth = read_truth(arguments.truth, name)
            label = f"shingles of {shingle}, {LABELS[name]} >= {least}"
            stored = curve(similar, similarities, truth)
            add(record, f"{label}: stored weights", stored, stored.best(), "best")
            default = int(np.searchsorted(-stored.thresholds, -chosen.similarity, "right")) - 1
            add(record, f"{label}: stored weights", stored, default, "default")
            bits = curve(near, closeness, truth)
            add(record, f"{label}: 64 bits", bits, bits.best(), "best")
            paper = int(np.searchsorted(-bits.thresholds, chosen.distance, "right")) - 1
            add(record, f"{label}: 64 bits", bits, paper, "default")
    record.finish()


def couples(pairs: simdb.Pairs) -> list[Couple]:
    return [couple(left, right) for left, right in zip(pairs.left, pairs.right, strict=True)]


def add(record: Record, what: str, measured: Curve, at: int, kind: str) -> None:
    """Add one point of a curve, or 0 if no pair has such a score."""
    if not 0 <= at < len(measured.f1):
        record.add(f"{what}, F1 at the {kind} threshold", 0.0, "", note="no pair reaches it")
        return
    note = (
        f"threshold {abs(measured.thresholds[at]):.3f},"
        f" precision {measured.precision[at]:.3f}, recall {measured.recall[at]:.3f}"
    )
    record.add(f"{what}, F1 at the {kind} threshold", float(measured.f1[at]), "", note=note)


if __name__ == "__main__":
    main()
