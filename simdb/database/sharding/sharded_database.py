"""The sharded database: `open_sharded`, and the reading verbs over all shards."""

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal

import numpy as np
import numpy.typing as npt

from simdb.core import checks, previews
from simdb.core.arrays import ORDINALS_MAX, IdT, Sketches, object_array
from simdb.core.choices import (
    ErrorsName,
    MatchName,
    MethodName,
    MissingName,
    OnError,
    PolicyName,
    VerifyName,
)
from simdb.core.decoding import UTF8, as_text, known_encoding
from simdb.core.documents import Document
from simdb.core.errors import InputError, ReadOnlyError
from simdb.core.foreign import hinting
from simdb.core.keeping import Keep, needs_metadata
from simdb.core.matches import Match, Matches, PairArrays
from simdb.core.options import Options
from simdb.core.reports import Advice, Finding, Plan, ShardedStatistics
from simdb.core.search import OF_BATCHES, OF_PAIRS, OF_QUERIES, Search
from simdb.core.skipped import Skipped
from simdb.core.threads import thread_count
from simdb.database import search as searches, state as states
from simdb.database.database import Database
from simdb.database.explain.stored import Both
from simdb.database.search.filters import accepted, accepted_many, check_filters
from simdb.database.search.nearest import Wanted
from simdb.database.search.question import Question, check_limit
from simdb.database.sharding import searching
from simdb.database.sharding.shards import (
    Shards,
    all_sketches,
    check_known,
    contained,
    drawn_ids,
    of_stored,
)
from simdb.storage import directory_of, shard_name

if TYPE_CHECKING:
    from simdb.core.clusters import Clusters
    from simdb.core.documents import DocumentLike
    from simdb.core.reports import Explanation
    from simdb.database.search.filters import Accept, AcceptMany, Where
    from simdb.database.search.judge import Texts
    from simdb.database.search.nearest import Vectors
    from simdb.database.search.pairs import Pairs


class ShardedDatabase(Generic[IdT]):
    """Several databases in one directory that answer as one; `simdb.open_sharded` opens it.

    The verbs are those of `Database` that read, with the same arguments.  A query becomes a sketch
    once, every shard is asked, and the answers are merged: best first, at most `limit` in all.
    Equally good matches are in the order of the shards, and in a shard in the order of insertion.
    A verb by id asks only the shard to which the id belongs.
    """

    if not TYPE_CHECKING:
        __getattr__ = hinting("Database")

    def __init__(self, shards: Shards) -> None:
        """Use `simdb.open_sharded` instead."""
        self._shards = shards

    @property
    def path(self) -> str:
        """The directory of the sharded database."""
        return self._shards.path

    @property
    def options(self) -> Options:
        """The options of all shards."""
        return self._shards.sample.database.options

    @property
    def shard_count(self) -> int:
        """The number of shards, with those that are left out."""
        return self._shards.count

    @property
    def skipped(self) -> dict[str, str]:
        """Why a shard is left out, by its name; only with missing="skip"."""
        failures = sorted(self._shards.failures.items())
        return {shard_name(number): str(error) for number, error in failures}

    @property
    def is_closed(self) -> bool:
        """Whether the sharded database was closed."""
        return self._shards.is_closed

    def close(self) -> None:
        """Close all shards; closing them again does nothing."""
        self._shards.close()

    def query(
        self,
        document: "DocumentLike | None" = None,
        *,
        id: IdT | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        limit: int | None = None,
        where: "Where | None" = None,
        accept: "Accept[IdT] | None" = None,
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
        threads: int | None = 1,
    ) -> list[Match[IdT]]:
        """Find the documents that match `document`, or the stored document `id`, best first.

        See `Database.query`.  `threads`: how many shards are asked at the same time.  To start a
        thread takes longer than most queries, so it is 1 by default; more help where shards are on
        a slow disk, or where every document is compared.
        """
        document = as_text(document, known_encoding(encoding), errors)
        check_limit(limit)
        check_filters(where, accept)
        count, given = thread_count(threads), (similarity, distance, recall, search)
        query = searching.asked(self._shards, document, id, errors, "query")
        most = limit if accept is None else None
        found = searching.find(self._shards, query, given, most, where, count)
        if accept is None:
            return found
        least = Question(*given).least_similarity(self.options)
        return accepted(found, accept, least, limit, first=False)

    def first(
        self,
        document: "DocumentLike | None" = None,
        *,
        id: IdT | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        where: "Where | None" = None,
        accept: "Accept[IdT] | None" = None,
        errors: ErrorsName = "strict",
    ) -> Match[IdT] | None:
        """Find any one match, as fast as possible; None if no document matches.

        The shards are asked one after the other, up to the first that has a match.  See `query`.
        """
        check_filters(where, accept)
        given = (similarity, distance, recall, search)
        query = searching.asked(self._shards, document, id, errors, "first")
        if accept is None:
            return searching.find_first(self._shards, query, given, where)
        found = searching.find(self._shards, query, given, None, where, 1)
        least = Question(*given).least_similarity(self.options)
        return next(iter(accepted(found, accept, least, 1, first=True)), None)

    def query_many(
        self,
        documents: Any = None,
        *,
        ids: Iterable[IdT] | None = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        limit: int | None = None,
        match: MatchName = "all",
        where: "Where | None" = None,
        accept: "AcceptMany[IdT] | None" = None,
        encoding: str = "utf-8",
        errors: ErrorsName = "strict",
        on_error: OnError = "raise",
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Find the matches of many documents at once, as arrays; see `Database.query_many`.

        `threads`: how many threads share the work; each takes another shard if there are enough.
        The memory limit of `search` is for all shards together.  `ordinals` of the result are
        uint64: 2**32 times the number of the shard, plus the ordinal in it.
        """
        count, skipped, known = thread_count(threads), Skipped(on_error), known_encoding(encoding)
        searches.many.check_match(match)
        question = Question(similarity, distance, recall, search, limit, OF_BATCHES)
        check_limit(limit)
        check_filters(where, accept)
        documents, accept = states.incoming.without_unreadable(
            self._shards.sample.store.sketcher, documents, skipped, errors, count, accept, known
        )
        batch = searches.many.QueryBatch.checked(question, match)
        size = batch.query_count(self._shards.sample.store.width)
        slices, own = self._queries(documents, ids, size, known, errors, count)
        asked = batch if accept is None else batch.with_limit(None)
        found = searching.find_many(
            self._shards, slices, asked, where=where, left_out=own, threads=count
        )
        if accept is not None:
            least, first = question.least_similarity(self.options), batch.first == 1
            found = accepted_many(found, accept, least, limit=limit, first=first)
        return skipped.spread(found)

    def nearest(
        self,
        document: "DocumentLike | None" = None,
        k: int = 10,
        *,
        id: IdT | None = None,
        recall: float | None = None,
        where: "Where | None" = None,
        vectors: "Vectors[IdT] | None" = None,
        texts: "Texts[IdT] | None" = None,
        errors: ErrorsName = "strict",
        threads: int | None = 1,
    ) -> list[Match[IdT]]:
        """Find the `k` documents nearest to `document`, or to the stored document `id`.

        See `Database.nearest`; `threads`: see `query`.
        """
        if (document is None) == (id is None):
            raise InputError("nearest needs either a document or the id= of a stored document")
        documents, ids = ([document], None) if id is None else (None, [id])
        return self.nearest_many(
            documents, k, ids=ids, recall=recall, where=where, vectors=vectors, texts=texts,
            errors=errors, threads=threads,
        )[0]  # fmt: skip

    def nearest_many(
        self,
        documents: Any = None,
        k: int = 10,
        *,
        ids: Iterable[IdT] | None = None,
        recall: float | None = None,
        where: "Where | None" = None,
        vectors: "Vectors[IdT] | None" = None,
        texts: "Texts[IdT] | None" = None,
        errors: ErrorsName = "strict",
        on_error: OnError = "raise",
        threads: int | None = None,
    ) -> Matches[IdT]:
        """Find the `k` documents nearest to each of many documents; see `Database.nearest_many`."""
        wanted, count = Wanted.checked(self.options, k, recall), thread_count(threads)
        skipped = Skipped(on_error)
        check_filters(where)
        if (documents is None) == (ids is None):
            raise InputError("nearest_many needs either documents or ids= of stored documents")
        documents, _ = states.incoming.without_unreadable(
            self._shards.sample.store.sketcher, documents, skipped, errors, count
        )
        listed = None if ids is None else states.incoming.as_list(ids, "ids")

        def find(documents: Any, wanted: Wanted) -> Matches[IdT]:
            slices, own = self._queries(documents, listed, None, UTF8, errors, count)
            (sketches,) = slices
            return searching.nearest(
                self._shards, sketches, wanted, where=where, left_out=own, threads=count
            )

        if vectors is None and texts is None:
            return skipped.spread(find(documents, wanted))
        exact = self._shards.sample.store.exact_similarity
        return skipped.spread(
            searches.nearest.reranked(find, documents, listed, wanted, exact, vectors, texts)
        )

    def draw_ids(self, count: int, *, seed: int = 0, weighted: bool = False) -> list[IdT]:
        """Draw the ids of `count` stored documents of all shards at random.

        See `Database.draw_ids`.
        """
        checks.whole("count", count, 0, ORDINALS_MAX)
        checks.whole("seed", seed, 0, 2**63)
        checks.flag("weighted", weighted)
        found: list[Any] = drawn_ids(self._shards, count, seed, is_weighted=weighted)
        return found

    def explain(
        self,
        id: IdT | None = None,
        other_id: IdT | None = None,
        *,
        document: "DocumentLike | None" = None,
        other_document: "DocumentLike | None" = None,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        errors: ErrorsName = "strict",
    ) -> "Explanation":
        """Explain why two documents match or do not; see `Database.explain`.

        The plan is that of the shard in which a query finds the stored document, `other_id` of two.
        """
        both = Both(id, other_id, document, other_document)
        question = Question(similarity, distance, recall, search)
        return searching.explained(self._shards, both, question, errors)

    def plan(
        self,
        n: float | None = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        pairs: bool = False,
    ) -> Plan:
        """Return how a query with these arguments is answered, and why; see `Database.plan`.

        Every shard makes a plan of its own: this is that of the largest shard, with the costs of
        all shards together.  `n`: plan for this number of documents in all shards.  `pairs`: the
        plan is for one database with all documents, as `find_all` makes it.
        """
        follows = OF_PAIRS if pairs else OF_QUERIES
        question = Question(similarity, distance, recall, search, follows=follows)
        return searching.planned(self._shards, question, n, pairs=pairs)

    def find_all(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        where: "Where | None" = None,
        verify: VerifyName | None = None,
        texts: "Texts[IdT] | None" = None,
        threads: int | None = None,
    ) -> "Pairs[IdT]":
        """Find every pair of documents that match, within shards and across them.

        See `Database.find_all`.  The sketches of all documents that satisfy `where` are first
        copied into a temporary database, which is gone when the pairs are read.  It needs about
        twice the room of the shards: in memory (/dev/shm) if that much is free there, otherwise in
        the folder for temporary files, which TMPDIR names.  Raises FullError if the documents are
        more than one database can hold.
        """
        check_filters(where)
        count = thread_count(threads)

        def find(database: Database[IdT]) -> "Pairs[IdT]":
            return database.find_all(
                similarity=similarity, distance=distance, recall=recall, search=search,
                verify=verify, texts=texts, threads=count,
            )  # fmt: skip

        return searching.ask_all(self._shards, find, where=where, threads=count)

    def find_clusters(
        self,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        search: "MethodName | Search | None" = None,
        policy: PolicyName = "connected",
        keep: Keep = "first",
        where: "Where | None" = None,
        verify: VerifyName | None = None,
        texts: "Texts[IdT] | None" = None,
        threads: int | None = None,
    ) -> "Clusters[IdT]":
        """Find the groups of two or more documents that match, within shards and across them.

        See `Database.find_clusters`; the order of insertion is that of the shards, and in a shard
        its own.  The sketches are first copied into one database, see `find_all`.
        """
        check_filters(where)
        count = thread_count(threads)

        def find(database: Database[IdT]) -> "Clusters[IdT]":
            return database.find_clusters(
                similarity=similarity, distance=distance, recall=recall, search=search,
                policy=policy, keep=keep, verify=verify, texts=texts, threads=count,
            )  # fmt: skip

        return searching.ask_all(
            self._shards, find, where=where, has_metadata=needs_metadata(keep), threads=count
        )

    def compare(
        self,
        left: Iterable[IdT],
        right: Iterable[IdT],
        *,
        verify: VerifyName | None = None,
        texts: "Texts[IdT] | None" = None,
        threads: int | None = None,
    ) -> PairArrays[IdT]:
        """Compare stored documents pair by pair: left[i] with right[i]; see `Database.compare`."""
        searches.judge.check_verification(verify, texts)
        count = thread_count(threads)
        first, second = states.incoming.as_lists(left, right)
        every = [*first, *second]
        check_known(self._shards, every)

        def compare(database: Database[IdT]) -> PairArrays[IdT]:
            return database.compare(first, second, verify=verify, texts=texts, threads=count)

        return searching.ask_some(self._shards, every, compare, count)

    def get(self, id: IdT, default: Any = None) -> Any:
        """Return the stored document `id`, or `default` if no document has this id."""
        is_stored = bool(self.contains_many([id])[0])
        return self.get_many([id])[0] if is_stored else default

    def __getitem__(self, id: IdT) -> Document[IdT]:
        """Return the stored document `id`; NotFoundError if no document has this id."""
        return self.get_many([id])[0]

    def get_many(self, ids: Iterable[IdT]) -> list[Document[IdT]]:
        """Return the stored documents `ids`, in order; NotFoundError for the first unknown id."""
        listed = states.incoming.as_list(ids, "ids")
        check_known(self._shards, listed)
        found = object_array([None] * len(listed))
        for chosen, documents in self._shards.ask_of(listed, Database.get_many):
            found[chosen] = documents
        return list(found)

    def keys(self) -> Iterator[IdT]:
        """Yield the ids of all documents, shard by shard, in the order of insertion."""
        return iter(self)

    def items(self) -> Iterator[tuple[IdT, Document[IdT]]]:
        """Yield the id and the document of each document, in the order of `keys`.

        A thousand documents are in memory at a time.
        """
        for _, found in self._shards.each(lambda shard: shard.database.items()):
            yield from found

    def sketches(self, *, ids: str = "auto") -> Any:
        """Return the sketches of all documents: a pyarrow.RecordBatchReader, shard by shard.

        See `Database.sketches`.
        """
        return all_sketches(self._shards, ids)

    def contains_many(self, ids: Iterable[IdT]) -> npt.NDArray[np.bool_]:
        """Return whether each of `ids` is the id of a stored document: bool[n].

        Raises an error for an id that belongs to a shard that is left out.
        """
        return contained(self._shards, states.incoming.as_list(ids, "ids"))

    def bits_many(self, ids: Iterable[IdT]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        """Return whether each of `ids` is stored, bool[n], and its fingerprint's bits, uint64[n].

        The bits of an unknown id are 0.
        """
        listed = states.incoming.as_list(ids, "ids")
        is_stored, bits = np.zeros(len(listed), np.bool_), np.zeros(len(listed), np.uint64)
        for chosen, answer in self._shards.ask_of(listed, Database.bits_many):
            is_stored[chosen], bits[chosen] = answer
        return is_stored, bits

    def times_many(self, ids: Iterable[IdT]) -> npt.NDArray[np.datetime64]:
        """Return the time of each of the stored documents `ids`; see `Database.times_many`."""
        listed = states.incoming.as_list(ids, "ids")
        self._shards.sample.database.times_many([])
        check_known(self._shards, listed)
        times = np.zeros(len(listed), "datetime64[s]")
        for chosen, found in self._shards.ask_of(listed, Database.times_many):
            times[chosen] = found
        return times

    def stats(self) -> ShardedStatistics:
        """Return the numbers of all shards together, and of each."""
        each = tuple(found for _, found in self._shards.each(lambda shard: shard.database.stats()))
        counts = [one.document_count for one in each]
        return ShardedStatistics(
            path=os.path.abspath(self.path),
            shard_count=self.shard_count,
            document_count=sum(counts),
            empty_count=sum(one.empty_count for one in each),
            bare_count=sum(one.bare_count for one in each),
            deleted_count=sum(one.deleted_count for one in each),
            file_bytes=sum(one.file_bytes for one in each),
            live_bytes=sum(one.live_bytes for one in each),
            smallest_count=min(counts),
            largest_count=max(counts),
            skipped=self.skipped,
            options=each[0].options,
            shards=each,
        )

    def check(self, deep: bool = False) -> Iterator[Finding]:
        """Yield what is wrong with any shard, one finding at a time; see `Database.check`.

        The place of a finding begins with the name of the shard.  Shards that are left out are
        findings, too, and those that do not hold what the set was finished with.
        """
        for name, reason in self.skipped.items():
            yield Finding(name, reason, "restore the shard from a copy, or write it again")
        for number, found in self._shards.each(lambda shard: list(shard.database.check(deep))):
            for one in found:
                yield replace(one, place=f"{shard_name(number)}: {one.place}")
            if not found and (message := self._shards.change_of(number)):
                yield Finding(
                    shard_name(number), message,
                    "restore the shard from a copy, or take it as it is with finish_sharded",
                )  # fmt: skip

    def advice(self) -> Iterator[Advice]:
        """Yield what would improve a shard, and why; see `Database.advice`."""
        for number, found in self._shards.each(lambda shard: list(shard.database.advice())):
            for one in found:
                yield replace(one, message=f"{shard_name(number)}: {one.message}")

    def __contains__(self, id: object) -> bool:
        """Return whether a document with this id is stored."""
        return bool(contained(self._shards, [id])[0])  # type: ignore[list-item]

    def __len__(self) -> int:
        """Return the number of stored documents, without shards that are left out."""
        return sum(count for _, count in self._shards.each(lambda shard: len(shard.database)))

    def __iter__(self) -> Iterator[IdT]:
        """Yield the ids of all documents, shard by shard, in the order of insertion."""
        for _, ids in self._shards.each(lambda shard: iter(shard.database)):
            yield from ids

    def __bool__(self) -> bool:
        """Return True, even if no document is stored."""
        return True

    def __enter__(self) -> "ShardedDatabase[IdT]":
        """Return the sharded database itself."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close all shards."""
        self.close()

    def _each_database(self) -> Iterator[Database]:
        """Yield the database of each shard; an error if a shard is left out."""
        for number in range(self._shards.count):
            yield self._shards.ask(number, lambda shard: shard.database)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path; unpickling opens the same directory at once."""
        shards = self._shards
        reopened = partial(open_sharded, missing=shards.missing, allow=shards.allow)
        return reopened, (os.path.abspath(shards.path),)

    def __repr__(self) -> str:
        """Return the path, and the number of shards or that it is closed."""
        state = previews.counted(self.shard_count, "shard")
        if self.is_closed:
            state = "closed"
        elif self.skipped:
            state += f", {len(self.skipped)} left out"
        return f"<simdb.ShardedDatabase {self.path!r}, {state}>"

    def _queries(
        self, documents: Any, ids: Any, size: int | None, encoding: str, errors: str, threads: int
    ) -> tuple[Iterator[Sketches], npt.NDArray[np.uint64] | None]:
        """Return queries in slices of at most `size`, and what each is itself if it is stored."""
        if ids is None:
            sketcher = self._shards.sample.store.sketcher
            return states.incoming.sketch_slices(
                sketcher, documents, None, size, errors=errors, threads=threads, encoding=encoding
            ), None
        stored = of_stored(self._shards, states.incoming.as_list(ids, "ids"))
        step = size or max(len(stored.ordinals), 1)
        starts = range(0, max(len(stored.ordinals), 1), step)
        slices = (stored.sketches.taken(slice(start, start + step)) for start in starts)
        return slices, stored.ordinals


def open_sharded(
    path: str | os.PathLike[str],
    mode: Literal["r"] = "r",
    *,
    missing: MissingName = "error",
    allow: Collection[str] = (),
    threads: int | None = None,
) -> ShardedDatabase:
    """Open the sharded database in the directory `path`, for reading.

    `write_sharded` or `finish_sharded` has made it.  `missing`: what to do if a shard is missing or
    damaged, now or at a later query.  "error" raises an error that names the shard; "skip" leaves
    the shard out, with a RuntimeWarning, and `ShardedDatabase.skipped` says why.  `allow`: see
    `open`.  `threads`: how many shards are opened at the same time.

    `mode` must be "r": a set of shards is written once, by one job.  Raises NotFoundError if the
    set was not finished or a shard is missing, CorruptError if a shard has another number of
    documents than the set was finished with, OptionError if it has other options, FormatError if a
    directory lies there that is no shard of the set.
    """
    if mode != "r":
        raise ReadOnlyError(
            f"a sharded database is opened with mode 'r', got {mode!r}; write a new one with"
            " write_sharded, or change one shard with simdb.open and call finish_sharded"
        )
    return ShardedDatabase(Shards(directory_of(path), missing, allow, thread_count(threads)))
