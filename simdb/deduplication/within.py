"""Within: finds the rows of some data that are alike.

Where texts decide by Jaccard's similarity, and each removed row matches the one that stays,
candidates come from minima, and there is no database; otherwise they come from a temporary one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import database
from simdb.clusters import Clusters
from simdb.deduplication.alike import Alike
from simdb.deduplication.question import Question
from simdb.deduplication.result import Found
from simdb.deduplication.stars import Stars
from simdb.deduplication.texts import Texts
from simdb.engine.search.judge import ByOrdinal
from simdb.engine.search.remembered import Remembered
from simdb.errors import InputError
from simdb.options import Options
from simdb.values import offsets_of
from simdb.verification import Verification

# So many rows are signed at a time.
SIGNED_ROWS = 1 << 12
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
    if question.is_exact and question.is_star and question.distance is None:
        with Alike(options, question.similarity, question.recall, question.threads) as alike:
            if alike.is_possible:
                return _by_minima(alike, texts, order, question)
    return _by_database(texts, order, options, question)


def _by_minima(alike: Alike, texts: Texts, order: I64, question: Question) -> Found:
    """Return what `find_alike` does, without a database."""
    parts = [order[start : start + SIGNED_ROWS] for start in range(0, len(order), SIGNED_ROWS)]
    done = 0
    try:
        for done in alike.add_all(map(texts.at, parts), len(order), errors=question.errors):
            question.report(done)
    except InputError as error:
        question.refuse(error, alike.sketcher, texts, order[done:])
    # The documents are added in their order.
    stars, counts = alike.stars(None, lambda places: texts.at(order[places]))
    question.check_share(len(stars.removed), len(texts))
    removed, leaders = order[stars.removed], order[stars.leaders]
    by_row = np.argsort(removed)
    return Found(
        removed[by_row], leaders[by_row].tolist(), stars.similarities[by_row],
        clusters_of(stars, order, counts),
    )  # fmt: skip


def clusters_of(stars: Stars, order: I64, counts: Verification) -> Clusters:
    """Return the documents that stay with those that match them, by their positions."""
    by_leader = np.argsort(stars.leaders, kind="stable")
    leaders, firsts = np.unique(stars.leaders[by_leader], return_index=True)
    sizes = np.diff(firsts, append=len(by_leader))
    members = np.insert(stars.removed[by_leader], firsts, leaders)
    ids = order[members].astype(np.object_)
    return Clusters(offsets_of(sizes + 1), ids, counts)


def _by_database(texts: Texts, order: I64, options: Options, question: Question) -> Found:
    """Return what `find_alike` does, by a temporary database."""
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
