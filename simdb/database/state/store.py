"""Store: one open database of this process, with the newest view of it.

A query begins a read transaction, which has the number of the last commit.  If the newest view was
made for that commit, the query uses it; otherwise the store first reads what has changed.  To begin
a transaction takes less than a microsecond, so none stays open between queries, where it would keep
freed pages from being used again.
"""

import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from simdb import sketch as sketching
from simdb.core.arrays import Sketches
from simdb.core.errors import CorruptError
from simdb.core.options import Options, Simhash
from simdb.core.stored_options import Resources
from simdb.database.state.kinds import kind_of
from simdb.database.state.state import State
from simdb.database.state.view import FINGERPRINTS, KeptParts, View
from simdb.plan import Calibration, decode_calibration
from simdb.sketch import AnySketcher, Sketcher, sketcher_of
from simdb.storage import (
    Contents,
    Delta,
    Holder,
    Lease,
    MapFull,
    Source,
    Spare,
    TemporaryFolder,
    WriteRight,
    closed,
    contents as stored,
    translated,
)

if TYPE_CHECKING:
    from simdb.sketch import ExactSimilarity, Winnower
    from simdb.storage import Membership, Merging

# The least growth of a map that is too small; the map at least doubles anyway.
GROWTH_BYTES = 1 << 20
# Options are replaced by compacting or rebuilding, so no reader can meet this many in a row.
TAKEN_TRIES = range(20)

Result = TypeVar("Result")
# Transaction number and generation of the map; the contents stored then; the view of them.
Latest = tuple[tuple[int, int], Contents, View]


class Beside:
    """Makes what a database stores beside the sketches of texts: grains, packed features."""

    def __init__(self, winnower: "Winnower | None", packing: "ExactSimilarity | None") -> None:
        """Make grains by `winnower`, and pack features as `packing` does; None for none of them."""
        self._winnower, self._packing = winnower, packing

    def added(self, sketches: Sketches, documents: Any, *, errors: str, start: int = 0) -> Sketches:
        """Return sketches with what belongs to their documents; InputError for those without it."""
        grains, features = sketches.grains, sketches.features
        if self._winnower is not None:
            grains = self._winnower.grains(documents, errors=errors, start=start)
        if self._packing is not None:
            features = self._packing.packed(documents, errors=errors, start=start)
        return replace(sketches, grains=grains, features=features)


class Lasting(Protocol):
    """A state that stays open after the verb has returned, while the result is read from it."""

    def close(self) -> None:
        """End the state; the unread part of the result is lost."""


class Store:
    """An environment with the options, sketcher and views of one database."""

    def __init__(
        self,
        lease: Lease,
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
        self._is_closed = False
        self._lock = threading.Lock()
        self._latest: Latest | None = None
        self._calibrated: tuple[dict[str, Any] | None, Calibration | None] | None = None
        # The maintained clusters as the last write transaction of this process left them, with the
        # number of that transaction and the generation of the map.
        self.membership: tuple[tuple[int, int], Membership] | None = None
        # The same for what it left in memory of the unfinished merge.
        self.merging: tuple[tuple[int, int], Merging] | None = None
        # A bitmap that the last deletion of this process has replaced, see `Tombstones`.
        self.spare = Spare()
        self._lasting: weakref.WeakSet[Lasting] = weakref.WeakSet()
        # Where the database lies, if it has no path of its own; it goes with the store.
        self.folder: TemporaryFolder | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the database is closed."""
        environment = self.environment
        return self._is_closed or not (environment.is_open or environment.is_foreign)

    def close(self) -> None:
        """Give the environment back; a second call does nothing.

        BusyError while it is in use; the store then stays open.  Any other error leaves it closed.
        """
        if self._is_closed:
            return
        self.end_lasting()
        self.forget_views()
        try:
            self.lease.release()
        finally:
            self._is_closed = self.is_closed
        self._is_closed = True
        if self.folder is not None:
            self.folder.remove()

    def exact_similarity(self, *, compares_numbers: bool = False) -> "ExactSimilarity":
        """Return the exact similarity of documents that the sketches estimate."""
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
        """What makes the grains of texts; None if the database has no passages."""
        if self._winnower is None and self.options.passages:
            self._winnower = sketching.Winnower(self.options.sketch)
        return self._winnower

    @property
    def beside(self) -> Beside | None:
        """What makes that which is stored beside sketches; None if nothing is."""
        options = self.options
        if not (options.passages or options.features):
            return None
        if self._beside is None or self._beside[0] is not options:
            packing = self.exact_similarity() if options.features else None
            self._beside = self.options, Beside(self.winnower, packing)  # an IDF table may be new
        return self._beside[1]

    def look_for_idf(self) -> None:
        """Take over the IDF table if it was set after the database was opened.

        The table is set once, before the first document, so a known one is not read again.
        """
        sketch = self.options.sketch
        if sketch.uses_idf and sketch.idf is None and not self.is_closed:
            self.take_idf()

    def take_idf(self) -> None:
        """Take over the stored IDF table if it is not the known one."""
        with self.environment.reading() as transaction:
            options = stored.read_options(self.environment, transaction)
        if options.sketch.idf != self.options.sketch.idf:
            # The sketcher comes first: other threads look at the options before they use it.
            self._sketcher = self._make_sketcher(options)
            self.options = options

    def state(self) -> State:
        """Return the state of the last commit, for a `with` statement."""
        if self._is_closed:
            raise closed(self.environment.path)
        environment = self.environment
        for _ in TAKEN_TRIES:
            holder = environment.begin()
            try:
                transaction, latest = holder.transaction, self._latest
                if latest is None or latest[0] != (transaction.id(), environment.generation):
                    latest = self._refreshed(transaction)
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

        CorruptError if the manifest cannot be read.  While the caller has the write lock, they stay
        the same.
        """
        with self.environment.reading() as transaction:
            version = stored.read_manifest(self.environment, transaction).options_version
            taken = stored.with_stored(self.environment, transaction, self.options)
        self.environment.attach(stored.all_names(taken))
        with self._lock:
            # Another thread may have read later ones.
            if version > self._options_version:
                self.options = taken
                self.kind = kind_of(self.options)
                self.keying = self.kind.keying
                self._options_version = version
            self._latest = None

    def source(self, *, inside: Any = None) -> Source:
        """Return a source that sees the last commit, or the writes of the transaction `inside`.

        The caller ends the source.
        """
        if inside is None:
            return self.source_of(self.environment.begin())
        holder = Holder()
        holder.transaction = inside
        return self.source_of(holder, is_lent=True)

    def source_of(self, holder: Holder | None, *, is_lent: bool = False) -> Source:
        """Return a source over the transaction of `holder`; see `Source`."""
        offset = self.options.header_offset
        return Source(self.environment, self.keying, self.width, offset, holder, is_lent=is_lent)

    def contents(self, source: Source) -> Contents:
        """Return the stored contents that `source` sees."""
        return self._refreshed(source.transaction)[1]

    def view_of(self, contents: Contents, kept: KeptParts | None = None) -> View:
        """Return a view of stored contents; `kept`: of an earlier view, see `View`."""
        return View(
            contents.runs,
            contents.delta,
            contents.dead,
            self.kind,
            self._calibration(contents),
            kept=kept,
        )

    def publish(self, contents: Contents, kept: KeptParts) -> None:
        """Let readers start from contents that this process has just committed.

        Without this they would read and decode them.  `kept`: see `View`.
        """
        newest = (contents.stamp, contents, self.view_of(contents, kept))
        with self._lock:
            self._keep(newest)

    def empty_view(self) -> View:
        """Return a view of an empty database, without pointers into the map."""
        return View([], Delta(0, self.width, self.keying).view(), None, self.kind, None)

    def begin_write(self) -> WriteRight:
        """Return the write lock, for a `with` statement; BusyError after the timeout."""
        return self.environment.begin_write(self.timeout)

    def with_room(
        self, attempt: Callable[[], Result], right: WriteRight, growth_bytes: int = GROWTH_BYTES
    ) -> Result:
        """Return the result of `attempt`; whenever the map is full, grow the map and try again.

        `attempt` writes with `Environment.write` and leaves no transaction open.  `right` is the
        caller's write lock.
        """
        while True:
            try:
                return attempt()
            except MapFull:
                self.forget_views()
                self.environment.grow(growth_bytes, right)

    def forget_views(self) -> None:
        """Drop the newest view and with it all pointers into the map."""
        with self._lock:
            self._latest = None

    def keep_track(self, state: Lasting) -> None:
        """Remember a state that a result is still read from, to end it when the store closes."""
        self._lasting.add(state)

    def end_lasting(self) -> None:
        """End all states that results are still read from; BusyError during a read."""
        for state in list(self._lasting):
            state.close()

    def _make_sketcher(self, options: Options) -> AnySketcher:
        return sketcher_of(options.sketch, self._resources, self.allowed)

    def _calibration(self, contents: Contents) -> Calibration | None:
        """Return the calibration; decode it only if it has changed."""
        known = self._calibrated
        if known is None or known[0] is not contents.calibration:
            stored = contents.calibration
            decoded = None
            if stored is not None:
                is_unmoved = contents.manifest.is_unmoved
                decoded = decode_calibration(stored, is_unmoved=is_unmoved)
            known = self._calibrated = (stored, decoded)
        return known[1]

    def _refreshed(self, transaction: Any) -> Latest:
        """Return the contents that `transaction` sees and the view of them."""
        with self._lock:
            latest = self._latest
            stamp = (transaction.id(), self.environment.generation)
            if latest is not None and latest[0] == stamp:
                return latest
            with translated(self.environment.path):
                self.environment.presence.check_readable()
            previous = None if latest is None else latest[1]
            contents = stored.load(self.environment, transaction, self.width, self.keying, previous)
            kept = None if latest is None else latest[2].kept
            newest = (stamp, contents, self.view_of(contents, kept))
            self._keep(newest)
            return newest

    def _keep(self, newest: Latest) -> None:
        """Use a view from now on, unless it is older: a slow reader may have begun before."""
        latest = self._latest
        if latest is None or latest[0][0] < newest[0][0] or latest[0][1] != newest[0][1]:
            self._latest = newest
