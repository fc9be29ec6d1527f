"""Corpora: reads texts with ids, and the pairs that are truly similar, from given files.

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
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """Precision, recall and F1 for each threshold: pairs with at least this score are taken."""

    thresholds: F64
    precision: F64
    recall: F64

    @property
    def f1(self) -> F64:
        both = self.precision + self.recall
        return np.divide(
            2 * self.precision * self.recall, both, out=np.zeros_like(both), where=both > 0
        )

    def best(self) -> int:
        """Return the position of the threshold with the highest F1."""
        return int(np.argmax(self.f1))


def read_corpus(path: str) -> tuple[list[str], list[str]]:
    """Read ids and texts."""
    with opened(path) as file:
        rows = [json.loads(line) for line in file]
    return [str(row["id"]) for row in rows], [row["text"] for row in rows]


def read_similarities(path: str) -> tuple[list[Couple], dict[str, F64]]:
    """Read every pair of the table, and its similarity by each measure; 0 if it is missing."""
    rows = list(rows_of(path))
    known = {
        name: np.array([float(row[column].strip("-") or 0) for row in rows], np.float64)
        for name, column in COLUMNS.items()
    }
    return [(row[0], row[1]) for row in rows], known


def read_judgements(path: Path) -> tuple[list[Couple], list[bool]]:
    """Read the judged pairs, and whether each is related: not if the label is "0" or "non..."."""
    rows = list(rows_of(str(path))) if path.exists() else []
    related = [row[2] != "0" and not row[2].startswith("non") for row in rows]
    return [(row[0], row[1]) for row in rows], related


def f1(truth: set[Any], found: set[Any]) -> float:
    return 2 * len(truth & found) / (len(truth) + len(found))


def rows_of(path: str) -> Iterator[list[str]]:
    with opened(path) as file:
        for line in file:
            row = line.rstrip("\n").split("\t")
            if row[0] != "id_a":
                yield row


def opened(path: str) -> IO[str]:
    return (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8")
