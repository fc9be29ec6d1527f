"""Stored documents by id: their ordinals and what is kept of them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from simdb import kernel
from simdb.engine.view import View
from simdb.errors import NotFoundError
from simdb.storage import layout
from simdb.storage.run import Source
from simdb.values import EMPTY, WEIGHTED, Fingerprint, Sketches


def find_ids(view: View, source: Source, ids: list[Any]) -> Any:
    """int64 ordinals of ids, -1 for those that are not there."""
    offsets, content, hashes = kernel.encode_ids(ids)
    return view.find(offsets, content, hashes, source)


def known_ordinals(view: View, source: Source, ids: list[Any]) -> Any:
    """uint32 ordinals of ids that must all be there."""
    found = find_ids(view, source, ids)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        raise NotFoundError(f"no document has the id {ids[int(missing[0])]!r}")
    return found.astype(np.uint32)


def fingerprint_of(sketches: Sketches, at: int) -> Fingerprint:
    """The fingerprint of one of some stored documents."""
    state = int(sketches.states[at])
    bits = int(sketches.bits[at])
    if state != WEIGHTED:
        return Fingerprint(bits, None, is_empty=state == EMPTY)
    halves = np.concatenate([sketches.vectors[at] & 15, sketches.vectors[at] >> 4])
    return Fingerprint(bits, (2.0 * halves - 15.0).astype(np.float32))


def stored_sketches(view: View, source: Source, ordinals: npt.NDArray[np.uint32]) -> Sketches:
    """What is stored of some documents, as queries."""
    if source.width:
        vectors = view.vectors(source, ordinals).gather(ordinals)
    else:
        vectors = np.empty((len(ordinals), 0), np.uint8)
    return Sketches(
        view.column(layout.FINGERPRINT, ordinals, source),
        vectors,
        view.column(layout.STATE, ordinals, source),
    )
