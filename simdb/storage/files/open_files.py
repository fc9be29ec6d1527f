"""Open files: the locks, the presence and the watch of one open database, and its data file."""

import os
from contextlib import suppress

import lmdb

from simdb.storage.files.location import sync_directory
from simdb.storage.files.locks import FileLock, open_lock
from simdb.storage.files.names import DATA_FILE, NEW_FILE, WRITER_LOCK
from simdb.storage.files.plain import share_files
from simdb.storage.files.presence import Presence
from simdb.storage.files.watch import Watch
from simdb.storage.translation import translate

MAP_BYTES = 1 << 20  # opening the file later asks for more


class OpenFiles:
    """The files that an environment holds open beside LMDB."""

    def __init__(
        self, path: str, *, is_read_only: bool, is_synced: bool, timeout: float | None
    ) -> None:
        """Open the locks in the directory `path`; make an empty data file unless read-only.

        `timeout`: seconds to wait while another process replaces the data file.
        """
        self._data_path = os.path.join(path, DATA_FILE)
        self._path = path
        self.writer_lock = open_lock(os.path.join(path, WRITER_LOCK), is_read_only)
        if self.writer_lock is not None and not is_read_only:
            make_data_file(path, self.writer_lock, is_synced=is_synced, timeout=timeout)
        self.presence = Presence(path, is_read_only=is_read_only, timeout=timeout)
        self.watch = Watch()

    @property
    def can_be_alone(self) -> bool:
        """Whether there are lock files, which tell whether other processes are here."""
        return self.writer_lock is not None and self.presence.can_be_alone

    def note_opened(self) -> None:
        """Share and remember the files after LMDB has opened its own; ReplacedError."""
        share_files(self._path)
        self.presence.note_files()
        self.watch.follow(self._data_path)

    def put_in_place(self, replacement: str) -> None:
        """Move the file `replacement` to the place of the data file, and to the disk."""
        share_files(self._path)
        os.replace(replacement, self._data_path)
        self.presence.follow()
        sync_directory(self._path)

    def close(self) -> None:
        """Close the files and give the locks back; a second call does nothing."""
        self.presence.close()
        self.watch.close()
        if self.writer_lock is not None:
            self.writer_lock.close()


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
