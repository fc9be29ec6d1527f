"""Membership: the cluster number and the next cluster member of every document.

The members of a cluster form a ring: each names the next member, and the last one names the first.
So all members can be found from any of them.  Two clusters are united by exchanging the next
members of one document of each.  Numbers start at 1; a document in no cluster of at least two
members has 0 and 0.

A value covers MEMBER_ORDINALS ordinals, after the header: numbers u32[k] | following u32[k].  A
chunk without members has no value.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from simdb.core.arrays import is_first, sorted_unique
from simdb.core.dtypes import I64, U32, Array
from simdb.core.errors import CorruptError
from simdb.storage import codec, layout
from simdb.storage.environment import Source

WALKED_MAX = 1 << 13
SIZE = layout.MEMBER_ORDINALS
NUMBERS, FOLLOWING = 0, 1
# Spare room for later ordinals; memory that is never written takes no space.
SPARE_CHUNKS = 1 << 10

NOBODY = np.zeros((2, SIZE), np.uint32)


class Membership:
    """The stored clusters that `source` sees, and changes that are not written yet.

    Chunks are read on first use.  Methods on arrays of ordinals read them into one array with a
    place for every chunk, and only this array is changed.  Walks along a ring read them into a
    dict.
    """

    def __init__(self, source: Source) -> None:
        """Start without changes."""
        self._source = source
        self._values: U32 = np.zeros(0, np.uint32)  # [chunk, 2, SIZE]
        self._is_read = np.zeros(0, np.bool_)
        self._is_changed = np.zeros(0, np.bool_)
        self._walked: dict[int, U32] = {}

    def rebase(self, source: Source) -> None:
        """Read the same state through another source."""
        self._source = source

    def written(self) -> None:
        """Mark all changes as stored."""
        self._is_changed[:] = False

    def numbers(self, ordinals: U32) -> U32:
        """Return the cluster number of each document; 0 if it is in no cluster."""
        places = self._places(ordinals)
        return self._values[places + NUMBERS * SIZE]

    def following(self, ordinals: U32) -> U32:
        """Return the next cluster member of each document; 0 if it is in no cluster."""
        places = self._places(ordinals)
        return self._values[places + FOLLOWING * SIZE]

    def write(
        self, ordinals: U32, *, numbers: U32 | None = None, following: U32 | None = None
    ) -> None:
        """Change the number or the next member or both of distinct documents; None: no change."""
        places = self._places(ordinals)
        for row, values in ((NUMBERS, numbers), (FOLLOWING, following)):
            if values is not None:
                changed = self._values[places + row * SIZE] != values
                self._values[places[changed] + row * SIZE] = values[changed]
                self._is_changed[ordinals[changed] // np.uint32(SIZE)] = True

    def replace(self, numbers: U32, following: U32) -> None:
        """Replace all clusters; `numbers` and `following` have an entry for every ordinal."""
        self._make_room(-(-len(numbers) // SIZE))
        for number, _ in self._stored():
            self._is_changed[number] = True
        self._is_read[:] = True
        self._values[:] = 0
        members = np.flatnonzero(numbers).astype(np.uint32)
        self.write(members, numbers=numbers[members], following=following[members])

    def follower(self, ordinal: int) -> int:
        """Return the next member after a document."""
        return self._one(FOLLOWING, ordinal)

    def ring(self, ordinal: int, *, most: int) -> list[int] | None:
        """Return the members of a document's cluster, itself first; None if more than `most`.

        Raises CorruptError if they do not form a ring.
        """
        number = self._one(NUMBERS, ordinal)
        members = [ordinal]
        if not number:
            return members
        following = self.follower(ordinal)
        while following != ordinal:
            if len(members) == most:
                return None
            if self._one(NUMBERS, following) != number:
                raise CorruptError(f"cluster {number} is not a ring: it breaks off at {following}")
            members.append(following)
            following = self.follower(following)
        return members

    def members(self, ordinal: int, count: int) -> U32:
        """Return all members of a document's cluster, ascending; `count`: number of ordinals.

        In a large cluster, it eventually scans all documents, which is faster than the walk.
        """
        number = self._one(NUMBERS, ordinal)
        members, following = [ordinal], self.follower(ordinal)
        while number and following != ordinal:
            if len(members) == WALKED_MAX or self._one(NUMBERS, following) != number:
                numbers, _ = self.whole(count)
                return np.flatnonzero(numbers == number).astype(np.uint32)
            members.append(following)
            following = self.follower(following)
        return np.array(sorted(members), np.uint32)

    def whole(self, count: int) -> tuple[U32, U32]:
        """Return number and next member of every ordinal below `count`: both uint32[count]."""
        room = -(-count // SIZE)
        self._make_room(room)
        if not self._is_read[:room].all():
            self._read_all(room)
        both = self._chunks[:room]
        return both[:, NUMBERS].reshape(-1)[:count], both[:, FOLLOWING].reshape(-1)[:count]

    def changes(self) -> Iterator[tuple[bytes, Any]]:
        """Yield keys and values to store; the value None removes the key."""
        changed = np.flatnonzero(self._is_changed)
        chunks = self._chunks[changed]
        has_members = np.asarray(chunks[:, NUMBERS].any(axis=1)).tolist()
        kind = layout.CLUSTERS_KIND
        for number, chunk, is_needed in zip(changed.tolist(), chunks, has_members, strict=True):
            key = layout.number_key(number)
            yield key, codec.encode_bytes(kind, key, 2, chunk.tobytes()) if is_needed else None

    @property
    def _chunks(self) -> U32:
        return self._values.reshape(-1, 2, SIZE)

    def _places(self, ordinals: U32) -> I64:
        """Read the chunks of documents; return the positions of their numbers in `_values`."""
        which = (ordinals // np.uint32(SIZE)).astype(np.int64)
        if len(which):
            self._make_room(int(which.max()) + 1)
            for number in sorted_unique(which[~self._is_read[which]]).tolist():
                self._chunks[number] = self._find(number)
                self._is_read[number] = True
        return ordinals + which * SIZE

    def _one(self, row: int, ordinal: int) -> int:
        number, at = divmod(ordinal, SIZE)
        if number < len(self._is_read) and self._is_read[number]:
            return int(self._values[ordinal + (number + row) * SIZE])
        chunk = self._walked.get(number)
        if chunk is None:
            chunk = self._walked[number] = self._find(number)
        return int(chunk[row, at])

    def _make_room(self, chunks: int) -> None:
        have = len(self._is_read)
        if chunks > have:
            room = max(chunks + SPARE_CHUNKS, 2 * have)
            values = np.zeros(room * 2 * SIZE, np.uint32)
            values[: len(self._values)] = self._values
            self._values = values
            self._is_read = np.concatenate([self._is_read, np.zeros(room - have, np.bool_)])
            self._is_changed = np.concatenate([self._is_changed, np.zeros(room - have, np.bool_)])

    def _find(self, number: int) -> U32:
        value = self._source.find(layout.CLUSTERS, layout.number_key(number))
        return NOBODY if value is None else _decode_chunk(number, value)

    def _read_all(self, room: int) -> None:
        for number, chunk in self._stored():
            if number >= room:
                raise CorruptError(f"chunk {number} of the clusters lies beyond the last ordinal")
            if not self._is_read[number]:
                self._chunks[number] = chunk
        self._is_read[:] = True

    def _stored(self) -> Iterator[tuple[int, U32]]:
        for key, value in self._source.every(layout.CLUSTERS):
            number = layout.key_number(key)
            self._make_room(number + 1)
            yield number, _decode_chunk(number, value)


def rings(members: U32, offsets: I64) -> U32:
    """Return the next member of each of `members` when each group between `offsets` is a ring."""
    following = np.roll(members, -1)
    following[offsets[1:] - 1] = members[offsets[:-1]]
    return following


def groups_of(labels: Array) -> tuple[I64, I64]:
    """Group equal labels; return positions sorted by label and group offsets.

    The positions are int64[n], the offsets int64[c + 1].
    """
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    return order, np.append(np.flatnonzero(is_first(ordered)), len(labels))


def _decode_chunk(number: int, value: Any) -> U32:
    key = layout.number_key(number)
    flat = codec.decode_numbers(layout.CLUSTERS_KIND, key, value, np.uint32, 2 * SIZE)
    return flat.reshape(2, SIZE)
