"""What LMDB says of itself: sizes, pages, readers, numbers of transactions."""

import os
from collections.abc import Iterable
from typing import Any

import lmdb

from simdb.storage.files import DATA_FILE
from simdb.storage.reading import statistics_of


def last_number(environment: Any) -> int:
    """The number of the last transaction that the data file holds; 0 when nothing was written."""
    return int(environment.info()["last_txnid"])


def used_bytes(environment: Any) -> int:
    """Bytes of the data file up to the last page that was ever written."""
    return int((environment.info()["last_pgno"] + 1) * environment.stat()["psize"])


def map_bytes(environment: Any) -> int:
    """Bytes of the map."""
    return int(environment.info()["map_size"])


def sizes(
    environment: Any, path: str, transaction: Any, handles: Iterable[Any]
) -> tuple[int, int, int]:
    """Bytes of the data file in the directory `path`, of the pages in use, and of the map."""
    information, page_bytes = environment.info(), environment.stat()["psize"]
    file_bytes = os.stat(os.path.join(path, DATA_FILE)).st_blocks * 512
    live = 2 * page_bytes
    for handle in (environment.open_db(None, txn=transaction), *handles):
        pages = statistics_of(transaction, handle)
        live += page_bytes * sum(
            pages[kind] for kind in ("branch_pages", "leaf_pages", "overflow_pages")
        )
    return file_bytes, live, information["map_size"]


def readers(environment: Any, *, clears: bool) -> list[tuple[int, int, int]]:
    """(process, thread, transaction) of each reader slot in use; `clears` those of the dead."""
    if clears:
        environment.reader_check()
    rows = []
    for line in environment.readers().splitlines()[1:]:
        parts = line.split()
        if len(parts) == 3 and parts[2] != "-":
            rows.append((int(parts[0]), int(parts[1], 16), int(parts[2])))
    return rows


def engine_version() -> str:
    """Version of the LMDB engine in use."""
    return ".".join(map(str, lmdb.version()))
