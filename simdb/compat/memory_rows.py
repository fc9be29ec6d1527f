"""Memory rows: the rows of an index in memory, found by the bytes of a band."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from simdb.compat.row_form import RowForm
from simdb.values.arrays import Id

U32 = npt.NDArray[np.uint32]


class MemoryRows:
    """Rows of minima by id, with a table of ids for each band."""

    def __init__(self, form: RowForm) -> None:
        """Make an empty collection of rows of one form."""
        size = 4 * form.band_minima
        self._cuts = [slice(at * size, (at + 1) * size) for at in range(form.bands)]
        self._tables: list[dict[bytes, list[Id]]] = [{} for _ in self._cuts]
        self._rows: dict[Id, bytes] = {}

    def insert(self, id: Id, row: U32) -> None:
        """Insert a row under an id that has none."""
        content = row.tobytes()
        self._rows[id] = content
        for cut, table in zip(self._cuts, self._tables, strict=True):
            band = content[cut]
            same = table.get(band)
            if same is None:
                table[band] = [id]
            else:
                same.append(id)

    def delete(self, id: Id) -> None:
        """Delete the row of an id."""
        content = self._rows.pop(id)
        for cut, table in zip(self._cuts, self._tables, strict=True):
            same = table[content[cut]]
            same.remove(id)
            if not same:
                del table[content[cut]]

    def find(self, row: U32, bands: int | None = None) -> list[Id]:
        """Return the ids whose rows agree in one of the first `bands`, or of all, in order."""
        content = row.tobytes()
        found: dict[Id, None] = {}
        for cut, table in zip(self._cuts[:bands], self._tables, strict=False):
            for id in table.get(content[cut], ()):
                found[id] = None
        return list(found)

    def read(self, ids: Iterable[Id] | None = None) -> tuple[list[Id], U32]:
        """Return the ids, all or those that exist, and their rows uint32[n, minima]."""
        known = list(self._rows) if ids is None else [id for id in ids if id in self._rows]
        content = b"".join(self._rows[id] for id in known)
        minima = self._cuts[-1].stop // 4
        return known, np.frombuffer(content, np.uint32).reshape(len(known), minima)

    def __contains__(self, id: Id) -> bool:
        """Return whether an id has a row."""
        return id in self._rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)
