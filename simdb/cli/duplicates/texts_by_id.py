"""Texts by id: texts that were read, found by the ids of their documents."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.cli.output.progress import Progress
from simdb.cli.reading.intake import Intake
from simdb.columns.text_column import TextColumn
from simdb.outputs.spool import TextSpool
from simdb.running import kernel
from simdb.settings.text_sketch import TextSketch
from simdb.sources.batch import Found
from simdb.values.arrays import Id

U64 = npt.NDArray[np.uint64]


class TextsById:
    """Texts in a spool, with 16 bytes of memory for each; a later text of an id counts."""

    def __init__(self, spool: TextSpool) -> None:
        """Begin without texts."""
        self._spool = spool
        self._added: list[U64] = []
        self._hashes: U64 | None = None
        self._places = np.empty(0, np.uint32)

    def read(self, found: Found, sketch: TextSketch, progress: Progress) -> None:
        """Add all documents that the readers have `found`."""
        for batch in Intake(found, progress).batches(sketch):
            self.add(batch.ids, batch.texts)

    def add(self, ids: Sequence[Any], texts: Sequence[str] | TextColumn) -> None:
        """Add documents."""
        self._spool.add(texts)
        self._added.append(_hashes_of(ids))
        self._hashes = None

    def texts(self, ids: Sequence[Id]) -> Sequence[Any]:
        """Return the text of each id, None for an unknown one."""
        hashes = self._sorted()
        if not len(hashes) or not len(ids):
            return [None] * len(ids)
        wanted = _hashes_of(ids)
        at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        is_known = hashes[at] == wanted
        known = iter(self._spool.texts(self._places[at[is_known]]))
        return [next(known) if each else None for each in is_known.tolist()]

    def _sorted(self) -> U64:
        """Return the hashes of all ids, ascending, after finding the place of each."""
        if self._hashes is None:
            every = np.concatenate([np.empty(0, np.uint64), *self._added])
            # The last of equal hashes comes first in the reversed order.
            self._hashes, places = np.unique(every[::-1], return_index=True)
            self._places = (len(every) - 1 - places).astype(np.uint32)
        return self._hashes


@contextmanager
def texts_by_id(*, is_needed: bool = True) -> Iterator[TextsById | None]:
    """Yield an empty collection of texts, or None if none is needed."""
    if not is_needed:
        yield None
        return
    with TextSpool() as spool:
        yield TextsById(spool)


def _hashes_of(ids: Sequence[Any]) -> U64:
    """Return the hashes by which a database finds ids."""
    _, _, hashes = kernel.encode_ids(list(ids))
    return np.asarray(hashes, np.uint64)
