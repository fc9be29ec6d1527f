"""The sharded database: `open_sharded`, and the reading verbs over all shards.

The documents of a pair can lie in two shards.  So the verbs that compare stored documents with each
other copy the sketches of all shards into a temporary database; no text is sketched again.  This
costs less than to look up the documents of each shard in all others, and finds the same pairs as
one database.  The temporary database is in memory or, if memory is short, in the folder for
temporary files.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from simdb.core import previews
from simdb.core.arrays import ORDINALS_MAX, Extras, Id, IdT
from simdb.core.choices import MissingName, ShardByName
from simdb.core.dtypes import U32
from simdb.core.errors import FullError, OptionError, ReadOnlyError, undoing
from simdb.core.keeping import Keep, needs_metadata
from simdb.core.reports import Advice, FieldCounts, Finding, ShardedStatistics, Statistics
from simdb.core.threads import thread_count
from simdb.database import state as states, write
from simdb.database.database import Database
from simdb.database.reading import Read, Reading
from simdb.database.search.filters import Where, satisfying
from simdb.database.search.searcher import parts_by_ids
from simdb.database.sharding.shards import Shards, ShardSearcher
from simdb.database.state.documents import known_ordinals, stored_sketches
from simdb.database.state.state import State
from simdb.database.state.store import Store, open_beside
from simdb.storage import StoredBatch, by_ordinal, directory_of, shards_file

if TYPE_CHECKING:
    from simdb.database.search.pairs import FoundPairs, Pairs

# Documents per batch of the copy.
COPIED_DOCUMENTS = 1 << 18
# A merge writes its documents again before it frees their old space.
ROOM_FACTOR = 2

Documents = tuple[StoredBatch, list[tuple[int, bytes]]]


class ShardedDatabase(Reading[IdT]):
    """A set of databases in one directory that answer as one; `simdb.open_sharded` opens it.

    It has the reading verbs of `Database`, with the same arguments and answers, except `note` and
    `cluster`, which raise OptionError.

    Notes
    -----
    A query is sketched once and sent to every shard.  The answers are merged, best first, at most
    `limit` in all.  Equally good matches are in the order of the shards, and within a shard in the
    order of insertion.  A verb by id asks only the shard to which the id belongs.

    `Matches.ordinals` are uint64: 2**32 times the number of the shard, plus the ordinal in it.  The
    memory limit of a search applies to all shards together.

    `find_all`, `find_clusters` and `compare` first copy the documents that satisfy `where` into a
    temporary database, which is removed when the answer has been read.  It needs about twice the
    disk space of the shards.  It is in memory (/dev/shm) if enough is free there, otherwise in the
    folder for temporary files, which TMPDIR names.  FullError is raised if the documents are more
    than one database can hold.

    `plan` returns the plan of the largest shard, with the costs of all shards together.  For pairs
    it returns the plan of one database with all documents.
    """

    def __init__(self, shards: Shards) -> None:
        """Use `simdb.open_sharded` instead."""
        self._shards = shards

    @property
    def path(self) -> str:
        """The directory of the sharded database."""
        return self._shards.path

    @property
    def shard_count(self) -> int:
        """The number of shards, including skipped shards."""
        return self._shards.count

    @property
    def shard_by(self) -> ShardByName:
        """The rule that divides documents among the shards: "id" or "fingerprint"."""
        return self._shards.division.by

    @property
    def skipped(self) -> dict[str, str]:
        """The reason for each skipped shard, by its name; empty unless missing="skip"."""
        failures = sorted(self._shards.failures.items())
        return {shards_file.shard_name(number): str(error) for number, error in failures}

    @property
    def is_closed(self) -> bool:
        """Whether the sharded database was closed."""
        return self._shards.is_closed

    def close(self) -> None:
        """Close all shards; closing them again does nothing."""
        self._shards.close()

    def stats(self) -> ShardedStatistics:
        """Return the numbers of all shards together, and of each shard.

        Returns
        -------
        ShardedStatistics
            The numbers.
        """
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
            fields=_summed(each),
        )

    def check(self, deep: bool = False) -> Iterator[Finding]:
        """Yield each kind of damage in any shard; see `Database.check`.

        Parameters
        ----------
        deep : bool, default False
            Read every byte; see `Database.check`.

        Yields
        ------
        Finding
            One damaged place, which begins with the name of the shard.  Skipped shards, and shards
            whose documents changed after `finish_sharded`, are findings as well.
        """
        for name, reason in self.skipped.items():
            yield Finding(name, reason, "restore the shard from a copy, or write it again")
        for number, found in self._shards.each(lambda shard: list(shard.database.check(deep))):
            for one in found:
                yield replace(one, place=f"{shards_file.shard_name(number)}: {one.place}")
            if not found and (message := self._shards.change_of(number)):
                yield Finding(
                    shards_file.shard_name(number), message,
                    "restore the shard from a copy, or take it as it is with finish_sharded",
                )  # fmt: skip

    def advice(self) -> Iterator[Advice]:
        """Yield what would improve a shard, and why; see `Database.advice`.

        Yields
        ------
        Advice
            The advice, whose message begins with the name of the shard.
        """
        for number, found in self._shards.each(lambda shard: list(shard.database.advice())):
            for one in found:
                yield replace(one, message=f"{shards_file.shard_name(number)}: {one.message}")

    def __enter__(self) -> "ShardedDatabase[IdT]":
        """Return the sharded database itself."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close all shards."""
        self.close()

    def _each_database(self) -> Iterator[Database]:
        """Yield the database of each shard; raise the error of a skipped shard."""
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

    @property
    def _store(self) -> Store:  # type: ignore[override]  # all have the same options
        return self._shards.sample.store

    def _state(self) -> NoReturn:
        raise OptionError(
            f"{self.path} has no notes and keeps no clusters, because it is sharded; use"
            " find_clusters, or merge the shards into one database"
        )

    def _searcher(self) -> ShardSearcher:
        return ShardSearcher(self._shards)

    def _state_of(self, id: object) -> AbstractContextManager[State]:
        return self._shards.state_of(id)

    @contextmanager
    def _chosen(
        self, where: Where | None, threads: int, keep: Keep = "first", ids: Any = None
    ) -> Iterator[State]:
        searcher = ShardSearcher(self._shards, threads)
        if ids is None:
            found = _gathered(searcher, where, has_metadata=needs_metadata(keep))
        else:
            found = _gathered_some(searcher, ids)
        with found as database, database._chosen(None, threads) as state:
            yield state

    def _streamed(
        self, where: Where | None, threads: int, find: "Callable[[State], FoundPairs]"
    ) -> "Pairs[IdT]":
        searcher = ShardSearcher(self._shards, threads)
        database = _gathered(searcher, where, has_metadata=False)
        return database._streamed(None, threads, find)

    def _each_part(self, size: int, read: Callable[[State, U32], list[Read]]) -> Iterator[Read]:
        for _, found in self._shards.each(lambda shard: shard.database._each_part(size, read)):
            yield from found


def open_sharded(
    path: str | os.PathLike[str],
    mode: Literal["r"] = "r",
    *,
    missing: MissingName = "error",
    allow: Collection[str] = (),
    threads: int | None = None,
) -> ShardedDatabase:
    """Open a sharded database for reading.

    Parameters
    ----------
    path : str or path
        The directory, as `write_sharded` or `finish_sharded` made it.
    mode : {"r"}, default "r"
        Must be "r", since a set of shards is written once, by one job.
    missing : {"error", "skip"}, default "error"
        What to do if a shard is missing or damaged, now or at a later query.  "error" raises an
        error that names the shard.  "skip" omits the shard with a RuntimeWarning, and
        `ShardedDatabase.skipped` gives the reason.
    allow : collection of str
        Names of callables that may be imported as the tokeniser; see `open`.
    threads : int, optional
        Number of shards that are opened at the same time; see `Database.insert_many`.

    Returns
    -------
    ShardedDatabase
        The database; use it with `with`, or close it.

    Raises
    ------
    NotFoundError
        If the set was not finished, or a shard is missing.
    CorruptError
        If the number of documents in a shard changed after `finish_sharded`.
    OptionError
        If the options of a shard changed after `finish_sharded`.
    FormatError
        If `path` is one database, or contains a directory that is none of its shards.
    ReadOnlyError
        If `mode` is not "r".

    Warns
    -----
    RuntimeWarning
        If a shard is omitted, with missing="skip".

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     batch = ["a", "b"], ["the quick brown fox", "ships and their harbours"]
    ...     _ = simdb.write_sharded(f"{folder}/pages", [batch], shards=2)
    ...     with simdb.open_sharded(f"{folder}/pages") as database:
    ...         [match.id for match in database.query("The quick brown fox!")]
    ['a']
    """
    if mode != "r":
        raise ReadOnlyError(
            f"a sharded database is opened with mode 'r', got {mode!r}; write a new one with"
            " write_sharded, or change one shard with simdb.open and call finish_sharded"
        )
    return ShardedDatabase(Shards(directory_of(path), missing, allow, thread_count(threads)))


def _gathered(searcher: ShardSearcher, where: Where | None, *, has_metadata: bool) -> Database:
    """Return a temporary database with the documents of all shards that satisfy `where`.

    Documents are in the order of the shards, and in a shard in the order of insertion.  The
    database is removed when nothing refers to it any more.  `has_metadata`: whether to copy
    metadata.
    """
    sizes = [size for _, size in searcher.each(lambda state: state.source.data_bytes)]
    database, failures = _made(searcher, sum(sizes)), searcher.shards.failures
    with undoing(database.close):
        left_out = len(failures)

        def copied(state: State) -> None:
            ordinals = state.live() if where is None else satisfying(state, state.live(), where)
            _store(database, _documents(state, ordinals, has_metadata), searcher.threads)

        for _ in searcher.each(copied):
            pass
        searcher.shards.check_some()
    if len(failures) == left_out:
        return database
    # A shard that failed meanwhile may have been copied in part.
    database.close()
    return _gathered(searcher, where, has_metadata=has_metadata)


def _gathered_some(searcher: ShardSearcher, ids: list[Id]) -> Database:
    """Return a temporary database with the documents `ids`, all of which must be stored."""
    database = _made(searcher, 0)

    def copied(state: State, some: list[Id]) -> None:
        found = _documents(state, known_ordinals(state, some), has_metadata=False)
        _store(database, found, searcher.threads)

    with undoing(database.close):
        parts_by_ids(searcher, list(dict.fromkeys(ids)), copied)
    return database


def _made(searcher: ShardSearcher, size_bytes: int) -> Database:
    """Return an empty database like the shards, with room for `size_bytes` of their files."""
    store = open_beside(searcher.store, ROOM_FACTOR * size_bytes)
    return Database(store, store.environment.path, "w", "none")


def _documents(state: State, ordinals: U32, has_metadata: bool) -> Iterator[Documents]:
    """Yield documents in batches, as they are stored, with their packed metadata if wanted."""
    options = state.store.options
    for start in range(0, len(ordinals), COPIED_DOCUMENTS):
        part = ordinals[start : start + COPIED_DOCUMENTS]
        ids = states.incoming.EncodedIds(list(state.identifiers(part).decode(part)))
        sketches = stored_sketches(state, part)
        sketches.extras = Extras(
            state.passages().grains_of(part, state.source) if options.passages else None,
            **{each.what: state.beside(each, part) for each in by_ordinal.columns_of(options)},
        )
        listed = part.tolist() if has_metadata else []
        packed = state.metadata_of_many(listed)
        batch = states.incoming.make_batch(ids, sketches)
        yield batch, [(at, packed[each]) for at, each in enumerate(listed) if each in packed]


def _store(database: Database, documents: Iterator[Documents], threads: int) -> None:
    """Store documents; raise FullError if one database has too few ordinals for them."""
    store = database._store
    for batch, metadata in documents:
        with store.state() as state:
            count = state.next_ordinal
        if count + len(batch) > ORDINALS_MAX:
            raise FullError(
                f"pairs and clusters are found among at most {ORDINALS_MAX} documents of all shards"
                " together; choose fewer with where=, or search each shard alone"
            )
        write.write_state.store_batch(store, batch, metadata, threads)


def _summed(shards: tuple[Statistics, ...]) -> FieldCounts:
    """Return the number of documents in all shards with each value of each field."""
    totals: dict[str, Counter[tuple[type, Any]]] = {}
    for name, counts in (field for each in shards for field in each.fields.items()):
        own = {(type(value), value): count for value, count in counts}  # 1 is not True
        totals.setdefault(name, Counter()).update(own)
    return {
        name: [(value, count) for (_, value), count in total.most_common()]
        for name, total in totals.items()
    }
