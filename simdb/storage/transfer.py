"""Transfer: the portable form of a dump, an Arrow IPC stream followed by a checksum.

    Arrow IPC stream | XXH3-64 of all bytes before it, 8 bytes

Each row of the stream is a live document, in order of insertion, with the columns of `_schema`.
The metadata of the schema have the `format` "simdb-dump", the `version`, and the `head`, a JSON
object.  A batch without rows has another part of the database in its metadata.  It has a `kind` and
a `payload` in base64: the bytes of the IDF table, the calibration or a note.  These parts precede
the documents.  A dump has nothing that can be derived.

Version 1 is a stream of frames, which `_old_parts` reads; the next version of simdb may drop it.
"""

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import xxhash

from simdb.core import kernel
from simdb.core.arrays import WEIGHTED, Extras, Ragged, flags_at
from simdb.core.arrow import array_of, load_arrow
from simdb.core.checks import expecting
from simdb.core.dtypes import U32
from simdb.core.errors import CorruptError, FormatError
from simdb.storage import codec
from simdb.storage.by_ordinal import unpack
from simdb.storage.delta import StoredBatch
from simdb.storage.metadata import METADATA_BYTES_MAX, unpack_block

FORMAT, VERSION = b"simdb-dump", 2
HEAD, IDF, CALIBRATION, NOTE, DOCUMENTS = "head", "idf", "calibration", "note", "documents"
KINDS = {kind.encode(): kind for kind in (IDF, CALIBRATION, NOTE)}
# The columns that only some databases have.
EXTRAS = ("passages", "features", "texts")  # the fields of `Extras`
OPTIONAL = ("cluster", "time", *EXTRAS)
CONTINUATION = b"\xff" * 4  # the first bytes of every message of Arrow
# The largest size of a batch of several documents.
BATCH_BYTES = 1 << 26
# The largest part of a document is its metadata.
MESSAGE_BYTES_MAX = METADATA_BYTES_MAX + (1 << 30)
# A length read from a pipe cannot be compared with the size of a file, so bytes are read in parts.
PART_BYTES = 1 << 20


class DumpedDocuments(NamedTuple):
    """Live documents in order, with their data outside the columns, if any.

    `clusters`, `times` uint32[n].  `metadata`: position and stored form for each document with
    metadata.  The batch has no hashes.
    """

    batch: StoredBatch
    clusters: U32 | None
    times: U32 | None
    metadata: list[tuple[int, bytes]]


class DumpPart(NamedTuple):
    """A part of a dump: its kind, its content (documents, the head or bytes), and its place."""

    kind: str
    payload: Any
    place: str


class DumpWriter:
    """A writer of a dump to a stream."""

    def __init__(self, stream: BinaryIO, head: Any, width: int, columns: Collection[str]) -> None:
        """Write the head; `columns`: the names in `OPTIONAL` that the documents have."""
        self._arrow, ipc = load_arrow("a dump"), load_arrow("a dump", "pyarrow.ipc")
        said = {"format": FORMAT, "version": str(VERSION), "head": json.dumps(head)}
        self._schema = _schema(width, columns).with_metadata(said)
        self._stream = _Summed(stream, "the dump")
        self._writer = ipc.new_stream(self._stream, self._schema)

    def put(self, kind: str, payload: bytes) -> None:
        """Write a part other than documents."""
        empty = self._arrow.RecordBatch.from_pylist([], self._schema)
        said = {"kind": kind, "payload": b64encode(payload)}
        self._writer.write_batch(empty, custom_metadata=said)

    def put_documents(self, documents: DumpedDocuments) -> None:
        """Write documents, in several batches if they are large."""
        batch = documents.batch
        # Vectors of documents without weights have no meaning; zeros make dumps reproducible.
        is_weighted = (batch.states == WEIGHTED)[:, None]
        packed: list[bytes | None] = [None] * len(batch)
        for at, each in documents.metadata:
            packed[at] = each
        columns = {
            "id": Ragged(batch.offsets, batch.content),
            "fingerprint": batch.fingerprints,
            "state": batch.states,
            "vector": np.where(is_weighted, batch.vectors, np.uint8(0)),
            "metadata": self._arrow.array(packed, self._arrow.large_binary()),
            "cluster": documents.clusters,
            "time": documents.times,
            **dict(zip(EXTRAS, batch.extras, strict=True)),
        }
        arrays = [self._array(columns[each.name], each.type) for each in self._schema]
        self._put(self._arrow.RecordBatch.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        """Write the end; the stream remains open."""
        self._writer.close()
        self._stream.write(self._stream.checksum)

    def _array(self, values: Any, kind: Any) -> Any:
        if not isinstance(values, Ragged):
            return array_of(self._arrow, values)
        if kind.num_fields:
            lists = self._arrow.LargeListArray
            return lists.from_arrays(values.offsets, values.values, type=kind)
        buffers = map(self._arrow.py_buffer, (values.offsets, np.ascontiguousarray(values.values)))
        return self._arrow.Array.from_buffers(kind, len(values), [None, *buffers])

    def _put(self, batch: Any) -> None:
        half = len(batch) // 2
        if half and batch.nbytes > BATCH_BYTES:
            self._put(batch.slice(0, half))
            self._put(batch.slice(half))
        else:
            self._writer.write_batch(batch)


def read_dump(stream: BinaryIO, name: str) -> Iterator[DumpPart]:
    """Yield the parts of a dump, the head first; `name` is the name of the stream in messages.

    Raises FormatError for another kind of stream, CorruptError for damage.  After an error, discard
    all parts that were yielded.
    """
    source = _Summed(stream, name)
    start = source.ahead = source.taken(len(OLD_MAGIC))
    if start == OLD_MAGIC:
        yield from _old_parts(source)
    elif start.startswith(CONTINUATION):
        yield from _parts(source)
    else:
        raise FormatError(f"{name} is not a dump of simdb: it starts with {start!r}")
    if source.read(1):
        raise CorruptError(f"{name} goes on after its end, at byte {source.at - 1}")


def _parts(source: "_Summed") -> Iterator[DumpPart]:
    name = source.name
    with _damage_named(source):
        reader = load_arrow("a dump", "pyarrow.ipc").open_stream(source)
        said = reader.schema.metadata or {}
    if said.get(b"format") != FORMAT:
        raise FormatError(f"{name} is not a dump of simdb, but another stream of Arrow")
    with expecting(f"the head of {name}"):
        _check_version(name, int(said[b"version"]), VERSION)
        yield DumpPart(HEAD, json.loads(said[b"head"]), f"the head of {name}")
        width, named = reader.schema.field("vector").type.byte_width, reader.schema.names
        if not reader.schema.equals(_schema(width, named)):
            raise CorruptError(f"{name} has other columns than a dump of version {VERSION}")
    for number in count():
        place = f"{name}, batch {number} at byte {source.at}"
        with _damage_named(source):
            try:
                batch, said = reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                break
            batch.validate(full=True)
        if len(batch):
            yield DumpPart(DOCUMENTS, _documents(batch, place), place)
            continue
        with expecting(place):
            payload = b64decode(said[b"payload"], validate=True)
            yield DumpPart(KINDS[said[b"kind"]], payload, place)
    checksum = source.checksum
    if source.read(len(checksum)) != checksum:
        raise CorruptError(f"{name} is damaged before byte {source.at}: its checksum differs")


def _schema(width: int, columns: Collection[str]) -> Any:
    """Return the columns of documents with vectors of `width` bytes.

    The id is in its stored form, and metadata are msgpack.
    """
    arrow = load_arrow("a dump")
    fields = {
        "id": arrow.large_binary(),
        "fingerprint": arrow.uint64(),
        "state": arrow.uint8(),
        "vector": arrow.binary(width),
        "cluster": arrow.uint32(),
        "time": arrow.uint32(),
        "passages": arrow.large_list(arrow.field("item", arrow.uint64(), nullable=False)),
        "features": arrow.large_binary(),
        "texts": arrow.large_binary(),
        "metadata": arrow.large_binary(),
    }
    every = [arrow.field(name, kind, name == "metadata") for name, kind in fields.items()]
    return arrow.schema(
        [each for each in every if each.name in columns or each.name not in OPTIONAL]
    )


def _documents(batch: Any, place: str) -> DumpedDocuments:
    """Return the documents of a batch with the right schema; raise CorruptError for damage."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    metadata = columns.pop("metadata").to_pylist()
    if any(column.null_count for column in columns.values()):
        raise CorruptError(f"{place} has nulls")
    found = {name: _values(column) for name, column in columns.items()}
    packed = [(at, each) for at, each in enumerate(metadata) if each is not None]
    return _checked({**dict.fromkeys(OPTIONAL), **found}, packed, place)


def _values(column: Any) -> Any:
    """Return a valid column without nulls: numbers, rows of bytes, or `Ragged`."""
    kind, (_, *buffers) = column.type, column.buffers()
    if str(kind).startswith("fixed"):
        rows = np.frombuffer(buffers[0] or b"", np.uint8)  # with Arrow's padding
        return rows[: len(column) * kind.byte_width].reshape(len(column), kind.byte_width)
    if str(kind).startswith("uint"):
        return column.to_numpy()
    offsets = np.frombuffer(buffers[0], np.int64, len(column) + 1)
    values = np.frombuffer(buffers[-1] or b"", np.uint64 if kind.num_fields else np.uint8)
    return Ragged(offsets - offsets[0], values[offsets[0] : offsets[-1]])


def _checked(
    found: dict[str, Any], metadata: list[tuple[int, bytes]], place: str
) -> DumpedDocuments:
    """Return the documents from columns by name; raise CorruptError for impossible values."""
    ids, states, grains = found["id"], found["state"], found["passages"]
    if (states > WEIGHTED).any():
        raise CorruptError(
            f"{place} has a document of state {states.max()}; the last state is {WEIGHTED}"
        )
    kernel.decode_ids(ids.offsets, ids.values)
    if grains is not None:
        is_first = flags_at(grains.offsets[:-1], len(grains.values) + 1)
        if (grains.values[1:] <= grains.values[:-1])[~is_first[1 : len(grains.values)]].any():
            raise CorruptError(f"{place} has passages of a document that do not ascend")
    batch = StoredBatch(
        found["fingerprint"], states, found["vector"], np.empty(0, np.uint64),
        ids.offsets, ids.values, Extras(*(found[name] for name in EXTRAS)),
    )  # fmt: skip
    return DumpedDocuments(batch, found["cluster"], found["time"], metadata)


def _check_version(name: str, version: int, newest: int) -> None:
    if not 0 < version <= newest:
        raise FormatError(
            f"{name} is a dump of version {version}; this simdb reads up to {newest}: use a newer"
            " simdb, or make the dump again"
        )


@contextmanager
def _damage_named(source: "_Summed") -> Iterator[None]:
    """Turn an error of Arrow into a CorruptError; errors of the system pass."""
    try:
        yield
    except (load_arrow("a dump").ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CorruptError(
            f"{source.name} is cut off or damaged before byte {source.at}: {error}"
        ) from error


class _Summed:
    """A stream that counts and sums its bytes, for Arrow to write and read."""

    closed = False

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self.name = stream, name
        self._sum = xxhash.xxh3_64()
        self.ahead = b""  # bytes read ahead, which the next `read` returns
        self.at = 0

    @property
    def checksum(self) -> bytes:
        """XXH3-64 of all bytes so far."""
        return self._sum.digest()

    def write(self, content: Any) -> None:
        """Write all of `content`, even if the stream takes it in parts."""
        self._sum.update(content)
        view = memoryview(content)
        while view:
            taken = self._stream.write(view)
            view = view[len(view) if taken is None else taken :]

    def read(self, count: int) -> bytes:
        """Read `count` bytes, or none at the end of the stream.

        Arrow reads 4 bytes where a stream may end.  Raises CorruptError for a partial read.
        """
        if count > MESSAGE_BYTES_MAX:
            raise CorruptError(
                f"{self.name} is cut off or damaged: no {count} bytes can follow byte {self.at}"
            )
        content, self.ahead = self.ahead[:count], self.ahead[count:]
        content += self.taken(count - len(content))
        self._sum.update(content)
        self.at += len(content)
        if len(content) < count and (content or count > 4):
            raise CorruptError(f"{self.name} is cut off or damaged: it ends at byte {self.at}")
        return content

    def taken(self, count: int) -> bytes:
        """Take `count` bytes from the stream, or all that are left.

        A forged length must not exhaust memory, so memory is taken only for bytes that have
        arrived.
        """
        parts = []
        while count > 0 and (part := self._stream.read(min(count, PART_BYTES))):
            parts.append(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def flush(self) -> None:
        """Do nothing: the caller flushes the stream."""

    def close(self) -> None:
        """Do nothing: the stream remains open."""


# Version 1: magic | version u32 | zero u32, then frames.
#
# A frame: kind (4 bytes) | number u32 | payload bytes u64 | XXH3-64 u64 of the payload | payload.
# The checksum is seeded by the XXH3-64 of the 16 bytes before it.
OLD_MAGIC = b"simdbdmp"
OLD_KINDS = {b"idft": IDF, b"cali": CALIBRATION, b"note": NOTE}
OLD_BESIDE = {b"clus": "cluster", b"time": "time", b"pass": "passages", b"feat": "features"}
_OLD_HEAD = struct.Struct("<8sII")
_OLD_FRAME = struct.Struct("<4sIQQ")


def _old_parts(source: _Summed) -> Iterator[DumpPart]:
    """Yield the parts of a dump of version 1."""
    _check_version(source.name, _OLD_HEAD.unpack(source.read(_OLD_HEAD.size))[1], 1)
    held: list[tuple[bytes, bytes]] = []
    number, first, kind, place = 0, 0, b"", ""
    while kind != b"end ":
        before, place = place, f"{source.name}, frame {number}"
        head = source.read(_OLD_FRAME.size)
        kind, found, size, checksum = _OLD_FRAME.unpack(head)
        payload = source.read(size)
        seed = xxhash.xxh3_64_intdigest(head[:-8])
        if found != number or checksum != xxhash.xxh3_64_intdigest(payload, seed):
            raise CorruptError(f"{place} is damaged before byte {source.at}")
        if held and (kind == b"meta" or kind in OLD_BESIDE):
            held.append((kind, payload))
        else:
            if held:
                documents = _old_documents(held, first, before)
                yield DumpPart(DOCUMENTS, documents, before)
                first, held = first + len(documents.batch), []
            if kind == b"docs":
                held = [(kind, payload)]
            elif kind == b"head":
                yield DumpPart(HEAD, codec.unpack(payload, place), place)
            elif kind != b"end ":
                yield DumpPart(OLD_KINDS.get(kind, repr(kind)), payload, place)
        number += 1


def _old_documents(frames: list[tuple[bytes, bytes]], first: int, place: str) -> DumpedDocuments:
    """Return the documents of frames, starting at ordinal `first`; frame 0 has the columns."""
    payload, at = frames[0][1], 8
    found: dict[str, Any] = dict.fromkeys(OPTIONAL)
    metadata: list[tuple[int, bytes]] = []
    with expecting(place):
        many, width = np.frombuffer(payload, "<u4", 2).tolist()
        for name, dtype, length in (
            ("fingerprint", "<u8", many), ("id", "<u4", many + 1), ("state", "u1", many),
            ("vector", "u1", many * width),
        ):  # fmt: skip
            found[name] = np.frombuffer(payload, dtype, length, at)
            at += found[name].nbytes
        found["vector"] = found["vector"].reshape(many, width)
        found["id"] = _old_ragged(found["id"][1:], np.frombuffer(payload, np.uint8, offset=at))
        for kind, beside in frames[1:]:
            content = np.frombuffer(beside, np.uint8)
            if kind == b"meta":
                metadata += [(at - first, each) for at, each in unpack_block(content, place)]
            elif kind == b"feat":
                found["features"] = unpack(content, place)
            elif kind == b"pass":
                sizes = np.frombuffer(beside, "<u4", many)
                grains = np.frombuffer(beside, "<u8", offset=4 * many)
                found["passages"] = _old_ragged(np.cumsum(sizes), grains)
            else:
                found[OLD_BESIDE[kind]] = np.frombuffer(beside, "<u4")
    return _checked(found, metadata, place)


def _old_ragged(stops: Any, values: Any) -> Ragged[Any]:
    offsets = np.append(0, stops).astype(np.int64)
    if offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
        raise ValueError("offsets do not fit their bytes")
    return Ragged(offsets, values)
