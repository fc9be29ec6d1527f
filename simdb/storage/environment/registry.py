"""One environment for each directory and process, shared by all who open it here."""

import os
import threading
import weakref
from contextlib import suppress

from simdb.errors import BusyError, Error, OptionError
from simdb.storage.environment.environment import Environment
from simdb.storage.files.names import DATA_FILE

# A lease that nobody has any more is given back at any moment, also while this thread has the lock.
_lock = threading.RLock()
_open: dict[tuple[int, int], "Shared"] = {}


class Lease:
    """The right of one store to use an environment; given back once, or when nobody has it."""

    __slots__ = ("__weakref__", "shared")

    def __init__(self, shared: "Shared") -> None:
        """Of an environment that is open."""
        self.shared = shared

    @property
    def environment(self) -> Environment:
        """What it is a lease of."""
        return self.shared.environment


class Shared:
    """An environment and the leases of it that are alive."""

    def __init__(self, environment: Environment) -> None:
        """No lease yet."""
        self.environment = environment
        self.leases: weakref.WeakSet[Lease] = weakref.WeakSet()

    @property
    def is_used(self) -> bool:
        """Whether anybody has a lease; one whose owner is gone may still be listed, and is not."""
        return any(True for _ in self.leases)

    def lease(self) -> Lease:
        """Another lease."""
        lease = Lease(self)
        self.leases.add(lease)
        # The end of the process closes everything without our help.
        weakref.finalize(lease, _close_unused, self).atexit = False
        return lease


def acquire(
    path: str,
    *,
    is_read_only: bool,
    durability: str,
    map_bytes: int,
    timeout: float | None = None,
) -> Lease:
    """A lease of the environment of the directory `path`, opened if it is not open here yet.

    One that was opened for reading is opened anew when somebody wants to write.  OptionError when
    it is open with another durability, which cannot be changed for one user alone.  `timeout`:
    seconds to wait while another process puts another data file in place.
    """
    with _lock:
        state = os.stat(path)
        place = (state.st_dev, state.st_ino)
        shared = _open.get(place)
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
            shared = _open[place] = Shared(environment)
            return shared.lease()
        lease, environment = shared.lease(), shared.environment
        if not is_read_only:
            if environment.is_read_only:
                environment.durability = durability
                environment.reopen(None, is_read_only=False)
            elif environment.durability != durability:
                raise OptionError(
                    f"{path} is open in this process with durability={environment.durability!r};"
                    f" close it there, or open it with the same"
                )
        return lease


def release(lease: Lease) -> None:
    """Give a lease back, again is fine; the last one to be given back closes its environment.

    BusyError, and it is open as before, while transactions of it do not end.
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
    """Give a lease back in the middle of an exception, which may still hold transactions open.

    What is not closed now is closed when the exception is over, and nobody has the lease any more.
    """
    with suppress(BusyError):
        release(lease)


def _close_unused(shared: Shared) -> None:
    """Close an environment of which nobody has a lease any more."""
    with _lock:
        if shared.is_used:
            return
        try:
            shared.environment.close()
        except Error:
            pass  # nobody is left to be told
        finally:
            _forget(shared)


def _forget(shared: Shared) -> None:
    shared.leases.clear()
    for place, each in list(_open.items()):
        if each is shared:
            del _open[place]


def _is_in_place(shared: Shared, path: str) -> bool:
    """Whether it has the data file open that is there, and not one of a directory removed since."""
    return shared.environment.is_open and shared.environment.presence.is_of(
        os.path.join(path, DATA_FILE)
    )


def _forget_in_child() -> None:
    """After a fork the child has no environment open, whatever its memory says."""
    global _lock
    _lock = threading.RLock()
    for shared in _open.values():
        shared.environment.leave_to_parent()
    _open.clear()


os.register_at_fork(after_in_child=_forget_in_child)
