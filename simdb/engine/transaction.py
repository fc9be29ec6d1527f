"""Write transactions: all verbs, on a state that only this transaction sees until it commits."""

from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simdb.columns.arrow import text_column
from simdb.engine.reading import Reading
from simdb.engine.search import lookup, many
from simdb.engine.search.filters import Where, check_filters, check_where, satisfying
from simdb.engine.search.question import Question, criterion_of
from simdb.engine.state import incoming
from simdb.engine.state.documents import known_ordinals
from simdb.engine.state.staged import seconds_of
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.engine.write import claim, conflicts
from simdb.engine.write.undecided import Referee
from simdb.engine.write.write_state import WriteState
from simdb.ground import previews
from simdb.ground.choices import ConflictName, ErrorsName, MatchName, MethodName, VerifyName
from simdb.ground.errors import NotFoundError, OptionError
from simdb.results.matches import Match, Matches
from simdb.running import kernel
from simdb.running.progress import Progress
from simdb.running.threads import crew, thread_count
from simdb.settings.search import OF_BATCHES, Search
from simdb.storage.environment.gate import Holder
from simdb.storage.records.metadata import NO_METADATA, note_key, packed_note
from simdb.values.arrays import IdT, Sketches, check_many, sorted_unique

if TYPE_CHECKING:
    from simdb.engine.search.judge import Texts
    from simdb.plan.problem import Criterion
    from simdb.values.documents import DocumentLike


class WriteTransaction(Reading[IdT]):
    """Inserts, deletions and queries; queries see what the transaction staged before.

    Use it with `with`: it commits at the end, or changes nothing if an exception leaves the block.
    A database has one write transaction at a time; other writers wait.
    """

    def __init__(self, store: Store) -> None:
        """Wait for the write lock, and begin."""
        self._store = store
        self._writing = WriteState(store)
        self._outer: set[Holder] = set()

    @property
    def next_ordinal(self) -> int:
        """The ordinal of the next document that is stored."""
        return self._writing.staging.next_ordinal

    def insert(
        self,
        id: IdT,
        document: "DocumentLike",
        metadata: Any = None,
        *,
        on_conflict: ConflictName = "error",
        errors: ErrorsName = "strict",
    ) -> None:
        """Store one document; see `insert_many`.

        Raises ExistsError if the id is stored already, unless `on_conflict` says otherwise.
        """
        rule = conflicts.rule_of(on_conflict)
        with self._writing.alone("the transaction must be idle to insert"):
            form = kernel.encode_ids([id])
            if self._writing.staging.lacks(int(form[2][0])):
                packed = incoming.pack_one(metadata, id)
                sketches = self._sketch_one(document, errors)
                self._writing.staging.insert(incoming.batch_of_one(form, sketches), packed)
                return
            known = None if metadata is None else [metadata]
            self._insert(_Storing([id], [document], known, rule, errors))

    def insert_many(
        self,
        ids: Iterable[IdT],
        documents: Any = None,
        metadata: Any = None,
        *,
        on_conflict: ConflictName = "error",
        errors: ErrorsName = "strict",
        progress: Progress | None = None,
        threads: int | None = None,
    ) -> int:
        """Store many documents, all or none of them; returns how many were stored.

        `ids`: str, bytes or int; a mapping from ids to documents needs no `documents`.
        `documents`: an iterable of documents, uint64[n] of
        ready fingerprints, a `Fingerprints`, vectors as float[n, d] or a CSR matrix, or an Arrow
        column.  `metadata`: a plain object or None for each document.  `errors`: see `query`.
        `progress(done)` is called now and then with the number of documents sketched; True draws a
        bar on a terminal.  `threads`: how many threads share the work; None: as many as the
        environment variable SIMDB_THREADS says or, without it, as this process may use processors.
        The result is the same for any number.

        `on_conflict`: what to do with a document whose id is stored already.  "error" raises
        ExistsError.  "skip" keeps the stored document and its metadata.  "replace" deletes it
        first.  "same" skips a document with the stored sketch, and raises ExistsError for any
        other.  If an id is given twice, the later document meets the earlier one as if it were
        stored; only with "error" that is an InputError.

        Raises InputError for an invalid id, document or metadata.
        """
        rule = conflicts.rule_of(on_conflict)
        ids, documents = incoming.both_columns(ids, documents)
        with crew(), self._writing.alone("the transaction must be idle to insert"):
            call = _Storing(ids, documents, metadata, rule, errors, thread_count(threads), progress)
            return self._insert(call)

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
        on_conflict: ConflictName = "same",
        errors: ErrorsName = "strict",
    ) -> Match[IdT] | None:
        """Store a document, unless a stored document matches it.

        Returns None if it was stored, otherwise its best match; of a flood of matches, the best of
        some 64.  See `query` for the criterion.

        `on_conflict`: what to do if the id is stored already.  "same" returns a match with the
        stored document if it has the same sketch, so the same claim can be made again; otherwise it
        raises ExistsError.  "skip" returns a match with the stored document, whatever it is.
        "replace" first deletes it, so that it is gone even if another document matches.  "error"
        raises ExistsError.
        """
        rule = conflicts.rule_of(on_conflict)
        question = Question(similarity, distance, recall, search)
        with self._writing.alone("the transaction must be idle to insert"):
            form, packed = kernel.encode_ids([id]), incoming.pack_one(metadata, id)
            staging = self._writing.staging
            is_new = staging.lacks(int(form[2][0]))
            has_features = self._store.options.features
            if has_features or (not is_new and self._writing.current().find(*form)[0] >= 0):
                known = None if metadata is None else [metadata]
                found = self._claim(_Storing([id], [document], known, rule, errors), question)
                return found[0][0] if found[0] else None
            sketches = self._sketch_one(document, errors)
            criterion = criterion_of(self._store.options, sketches, question)
            batch = incoming.batch_of_one(form, sketches)
            return claim.add_one(staging, self._writing.current(), batch, packed, criterion)

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
        on_conflict: ConflictName = "same",
        errors: ErrorsName = "strict",
        verify: VerifyName | None = None,
        texts: "Texts[IdT] | None" = None,
        progress: Progress | None = None,
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Store each of many documents, in order, unless a document stored before it matches it.

        A document is also compared with the documents of this call that were stored before it.  Row
        i of the result is empty if document i was stored; otherwise it holds the best match, as
        `add_if_new` does.  See `query` for the criterion, `insert_many` for `ids` and `documents`.

        `texts`: the texts of stored documents; the exact similarity then decides what matches, see
        `find_all`.  A database with `Options.features` needs none.

        `on_conflict`: what to do with a document whose id is stored already; see `add_if_new`.  If
        an id is given twice, the later document meets the earlier one if that was stored.  With
        "replace", all stored documents with these ids are deleted before the first look-up.  With
        "error", an id that is given twice is an InputError.  The similarity of a document with the
        stored one of the same id is always an estimate.

        After ExistsError no document is stored.
        """
        rule = conflicts.rule_of(on_conflict)
        question = Question(similarity, distance, recall, search, verify=verify)
        ids, documents = incoming.both_columns(ids, documents)
        with crew(), self._writing.alone("the transaction must be idle to insert"):
            call = _Storing(ids, documents, metadata, rule, errors, thread_count(threads), progress)
            return self._claim(call, question, texts)

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
        errors: ErrorsName = "strict",
        progress: Progress | None = None,
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Find the matches of many documents among those stored before, then store all of them.

        Row i of the result holds the matches of document i.  `match`: "all" returns all matches,
        best first; "first" returns any one match and is faster.  The documents of one call do not
        match each other; see `add_many_if_new` for that.  See `query` for the criterion and
        `insert_many` for `documents`.

        `search` can also limit the memory: the search takes the documents in slices then, see
        `Search`.  `progress(done)` is called now and then with the number of documents looked up.

        Raises InputError for an invalid id, document or metadata, ExistsError for an id that is
        stored already; then no document is stored.
        """
        many.check_match(match)
        question = Question(similarity, distance, recall, search, follows=OF_BATCHES)
        batch, count = many.QueryBatch.checked(question, match), thread_count(threads)
        ids, documents = incoming.both_columns(ids, documents)
        with crew(), self._writing.alone("the transaction must be idle to insert"):
            state, sketcher = self._writing.current(), self._store.sketcher
            encoded, packed, *_ = self._arriving(ids, metadata, conflicts.ERROR, count)
            state.threads = count
            slices = incoming.sketch_slices(
                sketcher, documents, len(encoded), batch.query_count(self._store.width),
                errors=errors, threads=count, beside=self._store.beside,
            )  # fmt: skip
            rows, sketches = many.match_batch(state, slices, batch, progress)
            matches = lookup.as_matches(state, rows)
            if len(encoded):
                self._writing.staging.insert(incoming.make_batch(encoded, sketches), packed)
            return matches

    def update_metadata(self, id: IdT, metadata: Any) -> None:
        """Replace the metadata of one stored document; its sketch and its place in order stay.

        `metadata`: a plain object, or None to remove what is stored.  Raises NotFoundError if the
        id is unknown, InputError for metadata that cannot be stored.
        """
        with self._writing.alone("the transaction must be idle to change metadata"):
            packed = incoming.pack_one(metadata, id)
            ordinals = known_ordinals(self._writing.current(), [id])
            changed = packed[0][1] if packed else NO_METADATA
            self._writing.staging.metadata.change(int(ordinals[0]), changed)

    def delete(self, id: IdT) -> None:
        """Delete one document; NotFoundError if the id is unknown."""
        with self._writing.alone("the transaction must be idle to delete"):
            if not self._delete_ids([id]):
                raise NotFoundError(f"no document has the id {id!r}")

    def delete_many(self, ids: Iterable[IdT]) -> int:
        """Delete the documents with these ids; returns their number.  Unknown ids are ignored."""
        with self._writing.alone("the transaction must be idle to delete"):
            return self._delete_ids(ids)

    def delete_where(self, where: Where) -> int:
        """Delete each document for whose metadata `where(metadata)` is true; returns their number.

        The metadata of a document without any are None.  If `where` raises an exception, nothing is
        deleted.
        """
        check_where(where)
        with self._writing.alone("the transaction must be idle to delete"):
            state = self._writing.current()
            ordinals = satisfying(state, state.live(), where)
            conflicts.delete_all(self._writing.staging, state, ordinals)
            return len(ordinals)

    def expire(self, before: datetime, *, where: Where | None = None) -> int:
        """Delete the documents whose time is before `before`; returns their number.

        `where`: of these only the ones that `delete_where(where)` would delete.

        `Options.keep_times` of the database decides what the time of a document is: when it was
        inserted, or when it was inserted or last matched by a claim.  A datetime without a time
        zone is local time.  Times are stored in whole seconds, so a document of the same second as
        `before` stays.

        Raises OptionError if the database keeps no times.
        """
        if not self._store.options.keeps_times:
            raise OptionError(
                f"{self._store.environment.path} keeps no times of documents, so none can expire;"
                " create a database with Options(keep_times='inserted') or 'seen' and insert the"
                " documents there, or use delete_where with a date in their metadata"
            )
        seconds = seconds_of(before)
        check_filters(where)
        with self._writing.alone("the transaction must be idle to delete"):
            state = self._writing.current()
            live, times = state.live(), state.times()
            ordinals = live[(times[live] > 0) & (times[live] < seconds)]
            if where is not None:
                ordinals = satisfying(state, ordinals, where)
            conflicts.delete_all(self._writing.staging, state, ordinals)
            return len(ordinals)

    def set_note(self, name: str, content: Any) -> None:
        """Store a note of plain types, which `note` reads; None removes it.  See `note`."""
        key, packed = note_key(name), packed_note(content)
        with self._writing.alone("the transaction must be idle to set a note"):
            self._writing.staging.notes[key] = packed

    def commit(self) -> None:
        """Make all staged changes durable and visible, and end the transaction.

        Raises BusyError while a verb of the transaction runs, at once from a function that the verb
        calls; the transaction then stays open.
        """
        self._writing.commit()

    def abort(self) -> None:
        """Discard all staged changes, and end the transaction; aborting again does nothing.

        Raises BusyError like `commit` while a verb of the transaction runs, after two seconds at
        most.
        """
        self._writing.abort()

    def __enter__(self) -> "WriteTransaction[IdT]":
        """Return the transaction itself."""
        self._outer = self._writing.inside()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Commit, or abort after an exception."""
        if self._writing.is_ended:
            return
        if kind is None:
            self.commit()
        else:
            self._writing.forgive(self._outer)
            self.abort()

    def __repr__(self) -> str:
        """Return the path, and the number of documents that it sees or that it has ended."""
        environment = self._store.environment
        state = previews.counted(self._writing.staging.document_count, "document")
        if environment.is_foreign:
            state = "of another process"
        elif self._writing.is_ended:
            state = "ended"
        return f"<simdb.WriteTransaction on {environment.path!r}, {state}>"

    def __del__(self) -> None:
        """Abort a transaction that was dropped without an end."""
        writing = getattr(self, "_writing", None)
        if writing is not None and not writing.is_ended:
            writing.end()

    def _sketch_one(self, document: "DocumentLike", errors: ErrorsName) -> Sketches:
        sketches = self._store.sketcher.sketch([document], errors=errors)
        beside = self._store.beside
        return sketches if beside is None else beside.added(sketches, [document], errors=errors)

    def _sketched(
        self, call: "_Storing", documents: Any, progress: Progress | None = None
    ) -> tuple[conflicts.Arriving, Sketches]:
        """Return what arrives with a call, and sketches; errors of the ids come first."""
        store, ids = self._store, incoming.as_list(call.ids, "ids")
        parts = incoming.sketching(
            store.sketcher, documents, call.errors, call.threads, store.beside
        )
        with closing(parts):
            given = self._arriving(ids, call.metadata, call.rule, call.threads)
            return given, incoming.collected(store.sketcher, parts, len(ids), progress)

    def _insert(self, call: "_Storing") -> int:
        given, sketches = self._sketched(call, call.documents, call.progress)
        staging, state = self._writing.staging, self._writing.current()
        chosen, replaced = conflicts.to_insert(state, given, sketches)
        conflicts.delete_all(staging, state, replaced)
        batch, packed = incoming.make_batch(given.ids, sketches), given.metadata
        if len(chosen) < len(batch):
            batch, packed = incoming.chosen_batch(batch, chosen), incoming.moved(packed, chosen)
        if len(batch):
            staging.insert(batch, packed)
        return len(batch)

    def _claim(
        self, call: "_Storing", question: Question, texts: "Texts[IdT] | None" = None
    ) -> Matches[IdT]:
        documents, is_exact = call.documents, self._is_exact(question.verify, texts)
        if is_exact:
            check_many(documents, "documents")
            column = text_column(documents)
            documents = incoming.as_list(documents, "documents") if column is None else column
        given, sketches = self._sketched(call, documents)
        criterion, referee = self._refereed(sketches, documents, question, texts, is_exact=is_exact)
        batch = incoming.make_batch(given.ids, sketches)
        decided = conflicts.Conflicts(given)
        return claim.add_new(self._writing, batch, criterion, decided, call.progress, referee)

    def _arriving(self, ids: Any, metadata: Any, rule: str, threads: int) -> conflicts.Arriving:
        """Return the documents of one call, which `threads` threads will sketch and store."""
        self._writing.staging.threads = threads
        return conflicts.arriving(self._writing.current(), ids, metadata, rule)

    def _refereed(
        self,
        sketches: Sketches,
        documents: Any,
        question: Question,
        texts: "Texts[IdT] | None",
        *,
        is_exact: bool,
    ) -> "tuple[Criterion, Referee | None]":
        """Return by what matches of documents are found, and who confirms them."""
        criterion, judge = criterion_of(self._store.options, sketches, question), None
        if is_exact:
            criterion, judge = self._judging(criterion, question, texts)
        if judge is None:
            return criterion, None
        return criterion, Referee(judge, documents, self.next_ordinal)

    def _state(self) -> State:
        return self._writing.state()

    def _hold(self) -> State:
        return self._writing.hold()

    def _lasting(self) -> tuple[Reading[IdT], None]:
        return self, None

    def _delete_ids(self, ids: Iterable[IdT]) -> int:
        offsets, content, hashes = kernel.encode_ids(incoming.as_list(ids, "ids"))
        found = self._writing.current().find(offsets, content, hashes)
        ordinals = sorted_unique(found[found >= 0]).astype(np.uint32)
        conflicts.delete_all(self._writing.staging, self._writing.current(), ordinals)
        return len(ordinals)


class _Storing(NamedTuple):
    """The arguments of a call that stores documents; `rule`: see `conflicts`."""

    ids: Any
    documents: Any
    metadata: Any
    rule: str
    errors: ErrorsName
    threads: int = 1
    progress: Progress | None = None
