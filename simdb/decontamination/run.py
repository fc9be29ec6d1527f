"""Run: the documents of files on their way from reading to what stays of them.

As in `simdb.deduplication.run`, no text stays in memory: what is needed again is read again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.decontamination.leaks import Leak, marks, without
from simdb.decontamination.search import ItemSearch
from simdb.outputs.rows import Row
from simdb.outputs.survivors import SurvivorOutput
from simdb.sources.batch import Batch
from simdb.sources.names import Names
from simdb.sources.origins import Origins
from simdb.sources.read_again import LinesAgain, TextsAgain

ACTIONS = DROP, CUT, MARK = ("drop", "cut", "mark")
MARKS_FIELD = "leaks"  # which a marked record has

Numbers = Callable[[list[str]], npt.NDArray[np.int64]]
Bools = npt.NDArray[np.bool_]


def by_document(leaks: Iterable[Leak]) -> dict[Any, list[Leak]]:
    """Return the leaks of each document."""
    found: dict[Any, list[Leak]] = defaultdict(list)
    for leak in leaks:
        found[leak.id].append(leak)
    return dict(found)


class DecontaminationRun:
    """The documents of one run, by their positions in the input; `with` frees them."""

    def __init__(
        self,
        search: ItemSearch,
        origins: Origins,
        numbers: Numbers | None,
        folder: str | None = None,
    ) -> None:
        """Look for what `search` looks for.

        `origins`: where lines can be read again.  `numbers`: of the sources of documents that will
        be written; None if none will.  `folder`: where lines wait.
        """
        self._search, self._numbers = search, numbers
        self._held = ExitStack()
        self.names = Names()
        self._texts, self._lines = TextsAgain(origins), LinesAgain(origins, folder)
        for each in (self.names, self._texts, self._lines):
            self._held.push(each)

    def __enter__(self) -> "DecontaminationRun":
        """Return the object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Free the documents."""
        self._held.close()

    def read(self, batches: Iterable[Batch]) -> Iterator[int]:
        """Take all batches; yield the number of documents so far."""
        return self._search.read(self._each(batches))

    def leaks(self) -> list[Leak]:
        """Return the leaks by document, the id of each is the position of its document."""
        return self._search.leaks(lambda places: self._texts.texts(places.astype(np.uint32)))

    def named(self, leaks: list[Leak]) -> list[Leak]:
        """Return leaks with the ids of their documents, as these were read."""
        places = np.array([leak.id for leak in leaks], np.int64)
        ids = self.names.of(places, as_read=True)
        return [replace(leak, id=id) for leak, id in zip(leaks, ids, strict=True)]

    def kept(self, leaks: Iterable[Leak], action: str, sources: list[str], text: str) -> Bools:
        """Return which documents stay, bool[n]; change the records that `action` changes.

        `text`: the field with the text.
        """
        own = by_document(leaks)
        positions = np.array(sorted(own), np.int64)
        is_kept = np.ones(self._search.documents, np.bool_)
        if action == DROP:
            is_kept[positions] = False
            return is_kept

        def changed(position: int, row: Row) -> Row:
            if action == MARK:
                return {**row, MARKS_FIELD: marks(own[position])}
            rest = without(row[text], own[position])
            is_kept[position] = bool(rest.strip())
            return {**row, text: rest}

        if self._numbers is not None:
            self._lines.change(positions, sources, changed)
        return is_kept

    def write(self, is_kept: Bools, survivors: SurvivorOutput) -> None:
        """Write the documents that stay: bool[n]; InputError if a file was changed since."""
        self._lines.copy(is_kept, survivors)
        survivors.finish()

    def _each(self, batches: Iterable[Batch]) -> Iterator[Any]:
        """Note what is needed later of each batch, and yield its texts."""
        for batch in batches:
            self.names.add(batch)
            if self._numbers is not None:
                self._lines.add(batch, self._numbers(batch.sources))
            self._texts.add(batch)
            yield batch.texts
