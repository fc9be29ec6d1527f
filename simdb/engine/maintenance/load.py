"""Loading: a new database from a dump, complete or not at all.

The database is made group by group in a directory beside the target, and moved into place when the
last frame has been read and everything is on the disk.  The dump is not trusted: options, ids,
offsets and metadata are checked like arguments of a caller.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from simdb.engine.maintenance.calibration import covering, problem_of, put_calibration
from simdb.engine.maintenance.compaction import compact, put_times
from simdb.engine.maintenance.dump import (
    CALIBRATION,
    CLUSTERS,
    DOCUMENTS,
    FEATURES,
    HEAD,
    IDF,
    METADATA,
    NOTE,
    PASSAGES,
    TIMES,
)
from simdb.engine.state.incoming import rehashed, repeated
from simdb.engine.state.opening import created
from simdb.engine.state.state import State
from simdb.engine.state.store import Store
from simdb.engine.write.commit import write_ahead, write_staged
from simdb.engine.write.staging import Staging
from simdb.engine.write.writer import Ahead, Writer, commit, put_clusters, write, write_notes
from simdb.ground.checks import a_map, a_text, a_whole, expecting
from simdb.ground.dtypes import U32
from simdb.ground.errors import CorruptError, InputError, NotFoundError
from simdb.running.progress import Progress, Report, report_of
from simdb.settings.options import VECTOR_LENGTH_MAX, Options
from simdb.settings.stored_options import Resources, decode_dumped, decode_resources
from simdb.settings.text_sketch import IdfTable
from simdb.storage import codec, contents, layout
from simdb.storage.environment import registry
from simdb.storage.environment.file_map import DEFAULT_MAP_BYTES
from simdb.storage.files.idf_file import read_idf
from simdb.storage.files.location import prepare
from simdb.storage.files.new_directory import made_beside
from simdb.storage.files.plain import IDF_FILE
from simdb.storage.records.delta import StoredBatch, concatenate
from simdb.storage.records.features import unpack
from simdb.storage.records.metadata import check_packed, encode_blocks, note_key, unpack_block
from simdb.storage.runs.source import Source
from simdb.storage.runs.sums import check_written, differences
from simdb.storage.transfer import END, FrameReader, unpack_documents, unpack_grains
from simdb.values.arrays import ORDINALS_MAX

# The limits of one commit, and so of the memory for it.
COMMIT_DOCUMENTS = 1 << 17
COMMIT_BYTES = 1 << 26
UNFINISHED = ".loading"


def load(source: Any, path: str | os.PathLike[str], progress: Progress | None) -> int:
    """Make the database `path` from a dump in a file or a binary stream."""
    report = report_of(progress)
    if hasattr(source, "read"):
        return _load_from(source, "the dump", os.fsdecode(path), report)
    try:
        name = os.fsdecode(source)
        file = open(name, "rb")  # noqa: SIM115
    except TypeError as error:
        raise InputError(
            f"source must be a path or a binary file, got {type(source).__name__}"
        ) from error
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no dump at {name}") from error
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error}") from error
    with file:
        return _load_from(file, name, os.fsdecode(path), report)


def _load_from(stream: BinaryIO, name: str, target: str, progress: Report | None) -> int:
    return made_beside(
        target, UNFINISHED, lambda place: _fill(place, FrameReader(stream, name), progress)
    )


def _fill(directory: str, reader: FrameReader, progress: Report | None) -> int:
    """Make the database in `directory`; returns the number of documents."""
    prepare(directory, "x")
    frames = reader.frames()
    head = _read_head(frames, reader, directory)
    lease = registry.acquire(
        directory, is_read_only=False, durability="process", map_bytes=DEFAULT_MAP_BYTES
    )
    try:
        store = created(lease, head.options, head.resources)
        count = _store_all(store, frames, head, reader, progress)
        compact(store)
        _check_loaded(store, count)
        if head.calibration is not None:
            # Documents may have been deleted before an older version wrote the dump.
            put_calibration(store, {**covering({}, 0), **head.calibration})
        if head.notes:
            commit(store, lambda writer: write_notes(writer, head.notes))
    except BaseException:
        registry.abandon(lease)
        raise
    registry.release(lease)
    return count


def _check_loaded(store: Store, count: int) -> None:
    """Raise CorruptError unless the new database has `count` documents, stored as written."""
    with store.source() as source:
        manifest = store.contents(source).manifest
        check_written(differences(manifest.runs, source, contents.table_names(store.options)))
    if manifest.document_count != count:
        raise CorruptError(
            f"the dump has {count} documents, but {manifest.document_count} were stored; nothing"
            " was kept, try again"
        )


@dataclass(slots=True)
class _DumpHead:
    """The part of a dump before the documents, and the first frame after it."""

    options: Options
    resources: Resources
    document_count: int
    content: int = 0
    calibration: dict[str, Any] | None = None
    notes: dict[bytes, bytes | None] = field(default_factory=dict)
    following: list[tuple[bytes, bytearray]] = field(default_factory=list)


def _read_head(
    frames: Iterator[tuple[bytes, bytearray]], reader: FrameReader, directory: str
) -> _DumpHead:
    kind, payload = next(frames)
    if kind != HEAD:
        raise CorruptError(
            f"{reader.place} must be the head of a dump, found the frame {bytes(kind)!r}"
        )
    stored = codec.unpack(bytes(payload), reader.place)
    calibration = None
    notes: dict[bytes, bytes | None] = {}
    path = os.path.join(directory, IDF_FILE)
    for kind, payload in frames:
        if kind == IDF:
            _append(path, payload)
        elif kind == CALIBRATION:
            calibration = _checked_calibration(payload, reader)
        elif kind == NOTE:
            notes.update([_checked_note(payload, reader)])
        else:
            break
    idf = read_idf(path, is_verified=True) if os.path.exists(path) else None
    head = _decode_head(stored, idf, reader)
    head.calibration, head.notes = calibration, notes
    head.following = [(kind, payload)]
    return head


def _append(path: str, payload: bytearray) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "ab") as file:
        file.write(payload)


def _decode_head(stored: Any, idf: tuple[IdfTable, int] | None, reader: FrameReader) -> _DumpHead:
    table, found = (None, None) if idf is None else idf
    with expecting(f"the head of {reader.place}"):
        options = a_map(a_map(stored)["options"])
        checksum = a_map(options["sketch"])["idf"]
        if checksum != found:
            raise CorruptError(
                f"{reader.place}: the IDF table does not have the checksum in the options"
            )
        resources = decode_resources(a_map(stored["resources"]))
        for word in (*resources.stop_words, *resources.versions, *resources.versions.values()):
            a_text(word)
        count = a_whole(stored["documents"], ORDINALS_MAX + 1)
        # Older versions wrote no content.
        content = a_whole(stored.get("content", 0), VECTOR_LENGTH_MAX + 2)
        return _DumpHead(decode_dumped(options, table), resources, count, content)


def _checked_calibration(payload: bytearray, reader: FrameReader) -> dict[str, Any]:
    stored = codec.unpack(bytes(payload), reader.place)
    problem = problem_of(stored)
    if problem is not None or stored is None:
        raise CorruptError(f"{reader.place}: {problem}")
    return dict(stored)


def _checked_note(payload: bytearray, reader: FrameReader) -> tuple[bytes, bytes]:
    """Return the key and the packed content of a note."""
    with expecting(reader.place):
        name, packed = codec.unpack(bytes(payload), reader.place)
        codec.unpack(packed, reader.place)
        return note_key(a_text(name)), packed


def _store_all(
    store: Store,
    frames: Iterator[tuple[bytes, bytearray]],
    head: _DumpHead,
    reader: FrameReader,
    progress: Report | None,
) -> int:
    """Commit the documents, some thousands at a time; returns the number of documents."""
    filling = _Filling(store, reader, head.content)
    for kind, payload in chain(head.following, frames):
        if kind == DOCUMENTS:
            filling.add_documents(payload)
            if progress is not None:
                progress(filling.count)
        elif kind == METADATA:
            filling.add_metadata(payload)
        elif kind == CLUSTERS and store.options.keeps_clusters:
            filling.add_clusters(payload)
        elif kind == TIMES and store.options.keeps_times:
            filling.add_times(payload)
        elif kind == PASSAGES and store.options.passages:
            filling.add_passages(payload)
        elif kind == FEATURES and store.options.features:
            filling.add_features(payload)
        elif kind == END:
            _check_count(payload, filling.count, head, reader)
        else:
            raise CorruptError(
                f"{reader.place} is {bytes(kind)!r}, which does not belong after the head"
            )
    filling.commit()
    if store.options.keeps_times:
        filling.put_times()
    if store.options.keeps_clusters:
        filling.put_clusters()
    return filling.count


def _check_count(payload: bytearray, found: int, head: _DumpHead, reader: FrameReader) -> None:
    stored = codec.unpack(bytes(payload), reader.place)
    if stored != {"documents": found} or head.document_count != found:
        raise CorruptError(
            f"{reader.place}: the dump has {found} documents, but its head says"
            f" {head.document_count} and its end {stored!r:.50}"
        )


class _Filling:
    """Documents and metadata on their way into a new database; `count` documents so far."""

    def __init__(self, store: Store, reader: FrameReader, content: int) -> None:
        self._store, self._content = store, content
        self._reader = reader
        self._batches: list[StoredBatch] = []
        self._metadata: list[tuple[int, bytes]] = []
        self._clusters: list[U32] = []
        self._times: list[U32] = []
        self._last = -1  # number of the document whose metadata came last
        self._document_count = 0  # in `_batches`
        self._size_bytes = 0
        self.count = 0

    def add_documents(self, payload: bytearray) -> None:
        batch = unpack_documents(payload, self._store.width, self._reader.place)
        self._batches.append(batch)
        self._document_count += len(batch)
        self.count += len(batch)
        self._size_bytes += len(payload)
        options = self._store.options
        if not (options.passages or options.features):  # they come before a commit
            self._make_room(0)

    def add_metadata(self, payload: bytearray) -> None:
        place = self._reader.place
        for number, packed in unpack_block(np.frombuffer(payload, np.uint8), place):
            if not self._last < number < self.count:
                raise CorruptError(f"{place} has metadata of document {number} out of order")
            check_packed(packed, f"metadata of document {number} in {place}")
            self._metadata.append((number, packed))
            self._last = number
        self._make_room(len(payload))

    def add_clusters(self, payload: bytearray) -> None:
        self._clusters.append(_numbers(payload, self._reader.place))

    def add_times(self, payload: bytearray) -> None:
        self._times.append(_numbers(payload, self._reader.place))

    def add_passages(self, payload: bytearray) -> None:
        """Give the last documents their passages, which come right after them."""
        if not self._batches or self._batches[-1].grains is not None:
            raise CorruptError(f"{self._reader.place} has passages of no documents")
        last = self._batches[-1]
        grains = unpack_grains(payload, len(last), self._reader.place)
        self._batches[-1] = replace(last, grains=grains)
        if not self._store.options.features:
            self._make_room(len(payload))

    def add_features(self, payload: bytearray) -> None:
        """Give the last documents their features, which come right after them."""
        features = unpack(np.frombuffer(payload, np.uint8), self._reader.place)
        last = self._batches[-1] if self._batches else None
        entry = self._store.exact_similarity().packed_bytes
        is_whole = not (np.diff(features.offsets) % entry).any()
        if last is None or last.features or len(features) != len(last) or not is_whole:
            raise CorruptError(f"{self._reader.place} has features that fit to no documents")
        self._batches[-1] = replace(last, features=features)
        self._make_room(len(payload))

    def put_times(self) -> None:
        """Store the times of all documents, in place of the times of their insertion."""
        times = np.concatenate([np.empty(0, np.uint32), *self._times])
        if len(times) != self.count:
            raise CorruptError(
                f"{self._reader.place}: the dump has {len(times)} times of {self.count} documents"
            )
        commit(self._store, lambda writer: put_times(writer, times))

    def put_clusters(self) -> None:
        """Store the clusters of all documents, after the documents themselves."""
        numbers = np.concatenate([np.empty(0, np.uint32), *self._clusters])
        sizes = np.unique(numbers[numbers > 0], return_counts=True)[1]
        if len(numbers) != self.count or (sizes < 2).any():
            raise CorruptError(
                f"{self._reader.place}: the clusters of the dump do not fit its documents"
            )
        self._store.membership = None
        commit(self._store, lambda writer: put_clusters(writer, numbers))

    def commit(self) -> None:
        """Store the documents added; a new database gives the ordinals that a dump counts."""
        store = self._store
        with store.begin_write() as right:
            store.with_room(self._try_to_commit, right)
        self._batches, self._metadata = [], []
        self._document_count = self._size_bytes = 0

    def _make_room(self, size_bytes: int) -> None:
        self._size_bytes += size_bytes
        if self._document_count >= COMMIT_DOCUMENTS or self._size_bytes >= COMMIT_BYTES:
            self.commit()

    def _try_to_commit(self) -> None:
        """Commit; `MapFull` if the map has no space for it."""
        with self._store.state() as state:
            source = state.source
            base = self._store.contents(source)
            staging = Staging(self._store, base, source)
            staging.content = self._content
            ahead = Ahead(self._store, base.manifest, None)
            if self._document_count:
                self._check_complete()
                batch = rehashed(concatenate(self._batches), staging.id_key)
                self._check_ids(batch, state)
                staging.insert(batch, [])
                write_ahead(ahead, base, staging, source)
            write(self._store, lambda writer: self._write(ahead, writer, staging, source))

    def _write(self, ahead: Ahead, writer: Writer, staging: Staging, source: Source) -> None:
        if staging.has_changes:
            write_staged(ahead, writer, self._store.contents(source), staging, source)
        writer.put_all(layout.METADATA, encode_blocks(self._metadata))

    def _check_complete(self) -> None:
        """Raise CorruptError if documents lack the passages or features that all have."""
        options = self._store.options
        if options.passages and any(each.grains is None for each in self._batches):
            raise CorruptError(f"{self._reader.place}: documents before it lack their passages")
        if options.features and any(each.features is None for each in self._batches):
            raise CorruptError(f"{self._reader.place}: documents before it lack their features")

    def _check_ids(self, batch: StoredBatch, state: State) -> None:
        """Raise CorruptError if one of the ids was stored before, or is in the batch twice."""
        known = np.flatnonzero(state.find(batch.offsets, batch.content, batch.hashes) >= 0)
        again = repeated(batch.hashes, batch.offsets, batch.content)
        for at in sorted({*known.tolist(), *again}):
            stored = batch.content[batch.offsets[at] : batch.offsets[at + 1]].tobytes()
            raise CorruptError(
                f"{self._reader.place}, or one before it, has an id a second time: {stored!r}"
            )


def _numbers(payload: bytearray, place: str) -> U32:
    """Return the numbers in a frame; CorruptError if its length is no number of them."""
    if len(payload) % 4:
        raise CorruptError(f"{place} has {len(payload)} bytes, no whole number of numbers")
    return np.frombuffer(payload, "<u4").astype(np.uint32)
