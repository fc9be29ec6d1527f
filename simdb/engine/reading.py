"""The verbs that read: the same for a database, a snapshot and a write transaction.

Each verb enters a consistent state, answers, and leaves it.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simdb.documents import Document
from simdb.engine.explain.stored import explain_stored
from simdb.engine.groupings import Groupings
from simdb.engine.search import lookup, many, one, question
from simdb.engine.search.planning import planned
from simdb.engine.search.verify import (
    Verify,
    VerifyMany,
    check_verify,
    first_verified,
    verified,
    verified_many,
)
from simdb.engine.state.documents import (
    find_ids,
    fingerprint_of,
    known_ordinals,
    signature_of,
    stored_sketches,
)
from simdb.engine.state.incoming import as_list, sketch_slices
from simdb.engine.state.view import View
from simdb.errors import InputError
from simdb.reports import Explanation, Plan
from simdb.storage import layout
from simdb.storage.records.metadata import read_metadata
from simdb.storage.runs.run import Source
from simdb.values import (
    Id,
    Match,
    Matches,
    check_bits,
)

ITERATED_IDS = 4096

U32 = npt.NDArray[np.uint32]


class Queries(Groupings, Protocol):
    """Reading verbs over `_enter`, which gives a consistent state for a `with` block."""

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
        asked = (similarity, distance, recall, method)
        if verify is None:
            if type(document) is int and id is None and self._store.takes_bits:
                return self._query_bits(document, asked, limit, False)
            return self._query_one(document, id, asked, limit, errors, False)
        check_verify(verify)
        lookup.check_limit(limit)
        every = self._found(document, id, asked, None, errors, first=False)
        return verified(every, verify, self._least(asked))[:limit]

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
        asked = (similarity, distance, recall, method)
        if verify is not None:
            check_verify(verify)
            every = self._found(document, id, asked, None, errors, first=False)
            return first_verified(every, verify, self._least(asked))
        found = self._found(document, id, asked, None, errors, first=True)
        return found[0] if found else None

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
        lookup.check_limit(limit)
        check_verify(verify)
        room = many.room_of(memory_limit)
        asked = (similarity, distance, recall, method)
        if verify is not None:
            every = self.query_many(
                documents, ids=ids, similarity=similarity, distance=distance, recall=recall,
                method=method, memory_limit=memory_limit, errors=errors,
            )  # fmt: skip
            return verified_many(every, verify, self._least(asked), limit=limit, first=first)
        limit = 1 if first else limit
        with self._enter() as (view, source):
            if ids is not None:
                ordinals = known_ordinals(view, source, as_list(ids, "ids"))
                rows = many.of_stored(
                    self._store, view, source, ordinals, asked, limit=limit, room=room
                )
            else:
                size = None if room is None else room.query_count(self._store.width)
                slices = sketch_slices(self._store.sketcher, documents, None, size, errors=errors)
                rows = many.of_slices(
                    self._store, view, source, slices, asked, limit=limit, first=first, room=room
                )
            return lookup.as_matches(view, source, rows)

    def get(self, id: Id) -> Document:
        """The stored document `id`; NotFoundError when there is none."""
        return self.get_many([id])[0]

    def get_many(self, ids: Iterable[Id]) -> list[Document]:
        """The stored documents `ids`, in that order; NotFoundError for the first unknown one."""
        listed = as_list(ids, "ids")
        with self._enter() as (view, source):
            ordinals = known_ordinals(view, source, listed)
            sketches = stored_sketches(view, source, ordinals)
            return [
                Document(
                    id,
                    fingerprint_of(sketches, at, view.keying),
                    self._metadata(int(ordinal), source),
                    signature_of(sketches, at, view.keying),
                )
                for at, (id, ordinal) in enumerate(zip(listed, ordinals, strict=True))
            ]

    def contains_many(self, ids: Iterable[Id]) -> npt.NDArray[np.bool_]:
        """Whether a document with each of these ids is stored: bool[n]."""
        listed = as_list(ids, "ids")
        with self._enter() as (view, source):
            found: npt.NDArray[np.int64] = find_ids(view, source, listed)
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
    ) -> Explanation:
        """Why the stored document `id` and another, stored or given, match or do not; see `query`.

        The other is the stored `other_id` or a `document`.  The texts of stored documents are not
        kept, so of a text that is given all features are told; `simdb.explain` compares two texts.
        """
        if (other_id is None) == (document is None):
            raise InputError("explain takes an id and either another id or document=")
        with self._enter() as (view, source):
            return explain_stored(
                self._store, view, source, id, other_id, document, errors,
                (similarity, distance, recall, method),
            )  # fmt: skip

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
        with self._enter() as (view, source):
            asked = (similarity, distance, recall, method)
            of = question.of_pairs if pairs else question.of_any
            criterion = of(self._store.options, self._counts(source), asked, rotations)
            population = view.population(source, is_swept=pairs)
            return planned(self._store.options, criterion, population, view.calibration, n)

    def __contains__(self, id: object) -> bool:
        """Whether a document with this id is stored."""
        with self._enter() as (view, source):
            return bool(find_ids(view, source, [id])[0] >= 0)

    def __len__(self) -> int:
        """Number of stored documents."""
        with self._enter() as (_, source):
            return self._counts(source).document_count

    def __iter__(self) -> Iterator[Id]:
        """The ids of the stored documents in the order of insertion, as of now."""
        state, end = self._lasting()
        with state._enter() as (view, source):
            ordinals = view.live()
        for start in range(0, len(ordinals), ITERATED_IDS):
            part = ordinals[start : start + ITERATED_IDS]
            with state._hold():
                source.check_open()
                ids = view.identifiers(source, part).decode(part)
            yield from ids
        if end is not None:
            end()

    def __bool__(self) -> bool:
        """True, also while nothing is stored."""
        return True

    def _is_bits(self, document: Any, id: Id | None) -> bool:
        """Whether it is a ready fingerprint."""
        return type(document) is int and id is None and self._store.takes_bits

    def _query_bits(
        self, bits: int, asked: lookup.Asked, limit: int | None, first: bool
    ) -> list[Match]:
        """The matches of one ready fingerprint: the common case where microseconds count."""
        with self._enter() as (view, source):
            # True equals 1, and 3.0 equals 3, but neither is a distance.
            key: Any = asked
            if type(asked[1]) is not int or asked[0] is not None or asked[2] is not None:
                key = (asked, type(asked[0]), type(asked[1]), type(asked[2]))
            try:
                plan = view.bit_plans.get(key)
            except TypeError:
                plan = None  # what cannot be a key is no bound either, and refused below
            if plan is None:
                plan = one.plan_bits(view, self._store.options, asked, source)
                view.bit_plans[key] = plan
            check_bits(bits)
            if limit is not None:
                lookup.check_limit(limit)
            return one.search_bits(view, source, bits, plan, first, limit)

    def _found(
        self,
        document: Any,
        id: Id | None,
        asked: lookup.Asked,
        limit: int | None,
        errors: str,
        *,
        first: bool,
    ) -> list[Match]:
        """The matches of one document or stored document, by the way that is shortest for it."""
        if self._is_bits(document, id):
            return self._query_bits(document, asked, limit, first)
        return self._query_one(document, id, asked, limit, errors, first)

    def _least(self, asked: lookup.Asked) -> float | None:
        """What an exact similarity must be; None where only a distance was asked."""
        similarity, distance, _, _ = asked
        if similarity is None and distance is None:
            return self._store.options.similarity
        return similarity

    def _query_one(
        self,
        document: Any,
        id: Id | None,
        asked: lookup.Asked,
        limit: int | None,
        errors: str,
        first: bool,
    ) -> list[Match]:
        lookup.check_limit(limit)
        with self._enter() as (view, source):
            if id is not None:
                most = 1 if first else limit
                return self._query_stored(document, view, source, id, asked, most)
            if document is None:
                raise InputError("query needs a document, or the id= of a stored one")
            sketches = self._store.sketcher.sketch([document], errors=errors, is_query=True)
            criterion = lookup.criterion_of(self._store.options, sketches, asked)
            plan = view.plan(criterion, source)
            if one.can_probe(sketches, plan):
                return one.probe(view, source, sketches, criterion, plan, first, limit)
            if one.can_band(sketches, plan):
                return one.band(view, source, sketches, criterion, plan, first, limit)
            rows = lookup.search(
                view, source, sketches, criterion, limit=limit, first=first, plan=plan
            )
            return lookup.as_list(view, source, rows)

    def _query_stored(
        self,
        document: Any,
        view: View,
        source: Source,
        id: Id,
        asked: lookup.Asked,
        limit: int | None,
    ) -> list[Match]:
        if document is not None:
            raise InputError("query takes a document or the id= of a stored one, not both")
        ordinals = known_ordinals(view, source, [id])
        sketches = stored_sketches(view, source, ordinals)
        criterion = lookup.criterion_of(self._store.options, sketches, asked)
        plan = view.plan(criterion, source)
        more = None if limit is None else limit + 1  # the document itself may be among them
        if one.can_probe(sketches, plan):
            found = one.probe(view, source, sketches, criterion, plan, False, more)
            return [match for match in found if match.id != id][:limit]
        if one.can_band(sketches, plan):
            found = one.band(view, source, sketches, criterion, plan, False, more)
            return [match for match in found if match.id != id][:limit]
        rows = lookup.search(view, source, sketches, criterion, limit=more, plan=plan)
        rows = rows.chosen(np.flatnonzero(rows.ordinals != ordinals[0]))
        return lookup.as_list(view, source, rows if limit is None else rows.limited(limit))

    def _metadata(self, ordinal: int, source: Source) -> Any:
        handle = self._store.environment.subdatabase(layout.METADATA)
        return read_metadata(source.transaction, handle, ordinal)
