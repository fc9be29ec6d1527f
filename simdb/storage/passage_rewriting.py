"""Rewriting of passages: their entries become one new run, part by part; and the check of passages.

One part of all sources is in memory at a time.  So a run of any length can be written, and each
part in a commit of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from simdb.ground.dtypes import U32
from simdb.ground.errors import CorruptError, FormatError
from simdb.results.reports import Finding
from simdb.running import kernel
from simdb.storage import codec, layout
from simdb.storage.passages import KEY_BITS, PassageRun, Passages, only, passage_keys
from simdb.storage.records.manifest import Manifest, PassageInfo
from simdb.storage.records.tombstones import Bitmap, with_room
from simdb.storage.runs.merge import without
from simdb.storage.runs.source import Source
from simdb.storage.runs.sums import check_written
from simdb.storage.runs.table import NO_ENTRIES, Put, Table, joint

LOST = (
    "restore the database from a copy or a dump; or drop the passages that cannot be read,"
    " rebuild(drop_damaged=True), simdb rebuild --drop-damaged, and insert their documents again"
)
STRAY = "move all passages into a run of their own: rebuild(), simdb rebuild"
PASSAGES = layout.PASSAGES.decode()

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
        read = joint([read, window.entries])
        table = change(window)
        found = table.entries
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


def check_passages(manifest: Manifest, source: Source, *, deep: bool) -> Iterator[Finding]:
    """Yield findings if passages are missing or not as they were written.

    With `deep`, also if their order, their parts or their ordinals are wrong, or if values belong
    to no run.  They follow from the texts, which are not stored, so they are compared with nothing
    else.
    """
    for row in manifest.passages:
        problems = [problem for _, problem in passage_differences(row, source)]
        if deep and not problems:
            problems = list(_disorder(row, source))
        yield from (Finding(PASSAGES, problem, LOST) for problem in problems)
    if deep and manifest.next_passage:
        yield from _strays(manifest, source)


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
            entries = joint([entries, table.entries])
    except (CorruptError, FormatError) as error:
        yield layout.PASSAGES, str(error)
        return
    if entries.checksum != row.checksum:
        yield layout.PASSAGES, f"the entries of passage run {row.number} are not those written"


def check_rewritten(rows: Sequence[PassageInfo], source: Source) -> None:
    """Raise CorruptError unless passage runs are stored as they were written."""
    check_written(each for row in rows for each in passage_differences(row, source))


def _disorder(row: PassageInfo, source: Source) -> Iterator[str]:
    """Yield what is wrong with the entries of a run, whose checksums are right."""
    run, place = PassageRun(row), f"passage run {row.number}"
    try:
        for number in range(len(row.counts)):
            keys, ordinals, _ = run.part(number, source)
            if run.bits and (keys >> np.uint64(KEY_BITS - run.bits) != number).any():
                yield f"{place} has keys in part {number} that belong to another part"
            same = keys[1:] == keys[:-1]
            if kernel.first_descent(keys) >= 0 or (ordinals[1:][same] <= ordinals[:-1][same]).any():
                yield f"{place} is not sorted in part {number}"
            if ((ordinals < row.start) | (ordinals >= row.stop)).any():
                yield f"{place} has ordinals outside {row.start} .. {row.stop} in part {number}"
    except (CorruptError, FormatError) as error:
        yield str(error)


def _strays(manifest: Manifest, source: Source) -> Iterator[Finding]:
    """Yield a finding for each value of no run; those written ahead are removed by a commit."""
    expected = {key for row in manifest.passages for key in passage_keys(row)}
    for key, _ in source.every(layout.PASSAGES):
        is_ahead = 0 < manifest.passages_ahead <= layout.key_number(key) + 1
        if key not in expected and not is_ahead:
            yield Finding(PASSAGES, f"the value under key {key.hex()} belongs to no run", STRAY)
