"""Store: one open database of this process, with the newest view of it.

A query begins a read transaction, which has the number of the last commit.  If the newest view was
made for that commit, the query uses it; otherwise the store first reads what has changed.
Beginning a transaction takes less than a microsecond.  So none stays open between queries, where it
would prevent the reuse of freed pages.

LMDB forbids a child to use or to close the environment that its parent opened.  So in a child the
first verb of a `Database` opens the directory once more, in the same mode (`Handle`).  Snapshots,
transactions and results stay with the store on which they began, and are refused in the child.

`settled` chooses the tables of a new database if its options leave them open.
"""

import os
import threading
import weakref
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from simdb import plan, sketch as sketching, storage
from simdb.core.arrays import Extras, Sketches
from simdb.core.checks import instance, one_of, shares, shown, whole
from simdb.core.errors import (
    CorruptError,
    Error,
    ExistsError,
    ForkedError,
    FormatError,
    OptionError,
    undoing,
)
from simdb.core.options import TABLES_MAX, USUAL_POLYTOPES, Options, Simhash
from simdb.core.stored_options import Resources, check_same
from simdb.core.text_sketch import TokenHash
from simdb.database.state.kinds import kind_of
from simdb.database.state.staged import Known
from simdb.database.state.state import State
from simdb.database.state.view import FINGERPRINTS, KeptParts, View
from simdb.plan import Calibration, decode_calibration
from simdb.sketch import AnySketcher, Sketcher, sketcher_of, take_resources, warn_of_changes
from simdb.storage import by_ordinal, contents, file_map, merge as merges

if TYPE_CHECKING:
    from simdb.sketch import ExactSimilarity, Winnower

# The least growth of a map that is too small; the map at least doubles anyway.
GROWTH_BYTES = 1 << 20
# Only compacting and rebuilding replace options, so no reader can meet this many in a row.
TAKEN_TRIES = range(20)

Result = TypeVar("Result")
# Transaction number and generation of the map, the contents stored then, and their view.
Latest = tuple[tuple[int, int], storage.Contents, View]


MODES = ("r", "w", "c", "x")
_lock = threading.Lock()


class Beside:
    """A maker of the values that are stored next to sketches: grains, features and texts."""

    def __init__(
        self, winnower: "Winnower | None", packing: "ExactSimilarity | None", *, has_texts: bool
    ) -> None:
        """Make grains by `winnower`, and pack features by `packing`; None omits either."""
        self._winnower, self._packing, self._has_texts = winnower, packing, has_texts

    def added(self, sketches: Sketches, documents: Any, *, errors: str, start: int = 0) -> Sketches:
        """Return sketches with the values of their documents; raise InputError if that fails."""
        grains, features, texts = sketches.extras
        if self._winnower is not None:
            grains = self._winnower.grains(documents, errors=errors, start=start)
        if self._packing is not None:
            features = self._packing.packed(documents, errors=errors, start=start)
        if self._has_texts:
            texts = by_ordinal.pack_texts(documents, len(sketches), errors)
        return replace(sketches, extras=Extras(grains, features, texts))


class Lasting(Protocol):
    """A state that stays open after the verb has returned, while the result is read from it."""

    def close(self) -> None:
        """End the state; the unread part of the result is lost."""


class Store:
    """An environment with the options, sketcher and views of one database."""

    def __init__(
        self,
        lease: storage.Lease,
        options: Options,
        resources: Resources,
        *,
        timeout: float | None,
        allowed: frozenset[str],
    ) -> None:
        """`timeout`: seconds to wait for the write lock; None waits for ever.

        `allowed`: names of callables that may be imported.
        """
        self.lease = lease
        self.environment = lease.environment
        self.options = options
        self.timeout = timeout
        self.allowed = allowed
        self.kind = kind_of(options)
        self.keying = self.kind.keying
        self._options_version = 0  # of the manifest with which the options were read
        self._resources = resources
        self._sketcher = self._make_sketcher(options)
        self._winnower: Winnower | None = None
        self._beside: tuple[Options, Beside] | None = None
        self.takes_bits = self.kind.stores == FINGERPRINTS  # whether a query can be an int
        self.width = options.sketch.vector_bytes
        self.has_similarities = options.has_similarities
        self._is_closed = False
        self._lock = threading.Lock()
        self._latest: Latest | None = None
        self._calibrated: tuple[dict[str, Any] | None, Calibration | None] | None = None
        # The maintained clusters as the last write transaction of this process left them, with the
        # number of that transaction and the generation of the map.
        self.membership: tuple[tuple[int, int], storage.Membership] | None = None
        # The unfinished merge in memory, with the numbers of the same transaction.
        self.merging: tuple[tuple[int, int], merges.Merging] | None = None
        # The codes of fields of the newest state that was asked for them.
        self._codes: tuple[int, storage.FieldCodes] | None = None
        # A bitmap that the last deletion of this process has replaced, see `Tombstones`.
        self.spare = storage.Spare()
        self._lasting: weakref.WeakSet[Lasting] = weakref.WeakSet()
        # The temporary folder of a database without a path, which is removed with the store.
        self.folder: storage.TemporaryFolder | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the database is closed."""
        environment = self.environment
        return self._is_closed or not (environment.is_open or environment.is_foreign)

    def close(self) -> None:
        """Give the environment back; a second call does nothing.

        Raises BusyError while it is in use; the store then stays open.  Any other error leaves it
        closed.
        """
        if self._is_closed:
            return
        for state in list(self._lasting):
            state.close()
        self.forget_views()
        try:
            self.lease.release()
        finally:
            self._is_closed = self.is_closed
        self._is_closed = True
        if self.folder is not None:
            self.folder.remove()

    def exact_similarity(self, *, compares_numbers: bool = False) -> "ExactSimilarity":
        """Return a measure of the exact similarity, which sketches only estimate."""
        return sketching.ExactSimilarity(
            self.sketcher.options, self._resources, self.allowed, compares_numbers=compares_numbers
        )

    @property
    def sketcher(self) -> AnySketcher:
        """The sketcher, which makes sketches of documents."""
        self.look_for_idf()
        return self._sketcher

    @property
    def counter(self) -> Sketcher:
        """A sketcher that counts features of documents, by the settings of the database."""
        settings = self.options.sketch.feature_settings
        return Sketcher(Simhash(**settings), self._resources, self.allowed)

    @property
    def winnower(self) -> "Winnower | None":
        """The maker of the grains of texts; None if the database has no passages."""
        if self._winnower is None and self.options.passages:
            self._winnower = sketching.Winnower(self.options.sketch)
        return self._winnower

    @property
    def beside(self) -> Beside | None:
        """The maker of the values stored next to sketches; None if there are none."""
        options = self.options
        if not (options.passages or options.features or options.texts):
            return None
        if self._beside is None or self._beside[0] is not options:
            packing = self.exact_similarity() if options.features else None
            # These options may have a new IDF table by now.
            made = Beside(self.winnower, packing, has_texts=options.texts)
            self._beside = self.options, made
        return self._beside[1]

    def look_for_idf(self) -> None:
        """Take over the IDF table if it was set after the database was opened.

        The table is set once, before the first document, so a known one is not read again.
        """
        sketch = self.options.sketch
        if sketch.uses_idf and sketch.idf is None and not self.is_closed:
            self.take_idf()

    def take_idf(self) -> None:
        """Load the stored IDF table if it differs from the known one."""
        with self.environment.reading() as transaction:
            options = contents.read_options(self.environment, transaction)
        if options.sketch.idf != self.options.sketch.idf:
            # The sketcher is set first, since other threads look at the options before they use it.
            self._sketcher = self._make_sketcher(options)
            self.options = options

    def state(self) -> State:
        """Return the state of the last commit, for a `with` statement."""
        if self._is_closed:
            raise storage.closed(self.environment.path)
        environment = self.environment
        for _ in TAKEN_TRIES:
            holder = environment.begin()
            try:
                transaction, latest = holder.transaction, self._latest
                if latest is None or latest[0] != (transaction.id(), environment.generation):
                    latest = self._refreshed(self.source_of(holder))
                manifest, view = latest[1].manifest, latest[2]
                if manifest.options_version == self._options_version and view.kind is self.kind:
                    return State(self, view, None, manifest, holder)
            except BaseException:
                environment.end(holder)
                raise
            # A transaction cannot see sub-databases that are opened after it began.
            environment.end(holder)
            self.take_options()
        raise CorruptError(
            f"{self.environment.path} has a manifest that is older than its options;"
            " build it again from the stored columns: rebuild(), simdb rebuild"
        )

    def take_options(self) -> None:
        """Take over the stored options if they were replaced after the database was opened.

        Raises CorruptError if the manifest cannot be read.  The options do not change while the
        caller has the write lock.
        """
        with self.environment.reading() as transaction:
            version = contents.read_manifest(self.environment, transaction).options_version
            taken = contents.with_stored(self.environment, transaction, self.options)
        self.environment.attach(contents.all_names(taken))
        with self._lock:
            # Another thread may have read later options.
            if version > self._options_version:
                self.options = taken
                self.kind = kind_of(self.options)
                self.keying = self.kind.keying
                self._options_version = version
            self._latest = None

    def field_codes(self, known: Known) -> "storage.FieldCodes":
        """Return the codes of fields in the version of a state."""
        with self._lock:
            version, codes = self._codes or (-1, None)
            if codes is None or version != known.fields_version:
                codes = storage.FieldCodes(len(self.options.fields))
                if version < known.fields_version:  # an older state keeps its own
                    self._codes = known.fields_version, codes
            return codes

    def source(self, *, inside: Any = None) -> storage.Source:
        """Return a source that sees the last commit, or the writes of the transaction `inside`.

        The caller ends the source.
        """
        if inside is None:
            return self.source_of(self.environment.begin())
        holder = storage.Holder()
        holder.transaction = inside
        return self.source_of(holder, is_lent=True)

    def source_of(self, holder: storage.Holder | None, *, is_lent: bool = False) -> storage.Source:
        """Return a source over the transaction of `holder`; see `Source`."""
        offset = self.options.header_offset
        return storage.Source(
            self.environment, self.keying, self.width, offset, holder, is_lent=is_lent
        )

    def contents(self, source: storage.Source) -> storage.Contents:
        """Return the stored contents that `source` sees."""
        return self._refreshed(source)[1]

    def view_of(self, contents: storage.Contents, kept: KeptParts | None = None) -> View:
        """Return a view of stored contents; `kept`: parts of an earlier view, see `View`."""
        return View(
            contents.runs,
            contents.delta,
            contents.dead,
            self.kind,
            self._calibration(contents),
            kept=kept,
        )

    def publish(self, contents: storage.Contents, kept: KeptParts) -> None:
        """Let readers start from contents that this process has just committed.

        Without this they would read and decode them.  `kept`: see `View`.
        """
        newest = (contents.stamp, contents, self.view_of(contents, kept))
        with self._lock:
            self._keep(newest)

    def empty_view(self) -> View:
        """Return a view of an empty database, without pointers into the map."""
        return View([], storage.Delta(0, self.width, self.keying).view(), None, self.kind, None)

    def begin_write(self) -> storage.WriteRight:
        """Return the write lock, for a `with` statement; BusyError after the timeout."""
        return self.environment.begin_write(self.timeout)

    def with_room(
        self,
        attempt: Callable[[], Result],
        right: storage.WriteRight,
        growth_bytes: int = GROWTH_BYTES,
    ) -> Result:
        """Return the result of `attempt`; whenever the map is full, grow the map and try again.

        `attempt` writes with `Environment.write` and leaves no transaction open.  `right` is the
        caller's write lock.
        """
        while True:
            try:
                return attempt()
            except storage.MapFull:
                self.forget_views()
                self.environment.grow(growth_bytes, right)

    def forget_views(self) -> None:
        """Drop the newest view and with it all pointers into the map."""
        with self._lock:
            self._latest = None

    def keep_track(self, state: Lasting) -> None:
        """Remember a state that a result is still read from, to end it when the store closes."""
        self._lasting.add(state)

    def _make_sketcher(self, options: Options) -> AnySketcher:
        return sketcher_of(options.sketch, self._resources, self.allowed)

    def _calibration(self, contents: storage.Contents) -> Calibration | None:
        """Return the calibration; decode it only if it has changed."""
        known = self._calibrated
        if known is None or known[0] is not contents.calibration:
            stored = contents.calibration
            decoded = None if stored is None else decode_calibration(stored)
            known = self._calibrated = (stored, decoded)
        return known[1]

    def _refreshed(self, source: storage.Source) -> Latest:
        """Return the contents that `source` sees, and their view."""
        with self._lock:
            latest = self._latest
            stamp = (source.transaction.id(), self.environment.generation)
            if latest is not None and latest[0] == stamp:
                return latest
            with storage.translated(self.environment.path):
                self.environment.presence.check_readable()
            previous = None if latest is None else latest[1]
            found = storage.Contents.load(source, previous)
            kept = None if latest is None else latest[2].kept
            newest = (stamp, found, self.view_of(found, kept))
            self._keep(newest)
            return newest

    def _keep(self, newest: Latest) -> None:
        """Keep `newest` as the latest view, unless it is older because its reader was slow."""
        latest = self._latest
        if latest is None or latest[0][0] < newest[0][0] or latest[0][1] != newest[0][1]:
            self._latest = newest


class Access(NamedTuple):
    """The settings with which a process opens a database, see `simdb.open`; they are not stored."""

    durability: str
    map_size: int | None
    timeout: float | None
    allow: Collection[str]


class Handle:
    """A database that one process opened, for it and for the children that it forks."""

    def __init__(self, store: Store, mode: str, durability: str) -> None:
        """Hold the open `store`; it was opened with `mode` and `durability`."""
        self.latest = store  # it may be the parent's
        self._mode = "r" if mode == "r" else "w"  # the database exists by now
        self._durability = durability
        self._process = os.getpid()
        self._parent_wrote = False
        self._closing = threading.Lock()

    @property
    def store(self) -> Store:
        """The store of this process; a forked child opens its own when first needed."""
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
    if options is not None:
        instance("options", options, Options, "simdb.Options()")
    durability, map_size, timeout, allow = access
    one_of("durability", durability, storage.DURABILITIES)
    size = file_map.DEFAULT_MAP_BYTES
    if map_size is not None:
        size = whole("map_size", map_size, file_map.LEAST_MAP_BYTES, file_map.MOST_MAP_BYTES)
    if timeout is not None and not (_is_number(timeout) and timeout >= 0):
        raise OptionError(f"timeout must be 0 or more seconds, or None, got {shown(timeout)}")
    allowed = _allowed(allow, options)
    directory = storage.directory_of(path)
    if options is not None and storage.is_new(directory, mode):
        _make_resources(settled(options))  # an error here leaves no empty directory behind
    storage.prepare(directory, mode)
    lease = storage.Lease.acquire(
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
            storage.translate(error, directory)
        if isinstance(error, CorruptError) and storage.REMEDY not in str(error):
            raise CorruptError(f"{error}; {storage.REMEDY}") from error
        raise


def open_temporary(mode: str, options: Options | None, access: Access) -> Store:
    """Return the store of a new database in a temporary folder, which the store removes."""
    one_of("mode", mode, MODES)
    if mode in ("r", "w"):
        raise OptionError(
            f"mode {mode!r} opens a database that exists, and without a path there is none; give a"
            " path, or leave out the mode"
        )
    one_of("durability", access.durability, storage.DURABILITIES)
    if access.durability == "process":
        raise OptionError(
            "a database without a path is gone when the process ends, so durability='process' is"
            " not possible; give a path"
        )
    folder = storage.TemporaryFolder()
    with undoing(folder.remove):
        store = open_store(folder.database, "x", options, access._replace(durability="none"))
    store.folder = folder
    return store


def open_beside(store: Store, room_bytes: int) -> Store:
    """Return the store of a new temporary database that can take the sketches of `store` unchanged.

    It has the same options, stop words and IDF table; `room_bytes`: see `open_aside`.
    """
    resources = contents.read_resources(store.environment)
    return open_aside(store.options, resources, room_bytes, store.allowed)


def open_aside(
    options: Options, resources: Resources, room_bytes: int, allowed: frozenset[str] = frozenset()
) -> Store:
    """Return the store of a new temporary database with these options and stop words.

    `room_bytes`: the space that its file may need; the file is in memory only if there is enough.
    """
    folder = storage.TemporaryFolder(room_bytes)
    storage.prepare(folder.database, "x")
    lease = storage.Lease.acquire(
        folder.database, is_read_only=False, durability="none", map_bytes=file_map.DEFAULT_MAP_BYTES
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
    lease: storage.Lease,
    options: Options,
    resources: Resources,
    allowed: frozenset[str] = frozenset(),
) -> Store:
    """Return the store of a new database in an empty environment; `allowed`: see `Store`."""
    environment = lease.environment
    environment.write(lambda writer: contents.create(environment, writer, options, resources))
    stored = contents.attach(environment)
    return Store(lease, stored, resources, timeout=None, allowed=allowed)


def settled(
    options: Options, *, similarity: float | None = None, recall: float | None = None
) -> Options:
    """Return the options with tables chosen, if they leave them open.

    The sketch allows either `bands` and `rows`, or `polytopes`.  Bands are chosen for `similarity`
    and `recall`, by default of the options; no bands reach a recall of 1.  Raises OptionError if
    the sketch has too few permutations for any choice.
    """
    shares(similarity=similarity, recall=recall)
    sketch: Any = options.sketch
    if not options.is_minhash:
        is_open = options.polytopes is None and options.has_similarities
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


def _stored_options(
    environment: storage.Environment, mode: str, options: Options | None
) -> Options:
    """Return the options stored in the database; create it first if missing and `mode` allows."""
    with environment.reading() as transaction:
        is_empty = not transaction.stat()["entries"]
    if is_empty:
        if mode in ("r", "w"):
            raise FormatError(f"{environment.path} is an empty LMDB folder, not a simdb database")
        wanted = settled(options or Options())
        resources = _make_resources(wanted)
        with undoing(environment.handles.forget):
            # Another process may have created it in the meantime.
            if environment.write(
                lambda writer: contents.create(environment, writer, wanted, resources)
            ):
                return contents.attach(environment)
    if mode == "x":
        raise ExistsError(
            f"{environment.path} is already a database",
            python="open it with mode 'w'",
            command="name another place",
        )
    return contents.attach(environment)


def _make_resources(options: Options) -> Resources:
    """Return the resources that a new database stores.

    Raises OptionError if a package is missing.
    """
    resources = take_resources(options.sketch)
    sketcher_of(options.sketch, resources, [options.sketch.tokeniser]).prepare()
    return resources


def _allowed(allow: Collection[str], options: Options | None) -> frozenset[str]:
    """Return the names of the callables that may be imported, and the hash function if given."""
    is_listed = isinstance(allow, Collection) and not isinstance(allow, str)
    if not is_listed or not all(isinstance(name, str | TokenHash) for name in allow):
        raise OptionError(
            f"allow must be a list of names 'package.module:function', got {shown(allow)}"
        )
    sketch: Any = None if options is None else options.sketch
    given: set[Any] = {getattr(sketch, name, None) for name in ("tokeniser", "hash")}
    return frozenset({*allow, *given} - {"", None})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _renew_in_child() -> None:
    """After a fork, free the lock: a thread of the parent may have held it."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_in_child)
