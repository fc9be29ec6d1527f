"""The writing verbs of a database, each in a write transaction of its own."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from simdb.choices import ConflictName, ErrorsName, MatchName, MethodName, VerifyName
from simdb.engine.pairing import ESTIMATE
from simdb.ids import IdT
from simdb.matches import Match, Matches

if TYPE_CHECKING:
    from datetime import datetime

    from simdb.document_like import DocumentLike
    from simdb.engine.search.judge import Documents
    from simdb.engine.search.where import Where
    from simdb.engine.state.incoming import Progress
    from simdb.engine.transaction import WriteTransaction


class Writing(Protocol[IdT]):
    """The writing verbs, over the transactions that `write` begins."""

    def write(self) -> "WriteTransaction[IdT]":
        """Begin a write transaction."""

    def insert(
        self,
        id: IdT,
        document: "DocumentLike",
        metadata: Any = None,
        *,
        replace: bool = False,
        on_conflict: ConflictName = "error",
        errors: ErrorsName = "strict",
    ) -> None:
        """Store one document and commit; see `WriteTransaction.insert`."""
        with self.write() as transaction:
            transaction.insert(
                id, document, metadata, replace=replace, on_conflict=on_conflict, errors=errors
            )

    def insert_many(
        self,
        ids: Iterable[IdT],
        documents: Any = None,
        metadata: Any = None,
        *,
        replace: bool = False,
        on_conflict: ConflictName = "error",
        errors: ErrorsName = "strict",
        progress: "Progress | None" = None,
        threads: int | None = None,
    ) -> int:
        """Store many documents and commit, all or none of them; returns how many were stored.

        `ids` and `documents`: as many of both, or a mapping from ids to documents alone.  The other
        arguments are described at `WriteTransaction.insert_many`.
        """
        with self.write() as transaction:
            return transaction.insert_many(
                ids, documents, metadata, replace=replace, on_conflict=on_conflict, errors=errors,
                progress=progress, threads=threads,
            )  # fmt: skip

    def add_if_new(
        self,
        id: IdT,
        document: "DocumentLike",
        metadata: Any = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: MethodName | None = None,
        on_conflict: ConflictName = "same",
        errors: ErrorsName = "strict",
    ) -> Match[IdT] | None:
        """Store a document and commit, unless a stored document matches it.

        Returns None if it was stored, otherwise its best match.  The same claim made again returns
        a match with the stored document.  No other writer can store a match between the search and
        the insertion.  See `WriteTransaction.add_if_new`.
        """
        with self.write() as transaction:
            return transaction.add_if_new(
                id, document, metadata, similarity=similarity, distance=distance, recall=recall,
                method=method, on_conflict=on_conflict, errors=errors,
            )  # fmt: skip

    def add_many_if_new(
        self,
        ids: Iterable[IdT],
        documents: Any = None,
        metadata: Any = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: MethodName | None = None,
        on_conflict: ConflictName = "same",
        errors: ErrorsName = "strict",
        verify: VerifyName = ESTIMATE,
        texts: "Documents[IdT] | None" = None,
        progress: "Progress | None" = None,
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Store many documents if new, and commit; see `WriteTransaction.add_many_if_new`."""
        with self.write() as transaction:
            return transaction.add_many_if_new(
                ids, documents, metadata, similarity=similarity, distance=distance, recall=recall,
                method=method, on_conflict=on_conflict, errors=errors, verify=verify, texts=texts,
                progress=progress, threads=threads,
            )  # fmt: skip

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
        method: MethodName | None = None,
        memory_limit: int | None = None,
        errors: ErrorsName = "strict",
        progress: "Progress | None" = None,
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Match many documents, then store all and commit; see `WriteTransaction.insert_batch`."""
        with self.write() as transaction:
            return transaction.insert_batch(
                ids, documents, metadata, match=match, similarity=similarity, distance=distance,
                recall=recall, method=method, memory_limit=memory_limit, errors=errors,
                progress=progress, threads=threads,
            )  # fmt: skip

    def update_metadata(self, id: IdT, metadata: Any) -> None:
        """Replace the metadata of one document and commit; None removes them.

        Raises NotFoundError if the id is unknown.
        """
        with self.write() as transaction:
            transaction.update_metadata(id, metadata)

    def delete(self, id: IdT) -> None:
        """Delete one document and commit; NotFoundError if the id is unknown."""
        with self.write() as transaction:
            transaction.delete(id)

    def delete_many(self, ids: Iterable[IdT]) -> int:
        """Delete the documents with these ids and commit; see `WriteTransaction.delete_many`."""
        with self.write() as transaction:
            return transaction.delete_many(ids)

    def delete_where(self, where: "Where") -> int:
        """Delete each document for whose metadata `where(metadata)` is true, and commit.

        Returns the number of documents deleted.  See `WriteTransaction.delete_where`.
        """
        with self.write() as transaction:
            return transaction.delete_where(where)

    def expire(self, before: "datetime", *, where: "Where | None" = None) -> int:
        """Delete the documents whose time is before `before`, and commit; returns their number.

        `where`: of these only the ones that `delete_where(where)` would delete.
        The database must have been created with `Options.keep_times`.  See
        `WriteTransaction.expire`.
        """
        with self.write() as transaction:
            return transaction.expire(before, where=where)
