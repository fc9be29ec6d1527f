"""Staging: what a write transaction has done and not yet committed.

Everything is in memory: documents in the order of their new ordinals, deletions as a bitmap,
metadata in its stored form.  Nothing is written before the commit, so an abort is to forget, and
a commit that finds no room can be tried again.  When many documents are loose they are sealed
into a run, in memory too, so that queries inside the transaction stay fast.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simdb.engine.store import Store
from simdb.engine.view import View
from simdb.errors import FullError
from simdb.storage import codec
from simdb.storage.batch import Batch
from simdb.storage.contents import Contents
from simdb.storage.loose import Loose
from simdb.storage.run import Run, seal
from simdb.storage.tombstones import Bitmap, with_deleted
from simdb.values import BARE, EMPTY

ORDINALS_MAX = 2**32 - 2**20  # ordinals are uint32, and some room must stay for rounding up


class Staging:
    """Changes on top of a committed state."""

    def __init__(self, store: Store, base: Contents) -> None:
        """None yet, on top of `base`."""
        self._store = store
        self._base = base
        self._loose: Loose | None = None
        self._view: View | None = None
        self.sealed: list[Run] = []
        self.deleted: list[npt.NDArray[np.uint32]] = []
        self.dead: Bitmap | None = base.dead
        self.metadata: list[tuple[int, bytes]] = []
        self.document_count = base.manifest.document_count
        self.empty_count = base.manifest.empty_count
        self.bare_count = base.manifest.bare_count

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to commit."""
        return self._loose is not None or bool(self.deleted)

    @property
    def next_ordinal(self) -> int:
        """The ordinal of the next document."""
        if self._loose is None:
            return self._base.manifest.next_ordinal
        return self._loose.start + len(self._loose)

    @property
    def loose(self) -> Loose:
        """The loose documents: those of the delta, if they are not sealed yet, and new ones."""
        if self._loose is None:
            base = self._base.loose
            self._loose = Loose(base.start, self._store.width)
            if len(base.batch):
                self._loose.append(base.batch)
        return self._loose

    def view(self, base_view: View) -> View:
        """The state with all changes, prepared for queries; `base_view` is of the base."""
        if not self.has_changes:
            return base_view
        if self._view is None:
            if len(self.loose) > self._store.options.delta_documents:
                self.seal_loose()
            runs = [*self._base.runs, *self.sealed]
            self._view = View(runs, self.loose.view(), self.dead, self._store.permutations)
        return self._view

    def insert(self, batch: Batch, metadata: Sequence[tuple[int, bytes]]) -> None:
        """Add documents at the end; `metadata`: position in the batch and stored form."""
        first = self.next_ordinal
        if first + len(batch) > ORDINALS_MAX:
            raise FullError(
                f"the database has used {first} of {ORDINALS_MAX} document numbers;"
                " compact() frees those of deleted documents"
            )
        self.loose.append(batch)
        self.metadata += [(first + at, packed) for at, packed in metadata]
        self._count(batch.states, 1)

    def delete(self, ordinals: npt.NDArray[np.uint32], states: npt.NDArray[np.uint8]) -> None:
        """Delete live documents, of which `states` are given."""
        if len(ordinals):
            self.dead = with_deleted(self.dead, ordinals, self.next_ordinal)
            self.deleted.append(ordinals)
            self._count(states, -1)

    def metadata_of(self, ordinal: int) -> Any:
        """The metadata staged for a new document; None where there is none."""
        at = bisect_left(self.metadata, (ordinal, b""))
        if at < len(self.metadata) and self.metadata[at][0] == ordinal:
            return codec.unpack(self.metadata[at][1], f"metadata of ordinal {ordinal}")
        return None

    def rebase(self, base: Contents) -> None:
        """Stand on `base`, the same state read again."""
        self._base = base
        self._view = None

    def seal_loose(self) -> None:
        """Make a run in memory of the loose documents."""
        loose = self.loose
        if len(loose):
            permutations = self._store.permutations
            tables = len(permutations.masks)
            # The number is given when the run is written.
            self.sealed.append(seal(loose.view(), permutations.write_keys, tables, -1))
            self._loose = Loose(loose.start + len(loose), self._store.width)

    def _count(self, states: npt.NDArray[np.uint8], sign: int) -> None:
        self._view = None
        self.document_count += sign * len(states)
        self.empty_count += sign * int(np.count_nonzero(states == EMPTY))
        self.bare_count += sign * int(np.count_nonzero(states == BARE))
