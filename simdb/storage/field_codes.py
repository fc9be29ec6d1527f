"""Field codes: the values of documents in the metadata fields that `Options.fields` names.

A code is a 64-bit hash of a value packed as msgpack, keyed by `Manifest.id_key` so that nobody can
construct values with equal codes.  A document without the field, or with None in it, has code 0.  A
search compares a few numbers to decide whether a document qualifies, without reading its metadata.
Codes can be made again from the metadata.

A stored value has the codes of `FIELD_ORDINALS` ordinals, after the header: u64[FIELD_ORDINALS,
fields], 0 for ordinals that are not in use.  Its key is the number of the chunk.
`Manifest.fields_version` changes whenever codes of stored documents are replaced.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from hashlib import blake2b
from threading import Lock
from typing import Any

import numpy as np

from simdb.core.arrays import sorted_unique
from simdb.core.checks import shown
from simdb.core.dtypes import U64
from simdb.core.errors import CorruptError, InputError
from simdb.core.reports import Finding
from simdb.storage import codec, layout
from simdb.storage.environment import Source
from simdb.storage.layout import FIELD_ORDINALS
from simdb.storage.manifest import Manifest
from simdb.storage.tombstones import ANY_CODE

# The types of values; a value of another type is probably a mistake, even if it compares equal.
PLAIN = (str, int, bool, bytes)
# The reason why msgpack refuses a value of these types.
FAULTS = {str: ", which is not valid Unicode", int: ", which has more than 64 bits"}
CODE_BYTES = 8
REMEDY = "make them again from the metadata: rebuild(), simdb rebuild"

CODES_KEPT = 1 << 16

# An ASCII text, any other value packed by msgpack, or None.
Coded = str | bytes | None
# Pairs of a field number and the value required in it.
FieldValues = tuple[tuple[int, Coded], ...]
Metadata = Iterable[tuple[int, bytes]]
Entries = Iterator[tuple[bytes, Any]]


def coded_value(field: str, value: Any, named: Callable[[], str]) -> Coded:
    """Return the value of a field in the form that `code_of` takes.

    Raises InputError for a value that has no code; `named()` names its document.
    """
    if value is None or (type(value) is str and value.isascii()):
        return value
    if type(value) in PLAIN:
        with suppress(ValueError, OverflowError):
            return codec.pack(value)
    raise InputError(
        f"the field {field!r} of {named()} is {shown(value)}{FAULTS.get(type(value), '')}; a field"
        " in Options(fields=...) must be a str, int (of 64 bits), bool or bytes, or None"
    )


@lru_cache(maxsize=CODES_KEPT)
def code_of(value: Coded, key: bytes) -> int:
    """Return the code of a value."""
    if value is None:
        return 0
    packed = codec.pack(value) if isinstance(value, str) else value
    code = int.from_bytes(blake2b(packed, digest_size=CODE_BYTES, key=key).digest(), "little")
    return min(max(code, 1), ANY_CODE - 1)


@lru_cache(maxsize=CODES_KEPT)
def wanted_codes(values: FieldValues, width: int, key: bytes) -> U64:
    """Return the code that a document must have in each field: uint64[width]."""
    codes = [ANY_CODE] * width
    for number, value in values:
        codes[number] = code_of(value, key)
    return np.array(codes, np.uint64)


def codes_of(
    metadata: Metadata, fields: Sequence[str], count: int, key: bytes, named: Callable[[int], str]
) -> U64:
    """Return the codes of `count` documents: uint64[count, fields].

    `metadata`: position and stored form for each document with metadata.  `named(position)` names a
    document in the InputError for a value that has no code.
    """
    places, found = [], []
    numbered = list(enumerate(fields))
    for at, packed in metadata:
        content = codec.unpack(packed, "metadata")
        for number, field in numbered if isinstance(content, dict) else ():
            value = content.get(field)
            if value is not None:
                places.append(at * len(numbered) + number)
                found.append(code_of(coded_value(field, value, partial(named, at)), key))
    codes = np.zeros(count * len(numbered), np.uint64)
    codes[places] = found
    return codes.reshape(count, len(numbered))


class FieldCodes:
    """The codes of all documents in memory, which grow with every commit of one version.

    All states of the version share them; an older state ignores later documents.
    """

    def __init__(self, width: int) -> None:
        """Start without documents; each will have `width` codes."""
        self.codes = np.zeros((0, width), np.uint64)
        self._count = 0
        self._lock = Lock()

    def read(self, source: Source, count: int, room: int = 0) -> U64:
        """Return the codes of documents below `count`; the array has room for `room` documents."""
        with self._lock:
            if len(self.codes) < max(count, room):
                codes = np.zeros((max(count, room) * 5 // 4, self.codes.shape[1]), np.uint64)
                codes[: self._count] = self.codes[: self._count]
                self.codes = codes
            chunk = self._count // FIELD_ORDINALS
            every = source.every(layout.FIELDS, layout.number_key(chunk))
            while self._count < count:
                key, value = next(every, (b"", None))
                if key != layout.number_key(chunk):
                    raise CorruptError(f"chunk {chunk} of the codes of fields is missing; {REMEDY}")
                first, stop = chunk * FIELD_ORDINALS, min((chunk + 1) * FIELD_ORDINALS, count)
                found = _decoded(key, value, self.codes.shape[1])
                self.codes[self._count : stop] = found[self._count - first : stop - first]
                self._count, chunk = stop, chunk + 1
            return self.codes


class StagedCodes:
    """The changes of codes in a transaction, in order; `restore` undoes the last ones."""

    def __init__(self, known: FieldCodes, first: int) -> None:
        """Start without changes; `first`: the ordinal of the first new document."""
        self._known = known
        self._first = first
        # For each change, its first ordinal and the codes starting there.
        self._changes: list[tuple[int, U64]] = []
        self._replacing: int | None = None  # position of the first change to a stored document
        # The array with all codes, and the number of changes applied to it.
        self._applied: tuple[U64, int] = (known.codes, 0)
        self._own: U64 | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of changes, for `restore`."""
        return len(self._changes)

    def restore(self, count: int) -> None:
        """Undo all changes after the first `count`."""
        if len(self._changes) > count:
            del self._changes[count:]
            self._applied, self._own = (self._known.codes, 0), None
            if self._replacing is not None and self._replacing >= count:
                self._replacing = None

    def change(self, start: int, codes: U64) -> None:
        """Set the codes of consecutive documents, the first with the ordinal `start`."""
        if start < self._first and self._replacing is None:
            self._replacing = len(self._changes)
        self._changes.append((start, codes))

    def over(self, source: Source, count: int) -> U64:
        """Return the codes of all documents below `count`; later changes modify the array.

        The codes of new documents are at the end of the array that all states share; only the
        single write transaction writes there.
        """
        with self._lock:
            target = self._known.read(source, self._first, count)
            if self._replacing is not None:
                if self._own is None or len(self._own) < count:
                    self._own = target.copy()
                target = self._own
            done = self._applied[1] if self._applied[0] is target else 0
            for start, codes in self._changes[done:]:
                target[start : start + len(codes)] = codes
            self._applied = target, len(self._changes)
            return target

    def encoded(self, source: Source) -> tuple[list[tuple[bytes, Any]], bool]:
        """Return keys and values to store, and whether they replace codes of stored documents."""
        if not self._changes:
            return [], False
        parts = [np.arange(start, start + len(codes)) for start, codes in self._changes]
        ordinals = np.concatenate(parts)
        numbers = sorted_unique(ordinals // FIELD_ORDINALS)
        width = self._known.codes.shape[1]
        chunks = np.zeros((len(numbers), FIELD_ORDINALS, width), np.uint64)
        for chunk, key in zip(chunks, map(layout.number_key, numbers.tolist()), strict=True):
            value = source.find(layout.FIELDS, key)
            if value is not None:
                chunk[:] = _decoded(key, value, width)
        places = np.searchsorted(numbers, ordinals // FIELD_ORDINALS), ordinals % FIELD_ORDINALS
        stored = tuple(each[ordinals < self._first] for each in places)
        before = chunks[stored]
        chunks[places] = np.concatenate([codes for _, codes in self._changes])
        return list(_encoded(numbers.tolist(), chunks)), bool((chunks[stored] != before).any())


def whole_codes(codes: U64) -> Entries:
    """Yield the keys and values of all chunks from the codes of every ordinal."""
    chunks = np.zeros((-(-len(codes) // FIELD_ORDINALS), FIELD_ORDINALS, codes.shape[1]), np.uint64)
    chunks.reshape(-1, codes.shape[1])[: len(codes)] = codes
    return _encoded(range(len(chunks)), chunks)


def check_codes(
    source: Source, manifest: Manifest, fields: Sequence[str], metadata: Metadata
) -> Iterator[Finding]:
    """Yield a finding if the stored codes differ from the codes of the `metadata`."""
    count = manifest.next_ordinal
    try:
        stored = FieldCodes(len(fields)).read(source, count)[:count]
        expected = codes_of(metadata, fields, count, manifest.id_key, "ordinal {}".format)
    except (CorruptError, InputError) as error:
        yield Finding(layout.FIELDS.decode(), str(error), REMEDY)
        return
    for ordinal in np.flatnonzero((stored != expected).any(axis=1))[:1].tolist():
        why = f"the codes of ordinal {ordinal} do not fit its metadata"
        yield Finding(layout.FIELDS.decode(), why, REMEDY)


def _encoded(numbers: Iterable[int], chunks: U64) -> Entries:
    for number, chunk in zip(numbers, chunks, strict=True):
        key = layout.number_key(number)
        yield key, codec.encode_array(layout.FIELDS_KIND, key, chunk.reshape(-1))


def _decoded(key: bytes, value: Any, width: int) -> U64:
    """Return the codes in a chunk, uint64[FIELD_ORDINALS, width]; raise CorruptError for damage."""
    count = FIELD_ORDINALS * width
    found = codec.decode_numbers(layout.FIELDS_KIND, key, value, np.uint64, count)
    return found.reshape(FIELD_ORDINALS, width)
