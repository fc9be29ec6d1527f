"""Which pairs and removed documents of `spark.py` are right, by exact Jaccard?

The truth is made of two kinds of candidates: pairs whose MinHash signatures agree in `LEAST` of
their minima or more (an exact Jaccard of .8 is .3 above, ten standard errors), and pairs of copies
of one text, which the generator knows.  Their exact Jaccard is that of the texts' shingles of three
words.  Of distributed-curator, whose shingles have nine characters, the figures by these are given,
too.  What a run claims is compared whether it is a candidate or not.

The runs "distance", "bands" and "similarity" are compared with one database instead: the first two
must find the same pairs.
"""

import argparse
import itertools
import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

import simdb
from record import number
from simdb.spark.distributed import components, exact_similarities, plan_pairs

JACCARD = 0.8
LEAST = 0.5
RECALL = 0.98
COMPARED = 20_000
WORDS = simdb.Minhash(stored_bits=8)
CHARACTERS = simdb.Minhash(unit="characters", shingle=9)
# A removed document has no duplicate if no other one is as similar as this.
LEVELS = (0.8, 0.7, 0.5)
# Runs that must find what one database finds, and how it is asked.
SINGLE: dict[str, tuple[Any, dict[str, Any]]] = {
    "distance": (simdb.Simhash(), {"distance": 3}),
    "bands": (simdb.Minhash(stored_bits=8), {"similarity": 0.8}),
    "similarity": (simdb.Simhash(), {"similarity": 0.9, "recall": 0.9999}),
}

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]


class Truth:
    """Candidates of some texts, left below right, and their exact similarities by sketch."""

    def __init__(self, texts: Any, origins: I64) -> None:
        """Find candidates by signatures and by origins."""
        signatures = simdb.signatures(texts, WORDS)
        plan = plan_pairs(len(texts), WORDS, similarity=LEAST, recall=RECALL, tasks=1)
        rows = plan.rows(signatures)
        split = plan.split(rows)
        found = [_same_origin(origins)]
        for part in range(plan.part_count):
            at = split.positions[split.offsets[part] : split.offsets[part + 1]].astype(np.int64)
            for some in plan.find_pairs(part, np.ascontiguousarray(rows[at])):
                found.append(np.sort(np.stack([at[some.left], at[some.right]], axis=1), axis=1))
        self.left, self.right = np.unique(np.concatenate(found), axis=0).T.copy()
        self.exact = cache(lambda sketch: _exact(texts, self.left, self.right, sketch))


def _exact(texts: Any, left: I64, right: I64, sketch: simdb.Minhash) -> F32:
    """Compare some pairs at a time, so that the features of few texts are in memory."""
    found = [np.empty(0, np.float32)]
    for start in range(0, len(left), COMPARED):
        both = np.stack([left, right])[:, start : start + COMPARED]
        names, places = np.unique(both, return_inverse=True)
        places = places.reshape(both.shape)
        found.append(exact_similarities(texts.take(pa.array(names)), *places, sketch))
    return np.concatenate(found)


def _same_origin(origins: I64) -> I64:
    """Return all pairs of texts of one origin: int64[k, 2]."""
    order = np.argsort(origins, kind="stable")
    starts = np.flatnonzero(np.diff(origins[order], prepend=-1))
    groups = [group for group in np.split(order, starts[1:]) if len(group) > 1]
    pairs = [np.stack(np.triu_indices(len(group), 1), 1) for group in groups]
    found = [np.sort(group[each], axis=1) for group, each in zip(groups, pairs, strict=True)]
    return np.concatenate([np.empty((0, 2), np.int64), *found])


def judged(found: Any, texts: Any, truth: Truth, sketch: simdb.Minhash) -> dict[str, float]:
    """Return the figures of one run, by the shingles of `sketch`."""
    count = len(texts)
    exact = truth.exact(sketch)
    is_pair = exact >= np.float32(JACCARD)
    true_left, true_right = truth.left[is_pair], truth.right[is_pair]
    is_pairs = "left" in found.column_names
    names = ("left", "right") if is_pairs else ("id", "representative")
    left, right = (found.column(name).to_numpy() for name in names)
    claimed = _exact(texts, left, right, sketch)
    figures: dict[str, float] = {
        "true_pairs": len(true_left),
        "claimed": len(left),
        "precision": float(np.mean(claimed >= np.float32(JACCARD))),
    }
    roots = _roots(count, left, right)
    if is_pairs:
        known = np.isin(true_left * count + true_right, left * count + right)
        figures["recall"] = float(np.mean(known))
        removed = np.flatnonzero(roots != np.arange(count))
    else:
        figures["recall"] = float(np.mean(roots[true_left] == roots[true_right]))
        removed = np.unique(left)
    figures["removed"] = len(removed)
    truly = _roots(count, true_left, true_right)
    figures["to_remove"] = int(np.count_nonzero(truly != np.arange(count)))
    best = np.zeros(count, np.float32)
    for some, values in (((truth.left, truth.right), exact), ((left, right), claimed)):
        for side in some:
            np.maximum.at(best, side, values)
    for level in LEVELS:
        figures[f"no_partner_{level}"] = int(np.count_nonzero(best[removed] < np.float32(level)))
    return figures


def _roots(count: int, left: I64, right: I64) -> I64:
    roots = np.arange(count)
    names, firsts = components(left, right)
    roots[names] = firsts
    return roots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", type=Path, help="a file of texts.py")
    parser.add_argument("folder", type=Path, help="the folder of spark.py")
    parser.add_argument("-n", type=number, nargs="+", required=True, help="numbers of texts")
    arguments = parser.parse_args()
    runs = [json.loads(line) for line in (arguments.folder / "costs.jsonl").open()]
    for count in arguments.n:
        texts, origins = _read(arguments.texts, count)
        truth = cache(partial(Truth, texts, origins))  # which takes minutes for a million texts
        for run in (run for run in runs if run["documents"] == count):
            found = (
                pyarrow.parquet.read_table(run["found"]) if Path(run["found"]).exists() else None
            )
            facts = {key: run[key] for key in ("run", "documents", "seconds")}
            facts["core_seconds"] = run["java_seconds"] + run["python_seconds"]
            facts["bytes_per_document"] = run["shuffle_bytes"] / count
            if run["run"] in SINGLE:
                print(json.dumps(facts | beside_one(run["run"], found, texts)), flush=True)
            elif found is not None:
                for sketch in [WORDS] + [CHARACTERS] * ("curator" in run["run"]):
                    figures = judged(found, texts, truth(), sketch) | {"unit": sketch.unit}
                    print(json.dumps(figures | facts, default=float), flush=True)


def beside_one(run: str, found: Any, texts: Any) -> dict[str, int]:
    """Return how many pairs a run, one database and both have found."""
    sketch, asked = SINGLE[run]
    with simdb.open(None, options=simdb.Options(sketch=sketch)) as database:
        database.insert_many(range(len(texts)), texts.to_pylist())
        pairs = database.find_all(**asked)
        one = _keys(np.asarray(pairs.left), np.asarray(pairs.right))
    other = _keys(*(found.column(name).to_numpy() for name in ("left", "right")))
    return {"pairs": len(other), "database": len(one), "both": len(np.intersect1d(one, other))}


def _keys(left: I64, right: I64) -> I64:
    return np.unique(np.minimum(left, right) << 32 | np.maximum(left, right))


def _read(path: Path, count: int) -> tuple[Any, I64]:
    with path.open("rb") as file:
        lines = (json.loads(line) for line in itertools.islice(file, count))
        both = [(line["text"], int(line["origin"])) for line in lines]
    return pa.array([text for text, _ in both], pa.large_string()), np.array(
        [origin for _, origin in both]
    )


if __name__ == "__main__":
    main()
