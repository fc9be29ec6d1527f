"""The door: open a database, and the verbs on it, each in a transaction of its own."""

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from simdb.engine import maintenance
from simdb.engine.reading import Reading
from simdb.engine.snapshot import Snapshot
from simdb.engine.state.incoming import Progress
from simdb.engine.state.opening import open_store
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.engine.transaction import WriteTransaction
from simdb.engine.write.idf import fit_own_idf, set_idf
from simdb.errors import ClosedError, OptionError, ReadOnlyError
from simdb.idf import IdfTable
from simdb.options import Options
from simdb.plan.calibration import Calibration
from simdb.signatures import Signatures
from simdb.sketch.kinds import AnySketcher
from simdb.sketch.sketcher import Sketcher
from simdb.values import Fingerprints, Id, Match, Matches

if TYPE_CHECKING:
    from simdb.reports import Advice, Compaction, Finding, Rebuild, Statistics


class Database(Reading):
    """An open database; made by `simdb.open`, closed by `close` or by leaving a `with` block."""

    def __init__(self, store: Store, path: str, mode: str, durability: str) -> None:
        """Use `simdb.open`."""
        self._store = store
        self._path = path
        self._mode = mode
        self._durability = durability
        self._closing = threading.Lock()

    @property
    def path(self) -> str:
        """The directory of the database."""
        return self._path

    @property
    def options(self) -> Options:
        """The options that the database was created with, and its IDF table."""
        self._store.look_for_idf()
        return self._store.options

    @property
    def sketcher(self) -> AnySketcher:
        """What makes sketches of documents as this database does."""
        return self._store.sketcher

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._store.is_closed

    def close(self) -> None:
        """Close the database; again is fine.

        BusyError while snapshots or write transactions of this process are open.  FullError when
        the disk did not take what durability="process" had left for later; it is closed then.
        """
        with self._closing:
            self._store.close()

    def read(self) -> Snapshot:
        """A snapshot: the reading verbs on the state as it is now.  Use it with `with`."""
        return Snapshot(self._store)

    def write(self) -> WriteTransaction:
        """A write transaction: all verbs, and one commit at the end.  Use it with `with`.

        Waits for other writers; BusyError after the timeout given to `open`, or at once when this
        thread has a write transaction already.
        """
        self._check_writable()
        return WriteTransaction(self._store)

    def insert(
        self,
        id: Id,
        document: Any,
        metadata: Any = None,
        *,
        replace: bool = False,
        errors: str = "strict",
    ) -> None:
        """Store one document and commit; see `WriteTransaction.insert`."""
        with self.write() as transaction:
            transaction.insert(id, document, metadata, replace=replace, errors=errors)

    def insert_many(
        self,
        ids: Iterable[Id],
        documents: Any,
        metadata: Any = None,
        *,
        replace: bool = False,
        errors: str = "strict",
        progress: Progress | None = None,
    ) -> int:
        """Store many documents and commit; see `WriteTransaction.insert_many`."""
        with self.write() as transaction:
            return transaction.insert_many(
                ids, documents, metadata, replace=replace, errors=errors, progress=progress
            )

    def add_if_new(
        self,
        id: Id,
        document: Any,
        metadata: Any = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        errors: str = "strict",
    ) -> Match | None:
        """Claim a document: the best match, or None and it is stored and committed.

        Nobody can store a match between the look-up and the insertion.
        """
        with self.write() as transaction:
            return transaction.add_if_new(
                id, document, metadata, similarity=similarity, distance=distance, recall=recall,
                method=method, errors=errors,
            )  # fmt: skip

    def add_many_if_new(
        self,
        ids: Iterable[Id],
        documents: Any,
        metadata: Any = None,
        *,
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        errors: str = "strict",
        progress: Progress | None = None,
    ) -> Matches:
        """Claim many documents in order and commit; see `WriteTransaction.add_many_if_new`."""
        with self.write() as transaction:
            return transaction.add_many_if_new(
                ids, documents, metadata, similarity=similarity, distance=distance, recall=recall,
                method=method, errors=errors, progress=progress,
            )  # fmt: skip

    def insert_batch(
        self,
        ids: Iterable[Id],
        documents: Any,
        metadata: Any = None,
        *,
        match: str = "all",
        similarity: float | None = None,
        distance: int | None = None,
        recall: float | None = None,
        method: str | None = None,
        memory_limit: int | None = None,
        errors: str = "strict",
        progress: Progress | None = None,
    ) -> Matches:
        """Look up many documents, store all and commit; see `WriteTransaction.insert_batch`."""
        with self.write() as transaction:
            return transaction.insert_batch(
                ids, documents, metadata, match=match, similarity=similarity, distance=distance,
                recall=recall, method=method, memory_limit=memory_limit, errors=errors,
                progress=progress,
            )  # fmt: skip

    def delete(self, id: Id) -> None:
        """Delete one document and commit; NotFoundError when there is none with this id."""
        with self.write() as transaction:
            transaction.delete(id)

    def delete_many(self, ids: Iterable[Id]) -> int:
        """Delete the documents with these ids and commit; returns how many there were."""
        with self.write() as transaction:
            return transaction.delete_many(ids)

    def fit_idf(
        self,
        documents: Iterable[Any],
        *,
        features_max: int | None = None,
        errors: str = "strict",
        progress: Progress | None = None,
    ) -> IdfTable:
        """Fit an IDF table to documents, by the database's own options, and set it.

        See `simdb.fit_idf` for the arguments and `set_idf` for when that may be.
        """
        self._check_writable()
        return fit_own_idf(
            self._store, documents, features_max=features_max, errors=errors, progress=progress
        )

    def set_idf(self, table: IdfTable) -> None:
        """Give a database that was created without one the IDF table of its weighting.

        Once, and before anything is inserted; the same table again changes nothing.  OptionError
        after that, or when `table` does not fit the options; see `simdb.fit_idf`.
        """
        self._check_writable()
        set_idf(self._store, table)

    def fingerprints(self, documents: Iterable[Any], *, errors: str = "strict") -> Fingerprints:
        """Fingerprints of many documents of one kind, as this database makes them.

        With the stop words that it keeps, and its tokeniser if `simdb.open` allows it.
        """
        sketcher = self.sketcher
        if not isinstance(sketcher, Sketcher):
            raise OptionError(f"{self._path} keeps MinHash signatures; use signatures()")
        return sketcher.fingerprints(documents, errors=errors)

    def signatures(self, documents: Iterable[Any], *, errors: str = "strict") -> Signatures:
        """MinHash signatures of many documents, as this database makes them; see `fingerprints`."""
        sketcher = self.sketcher
        if isinstance(sketcher, Sketcher):
            raise OptionError(f"{self._path} keeps fingerprints; use fingerprints()")
        return sketcher.signatures(documents, errors=errors)

    def stats(self) -> "Statistics":
        """The database in numbers."""
        self._check_open()
        return maintenance.inspection.statistics(self._store)

    def check(self, deep: bool = False) -> "Iterator[Finding]":
        """What is wrong with the stored database, one finding at a time; nothing if it is sound.

        `deep` reads every byte, compares all checksums and rebuilds every table to compare.
        """
        self._check_open()
        return maintenance.inspection.check(self._store, deep=deep)

    def advice(self) -> "Iterator[Advice]":
        """What would do the database good, and why; nothing when all is well.

        On readers that are gone or stay long, deleted documents, runs, sizes, free space, headers
        that many documents share, the calibration, packages, permissions and the file system.
        Nothing is changed; damage is for `check`.
        """
        self._check_open()
        return maintenance.advice.advice(self._store)

    def calibrate(
        self, sample: Any = None, *, seed: int = 0, errors: str = "strict"
    ) -> Calibration:
        """Learn how similar documents differ here, so that queries ask for no more than they must.

        `sample`: how many stored documents to ask about, drawn at random by `seed`; None for as
        many as take about a second.  Or documents like those that will be queries, which tell
        more, since their weights are known exactly.
        What is learnt is stored and used from then on, with the speed of this machine; see `plan`.
        Documents inserted later are compared one by one until it is done again, by this or by
        `compact`, or are found as without a calibration where that is faster.
        """
        self._check_writable()
        return maintenance.calibration.calibrate(self._store, sample, seed, errors=errors)

    def compact(self) -> "Compaction":
        """Merge everything into one run, drop what is deleted, and shrink the file.

        The file shrinks only while nobody else has it open; the note says so when it did not.
        """
        self._check_writable()
        done = maintenance.compaction.compact(self._store)
        maintenance.calibration.calibrate_if_due(self._store)
        return done

    def copy(self, path: str | os.PathLike[str]) -> None:
        """Write a compacted copy of the database, as of now, to the new directory `path`."""
        self._check_open()
        maintenance.compaction.copy(self._store, os.fsdecode(path))

    def rebuild(self, *, drop_damaged: bool = False) -> "Rebuild":
        """Make all tables anew from the stored columns, when `check` has found them damaged.

        Fingerprints, ids, vectors and metadata are verified as they are read.  Where some of them
        are damaged, CorruptError names them and nothing is changed; with `drop_damaged` the
        documents that they belong to are removed, and the report has their ids.  Metadata that
        cannot be read goes, and its documents stay.  Otherwise it ends as `compact` does.
        """
        self._check_writable()
        return maintenance.rebuild.rebuild(self._store, drop_damaged=drop_damaged)

    def dump(self, target: Any, progress: Progress | None = None) -> int:
        """Write everything that the database holds, as of now, to a path or a binary stream.

        The form is portable: `simdb.load` makes a database of it with any later version, on any
        machine.  Documents come in order of insertion, a few thousand in memory at a time;
        others may go on writing.  A file appears when it is whole, and only its owner may read it.
        Returns the number of documents; `progress(done)` is called with it.  CorruptError when
        stored values are damaged.
        """
        self._check_open()
        return maintenance.dump.dump(self._store, target, progress)

    def __enter__(self) -> "Database":
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickling opens the same directory again, there and then."""
        mode = "r" if self._mode == "r" else "w"
        store = self._store
        return _reopen, (
            store.environment.path, mode, self._durability, store.timeout, store.allowed,
        )  # fmt: skip

    def __repr__(self) -> str:
        """Where it is, and whether it is open."""
        state = "closed" if self._store.is_closed else f"mode {self._mode!r}"
        return f"<simdb.Database {self._path!r}, {state}>"

    def _check_open(self) -> None:
        if self._store.is_closed:
            raise ClosedError(f"{self._path} is closed")

    def _check_writable(self) -> None:
        self._check_open()
        if self._mode == "r":
            raise ReadOnlyError(f"{self._path} was opened for reading; open it with mode 'w'")

    def _state(self) -> State:
        return self._store.state()

    def _hold(self) -> State:
        return self._store.state()

    def _lasting(self) -> tuple[Reading, Callable[[], None]]:
        snapshot = Snapshot(self._store)
        self._store.keep_track(snapshot)
        return snapshot, snapshot.abandon


def open(
    path: str | os.PathLike[str],
    mode: str = "c",
    *,
    options: Options | None = None,
    durability: str = "full",
    map_size: int | None = None,
    timeout: float | None = None,
    allow: Collection[str] = (),
) -> Database:
    """Open the database in the directory `path`.

    `mode`: "c" creates it where missing, "x" must create it, "w" must find it, "r" opens it for
    reading only.  `options` are stored when it is created; later they may be left out, and
    OptionError says what differs.  `durability`: "full" commits survive power loss, "process"
    commits survive the death of the process, "none" promises nothing.  `map_size`: bytes of
    address space to begin with; the file takes what it holds, and the map grows when it must.
    `timeout`: seconds to wait for another writer, None without end.  `allow`: names of callables,
    "package.module:function", that may be imported when the stored options name them as the
    tokeniser; those named by `options` may.

    A RuntimeWarning says so when the database was made with another version of a package on which
    its fingerprints depend.  Raises NotFoundError, ExistsError, FormatError (no simdb database, or
    a newer version), OptionError, ReadOnlyError.
    """
    store = open_store(
        path, mode, options, durability=durability, map_size=map_size, timeout=timeout, allow=allow
    )
    return Database(store, os.fsdecode(path), mode, durability)


def _reopen(
    path: str, mode: str, durability: str, timeout: float | None, allowed: frozenset[str]
) -> Database:
    return open(path, mode, durability=durability, timeout=timeout, allow=allowed)
