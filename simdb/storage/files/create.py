"""Creation of a data file, so that it exists under its name complete or not at all.

LMDB writes the first pages of a new file under the file's final name.  A full disk or a power loss
can leave only some of them, and LMDB then takes the file neither for a database nor for a new one.
So the file is made under another name and then moved.
"""

import os
from contextlib import suppress

import lmdb

from simdb.storage.files.location import sync_directory
from simdb.storage.files.locks import FileLock
from simdb.storage.files.names import DATA_FILE, NEW_FILE
from simdb.storage.translation import translate

MAP_BYTES = 1 << 20  # opening the file later asks for more


def make_data_file(path: str, lock: FileLock, *, is_synced: bool, timeout: float | None) -> None:
    """Make an empty data file in the directory `path` unless there is one; FullError.

    `lock`: the writer lock, so that no two processes make it at once; BusyError if it is not free
    within `timeout` seconds.  `is_synced`: sync the file and its name to the disk.
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
