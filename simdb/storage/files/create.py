"""The birth of a data file: under its name it is whole, or not there at all.

LMDB writes the first pages of a new file under the name that it keeps.  A full disk or a cut of
the power can leave a part of them, which is no data file any more, nor is it nothing.
"""

import os
from contextlib import suppress

import lmdb

from simdb.storage.files.location import sync_directory
from simdb.storage.files.locks import FileLock
from simdb.storage.files.names import DATA_FILE, NEW_FILE
from simdb.storage.translation import translate

MAP_BYTES = 1 << 20  # whoever opens it asks for more


def make_data_file(path: str, lock: FileLock, *, is_synced: bool, timeout: float | None) -> None:
    """Make an empty data file in the directory `path` unless there is one; FullError.

    `lock` is that of writers, so that two do not do it at once; BusyError when it does not come
    in `timeout` seconds.  `is_synced`: the file and its name are on the disk afterwards.
    """
    target = os.path.join(path, DATA_FILE)
    if os.path.lexists(target):
        return
    made = os.path.join(path, NEW_FILE)
    lock.take(timeout)
    try:
        if not os.path.lexists(target):
            _remove(made)
            _make(made, is_synced)
            os.replace(made, target)
            if is_synced:
                sync_directory(path)
                with suppress(PermissionError):
                    sync_directory(os.path.dirname(os.path.abspath(path)))
    except (lmdb.Error, OSError) as error:
        with suppress(OSError):
            _remove(made)
        translate(error, path)
    finally:
        lock.release()


def _make(path: str, is_synced: bool) -> None:
    lmdb.open(os.fsencode(path), subdir=False, lock=False, map_size=MAP_BYTES, mode=0o600).close()
    if is_synced:
        with open(path, "rb") as file:
            os.fsync(file.fileno())


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
