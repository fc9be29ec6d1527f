"""Dumps: the whole database in a form that does not depend on how it is stored.

The tables are left out, because they are made from the rest.  Only one group of documents is in
memory at a time, every stored value is verified before it is written, and one read transaction sees
the same state from the first document to the last.
"""

import os
import secrets
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from simdb.engine.maintenance.calibration import covered_of, covering
from simdb.engine.state.store import Store
from simdb.ground.dtypes import U32
from simdb.ground.errors import Error, InputError
from simdb.running.progress import Progress, Report, report_of
from simdb.settings.stored_options import encode_options, encode_resources
from simdb.storage import codec, layout
from simdb.storage.contents import Contents, idf_checksum, read_options, read_resources
from simdb.storage.files.idf_file import read_own_idf
from simdb.storage.files.location import write_whole
from simdb.storage.files.plain import IDF_FILE
from simdb.storage.membership import Membership
from simdb.storage.passages import GrainsByOrdinal, stored_passages
from simdb.storage.records import metadata
from simdb.storage.records.features import pack, read_features
from simdb.storage.records.tombstones import is_deleted, live_count
from simdb.storage.runs.merge import taken
from simdb.storage.runs.run import Segment, as_segment
from simdb.storage.runs.source import Source
from simdb.storage.transfer import END, FrameWriter, pack_documents, pack_grains, parts_of
from simdb.storage.translation import translate
from simdb.values.arrays import Grains, PackedFeatures

HEAD, IDF, CALIBRATION, NOTE = b"head", b"idft", b"cali", b"note"
DOCUMENTS, CLUSTERS, TIMES, METADATA = b"docs", b"clus", b"time", b"meta"
PASSAGES, FEATURES = b"pass", b"feat"
GROUP_DOCUMENTS = 8192
IDF_BYTES = 1 << 20
PARTIAL = ".partial"


def dump(store: Store, target: Any, progress: Progress | None) -> int:
    """Write the database to a path or a binary stream; returns the number of documents.

    A file gets its name when it is complete, and only its owner may read it.
    """
    report = report_of(progress)
    if hasattr(target, "write"):
        return _dump_to(store, target, report)
    try:
        path = os.fsdecode(target)
    except TypeError as error:
        raise InputError(
            f"target must be a path or a binary file, got {type(target).__name__}"
        ) from error
    temporary = f"{path}.{secrets.token_hex(8)}{PARTIAL}"
    try:
        return write_whole(path, temporary, lambda file: _dump_to(store, file, report))
    except Error:
        raise
    except OSError as error:
        translate(error, path)


def _dump_to(store: Store, stream: BinaryIO, progress: Report | None) -> int:
    with store.state() as state:
        source = state.source
        contents = store.contents(source)
        writer = FrameWriter(stream)
        _write_head(store, source, contents, writer)
        count = _write_documents(store, source, contents, writer, progress)
        writer.write(END, codec.pack({"documents": count}))
        return count


def _write_head(store: Store, source: Source, contents: Contents, writer: FrameWriter) -> None:
    environment = store.environment
    options = read_options(environment, source.transaction)
    checksum = idf_checksum(environment, source.transaction)
    head = {
        "options": encode_options(options, checksum),
        "resources": encode_resources(read_resources(environment)),
        "documents": contents.manifest.document_count,
        "content": contents.manifest.content,
    }
    writer.write(HEAD, codec.pack(head))
    if checksum is not None:
        read_own_idf(environment.path, checksum, is_verified=True)
        with open(os.path.join(environment.path, IDF_FILE), "rb") as file:
            while part := file.read(IDF_BYTES):
                writer.write(IDF, part)
    if contents.calibration is not None:
        covered = covered_of(contents.calibration, contents.manifest)
        left = live_count(contents.dead, covered)
        writer.write(CALIBRATION, codec.pack(covering(contents.calibration, left)))
    for key in metadata.note_keys(source):
        writer.write(
            NOTE, codec.pack([metadata.note_name(key), codec.pack(metadata.read_note(source, key))])
        )


class DocumentGroup(NamedTuple):
    """Some live documents in order, with what is stored beside their columns, if anything is.

    `clusters`, `times` uint32[n].  `metadata`: position and stored form of each that has metadata.
    """

    documents: Segment
    clusters: U32 | None
    times: U32 | None
    grains: Grains | None
    features: PackedFeatures | None
    metadata: list[tuple[int, bytes]]


def document_groups(store: Store, source: Source, contents: Contents) -> Iterator[DocumentGroup]:
    """Yield all live documents in order, in small groups; CorruptError for damage."""
    handle = store.environment.subdatabase(layout.METADATA)
    membership = Membership(source) if store.options.keeps_clusters else None
    times = None
    if store.options.keeps_times:
        times = metadata.read_times(source.every(layout.TIMES), contents.manifest.next_ordinal)
    passages = None
    if store.options.passages:
        stored = stored_passages(contents.manifest.passages)
        passages = GrainsByOrdinal(stored, contents.manifest.next_ordinal, source)
    for group in _groups(source, contents):
        every = np.arange(group.start, group.start + len(group), dtype=np.uint32)
        live = np.flatnonzero(~is_deleted(contents.dead, every)).astype(np.uint32)
        ordinals = every[live]
        if not len(live):
            continue
        own = metadata.read_many(source.transaction, handle, ordinals.tolist())
        places = np.searchsorted(ordinals, [*own]).tolist()
        grains = None
        if passages is not None:
            grains = passages.grains(group.start, group.start + len(group)).taken(live)
        yield DocumentGroup(
            taken(group, live),
            None if membership is None else membership.numbers(ordinals),
            None if times is None else times[ordinals],
            grains,
            read_features(source, ordinals) if store.options.features else None,
            [
                (place, _checked(packed, ordinal))
                for place, (ordinal, packed) in zip(places, own.items(), strict=True)
            ],
        )


def _write_documents(
    store: Store, source: Source, contents: Contents, writer: FrameWriter, progress: Report | None
) -> int:
    """Write groups of documents, each before its metadata; returns the number of documents."""
    count = 0
    for group in document_groups(store, source, contents):
        writer.write(DOCUMENTS, pack_documents(group.documents))
        if group.clusters is not None:
            writer.write(CLUSTERS, group.clusters.astype("<u4").tobytes())
        if group.times is not None:
            writer.write(TIMES, group.times.astype("<u4").tobytes())
        if group.grains is not None:
            writer.write(PASSAGES, pack_grains(group.grains))
        if group.features is not None:
            writer.write(FEATURES, pack(group.features))
        for block in metadata.grouped((count + place, each) for place, each in group.metadata):
            writer.write(METADATA, metadata.pack_block(block))
        count += len(group.documents)
        if progress is not None:
            progress(count)
    return count


def _checked(packed: bytes, ordinal: int) -> bytes:
    """Return the metadata of a document; CorruptError if `load` would refuse it."""
    metadata.check_packed(packed, f"metadata of ordinal {ordinal}")
    return packed


def _groups(source: Source, contents: Contents) -> Iterator[Segment]:
    """Yield all documents in order, in small parts, deleted ones too; CorruptError for damage."""
    for run in contents.runs:
        for number in range(run.segment_count):
            for column in layout.COLUMN_KINDS:
                run.verify_column(column, number, source)
            yield from parts_of(run.segment(number, source), GROUP_DOCUMENTS)
    if len(contents.delta.batch):
        yield from parts_of(as_segment(contents.delta.start, contents.delta.batch), GROUP_DOCUMENTS)
