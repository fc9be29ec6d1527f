"""New directories: made complete beside their place, then moved into it.

Whoever makes a directory holds a lock on it, which the system releases if the process is killed.
So the next one who makes the same directory can tell what was abandoned, and removes that.
"""

import errno
import os
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TypeVar

from simdb.core.errors import Error, ExistsError, FullError, InputError
from simdb.storage.files.location import sync_directory
from simdb.storage.files.locks import lock_directory, make_locked
from simdb.storage.files.plain import OWN_FILES
from simdb.storage.translation import translate

Result = TypeVar("Result")

IMPOSSIBLE = (errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP)


def made_beside(
    target: str,
    suffix: str,
    make: Callable[[str], Result],
    *,
    settle: Callable[[Result], Result] | None = None,
) -> Result:
    """Call `make` with a directory to fill, move that to `target`, and return the result of `make`.

    `make` must leave everything synced and nothing open.  Until it returns, the directory is called
    TARGET.*SUFFIX. The directory is removed if `make` fails.  If the process is killed, the next
    call for `target` removes it.  ExistsError if `target` exists.

    With `settle`, something may be at `target`, or come there meanwhile: then it stays, the new
    directory is removed, and the result is what `settle` returns for the result of `make`.  Several
    machines may then make it at once, and not all file systems show the locks of other machines, so
    no other unfinished directory is touched.
    """
    place = os.path.abspath(target)
    parent = os.path.dirname(place)
    try:
        if settle is None:
            _refuse_existing(target, place)
            _remove_abandoned(place, suffix)
        os.makedirs(parent, exist_ok=True)
        with ExitStack() as locks:
            temporary = make_locked(parent, os.path.basename(place) + ".", suffix, locks)
            try:
                result = make(temporary)
                sync_directory(temporary)
                if settle is None:
                    _refuse_existing(target, place)  # another process may have been quicker
                if _has_moved(temporary, place, may_lose=settle is not None):
                    sync_directory(parent)
                    return result
            except BaseException:
                _remove(temporary)
                raise
            _remove(temporary)
    except FullError as error:
        raise FullError(f"{target} was not made, and nothing of it stays: {error}") from error
    except Error:
        raise
    except OSError as error:
        if error.errno in IMPOSSIBLE:
            raise InputError(f"{target} cannot be made: {error}") from error
        translate(error, target)
    assert settle is not None
    return settle(result)


def _remove_abandoned(place: str, suffix: str) -> None:
    """Remove the unfinished directories for `place` that no living process has locked."""
    parent, name = os.path.split(place)
    unfinished = re.compile(rf"{re.escape(name)}\.[a-z0-9_]{{8}}{re.escape(suffix)}")
    with suppress(OSError):
        for each in filter(unfinished.fullmatch, os.listdir(parent)):
            path = os.path.join(parent, each)
            with suppress(OSError), ExitStack() as locks:
                lock_directory(path, locks)
                _remove(path)


def _has_moved(temporary: str, place: str, *, may_lose: bool) -> bool:
    """Move the directory; return False if it `may_lose` and something is in its place already."""
    if may_lose and os.path.lexists(place):
        return False
    try:
        os.rename(temporary, place)
    except OSError as error:
        if may_lose and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _remove(directory: str) -> None:
    """Remove the unfinished directory, even if the process has no free file descriptor left."""
    for name in OWN_FILES:
        with suppress(OSError):
            os.unlink(os.path.join(directory, name))
    with suppress(OSError):
        os.rmdir(directory)
    shutil.rmtree(directory, ignore_errors=True)


def _refuse_existing(target: str, place: str) -> None:
    if os.path.lexists(place):
        raise ExistsError(f"{target} exists already; give the path of a new directory")
