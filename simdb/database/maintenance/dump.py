"""Dumps: the whole database in a form that does not depend on how it is stored.

A dump omits the tables, which are made from the rest.  Only one group of documents is in memory at
a time, and every stored value is verified before it is written.  One read transaction shows the
same state from the first document to the last.

A dump is loaded group by group into a directory next to the target.  The directory is moved into
place when the whole dump has been read and everything is on disk.  The dump is not trusted:
options, ids, offsets and metadata are checked like arguments of a caller.

An upgrade loads the dump of another process, perhaps with another simdb and another LMDB.  The new
database is checked before its data file replaces the old one, which is kept elsewhere.
"""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import chain, pairwise
from subprocess import DEVNULL, PIPE, Popen
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from simdb import storage
from simdb.core import errors, stored_options
from simdb.core.arrays import ORDINALS_MAX, Extras, offsets_of
from simdb.core.checks import a_map, a_text, a_whole, expecting
from simdb.core.options import VECTOR_LENGTH_MAX, Options
from simdb.core.progress import Progress, Report, report_of
from simdb.database.maintenance.calibration import covered_of, covering, problem_of, put_calibration
from simdb.database.maintenance.compaction import compact
from simdb.database.maintenance.inspection import check
from simdb.database.state.incoming import rehashed, repeated
from simdb.database.state.state import State
from simdb.database.state.store import Access, Store, created, open_store
from simdb.database.write.commit import (
    Ahead,
    commit,
    put_clusters,
    write,
    write_ahead,
    write_notes,
    write_staged,
)
from simdb.database.write.staging import Staging
from simdb.storage import (
    by_ordinal,
    codec,
    file_map,
    idf_file,
    layout,
    merge as merges,
    metadata,
    transfer,
)

GROUP_DOCUMENTS = 8192
IDF_BYTES = 1 << 20
PARTIAL, UNFINISHED, UPGRADING = ".partial", ".loading", ".upgrading"
OLD = ".old"
WAIT_SECONDS = 2.0
ROOM_FACTOR = 4  # the loaded documents, the compacted ones, and a copy without free pages: 2 to 3.3
# Limits of one commit, and thus of its memory.
COMMIT_DOCUMENTS = 1 << 17
COMMIT_BYTES = 1 << 26


def dump(store: Store, target: Any, progress: Progress | None) -> int:
    """Write the database to a path or a binary stream; return the number of documents.

    A file gets its name when it is complete, and only its owner may read it.
    """
    report = report_of(progress)
    if hasattr(target, "write"):
        return _dump_to(store, target, report)
    path = _path(target, "target")
    temporary = f"{path}.{secrets.token_hex(8)}{PARTIAL}"
    with storage.translated(path):
        return storage.write_whole(path, temporary, lambda file: _dump_to(store, file, report))


def _path(given: Any, what: str) -> str:
    try:
        return os.fsdecode(given)
    except TypeError as error:
        raise errors.InputError(
            f"{what} must be a path or a binary file, got {type(given).__name__}"
        ) from error


def _dump_to(store: Store, stream: BinaryIO, progress: Report) -> int:
    with store.state() as state:
        contents, count = store.contents(state.source), 0
        writer = _begun(store, state.source, contents, stream)
        for group in document_groups(store, state.source, contents):
            writer.put_documents(group)
            count += len(group.batch)
            progress(count)
        writer.close()
        return count


def _begun(
    store: Store, source: storage.Source, contents: storage.Contents, stream: BinaryIO
) -> transfer.DumpWriter:
    """Write everything that precedes the documents."""
    environment, manifest = store.environment, contents.manifest
    options = storage.read_options(environment, source.transaction)
    checksum = storage.idf_checksum(environment, source.transaction)
    head = {
        "options": stored_options.encode_options(options, checksum),
        "resources": stored_options.encode_resources(storage.read_resources(environment)),
        "documents": manifest.document_count,
        "content": manifest.content,
    }
    kept = zip(transfer.OPTIONAL, _are_kept(options), strict=True)
    columns = [name for name, is_kept in kept if is_kept]
    writer = transfer.DumpWriter(stream, head, store.width, columns)
    if checksum is not None:
        idf_file.read_own_idf(environment.path, checksum, is_verified=True)
        with open(os.path.join(environment.path, storage.IDF_FILE), "rb") as file:
            while part := file.read(IDF_BYTES):
                writer.put(transfer.IDF, part)
    if contents.calibration is not None:
        left = storage.live_count(contents.dead, covered_of(contents.calibration, manifest))
        writer.put(transfer.CALIBRATION, codec.pack(covering(contents.calibration, left)))
    for key in metadata.note_keys(source):
        note = codec.pack(metadata.read_note(source, key))
        writer.put(transfer.NOTE, codec.pack([metadata.note_name(key), note]))
    return writer


def _are_kept(options: Options) -> list[bool]:
    """Return which columns of `transfer.OPTIONAL` a database with these options keeps."""
    is_kept = options.keeps_clusters, options.keeps_times, options.passages, options.features
    return [*is_kept, options.texts]


def document_groups(
    store: Store, source: storage.Source, contents: storage.Contents
) -> Iterator[transfer.DumpedDocuments]:
    """Yield all live documents in order, in small groups; raise CorruptError for damage."""
    membership = storage.Membership(source) if store.options.keeps_clusters else None
    times = None
    if store.options.keeps_times:
        times = metadata.read_times(source.every(layout.TIMES), contents.manifest.next_ordinal)
    passages = None
    if store.options.passages:
        stored = storage.Passages.stored(contents.manifest.passages)
        passages = storage.GrainsByOrdinal(stored, contents.manifest.next_ordinal, source)
    for group in _groups(source, contents):
        every = np.arange(group.start, group.start + len(group), dtype=np.uint32)
        live = np.flatnonzero(~storage.is_deleted(contents.dead, every)).astype(np.uint32)
        ordinals = every[live]
        if not len(live):
            continue
        own = metadata.read_many(source, ordinals.tolist())
        places = np.searchsorted(ordinals, [*own]).tolist()
        segment, grains = merges.taken(group, live).columns, None
        if passages is not None:
            grains = passages.grains(group.start, group.start + len(group)).taken(live)
        columns = by_ordinal.columns_of(store.options)
        made = {column.what: column.read(source, ordinals) for column in columns}
        yield transfer.DumpedDocuments(
            storage.StoredBatch(
                segment[layout.FINGERPRINT], segment[layout.STATE], segment[layout.VECTOR],
                np.empty(0, np.uint64), segment[layout.OFFSET].astype(np.int64),
                segment[layout.ID], Extras(grains, **made),
            ),
            None if membership is None else membership.numbers(ordinals),
            None if times is None else times[ordinals],
            [
                (place, _checked(packed, ordinal))
                for place, (ordinal, packed) in zip(places, own.items(), strict=True)
            ],
        )  # fmt: skip


def _checked(packed: bytes, ordinal: int) -> bytes:
    """Return the metadata of a document; raise CorruptError if `load` would refuse it."""
    metadata.check_packed(packed, f"metadata of ordinal {ordinal}")
    return packed


def _groups(source: storage.Source, contents: storage.Contents) -> Iterator[storage.Segment]:
    """Yield all documents in order, in small parts, with deleted ones.

    Raises CorruptError for damage.
    """
    for run in contents.runs:
        for number in range(run.segment_count):
            for column in layout.COLUMN_KINDS:
                run.verify_column(column, number, source)
            yield from _parts_of(run.segment(number, source))
    if len(contents.delta.batch):
        yield from _parts_of(storage.as_segment(contents.delta.start, contents.delta.batch))


def _parts_of(segment: storage.Segment) -> Iterator[storage.Segment]:
    for start in range(0, len(segment), GROUP_DOCUMENTS):
        yield segment.part(start, min(start + GROUP_DOCUMENTS, len(segment)))


def load(source: Any, path: str | os.PathLike[str], progress: Progress | None) -> int:
    """Make the database `path` from a dump in a file or a binary stream."""
    report, target = report_of(progress), os.fsdecode(path)
    if hasattr(source, "read"):
        return _load_from(source, "the dump", target, report)
    name = _path(source, "source")
    try:
        file = open(name, "rb")  # noqa: SIM115
    except FileNotFoundError as error:
        raise errors.NotFoundError(f"there is no dump at {name}") from error
    except OSError as error:
        raise errors.no_descriptor(error) or errors.InputError(
            f"{name} cannot be read: {error}"
        ) from error
    with file:
        return _load_from(file, name, target, report)


def upgrade(path: str | os.PathLike[str], python: str | None, progress: Progress | None) -> str:
    """Replace the database by what `python` dumps; return the directory of the old database."""
    place, report = os.path.realpath(os.fsdecode(path)), report_of(progress)
    if not os.path.lexists(place):
        raise errors.NotFoundError(f"there is no database at {place} to upgrade")
    storage.prepare(place, "r")
    python = python or sys.executable
    if shutil.which(python) is None:
        raise errors.OptionError(f"no program at {python} can be run; name a Python that has simdb")
    old, data = place + OLD, os.path.join(place, storage.DATA_FILE)
    kept, made = (os.path.join(old, name) for name in (storage.DATA_FILE, storage.NEW_FILE))
    files = storage.OpenFiles(place, is_synced=True, timeout=WAIT_SECONDS)

    def make(directory: str) -> None:
        files.presence.close()  # otherwise the other process could not make lock files
        _upgraded(place, python, directory, report)
        files.presence = storage.Presence(place, is_read_only=False, timeout=WAIT_SECONDS)
        held.enter_context(files.alone())
        os.link(data, os.path.join(directory, storage.DATA_FILE))  # so nobody opens it to write

    with closing(files), storage.translated(place), ExitStack() as held:
        with files.alone():
            size = ROOM_FACTOR * files.presence.data_bytes
        # An earlier upgrade may have been interrupted before its last step.
        if os.path.lexists(made) and (not os.path.lexists(kept) or os.path.samefile(kept, data)):
            shutil.rmtree(old)
        elif os.path.lexists(kept) and not os.path.lexists(made):
            raise errors.ExistsError(
                f"{place} is upgraded already; remove {old}, the old database, if not needed"
            )
        if shutil.disk_usage(place).free < size:
            raise errors.FullError(f"{place} needs {size} free bytes on its disk; nothing changed")
        storage.made_beside(old, UPGRADING, make)
        files.put_in_place(made)
    return old


def _upgraded(place: str, python: str, directory: str, progress: Report) -> None:
    """Make a new data file in `directory` from the dump of `python`, and check it."""
    command = [python, "-m", "simdb", "dump", place]
    with Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE) as child:
        output, notes = cast("tuple[BinaryIO, BinaryIO]", (child.stdout, child.stderr))
        try:
            _fill(directory, transfer.read_dump(output, "the dump"), progress)
        except (errors.CorruptError, errors.FormatError) as error:
            output.close()
            said = notes.read().decode(errors="replace").strip().rpartition("\n")[2]
            reason = said if child.wait() and said else error
            raise errors.FormatError(f"{place} was not upgraded: {reason}") from error
    with closing(open_store(directory, "r", None, Access("none", None, None, ()))) as store:
        for finding in check(store, deep=False):
            raise errors.CorruptError(f"the upgrade of {place} is damaged, try again: {finding}")
    os.rename(os.path.join(directory, storage.DATA_FILE), os.path.join(directory, storage.NEW_FILE))
    for name in storage.LOCKS:
        os.unlink(os.path.join(directory, name))


def _load_from(stream: BinaryIO, name: str, target: str, progress: Report) -> int:
    return storage.made_beside(
        target, UNFINISHED, lambda place: _fill(place, transfer.read_dump(stream, name), progress)
    )


def _fill(directory: str, parts: Iterator[transfer.DumpPart], progress: Report) -> int:
    """Make the database in `directory`; return the number of documents."""
    storage.prepare(directory, "x")
    head, parts = _read_head(parts, directory)
    lease = storage.Lease.acquire(
        directory, is_read_only=False, durability="process", map_bytes=file_map.DEFAULT_MAP_BYTES
    )
    with errors.undoing(lease.abandon):
        store = created(lease, head.options, head.resources)
        filling = _Filling(store, head.content)
        for part in parts:
            filling.add(part)
            progress(filling.count)
        filling.finish()
        compact(store)
        _check_loaded(store, filling.count, head.document_count)
        if head.calibration is not None:
            put_calibration(store, head.calibration)
        if head.notes:
            commit(store, lambda writer: write_notes(writer, head.notes))
    lease.release()
    return filling.count


def _check_loaded(store: Store, count: int, said: int) -> None:
    """Raise CorruptError unless the new database has `count` documents, stored as written."""
    if count != said:
        raise errors.CorruptError(f"the dump has {count} documents, but its head says {said}")
    with store.source() as source:
        manifest = store.contents(source).manifest
        merges.check_written(
            merges.differences(manifest.runs, source, storage.table_names(store.options))
        )
    if manifest.document_count != count:
        raise errors.CorruptError(
            f"the dump has {count} documents, but {manifest.document_count} were stored; nothing"
            " was kept, try again"
        )


class _DumpHead(NamedTuple):
    """The part of a dump before the documents."""

    options: Options
    resources: stored_options.Resources
    document_count: int
    content: int
    calibration: dict[str, Any] | None
    notes: dict[bytes, bytes | None]


def _read_head(
    parts: Iterator[transfer.DumpPart], directory: str
) -> tuple[_DumpHead, Iterator[transfer.DumpPart]]:
    """Return the head and the remaining parts; the IDF table goes into `directory`."""
    head, calibration = next(parts), None
    if head.kind != transfer.HEAD:
        raise errors.CorruptError(f"{head.place} must be the head of a dump, but is {head.kind!r}")
    notes: dict[bytes, bytes | None] = {}
    path = os.path.join(directory, storage.IDF_FILE)
    for part in parts:
        if part.kind == transfer.IDF:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(descriptor, "ab") as file:
                file.write(part.payload)
        elif part.kind == transfer.CALIBRATION:
            calibration = _checked_calibration(part)
        elif part.kind == transfer.NOTE:
            notes.update([_checked_note(part)])
        else:
            parts = chain([part], parts)
            break
    idf, found = idf_file.read_idf(path, is_verified=True) if os.path.exists(path) else (None, None)
    with expecting(head.place):
        stored = a_map(head.payload)
        options = a_map(stored["options"])
        if a_map(options["sketch"]).get("idf") != found:
            raise errors.CorruptError(
                f"{head.place}: the IDF table does not have the checksum in the options"
            )
        resources = stored_options.decode_resources(a_map(stored["resources"]))
        for word in (*resources.stop_words, *resources.versions, *resources.versions.values()):
            a_text(word)
        count = a_whole(stored["documents"], ORDINALS_MAX + 1)
        # Older versions wrote no content.
        content = a_whole(stored.get("content", 0), VECTOR_LENGTH_MAX + 2)
        decoded = stored_options.decode_dumped(options, idf)
        return _DumpHead(decoded, resources, count, content, calibration, notes), parts


def _checked_calibration(part: transfer.DumpPart) -> dict[str, Any]:
    stored = codec.unpack(part.payload, part.place)
    problem = problem_of(stored)
    if problem is not None or stored is None:
        raise errors.CorruptError(f"{part.place}: {problem}")
    return dict(stored)


def _checked_note(part: transfer.DumpPart) -> tuple[bytes, bytes]:
    """Return the key and the packed content of a note."""
    with expecting(part.place):
        name, packed = codec.unpack(part.payload, part.place)
        codec.unpack(packed, part.place)
        return metadata.note_key(a_text(name)), packed


class _Filling:
    """The documents on their way into a new database; `count` is their number so far."""

    def __init__(self, store: Store, content: int) -> None:
        self._store, self._content = store, content
        self._groups: list[transfer.DumpedDocuments] = []
        self._clusters = [np.empty(0, np.uint32)]
        self._document_count = self._size_bytes = 0  # in `_groups`
        self._place = ""
        self.count = 0

    def add(self, part: transfer.DumpPart) -> None:
        """Take documents, and commit if a limit is reached."""
        self._place = part.place
        if part.kind != transfer.DOCUMENTS:
            raise errors.CorruptError(f"{part.place} is {part.kind!r}, which does not belong there")
        group: transfer.DumpedDocuments = part.payload
        self._check(group)
        self._groups.append(group)
        if group.clusters is not None:
            self._clusters.append(group.clusters)
        batch = group.batch
        self.count += len(batch)
        self._document_count += len(batch)
        self._size_bytes += batch.vectors.nbytes + len(batch.content)
        self._size_bytes += sum(len(packed) for _, packed in group.metadata)
        for each in batch.extras:
            self._size_bytes += 0 if each is None else each.values.nbytes
        if self._document_count >= COMMIT_DOCUMENTS or self._size_bytes >= COMMIT_BYTES:
            self._commit()

    def finish(self) -> None:
        """Store the last documents, and the clusters of all documents."""
        self._commit()
        if self._store.options.keeps_clusters:
            numbers = np.concatenate(self._clusters)
            if (np.unique(numbers[numbers > 0], return_counts=True)[1] < 2).any():
                raise errors.CorruptError("the dump has a cluster of one document")
            self._store.membership = None
            commit(self._store, lambda writer: put_clusters(writer, numbers))

    def _check(self, group: transfer.DumpedDocuments) -> None:
        """Raise CorruptError unless the columns and metadata of a group fit the options."""
        batch, count = group.batch, len(group.batch)
        beside = (group.clusters, group.times, *batch.extras)
        lengths = [None if each is None else len(each) for each in beside]
        if lengths != [count if kept else None for kept in _are_kept(self._store.options)]:
            raise errors.CorruptError(f"{self._place} has other columns than the options say")
        if batch.vectors.shape[1] != self._store.width:
            raise errors.CorruptError(
                f"{self._place} has vectors of {batch.vectors.shape[1]} bytes, but the options say"
                f" {self._store.width}"
            )
        if batch.extras.features is not None:
            entry = self._store.exact_similarity().packed_bytes
            if (np.diff(batch.extras.features.offsets) % entry).any():
                raise errors.CorruptError(f"{self._place} has features that are cut off")
        positions = [-1, *(at for at, _ in group.metadata), count]
        if any(after <= before for before, after in pairwise(positions)):
            raise errors.CorruptError(f"{self._place} has metadata that are out of order")
        for at, packed in group.metadata:
            metadata.check_packed(packed, f"metadata of document {at} in {self._place}")

    def _commit(self) -> None:
        if self._groups:
            with self._store.begin_write() as right:
                self._store.with_room(self._try_to_commit, right)
            self._groups, self._document_count, self._size_bytes = [], 0, 0

    def _try_to_commit(self) -> None:
        """Commit; `MapFull` if the map has no space for it."""
        with self._store.state() as state:
            source = state.source
            base = self._store.contents(source)
            staging = Staging(self._store, base, source)
            staging.content = self._content
            ahead = Ahead(self._store, base.manifest, None)
            batch = rehashed(
                storage.StoredBatch.joined([group.batch for group in self._groups]), staging.id_key
            )
            self._check_ids(batch, state)
            starts = offsets_of([len(group.batch) for group in self._groups]).tolist()
            packed = [
                (start + at, each)
                for start, group in zip(starts, self._groups, strict=False)
                for at, each in group.metadata
            ]
            times = [group.times for group in self._groups if group.times is not None]
            staging.insert(batch, packed, np.concatenate(times) if times else None)
            write_ahead(ahead, base, staging, source)
            write(self._store, lambda writer: write_staged(ahead, writer, base, staging, source))

    def _check_ids(self, batch: storage.StoredBatch, state: State) -> None:
        """Raise CorruptError if an id is stored already, or appears twice in the batch."""
        known = np.flatnonzero(state.find(batch.offsets, batch.content, batch.hashes) >= 0)
        again = repeated(batch.hashes, batch.offsets, batch.content)
        for at in sorted({*known.tolist(), *again}):
            stored = batch.content[batch.offsets[at] : batch.offsets[at + 1]].tobytes()
            raise errors.CorruptError(
                f"{self._place} has the id of an earlier document again: {stored!r}"
            )
