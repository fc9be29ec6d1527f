"""A copy of a data file without its free pages."""

import os
from collections.abc import Iterable
from typing import Any

import lmdb

from simdb.storage.translation import translate


def copy_compacted(environment: Any, transaction: Any, handles: Iterable[Any], path: str) -> None:
    """Write the copy to the new file `path`, and to the disk; FullError.

    The values are touched first.  From memory that is mapped the system copies in large pieces, and
    what was written in large pieces is also mapped in large pieces when the copy is opened: that
    takes a tenth of the time.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            for handle in handles:
                _touch(transaction, handle)
            environment.copyfd(descriptor, compact=True)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except (lmdb.Error, OSError) as error:
        translate(error, path)


def _touch(transaction: Any, handle: Any) -> None:
    """Read every value, so that it is in memory; handing one out does that."""
    for _ in transaction.cursor(handle).iternext(keys=False, values=True):
        pass
