"""The reading verbs: the same for a database, a snapshot and a write transaction.

Each verb makes a `Question` of its arguments, enters a consistent state, answers, and leaves the
state.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.documents import Document
from simdb.engine import clusters, explain, search
from simdb.engine import state as states
from simdb.engine.search import lookup, one
from simdb.engine.search.question import (
    Question,
    bounded,
    check_limit,
    is_maintained,
    of_any,
    of_pairs,
)
from simdb.engine.state.documents import find_ids, known_ordinals, stored_sketches
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.errors import InputError, OptionError
from simdb.plan.rotation import check_rotations
from simdb.plans import Plan
from simdb.threads import thread_count
from simdb.values import Id, Match, Matches

if TYPE_CHECKING:
    from simdb.clusters import Clusters
    from simdb.engine.search.pairs import Pairs
    from simdb.engine.search.verify import Verify, VerifyMany
    from simdb.reports import Explanation

ITERATED_IDS = 4096


class Reading(Protocol):
    """The reading verbs, over the state that `_state` gives."""

    _store: Store

    def _state(self) -> State:
        """Enter a consistent state, for a `with` block."""

    def _hold(self) -> State:
        """Enter the committed state without staged changes; it does not end during the block."""

    def _lasting(self) -> "tuple[Reading, Callable[[], None] | None]":
        """Return a reader whose state outlasts a verb, and a function to end it, or None."""

    def query(
        self,
        document: Any = None,
        *,
        id: Id | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        limit: int | None = None,
        verify: "Verify | None" = None,
        errors: str = "strict",
    ) -> list[Match]:
        """Find the stored documents that match `document`, or the stored document `id`, best first.

        A match has at least `similarity` (estimated cosine, or Jaccard of signatures) and at most
        `distance` (differing bits), whichever you give.  Without either, the database's defaults
        apply: similarity for documents with weights or a signature, distance for ready
        fingerprints.

        `recall`: the share of the matches to find, measured against comparing with every document;
        1.0 with `distance` is exact.  `method`: a search method; None lets the planner choose.
        `limit`: the largest number of matches to return.  `errors`: "strict" refuses text that is
        not valid Unicode, "replace" replaces the invalid characters.

        `verify(id)` confirms a match.  Return False to drop it, or its exact similarity, which
        replaces the estimate; below `similarity` the match is dropped.

        Returns a list of matches.  A query by `id` leaves out the document itself.  Raises
        InputError for an invalid document, OptionError for an invalid or unsupported argument,
        NotFoundError for an unknown `id`.
        """
        given = similarity, distance, recall, method
        if verify is None:
            return self._found(document, id, given, limit, errors, first=False)
        search.verify.check_verify(verify)
        check_limit(limit)
        every = self._found(document, id, given, None, errors, first=False)
        least = Question(*given).least_similarity(self._store.options)
        return search.verify.verified(every, verify, least)[:limit]

    def first(
        self,
        document: Any = None,
        *,
        id: Id | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        verify: "Verify | None" = None,
        errors: str = "strict",
    ) -> Match | None:
        """Find any one match, as fast as possible; None if no document matches.  See `query`."""
        given = similarity, distance, recall, method
        if verify is None:
            found = self._found(document, id, given, None, errors, first=True)
            return found[0] if found else None
        search.verify.check_verify(verify)
        every = self._found(document, id, given, None, errors, first=False)
        least = Question(*given).least_similarity(self._store.options)
        return search.verify.first_verified(every, verify, least)

    def query_many(
        self,
        documents: Any = None,
        *,
        ids: Iterable[Id] | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        limit: int | None = None,
        first: bool = False,
        memory_limit: int | None = None,
        verify: "VerifyMany | None" = None,
        errors: str = "strict",
        threads: int | None = None,
    ) -> Matches:
        """Find the matches of many documents at once, as arrays; see `query`.

        `documents`: an iterable of documents, uint64[n] of ready fingerprints, a `Fingerprints`,
        vectors as float[n, d] or a CSR matrix, or an Arrow column.  `ids`: stored documents to use
        instead.  `first`: return any one match of each, as fast as possible.  `memory_limit`: bytes
        for the search; stored runs pass through memory in chunks, see `Database.insert_batch`.
        `verify(position, id)` confirms a match of the query at `position`, see `query`.
        `threads`: see `insert_many`.
        """
        count = thread_count(threads)
        question = Question(similarity, distance, recall, method, limit)
        check_limit(question.limit)
        search.verify.check_verify(verify)
        room = search.many.room_of(memory_limit)
        if verify is not None:
            every = self.query_many(
                documents, ids=ids, similarity=similarity, distance=distance, recall=recall,
                method=method, memory_limit=memory_limit, errors=errors, threads=count,
            )  # fmt: skip
            least = question.least_similarity(self._store.options)
            return search.verify.verified_many(every, verify, least, limit=limit, first=first)
        if first:
            question = replace(question, limit=1)
        with self._state() as state:
            state.threads = count
            if ids is not None:
                ordinals = known_ordinals(state, states.incoming.as_list(ids, "ids"))
                rows = search.many.of_stored(self._store, state, ordinals, question, room=room)
            else:
                size = None if room is None else room.query_count(state.width)
                slices = states.incoming.sketch_slices(
                    self._store.sketcher, documents, None, size, errors=errors, threads=count
                )
                rows = search.many.of_slices(
                    self._store, state, slices, question, first=first, room=room
                )
            return lookup.as_matches(state, rows)

    def get(self, id: Id) -> Document:
        """Return the stored document `id`; NotFoundError if the id is unknown."""
        return self.get_many([id])[0]

    def get_many(self, ids: Iterable[Id]) -> list[Document]:
        """Return the stored documents `ids`, in order; NotFoundError for the first unknown id."""
        listed = states.incoming.as_list(ids, "ids")
        with self._state() as state:
            ordinals = known_ordinals(state, listed)
            sketches = stored_sketches(state, ordinals)
            return [
                Document(
                    id,
                    state.kind.fingerprint_of(sketches, at),
                    state.metadata_of(int(ordinal)),
                    state.kind.signature_of(sketches, at),
                )
                for at, (id, ordinal) in enumerate(zip(listed, ordinals, strict=True))
            ]

    def contains_many(self, ids: Iterable[Id]) -> npt.NDArray[np.bool_]:
        """Return whether each of `ids` is the id of a stored document: bool[n]."""
        listed = states.incoming.as_list(ids, "ids")
        with self._state() as state:
            found: npt.NDArray[np.int64] = find_ids(state, listed)
            return found >= 0

    def explain(
        self,
        id: Id,
        other_id: Id | None = None,
        *,
        document: Any = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        errors: str = "strict",
    ) -> "Explanation":
        """Explain why the stored document `id` matches a second document, or does not; see `query`.

        The second document is the stored `other_id` or the given `document`: give one of them.  The
        database does not keep texts, so the explanation lists all features of a given text;
        `simdb.explain` compares two texts.
        """
        if (other_id is None) == (document is None):
            raise InputError("explain needs id and either other_id or document=")
        question = Question(similarity, distance, recall, method)
        with self._state() as state:
            return explain.stored.explain_stored(
                self._store, state, id, other_id, document, question, errors
            )

    def plan(
        self,
        n: float | None = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        pairs: bool = False,
        rotations: int | None = None,
    ) -> Plan:
        """Return how the database would answer a query with these arguments, and why; see `query`.

        `n`: plan for this number of stored documents, in one run.  `pairs`: plan `find_all`
        instead, with the costs of one document.  `rotations`: see `find_all`.
        """
        question = Question(similarity, distance, recall, method, rotations=rotations)
        with self._state() as state:
            of = of_pairs if pairs else of_any
            criterion = of(self._store.options, state.counts, question)
            population = state.population(criterion, is_swept=pairs)
            return search.planning.planned(
                self._store.options, criterion, population, state.calibration, n
            )

    def find_all(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        rotations: int | None = None,
        threads: int | None = None,
    ) -> "Pairs":
        """Find every pair of stored documents that match; see `query` for the criterion.

        Reading the pairs makes them: `chunks()` needs bounded memory, and the arrays `left`,
        `right`, `distance` and `similarity` hold all pairs.  `plan` describes the search.

        method="rotation" sorts all fingerprints in `rotations` orders, 1 to 64, and compares
        neighbours; None takes as many orders as the recall needs.  The plan predicts the share of
        pairs missed.  `threads`: see `insert_many`.
        """
        count = thread_count(threads)
        question = Question(similarity, distance, recall, method, rotations=rotations)
        owner, end = self._lasting()
        with owner._state() as state:
            state.threads = count
            criterion = of_pairs(self._store.options, state.counts, question)
            plan = state.plan(criterion, is_swept=True)
            stream = search.pairs.PairStream(state, criterion, hold=owner._hold, end=end)
        return search.pairs.Pairs(stream, plan)

    def find_clusters(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        rotations: int | None = None,
        policy: str = "connected",
        representative: str = "first",
        threads: int | None = None,
    ) -> "Clusters":
        """Find the groups of two or more documents that match; see `query` for the criterion.

        `policy`: "connected" puts documents that a chain of matches connects into one cluster.
        "star" takes the documents in order: each joins the earliest representative that matches it,
        or becomes a representative itself, so every member matches its representative.

        `representative`: "first" orders documents by insertion.  Any other value names a field of
        the metadata: the least number, or text, comes first, and documents without the field last.
        The first member of a cluster in that order is its representative.  `rotations`: see
        `find_all`.  `threads`: see `insert_many`.

        If the database maintains clusters (`Options.keep_clusters`) and you give no threshold, its
        own threshold applies.  Connected clusters are then read from disk; passing `method`, or a
        higher `recall`, forces a new search.

        Equal documents are linked to the first of them and not compared with each other, so many
        copies cost little.  Raises OptionError for an unknown policy or field, InputError for
        values of the field that cannot be ordered.
        """
        clusters.find.check_policy(policy)
        check_rotations(method, rotations)
        options = self._store.options
        question = Question(similarity, distance, recall, method, rotations=rotations)
        question, count = bounded(options, question), thread_count(threads)
        with self._state() as state:
            state.threads = count
            order = clusters.order
            is_first = representative == order.FIRST
            places = None if is_first else order.places_by_field(state, representative)
            if policy == clusters.find.CONNECTED and is_maintained(options, question):
                labels = clusters.labels.maintained_labels(state.membership(), state.next_ordinal)
                return clusters.find.as_clusters(state, labels, places)
            criterion = of_pairs(options, state.counts, question)
            return clusters.find.find_clusters(state, criterion, policy=policy, places=places)

    def cluster(self, id: Id) -> list[Id]:
        """Return the ids of the maintained cluster of the document `id`, in the order of insertion.

        The first id is the representative.  A document without matches is alone in its cluster.
        The cluster is read from disk, without a search.  By distance it equals the result of
        `find_clusters`; by similarity it holds the matches that the searches at each insertion
        found, with the `recall` of the database.

        Raises NotFoundError for an unknown id, OptionError if the database was created without
        `keep_clusters`.
        """
        if not self._store.options.keeps_clusters:
            raise OptionError(
                f"{self._store.environment.path} does not maintain clusters; use find_clusters,"
                " or create a database with Options(keep_clusters='distance') or 'similarity'"
            )
        with self._state() as state:
            (ordinal,) = known_ordinals(state, [id])
            members = state.membership().members(int(ordinal), state.next_ordinal)
            return list(state.identifiers(members).decode(members))

    def __contains__(self, id: object) -> bool:
        """Return whether a document with this id is stored."""
        with self._state() as state:
            return bool(find_ids(state, [id])[0] >= 0)

    def __len__(self) -> int:
        """Return the number of stored documents."""
        with self._state() as state:
            return state.counts.document_count

    def __iter__(self) -> Iterator[Id]:
        """Yield the ids of the documents stored now, in the order of insertion."""
        owner, end = self._lasting()
        with owner._state() as state:
            ordinals = state.live()
        for start in range(0, len(ordinals), ITERATED_IDS):
            part = ordinals[start : start + ITERATED_IDS]
            with owner._hold():
                state.source.check_open()
                ids = state.identifiers(part).decode(part)
            yield from ids
        if end is not None:
            end()

    def __bool__(self) -> bool:
        """Return True, even if no document is stored."""
        return True

    def _found(
        self,
        document: Any,
        id: Id | None,
        given: one.Given,
        limit: int | None,
        errors: str,
        *,
        first: bool,
    ) -> list[Match]:
        """Return the matches of a document, or of the stored document `id`, best first."""
        if limit is not None:
            check_limit(limit)
        with self._state() as state:
            return one.find(self._store, state, document, id, given, limit, errors, first=first)
