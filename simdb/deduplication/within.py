"""Within: finds the rows of some data that are alike, in a temporary database."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import database
from simdb.clusters import Clusters
from simdb.deduplication.question import Question
from simdb.deduplication.result import Found
from simdb.deduplication.texts import Texts
from simdb.engine.search.judge import ByOrdinal
from simdb.engine.search.remembered import Remembered
from simdb.errors import InputError
from simdb.options import Options

# So many rows are stored by one commit, and so many duplicates compared with their survivors, at
# a time.
STORED_ROWS = 1 << 17
COMPARED_ROWS = 1 << 14

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


def find_alike(texts: Texts, order: I64, options: Options, question: Question) -> Found:
    """Return which rows are duplicates of others; everything is found by positions of rows.

    `order`: the rows to compare, those to be preferred first.
    """
    with database.open(None, options=options) as found:
        for start in range(0, len(order), STORED_ROWS):
            some = order[start : start + STORED_ROWS]
            try:
                found.insert_many(
                    some, texts.at(some), errors=question.errors, threads=question.threads,
                    progress=question.reporter(start),
                )  # fmt: skip
            except InputError as error:
                question.refuse(error, found.sketcher, texts, some)

        def by_place(places: npt.NDArray[np.uint32]) -> Sequence[Any]:
            return texts.at(order[places])

        # The documents are stored in that order.
        documents = ByOrdinal(by_place, remembered=Remembered()) if question.is_exact else None
        groups = found.find_clusters(
            similarity=question.similarity, distance=question.distance, recall=question.recall,
            policy=question.policy, verify=question.verify, texts=documents,
            threads=question.threads,
        )  # fmt: skip
        leaders, others = _split(groups)
        question.check_share(len(others), len(texts))
        similarities = _similarities(found, leaders, others, documents, question)
    by_row = np.argsort(others)
    return Found(others[by_row], leaders[by_row].tolist(), similarities[by_row], groups)


def _split(groups: Clusters) -> tuple[I64, I64]:
    """Return the representative of each other member of a group, and that member."""
    members = groups.ids.astype(np.int64)
    is_leader = np.zeros(len(members), np.bool_)
    is_leader[groups.offsets[:-1]] = True
    return np.repeat(members[is_leader], groups.sizes - 1), members[~is_leader]


def _similarities(
    found: database.Database,
    leaders: I64,
    others: I64,
    documents: ByOrdinal | None,
    question: Question,
) -> F32:
    """Return the similarity of each duplicate to the row that stands for it."""
    parts = [np.empty(0, np.float32)]
    with found.read() as snapshot:
        for start in range(0, len(others), COMPARED_ROWS):
            some = slice(start, start + COMPARED_ROWS)
            compared = snapshot.compare(
                leaders[some], others[some], verify=question.verify, texts=documents,
                threads=question.threads,
            )  # fmt: skip
            parts.append(compared.similarity)
    return np.concatenate(parts)
