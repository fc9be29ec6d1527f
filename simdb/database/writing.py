"""The writing verbs: the same for a database, where each commits, and for a write transaction.

Each verb makes a `Call` of its arguments, enters a transaction alone, stages the change, and leaves
the transaction.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from simdb.core.arrays import IdT
from simdb.core.checks import lose_of, shown
from simdb.core.choices import ConflictName, ErrorsName, MatchName, MethodName, OnError, VerifyName
from simdb.core.errors import InputError, NotFoundError, OptionError
from simdb.core.foreign import answering
from simdb.core.matches import Match, Matches
from simdb.core.options import OF_BATCHES, Search
from simdb.core.skipped import Skipped
from simdb.core.threads import crew
from simdb.database import search as searches, state as states, write
from simdb.database.reading import Reading
from simdb.database.search.filters import check_filters, parted
from simdb.database.search.question import Question
from simdb.database.state.documents import known_ordinals
from simdb.database.state.staged import seconds_of
from simdb.storage import metadata as records

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from simdb.core.choices import RuleName
    from simdb.core.documents import DocumentLike
    from simdb.core.progress import Progress
    from simdb.database.search.filters import Where
    from simdb.database.search.judge import Texts
    from simdb.database.write.write_state import WriteState
    from simdb.storage import FieldValues


@answering
class Writing(Reading[IdT], Protocol[IdT]):
    """The writing verbs, in the transaction that `_changing` enters."""

    def insert(
        self,
        id: IdT,
        document: "DocumentLike",
        metadata: Any = None,
        *,
        on_conflict: ConflictName = "error",
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
    ) -> None:
        """Store one document; see `insert_many`.

        A database commits what each of its verbs changes, a write transaction all of it together.
        Raises ExistsError if the id is stored already, unless `on_conflict` says otherwise.
        """
        known = None if metadata is None else [metadata]
        call = write.storing.Call([id], [document], known, on_conflict, encoding, errors)
        with self._changing("insert") as writing:
            write.storing.insert_one(writing, call)

    def insert_many(
        self,
        ids: Iterable[IdT],
        documents: Any = None,
        metadata: Any = None,
        *,
        on_conflict: ConflictName = "error",
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
        on_error: OnError = "raise",
        progress: "Progress | None" = None,
        threads: int | None = None,
    ) -> int:
        """Store many documents, all or none of them; returns how many were stored.

        They wait in memory until they are committed, some 230 bytes each with the default options:
        store tens of millions in several calls.

        `ids`: str, bytes or int; a mapping from ids to documents needs no `documents`.
        `documents`: an iterable of documents, uint64[n] of ready fingerprints, a `Fingerprints`,
        vectors as float[n, d] or a CSR matrix, or an Arrow column.  `metadata`: a plain object or
        None for each document.  `encoding`, `errors`: see `query`.
        `progress(done)` is called now and then with the number of documents sketched; True draws a
        bar on a terminal.  `threads`: how many threads share the work; None: as many as the
        environment variable SIMDB_THREADS says or, without it, as this process may use processors.
        The result is the same for any number.

        `on_conflict`: what to do with a document whose id is stored already.  "error" raises
        ExistsError.  "skip" keeps the stored document and its metadata.  "replace" deletes it
        first, which others call an upsert.  "same" skips a document with the stored sketch, and
        raises ExistsError for any other.  If an id is given twice, the later document meets the
        earlier one as if it were stored; only with "error" that is an InputError.

        `on_error`: what to do with a document that cannot be read, because it, its id or its
        metadata are invalid.  "raise" raises InputError, and nothing is stored.  "skip" leaves it
        out, stores the others, and issues a RuntimeWarning with the number and the first of those
        left out; a function is called with the row, the id and the reason of each instead.
        """
        skipped = Skipped(on_error)
        how = on_conflict, encoding, errors, threads, progress, skipped
        call = write.storing.Call(ids, documents, metadata, *how)
        with crew(), self._changing("insert") as writing:
            count = write.storing.insert(writing, call)
        skipped.warn()
        return count

    def add_if_new(
        self,
        id: IdT,
        document: "DocumentLike",
        metadata: Any = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        where: "Mapping[str, Any] | None" = None,
        on_conflict: ConflictName = "same",
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
    ) -> Match[IdT] | None:
        """Store a document, unless a stored document matches it.

        Returns None if it was stored, otherwise its best match; of a flood of matches, the best of
        some 64.  No other writer can store a match between the search and the insertion.  See
        `query` for the criterion.

        `where`: values of fields (`Options.fields`) that the document has in its metadata, such as
        {"tenant": "t7"}; only documents that have them, too, can match it.  An id that another
        document has is an ExistsError then.

        `on_conflict`: what to do if the id is stored already.  "same" returns a match with the
        stored document if it has the same sketch, so the same claim can be made again; otherwise it
        raises ExistsError.  "skip" returns a match with the stored document, whatever it is.
        "replace" first deletes it, so that it is gone even if another document matches.  "error"
        raises ExistsError.
        """
        known = None if metadata is None else [metadata]
        call = write.storing.Call([id], [document], known, on_conflict, encoding, errors)
        if where is not None:
            call = call._replace(values=self._values(where))
        question = Question(similarity, distance, recall, search)
        with self._changing("insert") as writing:
            found = write.storing.claim_one(writing, call, question)
        return self._readable(found)

    def add_many_if_new(
        self,
        ids: Iterable[IdT],
        documents: Any = None,
        metadata: Any = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        where: "Mapping[str, Any] | None" = None,
        on_conflict: ConflictName = "same",
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
        on_error: OnError = "raise",
        rule: "RuleName" = "similar",
        verify: VerifyName | None = None,
        texts: "Texts[IdT] | None" = None,
        progress: "Progress | None" = None,
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Store each of many documents, in order, unless a document stored before it matches it.

        A document is also compared with the documents of this call that were stored before it.  Row
        i of the result is empty if document i was stored; otherwise it holds the best match, as
        `add_if_new` does.  See `query` for the criterion, `insert_many` for `ids` and `documents`,
        `add_if_new` for `where`, which all documents must satisfy.

        `on_error`: see `insert_many`; row i is also empty if document i was left out.  `skipped` of
        the result lists these documents.

        `texts`: the texts of stored documents; the exact similarity then decides what matches, see
        `find_all`.  A database with `Options.texts` or `Options.features` needs none.
        rule="contained": a document is refused only if its match also has all its word 3-grams and
        no fewer, see `simdb.deduplicate`.  A match of which neither text nor features are known
        refuses nothing, and no stored document goes for a longer one that comes later.

        `on_conflict`: what to do with a document whose id is stored already; see `add_if_new`.  If
        an id is given twice, the later document meets the earlier one if that was stored.  With
        "replace", all stored documents with these ids are deleted before the first look-up.  With
        "error", an id that is given twice is an InputError.  The similarity of a document with the
        stored one of the same id is always an estimate.

        After ExistsError no document is stored.
        """
        question = Question(similarity, distance, recall, search, verify=verify, lose=lose_of(rule))
        how = on_conflict, encoding, errors, threads, progress, Skipped(on_error)
        call = write.storing.Call(ids, documents, metadata, *how, self._values(where))
        with crew(), self._changing("insert") as writing:
            found = write.storing.claim(writing, call, question, texts)
        return self._readable(found)

    def insert_batch(
        self,
        ids: Iterable[IdT],
        documents: Any = None,
        metadata: Any = None,
        *,
        match: MatchName = "all",
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
        on_error: OnError = "raise",
        progress: "Progress | None" = None,
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Find the matches of many documents among those stored before, then store all of them.

        Row i of the result holds the matches of document i.  `match`: "all" returns all matches,
        best first; "first" returns any one match and is faster.  The documents of one call do not
        match each other; see `add_many_if_new` for that.  See `query` for the criterion and
        `insert_many` for `documents`.

        `on_error`: see `add_many_if_new`.
        `search` can also limit the memory: the search takes the documents in slices then, see
        `Search`.  `progress(done)` is called now and then with the number of documents looked up.

        Raises InputError for an invalid id, document or metadata, ExistsError for an id that is
        stored already; then no document is stored.
        """
        searches.many.check_match(match)
        question = Question(similarity, distance, recall, search, follows=OF_BATCHES)
        batch = searches.many.QueryBatch.checked(question, match)
        how = "error", encoding, errors, threads, progress, Skipped(on_error)
        call = write.storing.Call(ids, documents, metadata, *how)
        with crew(), self._changing("insert") as writing:
            found = write.storing.insert_batch(writing, call, batch)
        return self._readable(found)

    def update_metadata(self, id: IdT, metadata: Any) -> None:
        """Replace the metadata of one stored document; its sketch and its place in order stay.

        `metadata`: a plain object, or None to remove what is stored.  Raises NotFoundError if the
        id is unknown, InputError for metadata that cannot be stored.
        """
        with self._changing("change metadata") as writing:
            packed = states.incoming.pack_all([metadata], [id])
            ordinals = known_ordinals(writing.current(), [id])
            changed = packed[0][1] if packed else records.NO_METADATA
            writing.staging.change_metadata(int(ordinals[0]), changed, id)

    def delete(self, id: IdT) -> None:
        """Delete one document; NotFoundError if the id is unknown."""
        with self._changing("delete") as writing:
            if not write.storing.delete_ids(writing, [id]):
                raise NotFoundError(f"no document has the id {shown(id)}")

    def delete_many(self, ids: Iterable[IdT] | None = None, *, where: "Where | None" = None) -> int:
        """Delete the documents with these ids; returns their number.  Unknown ids are ignored.

        `where`, in place of ids: those that `delete_where(where)` deletes.  If one transaction
        inserts documents again that it has deleted, with the same sketches, nothing is written for
        them, and they stay in their place: so a new version of a source replaces the one before.

            with database.write() as transaction:
                transaction.delete_many(where={"source": "handbook"})
                transaction.insert_many(ids, texts, metadata)

        All are written anew in a database with passages, by `add_many_if_new`, by
        on_conflict="replace" without this deletion, and if clusters that the database keeps are
        asked for in between.
        """
        if (ids is None) == (where is None):
            raise InputError("delete_many takes either ids or where=")
        if where is not None:
            return self.delete_where(where)
        assert ids is not None
        with self._changing("delete") as writing:
            return write.storing.delete_ids(writing, ids)

    def delete_where(self, where: "Where") -> int:
        """Delete each document for whose metadata `where(metadata)` is true; returns their number.

        The metadata of a document without any are None.  If `where` raises an exception, nothing is
        deleted.  It can also be values of fields, see `query`.
        """
        if where is None:
            raise InputError("delete_where needs a function of the metadata, or values of fields")
        check_filters(self._store.options, where)
        with self._changing("delete") as writing:
            state = writing.current()
            return write.storing.delete_where(writing, state, state.live(), where)

    def expire(
        self,
        before: "datetime | None" = None,
        *,
        older_than: "timedelta | str | None" = None,
        where: "Where | None" = None,
    ) -> int:
        """Delete the documents whose time is before `before`; returns their number.

        `older_than`: in place of `before`, how long ago that is: a timedelta, or a text such as
        "30d", of a whole number and s, m, h, d or w (seconds to weeks).
        `where`: of these only the ones that `delete_where(where)` would delete.

        `Options.keep_times` of the database decides what the time of a document is: when it was
        inserted, or when it was inserted or last matched by a claim.  A datetime without a time
        zone is local time.  Times are stored in whole seconds, so a document of the same second as
        `before` stays.

        Raises OptionError if the database keeps no times.
        """
        seconds = seconds_of(before, older_than)
        if not self._store.options.keeps_times:
            raise OptionError(
                f"{self._store.environment.path} keeps no times of documents, so none can expire;"
                " create a database with Options(keep_times='inserted') or 'seen' and insert the"
                " documents there, or use delete_where with a date in their metadata"
            )
        check_filters(self._store.options, where)
        with self._changing("delete") as writing:
            state = writing.current()
            live, times = state.live(), state.times()
            old = live[(times[live] > 0) & (times[live] < seconds)]
            return write.storing.delete_where(writing, state, old, where)

    def _values(self, where: "Mapping[str, Any] | None") -> "FieldValues":
        """Return the values of fields that documents must have; InputError for a function."""
        condition, values = parted(self._store.options, where)
        if condition is not None:
            raise InputError(
                "where= of a claim takes values of fields, such as {'tenant': 't7'}, no function"
            )
        return values

    def _changing(self, what: str) -> "AbstractContextManager[WriteState]":
        """Enter a transaction alone, for a `with` block; an exception takes its changes back.

        `what` tells what the transaction must be idle for.
        """
