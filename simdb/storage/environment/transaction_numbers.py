"""Numbers of transactions: whether LMDB's table of readers belongs to the data file.

The table, which all processes share, says which transaction was the last one, and so which of the
two first pages of the file counts.  Where another file has taken the place of the data file, or its
content, the numbers differ.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from simdb.errors import ReplacedError
from simdb.storage.environment.status import last_number
from simdb.storage.files.names import DATA_FILE

COMPARED_TRIES = 20  # another process can commit between two looks at a number


def check_number(
    environment: Any, path: str, reading: Callable[[], AbstractContextManager[Any]]
) -> None:
    """Raise ReplacedError unless table and file of the directory `path` are at the same number.

    `reading` begins a read transaction for a `with` statement.
    """
    for _ in range(COMPARED_TRIES):
        written = last_number(environment)
        with reading() as transaction:
            number = transaction.id()
        if number == written:
            return
    raise ReplacedError(
        f"{os.path.join(path, DATA_FILE)} is at transaction {written}, but others who have the"
        f" database open are at {number}: the file was written over while it is open.  Close the"
        " database in every process, then open it again"
    )


def check_next(environment: Any, path: str, transaction: Any, base: int | None) -> None:
    """Raise ReplacedError unless a write transaction follows the last one of the file.

    `base`: the number of the last one when the change was made, None where that does not matter.
    """
    written, number = last_number(environment), transaction.id()
    if number != written + 1 or base not in (None, written):
        raise ReplacedError(
            f"{path} was written by others, who do not share its locks, up to transaction"
            f" {max(written, number - 1)}; nothing was changed.  Close the database in every"
            " process, then open it again"
        )
