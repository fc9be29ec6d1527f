"""Open files: the locks, the presence and the watch of one open database."""

import os

from simdb.storage.files.create import make_data_file
from simdb.storage.files.location import sync_directory
from simdb.storage.files.locks import open_lock
from simdb.storage.files.names import DATA_FILE, WRITER_LOCK
from simdb.storage.files.presence import Presence
from simdb.storage.files.sharing import share_files
from simdb.storage.files.watch import Watch


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
