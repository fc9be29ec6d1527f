"""The registry: one environment for each directory, shared by all its users in this process."""

import os
import threading
import weakref
from contextlib import suppress

from simdb.core.errors import BusyError, Error, OptionError
from simdb.storage.environment.environment import Environment
from simdb.storage.files.plain import DATA_FILE

# A lease can be garbage collected, and so given back, even while this thread has the lock.
_lock = threading.RLock()
_open: dict[tuple[int, int], "Shared"] = {}


class Lease:
    """A store's right to use an environment; given back once, or when the object is deleted."""

    __slots__ = ("__weakref__", "shared")

    def __init__(self, shared: "Shared") -> None:
        """Make a lease of an open environment."""
        self.shared = shared

    @property
    def environment(self) -> Environment:
        """The environment that this lease gives access to."""
        return self.shared.environment


class Shared:
    """An environment and its live leases."""

    def __init__(self, environment: Environment) -> None:
        """Start without leases."""
        self.environment = environment
        self.leases: weakref.WeakSet[Lease] = weakref.WeakSet()

    @property
    def is_used(self) -> bool:
        """Whether any lease is alive; the set may still count one that is being deleted."""
        return any(True for _ in self.leases)

    def lease(self) -> Lease:
        """Make another lease."""
        lease = Lease(self)
        # When the process ends, the system closes everything.
        weakref.finalize(lease, _close_unused, self).atexit = False
        self.leases.add(lease)
        return lease


def acquire(
    path: str, *, is_read_only: bool, durability: str, map_bytes: int, timeout: float | None = None
) -> Lease:
    """Return a lease of the environment of the directory `path`, opening it if needed.

    An environment that was opened for reading is reopened for the first caller that writes.
    OptionError if it is already open with another durability, because all users share that.
    `timeout`: seconds to wait while another process replaces the data file.
    """
    with _lock:
        state = os.stat(path)
        place = (state.st_dev, state.st_ino)
        shared = _open.get(place)
        if shared is not None and shared.is_used:
            shared.environment.recover()
        if shared is None or not _is_in_place(shared, path) or not shared.is_used:
            if shared is not None and not shared.is_used:
                _close_unused(shared)
            environment = Environment(
                os.path.abspath(path),
                is_read_only=is_read_only,
                durability=durability,
                map_bytes=map_bytes,
                timeout=timeout,
            )
            shared = Shared(environment)
            try:
                _open[place] = shared
                return shared.lease()
            except BaseException:
                # An interrupt: there may be no lease, and so no finaliser.
                _close_unused(shared)
                raise
        lease, environment = shared.lease(), shared.environment
        if not is_read_only:
            if environment.is_read_only:
                environment.durability = durability
                environment.reopen(None, is_read_only=False)
            elif environment.durability != durability:
                raise OptionError(
                    f"{path} is open in this process with durability={environment.durability!r};"
                    f" close it first, or open it with the same durability"
                )
        return lease


def release(lease: Lease) -> None:
    """Give a lease back; a second call does nothing.  The last lease closes its environment.

    BusyError if its transactions do not end in time; the environment then stays open.
    """
    with _lock:
        shared = lease.shared
        if list(shared.leases) == [lease]:
            try:
                shared.environment.close()
            finally:
                if not shared.environment.is_open:
                    _forget(shared)
        shared.leases.discard(lease)


def abandon(lease: Lease) -> None:
    """Give a lease back while an exception is handled, which may still hold transactions open.

    If the environment cannot be closed now, it is closed when the exception and the lease are
    deleted.
    """
    with suppress(BusyError):
        release(lease)


def _close_unused(shared: Shared) -> None:
    """Close an environment that has no lease any more."""
    with _lock:
        if shared.is_used:
            return
        try:
            shared.environment.close()
        except Error:
            pass  # no caller is left to receive it
        finally:
            _forget(shared)


def _forget(shared: Shared) -> None:
    shared.leases.clear()
    for place, each in list(_open.items()):
        if each is shared:
            del _open[place]


def _is_in_place(shared: Shared, path: str) -> bool:
    """Whether the open data file is the one at `path`, and not one of a removed directory."""
    return shared.environment.is_open and shared.environment.presence.is_of(
        os.path.join(path, DATA_FILE)
    )


def _forget_in_child() -> None:
    """After a fork, forget all environments: the child has none open."""
    global _lock
    _lock = threading.RLock()
    Environment.process = os.getpid()
    for shared in _open.values():
        shared.environment.leave_to_parent()
    _open.clear()


os.register_at_fork(after_in_child=_forget_in_child)
