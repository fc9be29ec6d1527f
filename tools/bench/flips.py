"""Flips: finds near pairs in a corpus, and the bits that differ between them.

A pair differs in 1 to `distance` bits.  All pairs are found, with several seeds of the hash.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import simdb
from corpus import read_corpus
from simdb.sketch.sketcher import Sketcher

WEIGHTINGS: dict[str, dict[str, Any]] = {
    "words 3, binary": {}, "words 3, tf": {"weighting": "tf"},
    "words 1, tf-idf": {"shingle": 1, "weighting": "tf-idf"},
    "words 1, tf": {"shingle": 1, "weighting": "tf"},
}  # fmt: skip
SAMPLE = 20  # other documents of each seed

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass
class Questions:
    """Documents of pairs: weights [q, 64] by the root mean square, which bits differ, and more.

    Rows i and i + q / 2 are a pair.  `others` are weights of documents drawn from the corpus.
    """

    name: str
    weighting: str
    weights: F64
    differs: npt.NDArray[np.bool_]
    lengths: F64
    clusters: I64
    others: F64

    def taken(self, chosen: Any) -> "Questions":
        names = ("weights", "differs", "lengths", "clusters")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


def read(given: Any, distance: int) -> Iterator[Questions]:
    """Yield the questions of every corpus and weighting that has enough pairs."""
    for path in sorted(given.folder.glob("*.jsonl.gz")):
        name = path.name.removesuffix(".jsonl.gz")
        texts = read_corpus(str(path))[1] if not given.only or name in given.only else []
        for weighting in WEIGHTINGS if texts else ():
            asked = questions(
                name, texts, weighting,
                distance=distance, hashes=given.hashes, most=given.pairs, seed=given.seed,
            )  # fmt: skip
            if asked is not None and asked.clusters.max() >= given.least - 1:
                yield asked


def questions(
    name: str, texts: list[str], weighting: str, *, distance: int, hashes: int, most: int, seed: int
) -> Questions | None:
    """Return the questions of one corpus, of up to `hashes` seeds of the hash; None without any."""
    parts, others, chance = [], [], np.random.default_rng(seed)
    for number in range(hashes):
        sketch = simdb.Simhash(seed=number, **WEIGHTINGS[weighting])
        if sketch.uses_idf:
            sketch = replace(sketch, idf=simdb.fit_idf(texts, sketch))
        made = simdb.fingerprints(texts, sketch, errors="replace")
        weights = made.weights.astype(np.float64)
        weights /= np.sqrt(np.mean(weights**2, axis=1) + 1e-12)[:, None]
        own = np.unique(made.weights, axis=0, return_index=True)[1]
        own = np.sort(own[weights[own].any(axis=1)])
        near = simdb.find_all(made.bits[own], distance=distance)
        left, right = own[near.left[near.distance > 0]], own[near.right[near.distance > 0]]
        parts.append((left, right, weights[left, :64], weights[right, :64]))
        others.append(weights[chance.permutation(own)[:SAMPLE], :64])
        if sum(len(part[0]) for part in parts) >= most:
            break
    if not any(len(part[0]) for part in parts):
        return None
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    chosen = chance.permutation(len(columns[0]))[:most]
    left, right, *both = (column[chosen] for column in columns)
    clusters = np.unique(components(len(texts), left, right)[left], return_inverse=True)[1]
    lengths = np.diff(Sketcher(sketch).count_features(texts, errors="replace")[0])
    lengths = np.maximum(lengths[np.concatenate([left, right])], 1).astype(np.float64)
    differs = np.tile((both[0] >= 0) != (both[1] >= 0), (2, 1))
    beside, whole = np.concatenate(others), np.concatenate(both)
    return Questions(name, weighting, whole, differs, lengths, np.tile(clusters, 2), beside)


def components(count: int, left: I64, right: I64) -> I64:
    """Return, for each document, the least document that pairs connect with it."""
    least = np.arange(count)
    while (least[left] != least[right]).any():
        for side in (left, right):
            np.minimum.at(least, side, np.minimum(least[left], least[right]))
    return least
