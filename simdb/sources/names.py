"""Names: the ids of the documents of a run, each given to one document.

A document whose id an earlier one has gets an id that contains the name of its source.  The ids
wait in a temporary file; in memory there are some numbers of each.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from mmap import ACCESS_READ, mmap

import numpy as np
import numpy.typing as npt

from simdb.outputs.spool import Temporary
from simdb.running import kernel
from simdb.sources.batch import Batch
from simdb.sources.records import ID_BYTES_MAX, InputId, place
from simdb.values.arrays import offsets_of

REPORTED_NAMES = 10
# Ids are written to the system so many bytes at a time.
WRITTEN_BYTES = 1 << 20

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]


class Names(Temporary):
    """The ids of documents, by their positions in the input; `with` removes the file."""

    def __init__(self) -> None:
        """Begin without documents."""
        # __exit__ closes the file.
        self._file = tempfile.TemporaryFile("w+b", WRITTEN_BYTES)  # noqa: SIM115
        self._sizes: list[I64] = []  # of stored ids, in bytes
        self._starts: I64 | None = None  # in the file
        self._hashes: list[U64] = []
        self._positions: list[I64] = []  # within their sources
        self._sources: list[list[str] | str] = []
        self._firsts: list[int] = []
        self._count = 0
        self._renamed: dict[int, InputId] = {}

    @property
    def renamed(self) -> int:
        """How many documents have another id than their own."""
        return len(self._renamed)

    def add(self, batch: Batch, own: Sequence[InputId] | None = None) -> None:
        """Take the documents of a batch; `own`: their ids as they were read, if some differ."""
        if own is not None and own is not batch.ids:
            for at, (id, before) in enumerate(zip(batch.ids, own, strict=True), self._count):
                if id != before:
                    self._renamed[at] = id
        read = batch.ids if own is None else list(own)
        offsets, content, hashes = kernel.encode_ids(read)
        self._sizes.append(np.diff(offsets))
        self._hashes.append(hashes)
        self._file.write(content.data)
        self._positions.append(batch.positions)
        is_one = batch.sources.count(batch.sources[0]) == len(batch)
        self._sources.append(batch.sources[0] if is_one else batch.sources)
        self._firsts.append(self._count)
        self._count += len(batch)

    def settle(self, note: Callable[[str], None]) -> None:
        """Give each document an id of its own; `note` takes a line about each of the first."""
        hashes = np.concatenate([np.empty(0, np.uint64), *self._hashes])
        ascending = np.sort(hashes)
        if not (ascending[1:] == ascending[:-1]).any():
            return  # the usual case, and to sort numbers alone takes a tenth of the time
        order = np.argsort(hashes, kind="stable")
        again = np.sort(order[1:][ascending[1:] == ascending[:-1]])
        taken: set[int] = set()
        for at, own in zip(again.tolist(), self.of(again), strict=True):
            for id in other_ids(own, *self._place(at)):
                hash = int(kernel.encode_ids([id])[2][0])
                known = int(np.searchsorted(ascending, np.uint64(hash)))
                is_free = known == len(ascending) or int(ascending[known]) != hash
                if is_free and hash not in taken:
                    taken.add(hash)
                    self._renamed[at] = id
                    break
            if len(self._renamed) <= REPORTED_NAMES:
                where = self.where(at)
                note(f"{where}: the id {own!r} is taken; renamed to {id!r}")

    def of(self, positions: I64, *, as_read: bool = False) -> list[InputId]:
        """Return the ids of documents at some positions, or those with which they were read."""
        if not len(positions):
            return []
        if self._starts is None:
            self._file.flush()
            self._starts = offsets_of(np.concatenate(self._sizes))
        starts, stops = self._starts[positions], self._starts[positions + 1]
        # An id is at most some bytes, and most are asked for, so they are mapped.
        with mmap(self._file.fileno(), 0, access=ACCESS_READ) as mapped:
            ranges = zip(starts.tolist(), stops.tolist(), strict=True)
            content = b"".join([mapped[start:stop] for start, stop in ranges])
        stored = np.frombuffer(content, np.uint8)
        found: list[InputId] = kernel.decode_ids(offsets_of(stops - starts), stored)
        if self._renamed and not as_read:
            for place_in, at in enumerate(positions.tolist()):
                found[place_in] = self._renamed.get(at, found[place_in])
        return found

    def where(self, at: int) -> str:
        """Return the place of a document in the input, for a message."""
        return place(*self._place(at))

    def _place(self, at: int) -> tuple[str, int]:
        number = int(np.searchsorted(self._firsts, at, "right")) - 1
        inside, sources = at - self._firsts[number], self._sources[number]
        source = sources if isinstance(sources, str) else sources[inside]
        return source, int(self._positions[number][inside])


def other_ids(own: InputId, source: str, position: int) -> Iterator[InputId]:
    """Yield ids for a document whose own id is taken, without end."""
    base = f"{own}"
    if position:
        base = f"{source}:{position}:{own}"
        short = f"{source}:{own}"
        if len(base.encode()) + len("#9999") > ID_BYTES_MAX:
            base = short = f"{source}:{position}"
        yield short
        yield base
    for number in count(2):
        yield f"{base}#{number}"
