"""The check: finds inconsistencies in a stored database.

Without `deep`, it reads every byte of the tables and columns once, and compares them with checksums
and with the sums of entries in the manifest.  With `deep`, it also compares contents: the order and
directory of each table, and whether every table holds exactly the live documents of the columns.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import BARE, EMPTY, WEIGHTED
from simdb.core.dtypes import U8, U32, U64
from simdb.core.errors import CorruptError, FormatError
from simdb.core.options import Options
from simdb.core.reports import Finding
from simdb.core.threads import parts_of
from simdb.storage import codec, layout
from simdb.storage.by_ordinal import check_columns
from simdb.storage.contents import Contents, all_names, idf_checksum, table_names
from simdb.storage.environment import Source
from simdb.storage.field_codes import check_codes
from simdb.storage.files import IDF_FILE
from simdb.storage.idf_file import problems_of
from simdb.storage.manifest import joined_ids
from simdb.storage.merge import differences, written_keys
from simdb.storage.metadata import decode_block, decode_times, read_all
from simdb.storage.passages import check_passages
from simdb.storage.run import Run, stored_ids
from simdb.storage.table import PART_ENTRIES, Table, stored_bits, tags_of
from simdb.storage.tombstones import is_deleted, live_ordinals

RESTORE = (
    "restore the database from a copy or a dump, or drop what cannot be read:"
    " rebuild(drop_damaged=True), simdb rebuild --drop-damaged"
)
# Data other than the tables that can be built again.
DERIVED = (layout.IDS, layout.CLUSTERS, layout.FIELDS)
REBUILD = "build it again from the stored columns: rebuild(), simdb rebuild"


def check_values(source: Source, options: Options) -> Iterator[Finding]:
    """Yield a finding for every stored value with a wrong checksum."""
    for name in all_names(options):
        try:
            for key, value in source.every(name):
                try:
                    codec.verify_value(key, value)
                except CorruptError as error:
                    yield Finding(name.decode(), str(error), _remedy(name))
        except (CorruptError, FormatError) as error:
            yield Finding(name.decode(), str(error), _remedy(name))


def check_written_values(contents: Contents, source: Source, options: Options) -> Iterator[Finding]:
    """Yield findings if values of runs are missing or differ from what was written."""
    tables = table_names(options)
    for name, problem in differences(contents.manifest.runs, source, tables):
        yield Finding(name.decode(), problem, _remedy(name))
    if contents.manifest.unfinished is not None:
        for name, key in written_keys(contents.manifest.unfinished, tables):
            if source.find(name, key) is None:
                message = f"the unfinished merge has lost its value under key {key.hex()}"
                yield Finding(name.decode(), message, REBUILD)


def check_records(
    contents: Contents,
    source: Source,
    options: Options,
    *,
    packed_bytes: int,
    counts: bool,
    deep: bool,
) -> Iterator[Finding]:
    """Yield findings about passages, columns, the IDF table and, with `counts`, the counters.

    `packed_bytes`: the size of a packed feature.
    """
    environment, manifest = source.environment, contents.manifest
    yield from check_passages(manifest, source, deep=deep)
    yield from check_columns(source, options, manifest.next_ordinal, packed_bytes, deep=deep)
    if counts:
        yield from _check_counts(contents, source)
    checksum = idf_checksum(environment, source.transaction)
    if checksum is not None:
        for problem in problems_of(os.path.join(environment.path, IDF_FILE), checksum):
            yield Finding(IDF_FILE, problem, RESTORE)


def check_entries(contents: Contents, source: Source, options: Options) -> Iterator[Finding]:
    """Yield findings about the contents of metadata, times, the delta and the tables of runs.

    The tables of a run must be sorted and match its columns.
    """
    yield from _check_metadata(contents, source)
    if options.keeps_times:
        yield from _check_times(contents, source)
    if options.fields:
        yield from check_codes(source, contents.manifest, options.fields, read_all(source))
    yield from _check_delta(contents)
    yield from _check_strays(contents, source, table_names(options))
    keying = source.keying
    for run in contents.runs:
        for table in range(keying.table_count):
            name = layout.table_name(table)
            yield from _guarded(name, partial(_check_table, run, table, source, contents))
        if keying.polytopes.table_count:
            yield from _check_polytopes(run, source, contents)
        yield from _guarded(layout.IDS, partial(_check_ids, run, source, contents))


def _check_counts(contents: Contents, source: Source) -> Iterator[Finding]:
    """Yield findings if counters of the manifest differ from the stored documents."""
    manifest = contents.manifest
    sealed = [_states_of(run, source) for run in contents.runs]
    states = np.concatenate([*sealed, contents.delta.batch.states])
    every = np.arange(len(states), dtype=np.uint32)
    live = states[~is_deleted(contents.dead, every)]
    found = {
        "next_ordinal": len(states),
        "document_count": len(live),
        "empty_count": int(np.count_nonzero(live == EMPTY)),
        "bare_count": int(np.count_nonzero(live == BARE)),
        "deleted_count": len(states) - len(live),
    }
    for name, count in found.items():
        if count != getattr(manifest, name):
            message = f"{name} is {getattr(manifest, name)}, counted {count}"
            yield Finding("manifest", message, REBUILD)


def _check_strays(
    contents: Contents, source: Source, table_names: Sequence[bytes]
) -> Iterator[Finding]:
    """Yield findings for stored values that belong to no run, which nothing would read or remove.

    Runs that were written ahead of a commit that failed are not findings: the next commit removes
    them.
    """
    ahead = contents.manifest.ahead
    expected = {each for run in contents.runs for each in run.value_keys(table_names, source.width)}
    if contents.manifest.unfinished is not None:
        expected.update(written_keys(contents.manifest.unfinished, table_names))
    for name in (*table_names, layout.IDS, layout.DOCUMENTS, layout.VOLATILITY):
        for key, _ in source.every(name):
            is_ahead = 0 < ahead <= layout.key_number(key)
            if (name, key) not in expected and not is_ahead:
                message = f"the value under key {key.hex()} belongs to no run"
                yield Finding(name.decode(), message, REBUILD)


def _check_delta(contents: Contents) -> Iterator[Finding]:
    """Yield findings if ids of the delta cannot be decoded or their hashes differ."""
    batch, key = contents.delta.batch, contents.manifest.id_key
    try:
        hashes = kernel.encode_ids(kernel.decode_ids(batch.offsets, batch.content), key)[2]
    except CorruptError as error:
        yield Finding("delta", str(error), RESTORE)
        return
    if not np.array_equal(hashes, batch.hashes):
        yield Finding("delta", "has hashes that do not fit its ids", REBUILD)


def _check_metadata(contents: Contents, source: Source) -> Iterator[Finding]:
    """Yield findings if metadata belong to missing ordinals or are out of order."""
    last = -1
    for key, value in source.every(layout.METADATA):
        try:
            for ordinal, packed in decode_block(key, value):
                if not last < ordinal < contents.manifest.next_ordinal:
                    message = f"metadata of ordinal {ordinal} comes after that of {last}"
                    yield Finding("metadata", message, RESTORE)
                last = ordinal
                codec.unpack(packed, f"metadata of ordinal {ordinal}")
        except CorruptError as error:
            yield Finding("metadata", str(error), RESTORE)


def _check_times(contents: Contents, source: Source) -> Iterator[Finding]:
    """Yield findings if chunks of times are missing, damaged or beyond the last ordinal."""
    missing = set(range(-(-contents.manifest.next_ordinal // layout.TIME_ORDINALS)))
    for key, value in source.every(layout.TIMES):
        try:
            number = layout.key_number(key)
            decode_times(key, value)
        except (CorruptError, FormatError) as error:
            yield Finding("times", str(error), RESTORE)
            continue
        if number not in missing:
            yield Finding("times", f"chunk {number} lies beyond the last ordinal", REBUILD)
        missing.discard(number)
    for number in sorted(missing):
        yield Finding("times", f"chunk {number} is missing", RESTORE)


def _remedy(name: bytes) -> str:
    """Return the advice for damage in a sub-database; tables can be built again."""
    is_table = layout.is_permuted_name(name) or layout.is_polytope_name(name)
    return REBUILD if is_table or name in DERIVED else RESTORE


def _guarded(name: bytes, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except (CorruptError, ValueError) as error:  # the kernel raises ValueError on damaged columns
        yield Finding(name.decode(), str(error), _remedy(name))


def _check_table(run: Run, number: int, source: Source, contents: Contents) -> Iterator[Finding]:
    """Compare a table of keys with the columns of its run."""
    name, keying = layout.table_name(number), source.keying
    states = _states_of(run, source)
    keys = np.empty(len(states), np.uint64)
    for segment in range(run.segment_count):
        columns = run.segment(segment, source, (layout.FINGERPRINT, layout.VECTOR)).columns
        searchable = keying.searchable(columns[layout.FINGERPRINT], columns[layout.VECTOR])
        start = segment * layout.SEGMENT_ORDINALS
        keying.write_keys(searchable, keys[start : start + len(searchable)], number)
    expected = np.flatnonzero(states != EMPTY).astype(np.uint32) + np.uint32(run.info.start)
    yield from _check_entries(name, keys, expected, run, source, contents)


def _check_polytopes(run: Run, source: Source, contents: Contents) -> Iterator[Finding]:
    """Compare the cross-polytope tables with the vectors of documents with weights."""
    states = _states_of(run, source)
    every = np.empty((source.keying.polytopes.table_count, len(states)), np.uint64)
    for segment in range(run.segment_count):
        vectors = run.segment(segment, source, (layout.VECTOR,)).columns[layout.VECTOR]
        start = segment * layout.SEGMENT_ORDINALS
        every[:, start : start + len(vectors)] = source.keying.polytopes.keys(vectors)
    expected = np.flatnonzero(states == WEIGHTED).astype(np.uint32) + np.uint32(run.info.start)
    for number, keys in enumerate(every):
        name = layout.polytope_name(number)
        check = partial(_check_entries, name, keys, expected, run, source, contents)
        yield from _guarded(name, check)


def _check_ids(run: Run, source: Source, contents: Contents) -> Iterator[Finding]:
    """Compare the table of ids, or the row that describes them, with the ids in the columns."""
    hashes, described, place = [], [], f"ids run {run.info.number}"
    for number in range(run.segment_count):
        segment = run.segment(number, source, layout.ID_COLUMNS)
        ids = kernel.decode_ids(*stored_ids(segment))
        hashes.append(kernel.encode_ids(ids, contents.manifest.id_key)[2])
        described.append((segment.ids, len(ids)))
    if run.info.ids:
        if joined_ids(described) != run.info.ids:
            yield Finding(place, "the ids differ from the row in the manifest", REBUILD)
        live = live_ordinals(contents.dead, run.info.start, run.info.stop)
        if is_deleted(run.left_out(source), live).any():
            yield Finding(place, "leaves out live documents", REBUILD)
        return
    expected = np.arange(run.info.start, run.info.stop, dtype=np.uint32)
    yield from _check_entries(layout.IDS, np.concatenate(hashes), expected, run, source, contents)


def _check_entries(
    name: bytes, keys: U64, expected: U32, run: Run, source: Source, contents: Contents
) -> Iterator[Finding]:
    """Compare a table with the keys of all ordinals of its run and with the `expected` ordinals."""
    found = run.keyed_table(name, source)
    table, place = found._replace(keys=found.keys[:]), f"{name.decode()} run {run.info.number}"
    bits = stored_bits(name, table.directory, len(table.keys), source.header_offset)
    assert bits is not None  # the run has checked it
    yield from _check_sorted(place, table, bits)
    known = found.gathered
    if known is not None and not np.array_equal(known.tags, tags_of(table.keys, bits)):
        yield Finding(place, "has tags that do not fit the columns", REBUILD)
    yield from _check_members(place, table, keys, expected, run, contents)


def _check_sorted(place: str, table: Table, bits: int) -> Iterator[Finding]:
    descent = kernel.first_descent(table.keys)
    if descent >= 0:
        yield Finding(place, f"not sorted at entry {descent}", REBUILD)
        return
    same = table.keys[1:] == table.keys[:-1]
    if (table.ordinals[1:][same] <= table.ordinals[:-1][same]).any():
        yield Finding(place, "the ordinals of equal keys are out of order", REBUILD)
    directory = np.empty((1 << bits) + 1, np.uint32)
    kernel.directory(table.keys, bits, directory)
    if not np.array_equal(directory, table.directory):
        yield Finding(place, "the directory does not fit the keys", REBUILD)


def _check_members(
    place: str, table: Table, keys: U64, expected: U32, run: Run, contents: Contents
) -> Iterator[Finding]:
    """Compare entries with the columns; entries of deleted documents may be missing."""
    start = np.uint32(run.info.start)
    inside = (table.ordinals >= start) & (table.ordinals < run.info.stop)
    if not inside.all():
        yield Finding(place, f"has ordinals outside {start} .. {run.info.stop}", REBUILD)
        return
    parts = parts_of(len(table.keys), 1, most=PART_ENTRIES)
    if any((keys[table.ordinals[part] - start] != table.keys[part]).any() for part in parts):
        yield Finding(place, "has keys that do not fit the columns", REBUILD)
    live = expected[~is_deleted(contents.dead, expected)]
    is_held, is_expected = np.zeros((2, len(run.info)), np.bool_)
    is_held[table.ordinals - start] = True
    is_expected[expected - start] = True
    missing = int(np.count_nonzero(~is_held[live - start]))
    alien = int(np.count_nonzero(is_held & ~is_expected))
    if missing or alien or np.count_nonzero(is_held) != len(table.ordinals):
        message = f"lacks {missing} live documents and has {alien} others"
        yield Finding(place, message, REBUILD)


def _states_of(run: Run, source: Source) -> U8:
    parts = [run.column(layout.STATE, number, source) for number in range(run.segment_count)]
    return np.concatenate(parts)
