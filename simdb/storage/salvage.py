"""Salvage: what can still be read from a damaged database, and what cannot.

Every stored value is verified by itself.  Tables are not read, because they can be built again from
the columns.  Without a manifest the runs are found by their columns: later runs have larger numbers
and follow the earlier ones, a run without states is the copy of others by an unfinished merge, and
a run with states of no document was written ahead of a commit that did not follow.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import ORDINALS_MAX, WEIGHTED
from simdb.core.dtypes import I64, U8, U32, U64, Bools
from simdb.core.errors import CorruptError, FormatError
from simdb.storage import codec, layout
from simdb.storage.contents import has_open, read_manifest
from simdb.storage.environment.environment import Environment
from simdb.storage.passages import passage_differences
from simdb.storage.records.delta import decode_batch
from simdb.storage.records.features import damage
from simdb.storage.records.manifest import Manifest, PassageInfo, RunInfo
from simdb.storage.records.metadata import decode_block, decode_times
from simdb.storage.records.tombstones import decode_chunk, is_deleted
from simdb.storage.runs.run import Run, Segment, as_segment
from simdb.storage.runs.source import Source

# What is lost with whole pages of a sub-database, where no key tells that something was there.
TORN = {
    layout.META: "notes, or the calibration",
    layout.METADATA: "documents have lost their metadata, and which ones is not known",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that cannot be read, and the ordinals start .. stop that it concerns.

    `takes_documents`: whether these documents are lost with it, or only data beside them.
    """

    message: str
    start: int
    stop: int
    takes_documents: bool = True


@dataclass(frozen=True, slots=True)
class ReadablePart:
    """Consecutive documents start .. stop that can be read completely, or only their ids."""

    start: int
    stop: int
    segment: Segment


@dataclass(slots=True)
class Salvage:
    """Everything that can be read, and everything that cannot.

    `parts` can be read completely; of `named` at least the ids can be read.  `is_dead` is bool by
    ordinal.  `notes` name what was lost but can be built again.  `passages` are the sound passage
    runs.  `torn` names sub-databases of which whole pages are lost, and `is_guessed` says whether
    the manifest is.
    """

    manifest: Manifest
    next_ordinal: int = 0
    parts: list[ReadablePart] = field(default_factory=list)
    named: list[ReadablePart] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    passages: list[PassageInfo] = field(default_factory=list)
    is_dead: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    torn: Collection[bytes] = ()
    is_guessed: bool = False


def salvaged(environment: Environment, source: Source, torn: Collection[bytes] = ()) -> Salvage:
    """Verify everything except the tables; return what can be read, and what cannot.

    `torn`: the sub-databases of which whole pages are lost, with values that nothing names.
    """
    try:
        manifest = read_manifest(environment, source.transaction)
        found = Salvage(manifest, manifest.next_ordinal, torn=torn)
    except (CorruptError, FormatError) as error:
        manifest = _guessed_manifest(environment, source)
        found = Salvage(manifest, torn=torn, is_guessed=True)
        found.notes.append(f"{error}; the runs were found by their columns")
    for info in found.manifest.runs:
        _look_at_run(found, Run(info), source)
    _look_at_delta(found, source)
    found.next_ordinal = max(found.next_ordinal, found.manifest.delta_start)
    _look_at_tombstones(found, source)
    _look_at_metadata(found, source)
    if layout.TIMES in environment.handles:
        _look_at_times(found, source)
    if layout.PASSAGES in environment.handles:
        _look_at_passages(found, source)
    if layout.FEATURES in environment.handles:
        for why, start, stop in damage(source, found.next_ordinal):
            message = f"{why}; documents of {start} .. {stop} lose their features"
            found.losses.append(Loss(message, start, stop, takes_documents=False))
    for name in TORN.keys() & set(torn):
        message = f"whole pages of {name.decode()} are lost: {TORN[name]}"
        found.losses.append(Loss(message, 0, 0, takes_documents=False))
    return found


def sound_metadata(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield (ordinal, packed metadata) from all blocks that can be read."""
    for key, value in source.every(layout.METADATA):
        try:
            yield from _readable_block(key, value)
        except (CorruptError, FormatError):
            continue  # `salvage` has reported the block


def sound_times(source: Source, count: int) -> U32:
    """Return the time of every ordinal below `count`, 0 where it cannot be read."""
    times = np.zeros(count, np.uint32)
    for key, value in source.every(layout.TIMES):
        try:
            part = decode_times(key, value)
            start = layout.key_number(key) * layout.TIME_ORDINALS
            times[start : start + layout.TIME_ORDINALS] = part[: max(count - start, 0)]
        except (CorruptError, FormatError):
            continue  # `salvage` has reported the chunk
    return times


def ids_of(segment: Segment) -> list[Any]:
    """Return the ids of a segment; CorruptError if they cannot be decoded."""
    return kernel.decode_ids(*stored_ids(segment))


def stored_ids(segment: Segment) -> tuple[I64, U8]:
    """Return where each stored id of a segment is, and the bytes; CorruptError if it is nowhere."""
    offsets = segment.columns[layout.OFFSET].astype(np.int64)
    content = segment.columns[layout.ID]
    if len(offsets) and (offsets[0] or offsets[-1] != len(content) or (np.diff(offsets) < 0).any()):
        raise CorruptError("the offsets of the ids do not fit their bytes")
    return offsets, content


def _look_at_run(found: Salvage, run: Run, source: Source) -> None:
    for number in range(run.segment_count):
        start, stop = run.segment_range(number)
        before = len(found.losses)
        for column in layout.COLUMN_KINDS:
            try:
                run.verify_column(column, number, source)
            except (CorruptError, FormatError) as error:
                found.losses.append(Loss(str(error), start, stop))
        try:
            named = _only_ids(run, number, source)
            ids_of(named)
            found.named.append(ReadablePart(start, stop, named))
        except (CorruptError, FormatError) as error:
            if len(found.losses) == before:
                message = f"the ids of segment {number} of run {run.info.number}: {error}"
                found.losses.append(Loss(message, start, stop))
        if len(found.losses) == before:
            found.parts.append(ReadablePart(start, stop, run.segment(number, source)))


def _only_ids(run: Run, number: int, source: Source) -> Segment:
    """Return a segment that has only the columns of its ids."""
    columns = {}
    for column in (layout.OFFSET, layout.ID):
        run.verify_column(column, number, source)
        columns[column] = run.column(column, number, source)
    return Segment(run.segment_range(number)[0], columns)


def _look_at_delta(found: Salvage, source: Source) -> None:
    at = found.manifest.delta_start
    for key, value in _numbered(found, source, layout.DELTA):
        start = layout.key_number(key)
        try:
            batch = decode_batch(key, value)
            segment = as_segment(start, batch)
            if start < at or batch.vectors.shape[1] != source.width:
                raise CorruptError(f"the delta has documents at ordinal {start} that do not fit")
            ids_of(segment)
        except (CorruptError, FormatError) as error:
            found.losses.append(Loss(str(error), start, start))
            continue
        _close_gap(found, at, start)
        part = ReadablePart(start, start + len(batch), segment)
        found.parts.append(part)
        found.named.append(part)
        at = part.stop
    _close_gap(found, at, found.next_ordinal)
    found.next_ordinal = max(found.next_ordinal, at)


def _numbered(found: Salvage, source: Source, name: bytes) -> Iterator[tuple[bytes, Any]]:
    """Yield the values of a sub-database whose keys are numbers; report other keys as lost."""
    for key, value in source.every(name):
        if len(key) == layout.NUMBER_BYTES:
            yield key, value
        else:
            message = f"{name.decode()} has a value under {key.hex()}, which cannot be its key"
            found.losses.append(Loss(message, 0, 0))


def _close_gap(found: Salvage, start: int, stop: int) -> None:
    if start < stop:
        message = f"the delta has no readable documents from ordinal {start} to {stop}"
        found.losses.append(Loss(message, start, stop))


def _look_at_tombstones(found: Salvage, source: Source) -> None:
    found.is_dead = np.zeros(found.next_ordinal, np.bool_)
    before = len(found.losses)
    missing = set(range(-(-found.next_ordinal // layout.CHUNK_ORDINALS)))
    for key, value in _numbered(found, source, layout.DELETED):
        start = layout.key_number(key) * layout.CHUNK_ORDINALS
        stop = min(start + layout.CHUNK_ORDINALS, found.next_ordinal)
        try:
            bits = decode_chunk(key, value)
            if start > found.next_ordinal:
                raise CorruptError(
                    f"{codec.name(layout.DELETED_KIND, key)} lies beyond the last ordinal"
                )
            every = np.arange(stop - start, dtype=np.uint32)
            found.is_dead[start:stop] = is_deleted(bits, every)
            missing.discard(layout.key_number(key))
        except (CorruptError, FormatError) as error:
            _note_deletions(found, str(error), start, stop)
    count, wanted = int(np.count_nonzero(found.is_dead)), found.manifest.deleted_count
    is_short = not found.is_guessed and count < wanted and len(found.losses) == before
    if is_short or (found.is_guessed and layout.DELETED in found.torn):
        for number in sorted(missing):
            start = number * layout.CHUNK_ORDINALS
            stop = min(start + layout.CHUNK_ORDINALS, found.next_ordinal)
            _note_deletions(found, f"the tombstones have lost chunk {number}", start, stop)
    elif count != wanted and not found.losses and not found.is_guessed:
        found.notes.append(
            f"the manifest counts {wanted} deleted documents, but the tombstones {count}"
        )


def _note_deletions(found: Salvage, why: str, start: int, stop: int) -> None:
    """Report documents of which it is not known which were deleted: none may come back."""
    message = f"{why}; deletions among the documents {start} .. {stop} are not known"
    found.losses.append(Loss(message, min(start, stop), stop))


def _look_at_metadata(found: Salvage, source: Source) -> None:
    broken: tuple[int, str] | None = None
    for key, value in _numbered(found, source, layout.METADATA):
        start = layout.key_number(key)
        _note_metadata(found, broken, start)
        broken = None
        try:
            _readable_block(key, value)
        except (CorruptError, FormatError) as error:
            broken = (start, str(error))
    _note_metadata(found, broken, found.next_ordinal)


def _note_metadata(found: Salvage, broken: tuple[int, str] | None, stop: int) -> None:
    if broken is not None:
        message = f"{broken[1]}; documents of {broken[0]} .. {stop} lose their metadata"
        found.losses.append(Loss(message, broken[0], stop, takes_documents=False))


def _look_at_times(found: Salvage, source: Source) -> None:
    """Report chunks of times that cannot be read; a chunk may also be missing."""
    missing = set(range(-(-found.next_ordinal // layout.TIME_ORDINALS)))
    for key, value in _numbered(found, source, layout.TIMES):
        number = layout.key_number(key)
        missing.discard(number)
        try:
            decode_times(key, value)
        except (CorruptError, FormatError) as error:
            _note_times(found, str(error), number)
    for number in sorted(missing):
        _note_times(found, f"the times have lost chunk {number}", number)


def _note_times(found: Salvage, why: str, number: int) -> None:
    start = min(number * layout.TIME_ORDINALS, found.next_ordinal)
    stop = min(start + layout.TIME_ORDINALS, found.next_ordinal)
    message = f"{why}; documents of {start} .. {stop} lose their times"
    found.losses.append(Loss(message, start, stop, takes_documents=False))


def _look_at_passages(found: Salvage, source: Source) -> None:
    """Report passage runs that cannot be read; without the manifest, none can."""
    for row in found.manifest.passages:
        problems = [problem for _, problem in passage_differences(row, source)]
        if not problems:
            found.passages.append(row)
        for problem in problems:
            message = f"{problem}; documents of {row.start} .. {row.stop} lose their passages"
            found.losses.append(Loss(message, row.start, row.stop, takes_documents=False))
    if found.next_ordinal and not found.manifest.passages:
        message = "the manifest is lost, and with it which passages count; all of them are lost"
        found.losses.append(Loss(message, 0, found.next_ordinal, takes_documents=False))


def _readable_block(key: bytes, value: Any) -> list[tuple[int, bytes]]:
    entries = decode_block(key, value)
    for ordinal, packed in entries:
        codec.unpack(packed, f"metadata of ordinal {ordinal}")
    return entries


def _guessed_manifest(environment: Environment, source: Source) -> Manifest:
    """Make a manifest from the stored columns; CorruptError if they do not tell enough."""
    lengths: dict[int, list[int]] = {}
    weighted: dict[int, int] = {}
    found: set[int] = set()
    for key, value in source.every(layout.DOCUMENTS):
        if bytes(memoryview(value)[4:8]) not in (*layout.COLUMN_KINDS.values(), codec.EVEN_KIND):
            continue  # a value of something else
        run, column, _ = layout.segment_key_parts(key)
        found.add(run)
        if column == layout.STATE:
            kind = layout.COLUMN_KINDS[layout.STATE]
            states = codec.decode_column(kind, key, value, np.uint8, verify=True)
            lengths.setdefault(run, []).append(len(states))
            weighted[run] = weighted.get(run, 0) + int(np.count_nonzero(states == WEIGHTED))
    at, rows = 0, []
    for run in sorted(lengths):
        if not sum(lengths[run]):
            continue
        stop = at + sum(lengths[run])
        rows.append(RunInfo(run, at, stop, 0, 0, weighted[run]))
        at = stop
    for run in found.difference(lengths):
        if not any(_begins_like(run, row, rows, source) for row in rows):
            raise CorruptError(
                f"neither the manifest nor the states of run {run} can be read;"
                " restore the database from a copy or a dump"
            )
    if at > ORDINALS_MAX:
        raise CorruptError(f"the runs have {at} documents, more than {ORDINALS_MAX}")
    # No stored counter exceeds the number of commits, so readers see that these have changed.
    commits = int(source.transaction.id()) + 1
    has_changed = has_open(environment, source.transaction)
    return replace(
        Manifest(),
        runs=tuple(rows),
        next_run=max([commits, *(run + 1 for run in found)]),
        next_ordinal=at,
        delta_start=at,
        delta_version=commits,
        deleted_version=commits,
        calibration=commits,
        options_version=commits if has_changed else 0,
    )


def _begins_like(run: int, first: RunInfo, rows: Sequence[RunInfo], source: Source) -> bool:
    """Whether the first fingerprints of `run` are the fingerprints from the run `first` on."""
    wanted = _fingerprints(run, 0, source)
    held: list[U64] = []
    for row in rows[rows.index(first) :]:
        for segment in range(Run(row).segment_count):
            held.append(_fingerprints(row.number, segment, source))
            if sum(map(len, held)) >= len(wanted):
                return np.array_equal(np.concatenate(held)[: len(wanted)], wanted)
    return False


def _fingerprints(run: int, segment: int, source: Source) -> U64:
    """Return the stored fingerprints of one segment, verified; CorruptError."""
    key = layout.segment_key(run, layout.FINGERPRINT, segment)
    kind = layout.COLUMN_KINDS[layout.FINGERPRINT]
    value = source.value(layout.DOCUMENTS, kind, key)
    return codec.decode_array(kind, key, value, "<u8", verify=True)
