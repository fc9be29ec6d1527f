"""Kept clusters: for every document the number of its cluster and the member that follows it.

The members of a cluster form a ring, in which each names the next and the last one the first.  So
two clusters become one by exchanging what follows one member of each, and all members are found
from any.  Numbers start at 1; a document that is in no cluster of two and more has 0 and 0.

A value holds MEMBER_ORDINALS ordinals, after the header: numbers u32[k] | following u32[k].  Where
none of them is in a cluster there is no value.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.errors import CorruptError
from simdb.storage import codec, layout
from simdb.storage.run import Source

WALKED_MAX = 1 << 13
SIZE = layout.MEMBER_ORDINALS
NUMBERS, FOLLOWING = 0, 1

U32 = npt.NDArray[np.uint32]


class Membership:
    """The stored clusters that `source` sees, and changes to them that are not written yet."""

    def __init__(self, source: Source) -> None:
        """No changes yet."""
        self._source = source
        self._chunks: dict[int, U32] = {}  # [2, SIZE] each
        self._changed: set[int] = set()

    def rebase(self, source: Source) -> None:
        """Read the same state through another source."""
        self._source = source

    def numbers(self, ordinals: U32) -> U32:
        """The number of each document's cluster, 0 where it is in none."""
        return self._gathered(NUMBERS, ordinals)

    def following(self, ordinals: U32) -> U32:
        """The next member of each document's cluster; 0 where it is in none."""
        return self._gathered(FOLLOWING, ordinals)

    def write(
        self, ordinals: U32, *, numbers: U32 | None = None, following: U32 | None = None
    ) -> None:
        """Change what is kept of some documents, no two the same; None stays."""
        for row, values in ((NUMBERS, numbers), (FOLLOWING, following)):
            if values is None:
                continue
            for number, inside, places in _by_chunk(ordinals):
                chunk = self._chunk(number)
                if (chunk[row, places] != values[inside]).any():
                    chunk[row, places] = values[inside]
                    self._changed.add(number)

    def replace(self, numbers: U32, following: U32) -> None:
        """Forget all clusters for new ones: both of all ordinals."""
        for key, _ in self._stored():
            self._chunks[key] = np.zeros((2, SIZE), np.uint32)
        self._changed.update(self._chunks)
        for number in self._chunks:
            self._chunks[number][:] = 0
        clustered = np.flatnonzero(numbers).astype(np.uint32)
        self.write(clustered, numbers=numbers[clustered], following=following[clustered])

    def follower(self, ordinal: int) -> int:
        """The next member after one."""
        return int(self._chunk(ordinal // SIZE)[FOLLOWING, ordinal % SIZE])

    def ring(self, ordinal: int, *, most: int) -> list[int]:
        """The members of a document's cluster from itself on, if they are not more than `most`.

        CorruptError when they are no ring.
        """
        number = self._number(ordinal)
        members = [ordinal]
        if not number:
            return members
        following = self.follower(ordinal)
        while following != ordinal:
            if len(members) == most or self._number(following) != number:
                raise CorruptError(f"cluster {number} is no ring: it breaks off at {following}")
            members.append(following)
            following = self.follower(following)
        return members

    def members(self, ordinal: int, count: int) -> U32:
        """All members of a document's cluster, ascending; `count`: number of ordinals.

        Far along the ring of a large cluster it is faster to look at all documents.
        """
        number = self._number(ordinal)
        members, following = [ordinal], self.follower(ordinal)
        while number and following != ordinal:
            if len(members) == WALKED_MAX or self._number(following) != number:
                numbers, _ = self.whole(count)
                return np.flatnonzero(numbers == number).astype(np.uint32)
            members.append(following)
            following = self.follower(following)
        return np.array(sorted(members), np.uint32)

    def whole(self, count: int) -> tuple[U32, U32]:
        """The number and the follower of every ordinal below `count`: uint32[count] both."""
        room = -(-count // SIZE)
        both = np.zeros((2, room, SIZE), np.uint32)
        for number, chunk in self._stored():
            if number not in self._chunks:
                _check_place(number, room)
                both[:, number] = chunk
        for number, chunk in self._chunks.items():
            if number < room:
                both[:, number] = chunk
        flat = both.reshape(2, -1)[:, :count]
        return flat[NUMBERS], flat[FOLLOWING]

    def changes(self) -> Iterator[tuple[bytes, Any]]:
        """Keys and values to store; None for one to remove."""
        for number in sorted(self._changed):
            key = layout.number_key(number)
            yield key, encode_chunk(key, self._chunks[number])

    def _gathered(self, row: int, ordinals: U32) -> U32:
        values = np.empty(len(ordinals), np.uint32)
        for number, inside, places in _by_chunk(ordinals):
            values[inside] = self._chunk(number)[row, places]
        return values

    def _number(self, ordinal: int) -> int:
        return int(self._chunk(ordinal // SIZE)[NUMBERS, ordinal % SIZE])

    def _chunk(self, number: int) -> U32:
        chunk = self._chunks.get(number)
        if chunk is None:
            value = self._source.find(layout.CLUSTERS, layout.number_key(number))
            stored = None if value is None else _decode_chunk(number, value)
            chunk = np.zeros((2, SIZE), np.uint32) if stored is None else stored.copy()
            self._chunks[number] = chunk
        return chunk

    def _stored(self) -> Iterator[tuple[int, U32]]:
        for key, value in self._source.every(layout.CLUSTERS):
            number = layout.key_number(key)
            yield number, _decode_chunk(number, value)


def encode_chunk(key: bytes, chunk: U32) -> Any:
    """The value of a chunk, uint32[2, SIZE]; None where nobody is in a cluster."""
    return codec.encode_array(layout.CLUSTERS_KIND, key, chunk) if chunk[NUMBERS].any() else None


def rings(members: U32, offsets: npt.NDArray[np.int64]) -> U32:
    """What follows each of `members`, when every group of them becomes a ring."""
    following = np.roll(members, -1)
    following[offsets[1:] - 1] = members[offsets[:-1]]
    return following


def groups_of(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Positions in order of their labels, and offsets of the groups: int64[n], int64[c + 1]."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    is_first = np.ones(len(labels), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return order, np.append(np.flatnonzero(is_first), len(labels))


def _by_chunk(ordinals: U32) -> Iterator[tuple[int, npt.NDArray[np.int64], U32]]:
    """For each chunk concerned: its number, which of `ordinals` are there, and where."""
    which = ordinals // np.uint32(SIZE)
    order, offsets = groups_of(which)
    for start, stop in pairwise(offsets.tolist()):
        inside = order[start:stop]
        number = int(which[inside[0]])
        yield number, inside, ordinals[inside] - np.uint32(number * SIZE)


def _decode_chunk(number: int, value: Any) -> U32:
    key = layout.number_key(number)
    flat = codec.decode_array(layout.CLUSTERS_KIND, key, value, np.uint32, verify=True)
    if len(flat) != 2 * SIZE:
        raise CorruptError(f"chunk {number} of the clusters has {len(flat)} numbers")
    return flat.reshape(2, SIZE)


def _check_place(number: int, room: int) -> None:
    if number >= room:
        raise CorruptError(f"chunk {number} of the clusters is not where ordinals are")
