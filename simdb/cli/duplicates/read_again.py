"""Read again: the texts and the lines of the documents of a run, for a second look at them.

Those that have an origin in a file are read there again; the others wait in a temporary file.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from simdb.outputs.line_spool import Lines, LineSpool
from simdb.outputs.spool import Temporary
from simdb.outputs.text_spool import TextSpool
from simdb.sources.batch import Batch
from simdb.sources.origins import NOWHERE, Origins
from simdb.text_column import TextColumn

# The origin of a line and its size; or for a document that waits, -1 - its position in the spool.
PLACE = np.dtype([("start", np.int64), ("size", np.int64)])
# Lines of so many documents are read at a time.
READ_DOCUMENTS = 1 << 12

U32 = npt.NDArray[np.uint32]
Places = npt.NDArray[np.void]


class _Places(Temporary):
    """The places of documents, in a temporary file."""

    def __init__(self) -> None:
        """Make the temporary file."""
        # It is used with `with`, so __exit__ closes the file.
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115
        self._count = 0
        self._waiting = 0

    def add(self, batch: Batch, *, can_read: bool = True) -> list[int]:
        """Append the documents of a batch; return the positions in it of those that must wait.

        With `can_read` false, all of them must.
        """
        places = np.empty(len(batch), PLACE)
        places["start"] = NOWHERE if batch.origins is None or not can_read else batch.origins
        places["size"] = batch.sizes
        waiting = np.flatnonzero(places["start"] == NOWHERE)
        places["start"][waiting] = -1 - np.arange(self._waiting, self._waiting + len(waiting))
        self._waiting += len(waiting)
        self._count += len(batch)
        self._file.write(places.tobytes())
        found: list[int] = waiting.tolist()
        return found

    def all(self) -> Places:
        """Return the places of all documents, mapped."""
        self._file.flush()
        return np.memmap(self._file, PLACE, "r") if self._count else np.empty(0, PLACE)


class TextsAgain(Temporary):
    """The texts of documents, by their position in the order in which they were added."""

    def __init__(self, origins: Origins) -> None:
        """Read texts in `origins` if they are there."""
        self._origins = origins
        self._places, self._spool = _Places(), TextSpool()

    def __exit__(self, *error: object) -> None:
        """Remove the temporary files."""
        self._places.__exit__(None, None, None)
        self._spool.__exit__(None, None, None)

    def add(self, batch: Batch) -> None:
        """Append the texts of a batch."""
        waiting = self._places.add(batch)
        if waiting:
            is_whole = len(waiting) == len(batch)
            self._spool.add(batch.texts if is_whole else batch.chosen(waiting).texts)

    def texts(self, positions: U32) -> Sequence[str] | TextColumn:
        """Return the texts at some positions; InputError if a file was changed since."""
        places = self._places.all()[positions]
        starts = places["start"]
        is_read = starts >= 0
        if not is_read.any():
            return self._spool.texts((-1 - starts).astype(np.uint32))
        read = self._origins.texts(starts[is_read].tolist(), places["size"][is_read].tolist())
        if is_read.all():
            return read
        waiting = self._spool.texts((-1 - starts[~is_read]).astype(np.uint32)).contents()
        found = iter(read)
        return [
            next(found) if each else next(waiting).decode("utf-8", "surrogatepass")
            for each in is_read.tolist()
        ]


class LinesAgain(Temporary):
    """The lines of documents, of which some are copied at the end."""

    def __init__(self, origins: Origins, folder: str | None = None) -> None:
        """Read lines in `origins` if they are there; `folder`: see `LineSpool`."""
        self._origins = origins
        self._places, self._spool = _Places(), LineSpool(folder)

    def __exit__(self, *error: object) -> None:
        """Remove the temporary files."""
        self._places.__exit__(None, None, None)
        self._spool.__exit__(None, None, None)

    def add(self, batch: Batch, lines: Sequence[bytes]) -> None:
        """Append the lines of a batch, which can differ from those that were read; none is fine."""
        if lines:
            waiting = self._places.add(batch, can_read=lines is batch.lines)
            self._spool.add([lines[at] for at in waiting])

    def copy(self, is_chosen: Iterable[object], target: Lines) -> None:
        """Do as `LineSpool.copy`; InputError if a file was changed since it was read."""
        target.writelines(self._chosen(iter(is_chosen)))

    def _chosen(self, is_chosen: Iterator[object]) -> Iterator[bytes]:
        places, waiting = self._places.all(), iter(self._spool)
        for start in range(0, len(places), READ_DOCUMENTS):
            some = places[start : start + READ_DOCUMENTS]
            flags = np.fromiter(map(bool, islice(is_chosen, len(some))), np.bool_, len(some))
            is_read = some["start"] >= 0
            own = some[flags & is_read]
            read = iter(self._origins.lines(own["start"].tolist(), own["size"].tolist()))
            if is_read.all():
                yield from read
                continue
            for is_kept, each in zip(flags.tolist(), is_read.tolist(), strict=True):
                line = None if each else next(waiting)
                if is_kept:
                    yield next(read) if line is None else line
