"""The reading verbs: the same for a database, a snapshot and a write transaction.

Each verb makes a `Question` of its arguments, enters a consistent state, answers, and leaves the
state.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from simdb import checks
from simdb.choices import ErrorsName, MethodName
from simdb.engine import explain, search
from simdb.engine import state as states
from simdb.engine.by_id import ById
from simdb.engine.notes import Noted
from simdb.engine.search import lookup, one
from simdb.engine.search.question import (
    Question,
    check_limit,
    of_any,
    of_pairs,
)
from simdb.engine.search.rows import Rows
from simdb.engine.search.where import check_optional, kept, kept_matches
from simdb.engine.state.documents import drawn, known_ordinals
from simdb.engine.state.state import State
from simdb.errors import InputError
from simdb.ids import IdT
from simdb.matches import Match, Matches
from simdb.plans import Plan
from simdb.threads import thread_count
from simdb.values import ORDINALS_MAX

if TYPE_CHECKING:
    from simdb.document_like import DocumentLike
    from simdb.engine.search.many import Room
    from simdb.engine.search.verify import Verify, VerifyMany
    from simdb.engine.search.where import Where
    from simdb.reports import Explanation


class Reading(ById[IdT], Noted, Protocol[IdT]):
    """The reading verbs, over the state that `_state` gives."""

    def query(
        self,
        document: "DocumentLike | None" = None,
        *,
        id: IdT | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: MethodName | None = None,
        limit: int | None = None,
        where: "Where | None" = None,
        verify: "Verify[IdT] | None" = None,
        errors: ErrorsName = "strict",
    ) -> list[Match[IdT]]:
        """Find the stored documents that match `document`, or the stored document `id`, best first.

        A match has at least `similarity` (estimated cosine, or Jaccard of signatures) and at most
        `distance` (differing bits), whichever you give.  Without either, the database's defaults
        apply: similarity for documents with weights or a signature, distance for ready
        fingerprints.

        `recall`: the share of the matches to find, measured against comparing with every document;
        1.0 with `distance` is exact.  `method`: a search method; None lets the planner choose.
        `limit`: the largest number of matches to return.  `errors`: "strict" refuses text that is
        not valid Unicode, "replace" replaces the invalid characters.

        `where(metadata)` tells whether a document with these metadata (None if it has none) may be
        a match.  It is asked about matches, best first, until `limit` of them satisfy it.

        `verify(id)` confirms a match.  Return False to drop it, or its exact similarity, which
        replaces the estimate; below `similarity` the match is dropped.

        Returns a list of matches.  A query by `id` leaves out the document itself.  Raises
        InputError for an invalid document, OptionError for an invalid or unsupported argument,
        NotFoundError for an unknown `id`.
        """
        given = similarity, distance, recall, method
        if where is None and verify is None:
            return self._found(document, id, given, limit, errors, first=False)
        check_limit(limit)
        check_optional(where)
        search.verify.check_verify(verify)
        with self._state() as state:
            every = one.find(state, document, id, given, None, errors, first=False)
            if where is not None:
                every = kept_matches(state, every, where, limit if verify is None else None)
        if verify is None:
            return every
        least = Question(*given).least_similarity(self._store.options)
        return search.verify.verified(every, verify, least)[:limit]

    def first(
        self,
        document: "DocumentLike | None" = None,
        *,
        id: IdT | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: MethodName | None = None,
        where: "Where | None" = None,
        verify: "Verify[IdT] | None" = None,
        errors: ErrorsName = "strict",
    ) -> Match[IdT] | None:
        """Find any one match, as fast as possible; None if no document matches.  See `query`.

        With `where` or `verify`, all matches are found, and asked about up to the first that
        satisfies both.
        """
        given = similarity, distance, recall, method
        if where is not None:
            most = 1 if verify is None else None
            found = self.query(
                document, id=id, similarity=similarity, distance=distance, recall=recall,
                method=method, limit=most, where=where, errors=errors,
            )  # fmt: skip
        elif verify is None:
            found = self._found(document, id, given, None, errors, first=True)
        if verify is None:
            return found[0] if found else None
        search.verify.check_verify(verify)
        if where is None:
            found = self._found(document, id, given, None, errors, first=False)
        least = Question(*given).least_similarity(self._store.options)
        return search.verify.first_verified(found, verify, least)

    def query_many(
        self,
        documents: Any = None,
        *,
        ids: Iterable[IdT] | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: MethodName | None = None,
        limit: int | None = None,
        first: bool = False,
        attempts: int | None = None,
        header_bits: int | None = None,
        memory_limit: int | None = None,
        where: "Where | None" = None,
        verify: "VerifyMany[IdT] | None" = None,
        errors: ErrorsName = "strict",
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Find the matches of many documents at once, as arrays; see `query`.

        `documents`: an iterable of documents, uint64[n] of ready fingerprints, a `Fingerprints`,
        vectors as float[n, d] or a CSR matrix, or an Arrow column.  `ids`: stored documents to use
        instead.  `first`: return any one match of each, as fast as possible.  For method="psm" and
        "multiprobe": `attempts` is the most headers of each table that are looked up beside that of
        the query, and replaces `recall`; `header_bits` is the most bits of a header.
        `memory_limit`: bytes for the search; stored runs pass through memory in chunks, see
        `Database.insert_batch`.  None: they do so only if the database is larger than the memory
        and that is faster.
        `where`: see `query`; it is asked about a document once, however many queries it matches.
        `verify(position, id)` confirms a match of the query at `position`, see `query`.
        `threads`: see `insert_many`.
        """
        count = thread_count(threads)
        question = Question(
            similarity, distance, recall, method, limit, attempts=attempts, header_bits=header_bits
        )
        check_limit(question.limit)
        check_optional(where)
        search.verify.check_verify(verify)
        room = search.many.room_of(memory_limit)
        if verify is not None:
            every = self.query_many(
                documents, ids=ids, similarity=similarity, distance=distance, recall=recall,
                method=method, attempts=attempts, header_bits=header_bits,
                memory_limit=memory_limit, where=where, errors=errors, threads=count,
            )  # fmt: skip
            least = question.least_similarity(self._store.options)
            return search.verify.verified_many(every, verify, least, limit=limit, first=first)
        if first:
            question = replace(question, limit=1)
        most = question.limit
        if where is not None:
            question, first = replace(question, limit=None), False
        with self._state() as state:
            state.threads = count
            rows = self._rows(state, documents, ids, question, first, room, errors)
            if where is not None:
                rows = kept(state, rows, where, most)
            return lookup.as_matches(state, rows)

    def nearest(
        self,
        document: "DocumentLike | None" = None,
        k: int = 10,
        *,
        id: IdT | None = None,
        recall: float | None = None,
        where: "Where | None" = None,
        errors: ErrorsName = "strict",
    ) -> list[Match[IdT]]:
        """Find the `k` stored documents nearest to `document`, or to the stored document `id`.

        The nearest documents are the most similar ones, however similar they are, best first; of
        equally near documents, the ones inserted first.  A document with weights is compared with
        the stored documents that have weights, by estimated cosine; a signature by the share of
        equal minima.  A fingerprint without weights is compared by distance with all documents.

        `recall`: the share of the nearest documents to find, in the mean; None takes the
        database's.  1.0 compares with every document and is exact.  By distance the answer is
        always exact.  `errors`: see `query`.

        `where(metadata)`: find the nearest of the documents that satisfy it, see `query`.  It is
        asked about the nearest documents first, so it takes long only if few satisfy it.

        Returns a list of `k` matches, fewer only if fewer documents can be compared; none for a
        document without features.  A query by `id` leaves out the document itself.  Raises
        InputError for an invalid document, OptionError for an invalid `k` or `recall`,
        NotFoundError for an unknown `id`.
        """
        wanted = search.nearest.Wanted.checked(self._store.options, k, recall)
        check_optional(where)
        with self._state() as state:
            return search.nearest.find(self._store, state, document, id, wanted, errors, where)

    def nearest_many(
        self,
        documents: Any = None,
        k: int = 10,
        *,
        ids: Iterable[IdT] | None = None,
        recall: float | None = None,
        where: "Where | None" = None,
        errors: ErrorsName = "strict",
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Find the `k` stored documents nearest to each of many documents; see `nearest`.

        `documents`, `ids`: see `query_many`; documents with and without weights can be mixed.
        `threads`: see `insert_many`.  A large batch is faster than as many single queries, because
        a few of its queries tell where the nearest documents of the others are to be expected.
        """
        count = thread_count(threads)
        wanted = search.nearest.Wanted.checked(self._store.options, k, recall)
        check_optional(where)
        if (documents is None) == (ids is None):
            raise InputError("nearest_many needs either documents or ids= of stored documents")
        with self._state() as state:
            state.threads = count
            if ids is not None:
                ordinals = known_ordinals(state, states.incoming.as_list(ids, "ids"))
                rows = search.nearest.of_stored(self._store, state, ordinals, wanted, where)
            else:
                slices = states.incoming.sketch_slices(
                    self._store.sketcher, documents, None, None, errors=errors, threads=count
                )
                rows = search.nearest.of_slices(self._store, state, slices, wanted, where)
            return lookup.as_matches(state, rows)

    def draw_ids(self, count: int, *, seed: int = 0, weighted: bool = False) -> list[IdT]:
        """Draw the ids of `count` stored documents at random, or all ids if fewer are stored.

        Documents without features are left out; with `weighted`, so are all documents without
        weights or a signature.  The ids are in random order.  The same `seed` draws the same ids of
        the same database.  Raises OptionError if `count` is not a whole number from 0 on.
        """
        checks.whole("count", count, 0, ORDINALS_MAX)
        checks.whole("seed", seed, 0, 2**63)
        checks.flag("weighted", weighted)
        with self._state() as state:
            ordinals = drawn(state, count, seed, is_weighted=weighted)
            return list(state.identifiers(ordinals).decode(ordinals))

    def explain(
        self,
        id: IdT,
        other_id: IdT | None = None,
        *,
        document: "DocumentLike | None" = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: MethodName | None = None,
        errors: ErrorsName = "strict",
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
        method: MethodName | None = None,
        pairs: bool = False,
        rotations: int | None = None,
        attempts: int | None = None,
        header_bits: int | None = None,
    ) -> Plan:
        """Return how the database would answer a query with these arguments, and why; see `query`.

        `n`: plan for this number of stored documents, in one run.  `pairs`: plan `find_all`
        instead, with the costs of one document.  `rotations`: see `find_all`.  `attempts`,
        `header_bits`: see `query_many`; the plan predicts the recall of so many look-ups.
        """
        question = Question(
            similarity, distance, recall, method, rotations=rotations, attempts=attempts,
            header_bits=header_bits,
        )  # fmt: skip
        with self._state() as state:
            of = of_pairs if pairs else of_any
            criterion = of(self._store.options, state.counts, question)
            population = state.population(criterion, is_swept=pairs)
            return search.planning.planned(
                self._store.options, criterion, population, state.calibration, n
            )

    def _rows(
        self,
        state: State,
        documents: Any,
        ids: Iterable[IdT] | None,
        question: Question,
        first: bool,
        room: "Room | None",
        errors: ErrorsName,
    ) -> Rows:
        """Return the matches of many documents, or of the stored documents `ids`."""
        if ids is not None:
            ordinals = known_ordinals(state, states.incoming.as_list(ids, "ids"))
            return search.many.of_stored(self._store, state, ordinals, question, room=room)
        size = None if room is None else room.query_count(state.width)
        slices = states.incoming.sketch_slices(
            self._store.sketcher, documents, None, size, errors=errors, threads=state.threads
        )
        return search.many.of_slices(
            self._store, state, slices, question, first=bool(first), room=room
        )

    def _found(
        self,
        document: Any,
        id: IdT | None,
        given: one.Given,
        limit: int | None,
        errors: ErrorsName,
        *,
        first: bool,
    ) -> list[Match[IdT]]:
        """Return the matches of a document, or of the stored document `id`, best first."""
        if limit is not None:
            check_limit(limit)
        with self._state() as state:
            return one.find(state, document, id, given, limit, errors, first=first)
