"""Passages: the grains of documents, stored in sorted runs or staged by a write transaction.

A passage run is written once.  Its entries are cut into 2^b parts by the b highest bits of their
keys, so that a run of any length can be merged and written part by part.  Part p of run r has two
values in the sub-database `passages`, unless it is empty:

    r u32 | KEYS u8     | p u32     ->  keys u64[n], ascending
    r u32 | ORDINALS u8 | p u32     ->  ordinals u32[n], ascending among equal keys

A key is a grain: the hash of an n-gram of words, see `simdb/sketch/winnowing.py`.  A document has
one entry for each of its grains.  Entries of deleted documents remain until a merge drops them.
The manifest has the rows of the runs, with the number of entries in each part and the sum of all.
A large merge commits each part separately.

Finding the grains of a document requires a scan of all entries.  So `GrainsByOrdinal` finds the
grains of a block of documents together, and keeps them until documents outside the block are
needed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import NO_GRAINS, ORDINALS_MAX, Grains, Ragged, offsets_of, ranges
from simdb.core.dtypes import I64, U32, U64, Array
from simdb.core.errors import CorruptError, FormatError
from simdb.core.reports import Finding
from simdb.storage import codec, layout
from simdb.storage.environment import Source
from simdb.storage.manifest import Manifest, PassageInfo
from simdb.storage.merge import check_written, merge_tables, without
from simdb.storage.table import NO_ENTRIES, Entries, Put, Table, joint
from simdb.storage.tombstones import Bitmap, with_room

KEY_BITS = 64
COLUMNS = ((layout.KEYS, "<u8"), (layout.ORDINALS, "<u4"))
NO_TABLE = Table(np.empty(0, np.uint64), np.empty(0, np.uint32))

# The largest mean number of entries in a part of a run or in a window of all runs: 24 MB.
WINDOW_ENTRIES = 1 << 21
# Entries of a block of documents: 8 bytes each, and another 8 while they are sorted.
BLOCK_ENTRIES = 1 << 23

LOST = (
    "restore the database from a copy or a dump; or drop the passages that cannot be read,"
    " rebuild(drop_damaged=True), simdb rebuild --drop-damaged, and insert their documents again"
)
STRAY = "move all passages into a run of their own: rebuild(), simdb rebuild"
PASSAGES = layout.PASSAGES.decode()

# A change of the entries of a window before they are written.
Change = Callable[[Table], Table]


class PassageRun:
    """A stored passage run, whose parts are fetched on first use."""

    def __init__(self, info: PassageInfo, parts: Mapping[int, Table] | None = None) -> None:
        """`info`: its row in the manifest; `parts`: known entries."""
        self.info = info
        self._parts: dict[int, Table] = dict(parts or {})

    @property
    def bits(self) -> int:
        """Number of highest bits of a key that select its part."""
        return len(self.info.counts).bit_length() - 1

    def part(self, number: int, source: Source) -> Table:
        """Return the entries of one part."""
        table = self._parts.get(number)
        if table is None:
            table = self._parts[number] = self._fetch(number, source)
        return table

    def window(self, number: int, bits: int, source: Source) -> Table:
        """Return the entries whose keys have the `bits` highest bits `number`."""
        own = self.bits
        if own <= bits:
            table = self.part(number >> (bits - own), source)
            if own == bits:
                return table
            start = np.searchsorted(table.keys, np.uint64(number << (KEY_BITS - bits)))
            last = np.uint64(((number + 1) << (KEY_BITS - bits)) - 1)
            stop = np.searchsorted(table.keys, last, side="right")
            return Table(table.keys[start:stop], table.ordinals[start:stop])
        parts = range(number << (own - bits), (number + 1) << (own - bits))
        return following([self.part(part, source) for part in parts])

    def find(self, keys: U64, source: Source) -> tuple[I64, U32]:
        """Return positions in `keys` (ascending) and ordinals of all their entries."""
        places, ordinals = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
        for table, known, starts, sizes in self._found(keys, source):
            places.append(np.repeat(known, sizes))
            ordinals.append(table.ordinals[ranges(starts, sizes)])
        return np.concatenate(places), np.concatenate(ordinals)

    def counts(self, keys: U64, source: Source) -> I64:
        """Return the number of entries with each of the ascending `keys`: int64."""
        counts = np.zeros(len(keys), np.int64)
        for _, known, _, sizes in self._found(keys, source):
            counts[known] = sizes
        return counts

    def verify(self, source: Source) -> Iterator[Table]:
        """Yield each part; raise CorruptError unless it is stored with the right checksums."""
        for number, count in enumerate(self.info.counts):
            if count:
                for column, _ in COLUMNS:
                    key = layout.segment_key(self.info.number, column, number)
                    kind = layout.TABLE_KINDS[column]
                    codec.verify_value(key, source.value(layout.PASSAGES, kind, key))
                yield PassageRun(self.info).part(number, source)

    def _found(self, keys: U64, source: Source) -> Iterator[tuple[Table, I64, I64, I64]]:
        """Yield parts with some of `keys`: positions of keys, start and count of their entries."""
        for number, first, last in self._parts_of(keys):
            table, asked = self.part(number, source), keys[first:last]
            starts = np.searchsorted(table.keys, asked)
            is_in = starts < len(table.keys)
            is_in[is_in] = table.keys[starts[is_in]] == asked[is_in]
            known = np.flatnonzero(is_in)
            stops = np.searchsorted(table.keys, asked[known], side="right")
            yield table, known + first, starts[known], stops - starts[known]

    def _parts_of(self, keys: U64) -> Iterator[tuple[int, int, int]]:
        """Yield (part, start, stop) for each part that may hold keys[start:stop]; `keys` ascend."""
        if not len(keys):
            return
        numbers = np.zeros(len(keys), np.int64)
        if self.bits:
            numbers = (keys >> np.uint64(KEY_BITS - self.bits)).astype(np.int64)
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        for first, last in zip(firsts.tolist(), [*firsts[1:].tolist(), len(keys)], strict=True):
            if self.info.counts[int(numbers[first])]:
                yield int(numbers[first]), first, last

    def _fetch(self, number: int, source: Source) -> Table:
        info, count = self.info, self.info.counts[number]
        if not count:
            return NO_TABLE
        arrays: list[Array] = []
        for column, dtype in COLUMNS:
            key = layout.segment_key(info.number, column, number)
            array = source.fetch(layout.PASSAGES, layout.TABLE_KINDS[column], key, dtype)
            if len(array) != count:
                raise CorruptError(
                    f"part {number} of passage run {info.number} has {len(array)} entries, but the"
                    f" manifest says {count}"
                )
            arrays.append(array)
        return Table(arrays[0], arrays[1])


class Passages:
    """The passage entries of a state, possibly including deleted documents."""

    @classmethod
    def stored(cls, rows: Iterable[PassageInfo]) -> "Passages":
        """Return the stored entries, without staged documents."""
        return cls([PassageRun(row) for row in rows])

    def __init__(self, runs: Sequence[PassageRun], staged: Table = NO_TABLE) -> None:
        """`runs` in the order of ordinals; `staged`: sorted entries of later documents."""
        self._staged, self._rows = staged, [run.info for run in runs]
        self.runs = list(runs)
        if len(staged.keys):
            info = PassageInfo(0, 0, ORDINALS_MAX, (len(staged.keys),), checksum=0)
            self.runs.append(PassageRun(info, {0: staged}))

    @property
    def entry_count(self) -> int:
        """Number of entries."""
        return sum(run.info.entry_count for run in self.runs)

    @property
    def written(self) -> Entries:
        """Number and sum of the entries as written."""
        stored = (Entries(row.entry_count, row.checksum) for row in self._rows)
        return joint([self._staged.entries, *stored])

    def find(self, keys: U64, source: Source) -> tuple[I64, U32]:
        """Return positions in `keys` (strictly ascending) and ordinals of all their entries."""
        found = [run.find(keys, source) for run in self.runs]
        if len(found) == 1:
            return found[0]
        places = np.concatenate([np.empty(0, np.int64), *(each for each, _ in found)])
        ordinals = np.concatenate([np.empty(0, np.uint32), *(each for _, each in found)])
        return places, ordinals

    def counts(self, keys: U64, source: Source) -> I64:
        """Return the number of entries with each of the strictly ascending `keys`: int64."""
        found = np.zeros(len(keys), np.int64)
        for run in self.runs:
            found += run.counts(keys, source)
        return found

    def windows(self, source: Source) -> Iterator[Table]:
        """Yield all entries, sorted, in windows that end between two keys."""
        # The number of leading bits of the key that keeps each part small.
        bits = (max(self.entry_count - 1, 0) // WINDOW_ENTRIES).bit_length()
        for number in range(1 << bits):
            tables = [run.window(number, bits, source) for run in self.runs]
            yield merge_tables([each for each in tables if len(each.keys)] or [NO_TABLE])

    def write(
        self, number: int, span: tuple[int, int], source: Source, put: Put, change: Change
    ) -> PassageInfo:
        """Write all entries as run `number`, covering the ordinals of `span`; return its row.

        Raises CorruptError if the entries of stored runs differ from what was written.
        """
        read = entries = NO_ENTRIES
        counts = []
        for part, window in enumerate(self.windows(source)):
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
        if read != self.written:
            raise CorruptError(f"stored passages are not what was written; {LOST}")
        return PassageInfo(number, *span, tuple(counts), entries.checksum)

    def grains_of(self, ordinals: U32, source: Source) -> Grains:
        """Return the grains of documents with ascending ordinals; reads all entries."""
        chosen = (only(table, ordinals) for table in self._parts(0, ORDINALS_MAX, source))
        return grains_of_entries(chosen, 0, len(ordinals))

    def grains(self, start: int, stop: int, source: Source) -> Grains:
        """Return the grains of the documents start .. stop, deleted or not; reads all entries."""
        return grains_of_entries(self._parts(start, stop, source), start, stop)

    def _parts(self, start: int, stop: int, source: Source) -> Iterator[Table]:
        """Yield the parts of all runs that overlap the documents start .. stop."""
        for run in self.runs:
            if run.info.start < stop and start < run.info.stop:
                for number in range(len(run.info.counts)):
                    yield run.part(number, source)


class GrainsByOrdinal:
    """The grains of the documents below an ordinal, for callers that proceed in order."""

    def __init__(self, passages: Passages, stop: int, source: Source) -> None:
        """Start without reading any grains."""
        self._passages, self._stop, self._source = passages, stop, source
        blocks = max(-(-passages.entry_count // BLOCK_ENTRIES), 1)
        self.block_documents = max(-(-stop // blocks), 1)
        self._start = 0
        self._block = NO_GRAINS

    def grains(self, start: int, stop: int) -> Grains:
        """Return the grains of the documents start .. stop, deleted or not."""
        if start < self._start or stop > self._start + len(self._block):
            self._start = start
            last = max(min(start + self.block_documents, self._stop), stop)
            self._block = self._passages.grains(start, last, self._source)
        return self._block.taken(slice(start - self._start, stop - self._start))


def entries_of_grains(first: int, grains: Grains) -> Table:
    """Return the unsorted entries of consecutive documents, the first with the ordinal `first`."""
    every = np.arange(first, first + len(grains), dtype=np.uint32)
    return Table(grains.values.copy(), np.repeat(every, np.diff(grains.offsets)))


def following(tables: Sequence[Table]) -> Table:
    """Join consecutive tables into one."""
    if len(tables) == 1:
        return tables[0]
    return Table(
        np.concatenate([table.keys for table in tables]),
        np.concatenate([table.ordinals for table in tables]),
    )


def only(table: Table, kept: U32) -> Table:
    """Return the entries of the documents `kept` (ascending ordinals), renumbered from 0."""
    places = np.searchsorted(kept, table.ordinals)
    is_kept = places < len(kept)
    is_kept[is_kept] = kept[places[is_kept]] == table.ordinals[is_kept]
    chosen = np.flatnonzero(is_kept)
    return Table(table.keys[chosen], places[chosen].astype(np.uint32))


def grains_of_entries(tables: Iterable[Table], start: int, stop: int) -> Grains:
    """Return the grains of the documents start .. stop; keys ascend within each table.

    The entries of a document are in one table, or in several that follow each other by key.
    """
    keys, ordinals = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
    for table in tables:
        is_inside = (table.ordinals >= start) & (table.ordinals < stop)
        keys.append(table.keys[is_inside])
        ordinals.append(table.ordinals[is_inside])
    own, hashes = np.concatenate(ordinals), np.concatenate(keys)
    sizes = np.bincount(own - np.uint32(start), minlength=stop - start)
    places = np.arange(len(own), dtype=np.uint32)
    kernel.sort(own.astype(np.uint64), places)  # stable, so keys still ascend
    return Ragged(offsets_of(sizes), hashes[places])


def check_passages(manifest: Manifest, source: Source, *, deep: bool) -> Iterator[Finding]:
    """Yield findings if passages are missing or differ from what was written.

    With `deep`, also check their order, parts and ordinals, and find values of no run.  Passages
    follow from texts that are not stored, so nothing else can be compared.
    """
    for row in manifest.passages:
        problems = [problem for _, problem in passage_differences(row, source)]
        if deep and not problems:
            problems = list(_disorder(row, source))
        yield from (Finding(PASSAGES, problem, LOST) for problem in problems)
    if deep and manifest.next_passage:
        yield from _strays(manifest, source)


def living(dead: Bitmap | None, next_ordinal: int) -> Change:
    """Return a function that drops the entries of deleted documents."""
    deleted = with_room(dead, next_ordinal)
    return lambda table: table if deleted is None else without(table, deleted)


def renumbering(kept: U32) -> Change:
    """Return a function that keeps the documents `kept` (ascending) and renumbers them from 0."""
    return lambda table: only(table, kept)


def passage_differences(row: PassageInfo, source: Source) -> Iterator[tuple[bytes, str]]:
    """Yield a message if the values of a passage run differ from what was written."""
    entries = NO_ENTRIES
    try:
        for table in PassageRun(row).verify(source):
            entries = joint([entries, table.entries])
    except (CorruptError, FormatError) as error:
        yield layout.PASSAGES, str(error)
        return
    if entries.checksum != row.checksum:
        yield layout.PASSAGES, f"the entries of passage run {row.number} are not what was written"


def check_rewritten(rows: Sequence[PassageInfo], source: Source) -> None:
    """Raise CorruptError unless passage runs are stored as they were written."""
    check_written(each for row in rows for each in passage_differences(row, source))


def _disorder(row: PassageInfo, source: Source) -> Iterator[str]:
    """Yield problems with the entries of a run whose checksums are right."""
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
    """Yield a finding for each value of no run; a commit removes values that were written ahead."""
    expected = {key for row in manifest.passages for key in row.value_keys()}
    for key, _ in source.every(layout.PASSAGES):
        is_ahead = 0 < manifest.passages_ahead <= layout.key_number(key) + 1
        if key not in expected and not is_ahead:
            yield Finding(PASSAGES, f"the value under key {key.hex()} belongs to no run", STRAY)
