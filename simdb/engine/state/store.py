"""The store: one open database of this process, and the newest view of it.

A query begins a read transaction, which tells the number of the last commit; if the view at hand
was made for that commit it serves, otherwise what has changed is read.  Beginning costs less than
a microsecond, so no reader transaction is kept open between queries to hold back freed pages.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from simdb.engine.state.kinds import kind_of
from simdb.engine.state.state import State
from simdb.engine.state.view import FINGERPRINTS, View
from simdb.errors import ClosedError
from simdb.options import Options, Simhash
from simdb.plan.calibration import Calibration, decode_calibration
from simdb.resources import Resources
from simdb.sketch.kinds import AnySketcher, sketcher_of
from simdb.sketch.sketcher import Sketcher
from simdb.storage import contents as stored
from simdb.storage.contents import Contents
from simdb.storage.environment import registry
from simdb.storage.environment.registry import Lease
from simdb.storage.environment.right import WriteRight
from simdb.storage.membership import Membership
from simdb.storage.records.delta import Delta
from simdb.storage.runs.run import Source
from simdb.storage.translation import MapFull

# A map that is too small is at least doubled; this much more than was asked is asked for at once.
GROWTH_BYTES = 1 << 20

Result = TypeVar("Result")
# Number of the transaction and generation of the map, what is stored then, and the view of it.
Latest = tuple[tuple[int, int], Contents, View]


class Lasting(Protocol):
    """A state that outlasts the verb that began it, since its result is made while it is read."""

    def close(self) -> None:
        """End it; what was not read is lost."""


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
        """`timeout`: seconds to wait for another writer, None without end.

        `allowed`: names of callables that may be imported.
        """
        self.lease = lease
        self.environment = lease.environment
        self.options = options
        self.timeout = timeout
        self.allowed = allowed
        self.kind = kind_of(options)
        self.keying = self.kind.keying
        self._resources = resources
        self._sketcher = self._make_sketcher(options)
        self.takes_bits = self.kind.stores == FINGERPRINTS  # as whole numbers
        self.width = options.sketch.vector_bytes
        self._is_closed = False
        self._lock = threading.Lock()
        self._latest: Latest | None = None
        self._calibrated: tuple[dict[str, Any] | None, Calibration | None] | None = None
        # What the last write transaction of this process knows of the kept clusters, and the number
        # of that transaction and generation of the map.
        self.membership: tuple[tuple[int, int], Membership] | None = None
        self._lasting: weakref.WeakSet[Lasting] = weakref.WeakSet()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        environment = self.environment
        return self._is_closed or not (environment.is_open or environment.is_foreign)

    def close(self) -> None:
        """Give the environment back, again is fine; BusyError, and it is as before, while in use.

        Any other error comes when it is closed.
        """
        if self._is_closed:
            return
        self.end_lasting()
        self.forget_views()
        try:
            registry.release(self.lease)
        finally:
            self._is_closed = self.is_closed
        self._is_closed = True

    @property
    def sketcher(self) -> AnySketcher:
        """Makes sketches of documents."""
        self.look_for_idf()
        return self._sketcher

    @property
    def counter(self) -> Sketcher:
        """Counts the features of documents, as the sketcher takes them."""
        settings = self.options.sketch.feature_settings
        return Sketcher(Simhash(**settings), self._resources, self.allowed)

    def look_for_idf(self) -> None:
        """Take over the IDF table, if somebody has set it since the database was opened.

        It is set once, before the first document, so there is nothing to look for after that.
        """
        sketch = self.options.sketch
        if not sketch.uses_idf or sketch.idf is not None or self.is_closed:
            return
        with self.environment.reading() as transaction:
            options = stored.read_options(self.environment, transaction)
        if options.sketch.idf is not None:
            # Other threads look at the options first.
            self._sketcher = self._make_sketcher(options)
            self.options = options

    def state(self) -> State:
        """The state of the last commit, for a `with` statement."""
        if self._is_closed:
            raise ClosedError(f"{self.environment.path} is closed")
        source = Source(self.environment, self.width, self.options.header_offset)
        try:
            transaction, latest = source.transaction, self._latest
            stamp = (transaction.id(), self.environment.generation)
            if latest is None or latest[0] != stamp:
                latest = self._refreshed(transaction)
            return State(latest[2], source, latest[1].manifest)
        except BaseException:
            source.end()
            raise

    def source(self, *, inside: Any = None) -> Source:
        """A source that sees the last commit, or what the write transaction `inside` has written.

        The caller ends it.
        """
        return Source(self.environment, self.width, self.options.header_offset, inside=inside)

    def contents(self, source: Source) -> Contents:
        """The stored state that `source` sees."""
        return self._refreshed(source.transaction)[1]

    def view_of(self, contents: Contents) -> View:
        """A view of a stored state."""
        return View(
            contents.runs,
            contents.loose,
            contents.dead,
            self.kind,
            self._calibration(contents),
        )

    def empty_view(self) -> View:
        """A view of nothing, which points nowhere."""
        return View([], Delta(0, self.width, self.keying).view(), None, self.kind, None)

    def begin_write(self) -> WriteRight:
        """Become the only writer, for a `with` statement; BusyError after the timeout."""
        return self.environment.begin_write(self.timeout)

    def with_room(
        self, attempt: Callable[[], Result], right: WriteRight, growth_bytes: int = GROWTH_BYTES
    ) -> Result:
        """What `attempt` gives; the map grows, and all is tried again, while that has no room.

        `attempt` writes by `Environment.write` and leaves no transaction open; the caller has the
        `right` to write.
        """
        while True:
            try:
                return attempt()
            except MapFull:
                self.forget_views()
                self.environment.grow(growth_bytes, right)

    def forget_views(self) -> None:
        """Drop the newest view, and with it all pointers into the map."""
        with self._lock:
            self._latest = None

    def keep_track(self, state: Lasting) -> None:
        """Remember a state that a result reads on from, to end it when the database is closed."""
        self._lasting.add(state)

    def end_lasting(self) -> None:
        """End all states that results still read on from; BusyError while one of them is read."""
        for state in list(self._lasting):
            state.close()

    def _make_sketcher(self, options: Options) -> AnySketcher:
        return sketcher_of(options.sketch, self._resources, self.allowed)

    def _calibration(self, contents: Contents) -> Calibration | None:
        """The calibration, decoded when it has changed."""
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
        """The state and view that `transaction` sees."""
        with self._lock:
            latest = self._latest
            stamp = (transaction.id(), self.environment.generation)
            if latest is not None and latest[0] == stamp:
                return latest
            self.environment.presence.check_readable()
            previous = None if latest is None else latest[1]
            contents = stored.load(self.environment, transaction, self.width, self.keying, previous)
            view = self.view_of(contents)
            newest = (stamp, contents, view)
            # A reader that began before the last commit must not turn the clock back.
            if latest is None or latest[0][0] < stamp[0] or latest[0][1] != stamp[1]:
                self._latest = newest
            return newest
