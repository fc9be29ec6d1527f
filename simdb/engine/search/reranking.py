"""Reranking: orders the nearest documents by exact similarities, which the caller's data give.

An estimate mixes up documents that are almost equally near.  So more of them are found than are
wanted, and the exact cosine of vectors, or the exact similarity of texts, chooses among these.
Neither is stored: whoever asks has them, and gives them by id, some at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from simdb.engine.search.judge import by_ids
from simdb.engine.search.nearest import Wanted
from simdb.engine.state.incoming import as_list
from simdb.ground.checks import shown
from simdb.ground.dtypes import F32, I64
from simdb.ground.errors import InputError, OptionError
from simdb.results.matches import Matches
from simdb.values.arrays import IdT, offsets_of

if TYPE_CHECKING:
    from simdb.sketch.exact_similarity import ExactSimilarity

# So many times as many documents as are wanted are measured.
CANDIDATES = 20
# Their texts or vectors are in memory together for so many of them, or for one query.
MEASURED_TOGETHER = 1 << 14

Vectors: TypeAlias = Mapping[IdT, Any] | Callable[[list[IdT]], Any]
# From documents and the positions of pairs among them to exact similarities, NaN if unknown.
Measure = Callable[[Sequence[Any], I64, I64], F32]


class Reranking:
    """How candidates are measured: by what the caller gives for their ids."""

    def __init__(self, name: str, given: Any, measure: Measure) -> None:
        """Take the argument `name` of a verb: a mapping, or a function of a list of ids."""
        if not isinstance(given, Mapping) and not callable(given):
            raise OptionError(
                f"{name} must be a mapping from id to what it is, or a function that takes a list"
                f" of ids and returns one for each; got {shown(given)}"
            )
        self._get = by_ids(name, given)
        self._measure = measure

    def best(self, found: Matches, documents: Any, ids: list[Any] | None, k: int) -> Matches:
        """Return the `k` candidates of each query that are nearest, with exact similarities.

        `documents`: the vector or text of each query, or `ids` of stored documents.  A candidate of
        which nothing is known keeps its estimate.
        """
        queries = documents if ids is None else self._get(ids)
        similarities = found.similarities.copy()
        start = 0
        while start < len(found):
            end = int(found.offsets[start]) + MEASURED_TOGETHER
            stop = max(int(np.searchsorted(found.offsets, end, "right")) - 1, start + 1)
            self._measure_some(found, queries, slice(start, stop), similarities)
            start = stop
        rows = np.repeat(np.arange(len(found)), np.diff(found.offsets))
        order = np.lexsort((-similarities, rows))
        places = np.arange(len(rows)) - found.offsets[rows]
        order = order[places < k]
        return Matches(
            offsets_of(np.minimum(np.diff(found.offsets), k)),
            found.ordinals[order],
            found.distances[order],
            similarities[order],
            lambda: list(found.ids[order]),
        )

    def _measure_some(
        self, found: Matches, queries: Sequence[Any], some: slice, similarities: F32
    ) -> None:
        """Put the exact similarities of the candidates of some queries in place."""
        first, last = int(found.offsets[some.start]), int(found.offsets[some.stop])
        ordinals, right = np.unique(found.ordinals[first:last], return_inverse=True)
        at = np.empty(len(ordinals), np.int64)
        at[right] = np.arange(first, last)
        own = list(queries[some])
        counts = np.diff(found.offsets[some.start : some.stop + 1])
        left = np.repeat(np.arange(len(own)), counts)
        known = [*own, *self._get(list(found.ids[at]))]
        is_known = np.array([each is not None for each in known], np.bool_)
        right = right + len(own)
        pairs = np.flatnonzero(is_known[left] & is_known[right])
        place = np.cumsum(is_known) - 1
        given = [each for each in known if each is not None]
        exact = self._measure(given, place[left[pairs]], place[right[pairs]])
        similarities[first + pairs] = exact


def nearest(
    find: Callable[[Any, Wanted], Matches],
    documents: Any,
    ids: list[Any] | None,
    wanted: Wanted,
    exact: "Callable[[], ExactSimilarity]",
    vectors: Any,
    texts: Any,
) -> Matches:
    """Return the best of what `find` finds for documents, by the caller's `vectors` or `texts`.

    `ids`: of the queries, if they are stored documents.  `exact` measures texts.
    """
    if vectors is not None and texts is not None:
        raise OptionError("the nearest are chosen by vectors or by texts, not by both")
    if vectors is not None:
        ranking = Reranking("vectors", vectors, cosines)
    else:
        ranking = Reranking("texts", texts, exact().of_pairs)
    if documents is not None and not isinstance(documents, np.ndarray):
        documents = as_list(documents, "documents")  # they are read twice
    found = find(documents, wanted._replace(k=CANDIDATES * wanted.k))
    return ranking.best(found, documents, ids, wanted.k)


def cosines(vectors: Sequence[Any], left: I64, right: I64) -> F32:
    """Return the cosines of vectors left[i] and right[i]; 0 with a vector of zeros."""
    try:
        every = np.asarray([np.asarray(each, np.float32) for each in vectors], np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"vectors must be of numbers, as many in each: {error}") from error
    if len(every) and every.ndim != 2:
        raise InputError(f"a vector has one axis, but one of a document has {every.ndim - 1}")
    if not len(left):
        return np.empty(0, np.float32)
    lengths = np.linalg.norm(every, axis=1, keepdims=True)
    every = np.divide(every, lengths, out=np.zeros_like(every), where=lengths > 0)
    return np.asarray(np.einsum("ij,ij->i", every[left], every[right]), np.float32)
