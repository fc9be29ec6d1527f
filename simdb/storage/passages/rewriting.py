"""Rewriting: entries of passages become one new run, part by part.

One part of all sources is in memory at a time.  So a run of any length can be written, and each
part in a commit of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.ground.errors import CorruptError, FormatError
from simdb.storage import codec, layout
from simdb.storage.passages.passage_run import PassageRun, only
from simdb.storage.passages.passages import Passages
from simdb.storage.records.manifest import PassageInfo
from simdb.storage.records.tombstones import Bitmap, with_room
from simdb.storage.runs.merge import without
from simdb.storage.runs.source import Source
from simdb.storage.runs.sums import check_written
from simdb.storage.runs.table import NO_ENTRIES, Put, Table, entries_of, joint

U32 = npt.NDArray[np.uint32]
LOST = (
    "restore the database from a copy or a dump; or drop the passages that cannot be read,"
    " rebuild(drop_damaged=True), simdb rebuild --drop-damaged, and insert their documents again"
)
# What becomes of the entries of a window before they are written.
Change = Callable[[Table], Table]


def write_passages(
    passages: Passages, number: int, span: tuple[int, int], source: Source, put: Put, change: Change
) -> PassageInfo:
    """Write all entries as run `number`, which covers the ordinals of `span`; return its row.

    CorruptError if the entries of stored runs are not those that were written.
    """
    read = entries = NO_ENTRIES
    counts = []
    for part, window in enumerate(passages.windows(source)):
        read = joint([read, entries_of(window.keys, window.ordinals)])
        table = change(window)
        found = entries_of(table.keys, table.ordinals)
        entries = joint([entries, found])
        counts.append(found.length)
        if found.length:
            columns: dict[int, Any] = {layout.KEYS: table.keys, layout.ORDINALS: table.ordinals}
            for column, array in columns.items():
                key = layout.segment_key(number, column, part)
                stored = codec.encode_array(layout.TABLE_KINDS[column], key, array)
                put(layout.PASSAGES, key, stored)
    if read != passages.written:
        raise CorruptError(f"stored passages are not those that were written; {LOST}")
    return PassageInfo(number, *span, tuple(counts), entries.checksum)


def living(dead: Bitmap | None, next_ordinal: int) -> Change:
    """Return what leaves out the entries of deleted documents."""
    deleted = with_room(dead, next_ordinal)
    return lambda table: table if deleted is None else without(table, deleted)


def renumbering(kept: U32) -> Change:
    """Return what leaves only the documents `kept`, which ascend, and numbers them from 0."""
    return lambda table: only(table, kept)


def passage_differences(row: PassageInfo, source: Source) -> Iterator[tuple[bytes, str]]:
    """Yield a message if the values of a passage run are not those that were written."""
    entries = NO_ENTRIES
    try:
        for table in PassageRun(row).verify(source):
            entries = joint([entries, entries_of(table.keys, table.ordinals)])
    except (CorruptError, FormatError) as error:
        yield layout.PASSAGES, str(error)
        return
    if entries.checksum != row.checksum:
        yield layout.PASSAGES, f"the entries of passage run {row.number} are not those written"


def check_rewritten(rows: Sequence[PassageInfo], source: Source) -> None:
    """Raise CorruptError unless passage runs are stored as they were written."""
    check_written(each for row in rows for each in passage_differences(row, source))
