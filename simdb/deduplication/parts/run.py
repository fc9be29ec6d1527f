"""Run: the documents of files on their way from reading to what is left of them.

As in `simdb.deduplication.run`, no text stays in memory: what is changed is read again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.deduplication.parts.sieve import Dropped, Sieve
from simdb.outputs.rows import Row
from simdb.outputs.survivors import SurvivorOutput
from simdb.sources.batch import Batch
from simdb.sources.origins import Origins
from simdb.sources.read_again import LinesAgain

Numbers = Callable[[list[str]], npt.NDArray[np.int64]]


class PartsRun:
    """The documents of one run, by their positions in the input; `with` frees them."""

    def __init__(
        self,
        sieve: Sieve,
        origins: Origins,
        numbers: Numbers | None,
        folder: str | None = None,
    ) -> None:
        """Drop what `sieve` drops.

        `origins`: where lines can be read again.  `numbers`: of the sources of documents that will
        be written; None if none will.  `folder`: where lines wait.
        """
        self._sieve, self._numbers = sieve, numbers
        # It is used with `with`, so __exit__ removes its files.
        self._lines = LinesAgain(origins, folder)

    def __enter__(self) -> "PartsRun":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the documents."""
        self._lines.__exit__(*error)

    def read(self, batches: Iterable[Batch]) -> Iterator[int]:
        """Take all batches; yield the number of documents so far."""
        return self._sieve.read(self._each(batches))

    def change(self, dropped: Dropped, sources: Sequence[str], text: str) -> None:
        """Take what is dropped out of the field `text` of records; InputError like `write`."""

        def changed(position: int, row: Row) -> Row:
            return {**row, text: self._sieve.rest(row[text], dropped.of(position))}

        self._lines.change(dropped.changed, sources, changed)

    def write(self, is_kept: npt.NDArray[np.bool_], survivors: SurvivorOutput) -> None:
        """Write the documents that stay: bool[n]; InputError if a file was changed since."""
        self._lines.copy(is_kept, survivors)
        survivors.finish()

    def _each(self, batches: Iterable[Batch]) -> Iterator[Any]:
        """Note where the documents of each batch lie, and yield its texts."""
        for batch in batches:
            if self._numbers is not None:
                self._lines.add(batch, self._numbers(batch.sources))
            yield batch.texts
