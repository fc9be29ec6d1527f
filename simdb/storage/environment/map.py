"""Opening LMDB with the largest map for which the system has address space."""

import os
import time
from typing import Any

import lmdb

from simdb.ground.errors import Error, FormatError, FullError
from simdb.storage.files.names import DATA_FILE
from simdb.storage.files.pages import check_metas
from simdb.storage.translation import is_left_from_fork, is_out_of_memory, translate

# Address space, not disk: the file grows as it is filled.
LEAST_MAP_BYTES = 1 << 20
DEFAULT_MAP_BYTES = 1 << 40
MOST_MAP_BYTES = 1 << 62
READERS_MAX = 2048  # slots in the lock file; many readers soon fill LMDB's default of 126
SUBDATABASES_MAX = 128
# The library whose pages simdb checks by itself; another one may lay them out differently.
LIBRARY = (0, 9)
OPEN_TRIES = 20  # opening can fail while another process opens or closes the environment


def open_map(path: str, map_bytes: int, *, is_read_only: bool, is_synced: bool) -> Any:
    """Open the LMDB environment of the directory `path`, with a map of `map_bytes` or less.

    FormatError if this LMDB cannot read the data file, or is one whose pages simdb does not know.
    CorruptError if the data file claims pages outside its map, which LMDB tells in many ways.
    """
    check_library(lmdb.version())
    try:
        return _open_smaller(path, map_bytes, is_read_only=is_read_only, is_synced=is_synced)
    except FormatError:
        raise
    except Error:
        name = os.path.join(path, DATA_FILE)
        with open(name, "rb") as file:
            check_metas(file.fileno(), name, least=0)
        raise


def check_library(version: tuple[int, ...]) -> None:
    """Raise FormatError unless `version` is of the LMDB whose pages `storage/files/` checks."""
    if tuple(version[:2]) != LIBRARY:
        raise FormatError(
            f"the package lmdb has LMDB {'.'.join(map(str, version))}, and simdb knows the files "
            f"of LMDB {'.'.join(map(str, LIBRARY))}: install it with pip install 'lmdb>=3.0,<4'"
        )


def try_open(path: str, map_bytes: int, *, is_read_only: bool, is_synced: bool) -> Any:
    """Open the environment in one try, with a map of exactly `map_bytes`; lmdb.Error."""
    environment = lmdb.open(
        os.fsencode(path),
        map_size=map_bytes,
        max_dbs=SUBDATABASES_MAX,
        max_readers=READERS_MAX,
        readonly=is_read_only,
        create=not is_read_only,
        sync=is_synced,
        metasync=is_synced,
        mode=0o600,
        meminit=False,
    )
    if not is_read_only:
        environment.reader_check()
    return environment


def _open_smaller(path: str, map_bytes: int, *, is_read_only: bool, is_synced: bool) -> Any:
    """Open the environment with the largest map up to `map_bytes` for which there is room."""
    size = map_bytes
    for attempt in range(OPEN_TRIES):
        try:
            return try_open(path, size, is_read_only=is_read_only, is_synced=is_synced)
        except lmdb.Error as error:
            if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError):
                raise FormatError(
                    f"{path}/{DATA_FILE} is no data file that this LMDB can read: {error}"
                ) from error
            if is_out_of_memory(error) and size > LEAST_MAP_BYTES:
                size //= 2
            elif attempt + 1 == OPEN_TRIES or is_left_from_fork(error):
                translate(error, path)
            else:
                time.sleep(0.01 * attempt)
    raise FullError(f"{path} cannot be mapped: the system has no address space for it")
