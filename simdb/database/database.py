"""The database: `open`, and each verb in a transaction of its own."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from traceback import clear_frames
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from simdb import database as door
from simdb.core import previews
from simdb.core.arrays import IdT
from simdb.core.checks import shown
from simdb.core.choices import ConflictName, DurabilityName, ErrorsName, ModeName
from simdb.core.errors import (
    BusyError,
    CorruptError,
    Error,
    FormatError,
    OptionError,
    ReadOnlyError,
)
from simdb.core.foreign import answering
from simdb.core.options import Options
from simdb.core.threads import thread_count
from simdb.database import maintenance, write
from simdb.database.reading import Reading
from simdb.database.state.state import State
from simdb.database.state.store import Access, Handle, Store, open_store, open_temporary
from simdb.database.writing import Writing
from simdb.plan import Calibration
from simdb.sketch import AnySketcher
from simdb.storage import closed

if TYPE_CHECKING:
    from simdb.core.progress import Progress
    from simdb.core.reports import Advice, Compaction, Finding, HeaderFill, Rebuild, Statistics
    from simdb.core.text_sketch import IdfTable
    from simdb.database.snapshot import Snapshot
    from simdb.database.transaction import WriteTransaction
    from simdb.database.write.write_state import WriteState


class ManyStores(Protocol):
    """Several databases that answer as one: a `ShardedDatabase`."""

    def _each_database(self) -> "Iterable[Database[Any]]":
        """Return all databases; raise an error if one is missing."""


Mergeable: TypeAlias = "Database[Any] | ManyStores | str | os.PathLike[str]"


@answering
class Database(Writing[IdT]):
    """An open database.

    `simdb.open` makes it; `close`, or leaving a `with` block, closes it.

    Notes
    -----
    A forked process may use the database of its parent, which opens itself again there.
    ForkedError says so if the process may not write, because the parent was writing at the fork.

    For type checkers, `database: simdb.Database[str] = simdb.open(path)` says that all ids are str.
    The ids in its answers are then str as well, and Any otherwise.
    """

    def __init__(self, store: Store, path: str, mode: ModeName, durability: DurabilityName) -> None:
        """Use `simdb.open` instead."""
        self._handle = Handle(store, mode, durability)
        self._path = path
        self._mode = mode
        self._durability = durability

    @property
    def path(self) -> str:
        """The directory of the database."""
        return self._path

    @property
    def sketcher(self) -> AnySketcher:
        """The sketcher, which makes the same sketches of documents as this database.

        `sketcher.fingerprints(documents)`, or `sketcher.signatures(documents)` of MinHash, use the
        stored stop words and IDF table, and the tokeniser if `open` allows it.
        """
        return self._store.sketcher

    @property
    def is_closed(self) -> bool:
        """Whether the database was closed."""
        return self._handle.latest.is_closed

    def close(self) -> None:
        """Close the database; closing it again does nothing.

        Raises BusyError while this process has open snapshots or write transactions.  Raises
        FullError if the disk could not take what durability="process" had left to write; the
        database is closed then.
        """
        self._handle.close()

    def read(self) -> "Snapshot[IdT]":
        """Return a snapshot: the reading verbs on the state as it is now.

        Returns
        -------
        Snapshot
            The snapshot; use it with `with`, or close it.
        """
        return door.Snapshot(self._store)

    def write(self) -> "WriteTransaction[IdT]":
        """Begin a write transaction: all verbs, and one commit at the end.

        The call waits for other writers.

        Returns
        -------
        WriteTransaction
            The transaction; use it with `with`, or call its `commit` or `abort`.

        Raises
        ------
        BusyError
            After the timeout given to `open`, or at once if this thread has a write transaction
            already.
        """
        return door.WriteTransaction(self._writable())

    def fit_idf(
        self,
        documents: Iterable[Any],
        *,
        features_max: int | None = None,
        errors: ErrorsName = "strict",
        progress: "Progress | None" = None,
    ) -> "IdfTable":
        """Fit an IDF table to documents, with the options of the database, and set it.

        Parameters
        ----------
        documents : iterable of str or lists of tokens
            The collection; see `simdb.fit_idf`.
        features_max : int, optional
            Number of features to keep; see `simdb.fit_idf`.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.
        progress : callable, optional
            Called with the number of documents read.

        Returns
        -------
        IdfTable
            The table.

        Raises
        ------
        OptionError
            If no table can be set; see `set_idf`.
        """
        return write.idf.fit_own_idf(
            self._writable(), documents, features_max=features_max, errors=errors, progress=progress
        )

    def set_idf(self, table: "IdfTable") -> None:
        """Set the IDF table of a database that was created without one.

        A table can be set only once, before any document is inserted; setting an equal table again
        does nothing.

        Parameters
        ----------
        table : IdfTable
            The table; see `simdb.fit_idf`.

        Raises
        ------
        OptionError
            If documents were inserted, if the database has another table, or if the table does not
            fit the options of the database.
        """
        write.idf.set_idf(self._writable(), table)

    def stats(self) -> "Statistics":
        """Return the numbers of the database: documents, bytes, runs and readers.

        Returns
        -------
        Statistics
            The numbers.

        Examples
        --------
        >>> with simdb.open(None) as database:
        ...     database.insert("a", "the quick brown fox jumps over the lazy dog")
        ...     database.stats().document_count
        1
        """
        return maintenance.inspection.statistics(self._opened())

    def check(self, deep: bool = False) -> "Iterator[Finding]":
        """Yield each kind of damage in the stored database; nothing if it is sound.

        The tables and columns are read once and compared with their checksums.

        Parameters
        ----------
        deep : bool, default False
            Read every byte, and make every table again to compare it.

        Yields
        ------
        Finding
            One damaged place, and how bad it is.
        """
        return maintenance.inspection.check(self._opened(), deep=deep)

    def advice(self) -> "Iterator[Advice]":
        """Yield advice that would improve the database, with reasons; nothing if all is well.

        The database does not change; `check` is for damage.

        Yields
        ------
        Advice
            Advice about readers, deleted documents, runs, sizes, free space and crowded headers.
            Also about the calibration, short documents, packages, permissions and the file system.
        """
        return maintenance.advice.advice(self._opened())

    def header_fill(self) -> "tuple[HeaderFill, ...]":
        """Return the distribution of the entries of each table over its headers.

        A look-up reads all entries of a header, so a few headers with very many entries make some
        queries slow.  The directory of every table is read, but no keys.

        Returns
        -------
        tuple of HeaderFill
            One for each table.
        """
        return maintenance.inspection.header_fill(self._opened())

    def calibrate(
        self,
        sample: Any = None,
        *,
        noise: float | None = None,
        seed: int = 0,
        errors: ErrorsName = "strict",
    ) -> Calibration:
        """Learn how similar documents differ here, so that queries probe no more than necessary.

        The calibration is stored with the speed of this machine, and later plans use it; see
        `plan`.

        Parameters
        ----------
        sample : int or documents, optional
            Number of stored documents, drawn at random, to compare with all others; if not given,
            enough for about a second.  Documents like your queries, in place of a number, teach
            more.
        noise : float, optional
            The noise of queries by `distance`, .05 to .3: the standard deviation of the change of a
            projection, over that of the projection itself.  Nothing is sampled then, and it holds
            for all documents, including later ones.
        seed : int, default 0
            Seed of the random draw.
        errors : {"strict", "replace"}, default "strict"
            What to do with text that is not valid Unicode; see `query`.

        Returns
        -------
        Calibration
            The calibration.

        Notes
        -----
        With cross-polytope tables, only search="psm", search="multiprobe" and `distance` use it.

        A calibration does not cover documents inserted later.  If there are many, queries search as
        without a calibration if that is more careful.  `calibrate` ends this, and so does
        `compact`, which calibrates again if much is new.
        """
        return maintenance.calibration.calibrate(
            self._writable(), sample, seed, noise=noise, errors=errors
        )

    def compact(self, *, threads: int | None = None) -> "Compaction":
        """Merge all runs into one, drop deleted documents, and shrink the file.

        Parameters
        ----------
        threads : int, optional
            Number of threads; see `insert_many`.

        Returns
        -------
        Compaction
            Sizes before and after; its `note` says why the file did not shrink.

        Notes
        -----
        The file can shrink only while no other process has it open and no snapshot is open.  A
        database of an older version gets cross-polytope tables; older versions then refuse it.
        """
        store = self._writable()
        done = maintenance.compaction.compact(store, thread_count(threads))
        maintenance.calibration.calibrate_if_due(store)
        return done

    def copy(self, path: str | os.PathLike[str], *, incremental: bool = False) -> int:
        """Write a copy of the database, as it is now, to another directory.

        Parameters
        ----------
        path : str or path
            The directory of the copy.  It must not exist yet, unless `incremental` is given.
        incremental : bool, default False
            `path` can be an earlier copy, which gets all changes since then in one commit.  So it
            can be opened at every moment, and after a failure it has either the old state or the
            new one.

        Returns
        -------
        int
            Number of bytes written.

        Raises
        ------
        ExistsError
            If something else is at `path`, such as a copy that was written to, or a copy of a
            sibling.  A sibling is a database with other changes since a common state.
        BusyError
            If this process has a snapshot of the earlier copy open.

        Notes
        -----
        An incremental copy neither reads nor writes values that both already store.  After
        `compact` or `rebuild` there are no such values, and the whole file is written again.  Other
        processes can read the copy meanwhile.  A sibling is not recognised if only its metadata or
        notes differ, or if it has since merged everything that differs.
        """
        target = os.fsdecode(path)
        return maintenance.compaction.copy(self._opened(), target, incremental=incremental)

    def rebuild(
        self,
        *,
        drop_damaged: bool = False,
        polytopes: int | None = None,
        threads: int | None = None,
    ) -> "Rebuild":
        """Make all tables again from the stored columns, if `check` has found them damaged.

        All parts of a document are verified as they are read.  The result is one run and a small
        file, as after `compact`.

        Parameters
        ----------
        drop_damaged : bool, default False
            Remove documents that are damaged in any part; the report lists their ids.
        polytopes : int, optional
            New number of cross-polytope tables; if not given, the number of `compact`.
        threads : int, optional
            Number of threads; see `insert_many`.

        Returns
        -------
        Rebuild
            The report.  Unreadable metadata is dropped, and its documents are kept.

        Raises
        ------
        CorruptError
            If any part of a document is damaged and `drop_damaged` is False; nothing changes.
        """
        return maintenance.rebuild.rebuild(
            self._writable(), drop_damaged=drop_damaged, threads=thread_count(threads),
            polytopes=polytopes,
        )  # fmt: skip

    def merge(
        self,
        other: "Mergeable | Sequence[Mergeable]",
        *,
        on_conflict: ConflictName = "error",
        progress: "Progress | None" = None,
        threads: int | None = None,
    ) -> int:
        """Store the documents of other databases with the same sketch, all or none of them.

        No text is needed.  Sketches, metadata and times are copied; passages, features and texts
        only if both databases have them.  Maintained clusters are brought up to date.

        Parameters
        ----------
        other : Database, str, path, ShardedDatabase or list of these
            The other databases.  Their tables, blocks and usual similarity may differ.
        on_conflict : {"error", "skip", "replace", "same"}, default "error"
            What to do with a document whose id is stored already; see `insert_many`.
        progress : callable, optional
            Called with the number of documents read.
        threads : int, optional
            Number of threads; see `insert_many`.

        Returns
        -------
        int
            Number of documents stored.

        Raises
        ------
        OptionError
            If the sketches differ; the message names the differences.
        ExistsError
            If an id is stored already, with on_conflict="error".

        Notes
        -----
        Notes and calibrations of the other databases are not copied.  The documents wait in memory
        until they are committed, as with `insert_many`.
        """
        store = self._writable()
        count, given = thread_count(threads), other if isinstance(other, list | tuple) else [other]
        with ExitStack() as held:
            stores = [store for each in given for store in _stores_of(each, held)]
            return maintenance.merge.merge(store, stores, on_conflict, progress, count)

    def dump(self, target: Any, progress: "Progress | None" = None) -> int:
        """Write the whole database, as it is now, to a path or a binary stream.

        The form is portable: `simdb.load` makes a database from it with any later version, on any
        machine.

        Parameters
        ----------
        target : str, path or binary stream
            Where to write.  A file gets its name when it is complete, and only its owner may read
            it.
        progress : callable, optional
            Called with the number of documents written.

        Returns
        -------
        int
            Number of documents written.

        Raises
        ------
        CorruptError
            If stored values are damaged.

        Notes
        -----
        The dump is an Arrow IPC stream with a row for each document, in order of insertion.  A few
        thousand documents are in memory at a time; other writers may go on.
        """
        return maintenance.dump.dump(self._opened(), target, progress)

    def __enter__(self) -> "Database[IdT]":
        """Return the database itself."""
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the database."""
        try:
            self.close()
        except BusyError:
            if error is None:
                raise
            # An interruption can keep a verb from leaving its state.  Only frames then hold the
            # state, so they are cleared.  A second interruption, while the first is handled, has
            # frames of its own.
            while error is not None:
                clear_frames(error.__traceback__)
                error = error.__context__
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and the mode; unpickling opens the same directory at once."""
        mode: ModeName = "r" if self._mode == "r" else "w"
        store, how = self._handle.latest, self._durability
        reopened = partial(open, durability=how, timeout=store.timeout, allow=store.allowed)
        return reopened, (store.environment.path, mode)

    def __repr__(self) -> str:
        """Return the path, the mode or that it is closed, and the number of documents."""
        state = "closed"
        if not self.is_closed:
            state = f"mode {self._mode!r}"
            if self._handle.is_inherited:
                state += " of the parent process"
            with suppress(Error, OSError):  # a damaged database has a description, too
                state += f", {previews.counted(len(self), 'document')}"
        return f"<simdb.Database {self._path!r}, {state}>"

    def _repr_html_(self) -> str:
        """Return the description as a paragraph, for notebooks."""
        return previews.paragraph(repr(self)[1:-1])

    @property
    def _store(self) -> Store:  # type: ignore[override]  # the one of this process
        return self._handle.store

    def _opened(self) -> Store:
        """Return the store; raise ClosedError if the database is closed."""
        if self.is_closed:
            raise closed(self._path)
        return self._store

    def _writable(self) -> Store:
        """Return the store, to write to it; raise ReadOnlyError if it was opened for reading."""
        if not self.is_closed:
            if self._mode == "r":
                raise ReadOnlyError(f"{self._path} was opened for reading; open it with mode 'w'")
            self._handle.check_may_write()
        return self._opened()

    @contextmanager
    def _changing(self, what: str) -> "Iterator[WriteState]":
        with self.write() as transaction, transaction._changing(what) as writing:
            yield writing

    def _state(self) -> State:
        return self._handle.store.state()

    _searcher = _state

    def _lasting(self) -> tuple[Reading[IdT], Callable[[], None]]:
        snapshot = door.Snapshot(self._store)
        self._store.keep_track(snapshot)
        return snapshot, snapshot.abandon


@answering
def open(
    path: str | os.PathLike[str] | None,
    mode: ModeName = "c",
    *,
    options: Options | None = None,
    durability: DurabilityName = "full",
    map_size: int | None = None,
    timeout: float | None = None,
    allow: Collection[str] = (),
) -> Database:
    """Open a database, and create it if it does not exist.

    Parameters
    ----------
    path : str, path or None
        The directory of the database; None for a temporary database.
    mode : {"c", "x", "w", "r"}, default "c"
        "c" creates the database if it is missing, "x" must create it, "w" must find it, "r" opens
        it for reading only.
    options : Options, optional
        The options to store at creation; not needed later.
    durability : {"full", "process", "none"}, default "full"
        "full": commits survive a power loss.  "process": commits survive the death of the process.
        "none": nothing is promised.
    map_size : int, optional
        Bytes of address space to begin with.  The file is only as large as its content, and the map
        grows if necessary.
    timeout : float, optional
        Seconds to wait for the write lock; None waits for ever.
    allow : collection of str
        Names of callables, "package.module:function", that may be imported if the stored options
        name them as the tokeniser.  Callables in `options` are always allowed.

    Returns
    -------
    Database
        The database; use it with `with`, or close it.

    Raises
    ------
    NotFoundError
        If there is no database, with mode "w" or "r".
    ExistsError
        If there is one already, with mode "x".
    FormatError
        If the directory is not a simdb database, or has a newer format.
    OptionError
        If `options` differ from the stored options; the message names them.
    ReadOnlyError
        If the database cannot be written to.

    Warns
    -----
    RuntimeWarning
        If the database was made with another version of a package on which its sketches depend.

    Notes
    -----
    A temporary database is new and empty.  It is in memory if the system has room for it
    (/dev/shm), otherwise in the folder for temporary files.  It is removed when it is closed or
    nothing refers to it any more, so `durability` does not matter.

    Examples
    --------
    >>> with simdb.open(None) as database:
    ...     database.insert("a", "the quick brown fox jumps over the lazy dog")
    ...     [match.id for match in database.query("The quick brown fox jumps over the lazy dog!")]
    ['a']
    """
    access = Access(durability, map_size, timeout, allow)
    if path is None:
        store = open_temporary(mode, options, access)
        return Database(store, store.environment.path, mode, "none")
    store = open_store(path, mode, options, access)
    return Database(store, os.fsdecode(path), mode, durability)


def rebuild(
    path: str | os.PathLike[str],
    *,
    drop_damaged: bool = False,
    polytopes: int | None = None,
    threads: int | None = None,
) -> "Rebuild":
    """Rebuild a database, even if it is too damaged to be opened.

    If it cannot be opened, its pages are read one by one.  All values that can still be read become
    a new data file, which replaces the damaged one when it is complete.  See `Database.rebuild`.

    Parameters
    ----------
    path : str or path
        The directory of the database.
    drop_damaged : bool, default False
        Remove damaged documents; see `Database.rebuild`.
    polytopes : int, optional
        Number of cross-polytope tables; see `Database.rebuild`.
    threads : int, optional
        Number of threads; see `Database.insert_many`.

    Returns
    -------
    Rebuild
        The report.

    Raises
    ------
    BusyError
        If another process has the database open.
    CorruptError
        If documents would be lost and `drop_damaged` is False, or if the options of the database
        are lost.  Nothing changes then.
    """
    asked: Any = {"polytopes": polytopes, "drop_damaged": drop_damaged}
    asked["threads"] = thread_count(threads)
    problem: Error | None
    try:
        database = open(path, "w")
    except (CorruptError, FormatError) as error:
        problem = error
    else:
        with database:
            problem = maintenance.rebuild.page_problem_of(database._store)
            if problem is None:
                return database.rebuild(**asked)
    return maintenance.rebuild.rescue(os.path.abspath(os.fsdecode(path)), problem, **asked)


def _stores_of(other: Any, held: ExitStack) -> Iterator[Store]:
    """Yield the stores of an argument of `Database.merge`; `held` closes what is opened here."""
    if isinstance(other, str | os.PathLike):
        other = held.enter_context(open(other, "r"))
    if hasattr(other, "_each_database"):
        for each in other._each_database():
            yield from _stores_of(each, held)
    elif isinstance(other, Database):
        yield other._opened()
    else:
        raise OptionError(
            "other must be a Database, a ShardedDatabase, the path of a database, or a list of"
            f" these, got {shown(other)}"
        )
