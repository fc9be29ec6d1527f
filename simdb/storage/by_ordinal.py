"""Columns by ordinal: packed features and texts, stored in blocks outside the runs.

A value of such a column has the bytes of consecutive documents of one commit, after the header:

    count u32 | bytes of each document u32[n] | bytes

Its key is the first ordinal.  In a column of texts, this payload is compressed with Zstandard or
zlib (`simdb/core/compression.py`) and stored after its size, u64.  A text is an "s" and its UTF-8;
a document that is not a text has no bytes.  `simdb/sketch/exact_similarity.py` has the layout of
packed features.

Every ordinal in use is in exactly one value, even after its document was deleted, so a lost value
is noticed.  Compaction drops the bytes of deleted documents.  The sub-database of a column exists
only if the options ask for it.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from simdb.core import arrays, kernel
from simdb.core.arrays import NO_BYTES, PackedBytes
from simdb.core.arrow import TextColumn
from simdb.core.compression import compressed, decompressed
from simdb.core.dtypes import U8, U32
from simdb.core.errors import CorruptError, FormatError
from simdb.core.options import Options
from simdb.core.reports import Finding
from simdb.core.threads import mapped
from simdb.core.values import dataclass
from simdb.storage import codec, layout
from simdb.storage.delta import stored_offsets
from simdb.storage.environment import Source

# # Limits of a block of features.  Reading one document reads its whole block.
FEATURE_DOCUMENTS = 128
FEATURE_BYTES = 1 << 15
# Limits of a block of texts.  Blocks of half this size compress 10 % worse and fill their pages
# less.
TEXT_DOCUMENTS = 1024
TEXT_BYTES = 1 << 16
# Blocks are packed again when convenient if their mean size is smaller by this factor.
SCATTERED = 8
# No compression makes a text smaller by more than this factor.
RATIO_MOST = 1 << 16
# Limits of a batch of documents that get new ordinals.
RENUMBERED_DOCUMENTS = 1 << 14
RENUMBERED_BYTES = 1 << 26

TEXT = b"s"  # before each text, as before an id that is a str
_COUNT = struct.Struct("<I")
_SIZE = struct.Struct("<Q")

LOST = (
    "restore the database from a copy or a dump, or drop what is lost:"
    " rebuild(drop_damaged=True), simdb rebuild --drop-damaged"
)

# Ascending ordinals, and the bytes of each document.
Numbered = tuple[U32, PackedBytes]


@dataclass(frozen=True, slots=True, eq=False)
class ByOrdinal:
    """A column by ordinal: its option, its sub-database, and the kind of its values."""

    what: str
    name: bytes
    kind: bytes
    is_compressed: bool = False

    def encode(
        self, first: int, column: PackedBytes, threads: int = 1
    ) -> Iterator[tuple[bytes, Any]]:
        """Yield keys and values for consecutive documents, the first with the ordinal `first`."""

        def stored(bounds: tuple[int, int]) -> tuple[bytes, Any]:
            key = layout.number_key(first + bounds[0])
            payload = pack(column.taken(slice(*bounds)), self.what)
            if self.is_compressed:
                payload = _SIZE.pack(len(payload)) + compressed(payload)
            return key, codec.encode_array(self.kind, key, np.frombuffer(payload, np.uint8))

        return mapped(stored, self._bounds(column), threads)

    def decode(self, key: bytes, value: Any) -> tuple[int, PackedBytes]:
        """Return the first ordinal and the documents' bytes of a value; verify the checksum."""
        payload = codec.decode_array(self.kind, key, value, np.uint8, verify=True)
        place = codec.name(self.kind, key)
        column = unpack(_decompressed(payload, place) if self.is_compressed else payload, place)
        if not len(column):
            raise CorruptError(f"{place} has no documents")
        return layout.key_number(key), column

    def read(self, source: Source, ordinals: U32) -> PackedBytes:
        """Return the bytes of documents with ascending ordinals.

        Raises CorruptError if some are lost.
        """
        at, parts = 0, [NO_BYTES]
        while at < len(ordinals):
            ordinal = int(ordinals[at])
            found = source.before(self.name, layout.number_key(ordinal))
            first, block = (ordinal, NO_BYTES) if found is None else self.decode(*found)
            stop = int(np.searchsorted(ordinals, first + len(block)))
            if stop <= at:
                raise CorruptError(f"the {self.what} of ordinal {ordinal} are missing; {LOST}")
            parts.append(block.taken(ordinals[at:stop].astype(np.int64) - first))
            at = stop
        return arrays.joined_ragged(parts) or NO_BYTES

    def blocks(self, source: Source, *, skips_damage: bool = False) -> Iterator[Numbered]:
        """Yield the bytes of all documents by ordinal; `skips_damage`: omit damaged values."""
        for key, value in source.every(self.name):
            try:
                first, block = self.decode(key, value)
            except (CorruptError, FormatError):
                if skips_damage:
                    continue
                raise
            yield np.arange(first, first + len(block), dtype=np.uint32), block

    def renumbered(
        self, blocks: Iterable[Numbered], kept: U32, threads: int = 1
    ) -> Iterator[tuple[bytes, Any]]:
        """Yield keys and values of the documents `kept` (ascending ordinals), renumbered from 0.

        A document in none of the blocks gets no bytes.
        """
        parts: list[PackedBytes] = []
        written = held = 0
        for ordinals, block in blocks:
            start, stop = np.searchsorted(kept, [ordinals[0], ordinals[-1] + 1]).tolist()
            start = max(start, written + held)  # damaged blocks can overlap
            taken = block.taken(kept[start:stop].astype(np.int64) - ordinals[0])
            parts += without(start - written - held), taken
            held = max(stop, start) - written
            size = sum(len(part.values) for part in parts)
            if held >= RENUMBERED_DOCUMENTS or size >= RENUMBERED_BYTES:
                yield from self.encode(written, arrays.joined_ragged(parts) or NO_BYTES, threads)
                parts, written, held = [], written + held, 0
        parts.append(without(len(kept) - written - held))
        yield from self.encode(written, arrays.joined_ragged(parts) or NO_BYTES, threads)

    def is_scattered(self, source: Source) -> bool:
        """Return whether small commits left small blocks of texts, to be packed together."""
        sizes = [len(value) for _, value in source.every(self.name)] if self.is_compressed else []
        return len(sizes) > 1 and sum(sizes) / len(sizes) < TEXT_BYTES / SCATTERED

    def damage(self, source: Source, count: int) -> Iterator[tuple[str, int, int]]:
        """Yield problems in a column of `count` ordinals: a message and the range start .. stop."""
        blocks: list[tuple[int, int]] = []
        problems: dict[int, str] = {}
        for key, value in source.every(self.name):
            try:
                first, block = self.decode(key, value)
                blocks.append((first, first + len(block)))
            except (CorruptError, FormatError) as error:
                problems[layout.key_number(key)] = str(error)
        for start, stop in gaps(blocks, count):
            why = f"the {self.what} of the ordinals {start} .. {stop} are missing"
            yield problems.pop(start, why), start, stop
        yield from ((why, first, first) for first, why in problems.items())

    def _bounds(self, column: PackedBytes) -> Iterator[tuple[int, int]]:
        """Yield the start and stop of the documents of each block."""
        documents, size = FEATURE_DOCUMENTS, FEATURE_BYTES
        if self.is_compressed:
            documents, size = TEXT_DOCUMENTS, TEXT_BYTES
        start, offsets = 0, column.offsets
        while start < len(column):
            stop = int(np.searchsorted(offsets, offsets[start] + size, side="right")) - 1
            stop = min(max(stop, start + 1), start + documents, len(column))
            yield start, stop
            start = stop


FEATURES = ByOrdinal("features", layout.FEATURES, layout.FEATURES_KIND)
TEXTS = ByOrdinal("texts", layout.TEXTS, layout.TEXTS_KIND, is_compressed=True)
COLUMNS = (FEATURES, TEXTS)


def columns_of(options: Options) -> list[ByOrdinal]:
    """Return the columns that a database with these options has."""
    return [column for column in COLUMNS if getattr(options, column.what)]


def pack(column: PackedBytes, what: str) -> bytes:
    """Return the payload of a value, without header; raise FullError if it is too long."""
    sizes = np.diff(stored_offsets(column.offsets, f"the {what} of {len(column)} documents"))
    return _COUNT.pack(len(column)) + sizes.astype("<u4").tobytes() + column.values.tobytes()


def unpack(payload: U8, place: str) -> PackedBytes:
    """Return the documents' bytes of a payload; raise CorruptError, which names `place`."""
    if len(payload) < _COUNT.size:
        raise CorruptError(f"{place} has no count")
    (count,) = _COUNT.unpack_from(payload.data)
    start = _COUNT.size + 4 * count
    if start > len(payload):
        raise CorruptError(f"{place} is too short for {count} documents")
    offsets = arrays.offsets_of(np.frombuffer(payload[_COUNT.size : start].tobytes(), "<u4"))
    if offsets[-1] != len(payload) - start:
        raise CorruptError(f"{place} has sizes of documents that do not fit its bytes")
    return arrays.Ragged(offsets, payload[start:])


def pack_texts(documents: Any, count: int, errors: str) -> PackedBytes:
    """Return the stored bytes of `count` documents; a document that is not a text has no bytes."""
    sizes, known = np.zeros(count, np.int64), []
    if isinstance(documents, TextColumn):
        is_text = documents.lengths >= 0
        known = list(documents.chosen(np.flatnonzero(is_text)).contents())
        sizes[is_text] = documents.lengths[is_text] + 1
    elif isinstance(documents, list | tuple | np.ndarray):
        at = [place for place, each in enumerate(documents) if isinstance(each, str)]
        known = [documents[place].encode("utf-8", errors) for place in at]
        sizes[at] = [len(each) + 1 for each in known]
    # Put the prefix before each text.
    content = TEXT.join([b"", *known])
    return arrays.Ragged(arrays.offsets_of(sizes), np.frombuffer(content, np.uint8))


def text_column(column: PackedBytes, place: str) -> TextColumn:
    """Return texts, None for a document that is not a text.

    Raises CorruptError for invalid bytes.
    """
    values = np.ascontiguousarray(column.values)
    lengths = np.diff(column.offsets) - 1
    is_text = lengths >= 0
    starts = column.offsets[:-1]
    addresses = (values.ctypes.data + 1 + starts).astype(np.uint64)
    is_right = kernel.are_utf8(addresses, lengths)
    is_right[is_text] &= values[starts[is_text]] == ord(TEXT)
    if not is_right.all():
        raise CorruptError(f"{place} has no text of document {int(np.argmin(is_right))}")
    return TextColumn(addresses, lengths, (values,))


def gaps(blocks: Iterable[tuple[int, int]], count: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges below `count` that `blocks` (sorted by start) do not cover exactly once."""
    at = 0
    for start, stop in blocks:
        if start != at:
            yield min(at, start), max(at, start)
        at = stop
    if at != count:
        yield min(at, count), max(at, count)


def check_columns(
    source: Source, options: Options, count: int, packed_bytes: int, *, deep: bool
) -> Iterator[Finding]:
    """Yield findings about missing or damaged features or texts; `deep`: also check their content.

    They are not compared with each other: features follow from texts, but a database need not have
    texts.
    """
    for column in columns_of(options):
        for why, _, _ in column.damage(source, count):
            yield Finding(column.what, why, LOST)
        for ordinals, block in column.blocks(source, skips_damage=True) if deep else ():
            place = f"the block of {column.what} at ordinal {ordinals[0]}"
            if column is FEATURES and (np.diff(block.offsets) % packed_bytes).any():
                why = f"{place} does not hold a whole number of entries"
                yield Finding(column.what, why, LOST)
            if column is TEXTS:
                try:
                    text_column(block, place)
                except CorruptError as error:
                    yield Finding(column.what, str(error), LOST)


def without(count: int) -> PackedBytes:
    """Return `count` documents without bytes."""
    return arrays.Ragged(np.zeros(count + 1, np.int64), np.empty(0, np.uint8))


def _decompressed(payload: U8, place: str) -> U8:
    """Return the decompressed payload; raise CorruptError for damage."""
    size = _SIZE.unpack_from(payload.data)[0] if len(payload) >= _SIZE.size else 0
    if not 0 < size <= min(RATIO_MOST * len(payload), layout.VALUE_BYTES_MAX):
        raise CorruptError(f"{place} says that {size} bytes became {len(payload)}")
    try:
        content = decompressed(payload[_SIZE.size :].tobytes(), size)
    except ValueError as error:
        raise CorruptError(f"{place} cannot be decompressed: {error}") from error
    return np.frombuffer(content, np.uint8)
