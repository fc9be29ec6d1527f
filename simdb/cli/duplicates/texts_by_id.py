"""Texts by id: the texts that a source has, found by the ids of its documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.cli.output.progress import Progress
from simdb.cli.output.text_spool import TextSpool
from simdb.cli.reading.batch import Found
from simdb.cli.reading.intake import Intake
from simdb.text_sketch import TextSketch
from simdb.values import Id

U64 = npt.NDArray[np.uint64]


class TextsById:
    """The texts of a source in a spool, with 16 bytes of memory for each."""

    def __init__(
        self, spool: TextSpool, found: Found, sketch: TextSketch, progress: Progress
    ) -> None:
        """Read all that the readers have `found`; a later text of an id replaces an earlier one."""
        self._spool = spool
        hashes = [np.empty(0, np.uint64)]
        for batch in Intake(found, progress).batches(sketch):
            spool.add(batch.texts)
            hashes.append(_hashes_of(batch.ids))
        every = np.concatenate(hashes)
        # The last of equal hashes comes first in the reversed order.
        self._hashes, places = np.unique(every[::-1], return_index=True)
        self._places = (len(every) - 1 - places).astype(np.uint32)

    def texts(self, ids: list[Id]) -> Sequence[Any]:
        """Return the text of each id, None for an id that the source does not have."""
        wanted = _hashes_of(ids)
        at = np.minimum(np.searchsorted(self._hashes, wanted), max(len(self._hashes) - 1, 0))
        if not len(self._hashes):
            return [None] * len(ids)
        is_known = self._hashes[at] == wanted
        known = iter(self._spool.texts(self._places[at[is_known]]))
        return [next(known) if each else None for each in is_known.tolist()]


def _hashes_of(ids: Sequence[Any]) -> U64:
    """Return the hashes by which a database finds ids."""
    _, _, hashes = kernel.encode_ids(list(ids))
    return np.asarray(hashes, np.uint64)
