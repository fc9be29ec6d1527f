"""Read again: provides texts, lines and ids of the documents of a run for a second pass.

Texts and lines that have an origin in a file are read there again; other ones are in a temporary
file, as the ids are.  A document with the id of an earlier document gets an id that contains the
name of its source.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise

import numpy as np

from simdb.core import kernel
from simdb.core.arrays import flags_at, offsets_of, sorted_unique
from simdb.core.arrow import TextColumn, joined
from simdb.core.dtypes import I64, U32, Bools
from simdb.core.memory import Blocks
from simdb.files.origins import NOWHERE, Origins
from simdb.files.pieces import LineSpool, Piece, RowRange, TextSpool, merged
from simdb.files.records import Batch, InputId, other_ids, place
from simdb.files.rows import Row, WaitingLine, waiting_line
from simdb.files.survivors import SurvivorOutput, all_rows

# Origin and size of a line; for a text in the spool, the origin is -1 - its position there.
PLACE = np.dtype([("start", np.int64), ("size", np.int64)])
# Kind of place of a line, start and size there; a row of a Parquet file has size 1.
LINE = np.dtype([("start", np.int64), ("size", np.uint32), ("kind", np.uint32)])
IN_FILE, IN_SPOOL, AS_ROW, CHANGED, UNFINISHED = 1, 2, 3, 4, 5
# Documents whose places are read at a time.
READ_DOCUMENTS = 1 << 16
# Records that are changed at a time.
CHANGED_RECORDS = 1 << 10

REPORTED_NAMES = 10


class LinesAgain(ExitStack):
    """The places of the documents of a run, of which some are written at the end.

    A document is a line of a source, a line in a temporary file, or a row of a Parquet file.
    `with` removes the temporary files.
    """

    def __init__(self, origins: Origins, output: SurvivorOutput | None) -> None:
        """Read lines from `origins` where possible.

        `output`: where some of them will be written; None if none will.
        """
        super().__init__()
        folder = None if output is None else output.folder
        if output is not None:
            origins.need(folder)
        self._output = output
        self._file = self.enter_context(tempfile.TemporaryFile("w+b"))  # noqa: SIM115
        self._origins = origins
        self._spool = self.enter_context(LineSpool(folder))
        self._changed = self.enter_context(LineSpool(folder))
        self._count = 0
        # Where the source changes: position of its first document, and number of the source.
        self._firsts: list[tuple[int, int]] = []

    def add(self, batch: Batch) -> None:
        """Append the documents of a batch, or nothing if none will be written.

        A document without an origin and without a line is a row of a Parquet file.
        """
        if self._output is None or not len(batch):
            return
        lines = np.empty(len(batch), LINE)
        lines["kind"], lines["size"] = IN_FILE, np.asarray(batch.sizes, np.int64)
        lines["start"] = NOWHERE if batch.origins is None else np.asarray(batch.origins, np.int64)
        others = np.flatnonzero(lines["start"] == NOWHERE)
        texts = [batch.lines[at] if batch.lines else None for at in others.tolist()]
        waits = np.array([text is not None for text in texts], np.bool_)
        rows, waiting = others[~waits], others[waits]
        lines["kind"][rows], lines["size"][rows] = AS_ROW, 1
        lines["start"][rows] = np.asarray(batch.positions, np.int64)[rows] - 1
        waited = [text for text in texts if text is not None]
        lines["kind"][waiting] = [
            UNFINISHED if isinstance(text, WaitingLine) else IN_SPOOL for text in waited
        ]
        lines["start"][waiting], lines["size"][waiting] = self._spool.add(waited)
        self._note_sources(self._output.numbers(batch.sources))
        self._count += len(batch)
        self._file.write(lines.tobytes())

    def _note_sources(self, numbers: I64) -> None:
        """Note where the source changes among the documents that are appended next."""
        changes = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
        for at, number in zip(changes.tolist(), numbers[changes].tolist(), strict=True):
            if not self._firsts or self._firsts[-1][1] != number:
                self._firsts.append((self._count + at, number))

    def change(
        self, positions: I64, sources: Sequence[str], change: Callable[[int, Row], Row]
    ) -> None:
        """Replace the records of documents at ascending positions.

        `change(position, record)` returns the new record.  Raises InputError like `copy`.
        """
        flags = flags_at(positions, self._count)
        rows = all_rows(self._pieces(flags, sources))
        for at in range(0, len(positions), CHANGED_RECORDS):
            part = positions[at : at + CHANGED_RECORDS]
            own = list(islice(rows, len(part)))
            made = [waiting_line(change(*each)) for each in zip(part.tolist(), own, strict=True)]
            lines = np.empty(len(part), LINE)
            lines["kind"] = CHANGED
            lines["start"], lines["size"] = self._changed.add(made)
            for position, line in zip(part.tolist(), lines, strict=True):
                os.pwrite(self._file.fileno(), line.tobytes(), position * LINE.itemsize)

    def copy(self, is_chosen: Bools, survivors: SurvivorOutput) -> None:
        """Write the chosen documents; `is_chosen` is bool[n] over all documents.

        Raises InputError if a file was changed since it was read.
        """
        survivors.write(partial(self._pieces, is_chosen, survivors.sources))
        survivors.finish()

    def _pieces(
        self, flags: Bools, sources: Sequence[str], source: int | None = None
    ) -> Iterator[Piece]:
        """Yield the pieces with the chosen documents, in the order in which they were added.

        `source`: number of one of the `sources`, if only its documents are needed.
        """
        self._file.flush()
        for (start, number), (stop, _) in pairwise([*self._firsts, (self._count, 0)]):
            if source is None or number == source:
                for at in range(start, stop, READ_DOCUMENTS):
                    own = flags[at : min(at + READ_DOCUMENTS, stop)]
                    yield from self._some(at, own, sources[number])

    def _some(self, first: int, flags: Bools, path: str) -> Iterator[Piece]:
        """Yield the pieces of one source with chosen documents, starting at document `first`."""
        content = os.pread(self._file.fileno(), len(flags) * LINE.itemsize, first * LINE.itemsize)
        lines = np.frombuffer(content, LINE)[flags]
        cuts = np.flatnonzero(np.diff(lines["kind"], prepend=0)).tolist()
        for start, stop in pairwise([*cuts, len(lines)]):
            kind = lines["kind"][start]
            starts, sizes = lines["start"][start:stop], lines["size"][start:stop].astype(np.int64)
            if kind == AS_ROW:
                place = self._origins.place(path)
                yield RowRange(place, *merged(starts, starts + sizes), stop - start)
            elif kind in (CHANGED, UNFINISHED):
                spool = self._changed if kind == CHANGED else self._spool
                yield from (replace(each, is_waiting=True) for each in spool.spans(starts, sizes))
            else:
                holder = self._origins if kind == IN_FILE else self._spool
                yield from holder.spans(starts, sizes)


class TextsAgain(ExitStack):
    """The texts of documents, by position in the order in which they were added.

    `with` removes the temporary files.
    """

    def __init__(self, origins: Origins) -> None:
        """Read texts from `origins` where possible."""
        super().__init__()
        origins.need()
        self._origins = origins
        self._places = self.enter_context(Blocks(0))
        self._spool = self.enter_context(TextSpool())
        self._waiting = 0

    def add(self, batch: Batch) -> None:
        """Append the texts of a batch."""
        places = np.empty(len(batch), PLACE)
        places["start"] = NOWHERE if batch.origins is None else batch.origins
        places["size"] = batch.sizes
        waiting = np.flatnonzero(places["start"] == NOWHERE)
        if len(waiting):
            places["start"][waiting] = -1 - np.arange(self._waiting, self._waiting + len(waiting))
            self._waiting += len(waiting)
            is_whole = len(waiting) == len(batch)
            self._spool.add(batch.texts if is_whole else batch.texts_at(waiting))
        self._places.add(places)

    def texts(self, positions: U32) -> TextColumn:
        """Return the texts at some positions; raise InputError if a file was changed meanwhile."""
        if len(positions) > 1 and (positions[1:] <= positions[:-1]).any():
            # Files are read from beginning to end, and each text once.
            distinct, back = np.unique(positions, return_inverse=True)
            return self.texts(distinct).chosen(back)
        places = self._places.whole()[positions] if len(positions) else np.empty(0, PLACE)
        is_read = places["start"] >= 0
        read, waiting = places[is_read], -1 - places["start"][~is_read]
        found = [self._spool.texts(waiting)] if len(waiting) or not len(read) else []
        if len(read):
            found.insert(0, self._origins.texts(read["start"], read["size"]))
        back = np.empty(len(places), np.intp)
        back[np.argsort(~is_read, kind="stable")] = np.arange(len(places))
        return joined(found).chosen(back)


class Names(ExitStack):
    """The ids of documents, by their positions in the input; `with` removes the file."""

    def __init__(
        self, note: Callable[[str], None] | None = None, memory: int | None = None
    ) -> None:
        """Begin without documents; `note` gets a line for each of the first renamed ones.

        `memory`: memory of the run, see `simdb.core.memory`.
        """
        super().__init__()
        self._note = note
        self._ids = self.enter_context(TextSpool(memory))  # as the database stores them
        self._hashes = self.enter_context(Blocks(memory))
        self._positions: list[I64 | range] = []  # within their sources
        self._sources: list[list[str] | str] = []
        self._firsts: list[int] = []
        self._count = 0
        self._key = kernel.new_id_key()
        self._renamed: dict[int, InputId] = {}

    @property
    def renamed(self) -> int:
        """The number of renamed documents."""
        return len(self._renamed)

    def add(self, batch: Batch, renamed: Mapping[int, InputId] | None = None) -> None:
        """Add the documents of a batch; `renamed`: new ids of some, by position in the batch."""
        offsets, content, hashes = kernel.encode_ids(batch.ids, self._key)
        self._ids.append(np.diff(offsets), [content.data])
        self._hashes.add(hashes)
        first, stop = int(batch.positions[0]), int(batch.positions[0]) + len(batch)
        is_range = (batch.positions == np.arange(first, stop)).all()
        self._positions.append(range(first, stop) if is_range else batch.positions)
        is_one = batch.sources.count(batch.sources[0]) == len(batch)
        self._sources.append(batch.sources[0] if is_one else batch.sources)
        self._firsts.append(self._count)
        for at, id in (renamed or {}).items():
            self._rename(self._count + at, batch.ids[at], id)
        self._count += len(batch)

    def settle(self) -> None:
        """Rename documents so that all ids differ; afterwards no document may be added."""
        hashes = self._hashes.whole() if self._count else np.empty(0, np.uint64)
        self._hashes.close()
        ascending = np.sort(hashes)
        is_twin = ascending[1:] == ascending[:-1]
        if not is_twin.any():
            return  # the usual case: sorting without positions takes a tenth of the time
        order = np.argsort(hashes, kind="stable")
        twins = sorted_unique(np.concatenate([order[:-1][is_twin], order[1:][is_twin]]))
        held: set[InputId] = set()  # different ids can have one hash
        taken: set[int] = set()
        for at, own in zip(twins.tolist(), self.of(twins), strict=True):
            if own not in held:
                held.add(own)
                continue
            for id in other_ids(own, *self._place(at)):
                hash = int(kernel.encode_ids([id], self._key)[2][0])
                known = int(np.searchsorted(ascending, np.uint64(hash)))
                is_free = known == len(ascending) or int(ascending[known]) != hash
                if is_free and hash not in taken:
                    taken.add(hash)
                    self._rename(at, own, id)
                    break

    def of(self, positions: I64, *, as_read: bool = False) -> list[InputId]:
        """Return the ids of documents at some positions; `as_read`: before any renaming."""
        if not len(positions):
            return []
        column = self._ids.texts(positions)
        stored = kernel.bytes_at(column.addresses, column.lengths)
        found: list[InputId] = kernel.decode_ids(offsets_of(column.lengths), stored)
        if self._renamed and not as_read:
            for place_in, at in enumerate(positions.tolist()):
                found[place_in] = self._renamed.get(at, found[place_in])
        return found

    def where(self, at: int) -> str:
        """Return the place of a document in the input, for a message."""
        return place(*self._place(at))

    def _rename(self, at: int, own: InputId, id: InputId) -> None:
        self._renamed[at] = id
        if self._note is not None and len(self._renamed) <= REPORTED_NAMES:
            self._note(f"{self.where(at)}: the id {own!r} is taken; renamed to {id!r}")

    def _place(self, at: int) -> tuple[str, int]:
        number = int(np.searchsorted(self._firsts, at, "right")) - 1
        inside, sources = at - self._firsts[number], self._sources[number]
        source = sources if isinstance(sources, str) else sources[inside]
        return source, int(self._positions[number][inside])
