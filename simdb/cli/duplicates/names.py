"""Names: the ids of the documents of a run, each given to one document.

A document whose id an earlier one has gets an id that contains the name of its source.  The ids
wait in a temporary file; in memory there are some numbers of each.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.cli.output.progress import Progress
from simdb.outputs.text_spool import TextSpool
from simdb.sources.batch import Batch
from simdb.sources.records import ID_BYTES_MAX, InputId, place

REPORTED_NAMES = 10

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]


class Names:
    """The ids of documents, by their positions in the input; `with` removes the file."""

    def __init__(self) -> None:
        """Begin without documents."""
        self._spool = TextSpool()
        self._hashes: list[U64] = []
        self._positions: list[I64] = []  # within their sources
        self._sources: list[list[str] | str] = []
        self._firsts: list[int] = []
        self._count = 0
        self._is_whole = False  # ids are whole numbers
        self._renamed: dict[int, InputId] = {}

    def __enter__(self) -> "Names":
        """Return the object itself."""
        return self

    def __exit__(self, *error: Any) -> None:
        """Remove the file."""
        self._spool.__exit__(*error)

    @property
    def renamed(self) -> int:
        """How many documents have another id than their own."""
        return len(self._renamed)

    def add(self, batch: Batch) -> None:
        """Take the documents of a batch."""
        self._is_whole = self._is_whole or isinstance(batch.ids[0], int)
        self._hashes.append(_hashes_of(batch.ids))
        self._positions.append(np.asarray(batch.positions, np.int64))
        is_one = batch.sources.count(batch.sources[0]) == len(batch)
        self._sources.append(batch.sources[0] if is_one else batch.sources)
        self._firsts.append(self._count)
        self._count += len(batch)
        self._spool.add(list(map(str, batch.ids)))

    def settle(self, progress: Progress) -> None:
        """Give each document an id of its own, and report the first that get another one."""
        hashes = np.concatenate([np.empty(0, np.uint64), *self._hashes])
        order = np.argsort(hashes, kind="stable")
        ascending = hashes[order]
        again = np.sort(order[1:][ascending[1:] == ascending[:-1]])
        taken: set[int] = set()
        for at, own in zip(again.tolist(), self.of(again), strict=True):
            for id in self._candidates(at, own):
                hash = int(_hashes_of([id])[0])
                known = int(np.searchsorted(ascending, np.uint64(hash)))
                is_free = known == len(ascending) or int(ascending[known]) != hash
                if is_free and hash not in taken:
                    taken.add(hash)
                    self._renamed[at] = id
                    break
            if len(self._renamed) <= REPORTED_NAMES:
                where = self.where(at)
                progress.note(f"{where}: the id {own!r} is taken; renamed to {id!r}")

    def of(self, positions: I64) -> list[InputId]:
        """Return the ids of documents at some positions in the input."""
        texts = self._spool.texts(positions.astype(np.uint32)).contents()
        found: list[InputId] = [
            int(text) if self._is_whole else text.decode("utf-8") for text in texts
        ]
        if self._renamed:
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

    def _candidates(self, at: int, own: InputId) -> Iterator[InputId]:
        """Yield other ids for a document, without end."""
        source, position = self._place(at)
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


def _hashes_of(ids: Sequence[Any]) -> U64:
    """Return the hashes by which a database finds ids."""
    return np.asarray(kernel.encode_ids(list(ids))[2], np.uint64)
