"""Sharing: gives the group of a database its rights to the files, if the directory says so.

Files are their owner's alone, whatever the umask is.  Who wants to share a database with a group
makes its directory, sets the bit that gives new files the group of the directory (setgid), and
grants the group what it may do: `mkdir -m 2750` lets it read, `mkdir -m 2770` also write.
"""

import os
import stat
from contextlib import suppress

from simdb.storage.files.names import LMDB_LOCK, OWN_FILES, PRESENCE_LOCK, WRITER_LOCK
from simdb.storage.files.plain import open_regular

OWN_MODE = 0o600
GROUP_READS, GROUP_WRITES = 0o040, 0o020
# A reader notes in these that it reads.
LOCKS = {LMDB_LOCK, PRESENCE_LOCK, WRITER_LOCK}


def is_shared(path: str) -> bool:
    """Return whether the directory of a database is shared with its group."""
    mode = os.stat(path).st_mode
    return bool(mode & stat.S_ISGID and mode & GROUP_READS)


def file_mode(path: str, name: str) -> int:
    """Return the mode of the file `name` in the directory of a database."""
    if not is_shared(path):
        return OWN_MODE
    writes = GROUP_WRITES if name in LOCKS else os.stat(path).st_mode & GROUP_WRITES
    return OWN_MODE | GROUP_READS | writes


def share_files(path: str) -> None:
    """Give the files of this user in a shared directory their modes; do nothing in another."""
    if not is_shared(path):
        return
    for name in OWN_FILES:
        wanted = file_mode(path, name)
        # Another user shares the files that are theirs, and some places cannot be changed.
        with (
            suppress(OSError),
            open_regular(os.path.join(path, name), os.O_RDONLY, is_alone=False) as file,
        ):
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) != wanted:
                os.fchmod(file.fileno(), wanted)
