"""The reading verbs: the same for a database, a snapshot and a write transaction.

Each verb makes a question of its arguments, enters a consistent state, answers, and leaves it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.clusters import Clusters
from simdb.documents import Document
from simdb.engine import explain
from simdb.engine.clusters.find import CONNECTED, as_clusters, check_policy, find_clusters
from simdb.engine.clusters.labels import maintained_labels
from simdb.engine.clusters.order import FIRST, places_by_field
from simdb.engine.search import lookup, many, one
from simdb.engine.search.pairs import Pairs, PairStream
from simdb.engine.search.planning import planned
from simdb.engine.search.question import (
    Question,
    bounded,
    is_maintained,
    of_any,
    of_pairs,
)
from simdb.engine.search.verify import (
    Verify,
    VerifyMany,
    check_verify,
    first_verified,
    verified,
    verified_many,
)
from simdb.engine.state.documents import find_ids, known_ordinals, stored_sketches
from simdb.engine.state.incoming import as_list, sketch_slices
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.errors import InputError, OptionError
from simdb.plan.rotation import check_rotations
from simdb.plans import Plan
from simdb.values import Id, Match, Matches, check_bits

if TYPE_CHECKING:
    from simdb.reports import Explanation

ITERATED_IDS = 4096


class Reading(Protocol):
    """The reading verbs, over `_state`."""

    _store: Store

    def _state(self) -> State:
        """A consistent state for a `with` block."""

    def _hold(self) -> State:
        """The same without staged changes: that state does not end during the block."""

    def _lasting(self) -> "tuple[Reading, Callable[[], None] | None]":
        """Something whose state outlasts a verb, and what ends it; None: its owner ends it."""

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
        verify: Verify | None = None,
        errors: str = "strict",
    ) -> list[Match]:
        """Stored documents that match `document`, or the stored document `id`, best first.

        A match has at least `similarity` (estimated cosine, or Jaccard of signatures) and at most
        `distance` (differing bits), whichever are given; otherwise the database's defaults decide:
        similarity for what has weights or a signature, distance for a ready fingerprint.
        `recall`: the share of the matches that must be found, against comparing with everything;
        1.0 with `distance` is exact.  `limit`: at most so many.  By `id` the document itself is not
        among the matches.  `verify`: called with the id of each match, by who has the documents;
        False, or an exact similarity that is less than asked, and it is none.  A number takes the
        place of the estimate.

        Raises InputError for a document that cannot be taken, OptionError for a request that
        cannot be served, NotFoundError for an unknown `id`.
        """
        if verify is None and type(document) is int and id is None and self._store.takes_bits:
            key = similarity, distance, recall, method
            return self._query_bits(document, key, limit, first=False)
        question = Question(similarity, distance, recall, method, limit)
        if verify is None:
            return self._found(document, id, question, errors, first=False)
        check_verify(verify)
        question.check_limit()
        every = self._found(document, id, replace(question, limit=None), errors, first=False)
        return verified(every, verify, question.least_similarity(self._store.options))[:limit]

    def first(
        self,
        document: Any = None,
        *,
        id: Id | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        verify: Verify | None = None,
        errors: str = "strict",
    ) -> Match | None:
        """Any one match, as fast as possible; None where there is none.  See `query`."""
        if verify is None and type(document) is int and id is None and self._store.takes_bits:
            key = similarity, distance, recall, method
            found = self._query_bits(document, key, None, first=True)
            return found[0] if found else None
        question = Question(similarity, distance, recall, method)
        if verify is None:
            found = self._found(document, id, question, errors, first=True)
            return found[0] if found else None
        check_verify(verify)
        every = self._found(document, id, question, errors, first=False)
        return first_verified(every, verify, question.least_similarity(self._store.options))

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
        verify: VerifyMany | None = None,
        errors: str = "strict",
    ) -> Matches:
        """The matches of many documents at once, as arrays; see `query`.

        `documents`: an iterable of documents, uint64[n] of ready fingerprints, a `Fingerprints`,
        vectors as float[n, d] or a CSR matrix, or an Arrow column.  `ids`: stored documents
        instead.  `first`: any one match of each, as fast as possible.  `memory_limit`: bytes for
        the search; what is stored passes through memory in chunks, see `Database.insert_batch`.
        `verify`: called with the place of a query and the id of each match, see `query`.
        """
        question = Question(similarity, distance, recall, method, limit)
        question.check_limit()
        check_verify(verify)
        room = many.room_of(memory_limit)
        if verify is not None:
            every = self.query_many(
                documents, ids=ids, similarity=similarity, distance=distance, recall=recall,
                method=method, memory_limit=memory_limit, errors=errors,
            )  # fmt: skip
            least = question.least_similarity(self._store.options)
            return verified_many(every, verify, least, limit=limit, first=first)
        if first:
            question = replace(question, limit=1)
        with self._state() as state:
            if ids is not None:
                ordinals = known_ordinals(state, as_list(ids, "ids"))
                rows = many.of_stored(self._store, state, ordinals, question, room=room)
            else:
                size = None if room is None else room.query_count(state.width)
                slices = sketch_slices(self._store.sketcher, documents, None, size, errors=errors)
                rows = many.of_slices(self._store, state, slices, question, first=first, room=room)
            return lookup.as_matches(state, rows)

    def get(self, id: Id) -> Document:
        """The stored document `id`; NotFoundError when there is none."""
        return self.get_many([id])[0]

    def get_many(self, ids: Iterable[Id]) -> list[Document]:
        """The stored documents `ids`, in that order; NotFoundError for the first unknown one."""
        listed = as_list(ids, "ids")
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
        """Whether a document with each of these ids is stored: bool[n]."""
        listed = as_list(ids, "ids")
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
        """Why the stored document `id` and another, stored or given, match or do not; see `query`.

        The other is the stored `other_id` or a `document`.  The texts of stored documents are not
        kept, so of a text that is given all features are told; `simdb.explain` compares two texts.
        """
        if (other_id is None) == (document is None):
            raise InputError("explain takes an id and either another id or document=")
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
        """How a query with this criterion would be answered, and why; see `query`.

        `n`: as if so many documents were stored, in one run.  `pairs`: how `find_all` would do it,
        with the costs of one document; `rotations` as there.
        """
        question = Question(similarity, distance, recall, method, rotations=rotations)
        with self._state() as state:
            of = of_pairs if pairs else of_any
            criterion = of(self._store.options, state.counts, question)
            population = state.population(is_swept=pairs)
            return planned(self._store.options, criterion, population, state.calibration, n)

    def find_all(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        rotations: int | None = None,
    ) -> Pairs:
        """Every pair of stored documents that match; see `query` for the criterion.

        The pairs are made while they are read: `chunks()` needs bounded memory, the arrays
        `left`, `right`, `distance` and `similarity` hold them all; `plan` says how they are found.
        method="rotation" sorts all in `rotations` orders, 1 to 64, as many as the recall takes
        where None, and compares neighbours; its plan predicts the share that it misses.
        """
        question = Question(similarity, distance, recall, method, rotations=rotations)
        owner, end = self._lasting()
        with owner._state() as state:
            criterion = of_pairs(self._store.options, state.counts, question)
            plan = state.plan(criterion, is_swept=True)
            stream = PairStream(state, criterion, hold=owner._hold, end=end)
        return Pairs(stream, plan)

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
    ) -> Clusters:
        """Groups of two and more documents under the criterion; see `query`.

        `policy` "connected": whatever a chain of matches connects is one cluster.  "star": every
        member matches the representative.  Documents are taken in order: one that no earlier
        representative matches becomes one, any other joins the earliest that matches.

        `representative` "first": the order is that of insertion.  Otherwise the name of a field
        of the metadata: the least number, or text, comes first, documents without one last.  The
        representative of a cluster is its first member in that order.

        Where clusters are kept (`Options.keep_clusters`) and no bound is given, theirs is used; and
        connected ones under it are read, not searched for, unless a method or more recall is asked.

        Equal documents are linked to the first of them and never paired with each other, so a
        cluster of many copies costs no more than their number.  Raises OptionError for a policy
        or a field that there is not, InputError for values that cannot be ordered.
        """
        check_policy(policy)
        check_rotations(method, rotations)
        options = self._store.options
        question = Question(similarity, distance, recall, method, rotations=rotations)
        question = bounded(options, question)
        with self._state() as state:
            places = None if representative == FIRST else places_by_field(state, representative)
            if policy == CONNECTED and is_maintained(options, question):
                labels = maintained_labels(state.membership(), state.next_ordinal)
                return as_clusters(state, labels, places)
            criterion = of_pairs(options, state.counts, question)
            return find_clusters(state, criterion, policy=policy, places=places)

    def cluster(self, id: Id) -> list[Id]:
        """The ids of the kept cluster of a stored document, in the order of insertion.

        The first of them is its representative; a document that no other matches is alone.  It is
        read, not searched for.  By distance it is what `find_clusters` finds; by similarity,
        whatever the searches of the insertions found, each match with the database's `recall`.

        Raises NotFoundError for an unknown id, OptionError for a database that was not created
        with `keep_clusters`.
        """
        if not self._store.options.keeps_clusters:
            raise OptionError(
                f"{self._store.environment.path} keeps no clusters; create a database with"
                " Options(keep_clusters='distance') or 'similarity', or use find_clusters"
            )
        with self._state() as state:
            (ordinal,) = known_ordinals(state, [id])
            members = state.membership().members(int(ordinal), state.next_ordinal)
            return list(state.identifiers(members).decode(members))

    def __contains__(self, id: object) -> bool:
        """Whether a document with this id is stored."""
        with self._state() as state:
            return bool(find_ids(state, [id])[0] >= 0)

    def __len__(self) -> int:
        """Number of stored documents."""
        with self._state() as state:
            return state.counts.document_count

    def __iter__(self) -> Iterator[Id]:
        """The ids of the stored documents in the order of insertion, as of now."""
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
        """True, also while nothing is stored."""
        return True

    def _query_bits(self, bits: int, given: Any, limit: int | None, *, first: bool) -> list[Match]:
        """The matches of one ready fingerprint, where microseconds count.

        The plan is remembered by `given`: similarity, distance, recall and method.
        """
        with self._state() as state:
            plans, key = state.view.bit_plans, given
            # True equals 1, and 3.0 equals 3, but neither is a distance.
            if type(given[1]) is not int or given[0] is not None or given[2] is not None:
                key = (given, *map(type, given))
            try:
                plan = plans.get(key)
            except TypeError:
                plan = None  # what cannot be a key is no bound either, and refused below
            if plan is None:
                plan = plans[key] = one.plan_bits(state, self._store.options, Question(*given))
            check_bits(bits)
            if limit is not None:
                Question(limit=limit).check_limit()
            return one.search_bits(state, bits, plan, first, limit)

    def _found(
        self, document: Any, id: Id | None, question: Question, errors: str, *, first: bool
    ) -> list[Match]:
        """The matches of a document, or of the stored document `id` without itself, best first."""
        question.check_limit()
        with self._state() as state:
            return one.find(self._store, state, document, id, question, errors, first=first)
