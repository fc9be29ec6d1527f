"""Tombstones: a bit for every deleted ordinal, stored in chunks of `CHUNK_ORDINALS`.

In memory they are one bitmap, with zeros as spare room for later ordinals, so that an insertion
does not change it.  A bitmap that others can see is never changed, so a deletion would have to copy
it, which takes long for many documents.  `Tombstones` avoids most copies.  A write transaction
changes a private bitmap in place.  It gets this bitmap from `Spare`, which keeps the bitmap before
the last deletion and knows which ordinals it lacks.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from simdb.core.arrays import sorted_unique
from simdb.core.bits import is_set
from simdb.core.dtypes import U8, U32, U64, Bools
from simdb.core.errors import CorruptError
from simdb.storage import codec, layout

CHUNK_BYTES = layout.CHUNK_ORDINALS // 8
SPARE_BYTES = 8 * CHUNK_BYTES

Bitmap = U8
# A bitmap of documents to omit.  Or a triple of a bitmap, codes of documents uint64[n, fields], and
# the wanted codes: then documents with other codes are omitted as well.
LeftOut = Bitmap | tuple[Bitmap | None, U64, U64] | None
# Stands for any code among the wanted codes.
ANY_CODE = 2**64 - 1


def _references_of_local() -> int:
    """Return the reference count of an object that only one local variable refers to."""
    bitmap = np.empty(0, np.uint8)
    return sys.getrefcount(bitmap)


# Some versions of Python also count the argument itself.
ONLY_LOCAL = _references_of_local()


class Spare:
    """A replaced bitmap, and the ordinals that only the newer bitmap has."""

    def __init__(self) -> None:
        """Start without a bitmap."""
        self._held: tuple[Bitmap, Bitmap, list[U32]] | None = None

    def keep(self, older: Bitmap | None, newer: Bitmap | None, missing: list[U32]) -> None:
        """Keep the bitmap `older`, which lacks the ordinals `missing` of `newer`."""
        if older is None or newer is None or older is newer:
            return
        if len(older) == len(newer):
            self._held = (older, newer, missing)

    def take(self, newer: Bitmap) -> Bitmap | None:
        """Return an equal bitmap that nobody else can see; None if there is none."""
        held, self._held = self._held, None
        if held is None or held[1] is not newer:
            return None
        older, _, missing = held
        del held
        if sys.getrefcount(older) > ONLY_LOCAL:
            return None
        for ordinals in missing:
            set_bits(older, ordinals)
        return older


class Tombstones:
    """The deletions of a write transaction on top of a committed bitmap."""

    def __init__(self, committed: Bitmap | None, spare: Spare) -> None:
        """Start without deletions; `spare` belongs to the database."""
        self.bitmap = committed
        self.deleted: list[U32] = []
        self._committed = committed
        self._spare = spare
        self._is_own = False

    def delete(self, ordinals: U32, ordinal_count: int) -> None:
        """Delete live documents; after an exception, `restore` undoes partial changes."""
        self._make_own(ordinal_count)
        assert self.bitmap is not None
        self.deleted.append(ordinals)
        set_bits(self.bitmap, ordinals)

    def make_room(self, ordinal_count: int) -> None:
        """Make the bitmap cover `ordinal_count` ordinals."""
        larger = with_room(self.bitmap, ordinal_count)
        if larger is not self.bitmap:
            self.bitmap, self._is_own = larger, True

    def revive(self, ordinals: U32) -> None:
        """Undo the deletion of documents that are all in `deleted`."""
        assert self.bitmap is not None
        self._make_own(8 * len(self.bitmap))
        clear_bits(self.bitmap, ordinals)
        left = (each[~np.isin(each, ordinals)] for each in self.deleted)
        self.deleted = [each for each in left if len(each)]

    def restore(self, deleted: list[U32], count: int) -> None:
        """Undo all changes since `deleted` was the list of deletions and had `count` items."""
        if (self.deleted is not deleted or len(deleted) > count) and self._is_own:
            # Other verbs may still read the present bitmap.
            assert self.bitmap is not None
            bitmap = self.bitmap.copy()
            for ordinals in self.deleted:
                clear_bits(bitmap, ordinals)
            for ordinals in deleted[:count]:
                set_bits(bitmap, ordinals)
            self.bitmap = bitmap
        self.deleted = deleted
        del self.deleted[count:]

    def rebase(self, committed: Bitmap | None) -> None:
        """Adopt a committed bitmap that was read again, with the same content."""
        self._committed = committed
        if not self._is_own:
            self.bitmap = committed

    def committed(self) -> None:
        """Keep the bitmap before the committed deletions as the spare one."""
        if self.deleted:
            self._spare.keep(self._committed, self.bitmap, self.deleted)

    def _make_own(self, ordinal_count: int) -> None:
        """Get a private bitmap with room for all ordinals."""
        if self._is_own:
            bitmap = self.bitmap
            # The attribute also refers to it.
            is_alone = sys.getrefcount(bitmap) <= ONLY_LOCAL + 1
            if is_alone and bitmap is not None and 8 * len(bitmap) >= ordinal_count:
                return
        elif self.bitmap is not None:
            spare = self._spare.take(self.bitmap)
            if spare is not None and 8 * len(spare) >= ordinal_count:
                self.bitmap, self._is_own = spare, True
                return
        self.bitmap = with_deleted(self.bitmap, np.empty(0, np.uint32), ordinal_count)
        self._is_own = True


def read_tombstones(chunks: Iterable[tuple[bytes, Any]], ordinal_count: int) -> Bitmap:
    """Return the bitmap of all ordinals below `ordinal_count`, with spare room, from chunks."""
    bitmap = np.zeros(_capacity(ordinal_count), np.uint8)
    for key, value in chunks:
        chunk = layout.key_number(key)
        bits = decode_chunk(key, value)
        start = chunk * CHUNK_BYTES
        if start + CHUNK_BYTES > len(bitmap):
            raise CorruptError(f"chunk {chunk} of the tombstones lies beyond the last ordinal")
        bitmap[start : start + CHUNK_BYTES] = bits
    return bitmap


def with_deleted(bitmap: Bitmap | None, ordinals: U32, ordinal_count: int) -> Bitmap:
    """Return a copy of the bitmap in which `ordinals` are also deleted."""
    copied = np.zeros(_capacity(ordinal_count), np.uint8)
    if bitmap is not None:
        copied[: len(bitmap)] = bitmap[: len(copied)]
    set_bits(copied, ordinals)
    return copied


def set_bits(bitmap: Bitmap, ordinals: U32) -> None:
    """Set the bits of `ordinals` in place."""
    np.bitwise_or.at(bitmap, ordinals >> 3, _bits_of(ordinals))


def clear_bits(bitmap: Bitmap, ordinals: U32) -> None:
    """Clear the bits of `ordinals` in place."""
    np.bitwise_and.at(bitmap, ordinals >> 3, ~_bits_of(ordinals))


def with_room(bitmap: Bitmap | None, ordinal_count: int) -> Bitmap | None:
    """Return the bitmap if it covers `ordinal_count` ordinals, otherwise a longer copy."""
    if bitmap is None or len(bitmap) * 8 >= ordinal_count:
        return bitmap
    return with_deleted(bitmap, np.empty(0, np.uint32), ordinal_count)


def encode_chunks(bitmap: Bitmap, ordinals: U32) -> Iterator[tuple[bytes, Any]]:
    """Yield keys and values of the chunks that contain `ordinals`."""
    for chunk in sorted_unique(ordinals // layout.CHUNK_ORDINALS):
        key = layout.number_key(int(chunk))
        start = int(chunk) * CHUNK_BYTES
        bits = bitmap[start : start + CHUNK_BYTES]
        yield key, codec.encode_array(layout.DELETED_KIND, key, bits)


def decode_chunk(key: bytes, value: Any) -> Bitmap:
    """Return the bits of a stored chunk; raise CorruptError for damage."""
    return codec.decode_numbers(layout.DELETED_KIND, key, value, np.uint8, CHUNK_BYTES)


def is_deleted(left_out: LeftOut, ordinals: U32) -> Bools:
    """Return whether each of `ordinals` is deleted or otherwise omitted: bool[n]."""
    if left_out is None:
        return np.zeros(len(ordinals), np.bool_)
    if not isinstance(left_out, tuple):
        return is_set(left_out, ordinals)
    bitmap, codes, wanted = left_out
    differs = (codes[ordinals] != wanted) & (wanted != ANY_CODE)
    return np.asarray(is_deleted(bitmap, ordinals) | differs.any(axis=1), np.bool_)


def live_ordinals(left_out: LeftOut, start: int, stop: int) -> U32:
    """Return the ordinals of start .. stop that are neither deleted nor omitted."""
    ordinals = np.arange(start, stop, dtype=np.uint32)
    return ordinals if left_out is None else ordinals[~is_deleted(left_out, ordinals)]


def live_count(bitmap: Bitmap | None, stop: int) -> int:
    """Return the number of ordinals below `stop` that are not deleted."""
    if bitmap is None:
        return stop
    step = layout.CHUNK_ORDINALS
    starts = range(0, stop, step)
    return sum(len(live_ordinals(bitmap, start, min(start + step, stop))) for start in starts)


def _capacity(ordinal_count: int) -> int:
    chunks = -(-ordinal_count // layout.CHUNK_ORDINALS)
    return chunks * CHUNK_BYTES + SPARE_BYTES


def _bits_of(ordinals: U32) -> U8:
    """Return the bit of each ordinal within its byte."""
    return (1 << (ordinals & 7)).astype(np.uint8)
