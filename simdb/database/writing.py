"""Writing: the writing verbs of a database, which commits each of them, and of a transaction.

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
        """Store one document.

        A database commits after each verb; a write transaction commits all changes together.

        Parameters
        ----------
        id : str, bytes or int
            The id.
        document : document or sketch
            The document, or its ready sketch; see `query`.
        metadata : plain object, optional
            Anything that msgpack can store: dict, list, str, bytes, int, float, bool or None.
        on_conflict : {"error", "skip", "replace", "same"}, default "error"
            What to do if the id is stored already; see `insert_many`.
        encoding : str, default "utf-8"
            The encoding of bytes; see `query`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.

        Raises
        ------
        ExistsError
            If the id is stored already, unless `on_conflict` says otherwise.
        InputError
            If the id, the document or the metadata are invalid.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.insert("a", "the quick brown fox jumps over the lazy dog", {"lang": "en"})
        ...     database["a"].metadata
        {'lang': 'en'}
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
        """Store many documents, all or none of them.

        Parameters
        ----------
        ids : iterable of str, bytes or int
            The ids.  A mapping from ids to documents needs no `documents`.
        documents : iterable of documents, array, Fingerprints, CSR matrix or Arrow column, optional
            The documents, or their ready sketches: uint64[n] of fingerprints, a `Fingerprints`,
            vectors as float[n, d] or a CSR matrix.
        metadata : iterable of plain objects, optional
            The metadata of each document, or None.
        on_conflict : {"error", "skip", "replace", "same"}, default "error"
            What to do with a document whose id is stored already.  "error" raises ExistsError.
            "skip" keeps the stored document and its metadata.  "replace" deletes it first (an
            upsert).  "same" skips a document with the stored sketch, and raises ExistsError for any
            other.
        encoding : str, default "utf-8"
            The encoding of bytes; see `query`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.
        on_error : {"raise", "skip"} or callable, default "raise"
            What to do with a document that cannot be read, because it, its id or its metadata are
            invalid.  "raise" raises InputError.  "skip" omits it, and a RuntimeWarning gives the
            number of omitted documents and the first.  A function is called with the row, the id
            and the reason.
        progress : callable or True, optional
            Called now and then with the number of documents sketched; True draws a bar on a
            terminal.
        threads : int, optional
            Number of threads that share the work.  If not given, the environment variable
            SIMDB_THREADS or, without it, the number of processors this process may use.  The result
            is the same for any number.

        Returns
        -------
        int
            Number of documents stored.

        Raises
        ------
        ExistsError
            If an id is stored already, with on_conflict="error" or "same"; nothing is stored.
        InputError
            If an id, a document or its metadata is invalid, with on_error="raise", or if an id
            appears twice, with on_conflict="error".  Nothing is stored.

        Notes
        -----
        If an id appears twice, `on_conflict` decides what happens to the later document, as if the
        earlier one were stored.

        The documents wait in memory until they are committed, some 230 bytes each with the default
        options.  Store tens of millions in several calls.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.insert_many({"a": "a first text of some words", "b": "a second text"})
        2
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

        No other writer can store a match between the search and the insertion.

        Parameters
        ----------
        id : str, bytes or int
            The id.
        document : document or sketch
            The document, or its ready sketch; see `query`.
        metadata : plain object, optional
            The metadata; see `insert`.
        similarity : float, optional
            The least similarity of a match; see `query`.
        distance : int, optional
            The largest distance of a match; see `query`.
        recall : float, optional
            The share of matches to find; see `query`.
        search : str or Search, optional
            How to search; see `query`.
        where : dict, optional
            Values of fields (`Options.fields`) that the document has in its metadata, such as
            {"tenant": "t7"}.  Only documents with these values can match it.
        on_conflict : {"same", "skip", "replace", "error"}, default "same"
            What to do if the id is stored already.  "same" returns a match with the stored document
            if that has the same sketch, so a claim can be repeated, and otherwise raises
            ExistsError. "skip" returns a match with the stored document.  "replace" deletes it
            first, so it is gone even if another document matches.  "error" raises ExistsError.
        encoding : str, default "utf-8"
            The encoding of bytes; see `query`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.

        Returns
        -------
        Match or None
            None if the document was stored, otherwise its best match.  If very many documents
            match, it is the best of some 64.

        Raises
        ------
        ExistsError
            If the id is stored already (see `on_conflict`), or stored with other values of `where`.
        InputError
            If the id, the document or the metadata are invalid.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.add_if_new("a", "the quick brown fox jumps over the lazy dog")
        ...     database.add_if_new("b", "The quick brown fox jumps over the lazy dog!").id
        'a'
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
        """Store many documents, in order, each unless a document stored before matches it.

        A document is also compared with the documents of this call that were stored before it.

        Parameters
        ----------
        ids : iterable of str, bytes or int
            The ids; see `insert_many`.
        documents : iterable of documents, array, Fingerprints, CSR matrix or Arrow column, optional
            The documents; see `insert_many`.
        metadata : iterable of plain objects, optional
            The metadata; see `insert_many`.
        similarity : float, optional
            The least similarity of a match; see `query`.
        distance : int, optional
            The largest distance of a match; see `query`.
        recall : float, optional
            The share of matches to find; see `query`.
        search : str or Search, optional
            How to search; see `query`.
        where : dict, optional
            Values of fields that all documents have in their metadata; see `add_if_new`.
        on_conflict : {"same", "skip", "replace", "error"}, default "same"
            What to do with a document whose id is stored already; see `add_if_new`.  With
            "replace", all stored documents with these ids are deleted before the first look-up.
        encoding : str, default "utf-8"
            The encoding of bytes; see `query`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.
        on_error : {"raise", "skip"} or callable, default "raise"
            What to do with a document that cannot be read; see `insert_many`.
        rule : {"similar", "contained"}, default "similar"
            "contained" refuses a document only if its match also has all its word 3-grams and no
            fewer; see `simdb.deduplicate`.
        verify : {"estimate", "exact", "numbers"}, optional
            How candidates are compared; see `find_all`.
        texts : mapping or callable, optional
            The texts of stored documents, to compare exactly; see `find_all`.  A database with
            `Options.texts` or `Options.features` needs none.
        progress : callable or True, optional
            Called with the number of documents; see `insert_many`.
        threads : int, optional
            Number of threads; see `insert_many`.

        Returns
        -------
        Matches
            Row i is empty if document i was stored, or omitted by `on_error`; otherwise it holds
            the best match, as `add_if_new` returns it.  `skipped` lists the documents that were
            omitted.

        Raises
        ------
        ExistsError
            If an id is stored already (see `on_conflict`); no document is stored.
        InputError
            If an id, a document or its metadata is invalid, or if an id appears twice, with
            on_conflict="error".

        Notes
        -----
        If an id appears twice and the earlier document was stored, `on_conflict` decides what
        happens to the later one.  The similarity to a stored document with the same id is always an
        estimate.  With rule="contained", a match without known text or features refuses nothing.  A
        stored document is never removed for a longer document that is claimed later.

        Examples
        --------
        >>> texts = ["a text about bread and salt", "a text about bread and salt!", "on ships"]
        >>> with simdb.open(None) as database:
        ...     found = database.add_many_if_new(["a", "b", "c"], texts)
        ...     [[match.id for match in row] for row in found]
        [[], ['a'], []]
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

        The documents of one call do not match each other; see `add_many_if_new` for that.

        Parameters
        ----------
        ids : iterable of str, bytes or int
            The ids; see `insert_many`.
        documents : iterable of documents, array, Fingerprints, CSR matrix or Arrow column, optional
            The documents; see `insert_many`.
        metadata : iterable of plain objects, optional
            The metadata; see `insert_many`.
        match : {"all", "first"}, default "all"
            "all" returns all matches, best first; "first" returns any one match and is faster.
        similarity : float, optional
            The least similarity of a match; see `query`.
        distance : int, optional
            The largest distance of a match; see `query`.
        recall : float, optional
            The share of matches to find; see `query`.
        search : str or Search, optional
            How to search; see `query`.  It can also limit the memory: the search then takes the
            documents in slices, see `Search`.
        encoding : str, default "utf-8"
            The encoding of bytes; see `query`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.
        on_error : {"raise", "skip"} or callable, default "raise"
            What to do with a document that cannot be read; see `add_many_if_new`.
        progress : callable or True, optional
            Called now and then with the number of documents looked up.
        threads : int, optional
            Number of threads; see `insert_many`.

        Returns
        -------
        Matches
            Row i holds the matches of document i.

        Raises
        ------
        InputError
            If an id, a document or its metadata is invalid; no document is stored.
        ExistsError
            If an id is stored already; no document is stored.
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
        """Replace the metadata of one stored document.

        Its sketch and its place in the order of insertion do not change.

        Parameters
        ----------
        id : str, bytes or int
            The id.
        metadata : plain object
            The new metadata; None removes them.

        Raises
        ------
        NotFoundError
            If the id is unknown.
        InputError
            If the metadata cannot be stored.
        """
        with self._changing("change metadata") as writing:
            packed = states.incoming.pack_all([metadata], [id])
            ordinals = known_ordinals(writing.current(), [id])
            changed = packed[0][1] if packed else records.NO_METADATA
            writing.staging.change_metadata(int(ordinals[0]), changed, id)

    def delete(self, id: IdT) -> None:
        """Delete one document.

        Parameters
        ----------
        id : str, bytes or int
            The id.

        Raises
        ------
        NotFoundError
            If the id is unknown.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.insert("a", "the quick brown fox jumps over the lazy dog")
        ...     database.delete("a")
        ...     len(database)
        0
        """
        with self._changing("delete") as writing:
            if not write.storing.delete_ids(writing, [id]):
                raise NotFoundError(f"no document has the id {shown(id)}")

    def delete_many(self, ids: Iterable[IdT] | None = None, *, where: "Where | None" = None) -> int:
        """Delete many documents, by id or by a condition.

        Parameters
        ----------
        ids : iterable of str, bytes or int, optional
            The ids; unknown ids are ignored.
        where : callable or dict, optional
            In place of ids: delete the documents that `delete_where` deletes.

        Returns
        -------
        int
            Number of documents deleted.

        Notes
        -----
        If a transaction deletes documents and inserts them again with the same sketches, nothing is
        written for them, and they keep their place.  So this replaces the old version of a source
        by a new one:

            with database.write() as transaction:
                transaction.delete_many(where={"source": "handbook"})
                transaction.insert_many(ids, texts, metadata)

        All documents are written again in a database with passages, by `add_many_if_new`, and by
        on_conflict="replace" without this deletion.  The same holds if maintained clusters are read
        in between.
        """
        if (ids is None) == (where is None):
            raise InputError("delete_many takes either ids or where=")
        if where is not None:
            return self.delete_where(where)
        assert ids is not None
        with self._changing("delete") as writing:
            return write.storing.delete_ids(writing, ids)

    def delete_where(self, where: "Where") -> int:
        """Delete the documents whose metadata satisfy a condition.

        Parameters
        ----------
        where : callable or dict
            A function of the metadata (None for a document without any), or values of fields; see
            `query`.  If the function raises an exception, nothing is deleted.

        Returns
        -------
        int
            Number of documents deleted.
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
        """Delete the documents whose time is before a moment.

        Parameters
        ----------
        before : datetime, optional
            The moment; without a time zone it is local time.
        older_than : timedelta or str, optional
            An age in place of `before`: a timedelta, or a text such as "30d".  The text is a whole
            number and s, m, h, d or w (seconds to weeks).
        where : callable or dict, optional
            Delete only documents that `delete_where(where)` would delete.

        Returns
        -------
        int
            Number of documents deleted.

        Raises
        ------
        OptionError
            If the database keeps no times, or unless exactly one moment or age is given.
        InputError
            If `before` or `older_than` is invalid.

        Notes
        -----
        `Options.keep_times` defines the time of a document: its insertion, or the last time that it
        was inserted or matched by a claim.  Times are stored in whole seconds, so a document of the
        same second as `before` is kept.

        Examples
        --------
        >>> options = simdb.Options(keep_times="inserted")
        >>> with simdb.open(None, options=options) as database:
        ...     database.insert("a", "the quick brown fox jumps over the lazy dog")
        ...     database.expire(older_than="30d")
        0
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
        """Return the values of fields that documents must have; raise InputError for a function."""
        condition, values = parted(self._store.options, where)
        if condition is not None:
            raise InputError(
                "where= of a claim takes values of fields, such as {'tenant': 't7'}, not a function"
            )
        return values

    def _changing(self, what: str) -> "AbstractContextManager[WriteState]":
        """Enter a transaction alone, for a `with` block; an exception takes its changes back.

        `what`: the action for which the transaction must be idle, in words.
        """
