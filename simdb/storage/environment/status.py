"""Status: what LMDB reports about itself: sizes, pages, readers and transaction numbers.

The reader table, which all processes share, holds the number of the last transaction, and so says
which of the two meta pages of the file counts.  If the data file, or its content, was replaced by
another one, the numbers of the table and of the file differ.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import lmdb

from simdb.ground.errors import ReplacedError
from simdb.storage.environment.reading import statistics_of
from simdb.storage.files.locks import pauses
from simdb.storage.files.names import DATA_FILE

# Another process can commit between the two reads.  A commit writes first the file and then the
# reader table, and the system can hold it up between the two.
COMPARED_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 0.02


def last_number(environment: Any) -> int:
    """Return the number of the last transaction in the data file; 0 if nothing was ever written."""
    return int(environment.info()["last_txnid"])


def used_bytes(environment: Any) -> int:
    """Return the size of the data file up to the last page that was ever written."""
    return int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])


def map_bytes(environment: Any) -> int:
    """Return the size of the map in bytes."""
    return int(environment.info()["map_size"])


def sizes(environment: Any, transaction: Any, handles: Iterable[Any]) -> tuple[int, int]:
    """Return the bytes of the pages in use, and of the map."""
    information, page_bytes = environment.info(), environment.stat()["psize"]
    live = 2 * page_bytes
    for handle in (environment.open_db(None, txn=transaction), *handles):
        pages = statistics_of(transaction, handle)
        live += page_bytes * sum(
            pages[kind] for kind in ("branch_pages", "leaf_pages", "overflow_pages")
        )
    return live, information["map_size"]


def readers(environment: Any, *, clears: bool) -> list[tuple[int, int, int]]:
    """Return (process, thread, transaction) of each reader slot in use.

    `clears`: first free the slots of processes that have died.
    """
    if clears:
        environment.reader_check()
    rows = []
    for line in environment.readers().splitlines()[1:]:
        parts = line.split()
        if len(parts) == 3 and parts[2] != "-":
            rows.append((int(parts[0]), int(parts[1], 16), int(parts[2])))
    return rows


def engine_version() -> str:
    """Return the version of the LMDB library."""
    return ".".join(map(str, lmdb.version()))


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
