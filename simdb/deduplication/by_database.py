"""By database: which documents of one run stay, by a search in a temporary database.

It finds what minima do not: the cosine of weights, or distances of fingerprints, decide.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import database
from simdb.deduplication.decided import I64, Decided, TextSource
from simdb.deduplication.question import DedupQuestion
from simdb.engine.clusters.order import Places
from simdb.engine.search.judge import Remembered, TextsByOrdinal
from simdb.ground.choices import ErrorsName
from simdb.index.defaults import settled
from simdb.results.clusters import Clusters
from simdb.settings.options import Options
from simdb.sketch.sketcher import AnySketcher

# So many documents are stored by one commit, and so many of those that go compared with those that
# stay, at a time.
STORED_DOCUMENTS = 1 << 17
COMPARED_DOCUMENTS = 1 << 14


class ByDatabase:
    """The documents of one run, in the order in which they are added; `with` frees them."""

    def __init__(self, options: Options, question: DedupQuestion) -> None:
        """Begin without documents; OptionError for a question that the database cannot answer."""
        self._question = question
        fitting = settled(options, similarity=question.similarity, recall=question.recall)
        self._database: database.Database[int] = database.open(None, options=fitting)
        try:
            # Of nothing, so that what cannot be asked is refused before anything is read.
            self._find("first", TextsByOrdinal(lambda places: []))
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> "ByDatabase":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the database."""
        self._database.close()

    @property
    def sketcher(self) -> AnySketcher:
        """What makes the sketches."""
        return self._database.sketcher

    @property
    def held(self) -> database.Database[int]:
        """The database, in which the positions of documents are ids."""
        return self._database

    @property
    def needs_texts(self) -> bool:
        """Whether `decide` asks for texts."""
        return self._question.is_exact

    @property
    def way(self) -> str:
        """How candidates are found, in words."""
        return "a temporary database"

    @property
    def empty_count(self) -> int:
        """How many documents have no features, and are like nothing."""
        return self._database.stats().empty_count

    def add_all(
        self, parts: Iterable[Any], count: Callable[[], float], *, errors: ErrorsName
    ) -> Iterator[int]:
        """Add the texts of all parts; yield how many there are after each."""
        source, done, is_more = iter(parts), 0, True
        while is_more:
            is_more, first = False, done
            with self._database.write() as transaction:
                for texts in source:
                    transaction.insert_many(
                        range(done, done + len(texts)), texts, errors=errors,
                        threads=self._question.threads,
                    )  # fmt: skip
                    done += len(texts)
                    yield done
                    if done - first >= STORED_DOCUMENTS:
                        is_more = True
                        break

    def decide(self, order: I64 | None, texts: TextSource) -> Decided:
        """Return what becomes of the documents.

        `order` int64[n]: their positions, those to be preferred first; None for the order in which
        they were added.  `texts` returns the texts at some positions.
        """
        documents = None
        if self._question.is_exact:
            documents = TextsByOrdinal(
                lambda places: texts(places.astype(np.int64)), remembered=Remembered()
            )
        keep: Any = "first"
        if order is not None:
            places = np.empty(len(order), np.uint32)
            places[order] = np.arange(len(order), dtype=np.uint32)
            keep = Places(places)
        groups = self._find(keep, documents)
        leaders, others = _split(groups)
        similarities, distances = self._compared(leaders, others, documents)
        by_position = np.argsort(others)
        return Decided(
            others[by_position], leaders[by_position], similarities[by_position],
            distances[by_position], groups.verification,
        )  # fmt: skip

    def _find(self, keep: Any, documents: TextsByOrdinal | None) -> Clusters[int]:
        question = self._question
        return self._database.find_clusters(
            similarity=question.similarity, distance=question.distance, recall=question.recall,
            search=question.search, policy=question.policy, verify=question.verify, keep=keep,
            texts=documents if question.is_exact else None, threads=question.threads,
        )  # fmt: skip

    def _compared(
        self, leaders: I64, others: I64, documents: TextsByOrdinal | None
    ) -> tuple[npt.NDArray[np.float32], I64]:
        """Return how similar each document is to the one that stays for it, and how far away."""
        similarities, distances = [np.empty(0, np.float32)], [np.empty(0, np.int64)]
        with self._database.read() as snapshot:
            for start in range(0, len(others), COMPARED_DOCUMENTS):
                some = slice(start, start + COMPARED_DOCUMENTS)
                compared = snapshot.compare(
                    _listed(leaders[some]), _listed(others[some]), verify=self._question.verify,
                    texts=documents, threads=self._question.threads,
                )  # fmt: skip
                similarities.append(compared.similarity)
                distances.append(compared.distance.astype(np.int64))
        return np.concatenate(similarities), np.concatenate(distances)


def _split(groups: Clusters[int]) -> tuple[I64, I64]:
    """Return the representative of each other member of a group, and that member."""
    members = groups.ids.astype(np.int64)
    is_leader = np.zeros(len(members), np.bool_)
    is_leader[groups.offsets[:-1]] = True
    return np.repeat(members[is_leader], groups.sizes - 1), members[~is_leader]


def _listed(positions: I64) -> Sequence[int]:
    return positions  # type: ignore[return-value]
