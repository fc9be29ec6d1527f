"""Corpora: texts with ids, and the pairs that are truly similar, read from given files.

A corpus is JSON lines with the fields `id` and `text`.  The truth is a table of tab-separated
values: two ids, then Jaccard similarity over word 3-shingles, cosine of term frequencies and
cosine of tf-idf.  Pairs that people have judged are a table of two ids and a label.  Each of the
files may be gzipped.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

MEASURES = {"jaccard": (2, 0.8), "tfidf": (4, 0.9)}
LABELS = {"jaccard": "Jaccard", "tfidf": "tf-idf cosine"}
COLUMNS = {"jaccard": 2, "tf": 3, "tfidf": 4}

Couple = tuple[str, str]


@dataclass(frozen=True)
class Curve:
    """Precision, recall and F1 for each threshold: pairs with at least this score are taken."""

    thresholds: npt.NDArray[np.float64]
    precision: npt.NDArray[np.float64]
    recall: npt.NDArray[np.float64]

    @property
    def f1(self) -> npt.NDArray[np.float64]:
        both = self.precision + self.recall
        return np.divide(
            2 * self.precision * self.recall, both, out=np.zeros_like(both), where=both > 0
        )

    def best(self) -> int:
        """Return the position of the threshold with the highest F1."""
        return int(np.argmax(self.f1))


def read_corpus(path: str) -> tuple[list[str], list[str]]:
    """Read ids and texts."""
    ids, texts = [], []
    with _opened(path) as file:
        for line in file:
            record = json.loads(line)
            ids.append(str(record["id"]))
            texts.append(record["text"])
    return ids, texts


def read_similarities(path: str) -> tuple[list[Couple], dict[str, npt.NDArray[np.float64]]]:
    """Read every pair of the table, and its similarity by each measure; 0 if it is missing."""
    rows = list(_rows(path))
    known = {
        name: np.array([float(row[column].strip("-") or 0) for row in rows], np.float64)
        for name, column in COLUMNS.items()
    }
    return [(row[0], row[1]) for row in rows], known


def read_judgements(path: Path) -> tuple[list[Couple], list[bool]]:
    """Read the judged pairs, and whether each is related: not if the label is "0" or "non..."."""
    rows = list(_rows(str(path))) if path.exists() else []
    related = [row[2] != "0" and not row[2].startswith("non") for row in rows]
    return [(row[0], row[1]) for row in rows], related


def couple(left: object, right: object) -> Couple:
    """Return two ids in an order that does not depend on which is given first."""
    first, second = str(left), str(right)
    return (first, second) if first < second else (second, first)


def curve(found: list[Couple], scores: npt.NDArray[np.float64], truth: set[Couple]) -> Curve:
    """Make the curve of found pairs with `scores`, higher if more similar.

    All pairs with equal scores are above a threshold together.
    """
    order = np.argsort(-scores, kind="stable")
    is_true = np.array([pair in truth for pair in found], np.bool_)[order]
    ordered = scores[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(found) else order
    hits = np.cumsum(is_true)[last]
    return Curve(ordered[last], hits / (last + 1), hits / max(len(truth), 1))


def f1(truth: set[Any], found: set[Any]) -> float:
    return 2 * len(truth & found) / (len(truth) + len(found))


def _rows(path: str) -> Iterator[list[str]]:
    with _opened(path) as file:
        for line in file:
            row = line.rstrip("\n").split("\t")
            if row[0] != "id_a":
                yield row


def _opened(path: str) -> IO[str]:
    return (
        gzip.open(path, "rt", encoding="utf-8")
        if path.endswith(".gz")
        else open(path, encoding="utf-8")
    )
