"""Status: what LMDB reports about itself: sizes, pages, readers and transaction numbers."""

from collections.abc import Iterable
from typing import Any

import lmdb

from simdb.storage.environment.reading import statistics_of


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
