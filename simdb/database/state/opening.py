"""Opening: finds or creates the database at a path, and opens it again in a forked child.

LMDB forbids a child to use the environment that its parent opened, or to close it.  So in a child
the first verb of a `Database` opens the directory once more, in the same mode.  Snapshots,
transactions and results stay with the store on which they began, and are refused in the child.

`settled` chooses the tables of a new database where its options leave them open.
"""

import os
import threading
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

from simdb import plan
from simdb.core.checks import one_of, share, shown
from simdb.core.errors import (
    CorruptError,
    Error,
    ExistsError,
    ForkedError,
    FormatError,
    OptionError,
)
from simdb.core.options import TABLES_MAX, USUAL_POLYTOPES, Options
from simdb.core.stored_options import Resources, check_same
from simdb.database.state.store import Store
from simdb.sketch import sketcher_of, take_resources, warn_of_changes
from simdb.storage import (
    DEFAULT_MAP_BYTES,
    DURABILITIES,
    LEAST_MAP_BYTES,
    MOST_MAP_BYTES,
    REMEDY,
    Environment,
    Lease,
    TemporaryFolder,
    acquire,
    contents,
    directory_of,
    is_new,
    prepare,
    translate,
)

MODES = ("r", "w", "c", "x")
_lock = threading.Lock()


class Access(NamedTuple):
    """How a process opens a database, see `simdb.open`; none of it is stored."""

    durability: str
    map_size: int | None
    timeout: float | None
    allow: Collection[str]


class Handle:
    """A database that one process opened, for it and for the children that it forks."""

    def __init__(self, store: Store, mode: str, durability: str) -> None:
        """Hold the open `store`; it was opened with `mode` and `durability`."""
        self.latest = store  # as it is, even if it is the parent's
        self._mode = "r" if mode == "r" else "w"  # the database exists by now
        self._durability = durability
        self._process = os.getpid()
        self._parent_wrote = False
        self._closing = threading.Lock()

    @property
    def store(self) -> Store:
        """The store of this process; in a forked child it is opened when it is first needed."""
        store = self.latest
        return store if store.environment.is_open or store.is_closed else self._reopened()

    @property
    def is_inherited(self) -> bool:
        """Whether a parent of this process opened the database."""
        return self._process != os.getpid()

    def check_may_write(self) -> None:
        """Raise ForkedError in a child that was forked in the middle of a write transaction.

        The parent may wait for this child, and the child would wait for the transaction.
        """
        store = self.store
        if self._parent_wrote:
            path = store.environment.path
            raise ForkedError(
                f"process {self._process} was writing to {path} when it forked this one, which"
                " only reads then; fork outside of write transactions, or open the database again"
                f" in this process: simdb.open({path!r}, 'w')"
            )

    def close(self) -> None:
        """Close the store; in a child, the parent's stays open."""
        if self.latest.environment.is_foreign:
            self.latest.close()
            return
        with self._closing:
            self.latest.close()

    def _reopened(self) -> Store:
        with _lock:
            parents = self.latest
            if parents.environment.is_foreign and not parents.is_closed:
                self._parent_wrote = parents.environment.parent_wrote
                size, timeout = parents.environment.map_bytes, parents.timeout
                access = Access(self._durability, size, timeout, parents.allowed)
                self.latest = open_store(parents.environment.path, self._mode, None, access)
                self._closing = threading.Lock()  # a thread of the parent may have held the old one
            return self.latest


def open_store(
    path: str | os.PathLike[str], mode: str, options: Options | None, access: Access
) -> Store:
    """Return the store of the database at `path`; `mode` can create it, see `simdb.open`."""
    one_of("mode", mode, MODES)
    if options is not None and not isinstance(options, Options):
        raise OptionError(f"options must be a simdb.Options, got {type(options).__name__}")
    durability, map_size, timeout, allow = access
    one_of("durability", durability, DURABILITIES)
    size = DEFAULT_MAP_BYTES if map_size is None else map_size
    if not isinstance(size, int) or not LEAST_MAP_BYTES <= size <= MOST_MAP_BYTES:
        raise OptionError(
            f"map_size must be a number of bytes from {LEAST_MAP_BYTES} to {MOST_MAP_BYTES},"
            f" got {shown(map_size)}"
        )
    if timeout is not None and not (_is_number(timeout) and timeout >= 0):
        raise OptionError(
            f"timeout must be a number of seconds from 0 on, or None, got {shown(timeout)}"
        )
    allowed = _allowed(allow, options)
    directory = directory_of(path)
    if options is not None and is_new(directory, mode):
        _make_resources(settled(options))  # an error here leaves no empty directory behind
    prepare(directory, mode)
    lease = acquire(
        directory, is_read_only=mode == "r", durability=durability, map_bytes=size, timeout=timeout
    )
    try:
        environment = lease.environment
        stored = _stored_options(environment, mode, options)
        if options is not None:
            check_same(stored, options, directory)
        resources = contents.read_resources(environment)
        warn_of_changes(stored.sketch, resources, directory)
        return Store(lease, stored, resources, timeout=timeout, allowed=allowed)
    except BaseException as error:
        lease.abandon()
        if isinstance(error, OSError) and not isinstance(error, Error):
            translate(error, directory)
        if isinstance(error, CorruptError) and REMEDY not in str(error):
            raise CorruptError(f"{error}; {REMEDY}") from error
        raise


def open_temporary(mode: str, options: Options | None, access: Access) -> Store:
    """Return the store of a new database in a temporary folder, which the store removes."""
    one_of("mode", mode, MODES)
    if mode in ("r", "w"):
        raise OptionError(
            f"mode {mode!r} opens a database that exists, and without a path there is none; give a"
            " path, or leave out the mode"
        )
    one_of("durability", access.durability, DURABILITIES)
    if access.durability == "process":
        raise OptionError(
            "a database without a path is gone when the process ends, so durability='process' is"
            " not possible; give a path"
        )
    folder = TemporaryFolder()
    try:
        store = open_store(folder.database, "x", options, access._replace(durability="none"))
    except BaseException:
        folder.remove()
        raise
    store.folder = folder
    return store


def open_beside(store: Store, room_bytes: int) -> Store:
    """Return the store of a new temporary database that takes the sketches of `store` as they are.

    It has the same options, stop words and IDF table; `room_bytes`: see `open_aside`.
    """
    resources = contents.read_resources(store.environment)
    return open_aside(store.options, resources, room_bytes, store.allowed)


def open_aside(
    options: Options, resources: Resources, room_bytes: int, allowed: frozenset[str] = frozenset()
) -> Store:
    """Return the store of a new temporary database with these options and stop words.

    `room_bytes`: what its file may need; it lies in memory only if there is so much room.
    """
    folder = TemporaryFolder(room_bytes)
    prepare(folder.database, "x")
    lease = acquire(
        folder.database, is_read_only=False, durability="none", map_bytes=DEFAULT_MAP_BYTES
    )
    try:
        made = created(lease, options, resources, allowed)
    except BaseException:
        lease.abandon()
        folder.remove()
        raise
    made.folder = folder
    return made


def created(
    lease: Lease, options: Options, resources: Resources, allowed: frozenset[str] = frozenset()
) -> Store:
    """Return the store of a new database in an empty environment; `allowed`: see `Store`."""
    environment = lease.environment
    environment.write(lambda writer: contents.create(environment, writer, options, resources))
    stored = contents.attach(environment)
    return Store(lease, stored, resources, timeout=None, allowed=allowed)


def settled(
    options: Options, *, similarity: float | None = None, recall: float | None = None
) -> Options:
    """Return the options with everything chosen that their sketch allows and they leave open.

    These are `bands` and `rows`, or `polytopes`.  Bands are chosen for `similarity` and `recall`,
    or for those of the options; no bands reach a recall of 1.  OptionError if the sketch has too
    few permutations for any choice.
    """
    for name, value in (("similarity", similarity), ("recall", recall)):
        if value is not None:
            share(name, value)
    sketch: Any = options.sketch
    if not options.is_minhash:
        is_open = options.polytopes is None and sketch.vector_bytes > 0
        return replace(options, polytopes=USUAL_POLYTOPES) if is_open else options
    if options.bands is not None:
        return options
    chosen = plan.banding.choose(
        sketch.permutations,
        options.similarity if similarity is None else similarity,
        options.recall if recall is None or recall >= 1 else recall,
        stored_bits=sketch.stored_bits, bands_max=TABLES_MAX,
    )  # fmt: skip
    return replace(options, bands=chosen.bands, rows=chosen.rows)


def _stored_options(environment: Environment, mode: str, options: Options | None) -> Options:
    """Return the options stored in the database; create it first if missing and `mode` allows."""
    with environment.reading() as transaction:
        is_empty = not transaction.stat()["entries"]
    if is_empty:
        if mode in ("r", "w"):
            raise FormatError(f"{environment.path} is an empty LMDB directory, no simdb database")
        wanted = settled(options or Options())
        resources = _make_resources(wanted)
        try:
            # Another process may have created it in the meantime.
            if environment.write(
                lambda writer: contents.create(environment, writer, wanted, resources)
            ):
                return contents.attach(environment)
        except BaseException:
            environment.handles.forget()
            raise
    if mode == "x":
        raise ExistsError(
            f"{environment.path} is already a database",
            python="open it with mode 'w'",
            command="name another place",
        )
    return contents.attach(environment)


def _make_resources(options: Options) -> Resources:
    """Return what a new database stores of packages; OptionError if a needed one is missing."""
    resources = take_resources(options.sketch)
    sketcher_of(options.sketch, resources, [options.sketch.tokeniser]).prepare()
    return resources


def _allowed(allow: Collection[str], options: Options | None) -> frozenset[str]:
    """Return the names of the callables that may be imported."""
    is_listed = isinstance(allow, Collection) and not isinstance(allow, str)
    if not is_listed or not all(isinstance(name, str) for name in allow):
        raise OptionError(
            f"allow must be a list of names 'package.module:function', got {shown(allow)}"
        )
    given = () if options is None else (options.sketch.tokeniser,)
    return frozenset(allow).union(given) - {""}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _renew_in_child() -> None:
    """After a fork, free the lock: a thread of the parent may have held it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_in_child)
