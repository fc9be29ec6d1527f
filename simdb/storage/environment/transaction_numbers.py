"""Transaction numbers: whether LMDB's reader table belongs to the data file.

The reader table, which all processes share, holds the number of the last transaction, and so says
which of the two meta pages of the file counts.  If the data file, or its content, was replaced by
another one, the numbers differ.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from simdb.ground.errors import ReplacedError
from simdb.storage.environment.status import last_number
from simdb.storage.files.names import DATA_FILE
from simdb.storage.files.waits import pauses

# Another process can commit between the two reads.  A commit writes first the file and then the
# reader table, and the system can hold it up between the two.
COMPARED_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 0.02


def check_number(
    environment: Any, path: str, reading: Callable[[], AbstractContextManager[Any]]
) -> None:
    """Raise ReplacedError unless reader table and data file are at the same transaction number.

    `reading` opens a read transaction for a `with` statement.
    """
    again = pauses(COMPARED_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS)
    while True:
        written = last_number(environment)
        with reading() as transaction:
            number = transaction.id()
        if number == written:
            return
        if not next(again, False):
            break
    raise ReplacedError(
        f"{os.path.join(path, DATA_FILE)} is at transaction {written}, but other processes that"
        f" have the database open are at {number}: the file was overwritten while it was open. "
        " Close the database in every process, then open it again"
    )


def check_next(environment: Any, path: str, transaction: Any, base: int | None) -> None:
    """Raise ReplacedError unless a write transaction directly follows the last one in the file.

    `base`: the number of the last transaction when the change was made; None if any will do.
    """
    written, number = last_number(environment), transaction.id()
    if number != written + 1 or base not in (None, written):
        raise ReplacedError(
            f"{path} was written by a process that does not share its locks, up to transaction"
            f" {max(written, number - 1)}; nothing was changed.  Close the database in every"
            " process, then open it again"
        )
